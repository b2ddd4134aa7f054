/* SPDX-License-Identifier: MIT */
/* The host's own elementary functions against libm in long double, where that has more digits than
 * double. */
#include "real.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#if LDBL_MANT_DIG < 64
/* long double is double here: the comparison can see no more than its own error. */
#define BOUND 2e-15L
#else
#define BOUND 1e-15L
#endif

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* 0 .. 1 */
static double uniform(uint64_t *state)
{
    return (double)next(state) * 0x1p-53;
}

static void check(double value, long double expected, double x)
{
    if (!(fabsl((long double)value - expected) <= BOUND * fabsl(expected)))
        fail_msg("at %a: %a, expected %a", x, value, (double)expected);
}

static void sine_and_cosine(void **state)
{
    uint64_t seed = 1;
    double sine, cosine;
    int exponent, i;

    (void)state;
    for (exponent = -60; exponent < 42; exponent++) {
        for (i = 0; i < 2000; i++) {
            double x = ldexp(1.0 + uniform(&seed), exponent) * (i % 2 ? -1.0 : 1.0);

            hg_real_sincos(x, &sine, &cosine);
            check(sine, sinl((long double)x), x);
            check(cosine, cosl((long double)x), x);
        }
    }
    hg_real_sincos(0.0, &sine, &cosine);
    assert_true(sine == 0.0 && cosine == 1.0);
}

/* Doubles next to multiples of pi / 2, where a careless reduction has no digit right. */
static void sine_next_to_its_zeros(void **state)
{
    uint64_t seed = 2;
    double sine, cosine;
    int i;

    (void)state;
    for (i = 0; i < 100000; i++) {
        double k = floor(ldexp(uniform(&seed), 1 + i % 41));
        double x = (double)((long double)k * 1.57079632679489661923132169163975144L);

        hg_real_sincos(x, &sine, &cosine);
        check(sine, sinl((long double)x), x);
        check(cosine, cosl((long double)x), x);
    }
    /* Of all doubles below 2^42, one of those nearest to a multiple of pi / 2. */
    hg_real_sincos(0x1.921fb54442d18p+0, &sine, &cosine);
    check(cosine, cosl(0x1.921fb54442d18p+0L), 0x1.921fb54442d18p+0);
}

static void exponential(void **state)
{
    uint64_t seed = 3;
    int i;

    (void)state;
    for (i = 0; i < 200000; i++) {
        double x = (uniform(&seed) - 0.5) * (i % 2 ? 1400.0 : 2.0);

        check(hg_real_exp(x), expl((long double)x), x);
    }
    assert_true(hg_real_exp(0.0) == 1.0);
    assert_true(isinf(hg_real_exp(800.0)));
    assert_true(hg_real_exp(-800.0) == 0.0);
}

static void logarithm(void **state)
{
    uint64_t seed = 4;
    int i;

    (void)state;
    for (i = 0; i < 200000; i++) {
        double x = ldexp(0.5 + uniform(&seed), (int)(next(&seed) % 2000) - 1000);
        double near = 1.0 + (uniform(&seed) - 0.5) * 1e-3;

        check(hg_real_log(x), logl((long double)x), x);
        check(hg_real_log(near), logl((long double)near), near);
    }
    assert_true(hg_real_log(1.0) == 0.0);
}

static void power(void **state)
{
    static const double bases[] = {1e-9, 0.5, 1.0, 1e4, 1e6, 5e6, 1e12};
    uint64_t seed = 5;
    int i;

    (void)state;
    for (i = 0; i < 100000; i++) {
        double base = bases[i % 7], exponent = uniform(&seed) * (i % 3 ? 1.0 : 2.0);

        check(hg_real_pow(base, exponent), powl((long double)base, (long double)exponent),
              exponent);
    }
    assert_true(hg_real_pow(1e6, 0.0) == 1.0);
    assert_true(hg_real_pow(10.0, 1.0) == 10.0);
}

/* The bytes themselves: the same on every machine (D11). */
static void bytes_are_the_same_everywhere(void **state)
{
    double sine, cosine;

    (void)state;
    hg_real_sincos(1e9, &sine, &cosine);
    assert_true(sine == 0x1.1778cae83c69bp-1 && cosine == 0x1.acff8c7364233p-1);
    assert_true(hg_real_exp(-1.25) == 0x1.25618372a584fp-2);
    assert_true(hg_real_log(151936.0) == 0x1.7dcc82aefe0dp+3);
    assert_true(hg_real_pow(1e6, 0.984375) == 0x1.897a4602245ep+19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_and_cosine), cmocka_unit_test(sine_next_to_its_zeros),
        cmocka_unit_test(exponential),     cmocka_unit_test(logarithm),
        cmocka_unit_test(power),           cmocka_unit_test(bytes_are_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
