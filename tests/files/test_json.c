/* SPDX-License-Identifier: MIT */
/* The scan before the parser: what is JSON, what is not, and what the parser could not have held;
 * then the getters. */
#include "json.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

typedef struct sample {
    const char *text;
    size_t bytes;
} sample;

/* In a copy of exactly this size, so that a sanitizer sees a byte too far. */
static hg_result parse(const sample *s, const hg_json_limits *limits, test_log *log, cJSON **out)
{
    char *copy = malloc(s->bytes ? s->bytes : 1);
    hg_result res;

    assert_non_null(copy);
    memcpy(copy, s->text, s->bytes);
    test_log_init(log);
    res = hg_json_parse(&log->log, "text", copy, s->bytes, limits, out);
    free(copy);
    return res;
}

static void sound_texts_are_taken(void **state)
{
    static const sample samples[] = {
        TEXT("0"),
        TEXT("-0"),
        TEXT("1.5e-3"),
        TEXT("1E+2"),
        TEXT("true"),
        TEXT("false"),
        TEXT("null"),
        TEXT("\"\""),
        TEXT(" [ ] "),
        TEXT("{}"),
        TEXT("\r\n\t{\"a\" : [1, 2, {\"b\": null}]}\n"),
        TEXT("[[[[[[]]]]]]"),
        TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""),
        TEXT("\"\\ud83d\\ude00\""),
        TEXT("\"\xc3\xa9\xf0\x9f\x98\x80\""),
        TEXT("{\"a\":1,\"A\":2}"),
        TEXT("\"\x7f\""),
        TEXT("123456789012345678901234567890123456789012345678901234567890123"),
        TEXT("\"\xef\xbf\xbf\""),
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        test_log log;
        cJSON *root;

        if (parse(&samples[i], NULL, &log, &root) != HG_OK || log.lines)
            fail_msg("\"%s\" was refused: %s", samples[i].text, log.error);
        assert_non_null(root);
        cJSON_Delete(root);
    }
}

static void broken_texts_are_refused(void **state)
{
    static const sample samples[] = {
        TEXT(""),
        TEXT(" "),
        TEXT("{"),
        TEXT("["),
        TEXT("]"),
        TEXT("}"),
        TEXT("[}"),
        TEXT("{]"),
        TEXT("[1,]"),
        TEXT("[,1]"),
        TEXT("{,}"),
        TEXT("{\"a\"}"),
        TEXT("{\"a\":}"),
        TEXT("{\"a\":1,}"),
        TEXT("{a:1}"),
        TEXT("{1:1}"),
        TEXT("[1 2]"),
        TEXT("1 2"),
        TEXT("{} {}"),
        TEXT("{}x"),
        TEXT("01"),
        TEXT("-"),
        TEXT("+1"),
        TEXT(".5"),
        TEXT("1."),
        TEXT("1.e5"),
        TEXT("1e"),
        TEXT("1e+"),
        TEXT("0x10"),
        TEXT("NaN"),
        TEXT("Infinity"),
        TEXT("-Infinity"),
        TEXT("tru"),
        TEXT("trues"),
        TEXT("nul"),
        TEXT("True"),
        TEXT("'a'"),
        TEXT("\""),
        TEXT("\"a"),
        TEXT("\"\\"),
        TEXT("\"\\x\""),
        TEXT("\"\\u12\""),
        TEXT("\"\\u12g4\""),
        TEXT("\"\\u\""),
        TEXT("\"\\u0000\""),
        TEXT("\"\\ud83d\""),
        TEXT("\"\\ude00\""),
        TEXT("\"\\ud83d\\u0041\""),
        TEXT("\"\\ud83d\\n\""),
        TEXT("\"\\ud83d"),
        TEXT("\"a\nb\""),
        TEXT("\"a\tb\""),
        TEXT("\"\0\""),
        TEXT("[1]\0"),
        TEXT("\"\x80\""),
        TEXT("\"\xc3\""),
        TEXT("\"\xc0\xaf\""),
        TEXT("\"\xed\xa0\x80\""),
        TEXT("\"\xf8\x88\x80\x80\x80\""),
        TEXT("\"\xf4\x90\x80\x80\""),
        TEXT("\"\xe2\x82"),
        TEXT("\xef\xbb\xbf{}"),
        TEXT("\xff\xfe{\0}\0"),
        TEXT("\xfe\xff\0{\0}"),
        TEXT("{\0}\0"),
        TEXT("// a\n1"),
        TEXT("[1]\v"),
        TEXT("1e999"),
        TEXT("-1e999"),
        TEXT("[[0,{\"a\":1e400}]]"),
        TEXT("{\"a\":1,\"a\":1}"),
        TEXT("[{\"x\":[{\"a\":1,\"b\":2,\"a\":3}]}]"),
        TEXT("1234567890123456789012345678901234567890123456789012345678901234"),
        TEXT("{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,"
             "\"k\":0,\"l\":0,\"m\":0,\"c\":1}"),
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        test_log log;
        cJSON *root;

        if (parse(&samples[i], NULL, &log, &root) != HG_ERR_FILE || log.errors != 1)
            fail_msg("sample %zu, \"%s\", was not refused in one sentence", i, samples[i].text);
        assert_null(root);
        assert_int_equal(strncmp(log.error, "text: ", 6), 0);
    }
}

