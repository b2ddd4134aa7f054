/* SPDX-License-Identifier: MIT */
/* Output files, see output.h. */
#include "output.h"

#include "interrupt.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MAX = 40, NAMES_MAX = 100 };

struct hg_output {
    FILE *file;
    char *name;      /* as the user wrote it */
    char *target;    /* NULL: written in place */
    char *temporary; /* NULL: written in place */
    char *memory;    /* written by a memory stream */
    size_t memory_bytes;
    int unnamed;  /* the file has no name until it is finished */
    int standard; /* stdout: flushed, never closed */
    int failed;   /* a write failed and has been said */
};

static hg_result fail_write(hg_output *output, int error)
{
    if (output->failed)
        return HG_ERR_OUTPUT;
    output->failed = 1;
    if (error == EPIPE && output->standard) {
        hg_output_discard(&output);
        hg_interrupt_raise(SIGPIPE); /* the reader has gone: end as any filter does */
    }
    if (error == EINTR && hg_interrupt_pending())
        return HG_CANCELLED;
    return hg_message_fail(HG_ERR_OUTPUT, "cannot write %s: %s", output->name, strerror(error));
}

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);

    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

/* What a link in `path` names, beside the link's own folder where it is relative. */
static int read_link(char path[PATH_MAX])
{
    char name[PATH_MAX];
    const ssize_t length = readlink(path, name, sizeof(name) - 1);
    char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;

    if (length < 0)
        return 0;
    name[length] = '\0';
    if (name[0] == '/')
        folder = 0;
    if (folder + (size_t)length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(path + folder, name, (size_t)length + 1);
    return 1;
}

/* A link stays a link: the file that it names is written, also one that is not there yet. NULL with
 * errno. */
static char *follow(const char *path)
{
    char target[PATH_MAX];
    struct stat status;

    if (strlen(path) >= sizeof(target)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(target, path, strlen(path) + 1);
    for (int links = 0; lstat(target, &status) == 0 && S_ISLNK(status.st_mode); links++) {
        if (links == LINKS_MAX) {
            errno = ELOOP;
            return NULL;
        }
        if (!read_link(target))
            return NULL;
    }
    return copy_text(target);
}

/* Names for the unnamed file: the moment, the process, a count. */
static int link_temporary(hg_output *output)
{
    static const char pattern[] =
        ".headgate-XXXXXX"; /* short: the target's name may be as long as allowed */
    const char *slash = strrchr(output->target, '/');
    const size_t folder = slash ? (size_t)(slash - output->target) + 1 : 0;
    char from[32];
    char *name = malloc(folder + sizeof(pattern));

    if (!name) {
        errno = ENOMEM;
        return 0;
    }
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fileno(output->file));
    memcpy(name, output->target, folder);
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name + folder, sizeof(pattern), ".headgate-%06x",
                 ((unsigned)now.tv_nsec ^ ((unsigned)getpid() << 8) ^ (i * 7919u)) & 0xffffffu);
        if (linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
            hg_interrupt_guard(name);
            output->temporary = name;
            return 1;
        }
        if (errno != EEXIST)
            break;
    }
    free(name);
    return 0;
}

/* A file without a name: whatever ends the program, nothing is left. 0 where the file system has no
 * such thing. */
static int open_unnamed(hg_output *output, mode_t mode)
{
    const char *slash = strrchr(output->target, '/');
    char folder[PATH_MAX] = ".";
    size_t bytes = slash ? (size_t)(slash - output->target) : 0;
    int fd;

    if (bytes >= sizeof(folder) || access("/proc/self/fd", X_OK) != 0)
        return 0;
    if (slash) {
        bytes = bytes ? bytes : 1; /* the root */
        memcpy(folder, output->target, bytes);
        folder[bytes] = '\0';
    }
    fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    fchmod(fd, mode);
    output->file = fdopen(fd, "wb");
    if (!output->file)
        close(fd);
    output->unnamed = output->file != NULL;
    return output->unnamed;
}

