/* SPDX-License-Identifier: MIT */
/* See tokenizer_case.h. */
#include "tokenizer_case.h"

#include "tokenizer_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <zlib.h>

#define FOLDER HG_TEST_REFERENCE_DIR "/tokenizer/"
#define NUL_STAND_IN "\xEF\xA3\xBF" /* U+F8FF */

static void keep(void *user, hg_log_level level, const char *line)
{
    hg_kept_log *kept = user;

    snprintf(kept->last, sizeof(kept->last), "%s", line);
    kept->errors += level == HG_LOG_ERROR;
    kept->warnings += level == HG_LOG_WARNING;
}

hg_log hg_keep(hg_kept_log *kept)
{
    *kept = (hg_kept_log){"", 0, 0};
    return (hg_log){keep, kept, HG_LOG_DEBUG};
}

/* Unpacks into a new file whose name it writes to path. */
static void unpack(const char *packed, char *path)
{
    static char part[1 << 16];
    gzFile from = gzopen(packed, "rb");
    int to = mkstemp(path);
    int count;

    if (!from)
        fail_msg("%s: cannot be opened", packed);
    assert_true(to >= 0);
    while ((count = gzread(from, part, sizeof(part))) > 0)
        assert_int_equal(write(to, part, (size_t)count), count);
    assert_int_equal(count, 0);
    gzclose(from);
    close(to);
}

hg_tokenizer *hg_open_case(const char *name, hg_kept_log *kept)
{
    char path[4096];
    hg_tokenizer_params params = {sizeof(params), path, 0, hg_keep(kept)};
    hg_tokenizer *tokenizer;
    int unpacked = strcmp(name, "qwen3") == 0;
    hg_result res;

    if (unpacked) {
        snprintf(path, sizeof(path), "tokenizer-qwen3-XXXXXX");
        unpack(FOLDER "qwen3-tokenizer.json.gz", path);
    } else {
        snprintf(path, sizeof(path), FOLDER "%s", name);
    }
    res = hg_tokenizer_open(&params, &tokenizer);
    if (unpacked)
        unlink(path);
    assert_true((res == HG_OK) == (tokenizer != NULL));
    return tokenizer;
}

/* The default model's vocabulary: 256 bytes and three words. */
static size_t write_vocab(char *out)
{
    size_t at = 0;
    uint32_t byte;

    for (byte = 0; byte < 256; byte++) {
        char spelling[4];
        uint32_t length = hg_utf8_put(hg_byte_spelling(byte), spelling);
        at += (size_t)sprintf(out + at, "\"%s%.*s\":%u,", byte == '"' || byte == '\\' ? "\\" : "",
                              (int)length, spelling, byte);
    }
    return at + (size_t)sprintf(out + at, "\"ab\":256,\"abc\":257,\"bc\":258");
}

static const char *or_default(const char *text, const char *fallback)
{
    return text ? text : fallback;
}

char *hg_small_text(const hg_small_file *file)
{
    static char vocab[8192];
    size_t room = sizeof(vocab) + 4096;
    const char *const parts[] = {file->model,          file->vocab,      file->merges,
                                 file->model_keys,     file->normalizer, file->pre_tokenizer,
                                 file->post_processor, file->decoder,    file->added_tokens};
    char *model, *text;
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        room += parts[i] ? strlen(parts[i]) : 0;
    model = malloc(room);
    text = malloc(2 * room);
    assert_true(model && text);
    write_vocab(vocab);
    snprintf(model, room, "{\"type\":\"BPE\",\"vocab\":{%s%s%s},\"merges\":[%s]%s%s}", vocab,
             file->vocab ? "," : "", or_default(file->vocab, ""),
             or_default(file->merges, "[\"a\",\"b\"],[\"ab\",\"c\"],[\"b\",\"c\"]"),
             file->model_keys ? "," : "", or_default(file->model_keys, ""));
    snprintf(text, 2 * room,
             "{\"version\":\"1.0\",\"added_tokens\":%s,\"normalizer\":%s,\"pre_tokenizer\":%s,"
             "\"post_processor\":%s,"
             "\"decoder\":%s,\"model\":%s}",
             or_default(file->added_tokens, "[]"),
             or_default(file->normalizer, "{\"type\":\"NFC\"}"),
             or_default(file->pre_tokenizer,
                        "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"),
             or_default(file->post_processor, "null"),
             or_default(file->decoder, "{\"type\":\"ByteLevel\"}"), or_default(file->model, model));
    free(model);
    return text;
}

