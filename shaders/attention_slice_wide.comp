/* SPDX-License-Identifier: MIT */
/*
 * attention_slice with wide loads along head_dim, for Vulkan on a processor. An invocation owns HEADS heads of one token
 * that share their keys, over 64 keys: what is loaded of k and v is used for all of them. The order of every sum is T0's.
 * A head_dim that is no multiple of 8 goes one by one.
 */
#include "page.h"
#include "wide.h"
WIDE_VIEW(q, u64vec4)
WIDE_VIEW(k, u64vec4)
WIDE_VIEW(v, u64vec4)
#include "function.h"
#include "row.def"
{
    uint per_kv = P.heads / P.kv_heads;
    uint tiles = (per_kv + HEADS - 1u) / HEADS;
    uint units = P.tokens * P.kv_heads * tiles;
    uint unit = INVOCATION;
    if (unit >= units * P.slices)
        return;
    uint slice = unit / units;
    uint row = unit % units / (P.kv_heads * tiles);
    uint group = unit % (P.kv_heads * tiles) / tiles;
    uint head_first = group * per_kv + unit % tiles * HEADS;
    uint head_end = (group + 1u) * per_kv;
    uint token = P.token_first + row;
    uint stride = P.kv_heads * P.head_dim;
    uint seen = rows[token * 4u] + 1u;
    uint first_row = rows[token * 4u + 2u];
    uint held = hg_max(rows[token * 4u + 3u], first_row) - first_row;
    uint limit = hg_min(seen, held);
    uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
    uint from_kv = first_row * stride + group * P.head_dim;
    uint block = slice * 64u;
    uint begin = hg_max(block, low);
    uint end = hg_min(block + 64u, limit);
    bool is_wide = (P.head_dim & 7u) == 0u;
    uint from_q[HEADS];
    F score[HEADS][64];
    F value[HEADS][8];
    F other[8];
    F top[HEADS];
    F mass[HEADS];
    F inverse[HEADS];
    F lse[HEADS];
    F scale = P.scale;

    /* Past the last head of these keys: that one again, stored by nobody. */
    FOR(h, HEADS,
        from_q[h] = (token * P.heads + hg_min(head_first + h, head_end - 1u)) * P.head_dim;
        top[h] = -1.0e30f;
        mass[h] = 0.0f;
        inverse[h] = 0.0f;
        lse[h] = 0.0f;)
    /* KEYS dot products side by side; those past the end repeat the last key. */
    for (uint j = begin; j < end; j += KEYS) {
        F total[HEADS][KEYS];
        F sum[HEADS][KEYS];
        uint from[KEYS];
        FOR(c, KEYS, from[c] = from_kv + hg_min(j + c, end - 1u) * stride;)
        FOR(h, HEADS, FOR(c, KEYS, total[h][c] = 0.0f;))
        for (uint first = 0u; first < P.head_dim; first += 64u) {
            uint last = hg_min(first + 64u, P.head_dim);
            uint i = first;
            FOR(h, HEADS, FOR(c, KEYS, sum[h][c] = 0.0f;))
            if (is_wide) {
                for (; i < last; i += 8u) {
                    FOR(h, HEADS, WIDE_8(value[h], q, from_q[h] + i))
                    FOR(c, KEYS,
                        WIDE_8(other, k, from[c] + i)
                        FOR(h, HEADS, FOR(e, 8, MAC(sum[h][c], value[h][e], other[e]))))
                }
            }
            for (; i < last; i++) {
                FOR(h, HEADS, value[h][0] = q[from_q[h] + i];)
                FOR(c, KEYS,
                    other[0] = k[from[c] + i];
                    FOR(h, HEADS, MAC(sum[h][c], value[h][0], other[0])))
            }
            FOR(h, HEADS, FOR(c, KEYS, total[h][c] = total[h][c] + sum[h][c];))
        }
        FOR(h, HEADS, FOR(c, KEYS,
            F s = total[h][c] * scale;
            s = FLP(s);
            if (j + c < end) {
                score[h][j + c - block] = s;
                top[h] = s > top[h] ? s : top[h];
            }))
    }
    for (uint j = begin; j < end; j++) {
        FOR(h, HEADS,
            F e = score[h][j - block];
            e = e - top[h];
            e = hg_exp(e);
            score[h][j - block] = e;
            mass[h] = mass[h] + e;)
    }
    if (begin < end) {
        FOR(h, HEADS,
            inverse[h] = hg_rcp(mass[h]);
            lse[h] = hg_log(mass[h]);)
    }
    uint to = (slice * P.tokens + row) * P.heads + head_first;
    uint i = 0u;
    for (; is_wide && i < P.head_dim; i += 8u) {
        F added[HEADS][8];
        FOR(h, HEADS, FOR(e, 8, added[h][e] = 0.0f;))
        uint j = begin;
        for (; j + 4u <= end; j += 4u) {
            FOR(c, 4,
                WIDE_8(other, v, from_kv + (j + c) * stride + i)
                FOR(h, HEADS,
                    F p = score[h][j + c - block];
                    FOR(e, 8, MAC(added[h][e], p, other[e]))))
        }
        for (; j < end; j++) {
            WIDE_8(other, v, from_kv + j * stride + i)
            FOR(h, HEADS,
                F p = score[h][j - block];
                FOR(e, 8, MAC(added[h][e], p, other[e])))
        }
        FOR(h, HEADS,
            if (head_first + h < head_end) {
                FOR(e, 8,
                    F mean = added[h][e] * inverse[h];
                    part[(to + h) * P.head_dim + i + e] = ST(mean);)
            })
    }
    for (; i < P.head_dim; i++) {
        F added[HEADS];
        FOR(h, HEADS, added[h] = 0.0f;)
        for (uint j = begin; j < end; j++) {
            other[0] = v[from_kv + j * stride + i];
            FOR(h, HEADS, MAC(added[h], score[h][j - block], other[0]))
        }
        FOR(h, HEADS,
            if (head_first + h < head_end) {
                F mean = added[h] * inverse[h];
                part[(to + h) * P.head_dim + i] = ST(mean);
            })
    }
    FOR(h, HEADS,
        if (head_first + h < head_end) {
            marks[(to + h) * 2u] = ST(top[h]);
            marks[(to + h) * 2u + 1u] = ST(lse[h]);
        })
}
