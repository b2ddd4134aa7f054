/* SPDX-License-Identifier: MIT */
/* One invocation computes COLS outputs of one row: COLS rows of w are streams that run side by side. */
#include "page.h"
#include "weight.h"
#include "row.def"
{
    uint col_tiles = (P.cols + COLS - 1u) / COLS;
    uint tile = INVOCATION;
    uint row = tile / col_tiles;
    uint col_first = tile % col_tiles * COLS;
    if (row >= P.rows)
        return;
    F total[ARRAY(COLS)];
    F part[ARRAY(COLS)];
    uint from_w[ARRAY(COLS)];
    uint from_x = row * P.k;
    FOR(c, COLS,
        total[c] = 0.0f;
        from_w[c] = P.w_offset + hg_min(col_first + c, P.cols - 1u) * P.k;)
    for (uint block = 0u; block < P.k; block += 64u) {
        uint end = hg_min(block + 64u, P.k);
        uint k = block;
        FOR(c, COLS, part[c] = 0.0f;)
#ifdef HG_W_16
        /* Rows that start at a whole word: two elements from each. */
        if (((P.k | P.w_offset) & 1u) == 0u) {
            uint word[ARRAY(COLS)];
            for (; k < end; k += 2u) {
                F value = x[from_x + k];
                FOR(c, COLS,
                    word[c] = w[(from_w[c] + k) >> 1];
                    F weight = HALF_LOW(word[c]);
                    MAC(part[c], value, weight))
                value = x[from_x + k + 1u];
                FOR(c, COLS,
                    F weight = HALF_HIGH(word[c]);
                    MAC(part[c], value, weight))
            }
        }
#endif
        for (; k < end; k++) {
            F value = x[from_x + k];
            FOR(c, COLS,
                F weight = WEIGHT(from_w[c] + k);
                MAC(part[c], value, weight))
        }
        FOR(c, COLS, total[c] = total[c] + part[c];)
    }
    F added[ARRAY(COLS)];
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
