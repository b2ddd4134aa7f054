/* SPDX-License-Identifier: MIT */
/* The rules of encoding and decoding one at a time, on tokenizers small enough to do by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer_case.h"

#define CHECK(tokenizer, text, flags, ...)                                                         \
    do {                                                                                           \
        const int32_t expected[] = {__VA_ARGS__};                                                  \
        hg_check_ids(tokenizer, text, sizeof(text) - 1, flags, expected,                           \
                     sizeof(expected) / sizeof(expected[0]));                                      \
    } while (0)

static hg_tokenizer *open_with(const hg_small_file *file)
{
    hg_kept_log kept;

    return hg_open_small(file, HG_OK, &kept);
}

static void test_merges(void **state)
{
    hg_tokenizer *tokenizer = open_with(&(hg_small_file){.model = NULL});

    (void)state;
    CHECK(tokenizer, "a", 0, 'a');
    CHECK(tokenizer, "abc", 0, 257);
    CHECK(tokenizer, "bcabab", 0, 258, 256, 256);
    CHECK(tokenizer, "aabcc", 0, 'a', 257, 'c');
    CHECK(tokenizer, "ab bc", 0, 256, ' ', 258);
    hg_check_ids(tokenizer, "", 0, 0, NULL, 0);
    hg_check_ids(tokenizer, NULL, 0, 0, NULL, 0);
    CHECK(tokenizer, "a\0b", 0, 'a', 0, 'b');
    CHECK(tokenizer, "\0", 0, 0);
    hg_tokenizer_close(&tokenizer);
    /* a pair that stands twice keeps its later rank */
    tokenizer = open_with(&(hg_small_file){.merges = "\"a b\",\"b c\",\"a b\""});
    CHECK(tokenizer, "abc", 0, 'a', 258);
    hg_tokenizer_close(&tokenizer);
}

static void test_unknown_bytes(void **state)
{
#define FEW "\"type\":\"BPE\",\"vocab\":{\"a\":5,\"b\":9,\"?\":7},\"merges\":[]"
    hg_kept_log kept;
    hg_encoding *encoding;
    hg_tokenizer *tokenizer = hg_open_small(&(hg_small_file){.model = "{" FEW "}"}, HG_OK, &kept);

    (void)state;
    CHECK(tokenizer, "aba", 0, 5, 9, 5);
    assert_int_equal(hg_tokenizer_encode(tokenizer, "axyb", 4, 0, &encoding), HG_ERR_FILE);
    assert_null(encoding);
    assert_non_null(strstr(kept.last, "0x78"));
    hg_tokenizer_close(&tokenizer);
    tokenizer = open_with(&(hg_small_file){.model = "{" FEW ",\"unk_token\":\"?\"}"});
    CHECK(tokenizer, "axyb", 0, 5, 7, 7, 9);
    hg_tokenizer_close(&tokenizer);
    tokenizer =
        open_with(&(hg_small_file){.model = "{" FEW ",\"unk_token\":\"?\",\"fuse_unk\":true}"});
    CHECK(tokenizer, "axyb", 0, 5, 7, 9);
    CHECK(tokenizer, "xyz", 0, 7);
    hg_tokenizer_close(&tokenizer);
}

static void test_whole_words(void **state)
{
    hg_small_file file = {.vocab = "\"\xC4\xA0whole\":300"}; /* " whole": no merge makes it */
    hg_tokenizer *tokenizer = open_with(&file);

    (void)state;
    CHECK(tokenizer, "a whole", 0, 'a', ' ', 'w', 'h', 'o', 'l', 'e');
    hg_tokenizer_close(&tokenizer);
    file.model_keys = "\"ignore_merges\":true";
    tokenizer = open_with(&file);
    CHECK(tokenizer, "a whole abc", 0, 'a', 300, ' ', 257);
    hg_tokenizer_close(&tokenizer);
}

