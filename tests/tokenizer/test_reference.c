/* SPDX-License-Identifier: MIT */
/* Line by line against tests/reference/tokenizer: ids, tokens, decoded text, and the pieces before
 * any merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer_case.h"
#include "unicode_list.h"

static const char *const NAMES[] = {
    "qwen3",       "small",      "small-merges-as-strings", "small-extra",
    "small-added", "small-gpt2", "small-ignore-merges",     "llama3-style"};
enum { NAMES_COUNT = sizeof(NAMES) / sizeof(NAMES[0]) };

typedef struct tally {
    uint32_t lines, wrong_ids, wrong_text, round_trips, round_trips_recorded;
} tally;

static const char *string_of(const cJSON *line, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(line, key)->valuestring;
}

static char *text_of(const cJSON *line, const char *key, size_t *bytes)
{
    return hg_line_text(cJSON_GetObjectItemCaseSensitive(line, key), bytes);
}

static int same_ids(const hg_encoding *encoding, const cJSON *ids)
{
    const cJSON *id;
    uint32_t i = 0;

    cJSON_ArrayForEach(id, ids)
    {
        if (i == encoding->count || encoding->ids[i] != id->valueint)
            return 0;
        i++;
    }
    return i == encoding->count;
}

/* Added tokens are recorded with the white space that they took along. */
static void check_tokens(const hg_tokenizer *tokenizer, const hg_encoding *encoding,
                         const cJSON *tokens)
{
    const cJSON *token;
    uint32_t i = 0;

    cJSON_ArrayForEach(token, tokens)
    {
        const char *found = hg_tokenizer_token(tokenizer, encoding->ids[i++]);
        assert_non_null(found);
        if (!strstr(token->valuestring, found))
            fail_msg("expected the token %s, found %s", token->valuestring, found);
    }
}

/* Ranges go forward, lie in the text, and cover it but for what NFC and strips moved to a
 * neighbour. */
static void check_ranges(const hg_encoding *encoding, size_t bytes)
{
    uint32_t i, reached = 0;

    for (i = 0; i < encoding->count; i++) {
        assert_true(encoding->byte_begin[i] <= encoding->byte_end[i]);
        assert_true(encoding->byte_end[i] <= bytes);
        if (encoding->byte_begin[i] > reached)
            fail_msg("token %u begins at byte %u, and nothing covers the bytes from %u", i,
                     encoding->byte_begin[i], reached);
        if (encoding->byte_end[i] > reached)
            reached = encoding->byte_end[i];
    }
    assert_int_equal(reached, bytes);
}

static void check_line(const hg_tokenizer *tokenizer, const cJSON *line, tally *count)
{
    size_t bytes, decoded_bytes, found_bytes;
    char *text = text_of(line, "text", &bytes);
    char *decoded = text_of(line, "decoded", &decoded_bytes);
    const cJSON *special = cJSON_GetObjectItemCaseSensitive(line, "add_special_tokens");
    hg_encoding *encoding;
    char *found;

    count->lines++;
    assert_int_equal(hg_tokenizer_encode(tokenizer, text, bytes,
                                         cJSON_IsTrue(special) ? 0 : HG_ENCODE_NO_SPECIAL,
                                         &encoding),
                     HG_OK);
    if (!same_ids(encoding, cJSON_GetObjectItemCaseSensitive(line, "ids"))) {
        if (count->wrong_ids++ < 5)
            print_error("%s: %s: other ids for \"%s\"\n", string_of(line, "tokenizer"),
                        string_of(line, "category"), text);
    } else {
        check_tokens(tokenizer, encoding, cJSON_GetObjectItemCaseSensitive(line, "tokens"));
        check_ranges(encoding, bytes);
    }
    assert_int_equal(
        hg_tokenizer_decode(tokenizer, encoding->ids, encoding->count, 0, &found, &found_bytes),
        HG_OK);
    count->wrong_text += found_bytes != decoded_bytes || memcmp(found, decoded, decoded_bytes) != 0;
    count->round_trips += found_bytes == bytes && memcmp(found, text, bytes) == 0;
    count->round_trips_recorded += decoded_bytes == bytes && memcmp(decoded, text, bytes) == 0;
    hg_text_free(&found);
    hg_encoding_free(&encoding);
    free(text);
    free(decoded);
}

