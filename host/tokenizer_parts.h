/* SPDX-License-Identifier: MIT */
/*
 * What the tokenizer's sources share: the open tokenizer as data, and one section per source file.
 * Nothing outside host/tokenizer*.c includes this. After opening, an hg_tokenizer is only read;
 * whatever a call needs to write lives in that call, which is what makes an open tokenizer usable
 * from several threads.
 */
#ifndef HG_HOST_TOKENIZER_PARTS_H
#define HG_HOST_TOKENIZER_PARTS_H

#include <headgate/tokenizer.h>

#include <cjson/cJSON.h>

enum {
    HG_TOKEN_ID_MAX = (1 << 22) - 1,       /* tables are as long as the largest id */
    HG_ADDED_TOKEN_BYTES_MAX = 1024,       /* so that looking for one stays linear in the text */
    HG_TEXT_BYTES_MAX = 256 * 1024 * 1024, /* offsets after NFC and prefixes still fit uint32_t */
    HG_SPLIT_STEPS_MAX = 8
};

#define HG_TOKEN_NONE UINT32_MAX

/* ---- tokenizer_text.c: UTF-8, the byte alphabet, growing arrays ---- */

/* Bytes of the sequence at text (bytes > 0). *code is the code point; UINT32_MAX when it is no
 * UTF-8, and the return value is then how many bytes one U+FFFD stands for (the maximal subpart).
 */
uint32_t hg_utf8_next(const char *text, size_t bytes, uint32_t *code);
/* The code point that ends at text + bytes (bytes > 0) in valid UTF-8; the return value is its
 * length. */
uint32_t hg_utf8_previous(const char *text, size_t bytes, uint32_t *code);
/* Writes 1 to 4 bytes. */
uint32_t hg_utf8_put(uint32_t code, char *out);
/* Offset of the first byte that is not UTF-8; bytes when all is well. */
size_t hg_utf8_check(const char *text, size_t bytes);

/* Byte-level BPE spells bytes as printable characters: the code point of a byte, and back (-1:
 * none). */
uint32_t hg_byte_spelling(uint32_t byte);
int hg_byte_of_spelling(uint32_t code);

/* Makes *array hold `needed` elements of `size` bytes, growing by half at least. 0: out of memory.
 */
int hg_array_reserve(void *array, size_t *capacity, size_t needed, size_t size);

typedef struct hg_bytes {
    char *data;
    size_t count, capacity;
} hg_bytes;

int hg_bytes_append(hg_bytes *bytes, const char *data, size_t count);

/* ---- tokenizer_vocab.c: strings to ids and back ---- */

typedef struct hg_vocab {
    char *arena;       /* every token, each ended by NUL */
    uint32_t *offsets; /* [id_count] into arena; HG_TOKEN_NONE: no token has this id */
    uint32_t *slots;   /* [slot_mask + 1] ids of the model's tokens by hash; HG_TOKEN_NONE: empty */
    uint64_t slot_mask, seed;
    size_t arena_count, arena_capacity;
    uint32_t id_count; /* largest id + 1 */
    uint32_t id_capacity;
} hg_vocab;

/* entries: the model's object of token: id. */
hg_result hg_vocab_read(const hg_log *log, const char *label, const cJSON *entries, hg_vocab *out);
/* Gives an id above or between the model's own a string, which the hash does not find. The caller
 * has made sure that the id is free. 0: out of memory. */
int hg_vocab_add(hg_vocab *vocab, uint32_t id, const char *text);
void hg_vocab_release(hg_vocab *vocab);
/* HG_TOKEN_NONE: the model has no such token. text holds no U+0000. */
uint32_t hg_vocab_find(const hg_vocab *vocab, const char *text, size_t bytes);
/* NULL: none. */
const char *hg_vocab_token(const hg_vocab *vocab, uint32_t id);
/* Appends the bytes that a token stands for: by the byte alphabet, or as spelt when a character of
 * it is not in that alphabet. 0: out of memory. */
int hg_vocab_bytes(const hg_vocab *vocab, uint32_t id, hg_bytes *out);

/* Spreads 64 bits over 64 bits; tables that find themselves crowded are built again with the next
 * seed. */
uint64_t hg_hash_mix(uint64_t word, uint64_t seed);
enum { HG_HASH_PROBES_MAX = 512, HG_HASH_SEEDS_MAX = 8 };