static void check_offsets(const hg_tokenizer *tokenizer, const char *text, const uint32_t *ranges,
                          uint32_t count)
{
    hg_encoding *encoding;
    uint32_t i;

    assert_int_equal(hg_tokenizer_encode(tokenizer, text, strlen(text), 0, &encoding), HG_OK);
    assert_int_equal(encoding->count, count);
    for (i = 0; i < count; i++)
        if (encoding->byte_begin[i] != ranges[2 * i] || encoding->byte_end[i] != ranges[2 * i + 1])
            fail_msg("\"%s\": token %u: expected bytes %u to %u, found %u to %u", text, i,
                     ranges[2 * i], ranges[2 * i + 1], encoding->byte_begin[i],
                     encoding->byte_end[i]);
    hg_encoding_free(&encoding);
}

#define OFFSETS(tokenizer, text, ...)                                                              \
    do {                                                                                           \
        const uint32_t expected[] = {__VA_ARGS__};                                                 \
        check_offsets(tokenizer, text, expected, sizeof(expected) / sizeof(expected[0]) / 2);      \
    } while (0)

#define TEMPLATE(before, after)                                                                    \
    "{\"type\":\"TemplateProcessing\",\"single\":[" before                                         \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}" after "],"                                       \
    "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[300],\"tokens\":[\"<s>\"]},"             \
    "\"</s>\":{\"id\":\"</s>\",\"ids\":[301,301],\"tokens\":[\"</s>\",\"</s>\"]}}}"
#define BEGIN "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"
#define END ",{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}"
#define TWO_TOKENS                                                                                 \
    "[{\"id\":300,\"content\":\"<s>\",\"special\":true},{\"id\":301,\"content\":\"</"              \
    "s>\",\"special\":true}]"

static void test_offsets(void **state)
{
    hg_small_file file = {.added_tokens = TWO_TOKENS, .post_processor = TEMPLATE(BEGIN, END)};
    hg_tokenizer *tokenizer = open_with(&file);

    (void)state;
    OFFSETS(tokenizer, "abc b", 0, 0, 0, 3, 3, 4, 4, 5, 5, 5, 5, 5);
    OFFSETS(tokenizer, "a<s>b", 0, 0, 0, 1, 1, 4, 4, 5, 5, 5, 5, 5);
    /* a character in bytes; then a letter and a mark that NFC makes one character of, both its
     * bytes standing for both */
    OFFSETS(tokenizer, "\xC3\xA9", 0, 0, 0, 1, 1, 2, 2, 2, 2, 2);
    OFFSETS(tokenizer, "abe\xCC\x81\x62", 0, 0, 0, 2, 2, 5, 2, 5, 5, 6, 6, 6, 6, 6);
    /* U+0344 becomes two marks of two bytes each */
    OFFSETS(tokenizer, "b\xCD\x84", 0, 0, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 3, 3, 3, 3);
    hg_tokenizer_close(&tokenizer);
    file.post_processor = "null";
    file.pre_tokenizer = "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}";
    tokenizer = open_with(&file);
    OFFSETS(tokenizer, "ab<s>e\xCC\x81", 0, 0, 0, 2, 2, 5, 5, 5, 5, 8, 5, 8);
    OFFSETS(tokenizer, " ab", 0, 1, 1, 3);
    hg_tokenizer_close(&tokenizer);
}

static void test_post_processor(void **state)
{
    hg_small_file file = {.added_tokens = TWO_TOKENS, .post_processor = TEMPLATE(BEGIN, END)};
    hg_tokenizer *tokenizer = open_with(&file);

    (void)state;
    CHECK(tokenizer, "ab", 0, 300, 256, 301, 301);
    CHECK(tokenizer, "ab", HG_ENCODE_NO_SPECIAL, 256);
    CHECK(tokenizer, "<s>ab", HG_ENCODE_NO_SPECIAL, 300, 256);
    CHECK(tokenizer, "", 0, 300, 301, 301);
    hg_tokenizer_close(&tokenizer);
    /* the later processor goes around the earlier one */
    file.post_processor = "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(
        BEGIN, "") ",{\"type\":\"ByteLevel\"}," TEMPLATE(BEGIN BEGIN, END) "]}";
    tokenizer = open_with(&file);
    CHECK(tokenizer, "ab", 0, 300, 300, 300, 256, 301, 301);
    hg_tokenizer_close(&tokenizer);
}

