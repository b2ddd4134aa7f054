/* SPDX-License-Identifier: MIT */
/*
 * Finds the end record, the central directory and the members of an archive, believing no number
 * before it is inside the file. torch.save writes stored members with sizes in the central
 * directory only.
 */
#include "zip.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    FLAG_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
};

typedef struct directory {
    uint64_t offset, bytes, count;
    uint64_t limit; /* where the end records begin: members and directory lie before */
} directory;

static uint64_t get(const uint8_t *p, int bytes)
{
    uint64_t value = 0;

    while (bytes > 0)
        value = value << 8 | p[--bytes];
    return value;
}

static int is_mark(const uint8_t *p, uint8_t a, uint8_t b)
{
    return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

static hg_result say_broken(const hg_log *log, const hg_zip *zip, const char *what)
{
    return hg_fail(log, HG_ERR_FILE,
                   "%s: broken zip archive: %s; the file is damaged or cut short, fetch it again",
                   zip->path, what);
}

static hg_result say_member(const hg_log *log, const hg_zip *zip, const hg_zip_member *member,
                            const char *what)
{
    int bytes = member->name_bytes < 200 ? (int)member->name_bytes : 200;

    return hg_fail(log, HG_ERR_FILE, "%s: member %.*s of the zip archive: %s", zip->path, bytes,
                   member->name, what);
}

/* The last end record whose comment ends with the file. */
static hg_result find_end(const hg_log *log, const hg_zip *zip, uint64_t *offset)
{
    uint64_t bytes = zip->file.bytes, at, lowest;

    if (bytes < END_BYTES)
        return say_broken(log, zip, "it is shorter than its end record");
    lowest = bytes > END_BYTES + COMMENT_MAX ? bytes - END_BYTES - COMMENT_MAX : 0;
    for (at = bytes - END_BYTES + 1; at > lowest;) {
        const uint8_t *p = zip->file.data + --at;

        if (is_mark(p, 5, 6) && get(p + 20, 2) == bytes - at - END_BYTES) {
            *offset = at;
            return HG_OK;
        }
    }
    return say_broken(log, zip, "it has no end record");
}

/* A field of the old record that is saturated defers to the new one; others must agree with it. */
static int agree(uint64_t field, uint64_t saturated, uint64_t wide)
{
    return field == saturated || field == wide;
}

static hg_result read_end64(const hg_log *log, const hg_zip *zip, uint64_t end, directory *dir)
{
    const uint8_t *old = zip->file.data + end, *p;
    uint64_t at;

    if (end < LOCATOR_BYTES || !is_mark(old - LOCATOR_BYTES, 6, 7))
        return HG_OK;
    at = get(old - LOCATOR_BYTES + 8, 8);
    if (end - LOCATOR_BYTES < END64_BYTES || at > end - LOCATOR_BYTES - END64_BYTES)
        return say_broken(log, zip, "its zip64 end record is said to lie outside the file");
    p = zip->file.data + at;
    if (!is_mark(p, 6, 6))
        return say_broken(log, zip, "its zip64 end record is not where it is said to be");
    if (get(p + 16, 4) != 0 || get(p + 20, 4) != 0 || get(p + 24, 8) != get(p + 32, 8))
        return say_broken(log, zip, "it is one of several volumes");
    dir->count = get(p + 32, 8);
    dir->bytes = get(p + 40, 8);
    dir->offset = get(p + 48, 8);
    dir->limit = at;
    if (!agree(get(old + 10, 2), 0xFFFF, dir->count) ||
        !agree(get(old + 12, 4), 0xFFFFFFFF, dir->bytes) ||
        !agree(get(old + 16, 4), 0xFFFFFFFF, dir->offset))
        return say_broken(log, zip, "its two end records contradict each other");
    return HG_OK;
}

static hg_result read_end(const hg_log *log, const hg_zip *zip, directory *dir)
{
    const uint8_t *p;
    uint64_t end = 0;
    hg_result res;

    HG_TRY(find_end(log, zip, &end));
    p = zip->file.data + end;
    dir->count = get(p + 10, 2);
    dir->bytes = get(p + 12, 4);
    dir->offset = get(p + 16, 4);
    dir->limit = end;
    HG_TRY(read_end64(log, zip, end, dir));
    if (dir->limit == end &&
        (get(p + 4, 2) != 0 || get(p + 6, 2) != 0 || get(p + 8, 2) != dir->count))
        return say_broken(log, zip, "it is one of several volumes");
    if (dir->offset > dir->limit || dir->bytes > dir->limit - dir->offset)
        return say_broken(log, zip, "its directory is said to lie outside the file");
    if (dir->count > dir->bytes / ENTRY_BYTES)
        return say_broken(log, zip,
                          "it is said to have more members than its directory has room for");
out:
    return res;
}

/* Sizes and offset beyond 32 bits stand in an extra field, only those that are saturated, in this
 * order. */
static int read_wide(const uint8_t *extra, uint64_t extra_bytes, uint64_t *bytes,
                     uint64_t *packed_bytes, uint64_t *offset)
{
    uint64_t *const fields[3] = {bytes, packed_bytes, offset};
    uint64_t at = 0, field_bytes;
    int i, missing = 0;

    for (i = 0; i < 3; i++)
        missing += *fields[i] == 0xFFFFFFFF;
    if (!missing)
        return 1;
    while (extra_bytes - at >= 4) {
        field_bytes = get(extra + at + 2, 2);
        if (field_bytes > extra_bytes - at - 4)
            return 0;
        if (get(extra + at, 2) != 1) {
            at += 4 + field_bytes;
            continue;
        }
        if (field_bytes < (uint64_t)missing * 8)
            return 0;
        at += 4;
        for (i = 0; i < 3; i++) {
            if (*fields[i] == 0xFFFFFFFF) {
                *fields[i] = get(extra + at, 8);
                at += 8;
            }
        }
        return 1;
    }
    return 0;
}

/* One entry of the central directory; *at moves behind it. end: where the directory ends. */
static hg_result read_entry(const hg_log *log, const hg_zip *zip, uint64_t end, uint64_t *at,
                            hg_zip_member *member)
{
    const uint8_t *p = zip->file.data + *at;
    uint64_t name, extra, comment, packed;

    if (end - *at < ENTRY_BYTES || !is_mark(p, 1, 2))
        return say_broken(log, zip, "its directory has fewer members than it says");
    name = get(p + 28, 2);
    extra = get(p + 30, 2);
    comment = get(p + 32, 2);
    if (name + extra + comment > end - *at - ENTRY_BYTES)
        return say_broken(log, zip, "a name in its directory runs out of it");
    *at += ENTRY_BYTES + name + extra + comment;
    member->name = (const char *)p + ENTRY_BYTES;
    member->name_bytes = (uint32_t)name;
    packed = get(p + 20, 4);
    member->bytes = get(p + 24, 4);
    member->local_offset = get(p + 42, 4);
    if (get(p + 8, 2) & FLAG_ENCRYPTED)
        return say_member(log, zip, member, "it is encrypted, which is not supported");
    if (get(p + 10, 2) != 0)
        return say_member(log, zip, member,
                          "it is compressed; torch.save stores without compression: save the "
                          "checkpoint again, or "
                          "repack it with `zip -0`");
    if (!read_wide(p + ENTRY_BYTES + name, extra, &member->bytes, &packed, &member->local_offset))
        return say_member(log, zip, member,
                          "its size is said to stand in a zip64 field that it does not have");
    if (packed != member->bytes)
        return say_member(log, zip, member, "it is stored, but its two sizes differ");
    return HG_OK;
}

static int order_names(const char *a, uint64_t a_bytes, const char *b, uint64_t b_bytes)
{
    int order = memcmp(a, b, (size_t)(a_bytes < b_bytes ? a_bytes : b_bytes));

    if (order)
        return order;
    return a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

static int order_members(const void *a, const void *b)
{
    const hg_zip_member *x = a, *y = b;

    return order_names(x->name, x->name_bytes, y->name, y->name_bytes);
}

hg_result hg_zip_open(const hg_log *log, const char *path, const hg_file *file, hg_zip *out)
{
    directory dir = {0, 0, 0, 0};
    uint64_t at, i;
    hg_result res;

    *out = (hg_zip){.file = *file, .path = path};
    HG_TRY(read_end(log, out, &dir));
    out->directory_offset = dir.offset;
    /* At most a 46th of the file: read_end has compared the two. */
    out->members = malloc((size_t)(dir.count ? dir.count : 1) * sizeof(*out->members));
    if (!out->members || dir.count > UINT32_MAX) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for %llu members", path,
                      (unsigned long long)dir.count);
        goto out;
    }
    at = dir.offset;
    for (i = 0; i < dir.count; i++)
        HG_TRY(read_entry(log, out, dir.offset + dir.bytes, &at, &out->members[i]));
    out->count = (uint32_t)dir.count;
    qsort(out->members, out->count, sizeof(*out->members), order_members);
    for (i = 1; i < out->count; i++) {
        if (order_members(&out->members[i - 1], &out->members[i]) == 0) {
            res = say_member(log, out, &out->members[i], "it is there twice");
            goto out;
        }
    }
out:
    if (res != HG_OK)
        hg_zip_close(out);
    return res;
}

