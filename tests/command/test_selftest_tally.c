/* SPDX-License-Identifier: MIT */
/* What rows of a self test say of a device: good for exact, for fp32 alone, or for nothing. */
#include "selftest_tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hg_selftest_tally tally;

static int set_up(void **state)
{
    (void)state;
    memset(&tally, 0, sizeof(tally));
    return 0;
}

static void add(const char *kernel, const char *tier, const char *shape, int within, int probe,
                const char *detail)
{
    const hg_selftest_row row = {.kernel = kernel,
                                 .tier = tier,
                                 .dtype = "none",
                                 .shape = shape,
                                 .verdict = *detail ? HG_SELFTEST_FAILED : HG_SELFTEST_PASSED,
                                 .replays = 2,
                                 .detail = detail,
                                 .within_bound = (uint32_t)within,
                                 .exact_only = (uint32_t)probe};

    assert_int_equal(hg_selftest_tally_add(&tally, &row), 1);
}

static void words_are(const char *expected, int is_exact)
{
    const hg_selftest_sum sum = hg_selftest_tally_sum(&tally);
    char text[160];

    assert_string_equal(hg_selftest_words(&sum, is_exact, text), expected);
}

static void right_devices_are_right(void **state)
{
    (void)state;
    add("add", "T0", "a", 0, 0, "");
    add("add", "T0", "b", 0, 0, "");
    words_are("all 1 kernels pass", 1);
    words_are("all 1 kernels are right for fp32", 0);
    assert_int_equal(tally.lines[0].shapes, 2);
    assert_int_equal(tally.lines[0].passed, 2);
    assert_string_equal(tally.lines[0].dtype, "-");
}

static void other_bits_rule_out_exact(void **state)
{
    (void)state;
    add("add", "T0", "a", 0, 0, "");
    add("silu_mul", "T0", "s", 1, 0, HG_SELFTEST_WITHIN ": y[0]: expected 1");
    add("probe", "T0", "p", 0, 1, HG_SELFTEST_BITS ": operation \"a + b\"");
    words_are("not usable with --exact; right for fp32 (2 of 3 kernels give other bits)", 1);
    assert_string_equal(hg_selftest_state_name(&tally.lines[1]), HG_SELFTEST_WITHIN);
    assert_string_equal(tally.lines[1].first, "s: y[0]: expected 1");
    assert_string_equal(hg_selftest_state_name(&tally.lines[2]), HG_SELFTEST_BITS);
    assert_string_equal(tally.lines[2].first, "p: operation \"a + b\"");
}

/* The worst is told, whichever comes first. */
static void wrong_beats_other_bits(void **state)
{
    (void)state;
    add("rms_norm", "T0", "a", 1, 0, HG_SELFTEST_WITHIN ": y[0]: expected 1");
    add("rms_norm", "T0", "b", 0, 0, "y[0]: expected 0, found nan");
    add("rms_norm", "T0", "c", 1, 0, HG_SELFTEST_WITHIN ": y[2]: expected 1");
    words_are("1 kernel wrong (rms_norm), not usable", 1);
    assert_string_equal(hg_selftest_state_name(&tally.lines[0]), "WRONG");
    assert_string_equal(tally.lines[0].first, "b: y[0]: expected 0, found nan");
}

/* A run takes the next tier. */
static void another_tier_takes_its_place(void **state)
{
    (void)state;
    add("matmul", "T0", "a", 0, 0, "");
    add("matmul", "T0C", "a", 0, 0, "y[0]: expected 0, found 7");
    words_are("usable: 1 of 2 kernels fail, others take their place", 1);
    add("attention", "T0C", "a", 0, 0, "y[0]: expected 0, found 7");
    words_are("2 kernels wrong (first matmul), not usable", 1);
}

static void unused_variants_count_for_nothing(void **state)
{
    const hg_selftest_row row = {.kernel = "matmul",
                                 .tier = "T0C",
                                 .dtype = "bf16",
                                 .shape = "",
                                 .verdict = HG_SELFTEST_SKIPPED,
                                 .detail = "it has no SPIR-V"};

    (void)state;
    add("matmul", "T0", "a", 0, 0, "");
    assert_int_equal(hg_selftest_tally_add(&tally, &row), 1);
    words_are("all 1 kernels pass", 1);
    assert_string_equal(hg_selftest_state_name(&tally.lines[1]), "not used");
    assert_string_equal(tally.lines[1].first, "it has no SPIR-V");
}

static void too_many_variants_are_refused(void **state)
{
    char kernel[32];
    hg_selftest_row row = {
        .kernel = kernel, .tier = "T0", .dtype = "f32", .shape = "a", .detail = ""};

    (void)state;
    for (int i = 0; i < HG_SELFTEST_LINES_MAX; i++) {
        snprintf(kernel, sizeof(kernel), "kernel %d", i);
        assert_int_equal(hg_selftest_tally_add(&tally, &row), 1);
    }
    assert_int_equal(hg_selftest_tally_add(&tally, &row), 1); /* a known one */
    snprintf(kernel, sizeof(kernel), "another");
    assert_int_equal(hg_selftest_tally_add(&tally, &row), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(right_devices_are_right, set_up),
        cmocka_unit_test_setup(other_bits_rule_out_exact, set_up),
        cmocka_unit_test_setup(wrong_beats_other_bits, set_up),
        cmocka_unit_test_setup(another_tier_takes_its_place, set_up),
        cmocka_unit_test_setup(unused_variants_count_for_nothing, set_up),
        cmocka_unit_test_setup(too_many_variants_are_refused, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
