/* SPDX-License-Identifier: MIT */
/* A small random checkpoint on disk, with the knobs that make a fault matter. */
#ifndef HG_TEST_COMPARE_FIXTURE_H
#define HG_TEST_COMPARE_FIXTURE_H

#include <stdint.h>

typedef struct hg_fixture {
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    uint32_t gate; /* 0 none, 1 headwise, 2 elementwise */
    uint32_t window;
    uint32_t is_bf16, is_tied, has_qk_norm;
    float embed_scale; /* of the embeddings; 0: 1 */
    float q_scale;     /* of the query rows; 0: 1 */
    float out_scale;   /* of what each layer adds to the residual stream; 0: 1 */
    uint64_t seed;
    uint32_t tokens; /* of the prompt */
} hg_fixture;

/* Writes config.json and model.safetensors into an existing folder; 0: it cannot be written. */
int hg_fixture_write(const hg_fixture *fixture, const char *folder);
/* Ids of the prompt, [tokens]. */
void hg_fixture_ids(const hg_fixture *fixture, int32_t *ids);
/* A shape by number: every kind of gate, grouping, odd sizes. */
void hg_fixture_random(uint64_t number, hg_fixture *out);

#endif
