/* SPDX-License-Identifier: MIT */
/*
 * Reading what a session kept: maps recomputed on the device from q, k and the row statistics, and
 * plain copies of gates, statistics and hidden states. Measures are in metrics.c.
 */
#include <headgate/capture.h>

#include "check.h"
#include "params.h"
#include "session_state.h"

#include <string.h>

/* Results pass through one device buffer of this size, in as many dispatches as it takes. */
enum { PROBE_BYTES = 32 << 20 };

static hg_result need_layer(const hg_session *s, uint32_t layer)
{
    if (hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (s->tokens == 0)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "no tokens have been evaluated");
    if (layer < s->model->config.layers)
        return HG_OK;
    return hg_fail(&s->log, HG_ERR_ARGUMENT, "layer %llu is asked for, the model has %u",
                   (unsigned long long)layer + 1, s->model->config.layers);
}

static hg_result need_kept(const hg_session *s, uint32_t layer, const hg_mem *kept,
                           const char *what)
{
    if (kept)
        return HG_OK;
    return hg_fail(&s->log, HG_ERR_ARGUMENT,
                   "%s of layer %u were not captured: name the layer when the session opens", what,
                   layer + 1);
}

hg_result hg_capture_settle(const hg_session *s, const hg_map_params *params, hg_map_params *out)
{
    hg_map_params p;
    uint32_t heads;
    hg_result res = HG_OK;

    if (!s || !params)
        return HG_ERR_ARGUMENT;
    heads = s->model->config.heads;
    hg_struct_in(&p, sizeof(p), params);
    if (p.pool != HG_POOL_MAX && p.pool != HG_POOL_MEAN)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "pool %d is none that this version knows",
                       (int)p.pool);
    HG_TRY(need_layer(s, p.layer));
    HG_TRY(need_kept(s, p.layer, s->kept[p.layer].q, "attention maps"));
    if (p.head_count == 0)
        p.head_count = p.head_first < heads ? heads - p.head_first : 0;
    if (p.query_count == 0)
        p.query_count = p.query_first < s->tokens ? s->tokens - p.query_first : 0;
    if (p.key_count == 0)
        p.key_count = p.key_first < s->tokens ? s->tokens - p.key_first : 0;
    if (p.head_count == 0 || p.head_first >= heads || p.head_count > heads - p.head_first)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "heads %u to %u are asked for, the model has %u",
                       p.head_first + 1, p.head_first + p.head_count, heads);
    if (p.query_count == 0 || p.query_first >= s->tokens ||
        p.query_count > s->tokens - p.query_first || p.key_count == 0 || p.key_first >= s->tokens ||
        p.key_count > s->tokens - p.key_first)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "queries %u + %u and keys %u + %u are asked for, there are %u tokens",
                       p.query_first, p.query_count, p.key_first, p.key_count, s->tokens);
    p.pool_queries = p.pool_queries ? p.pool_queries : 1;
    p.pool_keys = p.pool_keys ? p.pool_keys : 1;
out:
    *out = p;
    return res;
}

static uint32_t cells_of(uint32_t tokens, uint32_t pool)
{
    return tokens && pool ? (tokens - 1) / pool + 1 : 0;
}

void hg_capture_shape(const hg_map_params *p, uint32_t shape[3])
{
    shape[0] = p->head_mean ? 1 : p->head_count;
    shape[1] = cells_of(p->query_count, p->pool_queries);
    shape[2] = cells_of(p->key_count, p->pool_keys);
}

hg_result hg_capture_map_shape(const hg_session *session, const hg_map_params *params,
                               uint32_t shape[3])
{
    hg_map_params p = {0};
    hg_result res;

    if (!shape)
        return HG_ERR_ARGUMENT;
    res = hg_capture_settle(session, params, &p);
    memset(shape, 0, 3 * sizeof(*shape));
    if (res == HG_OK)
        hg_capture_shape(&p, shape);
    return res;
}

