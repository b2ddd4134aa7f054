/* SPDX-License-Identifier: MIT */
/*
 * One work-item computes a tile of ROWS rows x 32 columns for each of GROUP panels: a line of the panel and ROWS
 * values of x for each k, all sums in registers, no barrier, no local memory. K in blocks of BLOCK, so that a sum
 * is no longer chain than that. Tiles of rows run fastest: they share the panels' cache lines.
 * The last tile of rows begins early, so that it is full; what another tile stores it does not.
 */
#include "page.h"
#include "vector.h"
#include "row.def"
{
    uint row_tiles = (P.rows + ROWS - 1u) / ROWS;
    uint tile = INVOCATION;
    uint first = tile % row_tiles * ROWS;
    uint panels = (P.cols + 31u) / 32u;
    uint panel_first = tile / row_tiles * GROUP;
    uint start = P.rows > ROWS ? min(first, P.rows - ROWS) : 0u;
    __global const float *from[ROWS];

    UNROLL_CL for (uint r = 0u; r < ROWS; r++)
        from[r] = x + min(start + r, P.rows - 1u) * P.k;
    for (uint panel = panel_first; panel < min(panel_first + GROUP, panels); panel++) {
        for (uint t = 0u; t < HALVES; t++) {
            VF total[ROWS][2];

            UNROLL_CL for (uint r = 0u; r < ROWS; r++)
                total[r][0] = total[r][1] = 0.0f;
            for (uint block = 0u; block < P.k; block += BLOCK) {
                uint end = min(block + BLOCK, P.k);
                VF part[ROWS][2];

                UNROLL_CL for (uint r = 0u; r < ROWS; r++)
                    part[r][0] = part[r][1] = 0.0f;
                for (uint k = block; k < end; k++) {
                    EXPAND(low, high, PANELS(P.w_offset) + ((size_t)panel * P.k + k) * LINE, t)
                    UNROLL_CL for (uint r = 0u; r < ROWS; r++) {
                        float value = from[r][k];

                        part[r][0] = fma((VF)(value), low, part[r][0]);
                        part[r][1] = fma((VF)(value), high, part[r][1]);
                    }
                }
                UNROLL_CL for (uint r = 0u; r < ROWS; r++) {
                    total[r][0] += part[r][0];
                    total[r][1] += part[r][1];
                }
            }
            UNROLL_CL for (uint r = 0u; r < ROWS; r++) {
                if (start + r >= first && start + r < P.rows) {
                    store_tile(y + (start + r) * P.y_stride + P.y_offset, bias, panel * 32u + LOW(t), P.cols, P.flags, total[r][0]);
                    store_tile(y + (start + r) * P.y_stride + P.y_offset, bias, panel * 32u + HIGH(t), P.cols, P.flags, total[r][1]);
                }
            }
        }
    }
}
