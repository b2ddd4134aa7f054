/* SPDX-License-Identifier: MIT */
/*
 * One invocation computes a tile of ROWS x COLS outputs. Rows and columns past the end are computed from the
 * last ones and not stored. The order of a sum depends neither on the tile nor on the path (D1):
 *   up to 8 rows   everything in registers, weights straight from memory: for lanes side by side (GPUs)
 *   taller tiles   a block of weights is expanded into private memory first, with columns side by side, and
 *                  used by every row: for compilers that make vectors of the inner loop (processors);
 *                  ROWS is a multiple of 4. Not in Vulkan.
 */
#include "page.h"
#include "weight.h"
#include "row.def"
{
    uint row_tiles = (P.rows + ROWS - 1u) / ROWS;
    uint tile = INVOCATION;
    uint row_first = tile % row_tiles * ROWS;
    uint col_first = tile / row_tiles * COLS;
    if (col_first >= P.cols)
        return;
    F total[ARRAY(ROWS)][ARRAY(COLS)];
    uint from_w[ARRAY(COLS)];
    FOR(r, ROWS, FOR(c, COLS, total[r][c] = 0.0f;))
    FOR(c, COLS, from_w[c] = P.w_offset + hg_min(col_first + c, P.cols - 1u) * P.k;)

#ifdef HG_PRIVATE_STAGE
    if (ROWS > 8u) {
        F staged[64][ARRAY(COLS)];
        F part[4][ARRAY(COLS)];
        uint from[4];
        uint rows = hg_min(ROWS, P.rows - row_first);
        for (uint block = 0u; block < P.k; block += 64u) {
            uint count = hg_min(64u, P.k - block);
            for (uint k = 0u; k < count; k++) {
                UNROLL_CL for (uint c = 0u; c < COLS; c++)
                    staged[k][c] = WEIGHT(from_w[c] + block + k);
            }
            for (uint row = 0u; row < rows; row += 4u) {
                UNROLL_CL for (uint r = 0u; r < 4u; r++) {
                    from[r] = hg_min(row_first + row + r, P.rows - 1u) * P.k + block;
                    UNROLL_CL for (uint c = 0u; c < COLS; c++)
                        part[r][c] = 0.0f;
                }
                for (uint k = 0u; k < count; k++) {
                    UNROLL_CL for (uint r = 0u; r < 4u; r++) {
                        F value = x[from[r] + k];
                        UNROLL_CL for (uint c = 0u; c < COLS; c++)
                            MAC(part[r][c], value, staged[k][c])
                    }
                }
                UNROLL_CL for (uint r = 0u; r < 4u; r++) {
                    UNROLL_CL for (uint c = 0u; c < COLS; c++)
                        total[row + r][c] = total[row + r][c] + part[r][c];
                }
            }
        }
    } else
#endif
    {
        F part[ARRAY(ROWS)][ARRAY(COLS)];
        F value[ARRAY(ROWS)];
        uint from_x[ARRAY(ROWS)];
        FOR(r, ROWS, from_x[r] = hg_min(row_first + r, P.rows - 1u) * P.k;)
        for (uint block = 0u; block < P.k; block += 64u) {
            uint end = hg_min(block + 64u, P.k);
            uint k = block;
            FOR(r, ROWS, FOR(c, COLS, part[r][c] = 0.0f;))
#ifdef HG_W_16
            /* Rows that start at a whole word: two elements from each. */
            if (((P.k | P.w_offset) & 1u) == 0u) {
                uint word[ARRAY(COLS)];
                for (; k < end; k += 2u) {
                    FOR(r, ROWS, value[r] = x[from_x[r] + k];)
                    FOR(c, COLS,
                        word[c] = w[(from_w[c] + k) >> 1];
                        F weight = HALF_LOW(word[c]);
                        FOR(r, ROWS, MAC(part[r][c], value[r], weight)))
                    FOR(r, ROWS, value[r] = x[from_x[r] + k + 1u];)
                    FOR(c, COLS,
                        F weight = HALF_HIGH(word[c]);
                        FOR(r, ROWS, MAC(part[r][c], value[r], weight)))
                }
            }
#endif
            for (; k < end; k++) {
                FOR(r, ROWS, value[r] = x[from_x[r] + k];)
                FOR(c, COLS,
                    F weight = WEIGHT(from_w[c] + k);
                    FOR(r, ROWS, MAC(part[r][c], value[r], weight)))
            }
            FOR(r, ROWS, FOR(c, COLS, total[r][c] = total[r][c] + part[r][c];))
        }
    }

    F added[ARRAY(COLS)];
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
