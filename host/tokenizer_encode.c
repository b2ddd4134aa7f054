/* SPDX-License-Identifier: MIT */
/*
 * Text to ids: added tokens are cut out, what lies between is normalised, cut into pieces and
 * merged, and the post-processor's ids go around it. Everything that a call writes to is in its own
 * encoder.
 */
#include "tokenizer_parts.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef struct encoder {
    const hg_tokenizer *tokenizer;
    const char *text;
    hg_matcher *matcher;
    hg_cuts raw, normalized;
    hg_pieces pieces;
    hg_word word;
    int32_t *ids;
    uint32_t *begin, *end;
    size_t count, ids_capacity, begin_capacity, end_capacity;
} encoder;

static hg_result no_memory(const hg_tokenizer *tokenizer)
{
    return hg_fail(&tokenizer->log, HG_ERR_HOST_MEMORY, "%s: out of memory while encoding",
                   tokenizer->label);
}

static hg_result push_token(encoder *enc, uint32_t id, uint32_t begin, uint32_t end)
{
    const hg_tokenizer *tokenizer = enc->tokenizer;
    size_t count = enc->count;

    if (tokenizer->vocab_limit && id >= tokenizer->vocab_limit)
        return hg_fail(&tokenizer->log, HG_ERR_FILE,
                       "%s: the text has the token \"%.100s\" with the id %u; expected ids below "
                       "%u, the rows of the "
                       "model's embedding: tokenizer and weights do not belong together",
                       tokenizer->label, hg_vocab_token(&tokenizer->vocab, id), id,
                       tokenizer->vocab_limit);
    if (!hg_array_reserve(&enc->ids, &enc->ids_capacity, count + 1, sizeof(*enc->ids)) ||
        !hg_array_reserve(&enc->begin, &enc->begin_capacity, count + 1, sizeof(*enc->begin)) ||
        !hg_array_reserve(&enc->end, &enc->end_capacity, count + 1, sizeof(*enc->end)))
        return no_memory(tokenizer);
    enc->ids[count] = (int32_t)id;
    enc->begin[count] = begin;
    enc->end[count] = end;
    enc->count++;
    return HG_OK;
}

static hg_result push_piece(encoder *enc, const hg_stretch *stretch, hg_piece piece)
{
    const hg_tokenizer *tokenizer = enc->tokenizer;
    hg_result res;
    size_t i;

    HG_TRY(hg_bpe_word(&tokenizer->bpe, &tokenizer->vocab, &tokenizer->log, tokenizer->label,
                       stretch->text + piece.begin, piece.end - piece.begin, &enc->word));
    for (i = 0; i < enc->word.count; i++) {
        const hg_symbol *symbol = &enc->word.symbols[i];
        uint32_t begin, end;
        hg_stretch_source(stretch, piece.begin + symbol->begin, piece.begin + symbol->end - 1,
                          &begin, &end);
        HG_TRY(push_token(enc, symbol->id, begin, end));
    }
out:
    return res;
}

/* Normalised text between added tokens of both sets. Changes the stretch. */
static hg_result push_plain(encoder *enc, hg_stretch *stretch)
{
    const hg_tokenizer *tokenizer = enc->tokenizer;
    hg_result res;
    size_t i;

    HG_TRY(hg_splitter_run(&tokenizer->splitter, enc->matcher, &tokenizer->log, tokenizer->label,
                           stretch, &enc->pieces));
    for (i = 0; i < enc->pieces.count; i++)
        HG_TRY(push_piece(enc, stretch, enc->pieces.items[i]));
out:
    return res;
}

/* A part of a stretch as a stretch of its own. 0: out of memory. */
static int take_part(const hg_stretch *whole, size_t begin, size_t end, hg_stretch *part)
{
    size_t i;

    *part = (hg_stretch){
        whole->text + begin, end - begin, whole->base + (uint32_t)begin, NULL, NULL, NULL, 0};
    if (!whole->owned)
        return 1;
    if (!hg_stretch_reserve(part, part->bytes))
        return 0;
    for (i = 0; i < part->bytes; i++) {
        part->owned[i] = whole->text[begin + i];
        part->begin[i] = whole->begin[begin + i];
        part->end[i] = whole->end[begin + i];
    }
    part->text = part->owned;
    return 1;
}

