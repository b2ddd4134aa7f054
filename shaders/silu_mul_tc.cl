/* SPDX-License-Identifier: MIT */
/* One work-item computes COLS columns of a row. */
#include "page.h"
#include "vector.h"
#include "row.def"
{
    uint parts = (P.cols + COLS - 1u) / COLS;
    uint row = INVOCATION / parts;
    uint i = INVOCATION % parts * COLS;
    uint end = min(i + COLS, P.cols);
    __global const float *gate = a + row * P.stride;
    __global const float *up = b + row * P.stride + P.b_offset;
    __global float *to = y + row * P.cols;

    for (; i + V <= end; i += V) {
        VF g = VLOAD(0, gate + i);

        VSTORE(hg_store(g / (1.0f + exp(-g)) * VLOAD(0, up + i)), 0, to + i);
    }
    for (; i < end; i++) {
        float value = gate[i] / (1.0f + exp(-gate[i])) * up[i];

        to[i] = ST(value);
    }
}
