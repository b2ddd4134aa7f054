/* SPDX-License-Identifier: MIT */
/* How fast memory is read: lanes side by side read packs side by side, an invocation that owns a whole row reads on
 * and on. The xor keeps every load alive and has one result in any order. */
#include "page.h"
#include "ceiling.h"
#include "row.def"
{
    uint row = INVOCATION / SLICES;
    uint first = INVOCATION % SLICES * COLUMN_PACKS;
    if (row >= P.rows)
        return;
    PACK_U bits[ARRAY(COLUMN_PACKS)];
    uint from = row * P.turns * ROW_PACKS + first;
    EACH(bits[c] = PACK_ZERO;)
    for (uint turn = 0u; turn < P.turns; turn++) {
        EACH(
            IF_OWNED(first + c)
                bits[c] = bits[c] ^ PACK_BITS(x[from + c]);)
        from = from + ROW_PACKS;
    }
    EACH(
        IF_OWNED(first + c)
            y[row * ROW_PACKS + first + c] = PACK_NUMBER((bits[c] & 0x007fffffu) | 0x3f800000u);)
}
