/* SPDX-License-Identifier: MIT */
/*
 * Weights to the device: where each goes, whether they fit, and one pass over the mapped files.
 * Reading and checking files is checkpoint.c's; what the weights mean is forward.c's.
 */
#include "model_weights.h"

#include "check.h"
#include "panel.h"
#include "params.h"
#include "trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB(bytes) ((double)(bytes) / (double)(1 << 20))

/* One matrix or vector of the model and where it comes from; the table below lists them all. */
typedef struct slot {
    const hg_weight *from;
    hg_matrix *matrix; /* one of these two */
    hg_vector *vector;
    const char *name;
    int32_t layer;
    int is_done;
} slot;

enum {
    SLOTS_PER_LAYER = 15,
    SLOTS_OUTSIDE = 3,
    BLOCK_ROWS = 128,
    PARTS_MAX = 3,
    WRAP_LEAD_MAX = 1 << 16
};

/* From what size and for how many tokens a pass over the weights costs more than it saves (0.6B and
 * 1.7B on PoCL, PERFORMANCE.md). */
#define LARGE_BYTES (UINT64_C(256) << 20)
enum { FEW_TOKENS = 512 };

static uint64_t align256(uint64_t bytes)
{
    return (bytes + HG_BIND_ALIGN_BYTES - 1) & ~(uint64_t)(HG_BIND_ALIGN_BYTES - 1);
}

static size_t list_slots(const hg_checkpoint *c, hg_model *m, slot *slots)
{
    size_t n = 0;

    slots[n++] = (slot){&c->embed, &m->embed, NULL, "embed_tokens", -1, 0};
    slots[n++] = (slot){&c->head, &m->head, NULL, "lm_head", -1, 0};
    slots[n++] = (slot){&c->final_norm, NULL, &m->final_norm, "norm", -1, 0};
    for (uint32_t i = 0; i < c->config.layers; i++) {
        const hg_layer_weights *w = &c->layers[i];
        hg_layer *l = &m->layers[i];
        const int32_t layer = (int32_t)i;

        slots[n++] = (slot){&w->attn_norm, NULL, &l->attn_norm, "attn_norm", layer, 0};
        slots[n++] = (slot){&w->q_norm, NULL, &l->q_norm, "q_norm", layer, 0};
        slots[n++] = (slot){&w->k_norm, NULL, &l->k_norm, "k_norm", layer, 0};
        slots[n++] = (slot){&w->mlp_norm, NULL, &l->mlp_norm, "mlp_norm", layer, 0};
        slots[n++] = (slot){&w->q_bias, NULL, &l->q_bias, "q_bias", layer, 0};
        slots[n++] = (slot){&w->k_bias, NULL, &l->k_bias, "k_bias", layer, 0};
        slots[n++] = (slot){&w->v_bias, NULL, &l->v_bias, "v_bias", layer, 0};
        slots[n++] = (slot){&w->o_bias, NULL, &l->o_bias, "o_bias", layer, 0};
        slots[n++] = (slot){&w->q_gate, &l->q_gate, NULL, "q_gate", layer, 0};
        slots[n++] = (slot){&w->k, &l->k, NULL, "k", layer, 0};
        slots[n++] = (slot){&w->v, &l->v, NULL, "v", layer, 0};
        slots[n++] = (slot){&w->o, &l->o, NULL, "o", layer, 0};
        slots[n++] = (slot){&w->mlp_gate, &l->mlp_gate, NULL, "mlp_gate", layer, 0};
        slots[n++] = (slot){&w->mlp_up, &l->mlp_up, NULL, "mlp_up", layer, 0};
        slots[n++] = (slot){&w->mlp_down, &l->mlp_down, NULL, "mlp_down", layer, 0};
    }
    return n;
}