static void test_added_tokens(void **state)
{
    hg_small_file file = {.added_tokens =
                              "[{\"id\":300,\"content\":\"<x>\"},{\"id\":301,\"content\":\"<x>b\"},"
                              "{\"id\":302,\"content\":\"<l>\",\"lstrip\":true},{\"id\":303,"
                              "\"content\":\"<r>\",\"rstrip\":true},"
                              "{\"id\":304,\"content\":\"word\",\"single_word\":true},"
                              "{\"id\":305,\"content\":\"e\\u0301x\",\"normalized\":true},"
                              "{\"id\":306,\"content\":\"e\\u0301y\",\"normalized\":false},"
                              "{\"id\":34,\"content\":\"\\\"\"}]"};
    hg_tokenizer *tokenizer = open_with(&file);

    (void)state;
    CHECK(tokenizer, "<x><x>b<x", 0, 300, 301, '<', 'x');
    CHECK(tokenizer, "<<x>>", 0, '<', 300, '>');
    CHECK(tokenizer, "a \t<l> b", 0, 'a', 302, ' ', 'b');
    CHECK(tokenizer, "a <r> \n b", 0, 'a', ' ', 303, 'b');
    CHECK(tokenizer, "<r> <l>", 0, 303, 302);
    CHECK(tokenizer, "word-word", 0, 304, '-', 304);
    CHECK(tokenizer, "a word.", 0, 'a', ' ', 304, '.');
    CHECK(tokenizer, "swords", 0, 's', 'w', 'o', 'r', 'd', 's');
    CHECK(tokenizer, "_word", 0, '_', 'w', 'o', 'r', 'd');
    CHECK(tokenizer, "word\xCC\x81", 0, 'w', 'o', 'r', 'd', 0xCC,
          0x81); /* a mark belongs to a word */
    CHECK(tokenizer, "\xC3\xA9x", 0, 305);
    CHECK(tokenizer, "e\xCC\x81x", 0, 305);
    CHECK(tokenizer, "\xC3\xA9y", 0, 0xC3, 0xA9, 'y');
    CHECK(tokenizer, "e\xCC\x81y", 0, 306);
    CHECK(tokenizer, "\"a\"", 0, '"', 'a', '"');
    CHECK(tokenizer, "<x\0>", 0, '<', 'x', 0, '>');
    OFFSETS(tokenizer, "a \t<l>", 0, 1, 1, 6);
    OFFSETS(tokenizer, "e\xCC\x81x", 0, 4);
    hg_tokenizer_close(&tokenizer);
}

#define PIECES(kind, behavior, invert, text)                                                       \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"" kind           \
    "\":\"" text "\"},\"behavior\":\"" behavior "\",\"invert\":" invert                            \
    "},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"

static void check_split(const char *pre_tokenizer, const char *text, const char *expected)
{
    hg_small_file file = {.pre_tokenizer = pre_tokenizer};
    hg_tokenizer *tokenizer = open_with(&file);
    char *normalized, *joined;
    uint32_t *ends;
    uint32_t count, i, begin = 0;
    size_t at = 0;

    assert_int_equal(
        hg_tokenizer_pretokenize(tokenizer, text, strlen(text), &normalized, &ends, &count), HG_OK);
    joined = malloc(strlen(normalized) + count + 1);
    assert_non_null(joined);
    for (i = 0; i < count; i++) {
        memcpy(joined + at, normalized + begin, ends[i] - begin);
        at += ends[i] - begin;
        joined[at++] = '|';
        begin = ends[i];
    }
    joined[at] = '\0';
    assert_string_equal(joined, expected);
    free(joined);
    hg_text_free(&normalized);
    hg_pieces_free(&ends);
    hg_tokenizer_close(&tokenizer);
}

