/* SPDX-License-Identifier: MIT */
/* The command line without a library behind it: options, suggestions, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "args.h"
#include "message.h"
#include "numbers.h"

static int run_nothing(struct hg_app *app)
{
    (void)app;
    return 0;
}

static const hg_option_id options_a[] = {HG_OPTION_PROMPT, HG_OPTION_OUTPUT, HG_OPTION_JSON,
                                         HG_OPTION_TOP,    HG_OPTION_SCALE,  HG_OPTION_DEVICE,
                                         HG_OPTION_END};
static const hg_option_id options_b[] = {HG_OPTION_OUTPUT_FOLDER, HG_OPTION_END};
static const hg_command a = {.name = "alpha",
                             .operands = "MODEL",
                             .summary = "a",
                             .operands_min = 1,
                             .operands_max = 2,
                             .options = options_a,
                             .run = run_nothing};
static const hg_command b = {
    .name = "beta", .operands = "", .summary = "b", .options = options_b, .run = run_nothing};
static const hg_command *const commands[] = {&a, &b};

/* words ended by NULL; the first is the program. */
static hg_result parse(hg_args *args, char **words)
{
    int count = 0;

    while (words[count])
        count++;
    return hg_args_parse(commands, 2, count, words, args);
}

#define PARSE(args, ...) parse(args, (char *[]){"headgate", __VA_ARGS__, NULL})

static void test_spellings(void **state)
{
    hg_args args;

    (void)state;
    assert_int_equal(PARSE(&args, "-qv", "alpha", "-oX", "--prompt=a=b", "m", "-v", "--", "--json"),
                     HG_OK);
    assert_ptr_equal(args.command, &a);
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[0], "m");
    assert_string_equal(args.operands[1], "--json");
    assert_string_equal(hg_args_value(&args, HG_OPTION_OUTPUT), "X");
    assert_string_equal(hg_args_value(&args, HG_OPTION_PROMPT), "a=b");
    assert_int_equal(hg_args_count(&args, HG_OPTION_VERBOSE), 2);
    assert_int_equal(hg_args_count(&args, HG_OPTION_QUIET), 1);
    assert_int_equal(hg_args_count(&args, HG_OPTION_JSON), 0);
    assert_null(hg_args_value(&args, HG_OPTION_TOP));
    hg_args_free(&args);
}

static void test_same_spelling_other_meaning(void **state)
{
    hg_args args;

    (void)state;
    assert_int_equal(PARSE(&args, "beta", "-o", "dir"), HG_OK);
    assert_string_equal(hg_args_value(&args, HG_OPTION_OUTPUT_FOLDER), "dir");
    assert_null(hg_args_value(&args, HG_OPTION_OUTPUT));
    hg_args_free(&args);
}

static void test_repeated(void **state)
{
    hg_args args;

    (void)state;
    assert_int_equal(PARSE(&args, "alpha", "--device", "x", "m", "--device", "y", "--device=z"),
                     HG_OK);
    assert_int_equal(hg_args_count(&args, HG_OPTION_DEVICE), 3);
    assert_string_equal(hg_args_value_at(&args, HG_OPTION_DEVICE, 0), "x");
    assert_string_equal(hg_args_value_at(&args, HG_OPTION_DEVICE, 2), "z");
    assert_string_equal(hg_args_value(&args, HG_OPTION_DEVICE), "z");
    assert_null(hg_args_value_at(&args, HG_OPTION_DEVICE, 3));
    hg_args_free(&args);
}

static void test_wrong(void **state)
{
    hg_args args;

    (void)state;
    hg_message_setup((hg_log_level)-1); /* the sentences are tested by the scripts */
    assert_int_equal(PARSE(&args, "gamma"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha", "1", "2", "3"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha", "m", "--only", "ids"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha", "m", "--prompt"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha", "m", "--json=1"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "--json", "alpha", "m"), HG_ERR_ARGUMENT);
    assert_int_equal(PARSE(&args, "alpha", "--help"), HG_OK); /* needs no operand */
    hg_args_free(&args);
}

