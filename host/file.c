/* SPDX-License-Identifier: MIT */
/* Files as read-only memory, and sentences for the ways in which a path can disappoint. */
#include "file.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hg_file_kind hg_file_look(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return HG_FILE_MISSING;
    if (S_ISREG(status.st_mode))
        return HG_FILE_REGULAR;
    if (S_ISDIR(status.st_mode))
        return HG_FILE_FOLDER;
    return HG_FILE_OTHER;
}

static hg_result say_errno(const hg_log *log, const char *path, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return hg_fail(log, HG_ERR_FILE, "%s: there is no such file; check the path", path);
    if (error == EACCES || error == EPERM)
        return hg_fail(log, HG_ERR_FILE, "%s: no permission to read it; check its owner and mode",
                       path);
    if (error == ENAMETOOLONG)
        return hg_fail(log, HG_ERR_FILE, "the path is too long for this system: %.200s...", path);
    if (error == ELOOP)
        return hg_fail(log, HG_ERR_FILE, "%s: its symbolic links go in a circle", path);
    if (error == ENOMEM)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: the system has no room to map it", path);
    return hg_fail(log, HG_ERR_FILE, "%s: cannot be read (system error %d)", path, error);
}

/* Everything that makes an open descriptor something we do not map. */
static hg_result judge_status(const hg_log *log, const char *path, const struct stat *status,
                              uint64_t max_bytes)
{
    uint64_t bytes;

    if (S_ISDIR(status->st_mode))
        return hg_fail(log, HG_ERR_FILE, "%s: expected a file, found a folder", path);
    if (!S_ISREG(status->st_mode))
        return hg_fail(log, HG_ERR_FILE, "%s: expected a regular file, found a pipe or a device",
                       path);
    if (status->st_size <= 0)
        return hg_fail(log, HG_ERR_FILE, "%s: the file is empty (0 bytes); fetch it again", path);
    bytes = (uint64_t)status->st_size;
    if (max_bytes && bytes > max_bytes)
        return hg_fail(log, HG_ERR_FILE,
                       "%s: expected at most %llu bytes, found %llu; is it the right file?", path,
                       (unsigned long long)max_bytes, (unsigned long long)bytes);
    if (bytes > SIZE_MAX)
        return hg_fail(log, HG_ERR_FILE, "%s: too large for this machine's addresses (%llu bytes)",
                       path, (unsigned long long)bytes);
    return HG_OK;
}

hg_result hg_file_map(const hg_log *log, const char *path, uint64_t max_bytes, hg_file *out)
{
    hg_result res = HG_OK;
    struct stat status;
    void *data;
    int fd;

    *out = (hg_file){NULL, 0};
    /* O_NONBLOCK: opening a named pipe must not wait for a writer. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return say_errno(log, path, errno);
    if (fstat(fd, &status) != 0) {
        res = say_errno(log, path, errno);
        goto out;
    }
    HG_TRY(judge_status(log, path, &status, max_bytes));
    data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        res = say_errno(log, path, errno);
        goto out;
    }
    out->data = data;
    out->bytes = (uint64_t)status.st_size;
out:
    close(fd);
    return res;
}

void hg_file_unmap(hg_file *file)
{
    /* munmap takes the address as it was given by mmap, which was not const. */
    if (file->data)
        munmap((void *)file->data, (size_t)file->bytes);
    *file = (hg_file){NULL, 0};
}

static int begins_with(const hg_file *file, uint64_t at, const char *text)
{
    uint64_t length = strlen(text), i;

    if (at > file->bytes || file->bytes - at < length)
        return 0;
    for (i = 0; i < length; i++) {
        uint8_t c = file->data[at + i];

        if (c >= 'A' && c <= 'Z')
            c = (uint8_t)(c - 'A' + 'a');
        if (c != (uint8_t)text[i])
            return 0;
    }
    return 1;
}

hg_result hg_file_judge(const hg_log *log, const char *path, const hg_file *file)
{
    static const char *const pages[] = {"<!doctype", "<html", "<head", "<?xml"};
    uint64_t at = 0;
    size_t i;

    if (begins_with(file, 0, "version https://git-lfs"))
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: this is a git-lfs pointer, not the file itself; `git lfs pull` in its folder "
            "fetches it",
            path);
    while (at < file->bytes && at < 256 && strchr(" \t\r\n", file->data[at]) && file->data[at])
        at++;
    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        if (begins_with(file, at, pages[i]))
            return hg_fail(
                log, HG_ERR_FILE,
                "%s: this is a web page, not the file itself (often an error page or a login); "
                "fetch it again",
                path);
    return HG_OK;
}

void hg_file_release_pages(const hg_file *file, const void *data, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = (uint64_t)((const uint8_t *)data - file->data);
    uint64_t end = begin + bytes;

    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (end > begin)
        (void)madvise((void *)(file->data + begin), (size_t)(end - begin), MADV_DONTNEED);
}

void hg_file_read_ahead(const hg_file *file, const void *data, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t at = (uint64_t)((const uint8_t *)data - file->data);
    const uint64_t begin = at / page * page;

    if (bytes)
        (void)madvise((void *)(file->data + begin), (size_t)(at + bytes - begin), MADV_WILLNEED);
}

char *hg_path_join(const char *folder, const char *name)
{
    size_t a = strlen(folder), b = strlen(name);
    size_t slash = a > 0 && folder[a - 1] != '/' ? 1 : 0;
    char *path;

    if (b > SIZE_MAX - a - 2)
        return NULL;
    path = malloc(a + slash + b + 1);
    if (!path)
        return NULL;
    memcpy(path, folder, a);
    if (slash)
        path[a] = '/';
    memcpy(path + a + slash, name, b + 1);
    return path;
}
