/* SPDX-License-Identifier: MIT */
/*
 * matmul's tile with wide loads along K, for Vulkan on a processor: eight elements of each row and column at a time.
 * The order of every sum is T0's, so the bytes are, too. A K or an offset that is no multiple of 8 goes one by one.
 */
#define WIDE_STEP 8
#include "page.h"
#include "weight.h"
#include "wide.h"
#include "row.def"
{
    uint row_tiles = (P.rows + ROWS - 1u) / ROWS;
    uint tile = INVOCATION;
    uint row_first = tile % row_tiles * ROWS;
    uint col_first = tile / row_tiles * COLS;
    if (col_first >= P.cols)
        return;
    bool is_wide = ((P.k | P.w_offset) & (WIDE_STEP - 1)) == 0u;
    F total[ROWS][COLS];
    F part[ROWS][COLS];
    F value[ROWS][WIDE_STEP];
    F weight[WIDE_STEP];
    uint from_x[ROWS];
    uint from_w[COLS];
    FOR(r, ROWS, FOR(c, COLS, total[r][c] = 0.0f;))
    FOR(r, ROWS, from_x[r] = hg_min(row_first + r, P.rows - 1u) * P.k;)
    FOR(c, COLS, from_w[c] = P.w_offset + hg_min(col_first + c, P.cols - 1u) * P.k;)
    for (uint block = 0u; block < P.k; block += 64u) {
        uint end = hg_min(block + 64u, P.k);
        uint k = block;
        FOR(r, ROWS, FOR(c, COLS, part[r][c] = 0.0f;))
        if (is_wide) {
            for (; k < end; k += WIDE_STEP) {
                FOR(r, ROWS, WIDE_X(value[r], from_x[r] + k))
                FOR(c, COLS,
                    WIDE_W(weight, from_w[c] + k)
                    FOR(r, ROWS, FOR(i, WIDE_STEP, MAC(part[r][c], value[r][i], weight[i]))))
            }
        }
        for (; k < end; k++) {
            FOR(r, ROWS, value[r][0] = x[from_x[r] + k];)
            FOR(c, COLS,
                weight[0] = WEIGHT(from_w[c] + k);
                FOR(r, ROWS, MAC(part[r][c], value[r][0], weight[0])))
        }
        FOR(r, ROWS, FOR(c, COLS, total[r][c] = total[r][c] + part[r][c];))
    }

    F added[COLS];
    FOR(c, COLS, added[c] = 0.0f;)
    if ((P.flags & 1u) != 0u) {
        FOR(c, COLS, added[c] = bias[hg_min(col_first + c, P.cols - 1u)];)
    }
    FOR(r, ROWS,
        if (row_first + r < P.rows) {
            uint to = (row_first + r) * P.y_stride + P.y_offset + col_first;
            FOR(c, COLS,
                if (col_first + c < P.cols) {
                    F sum = total[r][c] + added[c];
                    sum = ST(sum);
                    if ((P.flags & 2u) != 0u) {
                        sum = sum + y[to + c];
                        sum = ST(sum);
                    }
                    y[to + c] = sum;
                })
        })
}