/* Offsets of the vectors in their common buffer, shapes of the matrices, and the bytes of all. */
static uint64_t place(const slot *slots, size_t count, uint64_t *vector_bytes)
{
    uint64_t total = 0;

    *vector_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const hg_weight *w = slots[i].from;

        if (!w->data)
            continue;
        if (slots[i].vector) {
            *slots[i].vector = (hg_vector){*vector_bytes, w->rows * w->cols};
            *vector_bytes += align256((uint64_t)w->rows * w->cols * 4);
        } else {
            slots[i].matrix->dtype = w->dtype; /* until choose_layout */
            slots[i].matrix->rows = w->rows;
            slots[i].matrix->cols = w->cols;
            total += (uint64_t)w->rows * w->cols * hg_dtype_bytes(w->dtype);
        }
    }
    return total + *vector_bytes;
}

static float half_to_float(uint16_t h)
{
    const uint32_t exponent = (h >> 10) & 31u;
    const uint32_t mantissa = h & 0x3ffu;
    uint32_t bits = (uint32_t)(h & 0x8000u) << 16;
    float value;

    if (exponent == 0) { /* zero and denormals: mantissa * 2^-24, exact in float */
        value = (float)mantissa * 5.9604644775390625e-08f;
        return (h & 0x8000u) ? -value : value;
    }
    bits |= exponent == 31 ? 0x7f800000u | (mantissa << 13)
                           : ((exponent + 112) << 23) | (mantissa << 13);
    memcpy(&value, &bits, 4);
    return value;
}

static float element(const hg_weight *w, size_t i)
{
    uint16_t half;
    uint32_t bits;
    float value;

    if (w->dtype == HG_DTYPE_F32) {
        memcpy(&value, w->data + 4 * i, 4);
        return value;
    }
    memcpy(&half, w->data + 2 * i, 2);
    if (w->dtype == HG_DTYPE_F16)
        return half_to_float(half);
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, 4);
    return value;
}