static void test_values(void **state)
{
    static const char *const scales[] = {"linear", "log"};
    uint32_t value = 7;
    hg_args args;

    (void)state;
    hg_message_setup((hg_log_level)-1);
    assert_int_equal(PARSE(&args, "alpha", "m", "--top", "12", "--scale", "log"), HG_OK);
    assert_int_equal(hg_args_number(&args, HG_OPTION_TOP, 1, 12, &value), HG_OK);
    assert_int_equal(value, 12);
    assert_int_equal(hg_args_number(&args, HG_OPTION_TOP, 1, 11, &value), HG_ERR_ARGUMENT);
    assert_int_equal(hg_args_number(&args, HG_OPTION_TOP, 13, 20, &value), HG_ERR_ARGUMENT);
    assert_int_equal(hg_args_choice(&args, HG_OPTION_SCALE, scales, 2, &value), HG_OK);
    assert_int_equal(value, 1);
    assert_int_equal(hg_args_choice(&args, HG_OPTION_SCALE, scales, 1, &value), HG_ERR_ARGUMENT);
    hg_args_free(&args);
    value = 7;
    assert_int_equal(PARSE(&args, "alpha", "m"), HG_OK);
    assert_int_equal(hg_args_number(&args, HG_OPTION_TOP, 1, 12, &value), HG_OK);
    assert_int_equal(value, 7);
    hg_args_free(&args);
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"prompt", "prompt-file", "precision", "ids", "layers"};

    (void)state;
    assert_string_equal(hg_nearest("promt", names, 5), "prompt");
    assert_string_equal(hg_nearest("pormpt", names, 5), "prompt");
    assert_string_equal(hg_nearest("prec", names, 5), "precision");
    assert_string_equal(hg_nearest("layer", names, 5), "layers");
    assert_string_equal(hg_nearest("prompt-fiel", names, 5), "prompt-file");
    assert_null(hg_nearest("device", names, 5));
    assert_null(hg_nearest("x", names, 5));
    assert_null(hg_nearest("a-word-that-is-longer-than-any-option-could-be", names, 5));
}

static void expect_list(const char *text, const uint32_t *expected, uint32_t count)
{
    const char *reason;
    uint32_t *list, found;

    assert_int_equal(hg_numbers_parse(text, 1, 28, &list, &found, &reason), HG_OK);
    assert_int_equal(found, count);
    assert_memory_equal(list, expected, count * sizeof(*list));
    free(list);
}

static void test_numbers(void **state)
{
    static const char *const wrong[] = {
        "",  ",",    "1,",   ",1", "0",  "29",   "3-1",        "1-",
        "-", "1--2", "1 ,2", "+1", "1x", "1-29", "4294967297", "99999999999999999999"};
    const char *reason;
    uint32_t *list, count;

    (void)state;
    expect_list("1,7,21,28", (const uint32_t[]){1, 7, 21, 28}, 4);
    expect_list("3", (const uint32_t[]){3}, 1);
    expect_list("5,2-4,3", (const uint32_t[]){5, 2, 3, 4}, 4);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(hg_numbers_parse(wrong[i], 1, 28, &list, &count, &reason),
                         HG_ERR_ARGUMENT);
        assert_null(list);
        assert_non_null(reason);
    }
    assert_int_equal(hg_numbers_parse("4294967295", 0, UINT32_MAX, &list, &count, &reason), HG_OK);
    assert_int_equal(count, 1);
    free(list);
}

static void test_ids(void **state)
{
    static const char text[] = " 1,2, 3\n4\t,5 ,\n";
    static const char *const wrong[] = {"1;2", "-1", "1.5", "x", "2147483648", "1 2x"};
    const char *reason;
    int32_t *ids;
    uint32_t count;

    (void)state;
    assert_int_equal(hg_ids_parse(text, sizeof(text) - 1, &ids, &count, &reason), HG_OK);
    assert_int_equal(count, 5);
    for (int32_t i = 0; i < 5; i++)
        assert_int_equal(ids[i], i + 1);
    free(ids);
    assert_int_equal(hg_ids_parse("", 0, &ids, &count, &reason), HG_OK);
    assert_int_equal(count, 0);
    free(ids);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(hg_ids_parse(wrong[i], strlen(wrong[i]), &ids, &count, &reason),
                         HG_ERR_ARGUMENT);
        assert_null(ids);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings), cmocka_unit_test(test_same_spelling_other_meaning),
        cmocka_unit_test(test_repeated),  cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_ids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
