/* SPDX-License-Identifier: MIT */
/*
 * Many prompts in one pass: a session holds several short sequences side by side instead of one
 * timeline, so that a device is full with them. Every sequence attends to itself alone, from its
 * own position 0. Under HG_PRECISION_EXACT all results have the bytes of an eval of that sequence
 * by itself. Everything is copied in and out; thread-safety: as the session.
 *
 *   hg_session_params.max_tokens and .sequences are the room of a pass (hg_batch_room suggests
 * one), then, until all prompts are through: hg_batch_eval(session, ids, counts, left, &taken);
 *       hg_batch_metrics, hg_batch_maps;           for all sequences of the pass at once
 *       hg_batch_select(session, i); hg_session_logits, hg_capture_*;      for one of them
 */
#ifndef HEADGATE_BATCH_H
#define HEADGATE_BATCH_H

#include <headgate/capture.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The largest max_tokens up to `tokens` with which a session of these params fits the bindings, the
 * allocations and half of the free memory of the model's device; params->max_tokens is not looked
 * at. 0: not even one token does, or an argument is NULL.
 */
HG_API uint32_t hg_batch_room(hg_model *model, const hg_session_params *params, uint32_t tokens);

/*
 * Replaces what the session holds by the first of these sequences, as many as its max_tokens and
 * sequences have room for, and selects the first. ids: [sum of counts], one sequence behind the
 * other; taken: how many were. taken NULL: all must fit. HG_ERR_TEXT: a sequence without tokens, an
 * id outside the vocabulary. HG_ERR_ARGUMENT: none fits. After any error or HG_CANCELLED the
 * session holds nothing; these two leave what it held.
 *
 * Rope that depends on the length is computed for each sequence's own, unless rope_tokens is set. A
 * batch cannot be continued: hg_session_eval wants hg_session_truncate(session, 0) first.
 */
HG_API hg_result hg_batch_eval(hg_session *session, const int32_t *ids, const uint32_t *counts,
                               uint32_t sequences, uint32_t *taken);
/* Sequences that are held; 0: a timeline. */
HG_API uint32_t hg_batch_sequences(const hg_session *session);
/* From here on hg_session_tokens, _ids, _logits and hg_capture_* are about this sequence, whose
 * tokens count from 0. LAST: the logits of its last token. */
HG_API hg_result hg_batch_select(hg_session *session, uint32_t sequence);

/* hg_capture_metrics of every sequence. out: [sequences]; head_shares: NULL, or [sequences, 2,
 * heads]. */
HG_API hg_result hg_batch_metrics(hg_session *session, uint32_t layer, hg_layer_metrics *out,
                                  double *head_shares);
/* hg_capture_gates of every sequence, one behind the other: [tokens of all, heads, gate_dim]. */
HG_API hg_result hg_batch_gates(hg_session *session, uint32_t layer, float *out);
/* hg_capture_map of every sequence, one behind the other in out: each [maps, rows, cols], its own
 * (hg_batch_select, hg_capture_map_shape). Maps are whole: the ranges of queries and keys in params
 * must be 0. */
HG_API hg_result hg_batch_maps(hg_session *session, const hg_map_params *params, float *out);

#ifdef __cplusplus
}
#endif
#endif
