/* SPDX-License-Identifier: MIT */
/* The bounds by kernel, and the magnitudes that the reference column does not deliver. */
#include "bound.h"

#include <math.h>

#include "reference/reference.h"

/* The order of summation allows 64 + K / 64 for a sum; what is allowed here is a few times the
 * worst that the shapes show, which rounding errors of either sign keep far below. */
static const double units[HG_KERNEL_COUNT] = {
    [HG_KERNEL_embed_rows] = 0,  [HG_KERNEL_rms_norm] = 12,    [HG_KERNEL_matmul] = 24,
    [HG_KERNEL_matvec] = 12,     [HG_KERNEL_split_q_gate] = 0, [HG_KERNEL_norm_rope] = 16,
    [HG_KERNEL_rope_heads] = 16, [HG_KERNEL_attention] = 16,   [HG_KERNEL_attn_probs] = 8,
    [HG_KERNEL_silu_mul] = 12,   [HG_KERNEL_add] = 1,          [HG_KERNEL_reduce_rows] = 4,
    [HG_KERNEL_probe] = 8,       [HG_KERNEL_ceiling_read] = 0, [HG_KERNEL_ceiling_copy] = 0,
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
        return 0x1p-49 * (1 + largest(bind[2], bind_elements[2]));
    default:
        return 0x1p-49;
    }
}

/* How far the statistics of an item may be off, as a magnitude: its largest score's absolute terms.
 */
static double stats_magnitude(const struct hg_attention_params *p, void *const *bind, uint64_t item)
{
    const float *q = bind[0];
    const float *k = bind[1];
    const hg_ref_keys keys = hg_ref_visible(bind[4], item / p->heads, p->window);
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

static void allow_stats(const struct hg_attention_params *p, void *const *bind, uint64_t count,
                        double unit, double floor, double *allowed)
{
    const uint64_t items = (uint64_t)p->tokens * p->heads;

    for (uint64_t i = 0; i + 1 < count; i += 2) {
        const double size = i / 2 < items ? stats_magnitude(p, bind, i / 2) : 0;

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
    if (kernel == HG_KERNEL_attention && which == 6) {
        allow_stats(params, bind, bind_elements[which], unit, floor, allowed);
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
