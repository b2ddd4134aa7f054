/* SPDX-License-Identifier: MIT */
/*
 * tokenizer.json: byte-level BPE. Text to ids and back, and labels for a figure.
 * Other kinds of tokenizer stop with a message that names the kind.
 * Thread-safety: an open tokenizer may be used from several threads.
 */
#ifndef HEADGATE_TOKENIZER_H
#define HEADGATE_TOKENIZER_H

#include <headgate/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_tokenizer hg_tokenizer;

typedef struct hg_tokenizer_params {
    uint32_t struct_size;
    const char *path; /* tokenizer.json, or the directory that holds it */
    uint32_t
        vocab_limit; /* ids must be below (the rows of the embedding); 0: not checked. A file with
                      * more is a warning here and HG_ERR_FILE when a text needs such an id */
    hg_log log;
} hg_tokenizer_params;

HG_API hg_result hg_tokenizer_open(const hg_tokenizer_params *params, hg_tokenizer **out);
HG_API void hg_tokenizer_close(hg_tokenizer **tokenizer);
HG_API uint32_t hg_tokenizer_size(const hg_tokenizer *tokenizer); /* largest id + 1 */

typedef struct hg_encoding {
    uint32_t count;
    int32_t *ids;         /* [count] */
    uint32_t *byte_begin; /* [count] into the text as given (before NFC); tokens added by the */
    uint32_t
        *byte_end; /* [count] post-processor have begin == end. Where NFC changed something,
                    * the tokens   of a character share the whole range that it was made from */
} hg_encoding;

enum {
    HG_ENCODE_NO_SPECIAL = 1u << 0 /* leave out what the post-processor adds (a BOS); special tokens
                                    * in the text itself are still recognised */
};

/* text is UTF-8, may hold U+0000, at most 256 MiB. HG_ERR_TEXT names the byte offset where it is
 * not UTF-8. HG_ERR_FILE: the file has no answer for this text (a byte without a token, a pattern
 * that does not come to an end). */
HG_API hg_result hg_tokenizer_encode(const hg_tokenizer *tokenizer, const char *text, size_t bytes,
                                     uint32_t flags, hg_encoding **out);
HG_API void hg_encoding_free(hg_encoding **encoding);

enum { HG_DECODE_SKIP_SPECIAL = 1u << 0 };

/* Bytes of the text that the ids stand for; bytes that are no UTF-8 become U+FFFD as the reference
 * does. *text is NUL-terminated (and may hold U+0000 before), freed by hg_text_free. HG_ERR_TEXT:
 * an id that is no token. */
HG_API hg_result hg_tokenizer_decode(const hg_tokenizer *tokenizer, const int32_t *ids,
                                     uint32_t count, uint32_t flags, char **text, size_t *bytes);
HG_API void hg_text_free(char **text);

/* The token as the file spells it ("Ġgating"); NULL when the id is none. Lives as long as the
 * tokenizer. */
HG_API const char *hg_tokenizer_token(const hg_tokenizer *tokenizer, int32_t id);
HG_API int hg_tokenizer_is_special(const hg_tokenizer *tokenizer, int32_t id);

/* A label per token, decoded over the sequence: leading space as U+2423, newline as U+23CE, tab as
 * U+21E5, other controls, invisible characters and the bytes of a character that is split over
 * tokens as <E6>; added tokens (the special ones among them) verbatim; no token: <id>. */
typedef struct hg_labels {
    uint32_t count;
    char **text; /* [count] UTF-8, never empty */
} hg_labels;

/* tokenizer NULL: every label is <id>. */
HG_API hg_result hg_labels_create(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                                  hg_labels **out);
HG_API void hg_labels_free(hg_labels **labels);

/* The text as the pre-tokenizer cuts it (after NFC, without added tokens): for tests and tools.
 * pieces[i] is the end offset of piece i in *normalized; free both with hg_text_free and
 * hg_pieces_free. */
HG_API hg_result hg_tokenizer_pretokenize(const hg_tokenizer *tokenizer, const char *text,
                                          size_t bytes, char **normalized, uint32_t **pieces,
                                          uint32_t *count);
HG_API void hg_pieces_free(uint32_t **pieces);

#ifdef __cplusplus
}
#endif
#endif