/* ---- tokenizer_bpe.c: merges, and one word by them ---- */

typedef struct hg_merge {
    uint64_t pair; /* left id << 32 | right id */
    uint32_t rank;
    uint32_t id; /* HG_TOKEN_NONE: an empty slot */
} hg_merge;

typedef struct hg_bpe {
    hg_merge *slots; /* [slot_mask + 1] by hash of pair */
    uint64_t slot_mask, seed;
    uint32_t byte_ids[256]; /* HG_TOKEN_NONE: the vocabulary lacks that byte */
    uint32_t unknown_id;    /* unk_token, HG_TOKEN_NONE: none */
    uint32_t unknown_fused; /* a run of unknown bytes is one token */
    uint32_t whole_words;   /* ignore_merges: a word that is a token is that token */
} hg_bpe;

typedef struct hg_symbol {
    uint32_t id;
    uint32_t begin, end; /* bytes of the word; begin == end: swallowed by a merge */
    uint32_t previous, next;
} hg_symbol;

typedef struct hg_candidate {
    uint64_t order; /* rank << 32 | symbol: lowest rank first, then leftmost */
    uint32_t id;
} hg_candidate;

/* Room for one word; all zero at first, reused from word to word, owned by one call. */
typedef struct hg_word {
    hg_symbol *symbols;
    size_t count, symbol_capacity;
    hg_candidate *heap;
    size_t heap_count, heap_capacity;
    hg_bytes spelling;
} hg_word;

/* model: the object of type BPE. */
hg_result hg_bpe_read(const hg_log *log, const char *label, const cJSON *model,
                      const hg_vocab *vocab, hg_bpe *out);
void hg_bpe_release(hg_bpe *bpe);
/* symbols[0..count) afterwards are the tokens in order. HG_ERR_FILE when a byte has no token. */
hg_result hg_bpe_word(const hg_bpe *bpe, const hg_vocab *vocab, const hg_log *log,
                      const char *label, const char *text, uint32_t bytes, hg_word *word);
void hg_word_release(hg_word *word);

/* ---- tokenizer_pattern.c: the file's regular expression, by PCRE2 ---- */

typedef struct hg_pattern hg_pattern;
typedef struct hg_matcher hg_matcher; /* what one call needs to use a pattern */

enum { HG_PATTERN_LITERAL = 1u << 0 /* text to be found as it stands, no regular expression */ };

hg_result hg_pattern_create(const hg_log *log, const char *label, const char *text, uint32_t flags,
                            hg_pattern **out);
void hg_pattern_destroy(hg_pattern **pattern);
hg_result hg_matcher_create(const hg_log *log, const char *label, hg_matcher **out);
void hg_matcher_destroy(hg_matcher **matcher);
/* The first match at or after `from` in valid UTF-8; *begin == *end == bytes and *found == 0 when
 * none. */
hg_result hg_pattern_find(const hg_pattern *pattern, hg_matcher *matcher, const char *text,
                          size_t bytes, size_t from, size_t *begin, size_t *end, int *found);

/* ---- tokenizer_nfc.c: normalisation that remembers where each byte came from ---- */

/* A stretch of the caller's text, perhaps changed. */
typedef struct hg_stretch {
    const char *text; /* the caller's bytes, or `owned` */
    size_t bytes;
    uint32_t base;   /* offset of the stretch in the caller's text */
    char *owned;     /* NULL: nothing has changed, byte i is byte base + i of the source */
    uint32_t *begin; /* [bytes] with owned: the range of the source that a byte stands for */
    uint32_t *end;
    size_t capacity;
} hg_stretch;

int hg_stretch_reserve(hg_stretch *stretch, size_t bytes);
/* Source range of the bytes first..last (last included). */
void hg_stretch_source(const hg_stretch *stretch, size_t first, size_t last, uint32_t *begin,
                       uint32_t *end);
void hg_stretch_release(hg_stretch *stretch);

/* NFC of valid UTF-8, in place of the stretch. 0: out of memory. */
int hg_nfc_apply(hg_stretch *stretch);
/* No character before this one can change it, nor it one before. Wide: some that are safe are left
 * out. */
int hg_nfc_is_boundary(uint32_t code);

