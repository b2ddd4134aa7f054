/* SPDX-License-Identifier: MIT */
/* The bounds, and what they are worth. */
#include "judge.h"

#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* c of the bound u c magnitude, u = 2^-24. The order of summation allows 64 + K / 64 for a sum;
 * what is allowed here is a few times the worst that the shapes show, which rounding errors of
 * either sign keep far below. 0: nothing is rounded. */
static const double bounds[HG_KERNEL_COUNT] = {
    [HG_KERNEL_embed_rows] = 0, [HG_KERNEL_rms_norm] = 12,    [HG_KERNEL_matmul] = 24,
    [HG_KERNEL_matvec] = 12,    [HG_KERNEL_split_q_gate] = 0, [HG_KERNEL_norm_rope] = 16,
    [HG_KERNEL_attention] = 16, [HG_KERNEL_attn_probs] = 8,   [HG_KERNEL_silu_mul] = 12,
    [HG_KERNEL_add] = 1,        [HG_KERNEL_reduce_rows] = 4};

static double worst[HG_KERNEL_COUNT];

uint64_t hg_judge_elements(const hg_call *call)
{
    return call->size_bytes[call->kernel->output] / 4;
}

static uint32_t word_at(const uint8_t *block, uint64_t at)
{
    uint32_t word;

    memcpy(&word, block + at, sizeof(word));
    return word;
}

static double value_at(const uint8_t *block, uint64_t at)
{
    float value;

    memcpy(&value, block + at, sizeof(value));
    return value;
}

bool hg_judge_same(const hg_call *call, const uint8_t *expected, const uint8_t *found, char *why,
                   size_t why_bytes)
{
    uint64_t at = 0;
    const char *place = "the guard";
    uint64_t from = 0;

    if (memcmp(expected, found, call->block_bytes) == 0)
        return true;
    while (word_at(expected, at) == word_at(found, at))
        at += 4;
    for (uint32_t b = 0; b < call->kernel->bind_count; b++) {
        if (at >= call->offset_bytes[b] && at < call->offset_bytes[b] + call->size_bytes[b]) {
            place = call->kernel->bind[b].name;
            from = call->offset_bytes[b];
        }
    }
    (void)snprintf(why, why_bytes, "%s[%llu]: expected %08x (%.9g), found %08x (%.9g)", place,
                   (unsigned long long)((at - from) / 4), word_at(expected, at),
                   value_at(expected, at), word_at(found, at), value_at(found, at));
    return false;
}

/* How far the statistics of an item may be off, as a magnitude: its largest score's absolute terms.
 */
static double stats_magnitude(const hg_call *call, const uint8_t *block, uint64_t item)
{
    const struct hg_attention_params *p = &call->params.attention;
    const float *q = (const float *)(const void *)(block + call->offset_bytes[0]);
    const float *k = (const float *)(const void *)(block + call->offset_bytes[1]);
    const uint32_t *rows = (const uint32_t *)(const void *)(block + call->offset_bytes[4]);
    const hg_ref_keys keys = hg_ref_visible(rows, item / p->heads, p->window);
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

/* Bindings beside the output one: z of split_q_gate, stats and gates of attention. */
static double side_magnitude(const hg_call *call, const uint8_t *ref, uint32_t bind, uint64_t i,
                             double expected)
{
    if (call->variant->kernel == HG_KERNEL_attention && bind == 6)
        return stats_magnitude(call, ref, i / 2);
    return fabs(expected);
}

/* What flushing may take: 2^-50, or what is flushed on the way and multiplied by a weight
 * afterwards. */
static double flushed(const hg_call *call)
{
    switch (call->variant->kernel) {
    case HG_KERNEL_embed_rows:
    case HG_KERNEL_split_q_gate:
        return 0;
    case HG_KERNEL_rms_norm:
    case HG_KERNEL_norm_rope:
    case HG_KERNEL_silu_mul:
    case HG_KERNEL_attention:
        return 0x1p-49 * (1 + call->largest_factor);
    default:
        return 0x1p-49;
    }
}

static bool close_bind(const hg_call *call, uint32_t bind, const uint8_t *ref, const uint8_t *found,
                       const double *magnitude, char *why, size_t why_bytes)
{
    const hg_kernel_id kernel = call->variant->kernel;
    const uint64_t from = call->offset_bytes[bind];
    const double floor = flushed(call);

    for (uint64_t i = 0; i < call->size_bytes[bind] / 4; i++) {
        const uint64_t at = from + i * 4;
        const double expected = value_at(ref, at);
        const double actual = value_at(found, at);
        double size;
        double error;

        if (word_at(ref, at) == word_at(found, at) || expected == actual)
            continue;
        size = bind == call->kernel->output ? magnitude[i]
                                            : side_magnitude(call, ref, bind, i, expected);
        error = fabs(expected - actual) - floor;
        if (isinf(expected) && !isnan(actual))
            continue; /* beyond float */
        if (error > 0 && size > 0 && error / size * 0x1p24 > worst[kernel])
            worst[kernel] = error / size * 0x1p24;
        if (!(error <= bounds[kernel] * 0x1p-24 * size)) {
            (void)snprintf(why, why_bytes, "%s[%llu]: expected %.9g, found %.9g, magnitude %.3g",
                           call->kernel->bind[bind].name, (unsigned long long)i, expected, actual,
                           size);
            return false;
        }
    }
    return true;
}

bool hg_judge_close(const hg_call *call, const uint8_t *ref, const uint8_t *found,
                    const double *magnitude, char *why, size_t why_bytes)
{
    for (uint32_t b = 0; b < call->kernel->bind_count; b++) {
        if (call->kernel->bind[b].access != HG_ACCESS_R &&
            !close_bind(call, b, ref, found, magnitude, why, why_bytes))
            return false;
    }
    return true;
}

uint32_t hg_judge_bounds_fit(void)
{
    uint32_t loose = 0;

    for (uint32_t k = 0; k < HG_KERNEL_COUNT; k++) {
        if (bounds[k] == 0)
            continue;
        printf("%s: worst error %.3g u magnitude, bound %.3g\n", hg_kernels[k].name, worst[k],
               bounds[k]);
        if (bounds[k] > 1 && bounds[k] > 32 * worst[k])
            loose++;
    }
    return loose;
}
