/* SPDX-License-Identifier: MIT */
/* Kernel calls as functions; see ops.h. Shapes are kernels.def's. */
#include "ops.h"

#include <string.h>

/* From this many rows on the tiled product is used; below, the one for a few rows. The same bytes
 * (D1). */
enum { MATVEC_ROWS_MAX = 3 };

static hg_bind spare(const hg_pen *pen)
{
    return hg_bind_all(pen->session->engine->spare);
}

static hg_bind upload(hg_mem *mem)
{
    return hg_bind_all(mem);
}

static hg_bind vector_bind(const hg_pen *pen, hg_vector v)
{
    const hg_bind bind = {pen->session->model->vectors, v.offset_bytes, (uint64_t)v.count * 4};

    return v.count ? bind : spare(pen);
}

/* One dispatch: params, and bindings in the table's order. NULL when memory ran out (kept in the
 * list). */
static hg_op *append(const hg_pen *pen, hg_kernel_id kernel, hg_dtype dtype, const void *params,
                     const hg_bind *binds)
{
    hg_op *op = hg_oplist_append(&pen->session->ops, HG_OP_DISPATCH);

    if (!op)
        return NULL;
    op->kernel = kernel;
    op->dtype = dtype;
    memcpy(op->words, params, hg_kernels[kernel].param_bytes);
    op->bind_count = hg_kernels[kernel].bind_count;
    memcpy(op->bind, binds, op->bind_count * sizeof(*binds));
    op->layer = pen->layer;
    return op;
}

/* One more of what the operation wrote: [rows, cols, deep] (deep 0: two dimensions) in binding
 * `bind`, from element `first`. */
static void set_stage(hg_op *op, const char *name, uint32_t bind, uint64_t first,
                      const uint32_t shape[3])
{
    hg_op_stage *stage;

    if (!op || !name)
        return;
    stage = &op->stage[op->stage_count++];
    stage->name = name;
    stage->bind = bind;
    stage->offset_bytes = first * 4;
    stage->rank = shape[2] ? 3 : 2;
    memcpy(stage->shape, shape, 3 * sizeof(*shape));
}

void hg_op_embed_rows(const hg_pen *pen, hg_bind y, const char *stage)
{
    const hg_matrix *w = &pen->session->model->embed;

    for (uint32_t b = 0; b < w->block_count; b++) {
        const hg_block *block = &w->blocks[b];
        const struct hg_embed_rows_params p = {.tokens = pen->tokens,
                                               .hidden = w->cols,
                                               .row_first = block->row_first,
                                               .row_count = block->row_count,
                                               .w_offset = block->lead};
        const hg_bind binds[] = {upload(pen->session->ids_up), {block->mem, 0, block->bytes}, y};
        hg_op *op = append(pen, HG_KERNEL_embed_rows, w->dtype, &p, binds);

        if (b + 1 == w->block_count)
            set_stage(op, stage, 2, 0, (const uint32_t[3]){pen->tokens, w->cols, 0});
    }
}

void hg_op_rms_norm(const hg_pen *pen, uint32_t rows, hg_bind x, hg_vector w, hg_bind y,
                    const char *stage)
{
    const hg_config *c = &pen->session->model->config;
    const struct hg_rms_norm_params p = {
        .rows = rows, .dim = c->hidden, .eps = c->eps, .inv_dim = (float)(1.0 / c->hidden)};
    const hg_bind binds[] = {x, vector_bind(pen, w), y};

    set_stage(append(pen, HG_KERNEL_rms_norm, HG_DTYPE_NONE, &p, binds), stage, 2, 0,
              (const uint32_t[3]){rows, c->hidden, 0});
}

/* Where the products of a matrix go: element [r, c] to y[offset + r * stride + c]. */
typedef struct place {
    hg_bind y;
    uint32_t stride, offset;
    int is_added; /* to what is there */
} place;

