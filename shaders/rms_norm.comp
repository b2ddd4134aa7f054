/* SPDX-License-Identifier: MIT */
/* One invocation normalises one row. */
#include "page.h"
#include "norm.h"
#include "row.def"
{
    uint row = INVOCATION;
    if (row >= P.rows)
        return;
    uint base = row * P.dim;
    NORM_FACTOR(before, factor, base, P.dim, P.eps, P.inv_dim)
    for (uint i = 0u; i < P.dim; i++) {
        F value = x[base + i];
        value = value * before;
        value = ST(value);
        value = value * factor;
        value = ST(value);
        value = value * w[i];
        y[base + i] = ST(value);
    }
}
