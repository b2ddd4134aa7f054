/* SPDX-License-Identifier: MIT */
/* How fast a device multiplies and adds: chains side by side, so that one need not wait for another, and no memory. */
#include "page.h"
#include "ceiling.h"
#include "row.def"
#define STEPS(step)                                                                                \
    for (uint turn = 0u; turn < P.turns; turn++) {                                                 \
        EACH(step(sum[c], factor, term);)                                          \
        EACH(step(sum[c], factor, term);)                                          \
        EACH(step(sum[c], factor, term);)                                          \
        EACH(step(sum[c], factor, term);)                                          \
    }
{
    uint row = INVOCATION / SLICES;
    uint first = INVOCATION % SLICES * COLUMN_PACKS;
    if (row >= P.rows)
        return;
    PACK_F sum[ARRAY(COLUMN_PACKS)];
    PACK_F factor = PACK_ALL(P.a);
    PACK_F term = PACK_ALL(P.b);
    EACH(sum[c] = PACK_ALL(0.0f); IF_OWNED(first + c) sum[c] = x[row * ROW_PACKS + first + c];)
    if (P.fused != 0u) {
        STEPS(PACK_FUSED)
    } else {
        STEPS(PACK_APART)
    }
    EACH(IF_OWNED(first + c) y[row * ROW_PACKS + first + c] = PACK_ST(sum[c]);)
}
