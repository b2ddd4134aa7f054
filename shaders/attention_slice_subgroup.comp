/* SPDX-License-Identifier: MIT */
/*
 * A work-group owns one head of one token over 64 keys, an invocation one key, then dimensions of the output, and there
 * neighbours read neighbours. Scores are summed in T0's order: attn_probs makes probabilities of its own scores and of
 * these marks, and they would not fit where scores are large. THREADS is 64.
 */
#include "page.h"
#include "subgroup.h"
#include "function.h"
layout(std430, set = 0, binding = BIND_q) readonly restrict buffer four_q_block
{
    vec4 four_q[];
};
layout(std430, set = 0, binding = BIND_k) readonly restrict buffer four_k_block
{
    vec4 four_k[];
};
shared float weight[64];
#include "row.def"
{
    FIND_LANES
    uint me = gl_LocalInvocationID.x;
    uint item = GROUP;
    uint count = P.tokens * P.heads;
    if (item >= count * P.slices)
        return;
    uint token = P.token_first + item % count / P.heads;
    uint head = item % P.heads;
    uint stride = P.kv_heads * P.head_dim;
    uint from_q = (token * P.heads + head) * P.head_dim;
    uint seen = rows[token * 4u] + 1u;
    uint first_row = rows[token * 4u + 2u];
    uint held = hg_max(rows[token * 4u + 3u], first_row) - first_row;
    uint limit = hg_min(seen, held);
    uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
    uint from_kv = first_row * stride + head / (P.heads / P.kv_heads) * P.head_dim;
    uint block = item / count * 64u;
    uint begin = hg_max(block, low);
    uint end = hg_min(block + 64u, limit);

    /* The end may lie before the beginning: then there is no key. */
    F score = -1.0e30f;
    if (block + me >= begin && block + me < end) {
        uint from = from_kv + (block + me) * stride;
        F scale = P.scale;
        F total = 0.0f;
        for (uint first = 0u; first < P.head_dim; first += 64u) {
            uint last = hg_min(first + 64u, P.head_dim);
            uint i = first;
            F sum = 0.0f;
            if ((P.head_dim & 3u) == 0u) {
                for (; i < last; i += 4u) {
                    vec4 value = four_q[(from_q + i) >> 2];
                    vec4 other = four_k[(from + i) >> 2];
                    MAC(sum, value.x, other.x)
                    MAC(sum, value.y, other.y)
                    MAC(sum, value.z, other.z)
                    MAC(sum, value.w, other.w)
                }
            }
            for (; i < last; i++)
                MAC(sum, q[from_q + i], k[from + i])
            total = total + sum;
        }
        score = total * scale;
        score = FLP(score);
    }
    weight[me] = score;
    barrier();
    float top = -1.0e30f;
    EACH_LANE(j, 64u)
    top = weight[j] > top ? weight[j] : top;
    top = subgroupMax(top);
    barrier();
    weight[me] = hg_exp(score - top);
    barrier();
    float mass = 0.0f;
    float inverse = 0.0f;
    float lse = 0.0f;
    EACH_LANE(j, 64u)
    mass += weight[j];
    mass = subgroupAdd(mass);
    if (begin < end) {
        inverse = hg_rcp(mass);
        lse = hg_log(mass);
    }
    for (uint i = me; i < P.head_dim; i += 128u) {
        uint other = hg_min(i + 64u, P.head_dim - 1u);
        float a = 0.0f;
        float b = 0.0f;
        for (uint j = begin; j < end; j++) {
            float p = weight[j - block];
            a += p * v[from_kv + j * stride + i];
            b += p * v[from_kv + j * stride + other];
        }
        part[item * P.head_dim + i] = ST(a * inverse);
        if (i + 64u < P.head_dim)
            part[item * P.head_dim + other] = ST(b * inverse);
    }
    if (me == 0u) {
        marks[item * 2u] = ST(top);
        marks[item * 2u + 1u] = ST(lse);
    }
}
