/* SPDX-License-Identifier: MIT */
/*
 * The merges of a byte-level BPE model, and one word merged by them. A word of n bytes costs n log
 * n: the possible merges wait in a heap, lowest rank first and leftmost among equals.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

#define NO_SYMBOL UINT32_MAX

static uint64_t pair_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

/* The merge of that pair, or the empty slot for it; NULL when it would be too far away. */
static hg_merge *find_merge(const hg_bpe *bpe, uint64_t pair)
{
    uint64_t slot = hg_hash_mix(pair, bpe->seed) & bpe->slot_mask;
    int probes;

    for (probes = 0; probes < HG_HASH_PROBES_MAX; probes++) {
        hg_merge *merge = &bpe->slots[slot];
        if (merge->id == HG_TOKEN_NONE || merge->pair == pair)
            return merge;
        slot = (slot + 1) & bpe->slot_mask;
    }
    return NULL;
}

/* ---- reading ---- */

typedef struct merge_reader {
    const hg_log *log;
    const char *label;
    const hg_vocab *vocab;
    hg_merge *list; /* [count] in the order of the file */
    uint32_t count;
    hg_bytes joined;
} merge_reader;

static hg_result read_parts(merge_reader *reader, const cJSON *entry, const char **left,
                            size_t *left_bytes, const char **right)
{
    char shown[96];

    if (cJSON_IsArray(entry) && cJSON_IsString(entry->child) &&
        cJSON_IsString(entry->child->next) && !entry->child->next->next) {
        *left = entry->child->valuestring;
        *left_bytes = strlen(*left);
        *right = entry->child->next->valuestring;
        return HG_OK;
    }
    if (cJSON_IsString(entry)) {
        const char *space = strchr(entry->valuestring, ' ');
        if (space && !strchr(space + 1, ' ')) {
            *left = entry->valuestring;
            *left_bytes = (size_t)(space - entry->valuestring);
            *right = space + 1;
            return HG_OK;
        }
    }
    return hg_fail(reader->log, HG_ERR_FILE,
                   "%s: merge %u: expected two parts, as [\"a\", \"b\"] or \"a b\", found %s",
                   reader->label, reader->count + 1, hg_json_show(entry, shown, sizeof(shown)));
}

static hg_result read_merge(merge_reader *reader, const cJSON *entry)
{
    const char *left = NULL, *right = "";
    size_t left_bytes = 0, right_bytes;
    uint32_t left_id, right_id, id;
    hg_result res = read_parts(reader, entry, &left, &left_bytes, &right);

    if (res != HG_OK)
        return res;
    right_bytes = strlen(right);
    reader->joined.count = 0;
    if (!hg_bytes_append(&reader->joined, left, left_bytes) ||
        !hg_bytes_append(&reader->joined, right, right_bytes))
        return hg_fail(reader->log, HG_ERR_HOST_MEMORY, "%s: out of memory for the merges",
                       reader->label);
    left_id = hg_vocab_find(reader->vocab, left, left_bytes);
    right_id = hg_vocab_find(reader->vocab, right, right_bytes);
    id = hg_vocab_find(reader->vocab, reader->joined.data, reader->joined.count);
    if (left_bytes == 0 || right_bytes == 0 || left_id == HG_TOKEN_NONE ||
        right_id == HG_TOKEN_NONE || id == HG_TOKEN_NONE)
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: merge %u: expected \"%.*s\", \"%.100s\" and both together in vocab, "
                       "found one that "
                       "is not there",
                       reader->label, reader->count + 1, (int)(left_bytes < 100 ? left_bytes : 100),
                       left, right);
    reader->list[reader->count] = (hg_merge){pair_of(left_id, right_id), reader->count, id};
    reader->count++;
    return HG_OK;
}

/* 0: crowded. A pair that stands twice keeps its last rank, as in the original. */
static int fill_slots(hg_bpe *bpe, const merge_reader *reader)
{
    uint32_t i;

    memset(bpe->slots, 0xFF, (size_t)(bpe->slot_mask + 1) * sizeof(*bpe->slots));
    for (i = 0; i < reader->count; i++) {
        hg_merge *merge = find_merge(bpe, reader->list[i].pair);
        if (!merge)
            return 0;
        *merge = reader->list[i];
    }
    return 1;
}

