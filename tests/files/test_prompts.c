/* SPDX-License-Identifier: MIT */
/* Lists of prompts: what a line may be, and which sentence a wrong one gets. */
#include <headgate/prompts.h>

#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In a copy of exactly this size, so that a sanitizer sees a byte too far. */
static hg_result parse(const char *text, size_t bytes, test_log *log, hg_prompt_list **out)
{
    char *copy = malloc(bytes ? bytes : 1);
    hg_prompt_list_params params = {.label = "list.jsonl"};
    hg_result res;

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    test_log_init(log);
    params.log = log->log;
    res = hg_prompt_list_parse(&params, copy, bytes, out);
    free(copy);
    return res;
}

static hg_prompt_entry at(const hg_prompt_list *list, uint32_t index)
{
    hg_prompt_entry entry = {.struct_size = sizeof(entry)};

    assert_int_equal(hg_prompt_list_at(list, index, &entry), HG_OK);
    return entry;
}

static void lines_are_prompts(void **state)
{
    static const char text[] =
        "\xEF\xBB\xBF{\"prompt\": \"It was\", \"name\": \"first\"}\r\n"
        "\n"
        "  \t\r\n"
        "{\"ids\": [3, 1, 2147483647], \"id\": 17, \"label\": {\"a\": [1]}}\n"
        "\"caf\xc3\xa9 \\ud83d\\ude42\\nnew line\"\n"
        " [5] \n"
        "{\"text\": \"\", \"special\": false, \"id\": \"x/y\"}\n"
        "{\"id\": 4, \"prompt\": \"b\", \"special\": true, \"name\": \"\"}";
    static const uint64_t lines[] = {1, 4, 5, 6, 7, 8};
    hg_prompt_list *list = NULL;
    test_log log;

    (void)state;
    assert_int_equal(parse(text, sizeof(text) - 1, &log, &list), HG_OK);
    assert_int_equal(log.lines, 0);
    assert_int_equal(hg_prompt_list_count(list), 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(at(list, i).line, lines[i]);
        assert_true((at(list, i).text == NULL) != (at(list, i).ids == NULL));
    }
    assert_string_equal(at(list, 0).text, "It was");
    assert_int_equal(at(list, 0).text_bytes, 6);
    assert_string_equal(at(list, 0).name, "first");
    assert_int_equal(at(list, 1).id_count, 3);
    assert_int_equal(at(list, 1).ids[2], 2147483647);
    assert_string_equal(at(list, 1).name, "17");
    assert_string_equal(at(list, 2).text, "caf\xc3\xa9 \xf0\x9f\x99\x82\nnew line");
    assert_null(at(list, 2).name);
    assert_int_equal(at(list, 3).ids[0], 5);
    assert_int_equal(at(list, 4).text_bytes, 0);
    assert_int_equal(at(list, 4).no_special, 1);
    assert_string_equal(at(list, 4).name, "x/y");
    assert_int_equal(at(list, 5).no_special, 0);
    assert_null(at(list, 5).name);
    hg_prompt_list_free(&list);
    assert_null(list);
}

typedef struct mistake {
    const char *line, *sentence;
} mistake;

