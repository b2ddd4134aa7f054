/* SPDX-License-Identifier: MIT */
/* Snapshot and options to plan. Pure; see plan.h. Device order and selectors are in select.c. */
#include "plan.h"

#include "check.h"
#include "matrix.h"
#include "panel.h"

#include <string.h>

/* Less a few, for loops that rounds.c does not count. */
enum { LLVMPIPE_ROUNDS = 65000 };

static hg_result read_tier(const hg_log *log, const char *name, hg_plan *out)
{
    if (!name)
        return HG_OK;
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        if (strcmp(name, hg_tier_name(hg_variants[i].tier)) == 0) {
            out->tier = hg_variants[i].tier;
            out->tier_given = 1;
            return HG_OK;
        }
    }
    return hg_fail(log, HG_ERR_ARGUMENT,
                   "tier \"%s\" is none of the kernel table; T0 is always there", name);
}

/* Without matrix units there is nothing that fast could leave out: then it is fp32, and every
 * result says so. */
static void settle_fast(hg_plan *plan)
{
    const char *why = plan->tier_given && plan->tier != HG_TIER_T2 ? "another tier was asked for"
                                                                   : hg_matrix_lacks(plan);

    if (!why)
        return;
    plan->precision = HG_PRECISION_FP32;
    hg_say(&plan->log, HG_LOG_WARNING,
           "precision fast needs tier T2, which %s (%s) does not use: %s; computing with fp32",
           plan->device.selector, plan->device.name, why);
}

hg_result hg_plan_make(const hg_snapshot *device, const hg_engine_params *params, hg_plan *out)
{
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    if (params->precision != HG_PRECISION_FP32 && params->precision != HG_PRECISION_EXACT &&
        params->precision != HG_PRECISION_FAST)
        return hg_fail(&params->log, HG_ERR_ARGUMENT, "precision %d is none that is known",
                       (int)params->precision);
    if (device->unusable[0])
        return hg_fail(&params->log, HG_ERR_NO_DEVICE, "device %s (%s) cannot be used: %s",
                       device->selector, device->name, device->unusable);
    out->device = *device;
    out->limits = device->limits;
    out->features = device->features;
    out->loop_rounds = device->backend == HG_BACKEND_VULKAN && strstr(device->driver, "llvmpipe")
                           ? LLVMPIPE_ROUNDS
                           : 0;
    out->precision = params->precision;
    out->reference_text = params->precision == HG_PRECISION_EXACT;
    out->threads = params->threads;
    out->validate = params->validate;
    out->cache_dir = params->cache_dir;
    out->log = params->log;
    HG_TRY(read_tier(&params->log, params->tier, out));
    res = hg_limits_override(&params->log, params->limits, &out->limits, &out->features);
    out->device.limits = out->limits;
    out->device.features = out->features;
    if (res == HG_OK && out->precision == HG_PRECISION_FAST)
        settle_fast(out);
out:
    return res;
}

/* Intel's OpenCL for processors adds in another order than written when a work-group has fewer than
 * 16 items (seen with 2026.22.10: 10 of 64 sums of a loop `s = s + a * b` right, 64 of 64 from 16
 * items on), whatever the pragma and the options say. T0C has groups of one. */
static int reorders_small_groups(const hg_device_info *device)
{
    return device->backend == HG_BACKEND_OPENCL && strstr(device->driver, "Intel(R) OpenCL");
}

/* rusticl on a processor: T0 reads a prompt 5 times as fast as T0C there, 35 times as fast as TC
 * (Mesa 26.1.6). */
static int is_slow_with_tiles(const hg_plan *plan)
{
    return plan->device.backend == HG_BACKEND_OPENCL && !plan->tier_given &&
           strstr(plan->device.driver, "rusticl") != NULL;
}

