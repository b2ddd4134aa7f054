/* SPDX-License-Identifier: MIT */
/*
 * The sha256 of what a session computed: the bytes that exact mode promises, without the bytes.
 * Over little-endian floats: logits [tokens, vocab], then for each layer the attention
 * probabilities [heads, tokens, tokens] with +0 above the diagonal. Streamed: no map is held as a
 * whole.
 */
#ifndef HG_TOOLS_EXACT_HASH_H
#define HG_TOOLS_EXACT_HASH_H

#include "provenance.h"

typedef struct hg_exact_hash {
    char logits[HG_SHA256_TEXT];
    char maps[HG_SHA256_TEXT]; /* of all layers, in order */
    char all[HG_SHA256_TEXT];  /* logits and maps as one stream */
    char (*layers)[HG_SHA256_TEXT];
    uint32_t layer_count;
} hg_exact_hash;

/* The session has captured the attention of all layers and kept all logits. */
hg_result hg_exact_hash_make(hg_app *app, const hg_model_info *info, hg_session *session,
                             hg_exact_hash *out);
void hg_exact_hash_free(hg_exact_hash *hash);

/* What is known of a model and a prompt, from exact-hashes.txt beside the samples. */
typedef struct hg_shipped {
    int listed;
    char logits[HG_SHA256_TEXT], maps[HG_SHA256_TEXT], all[HG_SHA256_TEXT];
} hg_shipped;

/* Looks for this revision, these weights and these ids. HG_ERR_FILE: --samples names a folder
 * without the file, or the file is broken; without --samples no file is no error. */
hg_result hg_shipped_find(const hg_args *args, const char *weights_sha256, const int32_t *ids,
                          uint32_t count, hg_shipped *out);

#endif
