/* SPDX-License-Identifier: MIT */
/*
 * Loads of 16 and 32 bytes at once, as 64-bit integers, for Vulkan drivers that run on a processor
 * (tier T0V): there a load is a loop over the lanes with a check of its bounds per component, which
 * costs the same for 4 bytes and for 8. GLSL alone. To be included before row.def.
 *
 *   WIDE_VIEW(name, type)   a second view of a binding that is only read, wide_NAME
 *   WIDE_8(to, name, i)     elements i .. i + 7 of a binding of floats with a view u64vec4 into
 *                           to[0 .. 7]; i is a multiple of 8
 *   WIDE_X(to, i), WIDE_W(to, i)   of a product, with WIDE_STEP (8, or 16 for types of 16 bits)
 *                           defined before: elements i .. i + WIDE_STEP - 1 of x and w into
 *                           to[0 ..]; i is a multiple of WIDE_STEP
 */
#ifndef HG_SHADERS_WIDE_H
#define HG_SHADERS_WIDE_H

#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

#define WIDE_VIEW(name, type)                                                                      \
    layout(std430, set = 0, binding = BIND_##name) readonly restrict buffer wide_##name##_block    \
    {                                                                                              \
        type wide_##name[];                                                                        \
    };

#define WIDE_FLOATS_2(to, at, bits)                                                                \
    pair_ = unpack32(bits);                                                                        \
    to[at] = AF(pair_.x);                                                                          \
    to[at + 1] = AF(pair_.y);
#define WIDE_FLOATS_8(to, at, bits)                                                                \
    {                                                                                              \
        u64vec4 bits_ = bits;                                                                      \
        uvec2 pair_;                                                                               \
        WIDE_FLOATS_2(to, at, bits_.x)                                                             \
        WIDE_FLOATS_2(to, at + 2, bits_.y)                                                         \
        WIDE_FLOATS_2(to, at + 4, bits_.z)                                                         \
        WIDE_FLOATS_2(to, at + 6, bits_.w)                                                         \
    }
#ifdef HG_W_F16
/* The driver's own conversion, which is an instruction where hg_half is ten. Denormals must survive
 * it, which the check of a kernel before its first use sees. */
#define WIDE_HALVES_2(to, at, word)                                                                \
    {                                                                                              \
        vec2 halves_ = unpackHalf2x16(word);                                                       \
        to[at] = halves_.x;                                                                        \
        to[at + 1] = halves_.y;                                                                    \
    }
#else
#define WIDE_HALVES_2(to, at, word)                                                                \
    to[at] = HALF_LOW(word);                                                                       \
    to[at + 1] = HALF_HIGH(word);
#endif
#define WIDE_HALVES_4(to, at, bits)                                                                \
    pair_ = unpack32(bits);                                                                        \
    WIDE_HALVES_2(to, at, pair_.x)                                                                 \
    WIDE_HALVES_2(to, at + 2, pair_.y)

#define WIDE_8(to, name, i) WIDE_FLOATS_8(to, 0, wide_##name[(i) >> 3])

#ifdef WIDE_STEP
WIDE_VIEW(x, u64vec4)
#if WIDE_STEP == 8
#define WIDE_X(to, i) WIDE_FLOATS_8(to, 0, wide_x[(i) >> 3])
#else
#define WIDE_X(to, i)                                                                              \
    WIDE_FLOATS_8(to, 0, wide_x[(i) >> 3])                                                         \
    WIDE_FLOATS_8(to, 8, wide_x[((i) >> 3) + 1u])
#endif

#if defined(HG_W_F32)
#define WIDE_W_TYPE u64vec4
#define WIDE_W(to, i) WIDE_FLOATS_8(to, 0, wide_w[(i) >> 3])
#elif WIDE_STEP == 8
#define WIDE_W_TYPE u64vec2
#define WIDE_W(to, i)                                                                              \
    {                                                                                              \
        u64vec2 bits_ = wide_w[(i) >> 3];                                                          \
        uvec2 pair_;                                                                               \
        WIDE_HALVES_4(to, 0, bits_.x)                                                              \
        WIDE_HALVES_4(to, 4, bits_.y)                                                              \
    }
#else
#define WIDE_W_TYPE u64vec4
#define WIDE_W(to, i)                                                                              \
    {                                                                                              \
        u64vec4 bits_ = wide_w[(i) >> 4];                                                          \
        uvec2 pair_;                                                                               \
        WIDE_HALVES_4(to, 0, bits_.x)                                                              \
        WIDE_HALVES_4(to, 4, bits_.y)                                                              \
        WIDE_HALVES_4(to, 8, bits_.z)                                                              \
        WIDE_HALVES_4(to, 12, bits_.w)                                                             \
    }
#endif

WIDE_VIEW(w, WIDE_W_TYPE)
#endif

#endif
