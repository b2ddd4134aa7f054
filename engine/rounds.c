/* SPDX-License-Identifier: MIT */
/* Rounds of loops: as the sources in shaders/ are written, rounded up. See rounds.h. */
#include "rounds.h"

#include "check.h"

#include <string.h>

static double up(double n, double by)
{
    const double whole = (double)(uint64_t)(n / by);

    return whole * by < n ? whole + 1 : whole;
}

static double tile(const hg_variant *variant, const uint32_t *spec, const char *name)
{
    for (uint32_t i = 0; i < variant->spec_count; i++) {
        if (strcmp(variant->spec_name[i], name) == 0)
            return spec[i];
    }
    return 1;
}

/* Over blocks of 64 keys. T0V loads eight elements at a time, where head_dim allows. */
static double attention(double blocks, double head_dim, const hg_variant *variant,
                        const uint32_t *spec)
{
    if (variant->tier == HG_TIER_T2) /* lanes share a tile of rows */
        return blocks * 8 * head_dim;

    const int is_wide = variant->tier == HG_TIER_T0V && head_dim == 8 * up(head_dim, 8);
    const double chunks = up(head_dim, 64);
    const double steps = is_wide ? up(head_dim, 32) + 4 * chunks : head_dim;
    const double dots = up(64, tile(variant, spec, "KEYS")) * (1 + chunks + steps);
    const double dims = tile(variant, spec, "DIMS");
    const double sums = is_wide ? head_dim / 8 * 17 : (up(head_dim, dims) + dims) * 65;

    return blocks * (1 + dots + 128 + sums) + 2 * head_dim;
}

static double attn_probs(const struct hg_attn_probs_params *p, const hg_variant *variant,
                         const uint32_t *spec)
{
    const double keys = (double)p->pool_k * tile(variant, spec, "CELLS");
    const double heads = p->reduce ? p->h_count : 1;
    const double dot = 1 + up(p->head_dim, 64) + p->head_dim;
    const double queries = p->pool_q < p->q_count ? p->pool_q : p->q_count;

    return queries * (1 + up(keys < p->k_count ? keys : p->k_count, tile(variant, spec, "KEYS")) *
                              (1 + heads * dot));
}

double hg_rounds(const hg_op *op, const hg_variant *variant, const uint32_t *spec)
{
    const void *params = op->words;
    const struct hg_attention_params *whole = params;
    const struct hg_attention_slice_params *slice = params;
    double keys;

    switch (op->kernel) {
    case HG_KERNEL_attention:
        keys = op->reach.keys;
        if (whole->window && keys > whole->window)
            keys = whole->window;
        return attention(up(keys, 64) + 2, whole->head_dim, variant, spec);
    case HG_KERNEL_attention_slice:
        return attention(1, slice->head_dim, variant, spec);
    case HG_KERNEL_attn_probs:
        return attn_probs(params, variant, spec);
    case HG_KERNEL_reduce_rows:
        return ((const struct hg_reduce_rows_params *)params)->cols * 1.05;
    default:
        return 0;
    }
}

hg_result hg_rounds_check(const hg_plan *plan, const hg_op *op, const hg_variant *variant,
                          const uint32_t *spec)
{
    const double rounds = plan->loop_rounds ? hg_rounds(op, variant, spec) : 0;

    if (rounds <= plan->loop_rounds)
        return HG_OK;
    return hg_fail(&plan->log, HG_ERR_UNSUPPORTED,
                   "%s needs up to %.0f rounds of loops here, and %s (%s) leaves every loop after "
                   "%u without an error, so that results would be wrong: %s",
                   hg_kernels[op->kernel].name, rounds, plan->device.selector, plan->device.name,
                   plan->loop_rounds,
                   op->kernel == HG_KERNEL_attention
                       ? "use precision fp32, which looks back farther, a shorter prompt, or "
                         "another device"
                       : "look at fewer queries or keys at a time, or use another device");
}