/* Text between the added tokens that are looked for before normalisation. */
static hg_result push_text(encoder *enc, size_t begin, size_t end)
{
    const hg_tokenizer *tokenizer = enc->tokenizer;
    hg_stretch stretch = {enc->text + begin, end - begin, (uint32_t)begin, NULL, NULL, NULL, 0};
    hg_stretch part = {NULL, 0, 0, NULL, NULL, NULL, 0};
    hg_result res = HG_OK;
    size_t i;

    if (tokenizer->nfc && !hg_nfc_apply(&stretch)) {
        res = no_memory(tokenizer);
        goto out;
    }
    if (tokenizer->added.normalized.count == 0) {
        res = push_plain(enc, &stretch);
        goto out;
    }
    if (!hg_added_cut(&tokenizer->added.normalized, stretch.text, stretch.bytes,
                      &enc->normalized)) {
        res = no_memory(tokenizer);
        goto out;
    }
    for (i = 0; i < enc->normalized.count; i++) {
        hg_cut cut = enc->normalized.items[i];
        uint32_t from, to;
        if (cut.id != HG_TOKEN_NONE) {
            hg_stretch_source(&stretch, cut.begin, cut.end - 1, &from, &to);
            HG_TRY(push_token(enc, cut.id, from, to));
            continue;
        }
        if (!take_part(&stretch, cut.begin, cut.end, &part)) {
            res = no_memory(tokenizer);
            goto out;
        }
        HG_TRY(push_plain(enc, &part));
        hg_stretch_release(&part);
    }
out:
    hg_stretch_release(&part);
    hg_stretch_release(&stretch);
    return res;
}

static hg_result encode(encoder *enc, size_t bytes, int framed)
{
    const hg_tokenizer *tokenizer = enc->tokenizer;
    const hg_template *frame = &tokenizer->frame;
    hg_result res = HG_OK;
    size_t i;

    for (i = 0; framed && i < frame->before_count; i++)
        HG_TRY(push_token(enc, frame->before[i], 0, 0));
    if (!hg_added_cut(&tokenizer->added.raw, enc->text, bytes, &enc->raw)) {
        res = no_memory(tokenizer);
        goto out;
    }
    for (i = 0; i < enc->raw.count; i++) {
        hg_cut cut = enc->raw.items[i];
        if (cut.id == HG_TOKEN_NONE)
            HG_TRY(push_text(enc, cut.begin, cut.end));
        else
            HG_TRY(push_token(enc, cut.id, (uint32_t)cut.begin, (uint32_t)cut.end));
    }
    for (i = 0; framed && i < frame->after_count; i++)
        HG_TRY(push_token(enc, frame->after[i], (uint32_t)bytes, (uint32_t)bytes));
out:
    return res;
}

static void release_encoder(encoder *enc)
{
    hg_matcher_destroy(&enc->matcher);
    free(enc->raw.items);
    free(enc->normalized.items);
    hg_pieces_release(&enc->pieces);
    hg_word_release(&enc->word);
    free(enc->ids);
    free(enc->begin);
    free(enc->end);
}

static hg_result check_text(const hg_tokenizer *tokenizer, const char *text, size_t bytes)
{
    size_t valid;

    if (bytes > HG_TEXT_BYTES_MAX)
        return hg_fail(&tokenizer->log, HG_ERR_TEXT,
                       "expected a text of at most %d bytes, found %zu", HG_TEXT_BYTES_MAX, bytes);
    valid = hg_utf8_check(text, bytes);
    if (valid < bytes)
        return hg_fail(&tokenizer->log, HG_ERR_TEXT,
                       "expected UTF-8, found the byte 0x%02X at offset %zu of the text; convert "
                       "the text to UTF-8",
                       (unsigned int)(unsigned char)text[valid], valid);
    return HG_OK;
}