static hg_result need_probe(hg_session *s)
{
    uint64_t bytes = hg_engine_block_bytes(s->engine);

    if (s->probe)
        return HG_OK;
    bytes = bytes < PROBE_BYTES ? bytes : PROBE_BYTES;
    return hg_buffer_create(s->engine, HG_MEM_READBACK, bytes, "probe", &s->probe);
}

/* A part of a map: maps [map, map + maps), rows [row, row + rows) of shape. */
typedef struct part {
    uint32_t map, maps, row, rows;
} part;

static hg_result run_part(hg_session *s, const hg_map_params *p, uint32_t first,
                          const uint32_t shape[3], const part *at, float *out)
{
    const hg_config *c = &s->model->config;
    const uint64_t map_cells = (uint64_t)shape[1] * shape[2];
    const uint64_t part_cells = (uint64_t)at->rows * shape[2];
    const uint32_t query = at->row * p->pool_queries;
    const uint32_t left = p->query_count - query;
    const uint64_t queries = (uint64_t)at->rows * p->pool_queries;
    const uint32_t heads = p->head_mean ? p->head_count : at->maps;
    const struct hg_attn_probs_params words = {.heads = c->heads,
                                               .kv_heads = c->kv_heads,
                                               .head_dim = c->head_dim,
                                               .window = c->window,
                                               .scale = s->attention_scale,
                                               .q_first = first + p->query_first + query,
                                               .q_count = queries < left ? (uint32_t)queries : left,
                                               .k_first = p->key_first,
                                               .k_count = p->key_count,
                                               .h_first = p->head_first + at->map,
                                               .h_count = heads,
                                               .reduce = p->head_mean ? 1 : 0,
                                               .pool = (uint32_t)p->pool,
                                               .pool_q = p->pool_queries,
                                               .pool_k = p->pool_keys,
                                               .inv_heads = (float)(1.0 / heads),
                                               .dst_stride = shape[2],
                                               .dst_head_stride = (uint32_t)part_cells};
    const hg_bind binds[] = {hg_bind_all(s->kept[p->layer].q),
                             hg_bind_all(s->k_cache[p->layer]),
                             hg_bind_all(s->kept[p->layer].stats),
                             hg_bind_all(s->rows_all),
                             {s->probe, 0, part_cells * at->maps * 4}};
    const hg_run_params run = {.progress = s->params.progress,
                               .what = "maps",
                               .tap = s->params.tap ? hg_session_show : NULL,
                               .tap_user = s,
                               .bounds = s->params.bounds != 0};
    hg_op *op;
    hg_result res = HG_OK;

    hg_oplist_clear(&s->ops);
    op = hg_oplist_append(&s->ops, HG_OP_DISPATCH);
    if (op) {
        op->kernel = HG_KERNEL_attn_probs;
        op->layer = (int32_t)p->layer;
        op->bind_count = 5;
        memcpy(op->words, &words, sizeof(words));
        memcpy(op->bind, binds, sizeof(binds));
        op->stage_count = 1;
        op->stage[0] = (hg_op_stage){
            .name = "attn_probs", .bind = 4, .rank = 3, .shape = {at->maps, at->rows, shape[2]}};
    }
    s->tapped_token = first + p->query_first + query;
    HG_TRY(hg_engine_run(s->engine, &s->ops, &run));
    for (uint32_t m = 0; m < at->maps; m++)
        HG_TRY(hg_readback_bytes(s->engine, s->probe, m * part_cells * 4,
                                 out + (at->map + m) * map_cells + (uint64_t)at->row * shape[2],
                                 part_cells * 4));
out:
    return res;
}