static hg_result open_temporary(hg_output *output, mode_t mode)
{
    static const char pattern[] =
        ".headgate-XXXXXX"; /* short: the target's name may be as long as allowed */
    const char *slash = strrchr(output->target, '/');
    size_t folder = slash ? (size_t)(slash - output->target) + 1 : 0;
    int fd;

    output->temporary = malloc(folder + sizeof(pattern));
    if (!output->temporary)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    memcpy(output->temporary, output->target, folder);
    memcpy(output->temporary + folder, pattern, sizeof(pattern));
    fd = mkstemp(output->temporary);
    if (fd < 0) {
        int error = errno;

        free(output->temporary);
        output->temporary = NULL;
        return hg_message_fail(HG_ERR_OUTPUT, "cannot write %s: %s", output->name, strerror(error));
    }
    hg_interrupt_guard(output->temporary);
    fchmod(fd, mode); /* a file system without modes is no reason to stop */
    output->file = fdopen(fd, "wb");
    if (!output->file) {
        int error = errno;

        close(fd);
        return fail_write(output, error);
    }
    return HG_OK;
}

static int is_standard(const struct stat *status)
{
    struct stat own;

    return S_ISREG(status->st_mode) && fstat(STDOUT_FILENO, &own) == 0 &&
           own.st_dev == status->st_dev && own.st_ino == status->st_ino;
}

static hg_result open_path(hg_output *output, const char *path)
{
    struct stat status;
    mode_t mask = umask(0);
    mode_t mode = 0666;

    umask(mask);
    mode &= ~mask;
    if (stat(path, &status) == 0) {
        if (is_standard(&status)) { /* /dev/stdout: the shell's own file, which is written on, not
                                       replaced */
            output->standard = 1;
            output->file = stdout;
            return HG_OK;
        }
        if (S_ISDIR(status.st_mode))
            return hg_message_fail(HG_ERR_OUTPUT,
                                   "cannot write %s: it is a folder; name a file in it", path);
        if (!S_ISREG(status.st_mode)) {
            output->file = fopen(path, "wb");
            return output->file ? HG_OK : fail_write(output, errno);
        }
        if (access(path, W_OK) != 0)
            return fail_write(output, errno);
        mode = status.st_mode & 07777;
    }
    output->target = follow(path);
    if (!output->target)
        return fail_write(output, errno);
    return open_unnamed(output, mode) ? HG_OK : open_temporary(output, mode);
}

hg_result hg_output_open(const char *path, hg_output **out)
{
    hg_output *output = calloc(1, sizeof(*output));
    hg_result res = HG_OK;

    *out = NULL;
    if (!output)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    output->standard = strcmp(path, "-") == 0;
    output->name = copy_text(output->standard ? "standard output" : path);
    if (!output->name)
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    else if (output->standard)
        output->file = stdout;
    else if (*path == '\0')
        res = hg_message_fail(HG_ERR_OUTPUT, "the name of the output file is empty");
    else
        res = open_path(output, path);
    if (res != HG_OK) {
        hg_output_discard(&output);
        return res;
    }
    *out = output;
    return HG_OK;
}

hg_result hg_output_open_memory(hg_output **out)
{
    hg_output *output = calloc(1, sizeof(*output));

    *out = NULL;
    if (output) {
        output->name = copy_text("memory");
        output->file = open_memstream(&output->memory, &output->memory_bytes);
    }
    if (!output || !output->name || !output->file) {
        hg_output_discard(&output);
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    }
    *out = output;
    return HG_OK;
}

hg_result hg_output_take(hg_output **output, char **data, size_t *bytes)
{
    hg_output *o = *output;
    int closed = fclose(o->file);

    o->file = NULL;
    *data = o->memory;
    *bytes = o->memory_bytes;
    o->memory = NULL;
    if (closed != 0 || o->failed || !*data) {
        free(*data);
        *data = NULL;
        hg_output_discard(output);
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    }
    hg_output_discard(output);
    return HG_OK;
}

