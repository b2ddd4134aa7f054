/* SPDX-License-Identifier: MIT */
/*
 * The kernel table as C data, expanded from kernels.def: what the engine, the tests and the tools
 * read. Owns no state. The arithmetic is in the kernel sources; grids are in grid.c; the reference
 * column in reference/. Thread-safety: everything here is constant.
 */
#ifndef HG_SHADERS_KERNEL_H
#define HG_SHADERS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { HG_BINDS_MAX = 8, HG_PARAM_WORDS_MAX = 32, HG_SPEC_MAX = 8 };

typedef enum hg_dtype {
    HG_DTYPE_NONE = 0,
    HG_DTYPE_F32 = 1,
    HG_DTYPE_F16 = 2,
    HG_DTYPE_BF16 = 3,
    HG_DTYPE_F32P = 4, /* the same three in panels of rows (panel.h) */
    HG_DTYPE_F16P = 5,
    HG_DTYPE_BF16P = 6,
    HG_DTYPE_COUNT
} hg_dtype;

/*
 * T0   + - * and integers, in one order: the same bytes everywhere
 * T0C  T0's text with tile numbers for processors, the same bytes; OpenCL and the text column alone
 * T0V  T0's sums in T0's order, the same bytes, with wide loads: Vulkan on processors, SPIR-V alone
 * T1   Vulkan, reductions by subgroup operations
 * T2   Vulkan, cooperative matrices
 * TC   OpenCL on processors, vectors written out
 */
typedef enum hg_tier {
    HG_TIER_T0 = 0,
    HG_TIER_T1 = 1,
    HG_TIER_T2 = 2,
    HG_TIER_TC = 3,
    HG_TIER_T0C = 4,
    HG_TIER_T0V = 5,
    HG_TIER_COUNT
} hg_tier;

/* struct hg_rms_norm_params { uint32_t rows; ... } and so on, one per PARAMS row. */
#define U(name) uint32_t name;
#define N(name) uint32_t name;
#define F(name) float name;
#define PARAMS(kernel, fields)                                                                     \
    struct hg_##kernel##_params {                                                                  \
        fields                                                                                     \
    };
#include "kernels.def"
#undef U
#undef N
#undef F

/* HG_KERNEL_rms_norm, ... */
typedef enum hg_kernel_id {
#define KERNEL(kernel, binds, flops, bytes) HG_KERNEL_##kernel,
#include "kernels.def"
    HG_KERNEL_COUNT
} hg_kernel_id;

enum { HG_ACCESS_R = 1, HG_ACCESS_W = 2, HG_ACCESS_RW = 3 };
typedef enum hg_bind_type { HG_BIND_f32 = 0, HG_BIND_u32 = 1, HG_BIND_w = 2 } hg_bind_type;

typedef struct hg_bind_row {
    uint8_t access; /* HG_ACCESS_* */
    uint8_t type;   /* hg_bind_type */
    const char *name;
} hg_bind_row;

/*
 * The reference column: plain C in double, the oracle of meaning. Computes items [begin, end) of
 * items(params); items are independent, so threads share them. bind[i] points at element 0 of
 * binding i (f32 or u32; a w binding at its bytes, of type w). Writes f32. magnitude: NULL, or an
 * array as long as the output binding `output` that receives per written element the sum of the
 * absolute terms (D8), in the units of the output.
 */
typedef struct hg_ref_call {
    const void *params;
    void *const *bind;
    hg_dtype w;
    uint32_t begin, end;
    double *magnitude;
} hg_ref_call;

/* A word of the params. */
typedef struct hg_field {
    const char *name;
    uint32_t is_size; /* 1: a number that tells the shape of a call */
} hg_field;

/* How far an attention looks, which its data tell and its params do not: scores per head, rows of
 * the cache that are read. For costs alone. */
typedef struct hg_reach {
    double pairs, keys;
} hg_reach;

/* What a call costs: operations, and bytes with every operand counted once. */
typedef struct hg_cost {
    double flops, bytes;
} hg_cost;

typedef struct hg_kernel {
    const char *name;
    uint32_t bind_count;
    uint32_t param_bytes;
    hg_bind_row bind[HG_BINDS_MAX];
    uint32_t output; /* binding that magnitude describes: the first that is written */
    uint32_t (*ref_items)(const void *params);
    void (*ref)(const hg_ref_call *call);
    const hg_field *field; /* [param_bytes / 4] */
    hg_cost (*cost)(const void *params, const hg_reach *reach, hg_dtype dtype);
} hg_kernel;

extern const hg_kernel hg_kernels[HG_KERNEL_COUNT];

/*
 * One way to compute a kernel. text: the kernel's own source compiled as C, the oracle of exact
 * bytes: runs work-groups [group_begin, group_end) of the flattened grid.
 */
typedef struct hg_text_call {
    const void *params;
    void *const *bind;
    const uint32_t *spec; /* [HG_SPEC_MAX] */
    uint32_t groups[3];
    uint32_t group_begin, group_end;
} hg_text_call;

typedef struct hg_variant {
    hg_kernel_id kernel;
    hg_tier tier;
    hg_dtype dtype;
    uint32_t threads; /* invocations per work-group, along dimension 0 */
    uint32_t spec_count;
    /* Tile numbers. OpenCL: -DNAME=value. The SPIR-V of the table has the defaults built in,
     * loops over them are written out; a module that has them as constants has constant id = index.
     */
    const char *const *spec_name;
    const uint32_t *spec_default;
    /* SPIR-V for vulkan1.1, entry point "main", one set, bindings 0..; NULL: none (T0C, TC). */
    const uint32_t *spirv;
    size_t spirv_bytes;
    /* OpenCL C 1.2, complete (no includes). Kernel function "hg_NAME"; its arguments are the
     * bindings in order as __global pointers, then the params struct by value (clSetKernelArg with
     * param_bytes). NULL: none (T1, T2). */
    const char *cl_source;
    const char *cl_options; /* "-DTHREADS=64 -DHG_W_BF16=1": to build it, beside -DNAME=value */
    void (*text)(const hg_text_call *call); /* NULL: no exact bytes are promised */
    /* Work-groups for these params. A dimension may pass 65535: the engine folds it, and kernels
     * recover the flat index from all three group ids (first fastest). */
    void (*grid)(const void *params, const uint32_t *spec, uint32_t threads, uint32_t groups[3]);
} hg_variant;

/* "T0C", "bf16" ("none" without a w binding, "bf16p" in panels). Never NULL. */
const char *hg_tier_name(hg_tier tier);
int hg_tier_is_exact(hg_tier tier); /* 1: the bytes of the text */
const char *hg_dtype_name(hg_dtype dtype);

extern const hg_variant hg_variants[];
extern const uint32_t hg_variant_count;

/* The variant of this tier. NULL: the table has none. dtype: as in hg_variant_t0. */
const hg_variant *hg_variant_find(hg_kernel_id kernel, hg_tier tier, hg_dtype dtype);

/* The T0 variant of a kernel for a weight type (HG_DTYPE_NONE where it has no w binding). Never
 * NULL. */
const hg_variant *hg_variant_t0(hg_kernel_id kernel, hg_dtype dtype);

#endif