static void test_splits(void **state)
{
    (void)state;
    check_split(PIECES("Regex", "Isolated", "false", "b+"), "abbcb", "a|bb|c|b|");
    check_split(PIECES("Regex", "Isolated", "true", "b+"), "abbcb", "a|bb|c|b|");
    check_split(PIECES("Regex", "Removed", "false", "b+"), "abbcb", "a|c|");
    check_split(PIECES("Regex", "Removed", "true", "b+"), "abbcb", "bb|b|");
    check_split(PIECES("Regex", "Isolated", "false", "x*"), "abx\xC3\xA9y",
                "a|b|x|\xC3\xA9|y|"); /* empty matches */
    check_split(PIECES("Regex", "Isolated", "false", "$"), "a\nb", "a|\nb|");
    check_split(PIECES("Regex", "Isolated", "false", "a.c"), "a\nc abc", "a\nc |abc|");
    check_split(PIECES("String", "Isolated", "false", ".b"), "a.b.c.b", "a|.b|.c|.b|");
    check_split(PIECES("Regex", "Removed", "false", "\\\\s"),
                "a\xE1\xA0\x8E"
                "b\xC2\x85"
                "c\x1C"
                "d",
                "a\xE1\xA0\x8E"
                "b|c\x1C"
                "d|"); /* U+180E no, U+0085 yes, U+001C no */
    check_split(PIECES("Regex", "Removed", "false", "[\\\\s-]+"), "a - b\xE1\xA0\x8E",
                "a|b\xE1\xA0\x8E|");
    check_split(PIECES("Regex", "Removed", "true", "\\\\S+"), "ab\xE1\xA0\x8E c",
                "ab\xE1\xA0\x8E|c|");
    check_split(PIECES("Regex", "Isolated", "false", "(?i:'s)"), "'s'S'\xC5\xBF",
                "'s|'S|'\xC5\xBF|");
    check_split("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{"
                "\"String\":\",\"},"
                "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
                "\"use_regex\":false}]}",
                "a, b", " a| ,| b|");
}

static void test_bad_text(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *says;
    } cases[] = {
        {"ab\xFF", 3, "offset 2"},
        {"\x80", 1, "offset 0"},
        {"a\xC3", 2, "offset 1"},
        {"a\xC3(", 3, "offset 1"},
        {"\xC0\x80", 2, "offset 0"},
        {"x\xED\xA0\x80", 4, "offset 1"},
        {"\xF4\x90\x80\x80", 4, "0xF4"},
        {"\xF0\x8F\xBF\xBF", 4, "0xF0"},
        {"\xE0\x9F\xBF", 3, "0xE0"},
        {"\xF8\x88\x80\x80\x80", 5, "0xF8"},
        {"12345678901234\xE2\x82", 16, "offset 14"},
    };
    hg_kept_log kept;
    hg_tokenizer *tokenizer = hg_open_small(&(hg_small_file){.model = NULL}, HG_OK, &kept);
    hg_encoding *encoding;
    char *normalized;
    uint32_t *ends;
    uint32_t count;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            hg_tokenizer_encode(tokenizer, cases[i].text, cases[i].bytes, 0, &encoding),
            HG_ERR_TEXT);
        assert_null(encoding);
        if (!strstr(kept.last, cases[i].says))
            fail_msg("case %zu: %s", i, kept.last);
        assert_int_equal(hg_tokenizer_pretokenize(tokenizer, cases[i].text, cases[i].bytes,
                                                  &normalized, &ends, &count),
                         HG_ERR_TEXT);
        assert_true(!normalized && !ends);
    }
    assert_int_equal(hg_tokenizer_encode(tokenizer, "a", 1, 2, &encoding), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_encode(tokenizer, NULL, 1, 0, &encoding), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_encode(NULL, "a", 1, 0, &encoding), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_encode(tokenizer, "a", 1, 0, NULL), HG_ERR_ARGUMENT);
    hg_tokenizer_close(&tokenizer);
}

static void check_decode(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                         uint32_t flags, const char *expected, size_t expected_bytes)
{
    char *text;
    size_t bytes;

    assert_int_equal(hg_tokenizer_decode(tokenizer, ids, count, flags, &text, &bytes), HG_OK);
    assert_int_equal(bytes, expected_bytes);
    assert_memory_equal(text, expected, expected_bytes + 1);
    hg_text_free(&text);
}

