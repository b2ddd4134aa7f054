/* SPDX-License-Identifier: MIT */
/* Reference of attention and attn_probs: softmax in two passes, as the formula is written. */
#include "reference.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 };

/* One head of one token. */
typedef struct head_view {
    const float *q, *k, *v; /* k, v: of key 0 */
    uint64_t stride;        /* between keys */
    hg_ref_keys keys;
    double scale, top; /* top: the row's maximum */
    uint32_t head_dim;
} head_view;

/* Sums over the visible keys, of weights exp(s - top). size: a score's sum of absolute terms, which
 * is how far it may be off in units of rounding. */
typedef struct row_sums {
    double mass, mass_size;                                     /* of 1, of size */
    double value[CHUNK], absolute[CHUNK], absolute_size[CHUNK]; /* of v, of |v|, of |v| size */
} row_sums;

static double sigmoid(double z)
{
    return 1 / (1 + exp(-z));
}

static head_view view(const hg_ref_call *call, uint64_t token, uint32_t head)
{
    const struct hg_attention_params *p = call->params;
    const hg_ref_keys keys = hg_ref_visible(call->bind[4], token, p->window);
    const uint64_t stride = (uint64_t)p->kv_heads * p->head_dim;
    const uint64_t from = keys.first * stride + head / (p->heads / p->kv_heads) * p->head_dim;
    head_view h = {.q = (const float *)call->bind[0] + (token * p->heads + head) * p->head_dim,
                   .k = (const float *)call->bind[1] + from,
                   .v = (const float *)call->bind[2] + from,
                   .stride = stride,
                   .keys = keys,
                   .scale = p->scale,
                   .top = -1e30,
                   .head_dim = p->head_dim};

    for (uint64_t j = keys.low; j < keys.limit; j++) {
        double size;
        const double s = hg_ref_score(h.q, h.k + j * stride, h.head_dim, h.scale, &size);

        if (s > h.top)
            h.top = s;
    }
    return h;
}

static void sum_row(const head_view *h, uint32_t first, uint32_t count, row_sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    for (uint64_t j = h->keys.low; j < h->keys.limit; j++) {
        const float *v = h->v + j * h->stride + first;
        double size;
        const double s = hg_ref_score(h->q, h->k + j * h->stride, h->head_dim, h->scale, &size);
        const double weight = exp(s - h->top);

        size += fabs(s - h->top);
        sums->mass += weight;
        sums->mass_size += weight * size;
        for (uint32_t i = 0; i < count; i++) {
            sums->value[i] += weight * v[i];
            sums->absolute[i] += weight * fabs((double)v[i]);
            sums->absolute_size[i] += weight * fabs((double)v[i]) * size;
        }
    }
}

/* The factor on element i of a head's output: gate and mask. */
static double gain(const hg_ref_call *call, uint64_t item, uint32_t head, uint32_t i)
{
    const struct hg_attention_params *p = call->params;
    const uint32_t mask[4] = {p->head_mask0, p->head_mask1, p->head_mask2, p->head_mask3};
    const float *z = call->bind[3];

    if (head < 128 && (mask[head / 32] >> head % 32 & 1u))
        return 0;
    if (p->gate == 1)
        return sigmoid(z[item * p->gate_dim + (p->gate_dim == 1 ? 0 : i)]);
    return p->gate == 2 ? p->gate_const : 1;
}

uint32_t hg_ref_items_attention(const void *params)
{
    const struct hg_attention_params *p = params;

    return p->tokens * p->heads;
}

void hg_ref_attention(const hg_ref_call *call)
{
    const struct hg_attention_params *p = call->params;
    const float *z = call->bind[3];
    float *stats = call->bind[6];
    float *gates = call->bind[7];

    for (uint64_t item = call->begin; item < call->end; item++) {
        const uint32_t head = (uint32_t)(item % p->heads);
        const head_view h = view(call, item / p->heads, head);
        row_sums sums = {0};

        for (uint32_t i = 0; i < p->head_dim; i++) {
            const uint32_t at = i % CHUNK;
            const uint64_t to = item * p->head_dim + i;
            const double factor = gain(call, item, head, i);
            const uint32_t left = p->head_dim - i;

            if (at == 0)
                sum_row(&h, i, left < CHUNK ? left : CHUNK, &sums);
            ((float *)call->bind[5])[to] =
                sums.mass > 0 ? (float)(sums.value[at] / sums.mass * factor) : 0;
            if (call->magnitude)
                call->magnitude[to] =
                    sums.mass > 0 ? fabs(factor) / sums.mass *
                                        (sums.absolute_size[at] +
                                         sums.absolute[at] * (1 + sums.mass_size / sums.mass))
                                  : 0;
        }
        stats[item * 2] = (float)h.top;
        stats[item * 2 + 1] = sums.mass > 0 ? (float)log(sums.mass) : 0;
        for (uint32_t i = 0; (p->flags & 1u) && i < p->gate_dim; i++)
            gates[item * p->gate_dim + i] = (float)sigmoid(z[item * p->gate_dim + i]);
    }
}