static hg_result upload_vector(hg_model *m, const slot *s, hg_upload_counts *counts)
{
    const size_t count = s->vector->count;
    float *values = malloc(count * sizeof(*values));
    hg_result res = HG_OK;

    if (!values)
        return hg_fail(&m->log, HG_ERR_HOST_MEMORY, "no memory for %s of layer %d", s->name,
                       s->layer + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = element(s->from, i);
    res = hg_upload_weight(m->engine, m->vectors, s->vector->offset_bytes, values, HG_DTYPE_F32,
                           count, counts);
    free(values);
    return res;
}

/* Rows [first, first + count) of a weight to row mem_row of a buffer. */
static hg_result upload_rows(hg_model *m, const hg_checkpoint *c, const hg_weight *w,
                             hg_dtype dtype, const hg_block *block, hg_upload_counts *counts)
{
    const uint64_t row_bytes = (uint64_t)w->cols * hg_dtype_bytes(w->dtype);
    const uint8_t *from = w->data + block->row_first * row_bytes;
    hg_result res = HG_OK;

    if (hg_dtype_is_panel(dtype))
        HG_TRY(hg_upload_panels(m->engine, block->mem, block->mem_row * row_bytes, from, dtype,
                                block->row_count, w->cols, counts));
    else
        HG_TRY(hg_upload_weight(m->engine, block->mem, block->mem_row * row_bytes, from, dtype,
                                (uint64_t)block->row_count * w->cols, counts));
    hg_checkpoint_release_pages(c, from, block->row_count * row_bytes);
out:
    return res;
}

/* A buffer for weights; layer -1: of none. */
static hg_result create_buffer(hg_model *m, uint64_t bytes, const char *name, int32_t layer,
                               hg_mem **out)
{
    char text[64];

    if (layer < 0)
        snprintf(text, sizeof(text), "weight.%s", name);
    else
        snprintf(text, sizeof(text), "weight.layer%02d.%s", layer, name);
    return hg_buffer_create(m->engine, HG_MEM_WEIGHT, bytes, text, out);
}

static uint64_t matrix_bytes(hg_dtype dtype, uint64_t rows, uint64_t cols)
{
    return (hg_panel_elements(dtype, rows, cols) * hg_dtype_bytes(dtype) + 3) & ~UINT64_C(3);
}

static hg_result make_blocks(hg_model *m, hg_matrix *matrix, size_t count, const char *name)
{
    matrix->blocks = calloc(count, sizeof(*matrix->blocks));
    if (!matrix->blocks)
        return hg_fail(&m->log, HG_ERR_HOST_MEMORY, "no memory for the blocks of %s", name);
    return HG_OK;
}

static hg_result upload_matrix(hg_model *m, const hg_checkpoint *c, slot *s,
                               hg_upload_counts *counts, uint64_t *done)
{
    const uint64_t row_bytes = (uint64_t)s->from->cols * hg_dtype_bytes(s->from->dtype);
    /* Multiples of 128 rows keep the bindings of a block's bias and outputs aligned to 512 bytes.
     */
    const uint64_t most =
        hg_engine_block_bytes(m->engine) / row_bytes & ~(uint64_t)(BLOCK_ROWS - 1);
    hg_matrix *matrix = s->matrix;
    hg_result res = HG_OK;

    if (most == 0)
        return hg_fail(&m->log, HG_ERR_UNSUPPORTED,
                       "%d rows of %s have %llu bytes, %s allows %llu per binding", BLOCK_ROWS,
                       s->name, (unsigned long long)row_bytes * BLOCK_ROWS,
                       m->engine->plan.device.selector,
                       (unsigned long long)hg_engine_block_bytes(m->engine));
    HG_TRY(make_blocks(m, matrix, (size_t)((matrix->rows + most - 1) / most), s->name));
    for (uint32_t row = 0; row < matrix->rows;) {
        const uint32_t rows = matrix->rows - row < most ? matrix->rows - row : (uint32_t)most;
        hg_block *block = &matrix->blocks[matrix->block_count++];

        *block = (hg_block){.bytes = matrix_bytes(matrix->dtype, rows, matrix->cols),
                            .row_first = row,
                            .row_count = rows};
        HG_TRY(create_buffer(m, block->bytes, s->name, s->layer, &block->mem));
        HG_TRY(upload_rows(m, c, s->from, matrix->dtype, block, counts));
        *done += rows * row_bytes;
        row += rows;
    }
    s->is_done = 1;
out:
    return res;
}

/* Whether a matrix is read where it lies: in rows, in whole elements, in one binding. */
static int can_wrap(const hg_model *m, const slot *s)
{
    const hg_weight *w = s->from;
    const uint64_t size = hg_dtype_bytes(w->dtype), bytes = (uint64_t)w->rows * w->cols * size;

    return m->wraps && s->matrix && (uintptr_t)w->data % size == 0 &&
           bytes + WRAP_LEAD_MAX <= hg_engine_block_bytes(m->engine);
}

static hg_result wrap_matrix(hg_model *m, const hg_checkpoint *c, slot *s, uint64_t *done)
{
    const hg_weight *w = s->from;
    const uint64_t size = hg_dtype_bytes(w->dtype), bytes = (uint64_t)w->rows * w->cols * size;
    hg_block *block;
    uint64_t lead = 0;
    hg_result res = HG_OK;

    HG_TRY(make_blocks(m, s->matrix, 1, s->name));
    block = &s->matrix->blocks[0];
    *block = (hg_block){.row_count = w->rows};
    HG_TRY(hg_buffer_wrap(m->engine, w->data, bytes, s->name, &block->mem, &lead));
    s->matrix->block_count = 1;
    block->bytes = block->mem->size_bytes;
    block->lead = (uint32_t)(lead / size);
    if (!m->files)
        m->files = hg_weight_files_share(c->files);
    *done += bytes;
    s->is_done = 1;
out:
    return res;
}

/* Matrices that stand side by side as rows of one: a product with all of them is one operation. */
typedef struct joint {
    hg_matrix *whole;
    hg_vector *bias; /* NULL: the parts have none in any model */
    const char *name;
    int32_t layer;
    slot *parts[PARTS_MAX];
    const hg_vector *part_bias[PARTS_MAX];
    uint32_t part_count;
} joint;

/* Whether the parts have one type, begin at rows that every kernel can begin at, and fit one
 * binding; and whether their biases do. */
static int can_join(const hg_model *m, const joint *j)
{
    const hg_weight *first = j->parts[0]->from;
    const uint64_t row_bytes = (uint64_t)first->cols * hg_dtype_bytes(first->dtype);
    uint64_t rows = 0;

    for (uint32_t i = 0; i < j->part_count; i++) {
        const hg_weight *w = j->parts[i]->from;
        const int has_bias = j->bias && j->part_bias[i]->count;

        if (!w->data || w->dtype != first->dtype || w->cols != first->cols ||
            rows % HG_PANEL_ROWS || has_bias != (j->bias && j->part_bias[0]->count) ||
            /* They stand next to one another in the buffer of vectors if nothing lies between. */
            (has_bias && j->part_bias[i]->offset_bytes != j->part_bias[0]->offset_bytes + rows * 4))
            return 0;
        rows += w->rows;
    }
    return rows <= UINT32_MAX && rows * row_bytes <= hg_engine_block_bytes(m->engine);
}

static hg_result upload_joint(hg_model *m, const hg_checkpoint *c, joint *j,
                              hg_upload_counts *counts, uint64_t *done)
{
    const hg_weight *first = j->parts[0]->from;
    const uint64_t row_bytes = (uint64_t)first->cols * hg_dtype_bytes(first->dtype);
    hg_matrix *whole = j->whole;
    hg_block *block = NULL;
    hg_result res = HG_OK;

    *whole = (hg_matrix){.dtype = j->parts[0]->matrix->dtype, .cols = first->cols};
    for (uint32_t i = 0; i < j->part_count; i++)
        whole->rows += j->parts[i]->from->rows;
    HG_TRY(make_blocks(m, whole, 1, j->name));
    block = &whole->blocks[0];
    *block = (hg_block){.bytes = matrix_bytes(whole->dtype, whole->rows, whole->cols),
                        .row_count = whole->rows};
    HG_TRY(create_buffer(m, block->bytes, j->name, j->layer, &block->mem));
    whole->block_count = 1;
    if (j->bias && j->part_bias[0]->count)
        *j->bias = (hg_vector){j->part_bias[0]->offset_bytes, whole->rows};
    for (uint32_t i = 0, row = 0; i < j->part_count; i++) {
        slot *s = j->parts[i];

        HG_TRY(make_blocks(m, s->matrix, 1, s->name));
        s->matrix->is_part = 1;
        s->matrix->block_count = 1;
        s->matrix->blocks[0] = (hg_block){
            .mem = block->mem, .bytes = block->bytes, .row_count = s->from->rows, .mem_row = row};
        HG_TRY(upload_rows(m, c, s->from, whole->dtype, &s->matrix->blocks[0], counts));
        *done += s->from->rows * row_bytes;
        row += s->from->rows;
        s->is_done = 1;
    }
out:
    return res;
}

/* The joints of the layer that a slot belongs to: those whose first part it is. */
static int find_joint(hg_model *m, slot *slots, size_t count, size_t at, joint *out)
{
    slot *s = &slots[at];
    hg_layer *l = s->layer < 0 ? NULL : &m->layers[s->layer];

    if (!l || s->is_done)
        return 0;
    if (s->matrix == &l->q_gate && at + 2 < count)
        *out = (joint){&l->qkv,  &l->qkv_bias,      "qkv",
                       s->layer, {s, s + 1, s + 2}, {&l->q_bias, &l->k_bias, &l->v_bias},
                       3};
    else if (s->matrix == &l->mlp_gate && at + 1 < count)
        *out = (joint){&l->gate_up, NULL, "gate_up", s->layer, {s, s + 1}, {NULL}, 2};
    else
        return 0;
    return can_join(m, out);
}

static hg_result check_budget(hg_model *m, uint64_t needed)
{
    const uint64_t has = hg_engine_free_bytes(m->engine);

    if (needed <= has)
        return HG_OK;
    return hg_fail(&m->log, HG_ERR_DEVICE_MEMORY,
                   "the weights need %.1f MiB, device %s has %.1f MiB free: choose a smaller model "
                   "or another device "
                   "(--device)",
                   MIB(needed), m->engine->plan.device.selector, MIB(has));
}

/* What the upload pass saw, in words (docs/DECISIONS.md D9). */
static hg_result judge_counts(const hg_model *m, const hg_upload_counts *counts)
{
    if (counts->huge_count)
        hg_say(&m->log, HG_LOG_WARNING,
               "%llu weights are 2^100 or larger: sums of their products may overflow float32",
               (unsigned long long)counts->huge_count);
    if (counts->nan_count + counts->inf_count == 0)
        return HG_OK;
    if (hg_engine_precision(m->engine) == HG_PRECISION_EXACT)
        return hg_fail(&m->log, HG_ERR_FILE,
                       "the weights hold %llu NaN and %llu infinite values: exact results are not "
                       "defined for them",
                       (unsigned long long)counts->nan_count,
                       (unsigned long long)counts->inf_count);
    hg_say(&m->log, HG_LOG_WARNING,
           "the weights hold %llu NaN and %llu infinite values: results may be NaN",
           (unsigned long long)counts->nan_count, (unsigned long long)counts->inf_count);
    return HG_OK;
}

/* Panels where the device has kernels for them. A type of elements at a time, so that all kernels
 * of a matrix agree. */
static hg_result choose_layout(hg_model *m, const hg_model_params *params, slot *slots,
                               size_t count)
{
    static const hg_kernel_id kernels[] = {HG_KERNEL_matmul, HG_KERNEL_matvec,
                                           HG_KERNEL_embed_rows};
    const int is_little = m->info.weight_bytes >= LARGE_BYTES && params->expected_tokens &&
                          params->expected_tokens <= FEW_TOKENS;
    int is_asked[HG_DTYPE_COUNT] = {0}, usable[HG_DTYPE_COUNT] = {0};
    hg_result res = HG_OK;

    m->wraps = hg_plan_wraps(&m->engine->plan) && (params->repack == HG_REPACK_NEVER ||
                                                   (params->repack == HG_REPACK_AUTO && is_little));
    if (m->wraps || params->repack == HG_REPACK_NEVER)
        return HG_OK;
    for (size_t i = 0; i < count; i++) {
        const hg_weight *w = slots[i].from;
        const hg_dtype panel = hg_dtype_panel(w->dtype);

        if (!w->data || slots[i].vector)
            continue;
        if (!is_asked[panel]) {
            is_asked[panel] = usable[panel] = 1;
            for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]) && usable[panel]; k++)
                HG_TRY(hg_trust_usable(m->engine, kernels[k], panel, &usable[panel]));
        }
        if (usable[panel])
            slots[i].matrix->dtype = panel;
    }