#define DECODE(tokenizer, flags, text, ...)                                                        \
    do {                                                                                           \
        const int32_t given[] = {__VA_ARGS__};                                                     \
        check_decode(tokenizer, given, sizeof(given) / sizeof(given[0]), flags, text,              \
                     sizeof(text) - 1);                                                            \
    } while (0)

static void test_decode(void **state)
{
    hg_kept_log kept;
    hg_small_file file = {.added_tokens =
                              "[{\"id\":300,\"content\":\"<s>\",\"special\":true},"
                              "{\"id\":301,\"content\":\"\xE4\xB8\xAD\",\"special\":false}]"};
    hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);
    const int32_t wrong[2] = {97, 302}, negative = -1;
    char *text;
    size_t bytes;

    (void)state;
    DECODE(tokenizer, 0, "abc", 257);
    DECODE(tokenizer, 0, "a\0b", 'a', 0, 'b');
    DECODE(tokenizer, 0, "<s>a<s>\xE4\xB8\xAD", 300, 'a', 300, 301);
    DECODE(tokenizer, HG_DECODE_SKIP_SPECIAL, "a\xE4\xB8\xAD", 300, 'a', 300, 301);
    /* one U+FFFD for each maximal subpart: E6 B3 is one, ED A0 80 are three, F0 9F 98 is one, FF is
     * one */
    DECODE(tokenizer, 0,
           "\xEF\xBF\xBD"
           "a",
           0xE6, 0xB3, 'a');
    DECODE(tokenizer, 0, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0xED, 0xA0, 0x80);
    DECODE(tokenizer, 0, "\xEF\xBF\xBD\xEF\xBF\xBD", 0xF0, 0x9F, 0x98, 0xFF);
    DECODE(tokenizer, 0, "\xE6\xB3\xA8", 0xE6, 0xB3, 0xA8);
    check_decode(tokenizer, NULL, 0, 0, "", 0);
    assert_int_equal(hg_tokenizer_decode(tokenizer, wrong, 2, 0, &text, &bytes), HG_ERR_TEXT);
    assert_null(text);
    assert_non_null(strstr(kept.last, "302"));
    assert_int_equal(hg_tokenizer_decode(tokenizer, &negative, 1, 0, &text, &bytes), HG_ERR_TEXT);
    assert_int_equal(hg_tokenizer_decode(tokenizer, wrong, 1, 2, &text, &bytes), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_decode(tokenizer, NULL, 1, 0, &text, &bytes), HG_ERR_ARGUMENT);
    hg_tokenizer_close(&tokenizer);
}

static void test_vocab_limit(void **state)
{
    hg_kept_log kept;
    hg_tokenizer_params params = {sizeof(params), HG_TEST_REFERENCE_DIR "/tokenizer/small", 2000,
                                  hg_keep(&kept)};
    hg_tokenizer *tokenizer;
    hg_encoding *encoding;

    (void)state;
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_OK);
    assert_int_equal(kept.warnings, 1);
    assert_int_equal(hg_tokenizer_encode(tokenizer, "a", 1, 0, &encoding), HG_OK);
    hg_encoding_free(&encoding);
    {
        char *text;
        size_t bytes;
        const int32_t last = 2047;
        assert_int_equal(hg_tokenizer_decode(tokenizer, &last, 1, 0, &text, &bytes), HG_OK);
        assert_int_equal(hg_tokenizer_encode(tokenizer, text, bytes, 0, &encoding), HG_ERR_FILE);
        assert_non_null(strstr(kept.last, "2047"));
        hg_text_free(&text);
    }
    hg_tokenizer_close(&tokenizer);
    params.vocab_limit = 2048;
    params.log = hg_keep(&kept);
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_OK);
    assert_int_equal(kept.warnings, 0);
    hg_tokenizer_close(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),         cmocka_unit_test(test_unknown_bytes),
        cmocka_unit_test(test_whole_words),    cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_post_processor), cmocka_unit_test(test_added_tokens),
        cmocka_unit_test(test_splits),         cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_decode),         cmocka_unit_test(test_vocab_limit),
    };

    return cmocka_run_group_tests_name("tokenizer_rules", tests, NULL, NULL);
}
