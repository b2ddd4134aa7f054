/* SPDX-License-Identifier: MIT */
/*
 * The pre-tokenizer: steps that cut text into the pieces that are merged apart. Knows Split and
 * ByteLevel, alone or in a Sequence that ends with ByteLevel.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* The expression that ByteLevel has built in. */
static const char BYTE_LEVEL_PATTERN[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- reading ---- */

static hg_result add_step(const hg_log *log, const char *label, hg_split_step step,
                          hg_splitter *out)
{
    if (out->count == HG_SPLIT_STEPS_MAX) {
        hg_pattern_destroy(&step.pattern);
        return hg_fail(log, HG_ERR_FILE, "%s: pre_tokenizer: expected at most %d steps, found more",
                       label, HG_SPLIT_STEPS_MAX);
    }
    out->steps[out->count++] = step;
    return HG_OK;
}

static hg_result read_split(const hg_log *log, const char *label, const cJSON *node,
                            hg_splitter *out)
{
    const hg_json_from from = {log, label, node};
    const cJSON *pattern = hg_json_find(node, "pattern");
    const cJSON *regex = hg_json_find(pattern, "Regex");
    const cJSON *literal = hg_json_find(pattern, "String");
    const cJSON *text = regex ? regex : literal;
    hg_split_step step = {NULL, 0, 0};
    const char *behavior;
    int no = 0, invert;
    hg_result res;

    if (!cJSON_IsString(text))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: pre_tokenizer: expected Split to have a pattern of {\"Regex\": ...} or "
                       "{\"String\": ...}, found another",
                       label);
    HG_TRY(hg_json_string(&from, "behavior", NULL, &behavior));
    HG_TRY(hg_json_bool(&from, "invert", &no, &invert));
    if (strcmp(behavior, "Isolated") != 0 && strcmp(behavior, "Removed") != 0)
        return hg_fail(log, HG_ERR_FILE,
                       "%s: pre_tokenizer: Split with the behavior %.60s is not supported, only "
                       "Isolated and Removed",
                       label, behavior);
    step.drop = strcmp(behavior, "Removed") == 0;
    step.invert = invert != 0;
    HG_TRY(hg_pattern_create(log, label, text->valuestring, regex ? 0 : HG_PATTERN_LITERAL,
                             &step.pattern));
    res = add_step(log, label, step, out);
out:
    return res;
}

static hg_result read_byte_level(const hg_log *log, const char *label, const cJSON *node,
                                 hg_splitter *out)
{
    const hg_json_from from = {log, label, node};
    hg_split_step step = {NULL, 0, 0};
    int yes = 1, prefix, cut;
    hg_result res;

    HG_TRY(hg_json_bool(&from, "add_prefix_space", NULL, &prefix));
    HG_TRY(hg_json_bool(&from, "use_regex", &yes, &cut)); /* older files lack the key */
    if (prefix)
        HG_TRY(add_step(log, label, step, out));
    if (cut) {
        HG_TRY(hg_pattern_create(log, label, BYTE_LEVEL_PATTERN, 0, &step.pattern));
        HG_TRY(add_step(log, label, step, out));
    }
out:
    return res;
}

hg_result hg_splitter_read(const hg_log *log, const char *label, const cJSON *node,
                           hg_splitter *out)
{
    const char *kind = hg_tokenizer_kind(node);
    const cJSON *list = NULL;
    const cJSON *part = node;
    int ended = 0;
    hg_result res = HG_OK;

    if (strcmp(kind, "Sequence") == 0) {
        list = hg_json_find(node, "pretokenizers");
        if (!cJSON_IsArray(list))
            return hg_fail(
                log, HG_ERR_FILE,
                "%s: pre_tokenizer: expected Sequence to have the array pretokenizers, found none",
                label);
        part = list->child;
    }
    for (; part && res == HG_OK; part = list ? part->next : NULL) {
        kind = hg_tokenizer_kind(part);
        if (ended)
            return hg_fail(log, HG_ERR_FILE,
                           "%s: pre_tokenizer: %.60s after ByteLevel is not supported", label,
                           kind);
        if (strcmp(kind, "Split") == 0) {
            res = read_split(log, label, part, out);
        } else if (strcmp(kind, "ByteLevel") == 0) {
            ended = 1;
            res = read_byte_level(log, label, part, out);
        } else {
            return hg_fail(log, HG_ERR_FILE,
                           "%s: pre_tokenizer: %.60s is not supported, only Split and ByteLevel",
                           label, kind);
        }
    }
    if (res == HG_OK && !ended)
        res = hg_fail(log, HG_ERR_FILE,
                      "%s: the tokenizer is BPE without ByteLevel as the last pre_tokenizer; only "
                      "byte-level BPE is "
                      "supported",
                      label);
    return res;
}

void hg_splitter_release(hg_splitter *splitter)
{
    uint32_t i;

    for (i = 0; i < splitter->count; i++)
        hg_pattern_destroy(&splitter->steps[i].pattern);
    *splitter = (hg_splitter){0};
}

/* ---- cutting ---- */

typedef struct cutter {
    hg_matcher *matcher;
    const hg_log *log;
    const char *label;
    hg_stretch *stretch;
    hg_pieces *pieces;
    size_t made; /* pieces of the step so far, in pieces->spare */
} cutter;

static hg_result no_memory(const cutter *cut)
{
    return hg_fail(cut->log, HG_ERR_HOST_MEMORY, "%s: out of memory while encoding", cut->label);
}

static hg_result make_piece(cutter *cut, size_t begin, size_t end)
{
    hg_pieces *pieces = cut->pieces;

    if (begin == end)
        return HG_OK;
    if (!hg_array_reserve(&pieces->spare, &pieces->spare_capacity, cut->made + 1,
                          sizeof(*pieces->spare)))
        return no_memory(cut);
    pieces->spare[cut->made++] = (hg_piece){(uint32_t)begin, (uint32_t)end};
    return HG_OK;
}

/* The pattern sees the piece alone: what stands before and after is not there for it. */
static hg_result cut_piece(cutter *cut, const hg_split_step *step, hg_piece piece)
{
    const char *text = cut->stretch->text + piece.begin;
    size_t bytes = piece.end - piece.begin;
    size_t done = 0, from = 0;
    hg_result res = HG_OK;

    while (from < bytes) {
        size_t begin, end;
        int found;
        HG_TRY(
            hg_pattern_find(step->pattern, cut->matcher, text, bytes, from, &begin, &end, &found));
        if (!found)
            break;
        if (!step->drop || !step->invert)
            HG_TRY(make_piece(cut, piece.begin + done, piece.begin + begin));
        if (!step->drop || step->invert)
            HG_TRY(make_piece(cut, piece.begin + begin, piece.begin + end));
        done = end;
        from = end;
        if (begin == end && end < bytes) { /* an empty match: go on after the next character */
            uint32_t code;
            from += hg_utf8_next(text + end, bytes - end, &code);
        }
    }
    if (!step->drop || !step->invert)
        res = make_piece(cut, piece.begin + done, piece.end);
out:
    return res;
}

/* Pieces that do not begin with a space get one, which stands for no byte of the source. */
static hg_result prefix_pieces(cutter *cut)
{
    hg_stretch *in = cut->stretch;
    hg_stretch out = {NULL, 0, in->base, NULL, NULL, NULL, 0};
    hg_result res = HG_OK;
    size_t i, at;

    if (!hg_stretch_reserve(&out, in->bytes + cut->pieces->count))
        goto memory;
    for (i = 0; i < cut->pieces->count; i++) {
        hg_piece piece = cut->pieces->items[i];
        size_t begin = out.bytes;
        if (in->text[piece.begin] != ' ') {
            uint32_t end;
            hg_stretch_source(in, piece.begin, piece.begin, &out.begin[out.bytes], &end);
            out.end[out.bytes] = out.begin[out.bytes];
            out.owned[out.bytes++] = ' ';
        }
        for (at = piece.begin; at < piece.end; at++) {
            hg_stretch_source(in, at, at, &out.begin[out.bytes], &out.end[out.bytes]);
            out.owned[out.bytes++] = in->text[at];
        }
        HG_TRY(make_piece(cut, begin, out.bytes));
    }
    out.text = out.owned;
    hg_stretch_release(in);
    *in = out;
    out = (hg_stretch){0};
    goto out;
memory:
    res = no_memory(cut);
out:
    hg_stretch_release(&out);
    return res;
}

hg_result hg_splitter_run(const hg_splitter *splitter, hg_matcher *matcher, const hg_log *log,
                          const char *label, hg_stretch *stretch, hg_pieces *out)
{
    cutter cut = {matcher, log, label, stretch, out, 0};
    hg_result res = HG_OK;
    uint32_t i;
    size_t piece;

    out->count = 0;
    if (stretch->bytes == 0)
        return HG_OK;
    if (!hg_array_reserve(&out->items, &out->capacity, 1, sizeof(*out->items)))
        return no_memory(&cut);
    out->items[out->count++] = (hg_piece){0, (uint32_t)stretch->bytes};
    for (i = 0; i < splitter->count; i++) {
        const hg_split_step *step = &splitter->steps[i];
        hg_piece *items = out->items;
        size_t capacity = out->capacity;
        cut.made = 0;
        if (step->pattern)
            for (piece = 0; piece < out->count; piece++)
                HG_TRY(cut_piece(&cut, step, out->items[piece]));
        else
            HG_TRY(prefix_pieces(&cut));
        out->items = out->spare;
        out->capacity = out->spare_capacity;
        out->spare = items;
        out->spare_capacity = capacity;
        out->count = cut.made;
    }
out:
    return res;
}

void hg_pieces_release(hg_pieces *pieces)
{
    free(pieces->items);
    free(pieces->spare);
    *pieces = (hg_pieces){0};
}
