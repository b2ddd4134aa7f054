/* SPDX-License-Identifier: MIT */
/*
 * What the exact order asks of a device, operation by operation. Breaks rules of README.md on
 * purpose: several operations in an expression, stores that are not flushed. One invocation, one
 * row of operands; the results are listed in kernels.def.
 */
#include "page.h"
#include "function.h"
#include "row.def"
#define SHOW(place, expression)                                                                    \
    {                                                                                              \
        F shown_ = expression;                                                                     \
        y[to + place] = AU(shown_);                                                                \
    }
{
    uint row = INVOCATION;
    if (row >= P.count)
        return;
    uint from = row * 8u;
    uint to = row * 29u;
    F a = AF(x[from]);
    F b = AF(x[from + 1u]);
    F c = AF(x[from + 2u]);
    F d = AF(x[from + 3u]);
    F e = AF(x[from + 4u]);
    F p = AF(x[from + 5u]);
    F s = AF(x[from + 6u]);
    int n = I32(x[from + 7u]);
    F raw = f[row * 2u];
    F other = f[row * 2u + 1u];
    SHOW(0u, a + b)
    SHOW(1u, a - b)
    SHOW(2u, a * b)
    SHOW(3u, a * b + c)
    F sum = c;
    MAC(sum, a, b)
    y[to + 4u] = AU(sum);
    F nested = c;
    for (uint i = 0u; i < P.rounds; i++)
        nested = nested * b + a;
    y[to + 5u] = AU(nested);
    F dot = 0.0f;
    for (uint i = 0u; i < P.rounds; i++)
        dot = dot + AF(x[from + i]) * AF(x[from + 3u - i]);
    y[to + 6u] = AU(dot);
    SHOW(7u, (a * 0.1f) * 10.0f)
    SHOW(8u, (a + 16777216.0f) + -16777216.0f)
    SHOW(9u, (a + 12345.6777f) - 12345.0f)
    SHOW(10u, (a - b) + b)
    SHOW(11u, a * b + a * a)
    SHOW(12u, a * b + a + 1.0f)
    SHOW(13u, (a + b) - a)
    SHOW(14u, ST(raw))
    SHOW(15u, FLP(raw))
    y[to + 16u] = AU(raw);
    F chosen = (n & 1) != 0 ? other : raw;
    y[to + 17u] = AU(chosen);
    y[to + 18u] = U32(n >> 3);
    y[to + 19u] = U32(n >> 31);
    y[to + 20u] = x[from + 7u] >> 3;
    int middle = n >> 8;
    F whole = F32(middle);
    y[to + 21u] = AU(whole);
    y[to + 22u] = U32(I32(whole));
    y[to + 23u] = U32(I32(d));
    SHOW(24u, hg_exp(e))
    SHOW(25u, hg_log(p))
    SHOW(26u, hg_rcp(p))
    SHOW(27u, hg_rsqrt(p))
    SHOW(28u, hg_sigmoid(s))
    g[row * 2u] = raw;
    g[row * 2u + 1u] = chosen;
}
