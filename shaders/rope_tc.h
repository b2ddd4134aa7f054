/* SPDX-License-Identifier: MIT */
/* One head of one token, for norm_rope and rope_heads alike: the same bits by either. */
#ifndef HG_SHADERS_ROPE_TC_H
#define HG_SHADERS_ROPE_TC_H

static void hg_turn_head(__global const float *from, __global const float *w, bool is_normed,
                         __global const float *turn, uint head_dim, float eps, float inv_dim,
                         __global float *to)
{
    uint pairs = head_dim / 2u, i = 0u;
    float before = 1.0f, factor = 1.0f;

    if (is_normed)
        factor = hg_norm_factor(from, head_dim, eps, inv_dim, &before);
    for (; i + V <= pairs; i += V) {
        VF c0 = VLOAD(0, turn + 2u * i), c1 = VLOAD(0, turn + 2u * i + V);
        VF c = (VF)(c0.even, c1.even), s = (VF)(c0.odd, c1.odd);
        VF first_half = VLOAD(0, from + i) * before * factor,
           second_half = VLOAD(0, from + pairs + i) * before * factor;

        if (is_normed) {
            first_half *= VLOAD(0, w + i);
            second_half *= VLOAD(0, w + pairs + i);
        }
        VSTORE(hg_store(first_half * c - second_half * s), 0, to + i);
        VSTORE(hg_store(second_half * c + first_half * s), 0, to + pairs + i);
    }
    for (; i < pairs; i++) {
        float first_half = from[i] * before * factor,
              second_half = from[pairs + i] * before * factor;
        float c = turn[2u * i], s = turn[2u * i + 1u];
        float value;

        if (is_normed) {
            first_half *= w[i];
            second_half *= w[pairs + i];
        }
        value = first_half * c - second_half * s;
        to[i] = ST(value);
        value = second_half * c + first_half * s;
        to[pairs + i] = ST(value);
    }
}

#endif