static void the_place_of_a_mistake_is_named(void **state)
{
    const sample s = TEXT("{\n  \"a\": 1,\n  \"b\": x\n}");
    test_log log;
    cJSON *root;

    (void)state;
    assert_int_equal(parse(&s, NULL, &log, &root), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "line 3, column 8"));
}

static void limits_hold(void **state)
{
    const sample nested = TEXT("[[[[1]]]]"), list = TEXT("[1,2,3]"),
                 twice = TEXT("{\"a\":1,\"a\":2}");
    hg_json_limits limits = {0};
    test_log log;
    cJSON *root;
    char *deep = malloc(200000);
    sample much;

    (void)state;
    assert_non_null(deep);
    memset(deep, '[', 200000);
    much = (sample){deep, 200000};
    limits.depth_max = 1000000;
    assert_int_equal(parse(&much, &limits, &log, &root), HG_ERR_FILE);
    free(deep);
    limits = (hg_json_limits){.depth_max = 3};
    assert_int_equal(parse(&nested, &limits, &log, &root), HG_ERR_FILE);
    limits.depth_max = 4;
    assert_int_equal(parse(&nested, &limits, &log, &root), HG_OK);
    cJSON_Delete(root);
    limits = (hg_json_limits){.values_max = 3};
    assert_int_equal(parse(&list, &limits, &log, &root), HG_ERR_FILE);
    limits.values_max = 4;
    assert_int_equal(parse(&list, &limits, &log, &root), HG_OK);
    cJSON_Delete(root);
    limits = (hg_json_limits){.bytes_max = 6};
    assert_int_equal(parse(&list, &limits, &log, &root), HG_ERR_FILE);
    limits = (hg_json_limits){.repeats = 1};
    assert_int_equal(parse(&twice, &limits, &log, &root), HG_OK);
    assert_true(hg_json_find(root, "a")->valuedouble == 1);
    cJSON_Delete(root);
}

static const char getter_text[] =
    "{\"one\":1,\"big\":9007199254740993,\"most\":9007199254740991,\"half\":0.5,\"minus\":-3,"
    "\"yes\":true,\"no\":false,"
    "\"word\":\"abc\",\"none\":null,\"list\":[7,8],\"inner\":{\"x\":1},\"nl\":\"a\\nb\"}";

