/* SPDX-License-Identifier: MIT */
/*
 * The macro page: what lets one text be GLSL, OpenCL C 1.2 and C (HG_TEXT). Only words of this page
 * and the common subset appear in a kernel; README.md has the rules. In charge of types, precision,
 * the storage invariant and the kernel's head; the bindings and params themselves come from
 * kernels.def, of which the build writes the rows of one kernel into row.def.
 */
#ifndef HG_SHADERS_PAGE_H
#define HG_SHADERS_PAGE_H

#if defined(HG_TEXT) /* ------------------------------------------------------------------ C11 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernel.h"

#define uint uint32_t
#define F float
#define FN static inline float
#define UN static inline uint32_t
#define U32(x) ((uint32_t)(x))
#define I32(x) ((int32_t)(x))
#define F32(x) ((float)(x))
#define AF(bits) hg_float(bits)
#define AU(x) hg_bits(x)
#define TRUNCATE(x) hg_truncate(x)

static inline float hg_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline uint32_t hg_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* What is no number, or too large for an int, has no meaning on any device; in C it is undefined,
 * and a run that is checked for that would end. */
static inline int32_t hg_truncate(float x)
{
    return x > -2147483648.0f && x < 2147483648.0f ? (int32_t)x : 0;
}

#define ACCESS_R const
#define ACCESS_W
#define ACCESS_RW
#define TYPE_f32 float
#define TYPE_u32 uint32_t
#define TYPE_w uint32_t
#define B(access, type, name) ACCESS_##access TYPE_##type *RESTRICT name,
#define PARAMS(kernel, fields)
#define SPECS(specs)
/* HG_BODY and HG_BODY_SPEC come from the generated file (text.cmake). */
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    static inline void HG_BODY(binds const struct hg_##kernel##_params *hg_p,                      \
                               HG_BODY_SPEC uint32_t hg_invocation)
#define P (*hg_p)
#define INVOCATION hg_invocation
#define HG_PRIVATE_STAGE 1

#elif defined(__OPENCL_VERSION__) /* --------------------------------------------- OpenCL C 1.2 */

#pragma OPENCL FP_CONTRACT OFF

#define F float
#define FN static float
#define UN static uint
#define U32(x) ((uint)(x))
#define I32(x) ((int)(x))
#define TRUNCATE(x) I32(x)
#define F32(x) ((float)(x))
#define AF(bits) as_float(bits)
#define AU(x) as_uint(x)

#define ACCESS_R const
#define ACCESS_W
#define ACCESS_RW
#define TYPE_f32 float
#define TYPE_u32 uint
#define TYPE_w uint
#define B(access, type, name) __global ACCESS_##access TYPE_##type *RESTRICT name,
#define FIELD_U(name) uint name;
#define FIELD_N(name) uint name;
#define FIELD_F(name) float name;
#define PARAMS(kernel, fields)                                                                     \
    struct hg_##kernel##_params {                                                                  \
        fields                                                                                     \
    };
#define SPECS(specs)
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void hg_##kernel(                \
        binds const struct hg_##kernel##_params P)
#define INVOCATION                                                                                 \
    ((U32(get_group_id(0)) +                                                                       \
      U32(get_num_groups(0)) *                                                                     \
          (U32(get_group_id(1)) + U32(get_num_groups(1)) * U32(get_group_id(2)))) *                \
         THREADS +                                                                                 \
     U32(get_local_id(0)))
#define ARRAY(size) size
#define UNROLL_CL _Pragma("unroll")
#define HG_PRIVATE_STAGE 1

#else /* ----------------------------------------------------------------------- GLSL for Vulkan   \
       */

/* precise is what becomes NoContraction: no fused, merged or reordered operation. */
#define F precise float
#define FN precise float
#define UN uint
#define U32(x) uint(x)
#define I32(x) int(x)
#define TRUNCATE(x) I32(x)
#define F32(x) float(x)
#define AF(bits) uintBitsToFloat(bits)
#define AU(x) floatBitsToUint(x)

