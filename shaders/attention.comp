/* SPDX-License-Identifier: MIT */
/*
 * One invocation owns one head of one token: online softmax over key blocks of 64, the running output kept
 * in y. A block without a visible key leaves the state alone, so a prompt in one piece, in pieces or token
 * by token has the same bytes.
 */
#include "page.h"
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
    F score[64];
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
            F total[ARRAY(KEYS)];
            F part[ARRAY(KEYS)];
            uint from[ARRAY(KEYS)];
            FOR(c, KEYS,
                from[c] = from_kv + hg_min(j + c, end - 1u) * stride;
                total[c] = 0.0f;)
            for (uint first = 0u; first < P.head_dim; first += 64u) {
                uint last = hg_min(first + 64u, P.head_dim);
                FOR(c, KEYS, part[c] = 0.0f;)
                for (uint i = first; i < last; i++) {
                    F value = q[from_q + i];
                    FOR(c, KEYS, MAC(part[c], value, k[from[c] + i]))
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
        for (uint j = begin; j < end; j++) {
            F e = score[j - block];
            e = e - peak;
            score[j - block] = hg_exp(e);
        }
        F part = 0.0f;
        for (uint j = begin; j < end; j++)
            part = part + score[j - block];
        mass = mass * fade;
        mass = mass + part;
        /* DIMS elements of the output side by side, then what is left over. */
        uint i = 0u;
        for (; i + DIMS <= P.head_dim; i += DIMS) {
            F added[ARRAY(DIMS)];
            FOR(c, DIMS, added[c] = 0.0f;)
            for (uint j = begin; j < end; j++) {
                uint from = from_kv + j * stride + i;
                F p = score[j - block];
                FOR(c, DIMS, MAC(added[c], p, v[from + c]))
            }
            FOR(c, DIMS,
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
