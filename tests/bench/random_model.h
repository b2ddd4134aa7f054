/* SPDX-License-Identifier: MIT */
/*
 * A random checkpoint as data: its shape, its tensors, and their values by name and index. Writers
 * ask for the values in pieces, so that a checkpoint of any size needs little memory, and two file
 * forms hold the same numbers.
 */
#ifndef HG_BENCH_RANDOM_MODEL_H
#define HG_BENCH_RANDOM_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum hg_bench_dtype { HG_BENCH_F32, HG_BENCH_F16, HG_BENCH_BF16 } hg_bench_dtype;
typedef enum hg_bench_gate {
    HG_BENCH_NO_GATE,
    HG_BENCH_HEADWISE,
    HG_BENCH_ELEMENTWISE
} hg_bench_gate;

typedef struct hg_bench_shape {
    uint32_t hidden, layers, heads, kv_heads, head_dim, ffn, vocab;
    uint32_t tied;
    hg_bench_gate gate;
    hg_bench_dtype dtype;
    uint64_t seed;
} hg_bench_shape;

typedef struct hg_bench_tensor {
    char name[96];
    uint32_t rank;
    uint64_t shape[2];
    uint64_t count;
    uint32_t alias; /* 1: shares the storage of the embedding, has no values of its own */
} hg_bench_tensor;

uint32_t hg_bench_dtype_bytes(hg_bench_dtype dtype);

/* Tensor i; 0 past the end. A tied head is the last one, as an alias: file forms that cannot share
 * leave it out. */
int hg_bench_tensor_at(const hg_bench_shape *shape, uint32_t index, hg_bench_tensor *out);

/* Values [first, first + count) of a tensor, in the shape's dtype, little-endian. */
void hg_bench_values(const hg_bench_shape *shape, const hg_bench_tensor *tensor, uint64_t first,
                     size_t count, void *out);

/* Both write the whole file; 0 and errno when the disk said no. */
int hg_bench_write_safetensors(FILE *file, const hg_bench_shape *shape);
int hg_bench_write_torch(FILE *file, const hg_bench_shape *shape);

#endif