static void append_product(const hg_pen *pen, uint32_t rows, hg_bind x, const hg_matrix *w,
                           hg_vector bias, const place *to, const char *stage)
{
    /* The two rows of the table have the same params on purpose. */
    const hg_kernel_id kernel = rows <= MATVEC_ROWS_MAX ? HG_KERNEL_matvec : HG_KERNEL_matmul;

    for (uint32_t b = 0; b < w->block_count; b++) {
        const hg_block *block = &w->blocks[b];
        const struct hg_matmul_params p = {.rows = rows,
                                           .k = w->cols,
                                           .cols = block->row_count,
                                           .w_offset = block->lead + block->mem_row * w->cols,
                                           .y_stride = to->stride,
                                           .y_offset = to->offset + block->row_first,
                                           .flags =
                                               (bias.count ? 1u : 0u) | (to->is_added ? 2u : 0u)};
        /* Row blocks are multiples of 128 rows (model.c), so that this offset keeps the alignment
         * of bindings. */
        const hg_vector part = {bias.offset_bytes + (uint64_t)block->row_first * 4,
                                bias.count ? block->row_count : 0};
        const hg_bind binds[] = {x, {block->mem, 0, block->bytes}, vector_bind(pen, part), to->y};
        hg_op *op = append(pen, kernel, w->dtype, &p, binds);

        if (b + 1 == w->block_count)
            set_stage(op, stage, 3, to->offset, (const uint32_t[3]){rows, w->rows, 0});
    }
}

void hg_op_matmul(const hg_pen *pen, uint32_t rows, hg_bind x, const hg_matrix *w, hg_vector bias,
                  hg_bind y, uint32_t y_row, const char *stage)
{
    const place to = {y, w->rows, y_row * w->rows, 0};

    append_product(pen, rows, x, w, bias, &to, stage);
}

void hg_op_matmul_add(const hg_pen *pen, uint32_t rows, hg_bind x, const hg_matrix *w,
                      hg_vector bias, hg_bind y, const char *stage)
{
    const place to = {y, w->rows, 0, 1};

    append_product(pen, rows, x, w, bias, &to, stage);
}

void hg_op_matmul_joined(const hg_pen *pen, hg_bind x, const hg_joined *w, hg_bind y,
                         const char *stage)
{
    place to = {.y = y};

    for (uint32_t i = 0; i < w->part_count; i++)
        to.stride += w->parts[i]->rows;
    if (w->whole->block_count) {
        append_product(pen, pen->tokens, x, w->whole, w->bias, &to, stage);
        return;
    }
    for (uint32_t i = 0; i < w->part_count; i++) {
        append_product(pen, pen->tokens, x, w->parts[i], w->part_bias[i], &to, stage);
        to.offset += w->parts[i]->rows;
    }
}

void hg_op_split_q_gate(const hg_pen *pen, hg_bind qg, hg_bind q, hg_bind z)
{
    const hg_model *m = pen->session->model;
    const struct hg_split_q_gate_params p = {.tokens = pen->tokens,
                                             .heads = m->config.heads,
                                             .kv_heads = m->config.kv_heads,
                                             .head_dim = m->config.head_dim,
                                             .gate_dim = m->gate_dim,
                                             .gate_layout = (uint32_t)m->gate_layout};
    const hg_bind binds[] = {qg, q, z};

    hg_op *op = append(pen, HG_KERNEL_split_q_gate, HG_DTYPE_NONE, &p, binds);

    set_stage(op, "q", 1, 0, (const uint32_t[3]){pen->tokens, p.heads, p.head_dim});
    set_stage(op, "gate_logits", 2, 0, (const uint32_t[3]){pen->tokens, p.heads, p.gate_dim});
}