/* What a tier asks for beside work-groups. NULL: it is there. */
static const char *tier_lacks(const hg_plan *plan, hg_tier tier)
{
    const hg_device_info *device = &plan->device;
    const int is_opencl = device->backend == HG_BACKEND_OPENCL;
    const int is_vulkan = device->backend == HG_BACKEND_VULKAN;

    switch (tier) {
    case HG_TIER_T0:
        return NULL;
    case HG_TIER_T0C:
        if (is_opencl && device->type != HG_DEVICE_CPU)
            return "its tiles are made for processors";
        if (is_slow_with_tiles(plan))
            return "its tiles were measured slow on this driver; SEL/T0C uses them all the same";
        if (reorders_small_groups(device))
            return "this driver reorders sums in work-groups of fewer than 16 items";
        return NULL;
    case HG_TIER_T0V:
        if (!is_vulkan || device->type != HG_DEVICE_CPU)
            return "it is made for Vulkan on processors";
        return plan->features & HG_FEATURE_INT64 ? NULL : "it needs 64-bit integers";
    case HG_TIER_TC:
        if (is_slow_with_tiles(plan))
            return "its tiles were measured slow on this driver; SEL/TC uses them all the same";
        return is_opencl && device->type == HG_DEVICE_CPU ? NULL
                                                          : "it is made for OpenCL on processors";
    case HG_TIER_T1:
        return is_vulkan && (plan->features & HG_FEATURE_SUBGROUP_ARITHMETIC)
                   ? NULL
                   : "it needs subgroup arithmetic of Vulkan";
    case HG_TIER_T2:
        return hg_matrix_lacks(plan);
    case HG_TIER_COUNT:
        break;
    }
    return "no such tier";
}

/* Of T1 on a processor: reductions over lanes are loops there, and pay for long rows alone
 * (measured on lavapipe 22.3 and 26.1 and on SwiftShader; PERFORMANCE.md). */
static int pays_on_processors(hg_kernel_id kernel)
{
    return kernel == HG_KERNEL_rms_norm || kernel == HG_KERNEL_reduce_rows;
}

const char *hg_plan_refuses(const hg_plan *plan, const hg_variant *variant)
{
    const hg_device_info *device = &plan->device;

    if (plan->demoted[variant->kernel][variant->tier] & 1u << variant->dtype)
        return "it failed its check on this driver";
    if (plan->tier_given && variant->tier != plan->tier && variant->tier != HG_TIER_T0)
        return "another tier was asked for";
    if (plan->precision == HG_PRECISION_EXACT && !hg_tier_is_exact(variant->tier))
        return "it promises no exact bytes";
    if (variant->threads > plan->limits.group_invocations ||
        variant->threads > plan->limits.group_size[0])
        return "its work-groups are larger than the device's limit";
    if (variant->tier == HG_TIER_T1 && device->type == HG_DEVICE_CPU && !plan->tier_given &&
        !pays_on_processors(variant->kernel))
        return "it loses on processors";
    if (device->backend == HG_BACKEND_VULKAN && !variant->spirv)
        return "it has no SPIR-V";
    if (device->backend == HG_BACKEND_REFERENCE && !variant->text)
        return "the reference has no such tier";
    return tier_lacks(plan, variant->tier);
}

const hg_variant *hg_plan_variant(const hg_plan *plan, hg_kernel_id kernel, hg_dtype dtype)
{
    /* What was made for the kind of device, then the same text with tile numbers made for
     * processors, then what asks for nothing but invocations. */
    static const hg_tier best_first[] = {HG_TIER_TC, HG_TIER_T2,  HG_TIER_T0V,
                                         HG_TIER_T1, HG_TIER_T0C, HG_TIER_T0};
    const hg_tuned *tuned = &plan->tuned[kernel][dtype];

    if (tuned->is_set) {
        const hg_variant *variant = hg_variant_find(kernel, tuned->tier, dtype);

        if (variant && !hg_plan_refuses(plan, variant))
            return variant;
    }

    for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++) {
        const hg_variant *variant = hg_variant_find(kernel, best_first[i], dtype);

        if (variant && !hg_plan_refuses(plan, variant))
            return variant;
    }
    return NULL;
}

