/* SPDX-License-Identifier: MIT */
/*
 * The one order of a dot product (docs/DECISIONS.md D1): blocks of 64, one ascending chain inside a
 * block, block sums added ascending, from +0.
 */
#ifndef HG_SHADERS_DOT_H
#define HG_SHADERS_DOT_H

/* total (an F) = sum of a[ai + i] * b[bi + i] over i < n. */
#define DOT(total, a, ai, b, bi, n)                                                                \
    total = 0.0f;                                                                                  \
    for (uint b_ = 0u; b_ < (n); b_ += 64u) {                                                      \
        F s_ = 0.0f;                                                                               \
        uint e_ = hg_min(b_ + 64u, n);                                                             \
        for (uint i_ = b_; i_ < e_; i_++)                                                          \
            MAC(s_, a[(ai) + i_], b[(bi) + i_])                                                    \
        total = total + s_;                                                                        \
    }

#endif