void hg_op_norm_rope(const hg_pen *pen, uint32_t heads, hg_bind x, hg_vector w, hg_bind y,
                     uint32_t y_row, const char *stage)
{
    const hg_config *c = &pen->session->model->config;
    const struct hg_norm_rope_params p = {.tokens = pen->tokens,
                                          .heads = heads,
                                          .head_dim = c->head_dim,
                                          .y_row = y_row,
                                          .eps = c->eps,
                                          .inv_dim = (float)(1.0 / c->head_dim),
                                          .flags = w.count ? 1u : 0u};
    const hg_bind binds[] = {x, vector_bind(pen, w), upload(pen->session->rope_up), y};

    set_stage(append(pen, HG_KERNEL_norm_rope, HG_DTYPE_NONE, &p, binds), stage, 3,
              (uint64_t)y_row * heads * c->head_dim,
              (const uint32_t[3]){pen->tokens, heads, c->head_dim});
}

/* What each of the new tokens sees: its sequence up to itself, or the last `window` of that. */
static hg_reach reach(const hg_pen *pen, uint32_t window)
{
    const hg_session *s = pen->session;
    const uint32_t end = pen->past + pen->tokens;
    uint32_t sequence = s->sequences ? hg_session_sequence_at(s, pen->past) : 0;
    uint32_t begin = s->sequences ? s->starts[sequence] : 0, before = pen->past - begin;
    hg_reach reach = {0};

    if (window && before >= window)
        before = window - 1;
    reach.keys = (double)pen->tokens + before;
    for (uint32_t row = pen->past; row < end; row++) {
        if (s->sequences && row == s->starts[sequence + 1])
            begin = s->starts[++sequence];
        reach.pairs += window && row - begin >= window ? window : row - begin + 1;
    }
    return reach;
}

void hg_op_rope_queries(const hg_pen *pen, hg_bind qkv, uint32_t qkv_stride, hg_vector w, hg_bind q,
                        hg_bind z)
{
    const hg_model *m = pen->session->model;
    const hg_config *c = &m->config;
    /* The published checkpoints keep each KV group's gate rows behind its query rows. */
    const uint32_t share = m->gate_layout == HG_GATE_LAYOUT_GROUPED ? c->heads / c->kv_heads : 1;
    const struct hg_rope_heads_params p = {.tokens = pen->tokens,
                                           .heads = c->heads,
                                           .head_dim = c->head_dim,
                                           .eps = c->eps,
                                           .inv_dim = (float)(1.0 / c->head_dim),
                                           .flags = w.count ? 1u : 0u,
                                           .x_stride = qkv_stride,
                                           .group_heads = share,
                                           .group_stride = share * (c->head_dim + m->gate_dim),
                                           .copy_dim = m->gate_dim,
                                           .copy_offset = share * c->head_dim};
    const hg_bind binds[] = {qkv, vector_bind(pen, w), upload(pen->session->rope_up), q, z};

    set_stage(append(pen, HG_KERNEL_rope_heads, HG_DTYPE_NONE, &p, binds), "q_rope", 3, 0,
              (const uint32_t[3]){pen->tokens, p.heads, p.head_dim});
}

void hg_op_rope_keys(const hg_pen *pen, hg_bind qkv, uint32_t qkv_stride, hg_vector w,
                     hg_bind k_cache, hg_bind v_cache)
{
    const hg_config *c = &pen->session->model->config;
    const uint32_t width = c->kv_heads * c->head_dim;
    const struct hg_rope_heads_params p = {.tokens = pen->tokens,
                                           .heads = c->kv_heads,
                                           .head_dim = c->head_dim,
                                           .y_row = pen->past,
                                           .eps = c->eps,
                                           .inv_dim = (float)(1.0 / c->head_dim),
                                           .flags = w.count ? 1u : 0u,
                                           .x_stride = qkv_stride,
                                           .x_offset = qkv_stride - 2 * width,
                                           .group_heads = c->kv_heads,
                                           .copy_dim = c->head_dim,
                                           .copy_offset = width,
                                           .copy_row = pen->past};
    const hg_bind binds[] = {qkv, vector_bind(pen, w), upload(pen->session->rope_up), k_cache,
                             v_cache};

    set_stage(append(pen, HG_KERNEL_rope_heads, HG_DTYPE_NONE, &p, binds), "k_rope", 3,
              (uint64_t)pen->past * width, (const uint32_t[3]){pen->tokens, p.heads, p.head_dim});
}

