/* SPDX-License-Identifier: MIT */
/*
 * The weight table. A new tensor of the model is a row here; the code below knows none by name,
 * except q_proj, whose rows tell the gate.
 */
#include "slots.h"

#include "check.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum dim {
    NO_DIM,
    VOCAB,
    HIDDEN,
    FFN,
    HEAD_DIM,
    HEADS_DIM, /* heads x head_dim */
    KV_DIM,    /* kv_heads x head_dim */
    Q_ROWS     /* queries and gates */
} dim;

typedef enum rule {
    ALWAYS,
    WITH_QK_NORM,
    UNTIED,
    IF_THERE /* a bias: the file decides, the same in every layer */
} rule;

typedef struct slot {
    const char *name;
    size_t offset;  /* of the hg_weight, in hg_checkpoint or hg_layer_weights */
    dim rows, cols; /* a vector has no rows */
    rule rule;
} slot;

#define OUTER(field) offsetof(hg_checkpoint, field)
#define LAYER(field) offsetof(hg_layer_weights, field)

static const slot outer_slots[] = {
    {"model.embed_tokens.weight", OUTER(embed), VOCAB, HIDDEN, ALWAYS},
    {"model.norm.weight", OUTER(final_norm), NO_DIM, HIDDEN, ALWAYS},
    {"lm_head.weight", OUTER(head), VOCAB, HIDDEN, UNTIED},
};

/* After "model.layers.N.". */
static const slot layer_slots[] = {
    {"input_layernorm.weight", LAYER(attn_norm), NO_DIM, HIDDEN, ALWAYS},
    {"self_attn.q_proj.weight", LAYER(q_gate), Q_ROWS, HIDDEN, ALWAYS},
    {"self_attn.k_proj.weight", LAYER(k), KV_DIM, HIDDEN, ALWAYS},
    {"self_attn.v_proj.weight", LAYER(v), KV_DIM, HIDDEN, ALWAYS},
    {"self_attn.o_proj.weight", LAYER(o), HIDDEN, HEADS_DIM, ALWAYS},
    {"self_attn.q_norm.weight", LAYER(q_norm), NO_DIM, HEAD_DIM, WITH_QK_NORM},
    {"self_attn.k_norm.weight", LAYER(k_norm), NO_DIM, HEAD_DIM, WITH_QK_NORM},
    {"self_attn.q_proj.bias", LAYER(q_bias), NO_DIM, Q_ROWS, IF_THERE},
    {"self_attn.k_proj.bias", LAYER(k_bias), NO_DIM, KV_DIM, IF_THERE},
    {"self_attn.v_proj.bias", LAYER(v_bias), NO_DIM, KV_DIM, IF_THERE},
    {"self_attn.o_proj.bias", LAYER(o_bias), NO_DIM, HIDDEN, IF_THERE},
    {"post_attention_layernorm.weight", LAYER(mlp_norm), NO_DIM, HIDDEN, ALWAYS},
    {"mlp.gate_proj.weight", LAYER(mlp_gate), FFN, HIDDEN, ALWAYS},
    {"mlp.up_proj.weight", LAYER(mlp_up), FFN, HIDDEN, ALWAYS},
    {"mlp.down_proj.weight", LAYER(mlp_down), HIDDEN, FFN, ALWAYS},
};

enum {
    OUTER_COUNT = sizeof(outer_slots) / sizeof(outer_slots[0]),
    LAYER_COUNT = sizeof(layer_slots) / sizeof(layer_slots[0]),
    NAME_SIZE = 128
};

typedef struct filler {
    const hg_log *log;
    hg_checkpoint *checkpoint;
    hg_weight_files *files;
    uint32_t q_rows;
} filler;

/* "q_proj.weight" of layer 3 -> "model.layers.3.q_proj.weight"; layer -1: the name is whole. */
static const char *full_name(char buffer[NAME_SIZE], const slot *s, int64_t layer)
{
    if (layer < 0)
        snprintf(buffer, NAME_SIZE, "%s", s->name);
    else
        snprintf(buffer, NAME_SIZE, "model.layers.%u.%s", (unsigned)layer, s->name);
    return buffer;
}

static uint32_t dim_size(const filler *f, dim d)
{
    const hg_config *c = &f->checkpoint->config;

    switch (d) {
    case VOCAB:
        return c->vocab;
    case HIDDEN:
        return c->hidden;
    case FFN:
        return c->ffn;
    case HEAD_DIM:
        return c->head_dim;
    case HEADS_DIM:
        return c->heads * c->head_dim;
    case KV_DIM:
        return c->kv_heads * c->head_dim;
    case Q_ROWS:
        return f->q_rows;
    case NO_DIM:
        break;
    }
    return 1;
}

/* Names with something in front ("module.", "_orig_mod."), or without "model.", are a common
 * mistake of savers. */
