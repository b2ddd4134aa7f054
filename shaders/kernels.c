/* SPDX-License-Identifier: MIT */
/*
 * The table as data. Every name in it is made from a row of kernels.def: what a row asks for and
 * nobody wrote is a link error with the kernel's name in it. The generated modules.h holds SPIR-V
 * and OpenCL C.
 */
#include "kernel.h"

#include <assert.h>

#include "grid.h"
#include "modules.h"
#include "panel.h"
#include "reference/reference.h"

/* Arguments here are names, and lists without commas. NOLINTBEGIN(bugprone-macro-parentheses) */

#define KERNEL(kernel, binds, flops, bytes)                                                        \
    static hg_cost cost_##kernel(const void *params, const hg_reach *reach, hg_dtype dtype)        \
    {                                                                                              \
        const struct hg_##kernel##_params *p = params;                                             \
        const double pairs = reach->pairs, keys = reach->keys, w = hg_dtype_bytes(dtype);          \
        (void)p, (void)pairs, (void)keys, (void)w;                                                 \
        return (hg_cost){flops, bytes};                                                            \
    }
#include "kernels.def"

#define KERNEL(kernel, binds, flops, bytes)                                                        \
    _Static_assert(sizeof(struct hg_##kernel##_params) <= HG_PARAM_WORDS_MAX * sizeof(uint32_t),   \
                   #kernel ": the params do not fit into push constants");
#include "kernels.def"

/* The output is the first binding that is written: those only read stand before it. */
#define B(access, type, name) +(HG_ACCESS_##access == HG_ACCESS_R)
#define KERNEL(kernel, binds, flops, bytes) enum { OUTPUT_##kernel = 0 binds };
#include "kernels.def"
#undef B

#define B(access, type, name) +1
#define KERNEL(kernel, binds, flops, bytes) enum { COUNT_##kernel = 0 binds };
#include "kernels.def"
#undef B

#define N(name) {#name, 1},
#define U(name) {#name, 0},
#define F(name) {#name, 0},
#define PARAMS(kernel, fields) static const hg_field fields_##kernel[] = {fields};
#include "kernels.def"
#undef N
#undef U
#undef F

const hg_kernel hg_kernels[HG_KERNEL_COUNT] = {
#define B(access, type, name) {HG_ACCESS_##access, HG_BIND_##type, #name},
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    {                                                                                              \
        #kernel,         COUNT_##kernel,  (uint32_t)sizeof(struct hg_##kernel##_params),           \
        {binds},         OUTPUT_##kernel, hg_ref_items_##kernel,                                   \
        hg_ref_##kernel, fields_##kernel, cost_##kernel,                                           \
    },
#include "kernels.def"
#undef B
};

/* Words of the dtype column. */
#define DTYPE_none HG_DTYPE_NONE
#define DTYPE_f32 HG_DTYPE_F32
#define DTYPE_f16 HG_DTYPE_F16
#define DTYPE_bf16 HG_DTYPE_BF16
#define DTYPE_f32p HG_DTYPE_F32P
#define DTYPE_f16p HG_DTYPE_F16P
#define DTYPE_bf16p HG_DTYPE_BF16P
#define OPTION_none ""
#define OPTION_f32 " -DHG_W_F32=1"
#define OPTION_f16 " -DHG_W_F16=1"
#define OPTION_bf16 " -DHG_W_BF16=1"
#define OPTION_f32p " -DHG_W_F32P=1"
#define OPTION_f16p " -DHG_W_F16P=1"
#define OPTION_bf16p " -DHG_W_BF16P=1"

/* The column spec, three times over: how many, names, defaults. */
#define S(name, value) +1
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    enum { SPECS_##kernel##_##tier##_##dtype = 0 spec };
#include "kernels.def"
#undef S

#define S(name, value) #name,
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    static const char *const names_##kernel##_##tier##_##dtype[] = {spec NULL};
#include "kernels.def"
#undef S

#define S(name, value) value,
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    static const uint32_t values_##kernel##_##tier##_##dtype[] = {spec 0};
#include "kernels.def"
#undef S

const hg_variant hg_variants[] = {
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    {                                                                                              \
        HG_KERNEL_##kernel,                                                                        \
        HG_TIER_##tier,                                                                            \
        DTYPE_##dtype,                                                                             \
        threads,                                                                                   \
        SPECS_##kernel##_##tier##_##dtype,                                                         \
        names_##kernel##_##tier##_##dtype,                                                         \
        values_##kernel##_##tier##_##dtype,                                                        \
        HG_SPIRV_##kernel##_##tier##_##dtype,                                                      \
        HG_CL_##kernel##_##tier##_##dtype,                                                         \
        "-DTHREADS=" #threads OPTION_##dtype,                                                      \
        HG_TEXT_##kernel##_##tier##_##dtype,                                                       \
        hg_grid_##grid,                                                                            \
    },
#include "kernels.def"
};

/* NOLINTEND(bugprone-macro-parentheses) */

const uint32_t hg_variant_count = sizeof(hg_variants) / sizeof(hg_variants[0]);

const char *hg_tier_name(hg_tier tier)
{
    static const char *const names[] = {"T0", "T1", "T2", "TC", "T0C", "T0V"};

    return names[tier];
}

int hg_tier_is_exact(hg_tier tier)
{
    return tier == HG_TIER_T0 || tier == HG_TIER_T0C || tier == HG_TIER_T0V;
}

const char *hg_dtype_name(hg_dtype dtype)
{
    static const char *const names[] = {"none", "f32", "f16", "bf16", "f32p", "f16p", "bf16p"};

    return names[dtype];
}

const hg_variant *hg_variant_find(hg_kernel_id kernel, hg_tier tier, hg_dtype dtype)
{
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];

        if (v->kernel == kernel && v->tier == tier &&
            (v->dtype == dtype || v->dtype == HG_DTYPE_NONE))
            return v;
    }
    return NULL;
}

const hg_variant *hg_variant_t0(hg_kernel_id kernel, hg_dtype dtype)
{
    const hg_variant *variant = hg_variant_find(kernel, HG_TIER_T0, dtype);

    assert(variant);
    return variant;
}
