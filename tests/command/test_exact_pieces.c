/* SPDX-License-Identifier: MIT */
/*
 * The exact hash (logits and maps) does not depend on how a prompt comes in: at once, in pieces of
 * any size, token by token; nor on how often it is computed. test_exact_pieces --device SEL
 */
#include "exact_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static hg_engine *engine;

static void expect(const exact_sample *sample, uint32_t piece, uint32_t step, const char *all)
{
    char found[HG_SHA256_TEXT] = "";

    assert_int_equal(exact_sample_hash(engine, sample, piece, step, found), HG_OK);
    if (strcmp(found, all) != 0)
        fail_msg("%s, %u tokens, pieces of %u, %u tokens an eval: expected %s, found %s",
                 sample->name, sample->count, piece, step, all, found);
}

static void samples_are_as_shipped_in_pieces(void **state)
{
    (void)state;
    for (int i = 0; i < EXACT_SAMPLES; i++) {
        exact_sample sample;

        assert_true(exact_sample_read(exact_sample_names[i], &sample));
        for (int again = 0; again < 3; again++)
            expect(&sample, 0, 0, sample.all);
        expect(&sample, 1, 0, sample.all);
        expect(&sample, 8, 0, sample.all);
        expect(&sample, 0, 1, sample.all);
        expect(&sample, 3, 5, sample.all);
    }
}

/* More tokens than a block of keys has, so that pieces end inside, at and behind its end. */
static void longer_prompts_are_the_same_in_pieces(void **state)
{
    static const uint32_t ways[][2] = {{7, 0}, {63, 0}, {64, 0}, {65, 0}, {0, 1}, {5, 66}};
    exact_sample sample = {.name = exact_sample_names[2], .count = 150};
    char all[HG_SHA256_TEXT] = "";

    (void)state;
    for (uint32_t i = 0; i < sample.count; i++)
        sample.ids[i] = (int32_t)(i * 37 % 2048);
    assert_int_equal(exact_sample_hash(engine, &sample, 0, 0, all), HG_OK);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        expect(&sample, ways[i][0], ways[i][1], all);
    /* Another prompt has another hash. */
    sample.ids[149] = 1;
    (void)exact_sample_hash(engine, &sample, 0, 0, sample.all);
    assert_string_not_equal(sample.all, all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_as_shipped_in_pieces),
        cmocka_unit_test(longer_prompts_are_the_same_in_pieces),
    };
    hg_engine_params params = {.struct_size = sizeof(params), .precision = HG_PRECISION_EXACT};
    hg_result res;
    int failed;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--device") == 0)
            params.selector = argv[i + 1];
    res = hg_engine_create(&params, &engine);
    if (res == HG_ERR_NO_DEVICE) {
        printf("no device %s here\n", params.selector ? params.selector : "at all");
        return 77;
    }
    if (res != HG_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_engine_destroy(&engine);
    return failed;
}
