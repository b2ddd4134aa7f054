/* SPDX-License-Identifier: MIT */
/*
 * THE page: a pass over a piece of tokens, one kernel a line, in the order of the original class
 * (modeling_qwen3.py of github.com/qiuzh20/gated_attention at 49645df). No device, no file, no
 * error text in here. Shapes stand at the end of the lines where data changes shape; T is the
 * number of tokens of this piece.
 */
#include "forward.h"

#include "ops.h"

static const hg_vector no_bias = {0, 0};

/* Queries, keys and values of this piece: q into act.q, k and v behind the `past` rows of the
 * layer's cache. One product, and what stands in its rows taken to its places. */
static void project(const hg_pen *pen, const hg_layer *w)
{
    hg_session *s = pen->session;
    const hg_activations *a = &s->act;
    const hg_joined qkv = {
        &w->qkv, w->qkv_bias, {&w->q_gate, &w->k, &w->v}, {w->q_bias, w->k_bias, w->v_bias}, 3};
    const uint32_t stride = w->q_gate.rows + w->k.rows + w->v.rows;

    hg_op_matmul_joined(pen, a->xn, &qkv, a->qkv,
                        "qkv"); /* [T, heads * (head_dim + gate_dim) + k + v] */
    hg_op_rope_queries(pen, a->qkv, stride, w->q_norm, a->q,
                       a->z); /* [T, heads, head_dim] and [T, heads, gate_dim] */
    hg_op_rope_keys(pen, a->qkv, stride, w->k_norm, hg_bind_all(s->k_cache[pen->layer]),
                    hg_bind_all(s->v_cache[pen->layer])); /* [T, kv_heads, head_dim] */
}

/* The same with every stage by itself, the same bytes. */
static void project_stages(const hg_pen *pen, const hg_layer *w)
{
    hg_session *s = pen->session;
    const hg_config *c = &s->model->config;
    const hg_activations *a = &s->act;
    const hg_bind k_cache = hg_bind_all(s->k_cache[pen->layer]);
    const hg_bind v_cache = hg_bind_all(s->v_cache[pen->layer]);
    const hg_bind q = s->model->gate_dim ? a->q : a->qg;

    hg_op_matmul(pen, pen->tokens, a->xn, &w->q_gate, w->q_bias, a->qg, 0,
                 "q_gate"); /* [T, heads * (head_dim + gate_dim)] */
    hg_op_matmul(pen, pen->tokens, a->xn, &w->k, w->k_bias, a->k, 0,
                 "k"); /* [T, kv_heads, head_dim] */
    hg_op_matmul(pen, pen->tokens, a->xn, &w->v, w->v_bias, v_cache, pen->past,
                 "v"); /* [T, kv_heads, head_dim] */
    /* The published checkpoints keep each KV group's gate rows behind its query rows. */
    if (s->model->gate_dim)
        hg_op_split_q_gate(pen, a->qg, a->q,
                           a->z); /* [T, heads, head_dim] and [T, heads, gate_dim] */
    hg_op_norm_rope(pen, c->heads, q, w->q_norm, a->q, 0, "q_rope");
    hg_op_norm_rope(pen, c->kv_heads, a->k, w->k_norm, k_cache, pen->past, "k_rope");
}

/* Copies what this layer is asked to keep behind what is kept of the earlier tokens. */
static void keep(const hg_pen *pen)
{
    const hg_session *s = pen->session;
    const hg_config *c = &s->model->config;
    const hg_kept_layer *kept = &s->kept[pen->layer];
    const uint64_t q_row = (uint64_t)c->heads * c->head_dim;
    const uint64_t gate_row = (uint64_t)c->heads * s->model->gate_dim;
    const uint64_t stats_row = (uint64_t)c->heads * 2;

    if (kept->q) {
        hg_op_copy(pen, hg_bind_all(kept->q), pen->past * q_row, s->act.q, 0, pen->tokens * q_row,
                   NULL);
        hg_op_copy(pen, hg_bind_all(kept->stats), pen->past * stats_row, s->act.stats, 0,
                   pen->tokens * stats_row, NULL);
    }
    if (kept->gates)
        hg_op_copy(pen, hg_bind_all(kept->gates), pen->past * gate_row, s->act.gates, 0,
                   pen->tokens * gate_row, NULL);
}

/* Residual stream of this piece into hidden[index], if hidden states are kept. */
static void keep_hidden(const hg_pen *pen, uint32_t index, hg_bind from)
{
    const hg_session *s = pen->session;
    const uint64_t hidden = s->model->config.hidden;

    if (s->hidden)
        hg_op_copy(pen, hg_bind_all(s->hidden[index]), pen->past * hidden, from, 0,
                   pen->tokens * hidden, NULL);
}

