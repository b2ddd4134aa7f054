/* SPDX-License-Identifier: MIT */
/*
 * Every code point: the listed ones behave as host/UNICODE.md says for the libraries at hand, all
 * others as in the reference (by a hash over the reference's answers).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer_case.h"
#include "tokenizer_parts.h"
#include "unicode_list.h"

enum { CODES = 0x110000, NEWEST = 160 }; /* the version of the reference */

/* FNV-1a over the reference's answers for all characters that are not listed. */
static const uint64_t CLASSES_HASH = 0xd8cfab43ec58f369, MARKS_HASH = 0x87d9047cdaa0bb48;

static const uint32_t SPACES[] = {0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,
                                  0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                  0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                  0x2029, 0x202F, 0x205F, 0x3000};

static hg_listed listed[HG_LISTED_MAX];
static uint32_t listed_count;

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001B3u;
    return hash;
}

static const hg_listed *find_listed(uint32_t code, int marks)
{
    uint32_t i;

    for (i = 0; i < listed_count; i++)
        if (code >= listed[i].first && code <= listed[i].last &&
            listed[i].kind != HG_LISTED_COMPOSED && (listed[i].kind == HG_LISTED_MARK) == marks)
            return &listed[i];
    return NULL;
}

static int is_surrogate(uint32_t code)
{
    return code >= 0xD800 && code < 0xE000;
}

#define REMOVE(regex)                                                                              \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"        \
    "\"" regex "\"},\"behavior\":\"Removed\",\"invert\":true},{\"type\":\"ByteLevel\",\"add_"      \
    "prefix_space\":false,\"use_regex\":false}]}"

/* Sets class[code] to value for every code point that the pattern matches. */
static void classify(const char *pre_tokenizer, uint8_t value, uint8_t *class)
{
    hg_small_file file = {.normalizer = "null", .pre_tokenizer = pre_tokenizer};
    hg_kept_log kept;
    hg_tokenizer *tokenizer = hg_open_small(&file, HG_OK, &kept);
    char *text = malloc(4 * CODES), *found;
    uint32_t *ends;
    uint32_t count, code;
    size_t bytes = 0, at = 0;

    assert_non_null(text);
    for (code = 0; code < CODES; code++)
        if (!is_surrogate(code))
            bytes += hg_utf8_put(code, text + bytes);
    assert_int_equal(hg_tokenizer_pretokenize(tokenizer, text, bytes, &found, &ends, &count),
                     HG_OK);
    bytes = count ? ends[count - 1] : 0;
    while (at < bytes) {
        at += hg_utf8_next(found + at, bytes - at, &code);
        assert_true(code < CODES);
        assert_int_equal(class[code], 0);
        class[code] = value;
    }
    free(text);
    hg_text_free(&found);
    hg_pieces_free(&ends);
    hg_tokenizer_close(&tokenizer);
}

static void test_classes(void **state)
{
    uint32_t version = hg_pcre2_unicode(), code, newer = 0;
    uint8_t *class = calloc(CODES, 1);
    uint64_t hash = 0xCBF29CE484222325u;

    (void)state;
    assert_non_null(class);
    classify(REMOVE("\\\\p{L}"), 1, class);
    classify(REMOVE("\\\\p{N}"), 2, class);
    for (code = 0; code < CODES; code++) {
        const hg_listed *entry = find_listed(code, 0);
        if (is_surrogate(code))
            continue;
        if (!entry) {
            hash = hash_bytes(hash, (const char *)&class[code], 1);
            continue;
        }
        newer += entry->version > version;
        if (class[code] != (entry->version > version ? 0 : entry->kind == HG_LISTED_LETTER ? 1 : 2))
            fail_msg("U+%04X (Unicode %u): PCRE2, which knows Unicode %u, has it in class %u", code,
                     entry->version, version, class[code]);
    }
    free(class);
    print_message(
        "PCRE2 knows Unicode %u.%u: %u letters and numbers of the reference are unknown to it\n",
        version / 10, version % 10, newer);
    if (version > NEWEST)
        print_message("skipped: all other characters, which Unicode 16.0 may not know\n");
    else
        assert_true(hash == CLASSES_HASH);
    assert_true((newer == 0) == (version >= NEWEST));
}

static void test_spaces(void **state)
{
    uint8_t *class = calloc(CODES, 1);
    uint32_t code, i;

    (void)state;
    assert_non_null(class);
    classify(REMOVE("\\\\s"), 1, class);
    for (i = 0; i < sizeof(SPACES) / sizeof(SPACES[0]); i++) {
        assert_int_equal(class[SPACES[i]], 1);
        class[SPACES[i]] = 0;
    }
    for (code = 0; code < CODES; code++)
        assert_int_equal(class[code], 0);
    free(class);
}

/* NFC of one text, through the pre-tokenizer that cuts nothing. */
static char *normalize(const hg_tokenizer *tokenizer, const char *text, size_t bytes)
{
    char *found;
    uint32_t *ends;
    uint32_t count;

    assert_int_equal(hg_tokenizer_pretokenize(tokenizer, text, bytes, &found, &ends, &count),
                     HG_OK);
    hg_pieces_free(&ends);
    return found;
}

