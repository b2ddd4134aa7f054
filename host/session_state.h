/* SPDX-License-Identifier: MIT */
/* What a session holds. Private to host/: session.c owns it, forward.c writes operations about it,
 * capture.c reads it. */
#ifndef HG_HOST_SESSION_STATE_H
#define HG_HOST_SESSION_STATE_H

#include <headgate/capture.h>

#include "model_weights.h"

/* Buffers of one piece of `piece` tokens, ranges of one arena. All f32. Those of the page under
 * taps and those of the page without (forward.c) have no elements where the other is run. */
typedef struct hg_activations {
    hg_bind x;       /* [piece, hidden]: the residual stream */
    hg_bind xn;      /* [piece, hidden] */
    hg_bind qkv;     /* [piece, heads * (head_dim + gate_dim) + 2 * kv_heads * head_dim]: no taps */
    hg_bind qg;      /* [piece, heads * (head_dim + gate_dim)]: taps */
    hg_bind q;       /* [piece, heads, head_dim] */
    hg_bind z;       /* [piece, heads, gate_dim]: gates before the sigmoid */
    hg_bind k;       /* [piece, kv_heads, head_dim]: before rope; taps */
    hg_bind attn;    /* [piece, heads, head_dim] */
    hg_bind stats;   /* [piece, heads, 2] */
    hg_bind gates;   /* [piece, heads, gate_dim] */
    hg_bind proj;    /* [piece, hidden]: taps */
    hg_bind gate_up; /* [piece, 2 * ffn]: no taps */
    hg_bind mlp_gate; /* [piece, ffn]: taps */
    hg_bind mlp_up;   /* [piece, ffn]: taps */
    hg_bind mlp_act;  /* [piece, ffn] */
    hg_bind last;     /* [last_room, hidden]: rows of tokens that end their sequence */
    hg_bind final;    /* [piece, hidden]: after the final norm */
    hg_bind logits;   /* [piece or last_room, vocab] */
} hg_activations;

/* What is kept of one layer. NULL mems: not captured. */
typedef struct hg_kept_layer {
    hg_mem *q;     /* [max_tokens, heads, head_dim] after norm and rope */
    hg_mem *stats; /* [max_tokens, heads, 2] */
    hg_mem *gates; /* [max_tokens, heads, gate_dim] */
} hg_kept_layer;

struct hg_session {
    hg_model *model;
    hg_engine *engine;
    hg_log log;
    hg_session_params params; /* layers points at the session's own copy */
    uint32_t *layer_list;
    uint32_t max_tokens, piece;
    uint32_t first;  /* cache row of token 0: 0, or where the selected sequence begins */
    uint32_t tokens; /* of the timeline, or of the selected sequence */
    int32_t *ids;    /* [max_tokens] */

    uint32_t sequences; /* of the batch that is held; 0: one timeline */
    uint32_t sequence_room;
    uint32_t *starts; /* [sequence_room + 1]: cache rows where sequences begin, then the end */
    uint32_t selected;
    int rows_ragged;     /* rows_all is a batch's */
    uint32_t last_room;  /* most rows of a piece whose logits LAST can take */
    uint32_t last_count; /* of the piece that runs */
    uint32_t *last_rows; /* [last_room]: rows of the piece */

    hg_mem *arena;
    hg_activations act;
    uint32_t slice_rows;   /* of attention in slices of 64 keys, at a time; 0: it is one kernel */
    uint32_t slice_tokens; /* more of them in a piece: one kernel, too */
    uint32_t slice_tokens_far;   /* the same, of one that looks back farther than HG_PLAN_FAR */
    hg_mem *slice_part;          /* [slice_rows, heads, head_dim] */
    hg_mem *slice_marks;         /* [slice_rows, heads, 2] */
    hg_mem *ids_up;              /* [piece] u32, written by the host per piece */
    hg_mem *rope_up;             /* [piece, head_dim / 2, 2] */
    hg_mem *rows_up;             /* [piece, 4] u32 */
    hg_mem **k_cache, **v_cache; /* [layers] of [max_tokens, kv_heads, head_dim] */