static void test_encodings(void **state)
{
    hg_tokenizer *tokenizers[NAMES_COUNT];
    tally counts[NAMES_COUNT] = {{0}};
    uint32_t skipped = 0, wrong = 0, all = 0, i;
    hg_lines *lines = hg_lines_open("encodings.jsonl");
    hg_kept_log kept;
    cJSON *line;

    (void)state;
    for (i = 0; i < NAMES_COUNT; i++) {
        tokenizers[i] = hg_open_case(NAMES[i], &kept);
        if (!tokenizers[i])
            fail_msg("%s: %s", NAMES[i], kept.last);
    }
    assert_null(hg_open_case("byte-fallback", &kept)); /* another kind: named, not guessed at */
    assert_non_null(strstr(kept.last, "byte_fallback"));
    while ((line = hg_lines_next(lines)) != NULL) {
        for (i = 0; i < NAMES_COUNT && strcmp(NAMES[i], string_of(line, "tokenizer")) != 0; i++)
            ;
        all++;
        if (i < NAMES_COUNT) {
            check_line(tokenizers[i], line, &counts[i]);
        } else {
            assert_string_equal(string_of(line, "tokenizer"), "byte-fallback");
            skipped++;
        }
        cJSON_Delete(line);
    }
    hg_lines_close(lines);
    for (i = 0; i < NAMES_COUNT; i++) {
        print_message(
            "%-24s %3u lines, %u with other ids, %u decoded otherwise, %u give the text back\n",
            NAMES[i], counts[i].lines, counts[i].wrong_ids, counts[i].wrong_text,
            counts[i].round_trips);
        wrong += counts[i].wrong_ids + counts[i].wrong_text;
        assert_true(counts[i].lines > 0);
        assert_true(counts[i].round_trips > 0);
        assert_int_equal(counts[i].round_trips, counts[i].round_trips_recorded);
        hg_tokenizer_close(&tokenizers[i]);
        assert_null(tokenizers[i]);
    }
    print_message("skipped: %u lines of byte-fallback, a kind that is not supported\n", skipped);
    assert_int_equal(all, 2554);
    assert_int_equal(skipped, 184);
    assert_int_equal(wrong, 0);
}

/* 0: cut otherwise. */
static int check_pieces(const hg_tokenizer *tokenizer, const cJSON *line)
{
    size_t bytes, normal_bytes, piece_bytes;
    char *text = text_of(line, "text", &bytes);
    char *normal = text_of(line, "normalized", &normal_bytes);
    const cJSON *piece;
    char *found;
    uint32_t *ends;
    uint32_t count, i = 0, begin = 0;
    int same = 1;

    assert_int_equal(hg_tokenizer_pretokenize(tokenizer, text, bytes, &found, &ends, &count),
                     HG_OK);
    assert_memory_equal(found, normal, normal_bytes);
    cJSON_ArrayForEach(piece, cJSON_GetObjectItemCaseSensitive(line, "pieces"))
    {
        char *expected = hg_line_text(piece, &piece_bytes);
        same = same && i < count && ends[i] - begin == piece_bytes &&
               memcmp(found + begin, expected, piece_bytes) == 0;
        begin = i < count ? ends[i++] : begin;
        free(expected);
    }
    same = same && i == count && begin == normal_bytes;
    hg_text_free(&found);
    hg_pieces_free(&ends);
    free(text);
    free(normal);
    return same;
}

static void test_pieces(void **state)
{
    hg_kept_log kept;
    hg_tokenizer *qwen = hg_open_case("small", &kept);
    hg_tokenizer *llama = hg_open_case("llama3-style", &kept);
    hg_lines *lines = hg_lines_open("pretokens.jsonl");
    static hg_listed listed[HG_LISTED_MAX];
    uint32_t count = 0, newer = 0, listed_count = hg_read_listed(listed);
    cJSON *line;

    (void)state;
    assert_true(qwen && llama);
    while ((line = hg_lines_next(lines)) != NULL) {
        int is_qwen = strcmp(string_of(line, "pattern"), "qwen") == 0;
        assert_true(is_qwen || strcmp(string_of(line, "pattern"), "llama3") == 0);
        if (!check_pieces(is_qwen ? qwen : llama, line)) {
            if (!hg_holds_newer(listed, listed_count, string_of(line, "normalized")))
                fail_msg("\"%s\" is cut otherwise", string_of(line, "normalized"));
            newer++;
        }
        count++;
        cJSON_Delete(line);
    }
    hg_lines_close(lines);
    hg_tokenizer_close(&qwen);
    hg_tokenizer_close(&llama);
    print_message(
        "%u lines, %u cut otherwise for letters that are newer than PCRE2 (host/UNICODE.md)\n",
        count, newer);
    assert_int_equal(count, 381);
    assert_true(newer < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encodings),
                                       cmocka_unit_test(test_pieces)};

    return cmocka_run_group_tests_name("tokenizer_reference", tests, NULL, NULL);
}
