/* SPDX-License-Identifier: MIT */
/* One work-item normalises ROWS rows. Rows beyond 2^52 are scaled first, as in norm.h. */
#include "page.h"
#include "vector.h"
#include "row.def"
{
    uint first = INVOCATION * ROWS;

    for (uint row = first; row < min(first + ROWS, P.rows); row++) {
        float before;
        float factor = hg_norm_factor(x + row * P.dim, P.dim, P.eps, P.inv_dim, &before);
        uint i = 0u;

        for (; i + V <= P.dim; i += V)
            VSTORE(hg_store(VLOAD(0, x + row * P.dim + i) * before * factor * VLOAD(0, w + i)), 0, y + row * P.dim + i);
        for (; i < P.dim; i++) {
            float value = x[row * P.dim + i] * before * factor * w[i];

            y[row * P.dim + i] = ST(value);
        }
    }
}