static void wrong_lines_are_named(void **state)
{
    static const mistake mistakes[] = {
        {"{\"promt\": \"a\", \"n\": 1}", "\"prompt\" (a text) and \"ids\" (a list of token ids), "
                                         "found \"promt\", \"n\""},
        {"{}", "found no key"},
        {"{\"prompt\": \"a\", \"ids\": [1]}", "found \"prompt\", \"ids\""},
        {"{\"prompt\": \"a\", \"text\": \"b\"}", "found \"prompt\", \"text\""},
        {"{\"prompt\": 5}", "prompt: expected a string, found 5"},
        {"{\"prompt\": null}", "prompt: expected a string, found null"},
        {"{\"ids\": \"1,2\"}", "ids: expected an array, found the string \"1,2\""},
        {"{\"ids\": []}", "expected at least one token id, found []"},
        {"{\"ids\": [1, -2]}", "at place 1, found -2"},
        {"{\"ids\": [1.5]}", "at place 0, found 1.5"},
        {"{\"ids\": [2147483648]}", "at place 0, found 2147483648"},
        {"{\"ids\": [[1]]}", "at place 0, found an array"},
        {"{\"prompt\": \"a\", \"name\": 5}", "name: expected a string, found 5"},
        {"{\"prompt\": \"a\", \"id\": 1.5}", "id: expected a string or a whole number, found 1.5"},
        {"{\"prompt\": \"a\", \"special\": 0}", "special: expected true or false, found 0"},
        {"{\"prompt\": \"a\"", "no valid JSON at column 15: expected"},
        {"{\"prompt\": \"a\"} {\"prompt\": \"b\"}", "no valid JSON at column 17"},
        {"{\"prompt\": \"\xff\"}", "no valid JSON at column"},
        {"{\"prompt\": \"a\\u0000b\"}", "no valid JSON at column"},
        {"{\"prompt\": \"a\", \"prompt\": \"b\"}", "the key \"prompt\" stands twice"},
        {"plain text", "no valid JSON at column 1"},
        {"7", "expected {\"prompt\": \"...\"} or {\"ids\": [...]}, found 7"},
        {"null", "found null"},
        {"[", "a whole JSON value on each line"},
        {" { \r", "a whole JSON value on each line"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        char text[256];
        hg_prompt_list *list = NULL;
        test_log log;

        snprintf(text, sizeof(text), "\"good\"\n\n%s\n\"good\"\n", mistakes[i].line);
        assert_int_equal(parse(text, strlen(text), &log, &list), HG_ERR_FILE);
        assert_null(list);
        assert_int_equal(log.errors, 1);
        if (strncmp(log.error, "list.jsonl: line 3: ", 20) != 0 ||
            !strstr(log.error, mistakes[i].sentence))
            fail_msg("%s: expected '%s', found '%s'", mistakes[i].line, mistakes[i].sentence,
                     log.error);
    }
}

static void nothing_is_an_error(void **state)
{
    hg_prompt_entry entry = {.struct_size = sizeof(entry)};
    hg_prompt_list *list = NULL;
    test_log log;

    (void)state;
    assert_int_equal(parse("", 0, &log, &list), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "list.jsonl: expected prompts"));
    assert_int_equal(parse(" \n\n", 3, &log, &list), HG_ERR_FILE);
    assert_int_equal(hg_prompt_list_parse(NULL, "1", 1, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_prompt_list_parse(NULL, NULL, 1, &list), HG_ERR_ARGUMENT);
    assert_int_equal(hg_prompt_list_parse(NULL, "\"a\"", 3, &list), HG_OK);
    assert_int_equal(hg_prompt_list_at(list, 1, &entry), HG_ERR_ARGUMENT);
    assert_int_equal(hg_prompt_list_at(list, 0, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_prompt_list_at(NULL, 0, &entry), HG_ERR_ARGUMENT);
    assert_int_equal(hg_prompt_list_count(NULL), 0);
    hg_prompt_list_free(&list);
    hg_prompt_list_free(&list);
    hg_prompt_list_free(NULL);
}

/* A line of 20 MB, and very many lines. */
static void sizes_are_no_trouble(void **state)
{
    enum { LONG = 20000000, LINES = (1 << 20) + 1 };
    static const char line[4] = {'[', '7', ']', '\n'};
    char *text = malloc(LONG + 16);
    hg_prompt_list *list = NULL;
    test_log log;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', LONG + 16);
    text[0] = '"';
    text[LONG - 1] = '"';
    assert_int_equal(parse(text, LONG, &log, &list), HG_OK);
    assert_int_equal(at(list, 0).text_bytes, LONG - 2);
    hg_prompt_list_free(&list);
    for (uint32_t i = 0; i < LINES; i++)
        memcpy(text + (size_t)i * 4, line, 4);
    assert_int_equal(parse(text, (size_t)(LINES - 1) * 4, &log, &list), HG_OK);
    assert_int_equal(hg_prompt_list_count(list), LINES - 1);
    hg_prompt_list_free(&list);
    assert_int_equal(parse(text, (size_t)LINES * 4, &log, &list), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "line 1048577: expected at most 1048576 prompts"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_prompts),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(nothing_is_an_error),
        cmocka_unit_test(sizes_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
