/* SPDX-License-Identifier: MIT */
/*
 * A label per token for people: decoded over the sequence, so that a character that several tokens
 * share is seen as one, and nothing in a label is invisible or moves what stands beside it.
 */
#include "tokenizer_parts.h"

#include "check.h"

#include <utf8proc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_BOX "\xE2\x90\xA3"      /* U+2423 */
#define RETURN_SYMBOL "\xE2\x8F\x8E" /* U+23CE */
#define TAB_ARROW "\xE2\x87\xA5"     /* U+21E5 */

typedef struct labeller {
    const hg_tokenizer *tokenizer;
    const int32_t *ids;
    hg_labels *labels;
    hg_bytes run;   /* bytes of tokens that follow each other without an added token between */
    size_t *ends;   /* [count] where each token's bytes end in run */
    hg_bytes label; /* the one being made */
} labeller;

/* 0: out of memory, here and below. */
static int add(labeller *lab, const char *text)
{
    return hg_bytes_append(&lab->label, text, strlen(text));
}

static int add_byte(labeller *lab, char byte)
{
    char shown[8];

    snprintf(shown, sizeof(shown), "<%02X>", (unsigned int)(unsigned char)byte);
    return add(lab, shown);
}

static int finish(labeller *lab, uint32_t index)
{
    char shown[16];
    char *text;

    if (lab->label.count == 0) {
        snprintf(shown, sizeof(shown), "<%d>", (int)lab->ids[index]);
        if (!add(lab, shown))
            return 0;
    }
    text = malloc(lab->label.count + 1);
    if (!text)
        return 0;
    memcpy(text, lab->label.data, lab->label.count);
    text[lab->label.count] = '\0';
    lab->labels->text[index] = text;
    lab->label.count = 0;
    return 1;
}

/* Draws nothing, or changes how its neighbours are drawn. Joiners inside a label are part of what
 * is drawn. */
static int is_hidden(const labeller *lab, uint32_t code)
{
    if (code == 0x200C || code == 0x200D)
        return lab->label.count == 0;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return 1;
    default:
        return 0;
    }
}

static int add_bytes(labeller *lab, const char *text, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        if (!add_byte(lab, text[i]))
            return 0;
    return 1;
}

/* One whole character; at_edge: only spaces stand before it in the token, or only spaces after it.
 */
static int add_character(labeller *lab, const char *text, uint32_t bytes, uint32_t code,
                         int at_edge)
{
    if (code == ' ')
        return add(lab, at_edge ? OPEN_BOX : " ");
    if (code == '\n')
        return add(lab, RETURN_SYMBOL);
    if (code == '\t')
        return add(lab, TAB_ARROW);
    if (is_hidden(lab, code))
        return add_bytes(lab, text, bytes);
    return hg_bytes_append(&lab->label, text, bytes);
}

/* The part of a token between its leading and its trailing spaces. */
static void find_core(const hg_bytes *run, size_t begin, size_t end, size_t *core_begin,
                      size_t *core_end)
{
    while (begin < end && run->data[begin] == ' ')
        begin++;
    while (end > begin && run->data[end - 1] == ' ')
        end--;
    *core_begin = begin;
    *core_end = end;
}

/* Tokens first..last (last excluded), whose bytes are lab->run. */
static int label_run(labeller *lab, uint32_t first, uint32_t last)
{
    const hg_bytes *run = &lab->run;
    uint32_t index = first;
    size_t at = 0, core_begin = 0, core_end = 0;
    size_t known = SIZE_MAX; /* the token that the core is of */

    while (index < last) {
        uint32_t code, length, i;
        if (at == lab->ends[index]) {
            if (!finish(lab, index++))
                return 0;
            continue;
        }
        if (known != index) {
            find_core(run, at, lab->ends[index], &core_begin, &core_end);
            known = index;
        }
        length = hg_utf8_next(run->data + at, run->count - at, &code);
        if (code != UINT32_MAX && at + length <= lab->ends[index]) {
            if (!add_character(lab, run->data + at, length, code,
                               at < core_begin || at >= core_end))
                return 0;
            at += length;
            continue;
        }
        for (i = 0; i < length; i++, at++) { /* a character in parts, or no character */
            while (at == lab->ends[index])
                if (!finish(lab, index++))
                    return 0;
            if (!add_byte(lab, run->data[at]))
                return 0;
        }
    }
    lab->run.count = 0;
    return 1;
}

/* An added token as the file spells it; only what would break the line is replaced. */
static int label_added(labeller *lab, uint32_t index, const char *text)
{
    size_t bytes = strlen(text);
    size_t at = 0;

    while (at < bytes) {
        uint32_t code;
        uint32_t length = hg_utf8_next(text + at, bytes - at, &code);
        if (!(code == ' ' ? add(lab, " ") : add_character(lab, text + at, length, code, 0)))
            return 0;
        at += length;
    }
    return finish(lab, index);
}

static int label_all(labeller *lab, uint32_t count)
{
    const hg_tokenizer *tokenizer = lab->tokenizer;
    uint32_t i, first = 0;

    for (i = 0; i < count; i++) {
        const char *token = tokenizer ? hg_tokenizer_token(tokenizer, lab->ids[i]) : NULL;
        int added = token && hg_added_flags(&tokenizer->added, (uint32_t)lab->ids[i]);
        if (token && !added) {
            if (!hg_vocab_bytes(&tokenizer->vocab, (uint32_t)lab->ids[i], &lab->run))
                return 0;
            lab->ends[i] = lab->run.count;
            continue;
        }
        if (!label_run(lab, first, i) || !(added ? label_added(lab, i, token) : finish(lab, i)))
            return 0;
        first = i + 1;
    }
    return label_run(lab, first, count);
}

hg_result hg_labels_create(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                           hg_labels **out)
{
    labeller lab = {0};
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    if (!ids && count)
        return HG_ERR_ARGUMENT;
    lab.tokenizer = tokenizer;
    lab.ids = ids;
    lab.ends = calloc((size_t)count + 1, sizeof(*lab.ends));
    lab.labels = calloc(1, sizeof(*lab.labels));
    if (lab.labels)
        lab.labels->text = calloc((size_t)count + 1, sizeof(*lab.labels->text));
    if (lab.labels && lab.labels->text)
        lab.labels->count = count;
    if (!lab.ends || !lab.labels || !lab.labels->text || !label_all(&lab, count)) {
        res = hg_fail(tokenizer ? &tokenizer->log : NULL, HG_ERR_HOST_MEMORY,
                      "out of memory for %u labels", count);
        goto out;
    }
    *out = lab.labels;
    lab.labels = NULL;
out:
    free(lab.run.data);
    free(lab.label.data);
    free(lab.ends);
    hg_labels_free(&lab.labels);
    return res;
}

void hg_labels_free(hg_labels **labels)
{
    uint32_t i;

    if (!labels || !*labels)
        return;
    for (i = 0; (*labels)->text && i < (*labels)->count; i++)
        free((*labels)->text[i]);
    free((*labels)->text);
    free(*labels);
    *labels = NULL;
}
