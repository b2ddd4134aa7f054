/* SPDX-License-Identifier: MIT */
/*
 * config.json as data: every switch of the architecture, checked. The only place that knows the
 * keys.
 */
#ifndef HG_HOST_CONFIG_H
#define HG_HOST_CONFIG_H

#include <headgate/model.h>

typedef enum hg_rope_type {
    HG_ROPE_DEFAULT,
    HG_ROPE_LINEAR,
    HG_ROPE_DYNAMIC,
    HG_ROPE_YARN,
    HG_ROPE_LLAMA3,
    HG_ROPE_LONGROPE
} hg_rope_type;

enum { HG_HEAD_DIM_MAX = 256 };

typedef struct hg_rope {
    hg_rope_type type;
    double theta;
    double factor;
    double original_max_positions; /* 0: absent */
    double attention_factor;       /* 0: absent */
    double beta_fast, beta_slow;
    double mscale, mscale_all_dim;
    double low_freq_factor, high_freq_factor;
    double short_factor[HG_HEAD_DIM_MAX / 2], long_factor[HG_HEAD_DIM_MAX / 2];
} hg_rope;

typedef struct hg_config {
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, max_positions;
    float eps;
    uint32_t qk_norm; /* as the key says (default true) */
    uint32_t tied;
    uint32_t window;       /* 0: off */
    int32_t gate_headwise; /* -1: key absent, else 0 or 1 */
    int32_t gate_elementwise;
    uint32_t bias_key; /* qkv_bias or attention_bias true: only for a warning, tensors decide */
    int32_t bos_token_id, eos_token_id; /* -1: none */
    hg_rope rope;
} hg_config;

hg_result hg_config_read(const hg_log *log, const char *path, hg_config *out);
/* The same from text; label begins every sentence. */
hg_result hg_config_parse(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                          hg_config *out);

/* inv_freq: [head_dim / 2], for a sequence of `tokens` positions (dynamic, longrope depend on it);
 * *scaling multiplies cos and sin. Double throughout, own pow/log/exp/sin/cos (D11), as
 * transformers 4.51 ROPE_INIT_FUNCTIONS give it. */
void hg_rope_frequencies(const hg_config *config, uint32_t tokens, double *inv_freq,
                         double *scaling);
/* 1 when hg_rope_frequencies depends on tokens. */
int hg_rope_depends_on_length(const hg_config *config);
/* table: [count, head_dim / 2, 2] = (cos, sin) * scaling, rounded once to float, flushed below
 * 2^-50 to +0. */
void hg_rope_table(const double *inv_freq, double scaling, uint32_t head_dim,
                   uint32_t position_first, uint32_t count, float *table);

#endif
