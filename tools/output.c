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
#include <unistd.h>

struct hg_output {
    FILE *file;
    char *name;      /* as the user wrote it */
    char *target;    /* NULL: written in place */
    char *temporary; /* NULL: written in place */
    char *memory;    /* written by a memory stream */
    size_t memory_bytes;
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

/* A link stays a link: the file that it names is replaced. */
static char *follow(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : copy_text(path);
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

static hg_result open_path(hg_output *output, const char *path)
{
    struct stat status;
    mode_t mask = umask(0);
    mode_t mode = 0666;

    umask(mask);
    mode &= ~mask;
    if (stat(path, &status) == 0) {
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
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    return open_temporary(output, mode);
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
    if (output->temporary && fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS)
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
        if (mkdir(part, 0777) != 0 && stat(part, &status) != 0)
            return hg_message_fail(HG_ERR_OUTPUT, "cannot make the folder %s: %s", part,
                                   strerror(errno));
        part[i] = i == bytes ? '\0' : '/';
    }
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
        return hg_message_fail(HG_ERR_OUTPUT, "cannot make the folder %s: %s", path,
                               "there is a file of that name");
    return HG_OK;
}
