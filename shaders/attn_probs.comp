/* SPDX-License-Identifier: MIT */
/*
 * One invocation computes one cell of one map: every probability in it again, with attention's own dot and
 * the row statistics that attention wrote. Masked keys count as 0 and are not visited.
 */
#include "page.h"
#include "function.h"
#include "dot.h"
#include "row.def"
{
    uint across = (P.k_count + P.pool_k - 1u) / P.pool_k;
    uint down = (P.q_count + P.pool_q - 1u) / P.pool_q;
    uint maps = P.reduce != 0u ? 1u : P.h_count;
    uint cell = INVOCATION;
    if (cell >= maps * down * across)
        return;
    uint column = cell % across;
    uint line = cell / across % down;
    uint map = cell / across / down;
    uint head_first = P.h_first + (P.reduce != 0u ? 0u : map);
    uint head_end = P.reduce != 0u ? P.h_first + P.h_count : head_first + 1u;
    uint share = P.heads / P.kv_heads;
    uint stride = P.kv_heads * P.head_dim;
    uint q_begin = line * P.pool_q;
    uint q_end = hg_min(q_begin + P.pool_q, P.q_count);
    uint k_begin = column * P.pool_k;
    uint k_end = hg_min(k_begin + P.pool_k, P.k_count);
    F scale = P.scale;
    F best = 0.0f;
    F sum = 0.0f;

    for (uint i = P.q_first + q_begin; i < P.q_first + q_end; i++) {
        uint seen = rows[i * 4u] + 1u;
        uint first_row = rows[i * 4u + 2u];
        uint held = hg_max(rows[i * 4u + 3u], first_row) - first_row;
        uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
        uint begin = hg_max(P.k_first + k_begin, low);
        uint end = hg_min(P.k_first + k_end, hg_min(seen, held));
        F line_sum = 0.0f;
        for (uint j = begin; j < end; j++) {
            F mean = 0.0f;
            for (uint head = head_first; head < head_end; head++) {
                uint item = i * P.heads + head;
                F s;
                DOT(s, q, item * P.head_dim, k,
                    (first_row + j) * stride + head / share * P.head_dim, P.head_dim)
                s = s * scale;
                s = FLP(s);
                s = s - stats[item * 2u];
                s = s - stats[item * 2u + 1u];
                s = hg_exp(s);
                mean = mean + s;
            }
            if (P.reduce != 0u)
                mean = mean * P.inv_heads;
            best = mean > best ? mean : best;
            line_sum = line_sum + mean;
        }
        sum = sum + line_sum;
    }
    F value = best;
    if (P.pool != 0u) {
        /* The mean over the whole cell, masked keys included. One element is itself: 1 / 1 is 1. */
        F high = F32(I32(q_end - q_begin));
        F wide = F32(I32(k_end - k_begin));
        F area = high * wide;
        area = hg_rcp(area);
        value = sum * area;
    }
    y[P.dst_offset + map * P.dst_head_stride + line * P.dst_stride + column] = ST(value);
}
