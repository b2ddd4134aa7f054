/* SPDX-License-Identifier: MIT */
/*
 * exp, log, 1/x, 1/sqrt(x) and the sigmoid as the kernels compute them, against double: largest
 * error in units in the last place, values that are exact, ends of the ranges.
 */
#define HG_TEXT 1
#include "page.h"

#include "function.h"

#undef F
#undef B
#undef P

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* |found - expected| in units of the last place of a float near expected. */
static double ulps(double expected, float found)
{
    int exponent;

    (void)frexp(expected, &exponent);
    return fabs(found - expected) / ldexp(1.0, exponent - 24);
}

typedef struct probe {
    const char *name;
    float (*function)(float);
    double (*truth)(double);
    double low, high; /* range; geometric: both positive and spaced by factors */
    int geometric;
    double limit; /* ulps */
} probe;

static float f_exp(float x)
{
    return hg_exp(x);
}

static float f_log(float x)
{
    return hg_log(x);
}

static float f_rcp(float x)
{
    return hg_rcp(x);
}

static float f_rsqrt(float x)
{
    return hg_rsqrt(x);
}

static float f_sigmoid(float x)
{
    return hg_sigmoid(x);
}

static double t_rcp(double x)
{
    return 1 / x;
}

static double t_rsqrt(double x)
{
    return 1 / sqrt(x);
}

static double t_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const probe probes[] = {
    {"exp -34..0", f_exp, exp, -34, 0, 0, 1.0},
    {"exp 0..80", f_exp, exp, 0, 80, 0, 1.0},
    {"exp -1e-6..-1e-20", f_exp, exp, -1e-6, -1e-20, 1, 1.0},
    {"log 1..2", f_log, log, 1, 2, 0, 1.0},
    {"log 0.5..1", f_log, log, 0.5, 1, 0, 1.0},
    {"log 2^-40..2^40", f_log, log, 0x1p-40, 0x1p40, 1, 1.0},
    {"rcp 1..2", f_rcp, t_rcp, 1, 2, 0, 1.5},
    {"rcp 2^-60..2^60", f_rcp, t_rcp, 0x1p-60, 0x1p60, 1, 1.5},
    {"rsqrt 1..4", f_rsqrt, t_rsqrt, 1, 4, 0, 1.5},
    {"rsqrt 2^-124..2^126", f_rsqrt, t_rsqrt, 0x1p-124, 0x1p126, 1, 1.5},
    {"sigmoid -34..34", f_sigmoid, t_sigmoid, -34, 34, 0, 4.0},
};

static void errors_are_small(void **state)
{
    enum { STEPS = 2000003 };

    (void)state;
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        const probe *p = &probes[i];
        double worst = 0;
        float worst_x = 0;

        for (int step = 0; step <= STEPS; step++) {
            const double t = (double)step / (double)STEPS;
            const float x = (float)(p->geometric ? p->low * pow(p->high / p->low, t)
                                                 : p->low + (p->high - p->low) * t);
            const double error = ulps(p->truth(x), p->function(x));

            if (p->truth(x) != 0 && !(error <= worst)) {
                worst = error;
                worst_x = x;
            }
        }
        printf("%-20s %.3f ulp at %.9g\n", p->name, worst, (double)worst_x);
        assert_true(worst <= p->limit);
        /* A limit that nothing comes near checks nothing. */
        assert_true(worst > p->limit / 8);
    }
}

static void exact_values(void **state)
{
    (void)state;
    assert_true(hg_exp(0.0f) == 1.0f);
    assert_true(hg_exp(-0.0f) == 1.0f);
    assert_true(hg_log(1.0f) == 0.0f);
    assert_int_equal(hg_bits(hg_log(1.0f)), 0);
    assert_true(hg_rsqrt(1.0f) == 1.0f);
    assert_true(hg_sigmoid(0.0f) == 0.5f);
    assert_true(hg_sigmoid(-0.0f) == 0.5f);
    for (int e = -60; e <= 60; e++)
        assert_true(hg_rcp(ldexpf(1.0f, e)) == ldexpf(1.0f, -e));
}

static void ends_of_ranges(void **state)
{
    (void)state;
    assert_true(hg_exp(-34.0f) >= 0x1p-50f);
    assert_int_equal(hg_bits(hg_exp(nextafterf(-34.0f, -35.0f))), 0);
    assert_int_equal(hg_bits(hg_exp(-1e30f)), 0);
    assert_int_equal(hg_bits(hg_exp(-3e38f)), 0);
    assert_true(hg_exp(3e38f) == hg_exp(80.0f));
    assert_true(isfinite(hg_exp(3e38f)));
    assert_true(hg_sigmoid(40.0f) == 1.0f);
    assert_true(hg_sigmoid(1e30f) == 1.0f);
    assert_int_equal(hg_bits(hg_sigmoid(-40.0f)), 0);
    assert_int_equal(hg_bits(hg_sigmoid(-1e30f)), 0);
    assert_true(isfinite(hg_rsqrt(0.0f)));
    /* The flush: +0 below the limit and for -0, the number itself from the limit on. */
    assert_int_equal(hg_bits(hg_flush(-0.0f, 0x26800000u)), 0);
    assert_int_equal(hg_bits(hg_flush(nextafterf(0x1p-50f, 0), 0x26800000u)), 0);
    assert_true(hg_flush(0x1p-50f, 0x26800000u) == 0x1p-50f);
    assert_true(hg_flush(-0x1p-50f, 0x26800000u) == -0x1p-50f);
    assert_true(hg_flush(0x1p-100f, 0x0d800000u) == 0x1p-100f);
    assert_int_equal(hg_bits(hg_flush(hg_float(1), 0x0d800000u)), 0);
}

/* A probability is at most 1, and never negative: softmax ends rely on it. */
static void exp_is_monotonic_near_zero(void **state)
{
    float last = hg_exp(-0.01f);

    (void)state;
    for (int step = 100000; step > 0; step--) {
        const float e = hg_exp(-1e-7f * (float)step);

        assert_true(e >= last * (1 - 0x1p-22f));
        assert_true(e <= 1.0f);
        last = e;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_small),
        cmocka_unit_test(exact_values),
        cmocka_unit_test(ends_of_ranges),
        cmocka_unit_test(exp_is_monotonic_near_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
