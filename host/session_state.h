/* SPDX-License-Identifier: MIT */
/* What a session holds. Private to host/: session.c owns it, forward.c writes operations about it,
 * capture.c reads it. */
#ifndef HG_HOST_SESSION_STATE_H
#define HG_HOST_SESSION_STATE_H

#include <headgate/session.h>

#include "model_weights.h"

/* Buffers of one piece of `piece` tokens, ranges of one arena. All f32. */
typedef struct hg_activations {
    hg_bind x;        /* [piece, hidden]: the residual stream */
    hg_bind xn;       /* [piece, hidden] */
    hg_bind qg;       /* [piece, heads * (head_dim + gate_dim)] */
    hg_bind q;        /* [piece, heads, head_dim] */
    hg_bind z;        /* [piece, heads, gate_dim]: gates before the sigmoid */
    hg_bind k;        /* [piece, kv_heads, head_dim]: before rope */
    hg_bind attn;     /* [piece, heads, head_dim] */
    hg_bind stats;    /* [piece, heads, 2] */
    hg_bind gates;    /* [piece, heads, gate_dim] */
    hg_bind proj;     /* [piece, hidden] */
    hg_bind mlp_gate; /* [piece, ffn] */
    hg_bind mlp_up;   /* [piece, ffn] */
    hg_bind mlp_act;  /* [piece, ffn] */
    hg_bind last;     /* [1, hidden]: the last token's row */
    hg_bind final;    /* [piece, hidden]: after the final norm */
    hg_bind logits;   /* [piece or 1, vocab] */
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
    uint32_t tokens;
    int32_t *ids; /* [max_tokens] */

    hg_mem *arena;
    hg_activations act;
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

    float *logits;                     /* ALL: [max_tokens, vocab]; LAST: [1, vocab] */
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
