/* SPDX-License-Identifier: MIT */
/* Reference of attention, whole and in slices, and attn_probs: softmax in two passes, as the
 * formula is written. */
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

/* p: heads, kv_heads, head_dim and scale of a call that has q, k and v in front. */
static head_view view(const struct hg_attention_params *p, void *const *bind, hg_ref_keys keys,
                      uint64_t token, uint32_t head)
{
    const uint64_t stride = (uint64_t)p->kv_heads * p->head_dim;
    const uint64_t from = keys.first * stride + head / (p->heads / p->kv_heads) * p->head_dim;
    head_view h = {.q = (const float *)bind[0] + (token * p->heads + head) * p->head_dim,
                   .k = (const float *)bind[1] + from,
                   .v = (const float *)bind[2] + from,
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

/* Element at of the chunk: the mean of v by weight, times factor, and its magnitude. Without a key
 * 0, whatever the factor is. */
static double mean(const row_sums *sums, uint32_t at, double factor)
{
    return sums->mass > 0 ? sums->value[at] / sums->mass * factor : 0;
}

static double mean_size(const row_sums *sums, uint32_t at)
{
    return sums->mass > 0 ? (sums->absolute_size[at] +
                             sums->absolute[at] * (1 + sums->mass_size / sums->mass)) /
                                sums->mass
                          : 0;
}

/* The factor on element i of a head's output: gate and mask. */
static double gain(const struct hg_attention_params *p, const float *z, uint64_t item,
                   uint32_t head, uint32_t i)
{
    const uint32_t mask[4] = {p->head_mask0, p->head_mask1, p->head_mask2, p->head_mask3};

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
        const hg_ref_keys keys = hg_ref_visible(call->bind[4], item / p->heads, p->window);
        const head_view h = view(p, call->bind, keys, item / p->heads, head);
        row_sums sums = {0};

        for (uint32_t i = 0; i < p->head_dim; i++) {
            const uint32_t at = i % CHUNK;
            const uint64_t to = item * p->head_dim + i;
            const double factor = gain(p, z, item, head, i);
            const uint32_t left = p->head_dim - i;

            if (at == 0)
                sum_row(&h, i, left < CHUNK ? left : CHUNK, &sums);
            ((float *)call->bind[5])[to] = (float)mean(&sums, at, factor);
            if (call->magnitude)
                call->magnitude[to] = fabs(factor) * mean_size(&sums, at);
        }
        stats[item * 2] = (float)h.top;
        stats[item * 2 + 1] = sums.mass > 0 ? (float)log(sums.mass) : 0;
        for (uint32_t i = 0; (p->flags & 1u) && i < p->gate_dim; i++)
            gates[item * p->gate_dim + i] = (float)sigmoid(z[item * p->gate_dim + i]);
    }
}

uint32_t hg_ref_items_attention_slice(const void *params)
{
    const struct hg_attention_slice_params *p = params;

    return p->slices * p->tokens * p->heads;
}

void hg_ref_attention_slice(const hg_ref_call *call)
{
    const struct hg_attention_slice_params *p = call->params;
    const struct hg_attention_params whole = {
        .heads = p->heads, .kv_heads = p->kv_heads, .head_dim = p->head_dim, .scale = p->scale};
    const uint64_t count = (uint64_t)p->tokens * p->heads;
    float *marks = call->bind[5];

    for (uint64_t item = call->begin; item < call->end; item++) {
        const uint64_t token = p->token_first + item % count / p->heads;
        const hg_ref_keys keys =
            hg_ref_slice(hg_ref_visible(call->bind[3], token, p->window), item / count);
        const head_view h = view(&whole, call->bind, keys, token, (uint32_t)(item % p->heads));
        row_sums sums = {0};

        for (uint32_t i = 0; i < p->head_dim; i++) {
            const uint64_t to = item * p->head_dim + i;
            const uint32_t left = p->head_dim - i;

            if (i % CHUNK == 0)
                sum_row(&h, i, left < CHUNK ? left : CHUNK, &sums);
            ((float *)call->bind[4])[to] = (float)mean(&sums, i % CHUNK, 1);
            if (call->magnitude)
                call->magnitude[to] = mean_size(&sums, i % CHUNK);
        }
        marks[item * 2] = (float)h.top;
        marks[item * 2 + 1] = sums.mass > 0 ? (float)log(sums.mass) : 0;
    }
}

uint32_t hg_ref_items_attention_merge(const void *params)
{
    const struct hg_attention_merge_params *p = params;

    return p->tokens * p->heads;
}

/* An item's slices as sums over them: weights exp(lse - most), at element i. Marks are rounded, so
 * that a weight is off by as much as they are large. */
static row_sums sum_slices(const hg_ref_call *call, uint64_t item, uint32_t i, double *top,
                           double *most)
{
    const struct hg_attention_merge_params *p = call->params;
    const uint64_t count = (uint64_t)p->tokens * p->heads;
    const float *part = call->bind[0];
    const float *marks = call->bind[1];
    row_sums sums = {0};

    *top = *most = -1e30;
    for (uint32_t s = 0; s < p->slices; s++) {
        const float *m = marks + (s * count + item) * 2;

        *top = fmax(*top, m[0]);
        *most = fmax(*most, (double)m[0] + m[1]);
    }
    for (uint32_t s = 0; s < p->slices; s++) {
        const float *m = marks + (s * count + item) * 2;
        const double lse = (double)m[0] + m[1];
        const double weight = exp(lse - *most);
        const double size = weight > 0 ? fabs((double)m[0]) + fabs((double)m[1]) + *most - lse : 0;
        const double value = part[(s * count + item) * p->head_dim + i];

        sums.mass += weight;
        sums.mass_size += weight * size;
        sums.value[0] += weight * value;
        sums.absolute[0] += weight * fabs(value);
        sums.absolute_size[0] += weight * fabs(value) * size;
    }
    return sums;
}

void hg_ref_attention_merge(const hg_ref_call *call)
{
    const struct hg_attention_merge_params *p = call->params;
    const struct hg_attention_params whole = {.gate_dim = p->gate_dim,
                                              .gate = p->gate,
                                              .gate_const = p->gate_const,
                                              .head_mask0 = p->head_mask0,
                                              .head_mask1 = p->head_mask1,
                                              .head_mask2 = p->head_mask2,
                                              .head_mask3 = p->head_mask3};
    const float *z = call->bind[2];
    float *stats = call->bind[4];
    float *gates = call->bind[5];

    for (uint64_t item = call->begin; item < call->end; item++) {
        const uint64_t row = (uint64_t)p->token_first * p->heads + item;
        double top = -1e30, most = -1e30, mass = 0;

        for (uint32_t i = 0; i < p->head_dim; i++) {
            const row_sums sums = sum_slices(call, item, i, &top, &most);
            const double factor = gain(&whole, z, row, (uint32_t)(item % p->heads), i);

            mass = sums.mass;
            ((float *)call->bind[3])[row * p->head_dim + i] = (float)mean(&sums, 0, factor);
            if (call->magnitude)
                call->magnitude[row * p->head_dim + i] = fabs(factor) * mean_size(&sums, 0);
        }
        stats[row * 2] = (float)top;
        stats[row * 2 + 1] = top > -1e30 ? (float)(most - top + log(mass)) : 0;
        for (uint32_t i = 0; (p->flags & 1u) && i < p->gate_dim; i++)
            gates[row * p->gate_dim + i] = (float)sigmoid(z[row * p->gate_dim + i]);
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
