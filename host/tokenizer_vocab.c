/* SPDX-License-Identifier: MIT */
/*
 * Strings to ids by an open-addressing hash, ids to strings by a table. Files come from strangers,
 * who may choose strings that collide: no key lies further than HG_HASH_PROBES_MAX slots from its
 * place, and a table where one would is built again with another seed, a few times.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

uint64_t hg_hash_mix(uint64_t word, uint64_t seed)
{
    word ^= seed * 0x9E3779B97F4A7C15u;
    word ^= word >> 32;
    word *= 0xD6E8FEB86659FD93u;
    word ^= word >> 32;
    word *= 0xD6E8FEB86659FD93u;
    return word ^ word >> 32;
}

static uint64_t hash_text(const char *text, size_t bytes, uint64_t seed)
{
    uint64_t hash = bytes;
    uint64_t word;

    for (; bytes > sizeof(word); bytes -= sizeof(word), text += sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        hash = hg_hash_mix(hash ^ word, seed);
    }
    word = 0;
    memcpy(&word, text, bytes);
    return hg_hash_mix(hash ^ word, seed);
}

/* The slot of the text, or the empty one where it would go; *crowded when that is too far away. */
static uint64_t find_slot(const hg_vocab *vocab, const char *text, size_t bytes, int *crowded)
{
    uint64_t slot = hash_text(text, bytes, vocab->seed) & vocab->slot_mask;
    int probes;

    *crowded = 0;
    for (probes = 0; probes < HG_HASH_PROBES_MAX; probes++) {
        uint32_t id = vocab->slots[slot];
        const char *token;
        if (id == HG_TOKEN_NONE)
            return slot;
        token = vocab->arena + vocab->offsets[id];
        if (strncmp(token, text, bytes) == 0 && token[bytes] == '\0')
            return slot;
        slot = (slot + 1) & vocab->slot_mask;
    }
    *crowded = 1;
    return slot;
}

uint32_t hg_vocab_find(const hg_vocab *vocab, const char *text, size_t bytes)
{
    int crowded;
    uint64_t slot = find_slot(vocab, text, bytes, &crowded);

    return crowded ? HG_TOKEN_NONE : vocab->slots[slot];
}

const char *hg_vocab_token(const hg_vocab *vocab, uint32_t id)
{
    if (id >= vocab->id_count || vocab->offsets[id] == HG_TOKEN_NONE)
        return NULL;
    return vocab->arena + vocab->offsets[id];
}

int hg_vocab_bytes(const hg_vocab *vocab, uint32_t id, hg_bytes *out)
{
    const char *token = hg_vocab_token(vocab, id);
    size_t bytes = strlen(token);
    size_t before = out->count;
    size_t at = 0;

    while (at < bytes) {
        uint32_t code;
        int byte;
        char one;
        at += hg_utf8_next(token + at, bytes - at, &code);
        byte = hg_byte_of_spelling(code);
        if (byte < 0) {
            out->count = before;
            return hg_bytes_append(out, token, bytes);
        }
        one = (char)(unsigned char)byte;
        if (!hg_bytes_append(out, &one, 1))
            return 0;
    }
    return 1;
}

/* 0: crowded. Every id that has a string must be in place. */
static int fill_slots(hg_vocab *vocab)
{
    uint32_t id;

    memset(vocab->slots, 0xFF, (size_t)(vocab->slot_mask + 1) * sizeof(*vocab->slots));
    for (id = 0; id < vocab->id_count; id++) {
        const char *token = hg_vocab_token(vocab, id);
        int crowded;
        uint64_t slot;
        if (!token)
            continue;
        slot = find_slot(vocab, token, strlen(token), &crowded);
        if (crowded)
            return 0;
        vocab->slots[slot] = id; /* the parser has refused repeated keys */
    }
    return 1;
}

static hg_result read_entry(const hg_log *log, const char *label, const cJSON *entry,
                            hg_vocab *vocab)
{
    char shown[96];
    const char *other;
    int64_t id;

    if (!hg_json_to_integer(entry, 0, HG_TOKEN_ID_MAX, &id))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: vocab: expected an id in 0..%d for the token \"%.100s\", found %s",
                       label, HG_TOKEN_ID_MAX, entry->string,
                       hg_json_show(entry, shown, sizeof(shown)));
    other = hg_vocab_token(vocab, (uint32_t)id);
    if (other)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: vocab: the tokens \"%.100s\" and \"%.100s\" both have the id %lld; an id belongs "
            "to one token",
            label, other, entry->string, (long long)id);
    if (!hg_vocab_add(vocab, (uint32_t)id, entry->string))
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for the vocabulary", label);
    return HG_OK;
}

int hg_vocab_add(hg_vocab *vocab, uint32_t id, const char *text)
{
    size_t bytes = strlen(text) + 1;
    size_t capacity = vocab->id_capacity;

    if (!hg_array_reserve(&vocab->offsets, &capacity, (size_t)id + 1, sizeof(*vocab->offsets)) ||
        bytes > HG_TOKEN_NONE - vocab->arena_count ||
        !hg_array_reserve(&vocab->arena, &vocab->arena_capacity, vocab->arena_count + bytes, 1))
        return 0;
    vocab->id_capacity = (uint32_t)capacity;
    while (vocab->id_count <= id)
        vocab->offsets[vocab->id_count++] = HG_TOKEN_NONE;
    vocab->offsets[id] = (uint32_t)vocab->arena_count;
    memcpy(vocab->arena + vocab->arena_count, text, bytes);
    vocab->arena_count += bytes;
    return 1;
}

hg_result hg_vocab_read(const hg_log *log, const char *label, const cJSON *entries, hg_vocab *out)
{
    const cJSON *entry;
    uint64_t count = 0, slots = 16;

    for (entry = entries->child; entry; entry = entry->next) {
        hg_result res = read_entry(log, label, entry, out);
        if (res != HG_OK)
            return res;
        count++;
    }
    if (count == 0)
        return hg_fail(log, HG_ERR_FILE, "%s: expected tokens in vocab, found an empty object",
                       label);
    while (slots < 2 * count)
        slots *= 2;
    out->slots = malloc((size_t)slots * sizeof(*out->slots));
    if (!out->slots)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for the vocabulary", label);
    out->slot_mask = slots - 1;
    for (out->seed = 1; out->seed <= HG_HASH_SEEDS_MAX; out->seed++)
        if (fill_slots(out))
            return HG_OK;
    return hg_fail(
        log, HG_ERR_FILE,
        "%s: vocab: the tokens look chosen to slow a hash down; use a file from a source you trust",
        label);
}

void hg_vocab_release(hg_vocab *vocab)
{
    free(vocab->arena);
    free(vocab->offsets);
    free(vocab->slots);
    *vocab = (hg_vocab){0};
}
