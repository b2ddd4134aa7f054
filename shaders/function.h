/* SPDX-License-Identifier: MIT */
/*
 * exp, log, 1/x, 1/sqrt(x) and the sigmoid from + - * and integer bits, so that they have the same
 * bytes everywhere. Polynomials: minimax fits of our own over the reduced range, coefficients
 * rounded to float. Largest errors (tests/kernels): README.md.
 */
#ifndef HG_SHADERS_FUNCTION_H
#define HG_SHADERS_FUNCTION_H

/* e^x. Exactly 0 below -34, so that what is stored stays above 2^-50; no more than e^80. exp(0)
 * is 1. */
FN hg_exp(float x)
{
    F c = x < -34.0f ? -34.0f : x;
    c = c > 80.0f ? 80.0f : c;
    /* x = n ln 2 + r; a truncated conversion of a positive number is the only rounding that is the
     * same. */
    F t = c * 1.44269502f;
    t = t + 128.5f;
    int n = TRUNCATE(t) - 128;
    F whole = F32(n);
    F part = whole * 0.693115234f; /* 12 bits: exact */
    F r = c - part;
    part = whole * 0.0000319461833f;
    r = r - part;
    r = ST(r); /* below 2^-50 e^r is 1; so no product gets near the denormals */
    F p = r * 0.00138636667f;
    p = p + 0.00836760923f;
    p = p * r;
    p = p + 0.0416672416f;
    p = p * r;
    p = p + 0.166665331f;
    p = p * r;
    p = p + 0.5f;
    F square = r * r;
    p = p * square;
    p = p + r;
    p = p + 1.0f;
    F scaled = AF(AU(p) + (U32(n) << 23));
    return x < -34.0f ? 0.0f : scaled;
}

/* Natural logarithm of a normal x > 0. log(1) is 0. */
FN hg_log(float x)
{
    uint bits = AU(x);
    /* x = 2^n m with m in [sqrt(1/2), sqrt(2)) */
    int n = I32(bits - 0x3f3504f3u) >> 23;
    F m = AF(bits - (U32(n) << 23));
    F f = m - 1.0f;
    F p = f * -0.0763565227f;
    p = p + 0.127633244f;
    p = p * f;
    p = p + -0.131605819f;
    p = p * f;
    p = p + 0.142015532f;
    p = p * f;
    p = p + -0.166232988f;
    p = p * f;
    p = p + 0.200012341f;
    p = p * f;
    p = p + -0.250008225f;
    p = p * f;
    p = p + 0.333333313f;
    F square = f * f;
    F cube = square * f;
    p = p * cube;
    square = square * 0.5f;
    p = p - square;
    F whole = F32(n);
    F low = whole * 0.0000319461833f;
    p = p + low;
    p = p + f;
    F high = whole * 0.693115234f;
    p = p + high;
    return p;
}

/* 1 / x for 2^-60 <= x <= 2^60: a guess from the bits, then Newton. rcp(1) is 1. */
FN hg_rcp(float x)
{
    F y = AF(0x7ef311c0u - AU(x));
    for (int i = 0; i < 3; i++) {
        F e = x * y;
        e = 1.0f - e;
        e = e * y;
        y = y + e;
    }
    return y;
}

/* 1 / sqrt(x) for 2^-124 <= x <= 2^126; finite for x = 0. */
FN hg_rsqrt(float x)
{
    F y = AF(0x5f375a86u - (AU(x) >> 1));
    F h = x * 0.5f;
    for (int i = 0; i < 3; i++) {
        F e = h * y;
        e = e * y;
        e = 0.5f - e;
        e = e * y;
        y = y + e;
    }
    return y;
}

/* 1 / (1 + e^-z): exactly 1 from 34 up, exactly 0 below -34. */
FN hg_sigmoid(float z)
{
    F t = hg_exp(AF(AU(z) | 0x80000000u));
    F sum = 1.0f + t;
    F above = hg_rcp(sum);
    F below = t * above;
    return z < 0.0f ? below : above;
}

#endif
