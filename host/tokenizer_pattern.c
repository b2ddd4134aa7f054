/* SPDX-License-Identifier: MIT */
/*
 * The regular expression of a tokenizer file. Such files are written for Oniguruma and run here by
 * PCRE2; what the two read differently is rewritten (\s) or refused, so that no text is cut in
 * silence elsewhere than it should be. Unicode versions differ too: see UNICODE.md.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer_parts.h"

#include "check.h"

#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

enum {
    PATTERN_BYTES_MAX = 16 * 1024,
    STEPS_FEW = 20 * 1000,    /* of one attempt at one place; a fair pattern takes a few per byte */
    STEPS_MANY = 1000 * 1000, /* for a long run of one kind of character, and more by its bytes: */
    STEPS_PER_BYTE = 16,
    PATIENCE = 1000, /* times that one call may need many */
    HEAP_KIB = 64 * 1024
};

struct hg_pattern {
    pcre2_code *code;
};

struct hg_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint32_t patience;
    const hg_log *log;
    const char *label;
};

/* White_Space of Unicode. PCRE2's own \s has U+180E besides, which lost that property in
 * Unicode 6.3. */
#define SPACES "\\t-\\r\\x{85}\\p{Z}"

typedef struct rewriter {
    const char *at, *end;
    hg_bytes out;
    const char *refused; /* what the two libraries read differently; NULL: nothing so far */
    int in_class;
    int first;    /* nothing but (?i) has been read */
    int caseless; /* (?i has been read */
    int memory;
    char escape[3];
} rewriter;

static void emit(rewriter *rw, const char *text, size_t bytes)
{
    if (!hg_bytes_append(&rw->out, text, bytes))
        rw->memory = 1;
}

static void copy(rewriter *rw, size_t bytes)
{
    if (bytes > (size_t)(rw->end - rw->at))
        bytes = (size_t)(rw->end - rw->at);
    emit(rw, rw->at, bytes);
    rw->at += bytes;
}

static void rewrite_escape(rewriter *rw)
{
    char c = '\0';

    if (rw->at + 1 < rw->end)
        c = rw->at[1];
    if (c == 's') {
        if (rw->in_class)
            emit(rw, SPACES, strlen(SPACES));
        else
            emit(rw, "[" SPACES "]", strlen("[" SPACES "]"));
        rw->at += 2;
    } else if (c == 'S' && !rw->in_class) {
        emit(rw, "[^" SPACES "]", strlen("[^" SPACES "]"));
        rw->at += 2;
    } else if ((c == 'p' || c == 'P' || c == 'x') && rw->at + 2 < rw->end && rw->at[2] == '{') {
        const char *close = memchr(rw->at, '}', (size_t)(rw->end - rw->at));
        copy(rw, close ? (size_t)(close - rw->at) + 1 : 2);
    } else if (c == 'b' && rw->in_class) {
        copy(rw, 2); /* backspace */
    } else if (c != '\0' && strchr("hHvVwWbBQECgkyYOXMRNKGUuLlc123456789", c)) {
        rw->escape[0] = '\\';
        rw->escape[1] = c;
        rw->refused = rw->escape;
    } else {
        copy(rw, 2);
    }
}

static void rewrite_in_class(rewriter *rw)
{
    char c = *rw->at;

    if (c == '[')
        rw->refused = "a bracket within brackets";
    else if (c == '&' && rw->at + 1 < rw->end && rw->at[1] == '&')
        rw->refused = "&&";
    else if (c == ']')
        rw->in_class = 0;
    if (!rw->refused)
        copy(rw, 1);
}

static void rewrite_class_start(rewriter *rw)
{
    rw->in_class = 1;
    copy(rw, 1);
    if (rw->at < rw->end && *rw->at == '^')
        copy(rw, 1);
    if (rw->at < rw->end && *rw->at == ']')
        copy(rw, 1); /* literal in both */
}

/* (?i) means the rest of the alternative here and the rest of the group there, unless it comes
 * first; m means two things. */
