/* SPDX-License-Identifier: MIT */
/*
 * sin, cos, exp, log and pow with a carried low part: a pair (hi, lo) stands for hi + lo with about
 * 106 bits. Without contraction and without fma, so that every compiler and processor computes the
 * same roundings.
 */
#include "real.h"

#include <float.h>
#include <math.h>

#if FLT_EVAL_METHOD != 0
#error "double must be evaluated as double (x87 is not supported: compile with -msse2 -mfpmath=sse)"
#endif

typedef struct pair {
    double hi, lo;
} pair;

/* Exact sum, for any a and b. */
static pair two_sum(double a, double b)
{
    pair s;
    double bb;

    s.hi = a + b;
    bb = s.hi - a;
    s.lo = (a - (s.hi - bb)) + (b - bb);
    return s;
}

/* Exact sum when |a| >= |b|. */
static pair quick_sum(double a, double b)
{
    pair s;

    s.hi = a + b;
    s.lo = b - (s.hi - a);
    return s;
}

/* Exact product of doubles below 2^995, by halves of 26 bits. */
static pair two_product(double a, double b)
{
    const double split = 134217729.0; /* 2^27 + 1 */
    double ta = split * a, tb = split * b;
    double ah = ta - (ta - a), bh = tb - (tb - b);
    double al = a - ah, bl = b - bh;
    pair p;

    p.hi = a * b;
    p.lo = ((ah * bh - p.hi) + ah * bl + al * bh) + al * bl;
    return p;
}

static pair add(pair a, pair b)
{
    pair s = two_sum(a.hi, b.hi);

    return quick_sum(s.hi, s.lo + (a.lo + b.lo));
}

static pair multiply(pair a, pair b)
{
    pair p = two_product(a.hi, b.hi);

    return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static pair divide(pair a, pair b)
{
    double q1 = a.hi / b.hi;
    pair p = multiply(b, (pair){q1, 0.0});
    pair r = add(a, (pair){-p.hi, -p.lo});

    return quick_sum(q1, r.hi / b.hi);
}

/* pi / 2 in three doubles, so that k * pi / 2 is known to 2^-110 for every k below 2^42. */
static const double HALF_PI[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                  -0x1.f1976b7ed8fbcp-110};

/* angle - *quarter * pi/2, in -pi/4 .. pi/4 */
static pair reduce(double angle, int *quarter)
{
    double k = floor(angle * 0x1.45f306dc9c883p-1 + 0.5);
    pair p1 = two_product(k, HALF_PI[0]);
    pair p2 = two_product(k, HALF_PI[1]);
    /* angle - p1.hi is exact: the two agree in their leading bits, or k is 0. */
    pair r = two_sum(angle - p1.hi, -p1.lo);

    r = add(r, (pair){-p2.hi, -p2.lo});
    r = add(r, (pair){-k * HALF_PI[2], 0.0});
    *quarter = (int)(k - 4.0 * floor(k * 0.25));
    return r;
}

/* Taylor sums on -pi/4 .. pi/4: the first term left out is below 2^-60 of the result. */
static double sin_small(pair r)
{
    double z = r.hi * r.hi;
    double p = -1.0 / 121645100408832000.0;

    p = 1.0 / 355687428096000.0 + z * p;
    p = -1.0 / 1307674368000.0 + z * p;
    p = 1.0 / 6227020800.0 + z * p;
    p = -1.0 / 39916800.0 + z * p;
    p = 1.0 / 362880.0 + z * p;
    p = -1.0 / 5040.0 + z * p;
    p = 1.0 / 120.0 + z * p;
    p = -1.0 / 6.0 + z * p;
    return r.hi + (r.hi * z * p + r.lo * (1.0 - 0.5 * z));
}

static double cos_small(pair r)
{
    double z = r.hi * r.hi;
    double half = 0.5 * z, w = 1.0 - half;
    double p = 1.0 / 2432902008176640000.0;

    p = -1.0 / 6402373705728000.0 + z * p;
    p = 1.0 / 20922789888000.0 + z * p;
    p = -1.0 / 87178291200.0 + z * p;
    p = 1.0 / 479001600.0 + z * p;
    p = -1.0 / 3628800.0 + z * p;
    p = 1.0 / 40320.0 + z * p;
    p = -1.0 / 720.0 + z * p;
    p = 1.0 / 24.0 + z * p;
    return w + (((1.0 - w) - half) + (z * z * p - r.hi * r.lo));
}

void hg_real_sincos(double angle, double *sine, double *cosine)
{
    int quarter;
    pair r = reduce(angle, &quarter);
    double s = sin_small(r), c = cos_small(r);

    switch (quarter) {
    case 0:
        *sine = s;
        *cosine = c;
        break;
    case 1:
        *sine = c;
        *cosine = -s;
        break;
    case 2:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}

static const pair LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/* exp(x.hi + x.lo) */
static double exp_pair(pair x)
{
    double k, p = 1.0;
    pair r;
    int i;

    if (x.hi > 710.0)
        return INFINITY;
    if (x.hi < -746.0)
        return 0.0;
    k = floor(x.hi * 0x1.71547652b82fep+0 + 0.5);
    r = multiply(LN2, (pair){-k, 0.0});
    r = add(x, r);
    /* |r| <= 0.35: the 15th term is below 2^-60. */
    for (i = 15; i >= 2; i--)
        p = 1.0 + r.hi / i * p;
    /* exp(r) = 1 + (r + r.hi * (p - 1)), the small part first */
    p = 1.0 + (r.hi + (r.hi * (p - 1.0) + r.lo * (1.0 + r.hi)));
    return ldexp(p, (int)k);
}

double hg_real_exp(double x)
{
    return exp_pair((pair){x, 0.0});
}

/* ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)) with x = m 2^e, m between sqrt(1/2) and sqrt(2) */
static pair log_pair(double x)
{
    int e, i;
    double m = frexp(x, &e);
    pair s, z, sum = {0.0, 0.0};

    if (m < 0.70710678118654752) {
        m *= 2.0;
        e -= 1;
    }
    s = divide((pair){m - 1.0, 0.0}, two_sum(m, 1.0));
    z = multiply(s, s);
    /* z <= 0.0295, so 22 terms leave less than 2^-110. */
    for (i = 22; i >= 0; i--) {
        sum = multiply(sum, z);
        sum = add(sum, divide((pair){1.0, 0.0}, (pair){2.0 * i + 1.0, 0.0}));
    }
    sum = multiply(sum, (pair){2.0 * s.hi, 2.0 * s.lo});
    return add(multiply(LN2, (pair){e, 0.0}), sum);
}

double hg_real_log(double x)
{
    pair l = log_pair(x);

    return l.hi + l.lo;
}

double hg_real_pow(double base, double exponent)
{
    return exp_pair(multiply(log_pair(base), (pair){exponent, 0.0}));
}
