/* SPDX-License-Identifier: MIT */
/*
 * The tensors of the weight files of one checkpoint, whatever their format: what the readers fill
 * (safetensors.c, torch_file.c) and checkpoint.c looks names up in. Knows no model.
 */
#ifndef HG_HOST_TENSOR_H
#define HG_HOST_TENSOR_H

#include "kernel.h"

#include <headgate/base.h>

enum { HG_TENSOR_RANK_MAX = 8 };

typedef struct hg_tensor {
    char *name;
    char type[8];   /* as the file words it: "BF16", "I64", "F8_E4M3" */
    hg_dtype dtype; /* HG_DTYPE_NONE: not a type of weights */
    uint32_t rank;
    uint64_t shape[HG_TENSOR_RANK_MAX];
    uint64_t stride[HG_TENSOR_RANK_MAX]; /* in elements; row-major unless `strided` */
    uint64_t elements;
    uint64_t bytes;      /* of all elements, as if contiguous */
    const uint8_t *data; /* the first element, in a mapping; any byte address. Checked: all elements
                            are inside. */
    uint32_t strided;    /* 1: not contiguous; dtype is known then */
    uint32_t file;
    uint32_t used;
} hg_tensor;

/* The elements one after another in row-major order; out NULL: only counts. Returns the bytes. */
uint64_t hg_tensor_unroll(const hg_tensor *tensor, uint8_t *out);

typedef struct hg_tensor_table {
    hg_tensor *items; /* in the order of the files */
    uint32_t count, room;
    uint32_t *sorted; /* [count] indices by name, after hg_tensor_table_sort */
} hg_tensor_table;

/* Appends; the table owns name afterwards (also on failure). */
hg_result hg_tensor_table_append(const hg_log *log, hg_tensor_table *table,
                                 const hg_tensor *tensor);
hg_result hg_tensor_table_sort(const hg_log *log, hg_tensor_table *table);
/* Needs the sort. The first of that name in order of the files, and how many there are; NULL when
 * none is. */
hg_tensor *hg_tensor_table_find(const hg_tensor_table *table, const char *name, uint32_t *count);
void hg_tensor_table_free(hg_tensor_table *table);

/* 0 on overflow: elements of a shape; rank 0 is one element. */
int hg_shape_elements(const uint64_t *shape, uint32_t rank, uint64_t *elements);
/* a * b in *out, or 0. */
int hg_multiply_u64(uint64_t a, uint64_t b, uint64_t *out);

/* "[3, 4]" for sentences. Returns buffer. */
const char *hg_shape_show(const uint64_t *shape, uint32_t rank, char *buffer, size_t size);

#endif
