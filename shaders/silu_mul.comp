/* SPDX-License-Identifier: MIT */
/* One invocation writes one element. */
#include "page.h"
#include "function.h"
#include "row.def"
{
    uint i = INVOCATION;
    if (i >= P.count)
        return;
    F gate = a[i];
    F open = hg_sigmoid(gate);
    F value = gate * open;
    value = ST(value);
    value = value * b[i];
    y[i] = ST(value);
}
