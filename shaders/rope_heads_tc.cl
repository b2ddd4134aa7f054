/* SPDX-License-Identifier: MIT */
/* One work-item owns HEADS heads, one after the other over tokens and heads: norm, rope, and the copy beside it. */
#include "page.h"
#include "vector.h"
#include "rope_tc.h"
#include "row.def"
{
    uint first = INVOCATION * HEADS;

    for (uint item = first; item < min(first + HEADS, P.tokens * P.heads); item++) {
        uint token = item / P.heads;
        uint head = item % P.heads;
        __global const float *group = x + token * P.x_stride + P.x_offset + head / P.group_heads * P.group_stride;
        __global const float *from = group + head % P.group_heads * P.head_dim;
        __global float *to = y + (item + P.y_row * P.heads) * P.head_dim;

        hg_turn_head(from, w, (P.flags & 1u) != 0u, table + token * P.head_dim, P.head_dim, P.eps, P.inv_dim, to);
        from = group + P.copy_offset + head % P.group_heads * P.copy_dim;
        to = copied + (item + P.copy_row * P.heads) * P.copy_dim;
        for (uint i = 0u; i < P.copy_dim; i++)
            to[i] = ST(from[i]);
    }
}
