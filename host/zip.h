/* SPDX-License-Identifier: MIT */
/*
 * The directory of a ZIP archive in memory: stored members only, ZIP64 too. Members are ranges of
 * the mapping; nothing is extracted. Their CRCs are not computed: that would read gigabytes before
 * anything can be said.
 */
#ifndef HG_HOST_ZIP_H
#define HG_HOST_ZIP_H

#include "file.h"

typedef struct hg_zip_member {
    const char *name; /* in the mapping, not NUL-terminated */
    uint32_t name_bytes;
    uint64_t local_offset;
    uint64_t bytes;
} hg_zip_member;

typedef struct hg_zip {
    hg_file file;
    const char *path;
    hg_zip_member *members; /* [count], sorted by name, names differ */
    uint32_t count;
    uint64_t directory_offset;
} hg_zip;

/* path and file must outlive the archive. */
hg_result hg_zip_open(const hg_log *log, const char *path, const hg_file *file, hg_zip *out);
void hg_zip_close(hg_zip *zip);

/* The member of that name, or NULL. */
const hg_zip_member *hg_zip_find(const hg_zip *zip, const char *name, uint64_t name_bytes);
/* Its contents, after a check of its local header. */
hg_result hg_zip_data(const hg_log *log, const hg_zip *zip, const hg_zip_member *member,
                      const uint8_t **data);

#endif