#define ACCESS_R readonly
#define ACCESS_W writeonly
#define ACCESS_RW
#define TYPE_f32 float
#define TYPE_u32 uint
#define TYPE_w uint
/* BIND_x is the place in the table; the build passes it. */
#define B(access, type, name)                                                                      \
    layout(std430, set = 0, binding = BIND_##name) ACCESS_##access RESTRICT buffer name##_block    \
    {                                                                                              \
        TYPE_##type name[];                                                                        \
    };
#define FIELD_U(name) uint name;
#define FIELD_N(name) uint name;
#define FIELD_F(name) float name;
#define PARAMS(kernel, fields) layout(push_constant) uniform hg_push{fields} P;
/* Tile numbers are macros here, set by the build. */
#define SPECS(specs)
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    binds layout(local_size_x = THREADS) in;                                                       \
    void main()
#define INVOCATION                                                                                 \
    ((gl_WorkGroupID.x +                                                                           \
      gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z)) *           \
         THREADS +                                                                                 \
     gl_LocalInvocationID.x)
#define ARRAY(size) size
/* A loop over a tile number, written out: an array indexed by a loop is memory to a driver that
 * does not unroll (SwiftShader: 3 to 8 times slower), and spirv-opt's own unrolling drops
 * NoContraction. */
#define FOR(i, n, body) FOR_COUNT(i, n, body)
#define FOR_COUNT(i, n, body) FOR_##n(i, body)
#define ROUND(i, at, body)                                                                         \
    {                                                                                              \
        const uint i = at;                                                                         \
        body                                                                                       \
    }
#define FOR_1(i, body) ROUND(i, 0u, body)
#define FOR_2(i, body) FOR_1(i, body) ROUND(i, 1u, body)
#define FOR_4(i, body) FOR_2(i, body) ROUND(i, 2u, body) ROUND(i, 3u, body)
#define FOR_6(i, body) FOR_4(i, body) ROUND(i, 4u, body) ROUND(i, 5u, body)
#define FOR_8(i, body) FOR_6(i, body) ROUND(i, 6u, body) ROUND(i, 7u, body)
#define FOR_16(i, body)                                                                            \
    FOR_8(i, body)                                                                                 \
    ROUND(i, 8u, body)                                                                             \
    ROUND(i, 9u, body)                                                                             \
    ROUND(i, 10u, body)                                                                            \
    ROUND(i, 11u, body)                                                                            \
    ROUND(i, 12u, body) ROUND(i, 13u, body) ROUND(i, 14u, body) ROUND(i, 15u, body)

#endif /* ---------------------------------------------------------------------- all three */

/* A kernel whose y may be its x says HG_ALIAS before this page. */
#ifdef HG_ALIAS
#define RESTRICT
#else
#define RESTRICT restrict
#endif

/* Names and statements as arguments. NOLINTBEGIN(bugprone-macro-parentheses) */
#ifndef FOR
#define FOR(i, n, body)                                                                            \
    for (uint i = 0u; i < (n); i++) {                                                              \
        body                                                                                       \
    }
#endif
/* Before a loop over a tile number: OpenCL compilers make vectors of matmul's columns then (a third
 * faster on PoCL). It spoils matvec and attention there. */
#ifndef UNROLL_CL
#define UNROLL_CL
#endif

/* acc = acc + a * b, product and sum rounded apart; acc is a variable. */
#define MAC(acc, a, b)                                                                             \
    {                                                                                              \
        F m_ = (a) * (b);                                                                          \
        acc = acc + m_;                                                                            \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

UN hg_min(uint a, uint b)
{
    return a < b ? a : b;
}

UN hg_max(uint a, uint b)
{
    return a > b ? a : b;
}

/* +0 where |x| is below the number with these bits; also makes -0 a +0. */
FN hg_flush(float x, uint limit)
{
    uint bits = AU(x);
    int below = I32((bits & 0x7fffffffu) - limit) >> 31;

    return AF(bits & ~U32(below));
}

/* Every store: memory holds +0 or |x| >= 2^-50. */
#define ST(x) hg_flush(x, 0x26800000u)
/* A product that may be small, before it is added to anything: 2^-100. */
#define FLP(x) hg_flush(x, 0x0d800000u)

#endif
