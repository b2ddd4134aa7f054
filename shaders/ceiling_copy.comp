/* SPDX-License-Identifier: MIT */
/* How fast memory is copied. What is copied obeys the storage invariant already. */
#include "page.h"
#include "ceiling.h"
#include "row.def"
{
    uint row = INVOCATION / SLICES;
    uint first = INVOCATION % SLICES * COLUMN_PACKS;
    if (row >= P.rows)
        return;
    uint at = row * P.turns * ROW_PACKS + first;
    for (uint turn = 0u; turn < P.turns; turn++) {
        EACH(
            IF_OWNED(first + c)
                y[at + c] = x[at + c];)
        at = at + ROW_PACKS;
    }
}
