/* SPDX-License-Identifier: MIT */
/* A subgroup reads one row at a time. */
#include "page.h"
#include "subgroup.h"
#include "row.def"
{
    FIND_LANES
    EACH_SHARE(r, ROWS)
    {
        uint row = GROUP * ROWS + r;
        if (row >= P.rows)
            break;
        uint base = row * P.stride;
        uint top = 0u;
        uint where = 0u;
        uint count = 0u;
        float sum = 0.0f;
        EACH_LANE(i, P.cols)
        {
            float value = x[base + i];
            uint bits = AU(value) & 0x7fffffffu;
            where = bits > top ? i : where;
            top = hg_max(top, bits);
            count += value < P.below ? 1u : 0u;
            sum += value;
        }
        /* The first column of all that have the largest bits; column 0 where all are zero. */
        uint most = subgroupMax(top);
        where = subgroupMin(top == most && most != 0u ? where : (most == 0u ? 0u : 0xffffffffu));
        count = subgroupAdd(count);
        sum = subgroupAdd(sum);
        if (lane == 0u) {
            y[row * 4u] = AF(most);
            y[row * 4u + 1u] = ST(sum);
            y[row * 4u + 2u] = F32(I32(where));
            y[row * 4u + 3u] = F32(I32(count));
        }
    }
}