static void rewrite_group(rewriter *rw)
{
    size_t length = (size_t)(rw->end - rw->at);
    size_t i = 2;

    if (length > 1 && rw->at[1] == '*') {
        rw->refused = "(*";
        return;
    }
    if (length < 3 || rw->at[1] != '?' || strchr(":=!<>P", rw->at[2])) {
        rw->first = 0;
        copy(rw, 1);
        return;
    }
    while (i < length && (rw->at[i] == 'i' || rw->at[i] == '-'))
        i++;
    if (i == length || (rw->at[i] != ':' && !(rw->at[i] == ')' && rw->first))) {
        rw->refused = "(? with options other than (?i: ...)";
        return;
    }
    if (rw->at[i] == ':')
        rw->first = 0;
    rw->caseless = rw->caseless || i > 2;
    copy(rw, i + 1);
}

/* Without case, Oniguruma takes some letters for two or three (ss for U+00DF, fi for U+FB01), and
 * back. */
static int folds_to_several(const rewriter *rw)
{
    static const char *const pairs[] = {"ss", "st", "ff", "fi", "fl"};
    uint32_t code;
    size_t i;

    if (!rw->caseless)
        return 0;
    hg_utf8_next(rw->at, (size_t)(rw->end - rw->at), &code);
    if (code >= 0x80)
        return code < 0x2000 || (code >= 0xFB00 && code <= 0xFB17);
    for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && rw->end - rw->at > 1; i++)
        if (!rw->in_class && (rw->at[0] | 0x20) == pairs[i][0] && (rw->at[1] | 0x20) == pairs[i][1])
            return 1;
    return 0;
}

static void rewrite_step(rewriter *rw)
{
    char c = *rw->at;

    if (c != '(')
        rw->first = 0;
    if (folds_to_several(rw)) {
        rw->refused = "letters that may fold to several, after (?i";
    } else if (c == '\\') {
        rewrite_escape(rw);
    } else if (rw->in_class) {
        rewrite_in_class(rw);
    } else if (c == '[') {
        rewrite_class_start(rw);
    } else if (c == '(') {
        rewrite_group(rw);
    } else if (c == '}' && rw->at + 1 < rw->end && rw->at[1] == '+') {
        rw->refused = "}+";
    } else if (c == '{' && rw->at + 1 < rw->end && rw->at[1] == ',') {
        rw->refused = "{,";
    } else {
        copy(rw, 1);
    }
}

static hg_result rewrite(const hg_log *log, const char *label, const char *text, hg_bytes *out)
{
    rewriter rw = {text, text + strlen(text), {NULL, 0, 0}, NULL, 0, 1, 0, 0, ""};

    while (rw.at < rw.end && !rw.refused && !rw.memory)
        rewrite_step(&rw);
    *out = rw.out;
    if (rw.memory)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for the pattern", label);
    if (rw.refused)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: the pattern \"%.300s\" holds %s, which PCRE2 and the library that the file is "
            "written for read differently; this is not supported",
            label, text, rw.refused);
    return HG_OK;
}

static hg_result compile(const hg_log *log, const char *label, const char *text,
                         const char *rewritten, size_t bytes, uint32_t options, hg_pattern *pattern)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    PCRE2_SIZE offset = 0;
    int error = 0;

    if (!context)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for the pattern", label);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF); /* what . and $ stop at */
    pattern->code = pcre2_compile((PCRE2_SPTR)rewritten, bytes, options, &error, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code) {
        unsigned char reason[160] = "";
        pcre2_get_error_message(error, reason, sizeof(reason));
        return hg_fail(log, HG_ERR_FILE,
                       "%s: expected a regular expression that PCRE2 takes, found \"%.300s\": %s",
                       label, text, (const char *)reason);
    }
    /* Where a system forbids memory that can be run this fails, and the pattern is interpreted. */
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return HG_OK;
}