static hg_result read_merges(merge_reader *reader, const cJSON *merges, hg_bpe *out)
{
    const cJSON *entry;
    uint64_t count = 0, slots = 16;
    hg_result res = HG_OK;

    for (entry = merges->child; entry; entry = entry->next)
        count++;
    while (slots < 2 * count)
        slots *= 2;
    reader->list = malloc((size_t)(count ? count : 1) * sizeof(*reader->list));
    out->slots = malloc((size_t)slots * sizeof(*out->slots));
    if (!reader->list || !out->slots)
        return hg_fail(reader->log, HG_ERR_HOST_MEMORY, "%s: out of memory for the merges",
                       reader->label);
    out->slot_mask = slots - 1;
    for (entry = merges->child; entry; entry = entry->next) {
        if (cJSON_IsString(entry) && strncmp(entry->valuestring, "#version", 8) == 0)
            continue; /* the head of the text files that such lists were made from */
        HG_TRY(read_merge(reader, entry));
    }
    for (out->seed = 1; out->seed <= HG_HASH_SEEDS_MAX; out->seed++)
        if (fill_slots(out, reader))
            return HG_OK;
    res = hg_fail(reader->log, HG_ERR_FILE,
                  "%s: merges look chosen to slow a hash down; use a file from a source you trust",
                  reader->label);
out:
    return res;
}

/* Settings that make another kind of BPE than the byte-level one. */
static hg_result refuse_kinds(const hg_log *log, const char *label, const cJSON *model)
{
    static const char *const affixes[2] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const cJSON *dropout = hg_json_find(model, "dropout");
    size_t i;

    if (cJSON_IsTrue(hg_json_find(model, "byte_fallback")))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: the tokenizer is BPE with byte_fallback (the SentencePiece kind); only "
                       "byte-level BPE "
                       "is supported",
                       label);
    for (i = 0; i < 2; i++) {
        const cJSON *affix = hg_json_find(model, affixes[i]);
        if (affix && !cJSON_IsNull(affix) &&
            !(cJSON_IsString(affix) && affix->valuestring[0] == '\0'))
            return hg_fail(
                log, HG_ERR_FILE,
                "%s: the tokenizer is BPE with %s; only byte-level BPE without it is supported",
                label, affixes[i]);
    }
    if (dropout && !cJSON_IsNull(dropout) &&
        !(cJSON_IsNumber(dropout) && dropout->valuedouble <= 0.0))
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: the tokenizer is BPE with dropout, which makes ids random; set dropout to null",
            label);
    return HG_OK;
}

hg_result hg_bpe_read(const hg_log *log, const char *label, const cJSON *model,
                      const hg_vocab *vocab, hg_bpe *out)
{
    merge_reader reader = {log, label, vocab, NULL, 0, {NULL, 0, 0}};
    const hg_json_from from = {log, label, model};
    const cJSON *merges = NULL, *unknown;
    uint32_t byte;
    int no = 0, fused, whole;
    hg_result res;

    HG_TRY(refuse_kinds(log, label, model));
    HG_TRY(hg_json_bool(&from, "fuse_unk", &no, &fused));
    HG_TRY(hg_json_bool(&from, "ignore_merges", &no, &whole));
    HG_TRY(hg_json_array(&from, "merges", &merges));
    HG_TRY(read_merges(&reader, merges, out));
    out->unknown_fused = fused != 0;
    out->whole_words = whole != 0;
    unknown = hg_json_find(model, "unk_token");
    out->unknown_id = cJSON_IsString(unknown)
                          ? hg_vocab_find(vocab, unknown->valuestring, strlen(unknown->valuestring))
                          : HG_TOKEN_NONE;
    for (byte = 0; byte < 256; byte++) {
        char spelling[4];
        uint32_t length = hg_utf8_put(hg_byte_spelling(byte), spelling);
        out->byte_ids[byte] = hg_vocab_find(vocab, spelling, length);
    }
out:
    free(reader.list);
    free(reader.joined.data);
    return res;
}

void hg_bpe_release(hg_bpe *bpe)
{
    free(bpe->slots);
    *bpe = (hg_bpe){0};
}

/* ---- one word ---- */

static int heap_push(hg_word *word, hg_candidate candidate)
{
    size_t at = word->heap_count;

    if (!hg_array_reserve(&word->heap, &word->heap_capacity, at + 1, sizeof(*word->heap)))
        return 0;
    word->heap_count++;
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (word->heap[parent].order <= candidate.order)
            break;
        word->heap[at] = word->heap[parent];
        at = parent;
    }
    word->heap[at] = candidate;
    return 1;
}

/* heap_count > 0 */
static hg_candidate heap_pop(hg_word *word)
{
    hg_candidate top = word->heap[0];
    hg_candidate last = word->heap[--word->heap_count];
    size_t at = 0, child = 1;

    while (child < word->heap_count) {
        if (child + 1 < word->heap_count && word->heap[child + 1].order < word->heap[child].order)
            child++;
        if (last.order <= word->heap[child].order)
            break;
        word->heap[at] = word->heap[child];
        at = child;
        child = 2 * at + 1;
    }
    word->heap[at] = last;
    return top;
}

