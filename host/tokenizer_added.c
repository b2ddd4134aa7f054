/* SPDX-License-Identifier: MIT */
/*
 * Added tokens: found in the text before it is cut and merged, leftmost first and the longest among
 * those, with the file's rules about what may stand beside them. Two sets, because some are looked
 * for before normalisation and some after.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct added_reader {
    const hg_log *log;
    const char *label;
    int nfc;
    hg_vocab *vocab;
    hg_added *added;
} added_reader;

static hg_result no_memory(const added_reader *reader)
{
    return hg_fail(reader->log, HG_ERR_HOST_MEMORY, "%s: out of memory for added tokens",
                   reader->label);
}

static hg_result read_flag(const hg_json_from *from, const char *key, uint8_t *out)
{
    int no = 0, value;
    hg_result res = hg_json_bool(from, key, &no, &value);

    if (res == HG_OK)
        *out = value != 0;
    return res;
}

/* What to look for, as an own string. NULL: out of memory. */
static char *wanted_text(const added_reader *reader, const char *content, int normalized,
                         uint32_t *bytes)
{
    hg_stretch stretch = {content, strlen(content), 0, NULL, NULL, NULL, 0};
    char *text = NULL;

    if (!normalized || !reader->nfc || hg_nfc_apply(&stretch)) {
        text = malloc(stretch.bytes + 1);
        if (text) {
            memcpy(text, stretch.text, stretch.bytes);
            text[stretch.bytes] = '\0';
            *bytes = (uint32_t)stretch.bytes;
        }
    }
    hg_stretch_release(&stretch);
    return text;
}

/* The string must be free for this id, or be this id's already. */
static hg_result claim_id(const added_reader *reader, const char *content, uint32_t id)
{
    const char *there = hg_vocab_token(reader->vocab, id);
    uint32_t known = hg_vocab_find(reader->vocab, content, strlen(content));

    if (there && strcmp(there, content) != 0)
        return hg_fail(
            reader->log, HG_ERR_FILE,
            "%s: added_tokens: the id %u of \"%.100s\" belongs to the token \"%.100s\" already",
            reader->label, id, content, there);
    if (known != HG_TOKEN_NONE && known != id)
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: added_tokens: \"%.100s\" has the id %u there and %u in vocab",
                       reader->label, content, id, known);
    if (!there && !hg_vocab_add(reader->vocab, id, content))
        return no_memory(reader);
    return HG_OK;
}

static hg_result set_flags(const added_reader *reader, uint32_t id, int special)
{
    hg_added *added = reader->added;

    if (id >= added->id_count) {
        uint8_t *flags = realloc(added->flags, (size_t)id + 1);
        if (!flags)
            return no_memory(reader);
        memset(flags + added->id_count, 0, (size_t)id + 1 - added->id_count);
        added->flags = flags;
        added->id_count = id + 1;
    }
    added->flags[id] |= (uint8_t)(HG_ADDED_TOKEN | (special ? HG_ADDED_SPECIAL : 0));
    return HG_OK;
}

static hg_result read_token(const added_reader *reader, const cJSON *entry)
{
    const hg_json_from from = {reader->log, reader->label, entry};
    hg_added_token token = {0};
    hg_added_set *set;
    const char *content;
    int64_t id;
    hg_result res;

    if (!cJSON_IsObject(entry))
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: added_tokens: expected objects, found something else", reader->label);
    HG_TRY(hg_json_string(&from, "content", NULL, &content));
    HG_TRY(hg_json_integer(&from, "id", NULL, 0, HG_TOKEN_ID_MAX, &id));
    HG_TRY(read_flag(&from, "lstrip", &token.strip_left));
    HG_TRY(read_flag(&from, "rstrip", &token.strip_right));
    HG_TRY(read_flag(&from, "single_word", &token.single_word));
    HG_TRY(read_flag(&from, "normalized", &token.normalized));
    HG_TRY(read_flag(&from, "special", &token.special));
    if (content[0] == '\0') {
        hg_say(reader->log, HG_LOG_WARNING,
               "%s: added_tokens: the token with id %lld is empty; it is ignored", reader->label,
               (long long)id);
        return HG_OK;
    }
    if (strlen(content) > HG_ADDED_TOKEN_BYTES_MAX)
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: added_tokens: expected at most %d bytes, found %zu in \"%.60s\"",
                       reader->label, HG_ADDED_TOKEN_BYTES_MAX, strlen(content), content);
    if (hg_added_flags(reader->added, (uint32_t)id) &&
        hg_vocab_token(reader->vocab, (uint32_t)id) &&
        strcmp(hg_vocab_token(reader->vocab, (uint32_t)id), content) == 0)
        return HG_OK; /* stands twice; the first counts */
    HG_TRY(claim_id(reader, content, (uint32_t)id));
    HG_TRY(set_flags(reader, (uint32_t)id, token.special));
    token.id = (uint32_t)id;
    token.text = wanted_text(reader, content, token.normalized, &token.bytes);
    if (!token.text)
        return no_memory(reader);
    set = token.normalized ? &reader->added->normalized : &reader->added->raw;
    set->tokens[set->count++] = token;
out:
    return res;
}

static int order_tokens(const void *a, const void *b)
{
    const hg_added_token *left = a, *right = b;
    int order = strcmp(left->text, right->text);

    if (order ==
        0) /* special ones are looked for first; then the smaller id, so that the order is total */
        order = (int)right->special - (int)left->special;
    if (order == 0)
        order = left->id < right->id ? -1 : left->id > right->id;
    return order;
}

