/* SPDX-License-Identifier: MIT */
/*
 * Decide first, act later: a snapshot of a device and the caller's options in, a plan out. Pure:
 * asks no driver, so that every choice is tested on made-up devices. Also the order of devices, and
 * what a selector means.
 */
#ifndef HG_ENGINE_PLAN_H
#define HG_ENGINE_PLAN_H

#include "backend.h"

/* What the project needs of a device (docs/DECISIONS.md D20). */
enum {
    HG_MINIMUM_BUFFERS = 8,
    HG_MINIMUM_INVOCATIONS = 128,
    HG_MINIMUM_SHARED_BYTES = 16384,
    HG_MINIMUM_PUSH_BYTES = 128,
    HG_MINIMUM_GROUP_COUNT = 65535,
    HG_BIND_ALIGN_BYTES = 512 /* rusticl wants this; others 256 or less */
};
#define HG_MINIMUM_BINDING_BYTES (UINT64_C(128) << 20)
#define HG_MINIMUM_ALLOC_BYTES (UINT64_C(1) << 30) /* what Vulkan 1.1 promises */

/* Options of the caller plus the snapshot of the device that was chosen. HG_ERR_ARGUMENT: a limits
 * string that cannot be read; HG_ERR_UNSUPPORTED: limits below the minimum, or a precision that is
 * not there. */
hg_result hg_plan_make(const hg_snapshot *device, const hg_engine_params *params, hg_plan *out);

/* Lowers limits and features by "spec-minimum" or "shared=..,invocations=..": never raises them. */
hg_result hg_limits_override(const hg_log *log, const char *text, hg_limits *limits,
                             uint32_t *features);

/* Why a variant is never picked under this plan, in words; NULL: it may be. */
const char *hg_plan_refuses(const hg_plan *plan, const hg_variant *variant);

/* The variant that runs a kernel for a weight type under this plan. NULL: none fits the limits. */
const hg_variant *hg_plan_variant(const hg_plan *plan, hg_kernel_id kernel, hg_dtype dtype);

/* The most tokens of a piece whose attention is cut into slices along the keys (kernels
 * attention_slice and attention_merge); 0: never. is_far: it looks back at more than HG_PLAN_FAR
 * keys. Exact knows no slices: their sums are others. */
enum { HG_PLAN_FAR = 256 };
uint32_t hg_plan_slice_tokens(const hg_plan *plan, int is_far);

/* Whether the device reads the host's own pages without a copy, and kernels may have weights that
 * were never looked through. */
int hg_plan_wraps(const hg_plan *plan);

/* Tile numbers for a variant on this device: the table's defaults unless measurements say
 * otherwise. */
void hg_plan_spec(const hg_plan *plan, const hg_variant *variant, uint32_t spec[HG_SPEC_MAX]);

/* Work-groups folded so that no dimension exceeds the limit. HG_ERR_UNSUPPORTED: too many
 * altogether. */
hg_result hg_plan_fold(const hg_plan *plan, uint32_t groups[3]);

/* Sorts into our stable order and fills index, backend_index and selector. */
void hg_devices_sort(hg_snapshot *devices, uint32_t count);

#endif