static hg_result say_missing(const filler *f, const char *name, const char *shape)
{
    const hg_tensor_table *table = &f->files->table;
    uint32_t i;

    for (i = 0; i < table->count; i++) {
        const char *other = table->items[i].name;
        const char *tail = strncmp(name, "model.", 6) == 0 ? name + 6 : name;
        size_t a = strlen(other), b = strlen(tail);

        if (a >= b && strcmp(other + a - b, tail) == 0 && strcmp(other, name) != 0)
            return hg_fail(
                f->log, HG_ERR_FILE,
                "%s: tensor %s is missing, but there is %.200s; save the state dict of the causal "
                "language model itself, whose names are as expected",
                f->checkpoint->path, name, other);
    }
    return hg_fail(f->log, HG_ERR_FILE,
                   "%s: tensor %s %s is missing; the checkpoint is incomplete, or config.json "
                   "is that of another model",
                   f->checkpoint->path, name, shape);
}

static hg_result bind(filler *f, const slot *s, const char *name, hg_weight *out)
{
    hg_tensor *tensor = hg_tensor_table_find(&f->files->table, name, NULL);
    uint64_t shape[2] = {dim_size(f, s->rows), dim_size(f, s->cols)};
    uint32_t rank = s->rows == NO_DIM ? 1 : 2, i;
    const uint64_t *wanted = rank == 2 ? shape : shape + 1;
    char expected[64], found[256];
    hg_result res;

    hg_shape_show(wanted, rank, expected, sizeof(expected));
    if (!tensor)
        return s->rule == IF_THERE ? HG_OK : say_missing(f, name, expected);
    if (tensor->dtype == HG_DTYPE_NONE)
        return hg_fail(f->log, HG_ERR_FILE,
                       "%s: tensor %s: expected the type BF16, F16 or F32, found %s",
                       f->files->paths[tensor->file], name, tensor->type);
    for (i = 0; i < rank && tensor->rank == rank && tensor->shape[i] == wanted[i]; i++) {
    }
    if (i < rank)
        return hg_fail(f->log, HG_ERR_FILE,
                       "%s: tensor %s: expected %s by config.json, found %s; is config.json that "
                       "of this model?",
                       f->files->paths[tensor->file], name, expected,
                       hg_shape_show(tensor->shape, tensor->rank, found, sizeof(found)));
    HG_TRY(hg_weight_files_contiguous(f->log, f->files, tensor, &out->data));
    out->dtype = tensor->dtype;
    out->rows = (uint32_t)shape[0];
    out->cols = (uint32_t)shape[1];
    tensor->used = 1;
out:
    return res;
}

static int is_wanted(const filler *f, const slot *s)
{
    if (s->rule == WITH_QK_NORM)
        return f->checkpoint->config.qk_norm != 0;
    if (s->rule == UNTIED)
        return !f->checkpoint->config.tied;
    return 1;
}

static hg_result fill_layer(filler *f, uint32_t layer)
{
    char *base = (char *)&f->checkpoint->layers[layer];
    const char *first = (const char *)&f->checkpoint->layers[0];
    char name[NAME_SIZE];
    uint32_t i;
    hg_result res = HG_OK;

    for (i = 0; i < LAYER_COUNT; i++) {
        const slot *s = &layer_slots[i];
        hg_weight *weight = (hg_weight *)(void *)(base + s->offset);
        const hg_weight *there = (const hg_weight *)(const void *)(first + s->offset);

        if (!is_wanted(f, s))
            continue;
        HG_TRY(bind(f, s, full_name(name, s, layer), weight));
        if (s->rule == IF_THERE && !weight->data != !there->data)
            return hg_fail(
                f->log, HG_ERR_FILE,
                "%s: tensor %s is %s, in layer 0 it is %s; expected the same in every layer",
                f->checkpoint->path, name, weight->data ? "there" : "missing",
                there->data ? "there" : "missing");
    }
out:
    return res;
}

static const char *gate_word(hg_gate_kind kind)
{
    return kind == HG_GATE_HEADWISE
               ? "a headwise gate"
               : (kind == HG_GATE_ELEMENTWISE ? "an elementwise gate" : "no gate");
}

static uint32_t gate_rows(const hg_config *c, hg_gate_kind kind)
{
    uint32_t queries = c->heads * c->head_dim;

    if (kind == HG_GATE_HEADWISE)
        return queries + c->heads;
    return kind == HG_GATE_ELEMENTWISE ? 2 * queries : queries;
}

/* 1 and *kind, when these rows are those of a gate or of none. head_dim is at least 2, so they
 * differ. */
static int gate_of_rows(const hg_config *c, uint64_t rows, hg_gate_kind *kind)
{
    int i;

    for (i = HG_GATE_NONE; i <= HG_GATE_ELEMENTWISE; i++) {
        if (rows == gate_rows(c, (hg_gate_kind)i)) {
            *kind = (hg_gate_kind)i;
            return 1;
        }
    }
    return 0;
}

