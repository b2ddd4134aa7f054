/* SPDX-License-Identifier: MIT */
/* A subgroup normalises one row at a time. */
#include "page.h"
#include "subgroup.h"
#include "function.h"
#include "row.def"
{
    FIND_LANES
    EACH_SHARE(r, ROWS)
    {
        uint row = GROUP * ROWS + r;
        if (row >= P.rows)
            break;
        uint base = row * P.dim;
        NORM_FACTOR_SUBGROUP(before, factor, base, P.dim, P.eps, P.inv_dim)
        EACH_LANE(i, P.dim)
        {
            F value = x[base + i];
            value = value * before;
            value = ST(value);
            value = value * factor;
            value = ST(value);
            value = value * w[i];
            y[base + i] = ST(value);
        }
    }
}
