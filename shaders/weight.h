/* SPDX-License-Identifier: MIT */
/*
 * Elements of a w binding: a matrix in the file's own type, read as uint words. The build defines
 * one of HG_W_F32, HG_W_F16, HG_W_BF16. Integer operations only (docs/DECISIONS.md D6): no float16
 * type.
 *
 *   WEIGHT(i)      element i as a float
 *   HALF_LOW(word), HALF_HIGH(word)   elements 2j and 2j + 1 from word j (16-bit types, HG_W_16)
 */
#ifndef HG_SHADERS_WEIGHT_H
#define HG_SHADERS_WEIGHT_H

#if defined(HG_W_F32)

#define WEIGHT(i) AF(w[i])

#elif defined(HG_W_BF16)

#define HG_W_16 1
#define WEIGHT(i) AF((w[(i) >> 1] >> (((i)&1u) << 4)) << 16)
#define HALF_LOW(word) AF((word) << 16)
#define HALF_HIGH(word) AF((word)&0xffff0000u)

#elif defined(HG_W_F16)

#define HG_W_16 1
/* bits: the half in the low 16 bits, nothing above. Selects between variables: anything else
 * becomes a branch in SPIR-V, and SwiftShader takes minutes and gigabytes over a tile full of
 * branches. */
FN hg_half(uint bits)
{
    uint rest = bits & 0x7fffu;
    uint sign = (bits & 0x8000u) << 16;
    uint normal = (rest << 13) + 0x38000000u;
    uint special = (rest << 13) + 0x70000000u; /* Inf and NaN stay what they are */
    F small = F32(I32(rest)) * 5.96046448e-8f; /* 2^-24 */
    uint denormal = AU(small);
    uint result = rest < 0x400u ? denormal : normal;

    result = rest < 0x7c00u ? result : special;
    return AF(result | sign);
}

#define WEIGHT(i) hg_half((w[(i) >> 1] >> (((i)&1u) << 4)) & 0xffffu)
#define HALF_LOW(word) hg_half((word)&0xffffu)
#define HALF_HIGH(word) hg_half((word) >> 16)

#endif

#endif
