/* SPDX-License-Identifier: MIT */
/*
 * attention with wide loads along head_dim, for Vulkan on a processor: eight elements of q, k and v at a time. The order
 * of every sum is T0's, so the bytes are, too. A head_dim that is no multiple of 8 goes one by one. Few rounds of loops:
 * lavapipe runs 65535 in all and drops the rest (engine/rounds.h).
 */
#include "page.h"
#include "wide.h"
WIDE_VIEW(q, u64vec4)
WIDE_VIEW(k, u64vec4)
WIDE_VIEW(v, u64vec4)
#include "function.h"
#include "row.def"
{
    uint item = INVOCATION;
    if (item >= P.tokens * P.heads)
        return;
    uint token = item / P.heads;
    uint head = item % P.heads;
    uint group = head / (P.heads / P.kv_heads);
    uint stride = P.kv_heads * P.head_dim;
    uint from_q = item * P.head_dim;
    uint seen = rows[token * 4u] + 1u;
    uint first_row = rows[token * 4u + 2u];
    uint held = hg_max(rows[token * 4u + 3u], first_row) - first_row;
    uint limit = hg_min(seen, held);
    uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
    uint from_kv = first_row * stride + group * P.head_dim;
    bool is_wide = (P.head_dim & 7u) == 0u;
    F score[64];
    F value[8];
    F other[8];
    F top = -1.0e30f;
    F mass = 0.0f;
    F scale = P.scale;

    for (uint i = 0u; i < P.head_dim; i++)
        y[from_q + i] = 0.0f;
    for (uint block = low & ~63u; block < limit; block += 64u) {
        uint begin = hg_max(block, low);
        uint end = hg_min(block + 64u, limit);
        F peak = top;
        /* KEYS dot products side by side; those past the end repeat the last key. */
        for (uint j = begin; j < end; j += KEYS) {
            F total[KEYS];
            F part[KEYS];
            uint from[KEYS];
            FOR(c, KEYS,
                from[c] = from_kv + hg_min(j + c, end - 1u) * stride;
                total[c] = 0.0f;)
            for (uint first = 0u; first < P.head_dim; first += 64u) {
                uint last = hg_min(first + 64u, P.head_dim);
                FOR(c, KEYS, part[c] = 0.0f;)
                uint i = first;
                if (is_wide) {
                    for (; i + 32u <= last; i += 32u) {
                        FOR(s, 4,
                            WIDE_8(value, q, from_q + i + s * 8u)
                            FOR(c, KEYS,
                                WIDE_8(other, k, from[c] + i + s * 8u)
                                FOR(e, 8, MAC(part[c], value[e], other[e]))))
                    }
                    for (; i < last; i += 8u) {
                        WIDE_8(value, q, from_q + i)
                        FOR(c, KEYS,
                            WIDE_8(other, k, from[c] + i)
                            FOR(e, 8, MAC(part[c], value[e], other[e])))
                    }
                }
                for (; i < last; i++) {
                    F one = q[from_q + i];
                    FOR(c, KEYS, MAC(part[c], one, k[from[c] + i]))
                }
                FOR(c, KEYS, total[c] = total[c] + part[c];)
            }
            FOR(c, KEYS,
                F s = total[c] * scale;
                s = FLP(s);
                if (j + c < end) {
                    score[j + c - block] = s;
                    peak = s > peak ? s : peak;
                })
        }
        F fade = top - peak;
        fade = hg_exp(fade);
        F part = 0.0f;
        for (uint j = begin; j < end; j++) {
            F e = score[j - block];
            e = e - peak;
            e = hg_exp(e);
            score[j - block] = e;
            part = part + e;
        }
        mass = mass * fade;
        mass = mass + part;
        uint i = 0u;
        for (; is_wide && i < P.head_dim; i += 8u) {
            F added[8];
            FOR(c, 8, added[c] = 0.0f;)
            uint j = begin;
            for (; j + 8u <= end; j += 8u) {
                FOR(e, 8,
                    F p = score[j + e - block];
                    WIDE_8(other, v, from_kv + (j + e) * stride + i)
                    FOR(c, 8, MAC(added[c], p, other[c])))
            }
            for (; j < end; j++) {
                F p = score[j - block];
                WIDE_8(other, v, from_kv + j * stride + i)
                FOR(c, 8, MAC(added[c], p, other[c]))
            }
            FOR(c, 8,
                F sum = y[from_q + i + c];
                sum = sum * fade; /* of 2^-50 and 2^-49 at least, where not 0 */
                sum = sum + added[c];
                y[from_q + i + c] = ST(sum);)
        }
        for (; i < P.head_dim; i++) {
            F added = 0.0f;
            for (uint j = begin; j < end; j++)
                MAC(added, score[j - block], v[from_kv + j * stride + i])
            F sum = y[from_q + i];
            sum = sum * fade;
            sum = sum + added;
            y[from_q + i] = ST(sum);
        }
        top = peak;
    }

    /* The epilogue: 1 / mass, the gate, ablations. */
    F inverse = 0.0f;
    F lse = 0.0f;
    if (low < limit) {
        inverse = hg_rcp(mass);
        lse = hg_log(mass);
    }
    stats[item * 2u] = ST(top);
    stats[item * 2u + 1u] = ST(lse);
    uint mask = head < 32u ? P.head_mask0
                           : (head < 64u ? P.head_mask1 : (head < 96u ? P.head_mask2 : P.head_mask3));
    bool dark = head < 128u && ((mask >> (head & 31u)) & 1u) != 0u;
    F open = 1.0f;
    if (P.gate == 2u)
        open = P.gate_const;
    for (uint i = 0u; i < P.head_dim; i++) {
        if (i < P.gate_dim && (P.gate == 1u || (P.flags & 1u) != 0u)) {
            F gate = z[item * P.gate_dim + i];
            gate = hg_sigmoid(gate);
            if ((P.flags & 1u) != 0u)
                gates[item * P.gate_dim + i] = ST(gate);
            if (P.gate == 1u)
                open = gate;
        }
        F value = 0.0f;
        if (!dark) {
            value = y[from_q + i];
            value = value * inverse;
            value = ST(value);
            value = value * open;
        }
        y[from_q + i] = ST(value);
    }
}
