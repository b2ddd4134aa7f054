/* SPDX-License-Identifier: MIT */
/* One work-item owns HEADS heads, one after the other over tokens and heads; y may be x. */
#define HG_ALIAS 1
#include "page.h"
#include "vector.h"
#include "rope_tc.h"
#include "row.def"
{
    uint first = INVOCATION * HEADS;

    for (uint item = first; item < min(first + HEADS, P.tokens * P.heads); item++)
        hg_turn_head(x + item * P.head_dim, w, (P.flags & 1u) != 0u, table + item / P.heads * P.head_dim, P.head_dim,
                     P.eps, P.inv_dim, y + (item + P.y_row * P.heads) * P.head_dim);
}