uint32_t hg_plan_slice_tokens(const hg_plan *plan, int is_far)
{
    enum {
        TILE_TOKENS = 32, /* of T2's attention, which is made for whole tiles of them */
        FEW_TOKENS = 4    /* so few fill one core of a processor (PERFORMANCE.md) */
    };
    const hg_variant *slice = hg_plan_variant(plan, HG_KERNEL_attention_slice, HG_DTYPE_NONE);
    const hg_variant *whole = hg_plan_variant(plan, HG_KERNEL_attention, HG_DTYPE_NONE);
    const uint32_t most = whole && whole->tier == HG_TIER_T2 ? TILE_TOKENS - 1 : UINT32_MAX;

    if (!slice || plan->precision == HG_PRECISION_EXACT)
        return 0;
    if (slice->tier == HG_TIER_T1)
        return most;
    if (!is_far)
        return 0;
    if (plan->loop_rounds) /* one kernel would not come to its end */
        return most;
    return slice->tier == HG_TIER_T0V ? FEW_TOKENS : 0;
}

int hg_plan_wraps(const hg_plan *plan)
{
    const hg_device_info *device = &plan->device;

    /* PoCL never copies, whatever the alignment (3.1, 6.0, 7.1 seen). Intel's runtime crashes over
     * read-only pages and copies silently where they are not aligned to 128 bytes. */
    return plan->precision != HG_PRECISION_EXACT && device->backend == HG_BACKEND_OPENCL &&
           device->type == HG_DEVICE_CPU &&
           strstr(device->driver, "Portable Computing Language") != NULL;
}

/* Tile numbers of the kernels for processors by the width of the registers: 32 of 16 floats in the
 * table, 16 of 8 here (AVX2). */
static void narrow(const hg_variant *variant, uint32_t spec[HG_SPEC_MAX])
{
    for (uint32_t i = 0; i < variant->spec_count; i++) {
        const char *name = variant->spec_name[i];

        if (strcmp(name, "V") == 0)
            spec[i] = 8;
        else if (variant->kernel == HG_KERNEL_matmul && strcmp(name, "ROWS") == 0)
            spec[i] = hg_dtype_is_panel(variant->dtype) ? 6 : 3;
        else if (variant->kernel == HG_KERNEL_matvec && strcmp(name, "GROUP") == 0)
            spec[i] = 2;
    }
}

void hg_plan_spec(const hg_plan *plan, const hg_variant *variant, uint32_t spec[HG_SPEC_MAX])
{
    const hg_tuned *tuned = &plan->tuned[variant->kernel][variant->dtype];

    if (tuned->is_set && tuned->tier == variant->tier) {
        memcpy(spec, tuned->spec, sizeof(tuned->spec));
        return;
    }
    for (uint32_t i = 0; i < HG_SPEC_MAX; i++)
        spec[i] = i < variant->spec_count ? variant->spec_default[i] : 0;
    if (variant->tier == HG_TIER_T2)
        hg_matrix_spec(plan, variant, spec);
    if (variant->tier == HG_TIER_TC && plan->device.vector_floats < 16)
        narrow(variant, spec);
}

hg_result hg_plan_fold(const hg_plan *plan, uint32_t groups[3])
{
    uint64_t left = groups[0];

    for (int d = 0; d < 3; d++) {
        const uint32_t most = plan->limits.group_count[d];
        const uint64_t take = left < most ? left : most;

        groups[d] = (uint32_t)take;
        left = (left + take - 1) / take;
    }
    if (left > 1)
        return hg_fail(&plan->log, HG_ERR_UNSUPPORTED,
                       "a dispatch needs more work-groups than the device's %u x %u x %u",
                       plan->limits.group_count[0], plan->limits.group_count[1],
                       plan->limits.group_count[2]);
    return HG_OK;
}
