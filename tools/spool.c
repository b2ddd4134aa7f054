/* SPDX-License-Identifier: MIT */
/* See spool.h. */
#include "spool.h"

#include "app.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

hg_result hg_spool_create(hg_spool *spool)
{
    const char *folder = getenv("TMPDIR");
    char path[HG_PATH_SIZE];

    memset(spool, 0, sizeof(*spool));
    spool->fd = -1;
    if (!folder || !*folder)
        folder = "/var/tmp";
    if (snprintf(path, sizeof(path), "%s/headgate-stages.XXXXXX", folder) >= (int)sizeof(path))
        return hg_message_fail(HG_ERR_OUTPUT, "TMPDIR: the path is too long");
    spool->fd = mkstemp(path);
    if (spool->fd < 0)
        return hg_message_fail(
            HG_ERR_OUTPUT, "%s: no temporary file can be made (%s); name another folder by TMPDIR",
            folder, strerror(errno));
    (void)unlink(path); /* nothing is left, however this ends */
    (void)fcntl(spool->fd, F_SETFD, FD_CLOEXEC);
    return HG_OK;
}

void hg_spool_close(hg_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool->entries);
    memset(spool, 0, sizeof(*spool));
    spool->fd = -1;
}

static hg_result write_at_end(hg_spool *spool, const float *values, uint64_t count)
{
    const uint8_t *from = (const uint8_t *)values;
    uint64_t left = count * sizeof(*values);

    while (left > 0) {
        const size_t part = left < (1u << 24) ? (size_t)left : 1u << 24;
        const ssize_t done = pwrite(spool->fd, from, part, (off_t)spool->bytes);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return hg_message_fail(HG_ERR_OUTPUT,
                                   "the temporary file of stages cannot grow beyond %llu MiB (%s): "
                                   "use fewer tokens, or name a larger folder by TMPDIR",
                                   (unsigned long long)(spool->bytes >> 20), strerror(errno));
        from += done;
        left -= (uint64_t)done;
        spool->bytes += (uint64_t)done;
    }
    return HG_OK;
}

static hg_spool_entry *add(hg_spool *spool)
{
    if (spool->count == spool->room) {
        const uint32_t room = spool->room ? spool->room * 2 : 256;
        hg_spool_entry *grown = realloc(spool->entries, (size_t)room * sizeof(*grown));

        if (!grown)
            return NULL;
        spool->entries = grown;
        spool->room = room;
    }
    memset(&spool->entries[spool->count], 0, sizeof(*spool->entries));
    return &spool->entries[spool->count++];
}

hg_result hg_spool_append(hg_spool *spool, const hg_stage_head *head, const float *values,
                          const float *allowed)
{
    hg_spool_entry *entry = add(spool);
    hg_result res = HG_OK;

    if (!entry)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a list of stages");
    entry->head = *head;
    if (spool->bytes == 0) /* position 0 means "not there" */
        HG_TRY(write_at_end(spool, &(float){0}, 1));
    if (head->has_values) {
        entry->values_at = spool->bytes;
        HG_TRY(write_at_end(spool, values, head->count));
    }
    if (head->has_allowed) {
        entry->allowed_at = spool->bytes;
        HG_TRY(write_at_end(spool, allowed, head->count));
    }
out:
    if (res != HG_OK)
        spool->count--;
    return res;
}

static hg_result read_at(const hg_spool *spool, uint64_t at, uint64_t count, float *out)
{
    uint8_t *to = (uint8_t *)out;
    uint64_t left = count * sizeof(*out);

    if (at == 0)
        return HG_ERR_ARGUMENT;
    while (left > 0) {
        const size_t part = left < (1u << 24) ? (size_t)left : 1u << 24;
        const ssize_t done = pread(spool->fd, to, part, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return hg_message_fail(HG_ERR_FILE, "stages cannot be read back (%s)",
                                   done < 0 ? strerror(errno) : "the file has become shorter");
        to += done;
        at += (uint64_t)done;
        left -= (uint64_t)done;
    }
    return HG_OK;
}

hg_result hg_spool_values(const hg_spool *spool, uint32_t index, float *out)
{
    return read_at(spool, spool->entries[index].values_at, spool->entries[index].head.count, out);
}

hg_result hg_spool_allowed(const hg_spool *spool, uint32_t index, float *out)
{
    return read_at(spool, spool->entries[index].allowed_at, spool->entries[index].head.count, out);
}
