/* SPDX-License-Identifier: MIT */
/* One invocation owns one head of one token over 64 keys. */
#include "page.h"
#include "function.h"
#include "row.def"
{
    uint item = INVOCATION;
    uint count = P.tokens * P.heads;
    if (item >= count * P.slices)
        return;
    uint token = P.token_first + item % count / P.heads;
    uint head = item % P.heads;
    uint stride = P.kv_heads * P.head_dim;
    uint from_q = (token * P.heads + head) * P.head_dim;
    uint to = item * P.head_dim;
    uint seen = rows[token * 4u] + 1u;
    uint first_row = rows[token * 4u + 2u];
    uint held = hg_max(rows[token * 4u + 3u], first_row) - first_row;
    uint limit = hg_min(seen, held);
    uint low = P.window != 0u && seen > P.window ? seen - P.window : 0u;
    uint from_kv = first_row * stride + head / (P.heads / P.kv_heads) * P.head_dim;
    uint block = item / count * 64u;
    uint begin = hg_max(block, low);
    uint end = hg_min(block + 64u, limit);
    F score[64];
    F top = -1.0e30f;
    F mass = 0.0f;
    F inverse = 0.0f;
    F lse = 0.0f;
    F scale = P.scale;

    for (uint j = begin; j < end; j++) {
        F total = 0.0f;
        for (uint first = 0u; first < P.head_dim; first += 64u) {
            uint last = hg_min(first + 64u, P.head_dim);
            F sum = 0.0f;
            for (uint i = first; i < last; i++) {
                F value = q[from_q + i];
                MAC(sum, value, k[from_kv + j * stride + i])
            }
            total = total + sum;
        }
        total = total * scale;
        total = FLP(total);
        score[j - block] = total;
        top = total > top ? total : top;
    }
    for (uint j = begin; j < end; j++) {
        F e = score[j - block];
        e = e - top;
        e = hg_exp(e);
        score[j - block] = e;
        mass = mass + e;
    }
    if (begin < end) {
        inverse = hg_rcp(mass);
        lse = hg_log(mass);
    }
    /* DIMS elements side by side, then what is left over. */
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
            F value = added[c] * inverse;
            part[to + i + c] = ST(value);)
    }
    for (; i < P.head_dim; i++) {
        F added = 0.0f;
        for (uint j = begin; j < end; j++)
            MAC(added, score[j - block], v[from_kv + j * stride + i])
        added = added * inverse;
        part[to + i] = ST(added);
    }
    marks[item * 2u] = ST(top);
    marks[item * 2u + 1u] = ST(lse);
}
