/* SPDX-License-Identifier: MIT */
/*
 * Compiled pipelines on disk, one file per device, driver and version of headgate. A file is
 * believed only when its own checksum and Vulkan's header fit: drivers have crashed on bad ones. It
 * is written beside its name and renamed, so a reader, or a second process that writes, never sees
 * a part. Nothing here can fail a run; what cannot be read or written is said at INFO.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vk.h"

#include "os.h"

enum { CACHE_HEADER_BYTES = 24, CACHE_MAX_BYTES = 256 << 20 };

static const char cache_magic[8] = {'H', 'G', 'V', 'K', 'P', 'C', '0', '1'};

/* FNV-1a, 64 bits: finds accidents, not attacks; whoever can write the folder can do worse. */
static uint64_t checksum(const uint8_t *bytes, size_t count)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static char *make_path(const hg_vk_dev *dev, const char *dir)
{
    const VkPhysicalDeviceProperties *properties = &dev->facts.properties;
    size_t room = strlen(dir) + 160;
    char *path = malloc(room);
    int used;

    if (!path)
        return NULL;
    used = snprintf(path, room, "%s/vk-%08x-%08x-%08x-", dir, properties->vendorID,
                    properties->deviceID, properties->driverVersion);
    for (uint32_t i = 0; i < VK_UUID_SIZE; i++)
        used +=
            snprintf(path + used, room - (size_t)used, "%02x", properties->pipelineCacheUUID[i]);
    snprintf(path + used, room - (size_t)used, "-%s.pipelines", HG_VERSION_STRING);
    return path;
}

/* Whole file, or NULL. *why says what was wrong; NULL when there simply is no file. */
static uint8_t *read_file(const char *path, size_t *count, const char **why)
{
    FILE *file = hg_os_open_regular(path);
    uint8_t *bytes = NULL;
    struct stat info;

    *count = 0;
    *why = NULL;
    if (!file) {
        *why = errno == ENOENT ? NULL : strerror(errno);
        return NULL;
    }
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size < CACHE_HEADER_BYTES || info.st_size > CACHE_MAX_BYTES) {
        *why = "not a file of this kind";
        goto out;
    }
    bytes = malloc((size_t)info.st_size);
    if (!bytes)
        *why = "out of memory";
    else
        *count = fread(bytes, 1, (size_t)info.st_size, file);
out:
    fclose(file);
    return bytes;
}

static const char *check_file(const hg_vk_dev *dev, const uint8_t *bytes, size_t count)
{
    const VkPhysicalDeviceProperties *properties = &dev->facts.properties;
    VkPipelineCacheHeaderVersionOne header;
    uint64_t size, sum;

    if (count < CACHE_HEADER_BYTES + sizeof(header) || memcmp(bytes, cache_magic, 8) != 0)
        return "not a file of this kind";
    memcpy(&size, bytes + 8, 8);
    memcpy(&sum, bytes + 16, 8);
    if (size != count - CACHE_HEADER_BYTES ||
        sum != checksum(bytes + CACHE_HEADER_BYTES, count - CACHE_HEADER_BYTES))
        return "damaged";
    memcpy(&header, bytes + CACHE_HEADER_BYTES, sizeof(header));
    if (header.headerSize < sizeof(header) ||
        header.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE ||
        header.vendorID != properties->vendorID || header.deviceID != properties->deviceID ||
        memcmp(header.pipelineCacheUUID, properties->pipelineCacheUUID, VK_UUID_SIZE) != 0)
        return "of another driver";
    return NULL;
}

static void create_cache(hg_vk_dev *dev, const uint8_t *bytes, size_t count)
{
    VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = count,
        .pInitialData = bytes,
    };
    VkResult result = dev->fn.vkCreatePipelineCache(dev->handle, &info, NULL, &dev->cache);

    if (result == VK_SUCCESS)
        return;
    dev->cache = VK_NULL_HANDLE;
    hg_say(&dev->base.plan.log, HG_LOG_INFO, "%s: no pipeline cache: %s",
           dev->base.plan.device.name, hg_vk_result_name(result));
    if (count > 0) /* perhaps the driver did not like what an older one wrote */
        create_cache(dev, NULL, 0);
}

