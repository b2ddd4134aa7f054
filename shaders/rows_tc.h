/* SPDX-License-Identifier: MIT */
/*
 * The body of matmul and matvec for processors over weights in rows, as they lie in a file: a tile
 * of ROWS x COLS sums of V lanes along k, added up at the end; no alignment but the element's. One
 * work-item computes COLS columns of all rows, GROUP times: its weights are read from memory once.
 */
#include "page.h"
#include "vector.h"

#if defined(HG_W_F32)
#define TYPE float
#define STRETCH(at) VLOAD(0, at)
#define SINGLE(at) (*(at))
#elif defined(HG_W_BF16)
#define TYPE ushort
#define STRETCH(at) VAF(JOIN(convert_uint, V)(VLOAD(0, at)) << 16)
#define SINGLE(at) as_float((uint)(*(at)) << 16)
#elif defined(HG_W_F16)
#define TYPE half
#define STRETCH(at) JOIN(vload_half, V)(0, at)
#define SINGLE(at) vload_half(0, at)
#endif

#include "row.def"
{
    __global const TYPE *weights = (__global const TYPE *)w + P.w_offset;

    for (uint g = 0u; g < GROUP; g++) {
        uint col = (INVOCATION * GROUP + g) * COLS;
        __global const TYPE *line[COLS];

        if (col >= P.cols)
            return;
        UNROLL_CL for (uint c = 0u; c < COLS; c++) line[c] =
            weights + (size_t)min(col + c, P.cols - 1u) * P.k;
        for (uint row = 0u; row < P.rows; row += ROWS) {
            __global const float *from[ROWS];
            VF sum[ROWS][COLS];
            float each[ROWS][COLS];
            uint k = 0u;

            UNROLL_CL for (uint r = 0u; r < ROWS; r++)
            {
                from[r] = x + min(row + r, P.rows - 1u) * P.k;
                UNROLL_CL for (uint c = 0u; c < COLS; c++) sum[r][c] = 0.0f;
            }
            for (; k + V <= P.k; k += V) {
                VF value[ROWS];

                UNROLL_CL for (uint r = 0u; r < ROWS; r++) value[r] = VLOAD(0, from[r] + k);
                UNROLL_CL for (uint c = 0u; c < COLS; c++)
                {
                    VF weight = STRETCH(line[c] + k);

                    UNROLL_CL for (uint r = 0u; r < ROWS; r++) sum[r][c] =
                        fma(value[r], weight, sum[r][c]);
                }
            }
            UNROLL_CL for (uint r = 0u; r < ROWS; r++)
            {
                UNROLL_CL for (uint c = 0u; c < COLS; c++) each[r][c] = hg_lanes_sum(sum[r][c]);
            }
            for (; k < P.k; k++) {
                for (uint r = 0u; r < ROWS; r++) {
                    for (uint c = 0u; c < COLS; c++)
                        each[r][c] = fma(from[r][k], SINGLE(line[c] + k), each[r][c]);
                }
            }
            for (uint r = 0u; r < min((uint)ROWS, P.rows - row); r++) {
                __global float *to = y + (row + r) * P.y_stride + P.y_offset + col;

                for (uint c = 0u; c < min((uint)COLS, P.cols - col); c++) {
                    float value = each[r][c];

                    if ((P.flags & 1u) != 0u)
                        value += bias[col + c];
                    value = ST(value);
                    if ((P.flags & 2u) != 0u) {
                        value += to[c];
                        value = ST(value);
                    }
                    to[c] = value;
                }
            }
        }
    }
}
