/* SPDX-License-Identifier: MIT */
/*
 * One work-item computes 32 columns of each of GROUP panels for one row of x: GROUP streams of weights side by side,
 * since one does not fill a core's share of the memory's bandwidth. Sums in blocks of BLOCK, as in matmul_tc.
 */
#include "page.h"
#include "vector.h"
#include "row.def"
{
    uint tile = INVOCATION;
    uint row = tile % P.rows;
    uint panels = (P.cols + 31u) / 32u;
    uint panel_first = tile / P.rows * GROUP;
    __global const float *from = x + row * P.k;
    __global float *to = y + row * P.y_stride + P.y_offset;
    size_t at[GROUP];
    VF total[GROUP][HALVES][2];

    UNROLL_CL for (uint g = 0u; g < GROUP; g++) {
        at[g] = (size_t)P.w_offset * LINE / 32u + (size_t)min(panel_first + g, panels - 1u) * P.k * LINE;
        UNROLL_CL for (uint t = 0u; t < HALVES; t++)
            total[g][t][0] = total[g][t][1] = 0.0f;
    }
    for (uint block = 0u; block < P.k; block += BLOCK) {
        uint end = min(block + BLOCK, P.k);
        VF part[GROUP][HALVES][2];

        UNROLL_CL for (uint g = 0u; g < GROUP; g++) {
            UNROLL_CL for (uint t = 0u; t < HALVES; t++)
                part[g][t][0] = part[g][t][1] = 0.0f;
        }
        for (uint k = block; k < end; k++) {
            float value = from[k];

            UNROLL_CL for (uint g = 0u; g < GROUP; g++) {
                UNROLL_CL for (uint t = 0u; t < HALVES; t++) {
                    EXPAND(low, high, w + at[g] + (size_t)k * LINE, t)

                    part[g][t][0] = fma((VF)(value), low, part[g][t][0]);
                    part[g][t][1] = fma((VF)(value), high, part[g][t][1]);
                }
            }
        }
        UNROLL_CL for (uint g = 0u; g < GROUP; g++) {
            UNROLL_CL for (uint t = 0u; t < HALVES; t++) {
                total[g][t][0] += part[g][t][0];
                total[g][t][1] += part[g][t][1];
            }
        }
    }
    UNROLL_CL for (uint g = 0u; g < GROUP; g++) {
        UNROLL_CL for (uint t = 0u; t < HALVES; t++) {
            uint col = (panel_first + g) * 32u;

            store_tile(to, bias, col + LOW(t), P.cols, P.flags, total[g][t][0]);
            store_tile(to, bias, col + HIGH(t), P.cols, P.flags, total[g][t][1]);
        }
    }
}