/* What attention wrote, from this binding on: y, statistics, gates. */
static void set_attention_stages(hg_op *op, const hg_pen *pen, int gated, const char *stage,
                                 uint32_t bind)
{
    const hg_model *m = pen->session->model;
    const hg_config *c = &m->config;

    set_stage(op, stage, bind, 0, (const uint32_t[3]){pen->tokens, c->heads, c->head_dim});
    if (gated || !m->gate_dim)
        set_stage(op, "attn_stats", bind + 1, 0, (const uint32_t[3]){pen->tokens, c->heads, 2});
    if (gated)
        set_stage(op, "gates", bind + 2, 0,
                  (const uint32_t[3]){pen->tokens, c->heads, m->gate_dim});
}

/* Tokens [first, first + tokens) of the piece, cut along the keys, into the room for slices. */
static void append_slices(const hg_pen *pen, uint32_t first, uint32_t tokens, uint32_t slices)
{
    const hg_session *s = pen->session;
    const hg_config *c = &s->model->config;
    const hg_pen some = {pen->session, pen->past + first, tokens, pen->layer};
    const struct hg_attention_slice_params p = {.tokens = tokens,
                                                .heads = c->heads,
                                                .kv_heads = c->kv_heads,
                                                .head_dim = c->head_dim,
                                                .window = c->window,
                                                .scale = s->attention_scale,
                                                .slices = slices,
                                                .token_first = first};
    const hg_bind binds[] = {s->act.q,
                             hg_bind_all(s->k_cache[pen->layer]),
                             hg_bind_all(s->v_cache[pen->layer]),
                             upload(s->rows_up),
                             hg_bind_all(s->slice_part),
                             hg_bind_all(s->slice_marks)};
    hg_op *op = append(pen, HG_KERNEL_attention_slice, HG_DTYPE_NONE, &p, binds);

    if (op)
        op->reach = reach(&some, c->window);
}

static hg_op *append_merge(const hg_pen *pen, uint32_t first, uint32_t tokens, uint32_t slices,
                           int gated)
{
    const hg_session *s = pen->session;
    const hg_activations *a = &s->act;
    const struct hg_attention_merge_params p = {.tokens = tokens,
                                                .heads = s->model->config.heads,
                                                .head_dim = s->model->config.head_dim,
                                                .gate_dim = s->model->gate_dim,
                                                .slices = slices,
                                                .token_first = first,
                                                .gate = gated ? 1u : 0u,
                                                .flags = gated ? 1u : 0u};
    const hg_bind none = spare(pen);
    const hg_bind binds[] = {hg_bind_all(s->slice_part),
                             hg_bind_all(s->slice_marks),
                             gated ? a->z : none,
                             a->attn,
                             a->stats,
                             gated ? a->gates : none};

    return append(pen, HG_KERNEL_attention_merge, HG_DTYPE_NONE, &p, binds);
}

/* As many tokens at a time as there is room for. */
static void attention_in_slices(const hg_pen *pen, int gated, const char *stage)
{
    const uint32_t slices = (pen->past + pen->tokens + 63) / 64;
    const uint32_t most = pen->session->slice_rows / slices;
    hg_op *op = NULL;

    for (uint32_t first = 0; first < pen->tokens; first += most) {
        const uint32_t left = pen->tokens - first;
        const uint32_t tokens = left < most ? left : most;

        append_slices(pen, first, tokens, slices);
        op = append_merge(pen, first, tokens, slices, gated);
    }
    set_attention_stages(op, pen, gated, stage, 3);
}

