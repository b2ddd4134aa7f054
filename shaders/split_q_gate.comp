/* SPDX-License-Identifier: MIT */
/* One invocation moves one element of qg to its place in q or z. */
#include "page.h"
#include "row.def"
{
    uint i = INVOCATION;
    uint width = P.heads * (P.head_dim + P.gate_dim);
    if (i >= P.tokens * width)
        return;
    uint token = i / width;
    uint column = i % width;
    /* A part of a row holds the queries of `share` heads, then their gates. */
    uint share = P.gate_layout == 0u ? P.heads / P.kv_heads : 1u;
    uint part = column / (share * (P.head_dim + P.gate_dim));
    uint place = column % (share * (P.head_dim + P.gate_dim));
    uint queries = share * P.head_dim;
    F value = qg[i];
    if (place < queries)
        q[token * P.heads * P.head_dim + part * queries + place] = ST(value);
    else
        z[(token * P.heads + part * share) * P.gate_dim + place - queries] = ST(value);
}