hg_result hg_vk_cache_open(hg_vk_dev *dev)
{
    const hg_log *log = &dev->base.plan.log;
    uint8_t *bytes = NULL;
    size_t count = 0;
    const char *why;

    if (!dev->base.plan.cache_dir || !dev->base.plan.cache_dir[0])
        return HG_OK;
    dev->cache_path = make_path(dev, dev->base.plan.cache_dir);
    if (!dev->cache_path)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory", dev->base.plan.device.name);
    bytes = read_file(dev->cache_path, &count, &why);
    if (bytes)
        why = check_file(dev, bytes, count);
    if (why)
        hg_say(log, HG_LOG_INFO, "%s: pipeline cache ignored: %s", dev->cache_path, why);
    if (bytes && !why) {
        memcpy(&dev->cache_checksum, bytes + 16, 8);
        create_cache(dev, bytes + CACHE_HEADER_BYTES, count - CACHE_HEADER_BYTES);
    } else {
        create_cache(dev, NULL, 0);
    }
    free(bytes);
    return HG_OK;
}

/* File bytes with our header in front, or NULL when the driver gives none. */
static uint8_t *take_data(hg_vk_dev *dev, size_t *count)
{
    uint8_t *bytes;
    size_t size = 0;
    uint64_t head[2];

    *count = 0;
    if (dev->fn.vkGetPipelineCacheData(dev->handle, dev->cache, &size, NULL) != VK_SUCCESS ||
        size == 0 || size > CACHE_MAX_BYTES - CACHE_HEADER_BYTES)
        return NULL;
    bytes = malloc(size + CACHE_HEADER_BYTES);
    if (!bytes)
        return NULL;
    if (dev->fn.vkGetPipelineCacheData(dev->handle, dev->cache, &size,
                                       bytes + CACHE_HEADER_BYTES) != VK_SUCCESS) {
        free(bytes);
        return NULL;
    }
    head[0] = size;
    head[1] = checksum(bytes + CACHE_HEADER_BYTES, size);
    memcpy(bytes, cache_magic, sizeof(cache_magic));
    memcpy(bytes + 8, head, sizeof(head));
    *count = size + CACHE_HEADER_BYTES;
    return bytes;
}

static int write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        bytes += written;
        count -= (size_t)written;
    }
    return fsync(fd);
}

/* 0, or -1 with errno. */
static int write_file(const char *path, const uint8_t *bytes, size_t count)
{
    size_t room = strlen(path) + sizeof(".XXXXXX");
    char *temporary = malloc(room);
    int fd, failed, error;

    if (!temporary) {
        errno = ENOMEM;
        return -1;
    }
    snprintf(temporary, room, "%s.XXXXXX", path);
    fd = mkstemp(temporary);
    if (fd < 0) {
        free(temporary);
        return -1;
    }
    failed = write_all(fd, bytes, count) != 0;
    error = errno;
    if (close(fd) != 0 && !failed) {
        failed = 1;
        error = errno;
    }
    if (!failed && rename(temporary, path) != 0) {
        failed = 1;
        error = errno;
    }
    if (failed)
        unlink(temporary);
    free(temporary);
    errno = error;
    return failed ? -1 : 0;
}

void hg_vk_cache_close(hg_vk_dev *dev)
{
    uint8_t *bytes = NULL;
    uint64_t sum = 0;
    size_t count = 0;

    if (dev->cache && dev->pipes && !atomic_load(&dev->lost))
        bytes = take_data(dev, &count);
    if (bytes)
        memcpy(&sum, bytes + 16, sizeof(sum));
    if (bytes && sum != dev->cache_checksum) {
        mkdir(dev->base.plan.cache_dir, 0700); /* may be there; what matters fails below */
        if (write_file(dev->cache_path, bytes, count) != 0)
            hg_say(&dev->base.plan.log, HG_LOG_INFO,
                   "%s: compiled pipelines are not kept: %s; the next start compiles them again",
                   dev->cache_path, strerror(errno));
    }
    free(bytes);
    if (dev->cache)
        dev->fn.vkDestroyPipelineCache(dev->handle, dev->cache, NULL);
    free(dev->cache_path);
}
