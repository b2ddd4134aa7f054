/* SPDX-License-Identifier: MIT */
/*
 * A session: one timeline of tokens on a model, with its cache of keys and values, and what is kept
 * of it; or many short ones side by side (batch.h). Thread-safety: one thread at a time per
 * session; several sessions may share a model.
 */
#ifndef HEADGATE_SESSION_H
#define HEADGATE_SESSION_H

#include <headgate/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_session hg_session;

enum {
    HG_CAPTURE_ATTENTION =
        1u << 0,                /* q and k after rope and the row statistics of the layers asked */
    HG_CAPTURE_GATES = 1u << 1, /* sigmoid(gate) of the layers asked */
    HG_CAPTURE_HIDDEN =
        1u << 2 /* residual stream: embeddings, after every layer, after the final norm */
};

typedef enum hg_logits_kind {
    HG_LOGITS_NONE = 0, /* the vocabulary product is not computed at all */
    HG_LOGITS_LAST = 1, /* of the last token of each eval */
    HG_LOGITS_ALL = 2   /* of every token */
} hg_logits_kind;

/* A buffer that one dispatch has written, seen right after it (docs/DECISIONS.md D18). Models with
 * a gate run attention once more, ungated, when stages are looked at. */
typedef struct hg_stage {
    uint32_t struct_size;
    const char
        *name; /* "embedding", "attn_norm", "q_gate", "k", "v", "q" and "gate_logits" (q_gate taken
                * apart), "q_rope", "k_rope", "attn_ungated", "attn_out", "attn_stats", "gates",
                * "attn_proj", "attn_residual", "mlp_norm", "mlp_gate", "mlp_up", "mlp_act",
                * "mlp_down", "residual", "final_norm", "logits"; of hg_capture_map: "attn_probs" */
    const char *kernel;
    int32_t layer; /* 0-based; -1: outside the layers */
    uint32_t rank;
    uint32_t shape[4];
    const float *values;      /* valid during the call */
    const char *tier, *dtype; /* of the variant: "T0", "bf16"; "" where nothing was dispatched */
    uint32_t first_token;     /* token of row 0; in a batch its place among all tokens */
    /* The error that each element may have, given these inputs (docs/DECISIONS.md D8); NULL unless
     * hg_session_params.bounds and the engine is the reference with precision fp32. */
    const double *allowed;
} hg_stage;

typedef struct hg_session_params {
    uint32_t struct_size;
    uint32_t max_tokens;    /* room of the cache; required */
    uint32_t rope_tokens;   /* length that length-dependent rope is computed for (D13); 0: of the
                               first eval */
    uint32_t piece_tokens;  /* prefill in pieces of at most this many tokens; 0: chosen by memory.
                               The same bytes. */
    uint32_t capture;       /* HG_CAPTURE_* */
    const uint32_t *layers; /* 0-based layers for ATTENTION and GATES; NULL: all */
    uint32_t layer_count;
    hg_logits_kind logits;
    hg_progress progress;                           /* "tokens"; also cancels */
    void (*tap)(void *user, const hg_stage *stage); /* every stage of every op, slow; NULL: none */
    void *tap_user;
    hg_log log;
    /* After tap: may put other values ([shape], in place) where the stage stands, for the
     * operations that follow; returns 1 if it did. NULL: none; needs a tap. */
    int (*force)(void *tap_user, const hg_stage *stage, float *values);
    uint32_t bounds;    /* 1: hg_stage.allowed */
    uint32_t sequences; /* the most that hg_batch_eval takes at a time; 0: 1 */
} hg_session_params;

HG_API hg_result hg_session_create(hg_model *model, const hg_session_params *params,
                                   hg_session **out);
HG_API void hg_session_free(hg_session **session);

/* Appends tokens. Callbacks of the eval (tap, progress) may not call this session: HG_ERR_ARGUMENT.
 * HG_ERR_TEXT: an id outside the vocabulary. HG_ERR_ARGUMENT: no room left. After HG_CANCELLED or
 * an error the session still holds the tokens it had before. */
HG_API hg_result hg_session_eval(hg_session *session, const int32_t *ids, uint32_t count);
HG_API uint32_t hg_session_tokens(const hg_session *session);
/* Forgets all tokens from this one on (0: starts anew). */
HG_API hg_result hg_session_truncate(hg_session *session, uint32_t tokens);
HG_API const int32_t *hg_session_ids(const hg_session *session); /* [tokens] */

/* Logits of a token, [vocab]. LAST: only the last token of the last eval; ALL: any token.
 * HG_ERR_ARGUMENT else. */
HG_API hg_result hg_session_logits(hg_session *session, uint32_t token, float *out);

#ifdef __cplusplus
}
#endif
#endif
