/* SPDX-License-Identifier: MIT */
/* Snapshot and options to plan. Pure; see plan.h. Device order and selectors are in select.c. */
#include "plan.h"

#include "check.h"

#include <string.h>

hg_result hg_plan_make(const hg_snapshot *device, const hg_engine_params *params, hg_plan *out)
{
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    if (params->precision == HG_PRECISION_FAST)
        return hg_fail(&params->log, HG_ERR_UNSUPPORTED,
                       "precision fast is not built yet: expected fp32 or exact");
    if (params->precision != HG_PRECISION_FP32 && params->precision != HG_PRECISION_EXACT)
        return hg_fail(&params->log, HG_ERR_ARGUMENT, "precision %d is none that is known",
                       (int)params->precision);
    if (device->unusable[0])
        return hg_fail(&params->log, HG_ERR_NO_DEVICE, "device %s (%s) cannot be used: %s",
                       device->selector, device->name, device->unusable);
    out->device = *device;
    out->limits = device->limits;
    out->features = device->features;
    out->precision = params->precision;
    out->reference_text = params->precision == HG_PRECISION_EXACT;
    out->threads = params->threads;
    out->validate = params->validate;
    out->cache_dir = params->cache_dir;
    out->log = params->log;
    res = hg_limits_override(&params->log, params->limits, &out->limits, &out->features);
    out->device.limits = out->limits;
    out->device.features = out->features;
    return res;
}

/* Intel's OpenCL for processors adds in another order than written when a work-group has fewer than
 * 16 items (seen with 2026.22.10: 10 of 64 sums of a loop `s = s + a * b` right, 64 of 64 from 16
 * items on), whatever the pragma and the options say. T0C has groups of one. */
static int reorders_small_groups(const hg_device_info *device)
{
    return device->backend == HG_BACKEND_OPENCL && strstr(device->driver, "Intel(R) OpenCL");
}

const hg_variant *hg_plan_variant(const hg_plan *plan, hg_kernel_id kernel, hg_dtype dtype)
{
    /* T0 asks for nothing but invocations; processors get its text with tile numbers made for them,
     * where the table has any. Faster tiers become rows to choose among here. */
    const int processor =
        plan->device.backend == HG_BACKEND_REFERENCE ||
        (plan->device.backend == HG_BACKEND_OPENCL && plan->device.type == HG_DEVICE_CPU);
    const hg_variant *variant = NULL;

    if (processor && !reorders_small_groups(&plan->device))
        variant = hg_variant_find(kernel, HG_TIER_T0C, dtype);

    if (!variant)
        variant = hg_variant_t0(kernel, dtype);
    if (variant->threads > plan->limits.group_invocations ||
        variant->threads > plan->limits.group_size[0])
        return NULL;
    return variant;
}

void hg_plan_spec(const hg_plan *plan, const hg_variant *variant, uint32_t spec[HG_SPEC_MAX])
{
    (void)plan;
    for (uint32_t i = 0; i < HG_SPEC_MAX; i++)
        spec[i] = i < variant->spec_count ? variant->spec_default[i] : 0;
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
