/* SPDX-License-Identifier: MIT */
/* Labels as people see them: no byte alphabet, nothing invisible, nothing empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer_case.h"

/* expected: the labels, each followed by '|'. */
static void check_labels(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                         const char *expected)
{
    hg_labels *labels;
    size_t bytes = 1, at = 0;
    char *joined;
    uint32_t i;

    assert_int_equal(hg_labels_create(tokenizer, ids, count, &labels), HG_OK);
    assert_int_equal(labels->count, count);
    for (i = 0; i < count; i++) {
        assert_true(labels->text[i] && labels->text[i][0]);
        bytes += strlen(labels->text[i]) + 1;
    }
    joined = malloc(bytes);
    assert_non_null(joined);
    joined[0] = '\0';
    for (i = 0; i < count; i++)
        at += (size_t)snprintf(joined + at, bytes - at, "%s|", labels->text[i]);
    assert_string_equal(joined, expected);
    free(joined);
    hg_labels_free(&labels);
    assert_null(labels);
}

static void check_text(const hg_tokenizer *tokenizer, const char *text, size_t bytes,
                       const char *expected)
{
    hg_encoding *encoding;

    assert_int_equal(hg_tokenizer_encode(tokenizer, text, bytes, 0, &encoding), HG_OK);
    check_labels(tokenizer, encoding->ids, encoding->count, expected);
    hg_encoding_free(&encoding);
}

#define CHECK(tokenizer, text, expected) check_text(tokenizer, text, sizeof(text) - 1, expected)

static void test_qwen3(void **state)
{
    hg_kept_log kept;
    hg_tokenizer *tokenizer = hg_open_case("qwen3", &kept);

    (void)state;
    assert_non_null(tokenizer);
    CHECK(tokenizer, "Sparse gating mechanism mitigates attention sink.",
          "Sparse|␣gating|␣mechanism|␣mitig|ates|␣attention|␣sink|.|");
    CHECK(tokenizer, "注意力汇聚 2025", "注意力|汇聚|␣|2|0|2|5|");
    CHECK(tokenizer, "naïve café\n\n  y", "na|ï|ve|␣café|⏎⏎|␣|␣y|");
    CHECK(tokenizer, "العربية", "ال|ع|ربية|");
    CHECK(tokenizer, "<|im_start|>user\n\tx<|im_end|>", "<|im_start|>|user|⏎|⇥x|<|im_end|>|");
    hg_tokenizer_close(&tokenizer);
}

static void test_characters(void **state)
{
    hg_kept_log kept;
    hg_small_file file = {
        .vocab =
            "\"\xC4\xA0\xC4\xA0\":300,\"\xC4\xA0\xC4\xA0\xC4\xA0\":303,\"\xC3\xA2\xC4\xA2\":301",
        .merges = "\"\xC4\xA0 \xC4\xA0\",\"\xC4\xA0\xC4\xA0 \xC4\xA0\",\"\xC3\xA2 \xC4\xA2\"",
        .added_tokens = "[{\"id\":302,\"content\":\"a b\\n\",\"special\":true}]"};
    hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);

    (void)state;
    CHECK(tokenizer, "a\n\t\r\x7F", "a|⏎|⇥|<0D>|<7F>|");
    CHECK(tokenizer, "a\0b", "a|<00>|b|");
    CHECK(tokenizer, "注", "<E6>|<B3>|<A8>|");
    CHECK(tokenizer, "🙂é", "<F0>|<9F>|<99>|<82>|<C3>|<A9>|");
    CHECK(tokenizer, "\xE2\x80\x99", "<E2><80>|<99>|"); /* two bytes of three in one token */
    CHECK(tokenizer, "b   b", "b|␣␣|␣|b|");
    CHECK(tokenizer, "a b\nb", "a b⏎|b|");
    hg_tokenizer_close(&tokenizer);
}

/* Whole characters in a token, by ids: what can be seen stays, what cannot becomes bytes. */
static void test_hidden(void **state)
{
    hg_kept_log kept;
    /* U+200D inside an emoji, U+200B, U+202E, U+00A0, U+3000, U+0085, a mark, "a b ", an empty
     * token */
    hg_small_file file = {
        .vocab =
            "\"\xC3\xB0\xC5\x81\xC4\xBA\xC4\xA2\xC3\xA2\xC4\xA2\xC4\xAF\xC3\xA2\xC4\xBB\xC4\xA4\":"
            "300,"
            "\"\xC3\xA2\xC4\xA2\xC4\xAD\":301,\"\xC3\xA2\xC4\xA2\xC2\xAE\":302,"
            "\"\xC3\x82\xC5\x82\":303,"
            "\"\xC3\xA3\xC4\xA2\xC4\xA2\":304,\"\xC3\x82\xC4\xA7\":305,\"e\xC3\x8C\xC4\xA3\":306,"
            "\"\xC4\xA0"
            "a\xC4\xA0"
            "b\xC4\xA0\":307,\"\":308,\"\xE4\xB8\xAD\":309,\"\xC3\xA2\xC4\xA2\xC4\xAF\":310"};
    hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);
    const int32_t ids[] = {300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310, 999, -5};

    (void)state;
    check_labels(tokenizer, ids, sizeof(ids) / sizeof(ids[0]),
                 "\xF0\x9F\x98\x80\xE2\x80\x8D\xE2\x99\x82|<E2><80><8B>|<E2><80><AE>|<C2><A0>|<E3><"
                 "80><80>|<C2><85>|"
                 "e\xCC\x81|␣a b␣|<308>|中|<E2><80><8D>|<999>|<-5>|");
    hg_tokenizer_close(&tokenizer);
}

/* Broken runs: a lead byte alone, a tail alone, a lead cut off by an added token. */
static void test_broken(void **state)
{
    hg_kept_log kept;
    hg_small_file file = {.added_tokens = "[{\"id\":300,\"content\":\"<s>\",\"special\":true}]"};
    hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);
    const int32_t ids[] = {0xE6, 'a', 0x80, 0xE6, 0xB3, 300, 0xA8, 0xFF, 0xE6, 0xB3};

    (void)state;
    check_labels(tokenizer, ids, sizeof(ids) / sizeof(ids[0]),
                 "<E6>|a|<80>|<E6>|<B3>|<s>|<A8>|<FF>|<E6>|<B3>|");
    hg_tokenizer_close(&tokenizer);
}

static void test_without_tokenizer(void **state)
{
    const int32_t ids[] = {0, 151643, -1, INT32_MAX};
    hg_labels *labels;

    (void)state;
    check_labels(NULL, ids, 4, "<0>|<151643>|<-1>|<2147483647>|");
    check_labels(NULL, NULL, 0, "");
    assert_int_equal(hg_labels_create(NULL, NULL, 1, &labels), HG_ERR_ARGUMENT);
    assert_null(labels);
    assert_int_equal(hg_labels_create(NULL, ids, 1, NULL), HG_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qwen3),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_without_tokenizer),
    };

    return cmocka_run_group_tests_name("tokenizer_labels", tests, NULL, NULL);
}