/* act.x: [T, hidden], read and written in place. */
static void layer(const hg_pen *pen, const hg_layer *w)
{
    const hg_activations *a = &pen->session->act;
    const hg_joined gate_up = {
        &w->gate_up, no_bias, {&w->mlp_gate, &w->mlp_up}, {no_bias, no_bias}, 2};

    hg_op_rms_norm(pen, pen->tokens, a->x, w->attn_norm, a->xn, "attn_norm");
    project(pen, w);
    hg_op_attention(pen, pen->session->model->gate_dim > 0,
                    "attn_out"); /* [T, heads, head_dim], gated */
    keep(pen);
    hg_op_matmul_add(pen, pen->tokens, a->attn, &w->o, w->o_bias, a->x,
                     "attn_residual"); /* [T, hidden] */

    hg_op_rms_norm(pen, pen->tokens, a->x, w->mlp_norm, a->xn, "mlp_norm");
    hg_op_matmul_joined(pen, a->xn, &gate_up, a->gate_up, "gate_up"); /* [T, 2 * ffn] */
    hg_op_silu_mul_rows(pen, a->gate_up, a->mlp_act, "mlp_act");      /* [T, ffn] */
    hg_op_matmul_add(pen, pen->tokens, a->mlp_act, &w->mlp_down, no_bias, a->x,
                     "residual"); /* [T, hidden] */
}

/* The same layer, an operation for every stage that somebody looks at, the same bytes. */
static void layer_stages(const hg_pen *pen, const hg_layer *w)
{
    const hg_activations *a = &pen->session->act;
    const uint32_t tokens = pen->tokens;

    hg_op_rms_norm(pen, tokens, a->x, w->attn_norm, a->xn, "attn_norm");
    project_stages(pen, w);
    /* The gate is a part of the kernel; who looks at stages sees the output before it as well. */
    if (pen->session->model->gate_dim)
        hg_op_attention(pen, 0, "attn_ungated"); /* [T, heads, head_dim] */
    hg_op_attention(pen, pen->session->model->gate_dim > 0,
                    "attn_out"); /* [T, heads, head_dim], gated */
    keep(pen);
    hg_op_matmul(pen, tokens, a->attn, &w->o, w->o_bias, a->proj, 0, "attn_proj"); /* [T, hidden] */
    hg_op_add(pen, a->x, a->proj, a->x, "attn_residual");

    hg_op_rms_norm(pen, tokens, a->x, w->mlp_norm, a->xn, "mlp_norm");
    hg_op_matmul(pen, tokens, a->xn, &w->mlp_gate, no_bias, a->mlp_gate, 0,
                 "mlp_gate");                                                      /* [T, ffn] */
    hg_op_matmul(pen, tokens, a->xn, &w->mlp_up, no_bias, a->mlp_up, 0, "mlp_up"); /* [T, ffn] */
    hg_op_silu_mul(pen, a->mlp_gate, a->mlp_up, a->mlp_act, "mlp_act");
    hg_op_matmul(pen, tokens, a->mlp_act, &w->mlp_down, no_bias, a->proj, 0,
                 "mlp_down"); /* [T, hidden] */
    hg_op_add(pen, a->x, a->proj, a->x, "residual");
}

/* The final norm and the vocabulary product, as far as anybody asked for them. */
static void head(const hg_pen *pen)
{
    hg_session *s = pen->session;
    const hg_model *m = s->model;
    const hg_activations *a = &s->act;
    const uint64_t hidden = m->config.hidden;
    const hg_matrix *w = m->head.blocks ? &m->head : &m->embed; /* tied: the embedding once more */
    const int all = s->params.logits == HG_LOGITS_ALL;

    if (all || s->hidden) {
        hg_op_rms_norm(pen, pen->tokens, a->x, m->final_norm, a->final,
                       "final_norm"); /* [T, hidden] */
        keep_hidden(pen, m->config.layers, a->final);
    }
    if (all)
        hg_op_matmul(pen, pen->tokens, a->final, w, no_bias, a->logits, 0,
                     "logits"); /* [T, vocab] */
    if (s->params.logits == HG_LOGITS_LAST && s->last_count) {
        const uint32_t ends = s->last_count; /* one, or as many sequences as end in this piece */
        const hg_pen last = {s, pen->past, ends, -1};

        for (uint32_t i = 0; i < ends; i++)
            hg_op_copy(&last, a->last, i * hidden, a->x, s->last_rows[i] * hidden, hidden,
                       NULL); /* [ends, hidden] */
        hg_op_rms_norm(&last, ends, a->last, m->final_norm, a->xn, s->hidden ? NULL : "final_norm");
        hg_op_matmul(&last, ends, a->xn, w, no_bias, a->logits, 0, "logits"); /* [ends, vocab] */
    }
}

void hg_forward_append(hg_session *session, uint32_t past, uint32_t tokens)
{
    const hg_model *m = session->model;
    hg_pen pen = {session, past, tokens, -1};

    hg_op_embed_rows(&pen, session->act.x, "embedding"); /* [T, hidden] */
    for (uint32_t i = 0; i < m->config.layers; i++) {
        keep_hidden(&pen, i, session->act.x);
        pen.layer = (int32_t)i;
        if (session->params.tap)
            layer_stages(&pen, &m->layers[i]);
        else
            layer(&pen, &m->layers[i]);
        pen.layer = -1;
    }
    keep_hidden(&pen, m->config.layers + 1, session->act.x);
    head(&pen);
}