hg_result hg_capture_cells(hg_session *s, const hg_map_params *p, uint32_t first, float *out)
{
    uint32_t shape[3];
    uint64_t room, map_cells;
    hg_result res = HG_OK;

    HG_TRY(need_probe(s));
    hg_capture_shape(p, shape);
    room = s->probe->size_bytes / 4;
    map_cells = (uint64_t)shape[1] * shape[2];
    if (shape[2] > room)
        return hg_fail(&s->log, HG_ERR_UNSUPPORTED,
                       "one row of %u cells does not fit a binding: pool the keys", shape[2]);
    for (uint32_t map = 0; map < shape[0];) {
        const uint64_t fit = room / map_cells;
        const uint32_t left = shape[0] - map;
        const uint32_t maps = fit == 0 ? 1 : fit < left ? (uint32_t)fit : left;
        const uint32_t rows_fit = fit == 0 ? (uint32_t)(room / shape[2]) : shape[1];

        for (uint32_t row = 0; row < shape[1]; row += rows_fit) {
            const uint32_t rows = shape[1] - row < rows_fit ? shape[1] - row : rows_fit;

            HG_TRY(run_part(s, p, first, shape, &(part){map, maps, row, rows}, out));
        }
        map += maps;
    }
    hg_session_look(s, "attention probabilities", out, map_cells * shape[0]);
out:
    return res;
}

hg_result hg_capture_map(hg_session *session, const hg_map_params *params, float *out)
{
    hg_map_params p = {0};
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    HG_TRY(hg_capture_settle(session, params, &p));
    HG_TRY(hg_capture_cells(session, &p, session->first, out));
out:
    return res;
}

/* Rows of `row_floats` floats of the tokens that are held, or of the selected sequence. */
static hg_result read_rows(hg_session *s, hg_mem *mem, uint64_t row_floats, float *out)
{
    return hg_readback_bytes(s->engine, mem, s->first * row_floats * 4, out,
                             s->tokens * row_floats * 4);
}

hg_result hg_capture_gates(hg_session *session, uint32_t layer, float *out)
{
    hg_session *s = session;
    hg_result res = HG_OK;

    if (!s || !out)
        return HG_ERR_ARGUMENT;
    HG_TRY(need_layer(s, layer));
    if (!s->model->gate_dim)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "the model has no gate");
    HG_TRY(need_kept(s, layer, s->kept[layer].gates, "gates"));
    res = read_rows(s, s->kept[layer].gates, (uint64_t)s->model->config.heads * s->model->gate_dim,
                    out);
out:
    return res;
}

hg_result hg_capture_stats(hg_session *session, uint32_t layer, float *out)
{
    hg_session *s = session;
    hg_result res = HG_OK;

    if (!s || !out)
        return HG_ERR_ARGUMENT;
    HG_TRY(need_layer(s, layer));
    HG_TRY(need_kept(s, layer, s->kept[layer].stats, "row statistics"));
    res = read_rows(s, s->kept[layer].stats, (uint64_t)s->model->config.heads * 2, out);
out:
    return res;
}

hg_result hg_capture_qk(hg_session *session, uint32_t layer, float *q, float *k)
{
    hg_session *s = session;
    const hg_config *c;
    hg_result res = HG_OK;

    if (!s)
        return HG_ERR_ARGUMENT;
    c = &s->model->config;
    HG_TRY(need_layer(s, layer));
    HG_TRY(need_kept(s, layer, s->kept[layer].q, "queries"));
    if (q)
        HG_TRY(read_rows(s, s->kept[layer].q, (uint64_t)c->heads * c->head_dim, q));
    if (k)
        HG_TRY(read_rows(s, s->k_cache[layer], (uint64_t)c->kv_heads * c->head_dim, k));
out:
    return res;
}

hg_result hg_capture_hidden(hg_session *session, uint32_t index, float *out)
{
    hg_session *s = session;

    if (!s || !out || hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (s->tokens == 0)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "no tokens have been evaluated");
    if (!s->hidden)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "hidden states were not captured: ask for HG_CAPTURE_HIDDEN");
    if (index > s->model->config.layers + 1)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "hidden state %u is asked for, there are %u",
                       index, s->model->config.layers + 2);
    return read_rows(s, s->hidden[index], s->model->config.hidden, out);
}
