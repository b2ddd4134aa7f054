/* SPDX-License-Identifier: MIT */
/* Reference of probe: each operation in double, rounded to float once. That is the nearest float: a
 * sum or product of two floats loses nothing in double that would show. */
#include "reference.h"

#include <math.h>
#include <string.h>

enum { OPERANDS = 8, RESULTS = 29 };

uint32_t hg_ref_items_probe(const void *params)
{
    const struct hg_probe_params *p = params;

    return p->count;
}

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint32_t bits_of(double value)
{
    const float x = (float)value;
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double plus(double a, double b)
{
    return (float)(a + b);
}

static double times(double a, double b)
{
    return (float)(a * b);
}

static void arithmetic(const uint32_t *x, uint32_t rounds, uint32_t *y)
{
    const double a = of_bits(x[0]);
    const double b = of_bits(x[1]);
    const double c = of_bits(x[2]);
    double nested = c;
    double dot = 0;

    y[0] = bits_of(plus(a, b));
    y[1] = bits_of(plus(a, -b));
    y[2] = bits_of(times(a, b));
    y[3] = bits_of(plus(times(a, b), c));
    y[4] = y[3];
    for (uint32_t i = 0; i < rounds; i++) {
        nested = plus(times(nested, b), a);
        dot = plus(dot, times(of_bits(x[i]), of_bits(x[3 - i])));
    }
    y[5] = bits_of(nested);
    y[6] = bits_of(dot);
    y[7] = bits_of(times(times(a, 0.1f), 10.0f));
    y[8] = bits_of(plus(plus(a, 16777216.0f), -16777216.0f));
    y[9] = bits_of(plus(plus(a, 12345.6777f), -12345.0f));
    y[10] = bits_of(plus(plus(a, -b), b));
    y[11] = bits_of(plus(times(a, b), times(a, a)));
    y[12] = bits_of(plus(plus(times(a, b), a), 1.0f));
    y[13] = bits_of(plus(plus(a, b), -a));
}

/* Floor division: what an arithmetic shift is. */
static int64_t shifted(int64_t n, int64_t by)
{
    return n >= 0 ? n / by : -((by - 1 - n) / by);
}

static void integers(const uint32_t *x, uint32_t *y)
{
    const int64_t n = x[7] < 0x80000000u ? (int64_t)x[7] : (int64_t)x[7] - (INT64_C(1) << 32);
    const int64_t middle = shifted(n, 256);

    y[18] = (uint32_t)shifted(n, 8);
    y[19] = n < 0 ? UINT32_MAX : 0;
    y[20] = x[7] / 8;
    y[21] = bits_of((double)middle);
    y[22] = (uint32_t)middle;
    y[23] = (uint32_t)(int64_t)trunc((double)of_bits(x[3]));
}

static void functions(const uint32_t *x, uint32_t *y, double *magnitude)
{
    const double e = of_bits(x[4]);
    const double p = of_bits(x[5]);
    const double z = of_bits(x[6]);
    const double values[] = {exp(e), log(p), 1 / p, 1 / sqrt(p), 1 / (1 + exp(-z))};

    for (uint32_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        y[24 + i] = bits_of(values[i]);
        if (magnitude)
            magnitude[24 + i] = fabs(values[i]);
    }
}

void hg_ref_probe(const hg_ref_call *call)
{
    const struct hg_probe_params *p = call->params;

    for (uint64_t r = call->begin; r < call->end; r++) {
        const uint32_t *x = (const uint32_t *)call->bind[0] + r * OPERANDS;
        uint32_t *y = (uint32_t *)call->bind[2] + r * RESULTS;
        uint32_t raw[2];
        uint32_t size;

        memcpy(raw, (const float *)call->bind[1] + r * 2, sizeof(raw));
        size = raw[0] & 0x7fffffffu;
        arithmetic(x, p->rounds, y);
        y[14] = size < 0x26800000u ? 0 : raw[0];
        y[15] = size < 0x0d800000u ? 0 : raw[0];
        y[16] = raw[0];
        y[17] = raw[x[7] & 1u];
        integers(x, y);
        functions(x, y, call->magnitude ? call->magnitude + r * RESULTS : NULL);
        memcpy((float *)call->bind[3] + r * 2, &y[16], 2 * sizeof(*y));
    }
}
