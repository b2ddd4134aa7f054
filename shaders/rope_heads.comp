/* SPDX-License-Identifier: MIT */
/* One invocation owns one head of one token: norm_rope's arithmetic, and a copy of what stands beside it. */
#include "page.h"
#include "norm.h"
#include "row.def"
{
    uint item = INVOCATION;
    if (item >= P.tokens * P.heads)
        return;
    uint token = item / P.heads;
    uint head = item % P.heads;
    uint group = token * P.x_stride + P.x_offset + head / P.group_heads * P.group_stride;
    uint from = group + head % P.group_heads * P.head_dim;
    uint to = (item + P.y_row * P.heads) * P.head_dim;
    uint pairs = P.head_dim / 2u;
    F scale_before = 1.0f;
    F scale_after = 1.0f;
    if ((P.flags & 1u) != 0u) {
        NORM_FACTOR(before, factor, from, P.head_dim, P.eps, P.inv_dim)
        scale_before = before;
        scale_after = factor;
    }
    for (uint i = 0u; i < pairs; i++) {
        F a = x[from + i];
        F b = x[from + pairs + i];
        if ((P.flags & 1u) != 0u) {
            a = a * scale_before;
            a = ST(a);
            a = a * scale_after;
            a = ST(a);
            a = a * w[i];
            a = ST(a);
            b = b * scale_before;
            b = ST(b);
            b = b * scale_after;
            b = ST(b);
            b = b * w[pairs + i];
            b = ST(b);
        }
        F c = table[(token * pairs + i) * 2u];
        F s = table[(token * pairs + i) * 2u + 1u];
        F first = a * c;
        F minus = b * s;
        first = first - minus;
        F second = b * c;
        MAC(second, a, s)
        y[to + i] = ST(first);
        y[to + pairs + i] = ST(second);
    }
    from = group + P.copy_offset + head % P.group_heads * P.copy_dim;
    to = (item + P.copy_row * P.heads) * P.copy_dim;
    for (uint i = 0u; i < P.copy_dim; i++) {
        F value = x[from + i];
        copied[to + i] = ST(value);
    }
}
