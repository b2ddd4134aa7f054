/* SPDX-License-Identifier: MIT */
/* A subgroup owns one head of one token at a time, a lane its pairs: y may be x. */
#define HG_ALIAS 1
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
        uint from = item * P.head_dim;
        uint to = from + P.y_row * P.heads * P.head_dim;
        TURN_HEAD(token, from, to)
    }
}
