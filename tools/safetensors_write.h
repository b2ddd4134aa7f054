/* SPDX-License-Identifier: MIT */
/*
 * A safetensors file, written in order without holding it: all tensors are declared first, then
 * their values follow in the same order, in pieces of any size.
 */
#ifndef HG_TOOLS_SAFETENSORS_WRITE_H
#define HG_TOOLS_SAFETENSORS_WRITE_H

#include "output.h"

#include <stdint.h>

enum { HG_TENSOR_RANK_MAX = 4 };

typedef struct hg_tensor_spec {
    char name[64];
    const char *dtype; /* "F32", "I64" */
    uint32_t rank;
    uint64_t shape[HG_TENSOR_RANK_MAX];
} hg_tensor_spec;

typedef struct hg_tensor_note { /* of "__metadata__" */
    const char *key, *value;
} hg_tensor_note;

typedef struct hg_tensor_file {
    hg_output *output;
    uint64_t bytes_left;
} hg_tensor_file;

/* Writes the header. */
hg_result hg_tensor_file_start(hg_tensor_file *file, hg_output *output, const hg_tensor_spec *specs,
                               uint32_t count, const hg_tensor_note *notes, uint32_t note_count);
/* Values, little-endian as on every machine that this runs on (checked when building). */
hg_result hg_tensor_file_append(hg_tensor_file *file, const void *values, uint64_t bytes);
/* A broken promise when not all values came. The output is committed by the caller. */
void hg_tensor_file_finish(const hg_tensor_file *file);

#endif
