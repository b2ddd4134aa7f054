/* SPDX-License-Identifier: MIT */
/*
 * Compiled programs in files. A file is a head, the key in words, and the driver's bytes; it is
 * trusted only when head, key, length and checksum fit, and it appears under its name only when it
 * is whole. Native byte order: the folder belongs to one machine, and a file from elsewhere fails
 * its head.
 */
#include "cl.h"

#include "check.h"
#include "os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than this is no compiled kernel. */
#define BINARY_BYTES_MAX (UINT64_C(256) << 20)

typedef struct cache_head {
    char magic[8];
    uint64_t key_bytes, binary_bytes;
    uint64_t checksum; /* of key and binary */
} cache_head;

static const char magic[8] = {'h', 'g', 'c', 'l', 'b', 'i', 'n', '1'};

uint64_t hg_cl_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* "<folder>/cl-0123456789abcdef.bin", malloced. */
static char *make_path(const hg_cl_dev *dev, const char *key)
{
    static const char form[] = "%s/cl-%016llx.bin";
    const unsigned long long hash = hg_cl_hash(HG_CL_HASH_START, key, strlen(key));
    const int length = snprintf(NULL, 0, form, dev->cache_dir, hash);
    char *path = length < 0 ? NULL : malloc((size_t)length + 1);

    if (path)
        snprintf(path, (size_t)length + 1, form, dev->cache_dir, hash);
    return path;
}

/* NULL, with what is wrong in *why, unless the whole file fits. */
static unsigned char *read_checked(FILE *file, const char *key, size_t *size, const char **why)
{
    const size_t key_bytes = strlen(key);
    cache_head head;
    struct stat info;
    unsigned char *bytes = NULL;

    *why = "it is cut";
    if (fread(&head, sizeof(head), 1, file) != 1 || fstat(fileno(file), &info) != 0)
        return NULL;
    *why = "it is not such a file";
    if (memcmp(head.magic, magic, sizeof(magic)) != 0)
        return NULL;
    *why = "it belongs to another program";
    if (head.key_bytes != key_bytes)
        return NULL;
    *why = "its length is wrong";
    if (head.binary_bytes == 0 || head.binary_bytes > BINARY_BYTES_MAX || info.st_size < 0 ||
        (uint64_t)info.st_size != sizeof(head) + key_bytes + head.binary_bytes)
        return NULL;
    *why = "there is no memory to read it";
    bytes = malloc(key_bytes + (size_t)head.binary_bytes);
    if (!bytes)
        return NULL;
    *why = "it cannot be read";
    if (fread(bytes, key_bytes + (size_t)head.binary_bytes, 1, file) == 1) {
        *why = "it belongs to another program";
        if (memcmp(bytes, key, key_bytes) == 0) {
            *why = "its checksum is wrong";
            if (hg_cl_hash(HG_CL_HASH_START, bytes, key_bytes + (size_t)head.binary_bytes) ==
                head.checksum) {
                memmove(bytes, bytes + key_bytes, (size_t)head.binary_bytes);
                *size = (size_t)head.binary_bytes;
                return bytes;
            }
        }
    }
    free(bytes);
    return NULL;
}

unsigned char *hg_cl_cache_read(hg_cl_dev *dev, const char *key, size_t *size)
{
    const hg_log *log = &dev->base.plan.log;
    char *path = make_path(dev, key);
    FILE *file = path ? hg_os_open_regular(path) : NULL;
    const char *why = NULL;
    unsigned char *bytes = NULL;

    if (file) {
        bytes = read_checked(file, key, size, &why);
        if (!bytes)
            hg_say(log, HG_LOG_INFO, "%s: not used, %s: building from source", path, why);
        fclose(file);
    } else if (path && errno != ENOENT) {
        hg_say(log, HG_LOG_INFO, "%s: cannot be read (%s): building from source", path,
               strerror(errno));
    }
    free(path);
    return bytes;
}

static int write_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    while (size) {
        const ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Whole or not at all: a temporary name, then the real one. Not synced: the checksum finds a torn
 * file. */
static int write_file(const char *path, const char *key, const unsigned char *binary, size_t size)
{
    static const char ending[] = ".XXXXXX";
    const size_t key_bytes = strlen(key), path_bytes = strlen(path);
    cache_head head = {.key_bytes = key_bytes, .binary_bytes = size};
    char *temporary = malloc(path_bytes + sizeof(ending));
    int fd = -1, failed = -1, saved;

    if (!temporary) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(temporary, path_bytes + sizeof(ending), "%s%s", path, ending);
    memcpy(head.magic, magic, sizeof(magic));
    head.checksum = hg_cl_hash(hg_cl_hash(HG_CL_HASH_START, key, key_bytes), binary, size);
    fd = mkstemp(temporary);
    if (fd < 0)
        goto out;
    if (write_all(fd, &head, sizeof(head)) == 0 && write_all(fd, key, key_bytes) == 0 &&
        write_all(fd, binary, size) == 0)
        failed = 0;
    if (close(fd) != 0)
        failed = -1;
    if (failed == 0)
        failed = rename(temporary, path);
    saved = errno;
    if (failed != 0)
        unlink(temporary);
    errno = saved;
out:
    free(temporary);
    return failed;
}

void hg_cl_cache_write(hg_cl_dev *dev, const char *key, const unsigned char *binary, size_t size)
{
    const char *dir = dev->cache_dir;
    char *path = make_path(dev, key);

    if (!path || size > BINARY_BYTES_MAX)
        goto out;
    /* The folder itself is made, the ones above it are the caller's. */
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        goto warn;
    if (write_file(path, key, binary, size) == 0)
        goto out;
warn:
    if (!dev->cache_warned)
        hg_say(&dev->base.plan.log, HG_LOG_INFO, "%s: compiled programs cannot be kept there (%s)",
               dir, strerror(errno));
    dev->cache_warned = 1;
out:
    free(path);
}
