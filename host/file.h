/* SPDX-License-Identifier: MIT */
/*
 * A file as read-only memory. Regular files only (a pipe or a device would hang or lie about its
 * size). A file that another program cuts short while it is mapped raises SIGBUS, as with any
 * mapping: that is the one promise a caller must get from its surroundings.
 */
#ifndef HG_HOST_FILE_H
#define HG_HOST_FILE_H

#include <headgate/base.h>

typedef struct hg_file {
    const uint8_t *data; /* NULL: not mapped */
    uint64_t bytes;      /* never 0 while mapped: an empty file is an error */
} hg_file;

typedef enum hg_file_kind {
    HG_FILE_MISSING,
    HG_FILE_REGULAR,
    HG_FILE_FOLDER,
    HG_FILE_OTHER
} hg_file_kind;

/* What the path leads to, symbolic links followed. */
hg_file_kind hg_file_look(const char *path);

/* max_bytes 0: any size. HG_ERR_FILE with a sentence: missing, a folder, empty, unreadable, too
 * large. */
hg_result hg_file_map(const hg_log *log, const char *path, uint64_t max_bytes, hg_file *out);
void hg_file_unmap(hg_file *file);

/* Things that stand in for a file where a download went wrong: HG_ERR_FILE for a git-lfs pointer or
 * an HTML page, with what to do about it. */
hg_result hg_file_judge(const hg_log *log, const char *path, const hg_file *file);

/* The pages that lie wholly in these bytes of a mapped file need not stay in memory. */
void hg_file_release_pages(const hg_file *file, const void *data, uint64_t bytes);
/* The pages of these bytes begin to be read, if they are not in memory; does not wait. */
void hg_file_read_ahead(const hg_file *file, const void *data, uint64_t bytes);

/* "folder/name" as a new string, or NULL when memory is out. */
char *hg_path_join(const char *folder, const char *name);

#endif