hg_result hg_output_write(hg_output *output, const void *data, size_t bytes)
{
    if (output->failed)
        return HG_ERR_OUTPUT;
    if (bytes > 0 && fwrite(data, 1, bytes, output->file) != bytes)
        return fail_write(output, errno);
    return HG_OK;
}

hg_result hg_output_text(hg_output *output, const char *text)
{
    return hg_output_write(output, text, strlen(text));
}

hg_result hg_output_format(hg_output *output, const char *format, ...)
{
    va_list args;
    int count;

    if (output->failed)
        return HG_ERR_OUTPUT;
    va_start(args, format);
    count = vfprintf(output->file, format, args);
    va_end(args);
    return count < 0 ? fail_write(output, errno) : HG_OK;
}

/* The rename itself lasts only when the folder has been written; some file systems cannot say. */
static void sync_folder(const char *target)
{
    const char *slash = strrchr(target, '/');
    char folder[PATH_MAX] = ".";
    int fd;

    if (slash) {
        size_t bytes = slash == target ? 1 : (size_t)(slash - target);

        if (bytes >= sizeof(folder))
            return;
        memcpy(folder, target, bytes);
        folder[bytes] = '\0';
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static hg_result finish(hg_output *output)
{
    FILE *file = output->file;

    if (output->failed)
        return HG_ERR_OUTPUT;
    if (fflush(file) != 0 || ferror(file))
        return fail_write(output, errno);
    if (output->standard)
        return HG_OK;
    if ((output->temporary || output->unnamed) && fsync(fileno(file)) != 0 && errno != EINVAL &&
        errno != EROFS)
        return fail_write(output, errno);
    if (output->unnamed && hg_interrupt_pending())
        return HG_CANCELLED;
    if (output->unnamed && !link_temporary(output))
        return fail_write(output, errno);
    output->file = NULL;
    if (fclose(file) != 0)
        return fail_write(output, errno);
    if (!output->temporary)
        return HG_OK;
    if (hg_interrupt_pending())
        return HG_CANCELLED;
    if (rename(output->temporary, output->target) != 0)
        return fail_write(output, errno);
    hg_interrupt_unguard(output->temporary);
    free(output->temporary);
    output->temporary = NULL;
    sync_folder(output->target);
    return HG_OK;
}

hg_result hg_output_commit(hg_output **output)
{
    hg_result res = finish(*output);

    hg_output_discard(output);
    return res;
}

void hg_output_discard(hg_output **output)
{
    hg_output *o = *output;

    *output = NULL;
    if (!o)
        return;
    if (o->file && !o->standard)
        fclose(o->file);
    if (o->temporary) {
        unlink(o->temporary);
        hg_interrupt_unguard(o->temporary);
    }
    free(o->memory);
    free(o->temporary);
    free(o->target);
    free(o->name);
    free(o);
}

hg_result hg_output_make_folder(const char *path)
{
    char part[PATH_MAX];
    size_t bytes = strlen(path);
    struct stat status;

    if (bytes == 0 || bytes >= sizeof(part))
        return hg_message_fail(HG_ERR_OUTPUT, "cannot make the folder '%s': its name is %s", path,
                               bytes == 0 ? "empty" : "too long");
    memcpy(part, path, bytes + 1);
    for (size_t i = 1; i <= bytes; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0) {
            const int error = errno; /* of the making, not of the looking */

            if (stat(part, &status) != 0)
                return hg_message_fail(HG_ERR_OUTPUT, "cannot make the folder %s: %s", part,
                                       strerror(error));
        }
        part[i] = i == bytes ? '\0' : '/';
    }
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return hg_message_fail(HG_ERR_OUTPUT, "cannot make the folder %s: %s", path,
                               "there is a file of that name");
    return HG_OK;
}
