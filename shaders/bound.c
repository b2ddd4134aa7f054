/* SPDX-License-Identifier: MIT */
/* The bounds by kernel, and the magnitudes that the reference column does not deliver. */
#include "bound.h"

#include <math.h>

#include "reference/reference.h"

/* The order of summation allows 64 + K / 64 for a sum; what is allowed here is a few times the
 * worst that the shapes show, which rounding errors of either sign keep far below. */
static const double units[HG_KERNEL_COUNT] = {[HG_KERNEL_embed_rows] = 0,
                                              [HG_KERNEL_rms_norm] = 12,
                                              [HG_KERNEL_matmul] = 24,
                                              [HG_KERNEL_matvec] = 12,
                                              [HG_KERNEL_split_q_gate] = 0,
                                              [HG_KERNEL_norm_rope] = 16,
                                              [HG_KERNEL_rope_heads] = 16,
                                              [HG_KERNEL_attention] = 16,
                                              [HG_KERNEL_attn_probs] = 8,
                                              [HG_KERNEL_attention_slice] = 16,
                                              [HG_KERNEL_attention_merge] = 16,
                                              [HG_KERNEL_silu_mul] = 12,
                                              [HG_KERNEL_add] = 1,
                                              [HG_KERNEL_reduce_rows] = 4,
                                              [HG_KERNEL_probe] = 8,
                                              [HG_KERNEL_ceiling_read] = 0,
                                              [HG_KERNEL_ceiling_copy] = 0,
                                              [HG_KERNEL_ceiling_mac] = 4};

double hg_bound_units(hg_kernel_id kernel)
{
    return units[kernel];
}

double hg_bound_units_fast(hg_kernel_id kernel)
{
    return units[kernel] + 8192; /* 2^-11 in units of 2^-24 */
}

/* Largest |value| of an f32 binding. */
static double largest(const float *values, uint64_t count)
{
    double most = 0;

    for (uint64_t i = 0; i < count; i++) {
        const double size = fabs((double)values[i]);

        if (size > most)
            most = size;
    }
    return most;
}

double hg_bound_floor(hg_kernel_id kernel, const void *params, void *const *bind,
                      const uint64_t *bind_elements)
{
    const struct hg_norm_rope_params *rope = params;
    const struct hg_rope_heads_params *heads = params;

    switch (kernel) {
    case HG_KERNEL_embed_rows:
    case HG_KERNEL_split_q_gate:
    case HG_KERNEL_probe:
    case HG_KERNEL_ceiling_read:
    case HG_KERNEL_ceiling_copy:
        return 0;
    case HG_KERNEL_norm_rope:
        if (!(rope->flags & 1u))
            return 0x1p-49;
        return 0x1p-49 * (1 + largest(bind[1], bind_elements[1]));
    case HG_KERNEL_rope_heads:
        if (!(heads->flags & 1u))
            return 0x1p-49;
        /* fall through */
    case HG_KERNEL_rms_norm:
    case HG_KERNEL_silu_mul:
        /* Flushed on the way and multiplied by a weight afterwards. */
        return 0x1p-49 * (1 + largest(bind[1], bind_elements[1]));
    case HG_KERNEL_attention:
    case HG_KERNEL_attention_slice:
        return 0x1p-49 * (1 + largest(bind[2], bind_elements[2]));
    case HG_KERNEL_attention_merge:
        return 0x1p-49 * (1 + largest(bind[0], bind_elements[0]));
    default:
        return 0x1p-49;
    }
}

/* How far the statistics of an item may be off, as a magnitude: its largest score's absolute terms.
 * p: heads, kv_heads, head_dim and scale of a call that has q and k in front. */
static double stats_magnitude(const struct hg_attention_params *p, void *const *bind,
                              hg_ref_keys keys, uint64_t item)
{
    const float *q = bind[0];
    const float *k = bind[1];
    const uint64_t group = item % p->heads / (p->heads / p->kv_heads);
    double most = 0;

    for (uint64_t j = keys.low; j < keys.limit; j++) {
        double size;

        (void)hg_ref_score(q + item * p->head_dim,
                           k + ((keys.first + j) * p->kv_heads + group) * p->head_dim, p->head_dim,
                           p->scale, &size);
        most = size > most ? size : most;
    }
    return 1 + 2 * most;
}

