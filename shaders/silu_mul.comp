/* SPDX-License-Identifier: MIT */
/* One invocation writes one element. */
#include "page.h"
#include "function.h"
#include "row.def"
{
    uint i = INVOCATION;
    if (i >= P.rows * P.cols)
        return;
    uint from = i / P.cols * P.stride + i % P.cols;
    F gate = a[from];
    F open = hg_sigmoid(gate);
    F value = gate * open;
    value = value * b[from + P.b_offset]; /* of 2^-51 and 2^-50 at least, where not 0 */
    y[i] = ST(value);
}
