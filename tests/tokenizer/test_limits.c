/* SPDX-License-Identifier: MIT */
/*
 * Texts of up to a megabyte that make careless code take the square of their length (hours: the
 * time limit of the test then ends it), a long search by a regular expression, and one tokenizer in
 * several threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "tokenizer_case.h"

enum { LONG = 1 << 20, LESS = 1 << 17 };

/* `first`, then `unit` over and over, `bytes` in all at most. comes_back: decoding gives the text.
 */
static void check_long(const hg_tokenizer *tokenizer, const char *first, const char *unit,
                       size_t bytes, int comes_back)
{
    size_t length = strlen(unit), at = strlen(first), back_bytes, i;
    char *text = malloc(bytes + length + at), *back;
    hg_encoding *encoding;
    hg_labels *labels;

    assert_non_null(text);
    for (i = 0; i < at; i++)
        text[i] = first[i];
    for (; at + length <= bytes; at += length)
        for (i = 0; i < length; i++)
            text[at + i] = unit[i];
    assert_int_equal(hg_tokenizer_encode(tokenizer, text, at, HG_ENCODE_NO_SPECIAL, &encoding),
                     HG_OK);
    assert_int_equal(encoding->byte_end[encoding->count - 1], at);
    assert_int_equal(
        hg_tokenizer_decode(tokenizer, encoding->ids, encoding->count, 0, &back, &back_bytes),
        HG_OK);
    if (comes_back) {
        assert_int_equal(back_bytes, at);
        assert_memory_equal(back, text, at);
    }
    assert_int_equal(hg_labels_create(tokenizer, encoding->ids, encoding->count, &labels), HG_OK);
    for (i = 0; i < labels->count; i++)
        assert_true(labels->text[i][0] != '\0');
    hg_labels_free(&labels);
    hg_text_free(&back);
    hg_encoding_free(&encoding);
    free(text);
}

static void test_long_words(void **state)
{
    static const char *const names[] = {"small", "small-added", "llama3-style", "small-gpt2"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hg_kept_log kept;
        hg_tokenizer *tokenizer = hg_open_case(names[i], &kept);
        int same = strcmp(names[i], "small-gpt2") != 0; /* that one puts a space in front */
        size_t bytes = i == 0 ? LONG : LESS;
        assert_non_null(tokenizer);
        check_long(tokenizer, "", "the", bytes, same);
        check_long(tokenizer, "", " ", bytes, 1);
        check_long(tokenizer, "", "a", LESS, same);
        check_long(tokenizer, "", " \n", LESS, 1);
        check_long(tokenizer, "", "!", LESS, same);
        check_long(tokenizer, "", "<|endoftext|", LESS, same);
        check_long(tokenizer, "", " <|strip-left|>", LESS, 0);
        check_long(tokenizer, "", "<|strip-right|> ", LESS, 0);
        check_long(tokenizer, "a", "\xCC\x81\xCC\xA3", bytes, 0); /* marks out of order */
        hg_tokenizer_close(&tokenizer);
    }
}

/* An added token of the greatest length, and a text that almost holds it everywhere. */
static void test_long_added_token(void **state)
{
    static char added[1200];
    hg_small_file file = {.added_tokens = added};
    hg_kept_log kept;
    hg_tokenizer *tokenizer;
    char content[1026];

    (void)state;
    memset(content, 'x', 1024);
    content[1024] = '\0';
    content[1023] = 'y';
    snprintf(added, sizeof(added), "[{\"id\":300,\"content\":\"%s\"}]", content);
    tokenizer = hg_open_small(&file, HG_OK, &kept);
    check_long(tokenizer, "", "x", LESS, 1);
    hg_tokenizer_close(&tokenizer);
    content[1024] = 'y';
    content[1025] = '\0';
    snprintf(added, sizeof(added), "[{\"id\":300,\"content\":\"%s\"}]", content);
    tokenizer = hg_open_small(&file, HG_ERR_FILE, &kept);
    assert_non_null(strstr(kept.last, "1024"));
}

#define SPLIT(regex)                                                                               \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"        \
    "\"" regex "\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":"      \
    "false,\"use_regex\":false}]}"

static void test_patterns_give_up(void **state)
{
    static const char *const patterns[] = {SPLIT("(a+)+$"), SPLIT("(?:a|a)*b$"),
                                           SPLIT("(?:(?:a*)*)*c"), SPLIT("(a|aa)+(?!a)$"),
                                           SPLIT("a{0,900}a{0,900}x")};
    static char text[1 << 16];
    size_t i;

    (void)state;
    memset(text, 'a', sizeof(text));
    for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        hg_small_file file = {.pre_tokenizer = patterns[i]};
        hg_kept_log kept;
        hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);
        hg_encoding *encoding;
        hg_result res = hg_tokenizer_encode(tokenizer, text, sizeof(text), 0, &encoding);
        assert_true(res == HG_OK || res == HG_ERR_FILE);
        if (res != HG_OK)
            assert_non_null(strstr(kept.last, "gives up"));
        hg_encoding_free(&encoding);
        hg_tokenizer_close(&tokenizer);
    }
}

enum { THREADS = 4, ROUNDS = 200 };

typedef struct worker {
    const hg_tokenizer *tokenizer;
    const hg_encoding *expected;
    const char *text;
    int failed;
} worker;

static void *work(void *user)
{
    worker *mine = user;
    uint32_t i;

    for (i = 0; i < ROUNDS; i++) {
        hg_encoding *encoding;
        if (hg_tokenizer_encode(mine->tokenizer, mine->text, strlen(mine->text), 0, &encoding) !=
            HG_OK) {
            mine->failed = 1;
            continue;
        }
        if (encoding->count != mine->expected->count ||
            memcmp(encoding->ids, mine->expected->ids, encoding->count * sizeof(*encoding->ids)) !=
                0)
            mine->failed = 1;
        hg_encoding_free(&encoding);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static const char text[] =
        "Sparse gating, caf\xC3\xA9 cafe\xCC\x81x <|a|>b word's \xE6\xB3\xA8\xE6\x84\x8F\n\n  1234";
    hg_kept_log kept;
    hg_tokenizer *tokenizer = hg_open_case("small-added", &kept);
    hg_encoding *expected;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    uint32_t i;

    (void)state;
    assert_non_null(tokenizer);
    assert_int_equal(hg_tokenizer_encode(tokenizer, text, strlen(text), 0, &expected), HG_OK);
    for (i = 0; i < THREADS; i++) {
        workers[i] = (worker){tokenizer, expected, text, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].failed);
    }
    hg_encoding_free(&expected);
    hg_tokenizer_close(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_long_added_token),
        cmocka_unit_test(test_patterns_give_up),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests_name("tokenizer_limits", tests, NULL, NULL);
}