static void sort_set(hg_added_set *set)
{
    uint32_t i, kept = 0;

    if (set->count == 0)
        return;
    qsort(set->tokens, set->count, sizeof(*set->tokens), order_tokens);
    for (i = 0; i < set->count; i++) { /* two may have the same NFC */
        if (kept > 0 && strcmp(set->tokens[kept - 1].text, set->tokens[i].text) == 0)
            free(set->tokens[i].text);
        else
            set->tokens[kept++] = set->tokens[i];
    }
    set->count = kept;
    for (i = 0; i < kept; i++)
        set->first[(unsigned char)set->tokens[i].text[0]] = 1;
}

hg_result hg_added_read(const hg_log *log, const char *label, const cJSON *list, int nfc,
                        hg_vocab *vocab, hg_added *out)
{
    added_reader reader = {log, label, nfc, vocab, out};
    const cJSON *entry;
    size_t count = 0;

    if (!list || cJSON_IsNull(list))
        return HG_OK;
    if (!cJSON_IsArray(list))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: added_tokens: expected an array, found something else", label);
    for (entry = list->child; entry; entry = entry->next)
        count++;
    if (count == 0)
        return HG_OK;
    out->raw.tokens = calloc(count, sizeof(*out->raw.tokens));
    out->normalized.tokens = calloc(count, sizeof(*out->normalized.tokens));
    if (!out->raw.tokens || !out->normalized.tokens)
        return no_memory(&reader);
    for (entry = list->child; entry; entry = entry->next) {
        hg_result res = read_token(&reader, entry);
        if (res != HG_OK)
            return res;
    }
    sort_set(&out->raw);
    sort_set(&out->normalized);
    return HG_OK;
}

static void release_set(hg_added_set *set)
{
    uint32_t i;

    for (i = 0; i < set->count; i++)
        free(set->tokens[i].text);
    free(set->tokens);
}

void hg_added_release(hg_added *added)
{
    release_set(&added->raw);
    release_set(&added->normalized);
    free(added->flags);
    *added = (hg_added){0};
}

uint32_t hg_added_flags(const hg_added *added, uint32_t id)
{
    return id < added->id_count ? added->flags[id] : 0;
}

/* ---- finding ---- */

/* First token of low..high whose byte at depth is at least `byte`. */
static uint32_t lower_bound(const hg_added_set *set, uint32_t low, uint32_t high, uint32_t depth,
                            uint32_t byte)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const hg_added_token *token = &set->tokens[middle];
        /* a token that ends here comes before all that go on: its NUL sorts first */
        if ((unsigned char)token->text[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest token that text begins with, or NULL. */
static const hg_added_token *match_here(const hg_added_set *set, const char *text, size_t bytes)
{
    const hg_added_token *best = NULL;
    uint32_t low = 0, high = set->count, depth = 0;

    while (depth < bytes) {
        uint32_t byte = (unsigned char)text[depth];
        if (byte == 0) /* no token holds U+0000, which is how they end */
            break;
        low = lower_bound(set, low, high, depth, byte);
        high = lower_bound(set, low, high, depth, byte + 1);
        if (low == high)
            break;
        depth++;
        if (set->tokens[low].bytes == depth)
            best = &set->tokens[low];
    }
    return best;
}

/* White_Space */
static int is_space(uint32_t code)
{
    return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/* Alphabetic, marks, decimal digits, connectors and joiners: \w of Unicode's rules for regular
 * expressions. */
static int is_word(uint32_t code)
{
    if ((code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
        (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189) ||
        code == 0x200C || code == 0x200D)
        return 1;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return 1;
    default:
        return 0;
    }
}

static int stands_alone(const char *text, size_t bytes, size_t begin, size_t end)
{
    uint32_t code;

    if (begin > 0) {
        hg_utf8_previous(text, begin, &code);
        if (is_word(code))
            return 0;
    }
    if (end < bytes) {
        hg_utf8_next(text + end, bytes - end, &code);
        if (is_word(code))
            return 0;
    }
    return 1;
}

static size_t strip_left(const char *text, size_t from, size_t at)
{
    while (at > from) {
        uint32_t code;
        uint32_t length = hg_utf8_previous(text, at, &code);
        if (!is_space(code) || length > at - from)
            break;
        at -= length;
    }
    return at;
}

static size_t strip_right(const char *text, size_t bytes, size_t at)
{
    while (at < bytes) {
        uint32_t code;
        uint32_t length = hg_utf8_next(text + at, bytes - at, &code);
        if (!is_space(code))
            break;
        at += length;
    }
    return at;
}

static int push_cut(hg_cuts *cuts, size_t begin, size_t end, uint32_t id)
{
    if (!hg_array_reserve(&cuts->items, &cuts->capacity, cuts->count + 1, sizeof(*cuts->items)))
        return 0;
    cuts->items[cuts->count++] = (hg_cut){begin, end, id};
    return 1;
}

int hg_added_cut(const hg_added_set *set, const char *text, size_t bytes, hg_cuts *out)
{
    size_t at = 0, done = 0;

    out->count = 0;
    while (set->count > 0 && at < bytes) {
        const hg_added_token *token;
        size_t begin = at, end;
        if (!set->first[(unsigned char)text[at]] ||
            !(token = match_here(set, text + at, bytes - at))) {
            at++;
            continue;
        }
        end = at + token->bytes;
        at = end;
        if (token->single_word && !stands_alone(text, bytes, begin, end))
            continue; /* and what it covered is not searched again, as in the original */
        if (token->strip_left)
            begin = strip_left(text, done < begin ? done : begin, begin);
        if (token->strip_right)
            end = strip_right(text, bytes, end);
        if (done < begin && !push_cut(out, done, begin, HG_TOKEN_NONE))
            return 0;
        if (!push_cut(out, begin, end, token->id))
            return 0;
        done = end;
    }
    return done == bytes || push_cut(out, done, bytes, HG_TOKEN_NONE);
}
