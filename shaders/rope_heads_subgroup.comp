/* SPDX-License-Identifier: MIT */
/* A subgroup owns one head of one token at a time: norm_rope's arithmetic, and a copy of what stands beside it. */
#include "page.h"
#include "subgroup.h"
#include "function.h"
#include "row.def"
{
    FIND_LANES
    EACH_SHARE(h, HEADS)
    {
        uint item = GROUP * HEADS + h;
        if (item >= P.tokens * P.heads)
            break;
        uint token = item / P.heads;
        uint head = item % P.heads;
        uint group = token * P.x_stride + P.x_offset + head / P.group_heads * P.group_stride;
        uint from = group + head % P.group_heads * P.head_dim;
        uint to = (item + P.y_row * P.heads) * P.head_dim;
        TURN_HEAD(token, from, to)
        from = group + P.copy_offset + head % P.group_heads * P.copy_dim;
        to = (item + P.copy_row * P.heads) * P.copy_dim;
        EACH_LANE(i, P.copy_dim)
        copied[to + i] = ST(x[from + i]);
    }
}
