/* SPDX-License-Identifier: MIT */
/*
 * The weight files of a folder, mapped, with their tensors in one table. Which file counts follows
 * transformers: safetensors before .bin, a single file before shards. The format is told by
 * content, not by name.
 */
#ifndef HG_HOST_WEIGHT_FILES_H
#define HG_HOST_WEIGHT_FILES_H

#include "file.h"
#include "tensor.h"

#include <stdatomic.h>

typedef struct hg_weight_files {
    char **paths;   /* [count] */
    hg_file *files; /* [count] */
    uint32_t count, room;
    hg_tensor_table
        table; /* sorted; of a name that several files hold, the one that counts is found first */
    uint8_t **copies; /* [copy_count] of strided views */
    uint32_t copy_count;
    uint64_t copy_bytes;
    atomic_uint users; /* beyond the first */
} hg_weight_files;

hg_result hg_weight_files_open(const hg_log *log, const char *folder, hg_weight_files *out);
void hg_weight_files_close(hg_weight_files *files);

/* One more owner: the files stay mapped until each has left. leave: frees `files` itself, which
 * came from malloc, with the last one. */
hg_weight_files *hg_weight_files_share(hg_weight_files *files);
void hg_weight_files_leave(hg_weight_files **files);

uint64_t hg_weight_files_bytes(const hg_weight_files *files);

/* The elements of a tensor one after another: its own bytes, or a copy of a strided view that lives
 * as long as the files. All copies together never exceed the size of the files. */
hg_result hg_weight_files_contiguous(const hg_log *log, hg_weight_files *files,
                                     const hg_tensor *tensor, const uint8_t **data);

#endif
