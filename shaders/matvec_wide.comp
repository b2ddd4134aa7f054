/* SPDX-License-Identifier: MIT */
/*
 * matvec with wide loads along K, for Vulkan on a processor: eight (of 16 bits: sixteen) elements at a time of COLS rows
 * of w, which are streams that run side by side. T0's bytes. A K or an offset that is no multiple of that goes one by one.
 */
#ifdef HG_W_F32
#define WIDE_STEP 8
#else
#define WIDE_STEP 16
#endif
#include "page.h"
#include "weight.h"
#include "wide.h"
#include "row.def"
{
    uint col_tiles = (P.cols + COLS - 1u) / COLS;
    uint tile = INVOCATION;
    uint row = tile / col_tiles;
    uint col_first = tile % col_tiles * COLS;
    if (row >= P.rows)
        return;
    bool is_wide = ((P.k | P.w_offset) & (WIDE_STEP - 1)) == 0u;
    F total[COLS];
    F part[COLS];
    F value[WIDE_STEP];
    F weight[WIDE_STEP];
    uint from_w[COLS];
    uint from_x = row * P.k;
    FOR(c, COLS,
        total[c] = 0.0f;
        from_w[c] = P.w_offset + hg_min(col_first + c, P.cols - 1u) * P.k;)
    for (uint block = 0u; block < P.k; block += 64u) {
        uint end = hg_min(block + 64u, P.k);
        uint k = block;
        FOR(c, COLS, part[c] = 0.0f;)
        if (is_wide) {
            for (; k < end; k += WIDE_STEP) {
                WIDE_X(value, from_x + k)
                FOR(c, COLS,
                    WIDE_W(weight, from_w[c] + k)
                    FOR(i, WIDE_STEP, MAC(part[c], value[i], weight[i])))
            }
        }
        for (; k < end; k++) {
            value[0] = x[from_x + k];
            FOR(c, COLS,
                weight[0] = WEIGHT(from_w[c] + k);
                MAC(part[c], value[0], weight[0]))
        }
        FOR(c, COLS, total[c] = total[c] + part[c];)
    }
    F added[COLS];
    FOR(c, COLS, added[c] = 0.0f;)
    if ((P.flags & 1u) != 0u) {
        FOR(c, COLS, added[c] = bias[hg_min(col_first + c, P.cols - 1u)];)
    }
    FOR(c, COLS,
        if (col_first + c < P.cols) {
            uint to = row * P.y_stride + P.y_offset + col_first + c;
            F sum = total[c] + added[c];
            sum = ST(sum);
            if ((P.flags & 2u) != 0u) {
                sum = sum + y[to];
                sum = ST(sum);
            }
            y[to] = sum;
        })
}
