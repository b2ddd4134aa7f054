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
    value = value * b[i]; /* of 2^-51 and 2^-50 at least, where not 0 */
    y[i] = ST(value);
}