static void getters_give_what_is_there(void **state)
{
    test_log log;
    cJSON *root;
    hg_json_from from = {&log.log, "file", NULL};
    const int64_t fallback = 42;
    const double half = 0.25;
    const int on = 1;
    int64_t integer;
    double number;
    int flag;
    const char *word;
    const cJSON *part;

    (void)state;
    test_log_init(&log);
    assert_int_equal(
        hg_json_parse(&log.log, "file", getter_text, sizeof(getter_text) - 1, NULL, &root), HG_OK);
    from.object = root;
    assert_int_equal(hg_json_integer(&from, "one", NULL, 0, 9, &integer), HG_OK);
    assert_int_equal(integer, 1);
    assert_int_equal(hg_json_integer(&from, "minus", NULL, -3, 9, &integer), HG_OK);
    assert_int_equal(integer, -3);
    assert_int_equal(hg_json_integer(&from, "most", NULL, 0, INT64_MAX, &integer), HG_OK);
    assert_true(integer == 9007199254740991);
    assert_int_equal(hg_json_integer(&from, "One", &fallback, 0, 9, &integer), HG_OK);
    assert_int_equal(integer, 42);
    assert_int_equal(hg_json_number(&from, "half", NULL, &number), HG_OK);
    assert_true(number == 0.5);
    assert_int_equal(hg_json_number(&from, "absent", &half, &number), HG_OK);
    assert_true(number == 0.25);
    assert_int_equal(hg_json_bool(&from, "no", NULL, &flag), HG_OK);
    assert_int_equal(flag, 0);
    assert_int_equal(hg_json_bool(&from, "absent", &on, &flag), HG_OK);
    assert_int_equal(flag, 1);
    assert_int_equal(hg_json_string(&from, "word", NULL, &word), HG_OK);
    assert_string_equal(word, "abc");
    assert_int_equal(hg_json_string(&from, "absent", "else", &word), HG_OK);
    assert_string_equal(word, "else");
    assert_int_equal(hg_json_array(&from, "list", &part), HG_OK);
    assert_int_equal(cJSON_GetArraySize(part), 2);
    assert_int_equal(hg_json_object(&from, "inner", &part), HG_OK);
    assert_non_null(hg_json_find(part, "x"));
    assert_null(hg_json_find(part, "X"));
    assert_null(hg_json_find(hg_json_find(root, "list"), "x"));
    assert_int_equal(log.lines, 0);
    cJSON_Delete(root);
}

static void getters_say_what_they_found(void **state)
{
    static const struct {
        const char *key, *words;
    } integers[] = {{"big", "found 9007199254740992"},
                    {"half", "found 0.5"},
                    {"yes", "found true"},
                    {"word", "the string \"abc\""},
                    {"none", "found null"},
                    {"list", "an array"},
                    {"inner", "an object"},
                    {"absent", "missing"},
                    {"nl", "a?b"}};
    test_log log;
    cJSON *root;
    hg_json_from from = {&log.log, "file", NULL};
    int64_t integer;
    double number;
    int flag;
    const char *word;
    const cJSON *part;
    size_t i;

    (void)state;
    test_log_init(&log);
    assert_int_equal(
        hg_json_parse(&log.log, "file", getter_text, sizeof(getter_text) - 1, NULL, &root), HG_OK);
    from.object = root;
    for (i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
        assert_int_equal(hg_json_integer(&from, integers[i].key, NULL, 0, INT64_MAX, &integer),
                         HG_ERR_FILE);
        assert_non_null(strstr(log.error, integers[i].key));
        if (!strstr(log.error, integers[i].words))
            fail_msg("no %s in: %s", integers[i].words, log.error);
    }
    assert_int_equal(hg_json_integer(&from, "one", NULL, 2, 3, &integer), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "from 2 to 3"));
    assert_int_equal(hg_json_number(&from, "word", NULL, &number), HG_ERR_FILE);
    assert_int_equal(hg_json_bool(&from, "one", NULL, &flag), HG_ERR_FILE);
    assert_int_equal(hg_json_string(&from, "one", NULL, &word), HG_ERR_FILE);
    assert_int_equal(hg_json_string(&from, "none", "x", &word), HG_ERR_FILE);
    assert_int_equal(hg_json_array(&from, "inner", &part), HG_ERR_FILE);
    assert_int_equal(hg_json_object(&from, "list", &part), HG_ERR_FILE);
    assert_int_equal(hg_json_object(&from, "absent", &part), HG_ERR_FILE);
    assert_int_equal(log.errors, sizeof(integers) / sizeof(integers[0]) + 8);
    cJSON_Delete(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_texts_are_taken),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(the_place_of_a_mistake_is_named),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(getters_give_what_is_there),
        cmocka_unit_test(getters_say_what_they_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