/* 0: out of memory */
static int offer(const hg_bpe *bpe, hg_word *word, uint32_t left)
{
    uint32_t right = word->symbols[left].next;
    const hg_merge *merge;

    if (right == NO_SYMBOL)
        return 1;
    merge = find_merge(bpe, pair_of(word->symbols[left].id, word->symbols[right].id));
    if (!merge || merge->id == HG_TOKEN_NONE)
        return 1;
    return heap_push(word, (hg_candidate){(uint64_t)merge->rank << 32 | left, merge->id});
}

static int merge_symbols(const hg_bpe *bpe, hg_word *word)
{
    while (word->heap_count > 0) {
        hg_candidate best = heap_pop(word);
        uint32_t index = (uint32_t)(best.order & UINT32_MAX);
        hg_symbol *left = &word->symbols[index];
        hg_symbol *right;
        const hg_merge *merge;

        if (left->begin == left->end || left->next == NO_SYMBOL)
            continue;
        right = &word->symbols[left->next];
        merge = find_merge(bpe, pair_of(left->id, right->id));
        if (!merge || merge->id != best.id)
            continue; /* one of the two has become something else since */
        left->id = best.id;
        left->end = right->end;
        right->end = right->begin;
        left->next = right->next;
        if (left->next != NO_SYMBOL)
            word->symbols[left->next].previous = index;
        if (!offer(bpe, word, index) ||
            (left->previous != NO_SYMBOL && !offer(bpe, word, left->previous)))
            return 0;
    }
    return 1;
}

/* One symbol a byte; a run of bytes without a token may be one. */
static hg_result first_symbols(const hg_bpe *bpe, const hg_log *log, const char *label,
                               const char *text, uint32_t bytes, hg_word *word)
{
    uint32_t i;
    int fusing = 0;

    word->count = 0;
    for (i = 0; i < bytes; i++) {
        uint32_t byte = (unsigned char)text[i];
        uint32_t id = bpe->byte_ids[byte];
        int unknown = id == HG_TOKEN_NONE;
        uint32_t index = (uint32_t)word->count;
        if (unknown) {
            id = bpe->unknown_id;
            if (id == HG_TOKEN_NONE)
                return hg_fail(
                    log, HG_ERR_FILE,
                    "%s: expected a token for each byte of the text, found none for 0x%02X and no "
                    "unk_token; the file is not complete",
                    label, byte);
            if (fusing && bpe->unknown_fused) {
                word->symbols[index - 1].end = i + 1;
                continue;
            }
        }
        fusing = unknown;
        word->symbols[index] = (hg_symbol){id, i, i + 1, index ? index - 1 : NO_SYMBOL, index + 1};
        word->count++;
    }
    word->symbols[word->count - 1].next = NO_SYMBOL;
    return HG_OK;
}

/* 1: the word is a token, symbols holds it. 0: it is not. -1: out of memory. */
static int whole_word(const hg_vocab *vocab, const char *text, uint32_t bytes, hg_word *word)
{
    uint32_t i, id;

    word->spelling.count = 0;
    for (i = 0; i < bytes; i++) {
        char spelling[4];
        uint32_t length = hg_utf8_put(hg_byte_spelling((unsigned char)text[i]), spelling);
        if (!hg_bytes_append(&word->spelling, spelling, length))
            return -1;
    }
    id = hg_vocab_find(vocab, word->spelling.data, word->spelling.count);
    if (id == HG_TOKEN_NONE)
        return 0;
    word->symbols[0] = (hg_symbol){id, 0, bytes, NO_SYMBOL, NO_SYMBOL};
    word->count = 1;
    return 1;
}

hg_result hg_bpe_word(const hg_bpe *bpe, const hg_vocab *vocab, const hg_log *log,
                      const char *label, const char *text, uint32_t bytes, hg_word *word)
{
    uint32_t i, count = 0;
    int whole = 0;
    hg_result res = HG_OK;

    word->count = 0;
    word->heap_count = 0;
    if (bytes == 0)
        return HG_OK;
    if (!hg_array_reserve(&word->symbols, &word->symbol_capacity, bytes, sizeof(*word->symbols)))
        goto memory;
    if (bpe->whole_words)
        whole = whole_word(vocab, text, bytes, word);
    if (whole < 0)
        goto memory;
    if (whole > 0)
        return HG_OK;
    HG_TRY(first_symbols(bpe, log, label, text, bytes, word));
    for (i = 0; i < word->count; i++)
        if (!offer(bpe, word, i))
            goto memory;
    if (!merge_symbols(bpe, word))
        goto memory;
    for (i = 0; i != NO_SYMBOL; i = word->symbols[i].next)
        word->symbols[count++] = word->symbols[i]; /* count never passes i */
    word->count = count;
out:
    return res;
memory:
    return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory while encoding", label);
}

void hg_word_release(hg_word *word)
{
    free(word->symbols);
    free(word->heap);
    free(word->spelling.data);
    *word = (hg_word){0};
}