    hg_kept_layer *kept; /* [layers] */
    hg_mem **hidden;     /* [layers + 2] of [max_tokens, hidden]; NULL: not captured */
    hg_mem *rows_all;    /* [max_tokens, 4] u32: for attn_probs */
    hg_mem *probe;       /* results of capture.c's dispatches, made on first use */

    int busy;              /* inside hg_session_eval */
    uint32_t tapped_token; /* first token of the piece that runs */
    uint32_t rope_tokens;
    float attention_scale; /* 1 / sqrt(head_dim), rounded once */
    double rope_scaling;
    double inv_freq[HG_HEAD_DIM_MAX / 2];

    float *logits;                     /* ALL: [max_tokens, vocab]; LAST: [sequence_room, vocab] */
    uint32_t logits_row;               /* in logits, of token logits_first */
    uint32_t logits_first, logits_end; /* tokens that logits holds */
    hg_oplist ops;
    int said_not_finite; /* warned once */
};

/* Host-side rows of kernels.def attention: { position, sequence, kv_begin, kv_end }
 * (docs/DECISIONS.md D7). */
enum { HG_ROW_WORDS = 4 };

/* 1, said at HG_LOG_ERROR, while an eval runs: its callbacks may not call the session, whose list
 * of operations is being walked. */
int hg_session_busy(const hg_session *session);

/* For batch.c. Runs checked ids as cache rows [before, before + count), in pieces; what the session
 * then holds, or holds no more after a failure, is the caller's to say. */
hg_result hg_session_run(hg_session *session, const int32_t *ids, uint32_t before, uint32_t count);
/* Row data of everything that is about to be held, for attn_probs. */
hg_result hg_session_keep_rows(hg_session *session);
/* The sequence of the batch that has this cache row. */
uint32_t hg_session_sequence_at(const hg_session *session, uint32_t row);
/* Forgets all tokens. */
void hg_session_reset(hg_session *session);
/* Device bytes of a session with these params and this many tokens, and the widest row that one
 * binding has to hold of all of them. */
uint64_t hg_session_bytes(const hg_model *model, const hg_session_params *params, uint32_t tokens,
                          uint64_t *row_floats);

static inline int hg_session_knows(const hg_session *s, int32_t id)
{
    return id >= 0 && (uint32_t)id < s->model->config.vocab;
}

/* capture.c, for batch.c and metrics.c: params with the defaults filled in, checked against the
 * selected sequence; and the cells of settled params whose query 0 is cache row `first`, which may
 * cover several sequences: keys are counted in each query's own, beyond its end cells are 0. */
hg_result hg_capture_settle(const hg_session *session, const hg_map_params *params,
                            hg_map_params *out);
void hg_capture_shape(const hg_map_params *settled, uint32_t shape[3]);
hg_result hg_capture_cells(hg_session *session, const hg_map_params *settled, uint32_t first,
                           float *out);

/* metrics.c: of sequences [starts[i], starts[i + 1]), as hg_capture_metrics; head_shares NULL or
 * [sequences, 2, heads]. */
hg_result hg_session_measure(hg_session *session, uint32_t layer, const uint32_t *starts,
                             uint32_t sequences, hg_layer_metrics *out, double *head_shares);

/* The hg_tap of a session: a stage to the caller's callbacks. */
int hg_session_show(void *user, const hg_tapped *tapped);

/* Warns, once per session, when results that are handed out hold NaN or infinite values: weights or
 * activations that overflow are the checkpoint's fault, but the reader has to know. */
void hg_session_look(hg_session *session, const char *what, const float *values, uint64_t count);

static inline hg_bind hg_bind_all(hg_mem *mem)
{
    const hg_bind bind = {mem, 0, mem ? mem->size_bytes : 0};
    return bind;
}

#endif
