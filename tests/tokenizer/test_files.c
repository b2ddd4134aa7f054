/* SPDX-License-Identifier: MIT */
/* Files that are broken, hostile or of another kind: tests/reference/bad, and one change at a time
 * to a good one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>

#include "tokenizer_case.h"
#include "tokenizer_parts.h"

#define BAD HG_TEST_REFERENCE_DIR "/bad"

static cJSON *read_case(const char *folder)
{
    char path[4096];
    char *text;
    cJSON *value;

    snprintf(path, sizeof(path), BAD "/%s/case.json", folder);
    text = hg_read_whole(path, NULL);
    value = cJSON_Parse(text);
    assert_non_null(value);
    free(text);
    return value;
}

/* Opens the tokenizer, encodes text.txt, decodes it and makes labels; what the first failure says.
 */
static hg_result use_case(const char *folder, hg_kept_log *kept)
{
    char path[4096];
    hg_tokenizer_params params = {sizeof(params), path, 0, hg_keep(kept)};
    hg_tokenizer *tokenizer;
    hg_encoding *encoding;
    hg_labels *labels;
    hg_result res;
    char *text, *back;
    size_t bytes, back_bytes;

    snprintf(path, sizeof(path), BAD "/%s", folder);
    if (strcmp(folder, "tokenizer-ids-beyond-vocab") == 0)
        params.vocab_limit = 24; /* of the model beside it */
    res = hg_tokenizer_open(&params, &tokenizer);
    if (res != HG_OK) {
        assert_null(tokenizer);
        return res;
    }
    snprintf(path, sizeof(path), BAD "/%s/text.txt", folder);
    text = hg_read_whole(path, &bytes);
    res = hg_tokenizer_encode(tokenizer, text, bytes, 0, &encoding);
    if (res == HG_OK) {
        assert_int_equal(
            hg_tokenizer_decode(tokenizer, encoding->ids, encoding->count, 0, &back, &back_bytes),
            HG_OK);
        assert_int_equal(hg_labels_create(tokenizer, encoding->ids, encoding->count, &labels),
                         HG_OK);
        hg_text_free(&back);
        hg_labels_free(&labels);
    }
    hg_encoding_free(&encoding);
    hg_tokenizer_close(&tokenizer);
    free(text);
    return res;
}

static void test_bad_cases(void **state)
{
    DIR *folder = opendir(BAD);
    const struct dirent *entry;
    uint32_t count = 0, refused = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        hg_kept_log kept;
        const char *expect;
        cJSON *info;
        hg_result res;
        if (strncmp(entry->d_name, "tokenizer-", 10) != 0)
            continue;
        info = read_case(entry->d_name);
        expect = cJSON_GetObjectItemCaseSensitive(info, "expect")->valuestring;
        res = use_case(entry->d_name, &kept);
        print_message("%-34s %-7s %s%s%s\n", entry->d_name, expect, hg_result_name(res),
                      kept.last[0] ? ": " : "",
                      kept.last + (strncmp(kept.last, BAD, strlen(BAD)) == 0 ? strlen(BAD) : 0));
        assert_true(res == HG_OK || res == HG_ERR_FILE);
        if (strcmp(expect, "either") != 0)
            assert_true((res == HG_OK) == (strcmp(expect, "error") != 0));
        assert_int_equal(kept.errors, res == HG_OK ? 0 : 1);
        refused += res != HG_OK;
        count++;
        cJSON_Delete(info);
    }
    closedir(folder);
    print_message("%u files, %u refused\n", count, refused);
    assert_int_equal(count, 28);
}

static void test_paths(void **state)
{
    hg_kept_log kept;
    hg_tokenizer_params params = {
        sizeof(params), HG_TEST_REFERENCE_DIR "/tokenizer/small/tokenizer.json", 0, {0}};
    hg_tokenizer *tokenizer;

    (void)state;
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_OK);
    assert_int_equal(hg_tokenizer_size(tokenizer), 2048);
    assert_string_equal(hg_tokenizer_token(tokenizer, 0), "<|endoftext|>");
    assert_null(hg_tokenizer_token(tokenizer, 2048));
    assert_null(hg_tokenizer_token(tokenizer, -1));
    assert_true(hg_tokenizer_is_special(tokenizer, 0));
    assert_false(hg_tokenizer_is_special(tokenizer, 1));
    assert_false(hg_tokenizer_is_special(tokenizer, -1));
    hg_tokenizer_close(&tokenizer);
    hg_tokenizer_close(&tokenizer);
    hg_tokenizer_close(NULL);
    params.log = hg_keep(&kept);
    params.path = HG_TEST_REFERENCE_DIR "/tokenizer"; /* a folder without the file */
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_ERR_FILE);
    assert_non_null(strstr(kept.last, "tokenizer.json"));
    params.path = HG_TEST_REFERENCE_DIR "/no such place";
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_ERR_FILE);
    params.path = NULL;
    assert_int_equal(hg_tokenizer_open(&params, &tokenizer), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_open(NULL, &tokenizer), HG_ERR_ARGUMENT);
    assert_int_equal(hg_tokenizer_open(&params, NULL), HG_ERR_ARGUMENT);
}