void hg_zip_close(hg_zip *zip)
{
    free(zip->members);
    zip->members = NULL;
    zip->count = 0;
}

const hg_zip_member *hg_zip_find(const hg_zip *zip, const char *name, uint64_t name_bytes)
{
    uint32_t begin = 0, end = zip->count;

    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        const hg_zip_member *member = &zip->members[middle];
        int order = order_names(member->name, member->name_bytes, name, name_bytes);

        if (order == 0)
            return member;
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

hg_result hg_zip_data(const hg_log *log, const hg_zip *zip, const hg_zip_member *member,
                      const uint8_t **data)
{
    uint64_t at = member->local_offset, end = zip->directory_offset, skip;
    const uint8_t *p;

    *data = NULL;
    if (at > end || end - at < LOCAL_BYTES)
        return say_member(log, zip, member, "it is said to begin outside the file");
    p = zip->file.data + at;
    if (!is_mark(p, 3, 4))
        return say_member(log, zip, member, "it does not begin where the directory says");
    skip = LOCAL_BYTES + get(p + 26, 2) + get(p + 28, 2);
    if (get(p + 26, 2) != member->name_bytes || end - at < skip ||
        memcmp(p + LOCAL_BYTES, member->name, member->name_bytes) != 0)
        return say_member(log, zip, member, "it has another name where its data begin");
    if (member->bytes > end - at - skip)
        return say_member(log, zip, member, "its data are said to run out of the file");
    *data = p + skip;
    return HG_OK;
}