/* One probability, averaged over heads [first, end) with this factor, and its magnitude. */
static double probability(const hg_ref_call *call, const hg_ref_keys *keys, uint64_t token,
                          uint64_t key, const uint32_t heads[2], double *magnitude)
{
    const struct hg_attn_probs_params *p = call->params;
    const uint64_t stride = (uint64_t)p->kv_heads * p->head_dim;
    const float *stats = call->bind[2];
    double sum = 0;

    *magnitude = 0;
    if (key < keys->low || key >= keys->limit)
        return 0;
    for (uint64_t h = heads[0]; h < heads[1]; h++) {
        const uint64_t item = token * p->heads + h;
        const float *q = (const float *)call->bind[0] + item * p->head_dim;
        const float *k = (const float *)call->bind[1] + (keys->first + key) * stride +
                         h / (p->heads / p->kv_heads) * p->head_dim;
        double size;
        const double s = hg_ref_score(q, k, p->head_dim, p->scale, &size);
        const double top = stats[item * 2];
        const double lse = stats[item * 2 + 1];
        const double value = exp(s - top - lse);

        sum += value;
        *magnitude += value * (1 + size + fabs(s - top) + fabs(s - top - lse));
    }
    *magnitude /= heads[1] - heads[0];
    return sum / (heads[1] - heads[0]);
}

static void cell(const hg_ref_call *call, const uint32_t heads[2], uint64_t line, uint64_t column,
                 uint64_t to)
{
    const struct hg_attn_probs_params *p = call->params;
    const uint64_t q_end =
        (line + 1) * p->pool_q < p->q_count ? (line + 1) * p->pool_q : p->q_count;
    const uint64_t k_end =
        (column + 1) * p->pool_k < p->k_count ? (column + 1) * p->pool_k : p->k_count;
    const double area = (double)(q_end - line * p->pool_q) * (double)(k_end - column * p->pool_k);
    double best = 0;
    double best_size = 0;
    double sum = 0;
    double sum_size = 0;

    for (uint64_t i = line * p->pool_q; i < q_end; i++) {
        const uint64_t token = p->q_first + i;
        const hg_ref_keys keys = hg_ref_visible(call->bind[3], token, p->window);

        for (uint64_t j = column * p->pool_k; j < k_end; j++) {
            double size;
            const double value = probability(call, &keys, token, p->k_first + j, heads, &size);

            sum += value;
            sum_size += size;
            best = value > best ? value : best;
            best_size = size > best_size ? size : best_size;
        }
    }
    ((float *)call->bind[4])[to] = (float)(p->pool ? sum / area : best);
    if (call->magnitude)
        call->magnitude[to] = p->pool ? sum_size / area : best_size;
}

uint32_t hg_ref_items_attn_probs(const void *params)
{
    const struct hg_attn_probs_params *p = params;
    const uint32_t lines = (p->q_count + p->pool_q - 1) / p->pool_q;

    return (p->reduce ? 1 : p->h_count) * lines;
}

void hg_ref_attn_probs(const hg_ref_call *call)
{
    const struct hg_attn_probs_params *p = call->params;
    const uint32_t lines = (p->q_count + p->pool_q - 1) / p->pool_q;
    const uint32_t columns = (p->k_count + p->pool_k - 1) / p->pool_k;

    for (uint64_t item = call->begin; item < call->end; item++) {
        const uint64_t map = item / lines;
        const uint64_t line = item % lines;
        const uint64_t row = p->dst_offset + map * p->dst_head_stride + line * p->dst_stride;
        const uint32_t first = p->h_first + (uint32_t)map;
        const uint32_t heads[2] = {p->reduce ? p->h_first : first,
                                   p->reduce ? p->h_first + p->h_count : first + 1};

        for (uint64_t column = 0; column < columns; column++)
            cell(call, heads, line, column, row + column);
    }
}
