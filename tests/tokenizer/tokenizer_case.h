/* SPDX-License-Identifier: MIT */
/* What the tokenizer's tests share: opening with the log kept, small tokenizers made in memory,
 * recorded lines. */
#ifndef HG_TESTS_TOKENIZER_CASE_H
#define HG_TESTS_TOKENIZER_CASE_H

#include <headgate/tokenizer.h>

#include <cjson/cJSON.h>

typedef struct hg_kept_log {
    char last[2100]; /* the last line, of any level */
    int errors, warnings;
} hg_kept_log;

hg_log hg_keep(hg_kept_log *kept);

/* tests/reference/tokenizer/NAME/tokenizer.json; "qwen3" is unpacked first. NULL with *kept filled
 * when it does not open. */
hg_tokenizer *hg_open_case(const char *name, hg_kept_log *kept);

/* Parts of a tokenizer.json, as JSON; NULL: a default (byte tokens and the words below, NFC,
 * ByteLevel). */
typedef struct hg_small_file {
    const char *model;      /* the whole object */
    const char *vocab;      /* more members of the default model's vocab: "\"x y\":300" */
    const char *merges;     /* the default model's merges: "[\"a\",\"b\"]" */
    const char *model_keys; /* more members of the default model */
    const char *normalizer, *pre_tokenizer, *post_processor, *decoder;
    const char *added_tokens; /* the array */
} hg_small_file;

/* The text of such a file. Byte b has the id b; "ab" 256, "abc" 257, "bc" 258 are merged from a b,
 * ab c, b c. */
char *hg_small_text(const hg_small_file *file);
/* Opens it; fails the test unless result is what is expected. */
hg_tokenizer *hg_open_small(const hg_small_file *file, hg_result expected, hg_kept_log *kept);

/* Fails the test unless text encodes to ids[count]. */
void hg_check_ids(const hg_tokenizer *tokenizer, const char *text, size_t bytes, uint32_t flags,
                  const int32_t *ids, uint32_t count);

/* Lines of JSON from tests/reference/tokenizer/NAME. Strings may hold U+0000, which cJSON cannot:
 * in the lines it is U+F8FF, and hg_line_text puts it back. NULL at the end of the file; delete
 * with cJSON_Delete. */
typedef struct hg_lines hg_lines;
hg_lines *hg_lines_open(const char *name);
cJSON *hg_lines_next(hg_lines *lines);
void hg_lines_close(hg_lines *lines);
/* A member that is a string, as bytes; NULL when it is not there. Freed by the caller. */
char *hg_line_text(const cJSON *value, size_t *bytes);

/* The whole file, ended by NUL; fails the test when it cannot be read. */
char *hg_read_whole(const char *path, size_t *bytes);

#endif
