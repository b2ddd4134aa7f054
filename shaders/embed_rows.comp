/* SPDX-License-Identifier: MIT */
/* One invocation writes one element of y, if this block of the table has its row. */
#include "page.h"
#include "weight.h"
#include "row.def"
{
    uint i = INVOCATION;
    if (i >= P.tokens * P.hidden)
        return;
    uint row = ids[i / P.hidden];
    if (row < P.row_first || row - P.row_first >= P.row_count)
        return;
    F value = WEIGHT(P.w_offset + (row - P.row_first) * P.hidden + i % P.hidden);
    y[i] = ST(value);
}
