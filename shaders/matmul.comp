/* SPDX-License-Identifier: MIT */
/*
 * One invocation computes a tile of ROWS x COLS outputs in registers. Rows and columns past the end are
 * computed from the last ones and not stored. The order of a sum does not depend on the tile (D1).
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
    F part[ARRAY(ROWS)][ARRAY(COLS)];
    F value[ARRAY(ROWS)];
    uint from_x[ARRAY(ROWS)];
    uint from_w[ARRAY(COLS)];
    for (uint r = 0u; r < ROWS; r++) {
        from_x[r] = hg_min(row_first + r, P.rows - 1u) * P.k;
        for (uint c = 0u; c < COLS; c++)
            total[r][c] = 0.0f;
    }
    for (uint c = 0u; c < COLS; c++)
        from_w[c] = P.w_offset + hg_min(col_first + c, P.cols - 1u) * P.k;

    for (uint block = 0u; block < P.k; block += 64u) {
        uint end = hg_min(block + 64u, P.k);
        for (uint r = 0u; r < ROWS; r++) {
            for (uint c = 0u; c < COLS; c++)
                part[r][c] = 0.0f;
        }
        for (uint k = block; k < end; k++) {
            for (uint r = 0u; r < ROWS; r++)
                value[r] = x[from_x[r] + k];
            for (uint c = 0u; c < COLS; c++) {
                F weight = WEIGHT(from_w[c] + k);
                for (uint r = 0u; r < ROWS; r++)
                    MAC(part[r][c], value[r], weight)
            }
        }
        for (uint r = 0u; r < ROWS; r++) {
            for (uint c = 0u; c < COLS; c++)
                total[r][c] = total[r][c] + part[r][c];
        }
    }

    for (uint r = 0u; r < ROWS; r++) {
        for (uint c = 0u; c < COLS; c++) {
            uint row = row_first + r;
            uint col = col_first + c;
            if (row < P.rows && col < P.cols) {
                F sum = total[r][c];
                if ((P.flags & 1u) != 0u)
                    sum = sum + bias[col];
                y[row * P.y_stride + P.y_offset + col] = ST(sum);
            }
        }
    }
}