/* ---- tokenizer_added.c: tokens that are found in the text before anything else ---- */

typedef struct hg_added_token {
    char *text; /* what to look for; with `normalized`, its NFC where the file asks for NFC */
    uint32_t bytes;
    uint32_t id;
    uint8_t strip_left, strip_right, single_word, normalized, special;
} hg_added_token;

typedef struct hg_added_set {
    hg_added_token *tokens; /* [count] in the order of their bytes */
    uint32_t count;
    uint8_t first[256]; /* some token begins with this byte */
} hg_added_set;

typedef struct hg_added {
    hg_added_set raw;        /* looked for in the text as given */
    hg_added_set normalized; /* looked for after normalisation */
    uint8_t *flags;          /* [id_count] HG_ADDED_ flags */
    uint32_t id_count;
} hg_added;

enum { HG_ADDED_TOKEN = 1u << 0, HG_ADDED_SPECIAL = 1u << 1 };

/* list: the file's added_tokens, may be NULL; adds their strings to the vocabulary. */
hg_result hg_added_read(const hg_log *log, const char *label, const cJSON *list, int nfc,
                        hg_vocab *vocab, hg_added *out);
void hg_added_release(hg_added *added);
uint32_t hg_added_flags(const hg_added *added, uint32_t id);

typedef struct hg_cut {
    size_t begin, end;
    uint32_t id; /* HG_TOKEN_NONE: text between tokens */
} hg_cut;

typedef struct hg_cuts {
    hg_cut *items;
    size_t count, capacity;
} hg_cuts;

/* Cuts text into tokens and what lies between. 0: out of memory. */
int hg_added_cut(const hg_added_set *set, const char *text, size_t bytes, hg_cuts *out);

/* ---- tokenizer_split.c: the pre-tokenizer ---- */

typedef struct hg_split_step {
    hg_pattern *pattern; /* NULL: put a space in front of every piece that has none */
    uint32_t invert;     /* what lies between the matches counts as the match */
    uint32_t drop;       /* matches are left out; otherwise each is a piece of its own */
} hg_split_step;

typedef struct hg_splitter {
    hg_split_step steps[HG_SPLIT_STEPS_MAX];
    uint32_t count;
} hg_splitter;

typedef struct hg_piece {
    uint32_t begin, end;
} hg_piece;

typedef struct hg_pieces {
    hg_piece *items, *spare;
    size_t count, capacity, spare_capacity;
} hg_pieces;

/* node: the file's pre_tokenizer. */
hg_result hg_splitter_read(const hg_log *log, const char *label, const cJSON *node,
                           hg_splitter *out);
void hg_splitter_release(hg_splitter *splitter);
hg_result hg_splitter_run(const hg_splitter *splitter, hg_matcher *matcher, const hg_log *log,
                          const char *label, hg_stretch *stretch, hg_pieces *out);
void hg_pieces_release(hg_pieces *pieces);

/* ---- tokenizer_template.c: what the post-processor puts around the text ---- */

typedef struct hg_template {
    uint32_t *before, *after; /* ids */
    uint32_t before_count, after_count;
} hg_template;

hg_result hg_template_read(const hg_log *log, const char *label, const cJSON *node,
                           const hg_vocab *vocab, hg_template *out);
void hg_template_release(hg_template *frame);

/* ---- tokenizer.c ---- */

struct hg_tokenizer {
    hg_log log;
    char *label; /* path of the file: begins every sentence */
    hg_vocab vocab;
    hg_bpe bpe;
    hg_added added;
    hg_splitter splitter;
    hg_template frame;
    uint32_t nfc;
    uint32_t vocab_limit; /* 0: none */
};

/* hg_tokenizer_open from memory; params->path is only a name. */
hg_result hg_tokenizer_open_text(const hg_tokenizer_params *params, const void *text,
                                 uint64_t bytes, hg_tokenizer **out);

/* ---- tokenizer_file.c ---- */

/* Fills all of the tokenizer but log and label (which are set) from the text of the file. */
hg_result hg_tokenizer_read(hg_tokenizer *tokenizer, const void *text, uint64_t bytes);
/* The "type" of an object of the file, or a word for what it is instead; never NULL. */
const char *hg_tokenizer_kind(const cJSON *node);

#endif