hg_tokenizer *hg_open_small(const hg_small_file *file, hg_result expected, hg_kept_log *kept)
{
    hg_tokenizer_params params = {sizeof(params), "small.json", 0, hg_keep(kept)};
    char *text = hg_small_text(file);
    hg_tokenizer *tokenizer;
    hg_result res = hg_tokenizer_open_text(&params, text, strlen(text), &tokenizer);

    free(text);
    if (res != expected)
        fail_msg("expected %s, found %s: %s", hg_result_name(expected), hg_result_name(res),
                 kept->last);
    assert_true((res == HG_OK) == (tokenizer != NULL));
    assert_int_equal(kept->errors, res == HG_OK ? 0 : 1);
    return tokenizer;
}

void hg_check_ids(const hg_tokenizer *tokenizer, const char *text, size_t bytes, uint32_t flags,
                  const int32_t *ids, uint32_t count)
{
    hg_encoding *encoding;
    uint32_t i;

    assert_int_equal(hg_tokenizer_encode(tokenizer, text, bytes, flags, &encoding), HG_OK);
    for (i = 0; i < count && i < encoding->count; i++)
        if (encoding->ids[i] != ids[i])
            fail_msg("\"%s\": token %u: expected %d, found %d", text, i, (int)ids[i],
                     (int)encoding->ids[i]);
    assert_int_equal(encoding->count, count);
    hg_encoding_free(&encoding);
    assert_null(encoding);
}

char *hg_read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;

    if (!file)
        fail_msg("%s: cannot be opened", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    if (bytes)
        *bytes = (size_t)size;
    return text;
}

struct hg_lines {
    char *text, *at;
};

hg_lines *hg_lines_open(const char *name)
{
    char path[4096];
    hg_lines *lines = malloc(sizeof(*lines));

    assert_non_null(lines);
    snprintf(path, sizeof(path), FOLDER "%s", name);
    lines->text = hg_read_whole(path, NULL);
    lines->at = lines->text;
    return lines;
}

cJSON *hg_lines_next(hg_lines *lines)
{
    char *line = lines->at;
    char *end = strchr(line, '\n');
    char *at;
    cJSON *value;

    if (*line == '\0')
        return NULL;
    if (end)
        *end = '\0';
    lines->at = end ? end + 1 : line + strlen(line);
    assert_null(strstr(line, "\\uf8ff"));
    for (at = line; *at; at++) {
        if (*at != '\\')
            continue;
        if (strncmp(at, "\\u0000", 6) == 0)
            memcpy(at, "\\uf8ff", 6);
        at++; /* what is escaped: a backslash, perhaps */
    }
    value = cJSON_Parse(line);
    assert_non_null(value);
    return value;
}

void hg_lines_close(hg_lines *lines)
{
    free(lines->text);
    free(lines);
}

char *hg_line_text(const cJSON *value, size_t *bytes)
{
    const char *from;
    char *text, *to;

    if (!cJSON_IsString(value))
        return NULL;
    text = malloc(strlen(value->valuestring) + 1);
    assert_non_null(text);
    to = text;
    for (from = value->valuestring; *from;) {
        if (strncmp(from, NUL_STAND_IN, 3) == 0) {
            *to++ = '\0';
            from += 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    *bytes = (size_t)(to - text);
    return text;
}
