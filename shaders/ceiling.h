/* SPDX-License-Identifier: MIT */
/*
 * Columns in packs, for the kernels that measure a device: the widest load that each language has.
 * To be included before row.def: bindings become arrays of packs. PACK: words in one; COLUMN_PACKS:
 * packs that an invocation owns. C has none, so that its text takes any WORDS.
 */
#ifndef HG_SHADERS_CEILING_H
#define HG_SHADERS_CEILING_H

#if defined(HG_TEXT)
#define PACK 1u
#define COLUMN_PACKS WORDS
#define PACK_F float
#define PACK_U uint
#define PACK_BITS(x) AU(x)
#define PACK_NUMBER(bits) AF(bits)
#define PACK_ZERO 0u
#define PACK_ALL(x) (x)
#define PACK_I(bits) I32(bits)
#define PACK_SIGN(mask) U32(mask)
/* C fuses nothing. */
#define PACK_FUSED(sum, a, b) PACK_APART(sum, a, b)
#define IF_OWNED(pack) if (pack < ROW_PACKS)

#elif defined(__OPENCL_VERSION__)
#undef TYPE_f32
#if WORDS % 16 == 0
#define PACK 16u
#define TYPE_f32 float16
#define PACK_F float16
#define PACK_U uint16
#define PACK_ALL(x) ((float16)(x))
#define PACK_I(bits) as_int16(bits)
#define PACK_SIGN(mask) as_uint16(mask)
#define PACK_BITS(x) as_uint16(x)
#define PACK_NUMBER(bits) as_float16(bits)
#else
#define PACK 4u
#define TYPE_f32 float4
#define PACK_F float4
#define PACK_U uint4
#define PACK_ALL(x) ((float4)(x))
#define PACK_I(bits) as_int4(bits)
#define PACK_SIGN(mask) as_uint4(mask)
#define PACK_BITS(x) as_uint4(x)
#define PACK_NUMBER(bits) as_float4(bits)
#endif
#define COLUMN_PACKS (WORDS / PACK)
#define PACK_ZERO 0u
#ifdef FP_FAST_FMAF
#define PACK_FUSED(sum, a, b) sum = fma(sum, a, b)
#else
#define PACK_FUSED(sum, a, b) sum = mad(sum, a, b)
#endif
#if 128 % WORDS
#define IF_OWNED(pack) if (pack < ROW_PACKS)
#else
#define IF_OWNED(pack)
#endif

#else
#undef TYPE_f32
#define TYPE_f32 vec4
#define PACK 4u
#define PACK_F precise vec4
#define PACK_U uvec4
#define PACK_BITS(x) floatBitsToUint(x)
#define PACK_NUMBER(bits) uintBitsToFloat(bits)
#define PACK_ZERO uvec4(0u)
#define PACK_ALL(x) vec4(x)
#define PACK_I(bits) ivec4(bits)
#define PACK_SIGN(mask) uvec4(mask)
#define PACK_FUSED(sum, a, b) sum = fma(sum, a, b)
#define IF_OWNED(pack)
#if WORDS == 4
#define COLUMN_PACKS 1
#else
#define COLUMN_PACKS 2
#endif
#endif

/* sum = sum * a + b. */
#define PACK_APART(sum, a, b)                                                                      \
    {                                                                                              \
        PACK_F product_ = sum * a;                                                                 \
        sum = product_ + b;                                                                        \
    }

/* ST of page.h. */
#define PACK_ST(x)                                                                                 \
    PACK_NUMBER(PACK_BITS(x) & ~PACK_SIGN(PACK_I((PACK_BITS(x) & 0x7fffffffu) - 0x26800000u) >> 31))

/* Over the packs of an invocation. Written out for processors: an array that is indexed by a loop
 * is memory to PoCL, and the chains wait for it. */
#if defined(__OPENCL_VERSION__) && WORDS == 128
#define PACK_AT(at, body)                                                                          \
    {                                                                                              \
        const uint c = at;                                                                         \
        body                                                                                       \
    }
#define PACKS_LOW(body) PACK_AT(0u, body) PACK_AT(1u, body) PACK_AT(2u, body) PACK_AT(3u, body)
#define PACKS_HIGH(body) PACK_AT(4u, body) PACK_AT(5u, body) PACK_AT(6u, body) PACK_AT(7u, body)
#define EACH(body) PACKS_LOW(body) PACKS_HIGH(body)
#else
#define EACH(body) FOR(c, COLUMN_PACKS, body)
#endif

/* Packs of a row; which of them an invocation owns: COLUMN_PACKS from SLICE on. */
#define ROW_PACKS (128u / PACK)
#define SLICES ((128u + WORDS - 1u) / WORDS)

#endif