static hg_tokenizer *open_nfc(void)
{
    hg_kept_log kept;
    hg_small_file file = {
        .pre_tokenizer = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"};

    return hg_open_small(&file, HG_OK, &kept);
}

/* Each character between U+0345 (class 240) and U+0327 U+0334 (202, 1), one to a line: out of
 * order, and told from a character that is no mark, which keeps its place. */
static char *all_between_marks(size_t *bytes)
{
    char *text = malloc(12 * CODES);
    size_t at = 0;
    uint32_t code;

    assert_non_null(text);
    for (code = 0x80; code < CODES; code++) {
        if (is_surrogate(code))
            continue;
        text[at++] = 'b';
        at += hg_utf8_put(0x345, text + at);
        at += hg_utf8_put(code, text + at);
        at += hg_utf8_put(0x327, text + at);
        at += hg_utf8_put(0x334, text + at);
        text[at++] = '\n';
    }
    *bytes = at;
    return text;
}

static void test_marks(void **state)
{
    uint32_t version = hg_utf8proc_unicode(), code, newer = 0;
    hg_tokenizer *tokenizer = open_nfc();
    size_t bytes;
    char *text = all_between_marks(&bytes);
    char *found = normalize(tokenizer, text, bytes), *line = found;
    uint64_t hash = 0xCBF29CE484222325u;

    (void)state;
    for (code = 0x80; code < CODES; code++) {
        const hg_listed *entry = find_listed(code, 1);
        char kept[24] = "b\xCD\x85"; /* as it is when code is no mark */
        size_t length;
        char *end;
        if (is_surrogate(code))
            continue;
        end = strchr(line, '\n');
        assert_non_null(end);
        length = (size_t)(end + 1 - line);
        if (entry) {
            size_t at = 3 + hg_utf8_put(code, kept + 3);
            memcpy(kept + at, "\xCC\xB4\xCC\xA7\n", 6);
            newer += entry->version > version;
            if ((strncmp(line, kept, length) == 0) != (entry->version > version))
                fail_msg(
                    "U+%04X (Unicode %u): utf8proc, which knows Unicode %u, takes it otherwise",
                    code, entry->version, version);
        } else {
            hash = hash_bytes(hash, line, length);
        }
        line = end + 1;
    }
    assert_string_equal(line, "");
    print_message("utf8proc knows Unicode %u.%u: %u marks of Unicode 16.0 are unknown to it\n",
                  version / 10, version % 10, newer);
    if (version > NEWEST)
        print_message("skipped: all other characters, which Unicode 16.0 may not know\n");
    else
        assert_true(hash == MARKS_HASH);
    free(text);
    hg_text_free(&found);
    hg_tokenizer_close(&tokenizer);
}

static void test_compositions(void **state)
{
    uint32_t version = hg_utf8proc_unicode(), i, part, seen = 0;
    hg_tokenizer *tokenizer = open_nfc();

    (void)state;
    for (i = 0; i < listed_count; i++) {
        char parts[24] = "", whole[8] = "", *found;
        size_t bytes = 0;
        if (listed[i].kind != HG_LISTED_COMPOSED)
            continue;
        for (part = 0; part < listed[i].parts_count; part++)
            bytes += hg_utf8_put(listed[i].parts[part], parts + bytes);
        hg_utf8_put(listed[i].first, whole);
        found = normalize(tokenizer, parts, bytes);
        assert_string_equal(found, listed[i].version > version ? parts : whole);
        hg_text_free(&found);
        seen++;
    }
    hg_tokenizer_close(&tokenizer);
    assert_int_equal(seen, 21);
}

/* Clusters are safe to normalise apart: whatever a character decomposes to, only its first part may
 * begin a cluster. */
static void test_boundaries(void **state)
{
    hg_tokenizer *tokenizer = open_nfc();
    uint32_t code, composed = 0;

    (void)state;
    for (code = 0x80; code < CODES; code++) {
        char text[8] = "", *found;
        size_t bytes;
        if (is_surrogate(code) || !hg_nfc_is_boundary(code))
            continue;
        bytes = hg_utf8_put(code, text);
        found = normalize(tokenizer, text, bytes);
        if (strcmp(found, text) != 0) {
            uint32_t first;
            hg_utf8_next(found, strlen(found), &first);
            assert_true(hg_nfc_is_boundary(first));
            composed++;
        }
        hg_text_free(&found);
    }
    hg_tokenizer_close(&tokenizer);
    assert_true(composed > 1000);
}

static void test_hangul(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"\xE1\x84\x80\xE1\x85\xA1", "\xEA\xB0\x80"},             /* L V */
        {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81"}, /* L V T */
        {"\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81"},             /* LV T */
        {"\xEA\xB0\x80\xE1\x86\xA7", "\xEA\xB0\x80\xE1\x86\xA7"}, /* LV U+11A7, which is no T */
        {"\xEA\xB0\x81\xE1\x86\xA8", "\xEA\xB0\x81\xE1\x86\xA8"}, /* LVT T */
        {"\xE1\x84\x80\xE1\x84\x80\xE1\x85\xA1", "\xE1\x84\x80\xEA\xB0\x80"}, /* L L V */
    };
    hg_tokenizer *tokenizer = open_nfc();
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *found = normalize(tokenizer, cases[i].text, strlen(cases[i].text));
        assert_string_equal(found, cases[i].expected);
        hg_text_free(&found);
    }
    hg_tokenizer_close(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),    cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_marks),      cmocka_unit_test(test_compositions),
        cmocka_unit_test(test_boundaries), cmocka_unit_test(test_hangul),
    };

    listed_count = hg_read_listed(listed);
    return cmocka_run_group_tests_name("tokenizer_unicode", tests, NULL, NULL);
}
