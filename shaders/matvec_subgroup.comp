/* SPDX-License-Identifier: MIT */
/*
 * A subgroup computes two outputs of one row at a time: lanes side by side read eight elements of w each. A K or an
 * offset that is no multiple of 8 goes one by one.
 */
#include "page.h"
#include "weight.h"
#include "subgroup.h"
/* A constant of the pipeline, so that it can be measured: no array hangs on it. Even. */
#undef COLS
layout(constant_id = 0) const uint COLS = 4u;
layout(std430, set = 0, binding = BIND_x) readonly restrict buffer four_x_block
{
    vec4 four_x[];
};
layout(std430, set = 0, binding = BIND_w) readonly restrict buffer four_w_block
{
    uvec4 four_w[];
};
/* One fused chain, so that both outputs of a pair are made alike. */
#define FOUR(sum, a, b, c, d, from)                                                                \
    sum = fma(a, from.x, sum);                                                                     \
    sum = fma(b, from.y, sum);                                                                     \
    sum = fma(c, from.z, sum);                                                                     \
    sum = fma(d, from.w, sum);
#ifdef HG_W_16
#define EIGHT(sum, i, low, high)                                                                   \
    {                                                                                              \
        uvec4 bits_ = four_w[(i) >> 3];                                                            \
        FOUR(sum, HALF_LOW(bits_.x), HALF_HIGH(bits_.x), HALF_LOW(bits_.y), HALF_HIGH(bits_.y), low) \
        FOUR(sum, HALF_LOW(bits_.z), HALF_HIGH(bits_.z), HALF_LOW(bits_.w), HALF_HIGH(bits_.w), high) \
    }
#else
#define EIGHT(sum, i, low, high)                                                                   \
    {                                                                                              \
        vec4 bits_ = uintBitsToFloat(four_w[(i) >> 2]);                                            \
        FOUR(sum, bits_.x, bits_.y, bits_.z, bits_.w, low)                                         \
        bits_ = uintBitsToFloat(four_w[((i) >> 2) + 1u]);                                          \
        FOUR(sum, bits_.x, bits_.y, bits_.z, bits_.w, high)                                        \
    }
#endif
#include "row.def"
{
    FIND_LANES
    uint col_tiles = (P.cols + COLS - 1u) / COLS;
    uint row = GROUP / col_tiles;
    uint col_first = GROUP % col_tiles * COLS;
    bool is_wide = ((P.k | P.w_offset) & 7u) == 0u;
    uint from_x = row * P.k;
    if (row >= P.rows)
        return;
    EACH_SHARE(pair, COLS / 2u)
    {
        uint col = col_first + pair * 2u;
        if (col >= P.cols)
            break;
        bool is_pair = col + 1u < P.cols;
        uint from_a = P.w_offset + col * P.k;
        uint from_b = is_pair ? from_a + P.k : from_a;
        F a = 0.0f;
        F b = 0.0f;
        if (is_wide) {
            EACH_LANE(eight, P.k >> 3)
            {
                uint k = eight << 3;
                vec4 low = four_x[(from_x + k) >> 2];
                vec4 high = four_x[((from_x + k) >> 2) + 1u];
                EIGHT(a, from_a + k, low, high)
                EIGHT(b, from_b + k, low, high)
            }
        } else {
            EACH_LANE(k, P.k)
            {
                float value = x[from_x + k];
                a = fma(value, WEIGHT(from_a + k), a);
                b = fma(value, WEIGHT(from_b + k), b);
            }
        }
        a = subgroupAdd(a);
        b = subgroupAdd(b);
        if (lane == 0u) {
            for (uint c = 0u; c < (is_pair ? 2u : 1u); c++) {
                uint to = row * P.y_stride + P.y_offset + col + c;
                F sum = c == 0u ? a : b;
                if ((P.flags & 1u) != 0u)
                    sum = sum + bias[col + c];
                sum = ST(sum);
                if ((P.flags & 2u) != 0u) {
                    sum = sum + y[to];
                    sum = ST(sum);
                }
                y[to] = sum;
            }
        }
    }
}