out:
    return res;
}

/* The disk has something to do while a matrix is copied: the next one. */
static void read_ahead(const hg_checkpoint *c, const slot *slots, size_t count, size_t i)
{
    for (i++; i < count; i++)
        if (slots[i].from->data && !slots[i].is_done && !slots[i].vector) {
            hg_checkpoint_read_ahead(c, slots[i].from->data,
                                     (uint64_t)slots[i].from->rows * slots[i].from->cols *
                                         hg_dtype_bytes(slots[i].from->dtype));
            return;
        }
}

static hg_result upload_all(hg_model *m, const hg_checkpoint *c, slot *slots, size_t count,
                            const hg_model_params *params)
{
    const hg_progress *progress = &params->progress;
    hg_upload_counts counts = {0};
    uint64_t vector_bytes = 0, done = 0;
    const uint64_t total = place(slots, count, &vector_bytes);
    hg_result res = HG_OK;

    m->info.weight_bytes = total;
    HG_TRY(choose_layout(m, params, slots, count));
    HG_TRY(check_budget(m, total));
    HG_TRY(hg_buffer_create(m->engine, HG_MEM_WEIGHT, vector_bytes, "weight.vectors", &m->vectors));
    for (size_t i = 0; i < count; i++) {
        joint joined;

        if (!slots[i].from->data || slots[i].is_done)
            continue;
        read_ahead(c, slots, count, i);
        if (slots[i].vector)
            HG_TRY(upload_vector(m, &slots[i], &counts));
        else if (can_wrap(m, &slots[i]))
            HG_TRY(wrap_matrix(m, c, &slots[i], &done));
        else if (find_joint(m, slots, count, i, &joined))
            HG_TRY(upload_joint(m, c, &joined, &counts, &done));
        else
            HG_TRY(upload_matrix(m, c, &slots[i], &counts, &done));
        if (progress->step && progress->step(progress->user, "upload", done, total) != 0) {
            res = HG_CANCELLED;
            goto out;
        }
    }
    HG_TRY(judge_counts(m, &counts));
out:
    return res;
}

