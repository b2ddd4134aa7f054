/* SPDX-License-Identifier: MIT */
/* One work-item reads one element of a row out of its panel. */
#include "page.h"
#include "row.def"
{
    uint i = INVOCATION;
    if (i >= P.tokens * P.hidden)
        return;
    uint token = i / P.hidden;
    uint row = ids[token] - P.row_first;
    uint place = row % 32u;
    size_t line = P.w_offset / 32u + (size_t)(row / 32u) * P.hidden + i % P.hidden;
    float value;

    if (ids[token] < P.row_first || row >= P.row_count)
        return;
#if defined(HG_W_F32P)
    value = AF(w[line * 32u + place]);
#elif defined(HG_W_F16P)
    value = vload_half(line * 32u + place, (__global const half *)w);
#elif defined(HG_W_BF16P)
    {
        uint word = w[line * 16u + place % 16u];

        value = AF(place < 16u ? word << 16 : word & 0xffff0000u);
    }
#endif
    y[i] = ST(value);
}
