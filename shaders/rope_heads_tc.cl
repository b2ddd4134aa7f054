/* SPDX-License-Identifier: MIT */
/* One work-item owns HEADS heads, one after the other over tokens and heads: norm, rope, and the copy beside it. */
#include "page.h"
#include "vector.h"
#include "row.def"
{
    uint first = INVOCATION * HEADS;
    uint pairs = P.head_dim / 2u;

    for (uint item = first; item < min(first + HEADS, P.tokens * P.heads); item++) {
        uint token = item / P.heads;
        uint head = item % P.heads;
        __global const float *group = x + token * P.x_stride + P.x_offset + head / P.group_heads * P.group_stride;
        __global const float *from = group + head % P.group_heads * P.head_dim;
        __global const float *turn = table + token * P.head_dim;
        __global float *to = y + (item + P.y_row * P.heads) * P.head_dim;
        bool is_normed = (P.flags & 1u) != 0u;
        float before = 1.0f, factor = 1.0f;
        uint i = 0u;

        if (is_normed)
            factor = hg_norm_factor(from, P.head_dim, P.eps, P.inv_dim, &before);
        for (; i + V <= pairs; i += V) {
            VF c0 = VLOAD(0, turn + 2u * i), c1 = VLOAD(0, turn + 2u * i + V);
            VF c = (VF)(c0.even, c1.even), s = (VF)(c0.odd, c1.odd);
            VF first_half = VLOAD(0, from + i) * before * factor, second_half = VLOAD(0, from + pairs + i) * before * factor;

            if (is_normed) {
                first_half *= VLOAD(0, w + i);
                second_half *= VLOAD(0, w + pairs + i);
            }
            VSTORE(hg_store(first_half * c - second_half * s), 0, to + i);
            VSTORE(hg_store(second_half * c + first_half * s), 0, to + pairs + i);
        }
        for (; i < pairs; i++) {
            float first_half = from[i] * before * factor, second_half = from[pairs + i] * before * factor;
            float c = turn[2u * i], s = turn[2u * i + 1u];
            float value;

            if (is_normed) {
                first_half *= w[i];
                second_half *= w[pairs + i];
            }
            value = first_half * c - second_half * s;
            to[i] = ST(value);
            value = second_half * c + first_half * s;
            to[pairs + i] = ST(value);
        }
        from = group + P.copy_offset + head % P.group_heads * P.copy_dim;
        to = copied + (item + P.copy_row * P.heads) * P.copy_dim;
        for (i = 0u; i < P.copy_dim; i++)
            to[i] = ST(from[i]);
    }
}