static double attention_stats(const struct hg_attention_params *p, void *const *bind, uint64_t item)
{
    const hg_ref_keys keys = hg_ref_visible(bind[4], item / p->heads, p->window);

    return stats_magnitude(p, bind, keys, item);
}

static double slice_stats(const struct hg_attention_slice_params *p, void *const *bind,
                          uint64_t item)
{
    const struct hg_attention_params whole = {
        .heads = p->heads, .kv_heads = p->kv_heads, .head_dim = p->head_dim, .scale = p->scale};
    const uint64_t count = (uint64_t)p->tokens * p->heads;
    const uint64_t token = p->token_first + item % count / p->heads;
    const hg_ref_keys keys = hg_ref_visible(bind[3], token, p->window);

    return stats_magnitude(&whole, bind, hg_ref_slice(keys, item / count),
                           token * p->heads + item % p->heads);
}

/* Marks as they are read: sums of two, and differences of those. */
static double merge_stats(const struct hg_attention_merge_params *p, void *const *bind,
                          uint64_t item)
{
    const uint64_t count = (uint64_t)p->tokens * p->heads;
    const uint64_t first = (uint64_t)p->token_first * p->heads;
    const float *marks = bind[1];
    double most = 0;

    for (uint64_t s = 0; item >= first && s < p->slices; s++) {
        const float *m = marks + (s * count + item - first) * 2;
        const double size = m[0] > -1e30f ? fabs((double)m[0]) + fabs((double)m[1]) : 0;

        most = size > most ? size : most;
    }
    return 1 + 2 * most;
}

/* Of the statistics of item, in the binding that has them. */
static double stats_of(hg_kernel_id kernel, const void *params, void *const *bind, uint64_t item)
{
    const struct hg_attention_params *whole = params;
    const struct hg_attention_slice_params *slice = params;
    const struct hg_attention_merge_params *merge = params;

    switch (kernel) {
    case HG_KERNEL_attention_slice:
        return item < (uint64_t)slice->slices * slice->tokens * slice->heads
                   ? slice_stats(slice, bind, item)
                   : 0;
    case HG_KERNEL_attention_merge:
        return item < ((uint64_t)merge->token_first + merge->tokens) * merge->heads
                   ? merge_stats(merge, bind, item)
                   : 0;
    default:
        return item < (uint64_t)whole->tokens * whole->heads ? attention_stats(whole, bind, item)
                                                             : 0;
    }
}

static int has_stats(hg_kernel_id kernel, uint32_t which)
{
    return (kernel == HG_KERNEL_attention && which == 6) ||
           (kernel == HG_KERNEL_attention_slice && which == 5) ||
           (kernel == HG_KERNEL_attention_merge && which == 4);
}

static void allow_stats(hg_kernel_id kernel, const void *params, void *const *bind, uint64_t count,
                        double unit, double floor, double *allowed)
{
    for (uint64_t i = 0; i + 1 < count; i += 2) {
        const double size = stats_of(kernel, params, bind, i / 2);

        allowed[i] = unit * size + floor;
        allowed[i + 1] = allowed[i];
    }
}

void hg_bound_allowed(hg_kernel_id kernel, const void *params, void *const *bind,
                      const uint64_t *bind_elements, hg_dtype w, uint32_t which,
                      const double *magnitude, double *allowed)
{
    const double unit = units[kernel] * 0x1p-24;
    const double floor = hg_bound_floor(kernel, params, bind, bind_elements);
    const float *values = bind[which];
    const int bits = kernel == HG_KERNEL_probe && which != hg_kernels[kernel].output;

    (void)w; /* no bound depends on the type yet: weights are exact in float32 */
    if (has_stats(kernel, which)) {
        allow_stats(kernel, params, bind, bind_elements[which], unit, floor, allowed);
        return;
    }
    /* Bindings beside the output (z of split_q_gate, gates of attention) are as large as they are.
     */
    for (uint64_t i = 0; i < bind_elements[which]; i++) {
        const double size =
            which == hg_kernels[kernel].output ? magnitude[i] : fabs((double)values[i]);

        allowed[i] = floor + (isnan(size) || bits ? 0 : unit * size);
    }
}

int hg_bound_holds(double expected, double found, double allowed)
{
    if (isnan(expected) || isnan(found))
        return isnan(expected) && isnan(found);
    if (expected == found || isinf(expected))
        return 1;
    return fabs(expected - found) <= allowed;
}
