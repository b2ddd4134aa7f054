/* SPDX-License-Identifier: MIT */
/*
 * The factor of an RMS norm, shared by rms_norm and norm_rope. Reads the binding x. A row that has
 * a value above 2^52 is scaled by 2^-76 first, so that no square overflows: the norm of any finite
 * row is right. eps no longer matters then.
 */
#ifndef HG_SHADERS_NORM_H
#define HG_SHADERS_NORM_H

#include "function.h"

/* sum = sum of (x[base + i] * before)^2, i < n; top = the bits of the largest |x|. */
#define NORM_SUM(sum, top, before, base, n)                                                        \
    sum = 0.0f;                                                                                    \
    top = 0u;                                                                                      \
    for (uint b_ = 0u; b_ < (n); b_ += 64u) {                                                      \
        F s_ = 0.0f;                                                                               \
        uint e_ = hg_min(b_ + 64u, n);                                                             \
        for (uint i_ = b_; i_ < e_; i_++) {                                                        \
            F v_ = x[(base) + i_];                                                                 \
            top = hg_max(top, AU(v_) & 0x7fffffffu);                                               \
            v_ = v_ * before;                                                                      \
            v_ = ST(v_);                                                                           \
            MAC(s_, v_, v_)                                                                        \
        }                                                                                          \
        sum = sum + s_;                                                                            \
    }

/* Declares F before, factor: the norm of x[base + i] is (x * before) * factor, flushed after each.
 */
#define NORM_FACTOR(before, factor, base, n, eps_, inv_)                                           \
    F before = 1.0f;                                                                               \
    F factor;                                                                                      \
    {                                                                                              \
        F sum_;                                                                                    \
        uint top_;                                                                                 \
        F add_ = eps_;                                                                             \
        NORM_SUM(sum_, top_, before, base, n)                                                      \
        if (top_ > 0x59800000u) {                                                                  \
            before = AF(0x19800000u);                                                              \
            add_ = 0.0f;                                                                           \
            NORM_SUM(sum_, top_, before, base, n)                                                  \
        }                                                                                          \
        F mean_ = sum_ * inv_;                                                                     \
        mean_ = mean_ + add_;                                                                      \
        factor = hg_rsqrt(mean_);                                                                  \
    }

#endif
