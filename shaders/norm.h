/* SPDX-License-Identifier: MIT */
/*
 * The factor of an RMS norm, shared by rms_norm and norm_rope. Reads the binding x. A row that has
 * a value above 2^52 is scaled by 2^-76 first, so that no square overflows: the norm of any finite
 * row is right. eps no longer matters then.
 */
#ifndef HG_SHADERS_NORM_H
#define HG_SHADERS_NORM_H

#include "function.h"

/* Declares F before, factor: the norm of x[base + i] is (x * before) * factor, flushed after each.
 * n, eps_ and inv_: length of the row, epsilon, 1 / n. */
#define NORM_FACTOR(before, factor, base, n, eps_, inv_)                                           \
    F before = 1.0f;                                                                               \
    F factor;                                                                                      \
    {                                                                                              \
        uint top_ = 0u;                                                                            \
        for (uint i_ = 0u; i_ < (n); i_++)                                                         \
            top_ = hg_max(top_, AU(x[(base) + i_]) & 0x7fffffffu);                                 \
        F add_ = eps_;                                                                             \
        if (top_ > 0x59800000u) {                                                                  \
            before = AF(0x19800000u);                                                              \
            add_ = 0.0f;                                                                           \
        }                                                                                          \
        F sum_ = 0.0f;                                                                             \
        for (uint b_ = 0u; b_ < (n); b_ += 64u) {                                                  \
            F s_ = 0.0f;                                                                           \
            uint e_ = hg_min(b_ + 64u, n);                                                         \
            for (uint i_ = b_; i_ < e_; i_++) {                                                    \
                F v_ = x[(base) + i_];                                                             \
                v_ = v_ * before;                                                                  \
                v_ = ST(v_);                                                                       \
                MAC(s_, v_, v_)                                                                    \
            }                                                                                      \
            sum_ = sum_ + s_;                                                                      \
        }                                                                                          \
        F mean_ = sum_ * inv_;                                                                     \
        mean_ = mean_ + add_;                                                                      \
        factor = hg_rsqrt(mean_);                                                                  \
    }

#endif
