/* SPDX-License-Identifier: MIT */
/* One invocation writes one element; y may be a or b. */
#define HG_ALIAS 1
#include "page.h"
#include "row.def"
{
    uint i = INVOCATION;
    if (i >= P.count)
        return;
    F sum = a[i];
    sum = sum + b[i];
    y[i] = ST(sum);
}
