/* SPDX-License-Identifier: MIT */
/*
 * What a session has kept: attention probabilities of any rectangle of any head, recomputed on the
 * device from q, k and the row statistics; gates; hidden states; the measures of the paper. Layers
 * and heads are 0-based. Everything covers the tokens evaluated so far. Thread-safety: as the
 * session.
 */
#ifndef HEADGATE_CAPTURE_H
#define HEADGATE_CAPTURE_H

#include <headgate/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hg_pool { HG_POOL_MAX = 0, HG_POOL_MEAN = 1 } hg_pool;

typedef struct hg_map_params {
    uint32_t struct_size;
    uint32_t layer;
    uint32_t head_first, head_count;   /* head_count 0: all heads */
    uint32_t head_mean;                /* 1: one map, the mean over these heads; 0: one per head */
    uint32_t query_first, query_count; /* query_count 0: to the last token */
    uint32_t key_first, key_count;     /* key_count 0: to the last token */
    uint32_t pool_queries, pool_keys; /* cell size; 0 is 1. Ragged cells at the ends are clipped. */
    hg_pool pool;
} hg_map_params;

/* Cells of the result: [maps, rows, cols]. */
HG_API hg_result hg_capture_map_shape(const hg_session *session, const hg_map_params *params,
                                      uint32_t shape[3]);
/* Probabilities after softmax, before the gate; exactly 0 above the diagonal and outside a window.
 * HG_ERR_ARGUMENT: the layer was not captured, or a range outside the tokens. */
HG_API hg_result hg_capture_map(hg_session *session, const hg_map_params *params, float *out);

/* sigmoid(gate), [tokens, heads, gate_dim]. HG_ERR_ARGUMENT when the model has no gate. */
HG_API hg_result hg_capture_gates(hg_session *session, uint32_t layer, float *out);
/* [tokens, heads, 2]: row maximum m of the scaled scores, log of sum exp(s - m); their sum is the
 * log-sum-exp. */
HG_API hg_result hg_capture_stats(hg_session *session, uint32_t layer, float *out);
/* q: [tokens, heads, head_dim], k: [tokens, kv_heads, head_dim], after norm and rope. Either may be
 * NULL. */
HG_API hg_result hg_capture_qk(hg_session *session, uint32_t layer, float *q, float *k);
/* [tokens, hidden]: 0 the embeddings, i the output of layer i - 1 (i < layers), layers: after the
 * final norm, layers + 1: the output of the last layer before the final norm. */
HG_API hg_result hg_capture_hidden(hg_session *session, uint32_t index, float *out);

/* The paper's measures of one layer (arXiv 2505.06708, section 4: F-Attn). */
typedef struct hg_layer_metrics {
    double first_token_share;       /* F: mean over heads and queries of p(query, first key) */
    double first_token_share_later; /* the same without query 0, which has no choice */
    double gate_mean;               /* NaN without a gate */
    double gate_below_tenth;        /* share of gates < 0.1; NaN without a gate */
    double hidden_abs_max; /* largest |x| of this layer's output; NaN unless HG_CAPTURE_HIDDEN */
    uint32_t captured;     /* 0: only hidden_abs_max is known */
} hg_layer_metrics;

/* head_shares: NULL, or [2, heads]: F per head with, then without query 0. */
HG_API hg_result hg_capture_metrics(hg_session *session, uint32_t layer, hg_layer_metrics *out,
                                    double *head_shares);
/* F of attention that is uniform over the keys it may see: H_T / T with query 0, (H_T - 1) / (T -
 * 1) without (H_T the harmonic number; D30). later 1: without query 0; NaN when T is 1 then. */
HG_API double hg_uniform_share(uint32_t tokens, uint32_t later);

#ifdef __cplusplus
}
#endif
#endif
