/* SPDX-License-Identifier: MIT */
/* One invocation reads one row. Maxima are compared as bits: the order of |x| is that of its bits. */
#include "page.h"
#include "row.def"
{
    uint row = INVOCATION;
    if (row >= P.rows)
        return;
    uint base = row * P.stride;
    uint top = 0u;
    uint where = 0u;
    uint count = 0u;
    F limit = P.below;
    F sum = 0.0f;
    for (uint block = 0u; block < P.cols; block += 64u) {
        uint end = hg_min(block + 64u, P.cols);
        F part = 0.0f;
        for (uint i = block; i < end; i++) {
            F value = x[base + i];
            uint bits = AU(value) & 0x7fffffffu;
            where = bits > top ? i : where;
            top = hg_max(top, bits);
            count += value < limit ? 1u : 0u;
            part = part + value;
        }
        sum = sum + part;
    }
    y[row * 4u] = AF(top);
    y[row * 4u + 1u] = ST(sum);
    y[row * 4u + 2u] = F32(I32(where));
    y[row * 4u + 3u] = F32(I32(count));
}