static hg_result tell_gate(filler *f)
{
    hg_checkpoint *c = f->checkpoint;
    const hg_tensor *q =
        hg_tensor_table_find(&f->files->table, "model.layers.0.self_attn.q_proj.weight", NULL);
    int has_keys = c->config.gate_headwise >= 0 || c->config.gate_elementwise >= 0;
    uint64_t rows = q && q->rank == 2 ? q->shape[0] : 0;
    hg_gate_kind told = HG_GATE_NONE, found = HG_GATE_NONE;
    int known = gate_of_rows(&c->config, rows, &found);

    if (c->config.gate_headwise == 1)
        told = HG_GATE_HEADWISE;
    else if (c->config.gate_elementwise == 1)
        told = HG_GATE_ELEMENTWISE;
    if (!known && rows)
        return hg_fail(f->log, HG_ERR_FILE,
                       "%s: q_proj of layer 0 has %llu rows; with these heads expected %u (no "
                       "gate), %u (headwise) "
                       "or %u (elementwise)",
                       c->path, (unsigned long long)rows, gate_rows(&c->config, HG_GATE_NONE),
                       gate_rows(&c->config, HG_GATE_HEADWISE),
                       gate_rows(&c->config, HG_GATE_ELEMENTWISE));
    if (known && has_keys && told != found)
        return hg_fail(f->log, HG_ERR_FILE,
                       "%s: config.json says %s (%u rows of q_proj), but layer 0 has %llu rows "
                       "(%s); the gate keys "
                       "or the weights are those of another model",
                       c->path, gate_word(told), gate_rows(&c->config, told),
                       (unsigned long long)rows, gate_word(found));
    if (!has_keys && found != HG_GATE_NONE)
        hg_say(f->log, HG_LOG_WARNING,
               "%s: config.json has no gate keys; the %llu rows of q_proj are those of %s, which "
               "is taken",
               c->path, (unsigned long long)rows, gate_word(found));
    c->gate = known ? found : told;
    c->gate_layout = HG_GATE_LAYOUT_GROUPED;
    c->gate_dim =
        c->gate == HG_GATE_NONE ? 0 : (c->gate == HG_GATE_HEADWISE ? 1 : c->config.head_dim);
    c->qk_norm = c->config.qk_norm;
    f->q_rows = gate_rows(&c->config, c->gate);
    return HG_OK;
}

static void judge_biases(const filler *f)
{
    const hg_layer_weights *l = &f->checkpoint->layers[0];
    int count = !!l->q_bias.data + !!l->k_bias.data + !!l->v_bias.data + !!l->o_bias.data;

    if (f->checkpoint->config.bias_key && count == 0)
        hg_say(
            f->log, HG_LOG_WARNING,
            "%s: config.json says that there are biases, but the files have none; there are none",
            f->checkpoint->path);
    else if (f->checkpoint->config.bias_key && count < 4)
        hg_say(f->log, HG_LOG_WARNING,
               "%s: config.json says that there are biases, but the files have %d of 4 per layer; "
               "the others are 0",
               f->checkpoint->path, count);
    else if (!f->checkpoint->config.bias_key && count)
        hg_say(f->log, HG_LOG_WARNING,
               "%s: config.json says nothing of biases, but the files have some; they are used",
               f->checkpoint->path);
}

hg_result hg_slots_fill(const hg_log *log, hg_checkpoint *checkpoint, hg_weight_files *files)
{
    filler f = {log, checkpoint, files, 0};
    char name[NAME_SIZE];
    uint32_t i;
    hg_result res;

    /* Before anything is allocated by that number: every layer has several tensors. */
    if (checkpoint->config.layers > files->table.count)
        return hg_fail(log, HG_ERR_FILE,
                       "%s: config.json says %u layers, but the files have only %u tensors in all",
                       checkpoint->path, checkpoint->config.layers, files->table.count);
    checkpoint->layers = calloc(checkpoint->config.layers, sizeof(*checkpoint->layers));
    if (!checkpoint->layers)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for a list of %u layers",
                       checkpoint->config.layers);
    HG_TRY(tell_gate(&f));
    for (i = 0; i < OUTER_COUNT; i++)
        if (is_wanted(&f, &outer_slots[i]))
            HG_TRY(bind(&f, &outer_slots[i], full_name(name, &outer_slots[i], -1),
                        (hg_weight *)(void *)((char *)checkpoint + outer_slots[i].offset)));
    for (i = 0; i < checkpoint->config.layers; i++)
        HG_TRY(fill_layer(&f, i));
    judge_biases(&f);
out:
    return res;
}

static hg_result visit_row(const slot *s, int64_t layer, const void *base, hg_slots_visitor visit,
                           void *user)
{
    const hg_weight *weight = (const hg_weight *)(const void *)((const char *)base + s->offset);
    char name[NAME_SIZE];

    return weight->data ? visit(user, full_name(name, s, layer), weight, s->rows == NO_DIM) : HG_OK;
}

hg_result hg_slots_visit(const hg_checkpoint *checkpoint, hg_slots_visitor visit, void *user)
{
    uint32_t i, layer;
    hg_result res = HG_OK;

    HG_TRY(visit_row(&outer_slots[0], -1, checkpoint, visit, user));
    for (layer = 0; layer < checkpoint->config.layers; layer++)
        for (i = 0; i < LAYER_COUNT; i++)
            HG_TRY(visit_row(&layer_slots[i], layer, &checkpoint->layers[layer], visit, user));
    for (i = 1; i < OUTER_COUNT; i++)
        HG_TRY(visit_row(&outer_slots[i], -1, checkpoint, visit, user));
out:
    return res;
}
