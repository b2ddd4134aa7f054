/* SPDX-License-Identifier: MIT */
/*
 * Tier T1: a subgroup does what in T0 one invocation does. GLSL alone; to be included after page.h.
 * Nothing is assumed of the size of a subgroup, nor that all of its lanes are there: a work-group
 * owns a fixed number of rows, its subgroups share them out, and the lanes that are there share a
 * row. Sums are in no fixed order, so T1 promises no bytes; what is stored obeys page.h's
 * invariant. Operations are F's all the same: kernels that compute the same (norm_rope and
 * rope_heads, a product alone and joined) agree in bits on a device, which compare looks at.
 *
 *   GROUP              flat number of this work-group
 *   FIND_LANES         declares lane and lanes: which one of how many this invocation is
 *   EACH_SHARE(i, n)   a loop over the numbers below n that are this subgroup's
 *   EACH_LANE(i, n)    a loop over the numbers below n that are this lane's
 */
#ifndef HG_SHADERS_SUBGROUP_H
#define HG_SHADERS_SUBGROUP_H

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#define GROUP                                                                                      \
    (gl_WorkGroupID.x +                                                                            \
     gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z))
#define FIND_LANES                                                                                 \
    uint lane = subgroupExclusiveAdd(1u);                                                          \
    uint lanes = subgroupAdd(1u);
#define EACH_SHARE(i, n) for (uint i = gl_SubgroupID; i < (n); i += gl_NumSubgroups)
#define EACH_LANE(i, n) for (uint i = lane; i < (n); i += lanes)

/* NORM_FACTOR of norm.h, by all lanes. */
#define NORM_FACTOR_SUBGROUP(before, factor, base, n, eps_, inv_)                                  \
    F before = 1.0f;                                                                               \
    F factor;                                                                                      \
    {                                                                                              \
        uint top_ = 0u;                                                                            \
        EACH_LANE(i_, n)                                                                           \
        top_ = hg_max(top_, AU(x[(base) + i_]) & 0x7fffffffu);                                     \
        top_ = subgroupMax(top_);                                                                  \
        F add_ = eps_;                                                                             \
        if (top_ > 0x59800000u) {                                                                  \
            before = AF(0x19800000u);                                                              \
            add_ = 0.0f;                                                                           \
        }                                                                                          \
        F sum_ = 0.0f;                                                                             \
        EACH_LANE(i_, n)                                                                           \
        {                                                                                          \
            F v_ = x[(base) + i_];                                                                 \
            v_ = v_ * before;                                                                      \
            v_ = ST(v_);                                                                           \
            MAC(sum_, v_, v_)                                                                      \
        }                                                                                          \
        F mean_ = subgroupAdd(sum_);                                                               \
        mean_ = mean_ * (inv_);                                                                    \
        mean_ = mean_ + add_;                                                                      \
        factor = hg_rsqrt(mean_);                                                                  \
    }

/* A head is normed where flags say so, and turned: the body of norm_rope. */
#define TURN_HEAD(token, from, to)                                                                 \
    {                                                                                              \
        uint pairs_ = P.head_dim / 2u;                                                             \
        F scale_before = 1.0f;                                                                     \
        F scale_after = 1.0f;                                                                      \
        bool is_normed = (P.flags & 1u) != 0u;                                                     \
        if (is_normed) {                                                                           \
            NORM_FACTOR_SUBGROUP(before, factor, from, P.head_dim, P.eps, P.inv_dim)               \
            scale_before = before;                                                                 \
            scale_after = factor;                                                                  \
        }                                                                                          \
        EACH_LANE(i, pairs_)                                                                       \
        {                                                                                          \
            F a = x[from + i];                                                                     \
            F b = x[from + pairs_ + i];                                                            \
            if (is_normed) {                                                                       \
                a = a * scale_before;                                                              \
                a = ST(a);                                                                         \
                a = a * scale_after;                                                               \
                a = ST(a);                                                                         \
                a = a * w[i];                                                                      \
                a = ST(a);                                                                         \
                b = b * scale_before;                                                              \
                b = ST(b);                                                                         \
                b = b * scale_after;                                                               \
                b = ST(b);                                                                         \
                b = b * w[pairs_ + i];                                                             \
                b = ST(b);                                                                         \
            }                                                                                      \
            F c = table[(token * pairs_ + i) * 2u];                                                \
            F s = table[(token * pairs_ + i) * 2u + 1u];                                           \
            F first = a * c;                                                                       \
            F minus = b * s;                                                                       \
            first = first - minus;                                                                 \
            F second = b * c;                                                                      \
            MAC(second, a, s)                                                                      \
            y[to + i] = ST(first);                                                                 \
            y[to + pairs_ + i] = ST(second);                                                       \
        }                                                                                          \
    }

#endif
