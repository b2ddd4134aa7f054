/* SPDX-License-Identifier: MIT */
/*
 * Vectors for the kernels of processors (tier TC, OpenCL C). V is a tile number: 16 where the
 * processor has registers of 512 bits, else 8. In charge of vector types, stores, and of expanding
 * a line of a panel (panel.h) or a stretch of a row into vectors.
 */
#ifndef HG_SHADERS_VECTOR_H
#define HG_SHADERS_VECTOR_H

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VF JOIN(float, V)
#define VU JOIN(uint, V)
#define VI JOIN(int, V)
#define VLOAD JOIN(vload, V)
#define VSTORE JOIN(vstore, V)
#define VAF JOIN(as_float, V)
#define VAU JOIN(as_uint, V)
#define VAI JOIN(as_int, V)

/* The storage invariant (page.h) for V values. */
static VF hg_store(VF x)
{
    VU bits = VAU(x);
    VI below = VAI((bits & 0x7fffffffu) - 0x26800000u) >> 31;

    return VAF(bits & ~VAU(below));
}

/* Sum of the lanes, halves first. */
static float hg_lanes_sum(VF x)
{
#if V == 16
    float8 a = x.lo + x.hi;
#else
    float8 a = x;
#endif
    float4 b = a.lo + a.hi;
    float2 c = b.lo + b.hi;

    return c.x + c.y;
}

static float hg_lanes_max(VF x)
{
#if V == 16
    float8 a = fmax(x.lo, x.hi);
#else
    float8 a = x;
#endif
    float4 b = fmax(a.lo, a.hi);
    float2 c = fmax(b.lo, b.hi);

    return fmax(c.x, c.y);
}

/* The factor of an RMS norm of n values, and what they are multiplied by before (norm.h). */
static float hg_norm_factor(__global const float *x, uint n, float eps, float inv_n, float *before)
{
    VF most = 0.0f, sums = 0.0f;
    float top, sum, mean;
    uint i = 0u;

    for (; i + V <= n; i += V)
        most = fmax(most, fabs(VLOAD(0, x + i)));
    top = hg_lanes_max(most);
    for (; i < n; i++)
        top = fmax(top, fabs(x[i]));
    *before = top > 0x1p52f ? 0x1p-76f : 1.0f;
    for (i = 0u; i + V <= n; i += V) {
        VF value = VLOAD(0, x + i) * *before;

        sums = fma(value, value, sums);
    }
    sum = hg_lanes_sum(sums);
    for (; i < n; i++)
        sum = fma(x[i] * *before, x[i] * *before, sum);
    mean = sum * inv_n + (top > 0x1p52f ? 0.0f : eps);
    return mean > 0.0f ? 1.0f / sqrt(mean) : 0.0f;
}

/* V products to columns [col, col + V) of a row that has `cols`: bias, residual, invariant. */
static void store_tile(__global float *row, __global const float *bias, uint col, uint cols,
                       uint flags, VF sum)
{
    float each[V];

    if (col >= cols)
        return;
    if (col + V <= cols) {
        if ((flags & 1u) != 0u)
            sum += VLOAD(0, bias + col);
        sum = hg_store(sum);
        if ((flags & 2u) != 0u)
            sum = hg_store(sum + VLOAD(0, row + col));
        VSTORE(sum, 0, row + col);
        return;
    }
    VSTORE(sum, 0, each);
    for (uint c = 0u; col + c < cols; c++) {
        float value = each[c];

        if ((flags & 1u) != 0u)
            value += bias[col + c];
        value = ST(value);
        if ((flags & 2u) != 0u)
            value = ST(value + row[col + c]);
        row[col + c] = value;
    }
}

/* Where a matrix in panels begins: w_offset counts elements. */
#define PANELS(w_offset) (w + (size_t)(w_offset)*LINE / 32u)

/* Lines of a panel: 32 rows side by side, for one k. HALVES tiles of 2 V rows each; tile t of a
 * line is two vectors, whose columns begin at LOW(t) and HIGH(t). line: words (f32: floats) of the
 * line. */
#define HALVES (16 / V)
#if defined(HG_W_F32P)
#define LINE 32
#define LOW(t) ((t)*2 * V)
#define HIGH(t) ((t)*2 * V + V)
#define EXPAND(low, high, at, t)                                                                   \
    VF low = VAF(VLOAD(0, (at) + LOW(t)));                                                         \
    VF high = VAF(VLOAD(0, (at) + HIGH(t)));
#elif defined(HG_W_BF16P)
#define LINE 16
#define LOW(t) ((t)*V)
#define HIGH(t) ((t)*V + 16)
#define EXPAND(low, high, at, t)                                                                   \
    VU JOIN(low, _) = VLOAD(0, (at) + (t)*V);                                                      \
    VF low = VAF(JOIN(low, _) << 16);                                                              \
    VF high = VAF(JOIN(low, _) & 0xffff0000u);
#elif defined(HG_W_F16P)
#define LINE 16
#define LOW(t) ((t)*2 * V)
#define HIGH(t) ((t)*2 * V + V)
#define EXPAND(low, high, at, t)                                                                   \
    VF low = JOIN(vload_half, V)(0, (__global const half *)(at) + LOW(t));                         \
    VF high = JOIN(vload_half, V)(0, (__global const half *)(at) + HIGH(t));
#endif

#endif