void hg_op_attention(const hg_pen *pen, int gated, const char *stage)
{
    const hg_session *s = pen->session;
    const hg_model *m = s->model;
    const int is_far = pen->past + pen->tokens > HG_PLAN_FAR;
    const hg_config *c = &m->config;
    const hg_activations *a = &s->act;
    const struct hg_attention_params p = {.tokens = pen->tokens,
                                          .heads = c->heads,
                                          .kv_heads = c->kv_heads,
                                          .head_dim = c->head_dim,
                                          .gate_dim = m->gate_dim,
                                          .window = c->window,
                                          .scale = s->attention_scale,
                                          .gate = gated ? 1u : 0u,
                                          .flags = gated ? 1u : 0u};
    const hg_bind none = spare(pen);
    const hg_bind binds[] = {a->q,
                             hg_bind_all(s->k_cache[pen->layer]),
                             hg_bind_all(s->v_cache[pen->layer]),
                             gated ? a->z : none,
                             upload(s->rows_up),
                             a->attn,
                             a->stats,
                             gated ? a->gates : none};
    hg_op *op;

    if (pen->tokens <= (is_far ? s->slice_tokens_far : s->slice_tokens)) {
        attention_in_slices(pen, gated, stage);
        return;
    }
    op = append(pen, HG_KERNEL_attention, HG_DTYPE_NONE, &p, binds);
    if (op)
        op->reach = reach(pen, c->window);
    set_attention_stages(op, pen, gated, stage, 5);
}

void hg_op_silu_mul(const hg_pen *pen, hg_bind a, hg_bind b, hg_bind y, const char *stage)
{
    const uint32_t ffn = pen->session->model->config.ffn;
    const struct hg_silu_mul_params p = {.rows = pen->tokens, .cols = ffn, .stride = ffn};
    const hg_bind binds[] = {a, b, y};

    set_stage(append(pen, HG_KERNEL_silu_mul, HG_DTYPE_NONE, &p, binds), stage, 2, 0,
              (const uint32_t[3]){pen->tokens, ffn, 0});
}

void hg_op_silu_mul_rows(const hg_pen *pen, hg_bind gate_up, hg_bind y, const char *stage)
{
    const uint32_t ffn = pen->session->model->config.ffn;
    const struct hg_silu_mul_params p = {
        .rows = pen->tokens, .cols = ffn, .stride = 2 * ffn, .b_offset = ffn};
    const hg_bind binds[] = {gate_up, gate_up, y};

    set_stage(append(pen, HG_KERNEL_silu_mul, HG_DTYPE_NONE, &p, binds), stage, 2, 0,
              (const uint32_t[3]){pen->tokens, ffn, 0});
}

void hg_op_add(const hg_pen *pen, hg_bind a, hg_bind b, hg_bind y, const char *stage)
{
    const uint32_t hidden = pen->session->model->config.hidden;
    const struct hg_add_params p = {.count = pen->tokens * hidden};
    const hg_bind binds[] = {a, b, y};

    set_stage(append(pen, HG_KERNEL_add, HG_DTYPE_NONE, &p, binds), stage, 2, 0,
              (const uint32_t[3]){pen->tokens, hidden, 0});
}

void hg_op_copy(const hg_pen *pen, hg_bind dst, uint64_t dst_first, hg_bind src, uint64_t src_first,
                uint64_t count, const char *stage)
{
    hg_op *op = hg_oplist_append(&pen->session->ops, HG_OP_COPY);

    if (!op)
        return;
    op->layer = pen->layer;
    op->bind_count = 2;
    op->bind[0] = (hg_bind){dst.mem, dst.offset_bytes + dst_first * 4, count * 4};
    op->bind[1] = (hg_bind){src.mem, src.offset_bytes + src_first * 4, count * 4};
    set_stage(op, stage, 0, 0,
              (const uint32_t[3]){pen->tokens, (uint32_t)(count / pen->tokens), 0});
}
