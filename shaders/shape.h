/* SPDX-License-Identifier: MIT */
/*
 * Calls to try a kernel with: params and made-up inputs, as data, so that tests and self-checks of
 * a device use the same ones. Pure; the same bytes on every machine.
 */
#ifndef HG_SHADERS_SHAPE_H
#define HG_SHADERS_SHAPE_H

#include "kernel.h"

/* The params of any kernel, by name or as words. */
typedef union hg_params {
    uint32_t words[HG_PARAM_WORDS_MAX];
#define PARAMS(kernel, fields) struct hg_##kernel##_params kernel;
#include "kernels.def"
} hg_params;

typedef enum hg_fill {
    HG_FILL_NORMAL, /* about 1 */
    HG_FILL_NASTY,  /* zeros of both signs, denormals, 2^-50, 1e-12, 6e4, +-120, ties */
    HG_FILL_LARGE,  /* up to 6e4 */
    HG_FILL_HUGE,   /* rows scaled by 2^-66 to 2^66 */
    HG_FILL_EDGE,   /* just above 2^-50 */
    HG_FILL_EQUAL,  /* all ones */
    HG_FILL_ZERO
} hg_fill;

/* How rows[token] = { position, sequence, kv_begin, kv_end } come about. */
typedef enum hg_rows {
    HG_ROWS_ONE,   /* one sequence, token t at position start + t, its keys from cache row 3 */
    HG_ROWS_MANY,  /* tokens of three sequences in turn, each with keys of its own */
    HG_ROWS_MASKED /* as HG_ROWS_ONE, but every third token sees no key */
} hg_rows;

typedef struct hg_shape {
    const char *name;
    hg_kernel_id kernel;
    hg_params params;
    hg_fill fill;
    hg_rows rows;
    uint32_t start;    /* attention, attn_probs: position of the first token */
    uint32_t in_place; /* 1: the output is binding 0 */
    uint32_t large;    /* 1: more than 65535 work-groups, tens of MiB */
    uint32_t quick;    /* 1: one of the few that a kernel is tried on before it is first used */
} hg_shape;

extern const hg_shape hg_shapes[];
extern const uint32_t hg_shape_count;

/* Elements of a binding: those that the call may touch, and at an output a few that it must not. */
uint64_t hg_shape_bind_elements(const hg_shape *shape, uint32_t bind);

/* 1: the call reads what stands there before: bindings that are only read, and a y that is added
 * to.
 */
int hg_shape_is_input(const hg_shape *shape, uint32_t bind);

/* 0: a call that weights of this type cannot have (panels at an offset). */
int hg_shape_applies(const hg_shape *shape, hg_dtype dtype);

/* Bytes of these elements when the w binding has this type, in panels with what fills them up; a
 * multiple of 4. */
uint64_t hg_shape_bytes(const hg_shape *shape, uint32_t bind, hg_dtype dtype);

/* Writes the elements of an input binding. Not flushed: see hg_shape_flush. */
void hg_shape_fill(const hg_shape *shape, uint32_t bind, hg_dtype dtype, void *out);

/* Inputs that follow from others, once those are there: the statistics that attn_probs reads,
 * the marks that attention_merge does. */
void hg_shape_finish(const hg_shape *shape, void *const *bind);

/* The storage invariant, as an upload makes it: |x| < 2^-50 becomes +0. */
void hg_shape_flush(hg_dtype dtype, void *values, uint64_t count);

#endif
