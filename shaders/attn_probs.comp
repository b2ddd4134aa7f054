/* SPDX-License-Identifier: MIT */
/*
 * One invocation computes CELLS neighbouring cells of a row of one map: every probability in them again,
 * with attention's own dot and the row statistics that attention wrote. Masked keys count as 0 and are not
 * visited. Each cell adds its keys in ascending order, whatever the tile numbers are.
 */
#include "page.h"
#include "function.h"
#include "row.def"
{
    uint across = (P.k_count + P.pool_k - 1u) / P.pool_k;
    uint down = (P.q_count + P.pool_q - 1u) / P.pool_q;
    uint maps = P.reduce != 0u ? 1u : P.h_count;
    uint tiles = (across + CELLS - 1u) / CELLS;
    uint tile = INVOCATION;
    if (tile >= maps * down * tiles)
        return;
    uint column = tile % tiles * CELLS;
    uint line = tile / tiles % down;
    uint map = tile / tiles / down;
    uint head_first = P.h_first + (P.reduce != 0u ? 0u : map);
    uint head_end = P.reduce != 0u ? P.h_first + P.h_count : head_first + 1u;
    uint share = P.heads / P.kv_heads;
    uint stride = P.kv_heads * P.head_dim;
    uint q_begin = line * P.pool_q;
    uint q_end = hg_min(q_begin + P.pool_q, P.q_count);
    uint k_begin = column * P.pool_k;
    uint k_end = hg_min(k_begin + P.pool_k * CELLS, P.k_count);
    F scale = P.scale;
    F best[ARRAY(CELLS)];
    F sum[ARRAY(CELLS)];
    F line_sum[ARRAY(CELLS)];

    FOR(c, CELLS, best[c] = 0.0f; sum[c] = 0.0f;)
    for (uint i = P.q_first + q_begin; i < P.q_first + q_end; i++) {
        uint seen = rows[i * 4u] + 1u;
        uint first_row = rows[i * 4u + 2u];
        uint held = hg_max(rows[i * 4u + 3u], first_row) - first_row;
        uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
        uint begin = hg_max(P.k_first + k_begin, low);
        uint end = hg_min(P.k_first + k_end, hg_min(seen, held));
        FOR(c, CELLS, line_sum[c] = 0.0f;)
        /* KEYS dot products side by side; those past the end repeat the last key and go nowhere. */
        for (uint j = begin; j < end; j += KEYS) {
            F mean[ARRAY(KEYS)];
            F total[ARRAY(KEYS)];
            F part[ARRAY(KEYS)];
            uint from[ARRAY(KEYS)];
            FOR(c, KEYS, mean[c] = 0.0f;)
            for (uint head = head_first; head < head_end; head++) {
                uint item = i * P.heads + head;
                FOR(c, KEYS,
                    from[c] = (first_row + hg_min(j + c, end - 1u)) * stride + head / share * P.head_dim;
                    total[c] = 0.0f;)
                for (uint first = 0u; first < P.head_dim; first += 64u) {
                    uint last = hg_min(first + 64u, P.head_dim);
                    FOR(c, KEYS, part[c] = 0.0f;)
                    for (uint d = first; d < last; d++) {
                        F value = q[item * P.head_dim + d];
                        FOR(c, KEYS, MAC(part[c], value, k[from[c] + d]))
                    }
                    FOR(c, KEYS, total[c] = total[c] + part[c];)
                }
                F top = stats[item * 2u];
                F lse = stats[item * 2u + 1u];
                FOR(c, KEYS,
                    F s = total[c] * scale;
                    s = FLP(s);
                    s = s - top;
                    s = s - lse;
                    s = hg_exp(s);
                    mean[c] = mean[c] + s;)
            }
            FOR(c, KEYS,
                if (j + c < end) {
                    uint to = CELLS == 1u ? 0u : (j + c - P.k_first - k_begin) / P.pool_k;
                    F value = mean[c];
                    if (P.reduce != 0u)
                        value = value * P.inv_heads;
                    best[to] = value > best[to] ? value : best[to];
                    line_sum[to] = line_sum[to] + value;
                })
        }
        FOR(c, CELLS, sum[c] = sum[c] + line_sum[c];)
    }
    FOR(c, CELLS,
        if (column + c < across) {
            F value = best[c];
            if (P.pool != 0u) {
                /* The mean over the whole cell, masked keys included. One element is itself: 1 / 1 is 1. */
                uint left = k_begin + c * P.pool_k;
                F high = F32(I32(q_end - q_begin));
                F wide = F32(I32(hg_min(left + P.pool_k, P.k_count) - left));
                F area = high * wide;
                area = hg_rcp(area);
                value = sum[c] * area;
            }
            y[P.dst_offset + map * P.dst_head_stride + line * P.dst_stride + column + c] = ST(value);
        })
}