hg_result hg_model_load(hg_engine *engine, const hg_checkpoint *checkpoint,
                        const hg_model_params *params, hg_model **out)
{
    hg_model_params own;
    const hg_model_params *p = &own;
    hg_model *m = NULL;
    slot *slots = NULL;
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    hg_struct_in(&own, sizeof(own), params);
    if (!engine || !checkpoint)
        return hg_fail(&p->log, HG_ERR_ARGUMENT, "hg_model_load: engine or checkpoint is NULL");
    m = calloc(1, sizeof(*m));
    slots =
        calloc((size_t)checkpoint->config.layers * SLOTS_PER_LAYER + SLOTS_OUTSIDE, sizeof(*slots));
    if (!m || !slots || !(m->layers = calloc(checkpoint->config.layers, sizeof(*m->layers)))) {
        res = hg_fail(&p->log, HG_ERR_HOST_MEMORY, "no memory for a model of %u layers",
                      checkpoint->config.layers);
        goto out;
    }
    m->engine = engine;
    m->log = p->log;
    m->config = checkpoint->config;
    m->gate = checkpoint->gate;
    m->gate_layout = checkpoint->gate_layout;
    m->gate_dim = checkpoint->gate_dim;
    m->qk_norm = checkpoint->qk_norm;
    m->info = checkpoint->info;
    HG_TRY(upload_all(m, checkpoint, slots, list_slots(checkpoint, m, slots), p));
    *out = m;
    m = NULL;
out:
    free(slots);
    hg_model_free(&m);
    return res;
}