typedef struct change {
    hg_small_file file;
    const char *says; /* part of the sentence; NULL: it opens */
} change;

static void check_changes(const change *changes, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        hg_kept_log kept;
        hg_tokenizer *tokenizer =
            hg_open_small(&changes[i].file, changes[i].says ? HG_ERR_FILE : HG_OK, &kept);
        if (changes[i].says && !strstr(kept.last, changes[i].says))
            fail_msg("expected \"%s\" in: %s", changes[i].says, kept.last);
        hg_tokenizer_close(&tokenizer);
    }
}

/* Each other kind is named. */
static void test_kinds(void **state)
{
    static const change changes[] = {
        {{.model = NULL}, NULL},
        {{.model = "{\"type\":\"Unigram\",\"vocab\":[]}"}, "Unigram"},
        {{.model = "{\"type\":\"WordLevel\",\"vocab\":{}}"}, "WordLevel"},
        {{.model = "{\"vocab\":{}}"}, "an object without type"},
        {{.model = "7"}, "model"},
        {{.model = "null"}, "model"},
        {{.model_keys = "\"byte_fallback\":true"}, "byte_fallback"},
        {{.model_keys =
              "\"byte_fallback\":false,\"dropout\":null,\"continuing_subword_prefix\":\"\""},
         NULL},
        {{.model_keys = "\"continuing_subword_prefix\":\"##\""}, "continuing_subword_prefix"},
        {{.model_keys = "\"end_of_word_suffix\":\"</w>\""}, "end_of_word_suffix"},
        {{.model_keys = "\"dropout\":0.1"}, "dropout"},
        {{.normalizer = "null"}, NULL},
        {{.normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}"}, NULL},
        {{.normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":"
                        "\"Lowercase\"}]}"},
         "Lowercase"},
        {{.normalizer = "{\"type\":\"NFKC\"}"}, "NFKC"},
        {{.pre_tokenizer = "null"}, "ByteLevel"},
        {{.pre_tokenizer = "{\"type\":\"Metaspace\"}"}, "Metaspace"},
        {{.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[]}"}, "ByteLevel"},
        {{.pre_tokenizer = "{\"type\":\"Sequence\"}"}, "pretokenizers"},
        {{.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"}]}"},
         "Digits"},
        {{.pre_tokenizer = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                           "\"add_prefix_space\":"
                           "false},{\"type\":\"Whitespace\"}]}"},
         "Whitespace"},
        {{.decoder = "null"}, NULL},
        {{.decoder = "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteLevel\"}]}"}, NULL},
        {{.decoder = "{\"type\":\"WordPiece\"}"}, "WordPiece"},
        {{.decoder = "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteLevel\"},{\"type\":"
                     "\"Fuse\"}]}"},
         "Fuse"},
        {{.post_processor = "{\"type\":\"ByteLevel\"}"}, NULL},
        {{.post_processor = "{\"type\":\"RobertaProcessing\"}"}, "RobertaProcessing"},
        {{.post_processor = "{\"type\":\"BertProcessing\"}"}, "BertProcessing"},
        {{.post_processor = "[]"}, "something else than an object"},
    };

    (void)state;
    check_changes(changes, sizeof(changes) / sizeof(changes[0]));
}

#define SPLIT(pattern, behavior)                                                                   \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{" pattern          \
    "},\"behavior\":\"" behavior "\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_"      \
    "space\":false,\"use_regex\":false}]}"
#define REGEX(text) SPLIT("\"Regex\":\"" text "\"", "Isolated")

/* What PCRE2 would read in silence as something else is refused. */
static void test_patterns(void **state)
{
    static const change changes[] = {
        {{.pre_tokenizer = REGEX(
              "(?i)'s|\\\\s+(?!\\\\S)|(?:a|[^\\\\s\\\\]x-]++)|\\\\p{L}+|\\\\x{41}+|\\\\N{1,3}")},
         "\\N"},
        {{.pre_tokenizer = REGEX(
              "(?i)'s|\\\\s+(?!\\\\S)|(?:a|[^\\\\s\\\\]x-]++)|\\\\p{L}+|\\\\x{41}+|\\\\d{1,3}")},
         NULL},
        {{.pre_tokenizer = REGEX("(?<=a)b|(?<!a)c|(?>d)|[]e]")}, NULL},
        {{.pre_tokenizer = REGEX("\\\\w+")}, "\\w"},
        {{.pre_tokenizer = REGEX("[\\\\h]")}, "\\h"},
        {{.pre_tokenizer = REGEX("a\\\\b")}, "\\b"},
        {{.pre_tokenizer = REGEX("[a&&b]")}, "&&"},
        {{.pre_tokenizer = REGEX("[a[b]]")}, "bracket"},
        {{.pre_tokenizer = REGEX("[[:alpha:]]")}, "bracket"},
        {{.pre_tokenizer = REGEX("a{1,3}+")}, "}+"},
        {{.pre_tokenizer = REGEX("a{,3}")}, "{,"},
        {{.pre_tokenizer = REGEX("a(?i)b")}, "(?i: ...)"},
        {{.pre_tokenizer = REGEX("(?m:a.b)")}, "(?i: ...)"},
        {{.pre_tokenizer =
              REGEX("ss|[\\u4e00-\\u9fa5]|(?i:'s|'t|'re|'ve|'m|'ll|'d)|[\\u4e00-\\u9fa5]")},
         NULL},
        {{.pre_tokenizer = REGEX("(?i:\\u00df)")}, "fold"},
        {{.pre_tokenizer = REGEX("(?i)FIne")}, "fold"},
        {{.pre_tokenizer = REGEX("(*UTF)a")}, "(*"},
        {{.pre_tokenizer = REGEX("(a)\\\\1")}, "\\1"},
        {{.pre_tokenizer = REGEX("a(")}, "regular expression"},
        {{.pre_tokenizer = REGEX("\\\\p{Nonsense}")}, "regular expression"},
        {{.pre_tokenizer = REGEX("a\\\\")}, "regular expression"},
        {{.pre_tokenizer = SPLIT("\"String\":\"a(\"", "Isolated")}, NULL},
        {{.pre_tokenizer = SPLIT("\"Glob\":\"a\"", "Isolated")}, "pattern"},
        {{.pre_tokenizer = SPLIT("\"Regex\":\"a\"", "MergedWithNext")}, "MergedWithNext"},
    };

    (void)state;
    check_changes(changes, sizeof(changes) / sizeof(changes[0]));
}

static void test_values(void **state)
{
    static const change changes[] = {
        {{.vocab = "\"new\":300"}, NULL},
        {{.vocab = "\"new\":255"}, "both have the id 255"},
        {{.vocab = "\"new\":4194304"}, "0..4194303"},
        {{.vocab = "\"new\":\"7\""}, "0..4194303"},
        {{.vocab = "\"ab\":300"}, "twice"},
        {{.merges = ""}, NULL},
        {{.merges = "\"a b\",\"ab c\""}, NULL},
        {{.merges = "\"#version: 0.2\",\"a b\""}, NULL},
        {{.merges = "\"a b c\""}, "merge 1"},
        {{.merges = "\"a b\",\"ab\""}, "merge 2"},
        {{.merges = "\" ab\""}, "merge 1"},
        {{.merges = "[\"a\",\"b\",\"c\"]"}, "merge 1"},
        {{.merges = "[\"a\"]"}, "merge 1"},
        {{.merges = "[\"a\",7]"}, "merge 1"},
        {{.merges = "[\"b\",\"a\"]"}, "not there"},
        {{.model_keys = "\"ignore_merges\":1"}, "ignore_merges"},
        {{.added_tokens = "null"}, NULL},
        {{.added_tokens = "{}"}, "added_tokens"},
        {{.added_tokens = "[7]"}, "added_tokens"},
        {{.added_tokens = "[{\"id\":300}]"}, "content"},
        {{.added_tokens = "[{\"id\":-1,\"content\":\"<x>\"}]"}, "id"},
        {{.added_tokens = "[{\"id\":97,\"content\":\"a\"}]"}, NULL},
        {{.added_tokens = "[{\"id\":98,\"content\":\"a\"}]"}, "belongs to the token"},
        {{.added_tokens = "[{\"id\":300,\"content\":\"a\"}]"}, "97 in vocab"},
        {{.added_tokens = "[{\"id\":300,\"content\":\"<x>\"},{\"id\":300,\"content\":\"<y>\"}]"},
         "belongs to the token"},
        {{.added_tokens = "[{\"id\":300,\"content\":\"<x>\"},{\"id\":300,\"content\":\"<x>\"}]"},
         NULL},
        {{.added_tokens = "[{\"id\":300,\"content\":\"<x>\",\"lstrip\":\"yes\"}]"}, "lstrip"},
        {{.post_processor =
              "{\"type\":\"TemplateProcessing\",\"single\":[],\"special_tokens\":{}}"},
         "sequence A"},
        {{.post_processor = "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":"
                            "\"B\",\"type_id\":0}}],"
                            "\"special_tokens\":{}}"},
         "sequence A"},
        {{.post_processor =
              "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"
              "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[999]}}}"},
         "no token"},
    };

    (void)state;
    check_changes(changes, sizeof(changes) / sizeof(changes[0]));
}

/* Keys that all want the same slot of the table under its first seed. */
static void test_crowded_table(void **state)
{
    enum { KEYS = 600, SLOTS = 2048 }; /* 256 + 3 + 600 tokens */
    static char vocab[KEYS * 24];
    hg_small_file file = {.vocab = vocab};
    hg_tokenizer *tokenizer;
    hg_kept_log kept;
    size_t at = 0;
    uint32_t number, made = 0;
    char token[16];

    (void)state;
    for (number = 0; made < KEYS; number++) {
        uint64_t word = 0;
        int bytes = snprintf(token, sizeof(token), "%08x", number);
        memcpy(&word, token, 8);
        if ((hg_hash_mix((uint64_t)bytes ^ word, 1) & (SLOTS - 1)) != 0)
            continue;
        at += (size_t)sprintf(vocab + at, "%s\"%s\":%u", made ? "," : "", token, 1000 + made);
        made++;
    }
    tokenizer = hg_open_small(&file, HG_OK, &kept);
    assert_true(tokenizer->vocab.seed > 1);
    assert_int_equal(tokenizer->vocab.slot_mask, SLOTS - 1);
    assert_int_equal(hg_vocab_find(&tokenizer->vocab, token, 8), 1000 + KEYS - 1);
    assert_int_equal(hg_vocab_find(&tokenizer->vocab, "ab", 2), 256);
    assert_int_equal(hg_vocab_find(&tokenizer->vocab, "abd", 3), HG_TOKEN_NONE);
    hg_tokenizer_close(&tokenizer);
}

/* Every cut and every changed byte of a good file: an answer, no crash. */
static void test_mutations(void **state)
{
    const hg_small_file file = {.added_tokens =
                                    "[{\"id\":300,\"content\":\"<x>\",\"lstrip\":true}]"};
    char *text = hg_small_text(&file);
    size_t bytes = strlen(text), i;
    uint32_t opened = 0;

    (void)state;
    for (i = 0; i < 2 * bytes; i++) {
        hg_kept_log kept;
        hg_tokenizer_params params = {sizeof(params), "mutated.json", 0, hg_keep(&kept)};
        hg_tokenizer *tokenizer;
        char old = text[i / 2];
        hg_result res;
        if (i % 2)
            text[i / 2] = (char)(old ^ 1);
        res = hg_tokenizer_open_text(&params, text, i % 2 ? bytes : i / 2, &tokenizer);
        text[i / 2] = old;
        assert_true(res == HG_OK || res == HG_ERR_FILE);
        assert_int_equal(kept.errors, res != HG_OK);
        opened += res == HG_OK;
        hg_tokenizer_close(&tokenizer);
    }
    free(text);
    print_message("%zu changed files, %u still valid\n", 2 * bytes, opened);
    assert_true(opened > 0 && opened < bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_cases), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_kinds),     cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_crowded_table),
        cmocka_unit_test(test_mutations),
    };

    return cmocka_run_group_tests_name("tokenizer_files", tests, NULL, NULL);
}