hg_result hg_pattern_create(const hg_log *log, const char *label, const char *text, uint32_t flags,
                            hg_pattern **out)
{
    uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK; /* JSON has been checked */
    hg_bytes rewritten = {NULL, 0, 0};
    hg_pattern *pattern = NULL;
    hg_result res = HG_OK;

    *out = NULL;
    if (strlen(text) > PATTERN_BYTES_MAX)
        return hg_fail(log, HG_ERR_FILE, "%s: expected a pattern of at most %d bytes, found %zu",
                       label, PATTERN_BYTES_MAX, strlen(text));
    pattern = calloc(1, sizeof(*pattern));
    if (!pattern)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for the pattern", label);
    if (flags & HG_PATTERN_LITERAL) {
        HG_TRY(compile(log, label, text, text, strlen(text), options | PCRE2_LITERAL, pattern));
    } else {
        options |= PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
        HG_TRY(rewrite(log, label, text, &rewritten));
        HG_TRY(compile(log, label, text, rewritten.data ? rewritten.data : "", rewritten.count,
                       options, pattern));
    }
    *out = pattern;
    pattern = NULL;
out:
    free(rewritten.data);
    hg_pattern_destroy(&pattern);
    return res;
}

void hg_pattern_destroy(hg_pattern **pattern)
{
    if (*pattern)
        pcre2_code_free((*pattern)->code);
    free(*pattern);
    *pattern = NULL;
}

hg_result hg_matcher_create(const hg_log *log, const char *label, hg_matcher **out)
{
    hg_matcher *matcher = calloc(1, sizeof(*matcher));

    *out = matcher;
    if (matcher) {
        matcher->log = log;
        matcher->label = label;
        matcher->patience = PATIENCE;
        matcher->data = pcre2_match_data_create(1, NULL);
        matcher->context = pcre2_match_context_create(NULL);
    }
    if (!matcher || !matcher->data || !matcher->context) {
        hg_matcher_destroy(out);
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory while encoding", label);
    }
    pcre2_set_heap_limit(matcher->context, HEAP_KIB);
    return HG_OK;
}

void hg_matcher_destroy(hg_matcher **matcher)
{
    if (*matcher) {
        pcre2_match_data_free((*matcher)->data);
        pcre2_match_context_free((*matcher)->context);
    }
    free(*matcher);
    *matcher = NULL;
}

static int attempt(const hg_pattern *pattern, hg_matcher *matcher, const char *text, size_t bytes,
                   size_t from, uint64_t steps, uint32_t options)
{
    int rc;

    options |= PCRE2_NO_UTF_CHECK;
    pcre2_set_match_limit(matcher->context, steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX);
    rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, from, options, matcher->data,
                     matcher->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has the heap */
        rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, bytes, from, options | PCRE2_NO_JIT,
                         matcher->data, matcher->context);
    return rc;
}

/* PCRE2 counts steps anew at every place it tries, so many steps are granted for one place at a
 * time and not often: otherwise a bad pattern could take them at every place of a long text. */
hg_result hg_pattern_find(const hg_pattern *pattern, hg_matcher *matcher, const char *text,
                          size_t bytes, size_t from, size_t *begin, size_t *end, int *found)
{
    const uint64_t many = STEPS_MANY + (uint64_t)STEPS_PER_BYTE * bytes;
    const PCRE2_SIZE *range;
    unsigned char reason[160] = "";
    int rc;

    for (;;) {
        uint32_t code;
        rc = attempt(pattern, matcher, text, bytes, from, STEPS_FEW, 0);
        if (rc != PCRE2_ERROR_MATCHLIMIT || matcher->patience == 0)
            break;
        matcher->patience--;
        rc = attempt(pattern, matcher, text, bytes, from, many, PCRE2_ANCHORED);
        if (rc != PCRE2_ERROR_NOMATCH || from == bytes)
            break;
        from += hg_utf8_next(text + from, bytes - from, &code);
    }
    *found = rc >= 0;
    *begin = bytes;
    *end = bytes;
    if (rc == PCRE2_ERROR_NOMATCH)
        return HG_OK;
    if (rc < 0) {
        pcre2_get_error_message(rc, reason, sizeof(reason));
        return hg_fail(
            matcher->log, HG_ERR_FILE,
            "%s: the pattern of the pre-tokenizer gives up on this text (%s); use a file with a "
            "simpler pattern",
            matcher->label, (const char *)reason);
    }
    range = pcre2_get_ovector_pointer(matcher->data);
    *begin = range[0];
    *end = range[1];
    return HG_OK;
}