static void free_matrix(hg_engine *engine, hg_matrix *matrix)
{
    for (uint32_t b = 0; b < matrix->block_count && !matrix->is_part; b++)
        hg_buffer_free(engine, &matrix->blocks[b].mem);
    free(matrix->blocks);
}

void hg_model_free(hg_model **model)
{
    hg_model *m = model ? *model : NULL;

    if (!m)
        return;
    for (uint32_t i = 0; m->layers && i < m->config.layers; i++) {
        hg_layer *l = &m->layers[i];
        hg_matrix *const matrices[] = {&l->q_gate, &l->k,        &l->v,   &l->o,      &l->mlp_gate,
                                       &l->mlp_up, &l->mlp_down, &l->qkv, &l->gate_up};

        for (size_t j = 0; j < sizeof(matrices) / sizeof(matrices[0]); j++)
            free_matrix(m->engine, matrices[j]);
    }
    free(m->layers);
    if (m->engine) {
        free_matrix(m->engine, &m->embed);
        free_matrix(m->engine, &m->head);
        hg_buffer_free(m->engine, &m->vectors);
        hg_weight_files_leave(&m->files); /* after the buffers that read them */
    }
    free(m);
    *model = NULL;
}

void hg_model_describe(const hg_model *model, hg_model_info *out)
{
    if (model && out)
        hg_struct_out(out, &model->info, sizeof(*out));
}

hg_engine *hg_model_engine(const hg_model *model)
{
    return model ? model->engine : NULL;
}