hg_result hg_tokenizer_encode(const hg_tokenizer *tokenizer, const char *text, size_t bytes,
                              uint32_t flags, hg_encoding **out)
{
    encoder enc = {0};
    hg_encoding *made = NULL;
    hg_result res;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    if (!tokenizer || (!text && bytes) || (flags & ~(uint32_t)HG_ENCODE_NO_SPECIAL))
        return HG_ERR_ARGUMENT;
    enc.tokenizer = tokenizer;
    enc.text = text ? text : "";
    HG_TRY(check_text(tokenizer, enc.text, bytes));
    HG_TRY(hg_matcher_create(&tokenizer->log, tokenizer->label, &enc.matcher));
    HG_TRY(encode(&enc, bytes, !(flags & HG_ENCODE_NO_SPECIAL)));
    made = calloc(1, sizeof(*made));
    if (!made) {
        res = no_memory(tokenizer);
        goto out;
    }
    made->count = (uint32_t)enc.count;
    made->ids = enc.ids;
    made->byte_begin = enc.begin;
    made->byte_end = enc.end;
    enc.ids = NULL;
    enc.begin = NULL;
    enc.end = NULL;
    *out = made;
out:
    release_encoder(&enc);
    return res;
}

void hg_encoding_free(hg_encoding **encoding)
{
    if (!encoding || !*encoding)
        return;
    free((*encoding)->ids);
    free((*encoding)->byte_begin);
    free((*encoding)->byte_end);
    free(*encoding);
    *encoding = NULL;
}

/* ---- the pre-tokenizer alone ---- */

/* The pieces one after the other, as one text and the ends of its parts. */
static hg_result gather(const hg_tokenizer *tokenizer, const hg_stretch *stretch,
                        const hg_pieces *pieces, char **normalized, uint32_t **ends)
{
    size_t i, bytes = 0;

    for (i = 0; i < pieces->count; i++)
        bytes += pieces->items[i].end - pieces->items[i].begin;
    *normalized = malloc(bytes + 1);
    *ends = malloc((pieces->count + 1) * sizeof(**ends));
    if (!*normalized || !*ends)
        return no_memory(tokenizer);
    bytes = 0;
    for (i = 0; i < pieces->count; i++) {
        hg_piece piece = pieces->items[i];
        memcpy(*normalized + bytes, stretch->text + piece.begin, piece.end - piece.begin);
        bytes += piece.end - piece.begin;
        (*ends)[i] = (uint32_t)bytes;
    }
    (*normalized)[bytes] = '\0';
    return HG_OK;
}

hg_result hg_tokenizer_pretokenize(const hg_tokenizer *tokenizer, const char *text, size_t bytes,
                                   char **normalized, uint32_t **pieces, uint32_t *count)
{
    hg_stretch stretch = {text ? text : "", bytes, 0, NULL, NULL, NULL, 0};
    hg_pieces found = {0};
    hg_matcher *matcher = NULL;
    hg_result res;

    if (!normalized || !pieces || !count)
        return HG_ERR_ARGUMENT;
    *normalized = NULL;
    *pieces = NULL;
    *count = 0;
    if (!tokenizer || (!text && bytes))
        return HG_ERR_ARGUMENT;
    HG_TRY(check_text(tokenizer, stretch.text, bytes));
    HG_TRY(hg_matcher_create(&tokenizer->log, tokenizer->label, &matcher));
    if (tokenizer->nfc && !hg_nfc_apply(&stretch)) {
        res = no_memory(tokenizer);
        goto out;
    }
    HG_TRY(hg_splitter_run(&tokenizer->splitter, matcher, &tokenizer->log, tokenizer->label,
                           &stretch, &found));
    HG_TRY(gather(tokenizer, &stretch, &found, normalized, pieces));
    *count = (uint32_t)found.count;
out:
    if (res != HG_OK) {
        hg_text_free(normalized);
        hg_pieces_free(pieces);
    }
    hg_matcher_destroy(&matcher);
    hg_pieces_release(&found);
    hg_stretch_release(&stretch);
    return res;
}

void hg_pieces_free(uint32_t **pieces)
{
    if (!pieces)
        return;
    free(*pieces);
    *pieces = NULL;
}
