/* SPDX-License-Identifier: MIT */
/* See fixture.h. */
#include "fixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 256 };

typedef struct tensor {
    char name[96];
    uint32_t rows, cols; /* cols 0: a vector */
    float scale;         /* of normal values; 0: values about 1 */
} tensor;

typedef struct writer {
    const hg_fixture *f;
    tensor tensors[TENSORS_MAX];
    uint32_t count;
} writer;

static uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* About normal: the sum of four uniform numbers. */
static float normal(uint64_t *state)
{
    float sum = 0;

    for (int i = 0; i < 4; i++)
        sum += (float)(next(state) >> 40) * 0x1p-24f - 0.5f;
    return sum * 1.7320508f;
}

static void add(writer *w, const char *format, uint32_t layer, uint32_t rows, uint32_t cols,
                float scale)
{
    tensor *t = &w->tensors[w->count++];
    char suffix[64];

    (void)snprintf(suffix, sizeof(suffix), "%s", format);
    if (layer == UINT32_MAX)
        (void)snprintf(t->name, sizeof(t->name), "%s", suffix);
    else
        (void)snprintf(t->name, sizeof(t->name), "model.layers.%u.%s", layer, suffix);
    t->rows = rows;
    t->cols = cols;
    t->scale = scale;
}

static void list_tensors(writer *w)
{
    const hg_fixture *f = w->f;
    const float unit = 1 / sqrtf((float)f->hidden);
    const float out = f->out_scale > 0 ? f->out_scale : 1;
    const uint32_t gate_dim = f->gate == 0 ? 0 : f->gate == 1 ? 1 : f->head_dim;
    const uint32_t q = f->heads * f->head_dim;

    add(w, "model.embed_tokens.weight", UINT32_MAX, f->vocab, f->hidden,
        f->embed_scale > 0 ? f->embed_scale : 1);
    for (uint32_t l = 0; l < f->layers; l++) {
        add(w, "input_layernorm.weight", l, f->hidden, 0, 0);
        add(w, "self_attn.q_proj.weight", l, f->heads * (f->head_dim + gate_dim), f->hidden,
            unit * (f->q_scale > 0 ? f->q_scale : 1));
        add(w, "self_attn.k_proj.weight", l, f->kv_heads * f->head_dim, f->hidden, unit);
        add(w, "self_attn.v_proj.weight", l, f->kv_heads * f->head_dim, f->hidden, unit);
        add(w, "self_attn.o_proj.weight", l, f->hidden, q, out / sqrtf((float)q));
        if (f->has_qk_norm) {
            add(w, "self_attn.q_norm.weight", l, f->head_dim, 0, 0);
            add(w, "self_attn.k_norm.weight", l, f->head_dim, 0, 0);
        }
        add(w, "post_attention_layernorm.weight", l, f->hidden, 0, 0);
        add(w, "mlp.gate_proj.weight", l, f->ffn, f->hidden, unit);
        add(w, "mlp.up_proj.weight", l, f->ffn, f->hidden, unit);
        add(w, "mlp.down_proj.weight", l, f->hidden, f->ffn, out / sqrtf((float)f->ffn));
    }
    add(w, "model.norm.weight", UINT32_MAX, f->hidden, 0, 0);
    if (!f->is_tied)
        add(w, "lm_head.weight", UINT32_MAX, f->vocab, f->hidden, unit);
}

static int write_config(const hg_fixture *f, const char *folder)
{
    char path[1024], window[32] = "null";
    FILE *file;
    int good;

    (void)snprintf(path, sizeof(path), "%s/config.json", folder);
    if (f->window)
        (void)snprintf(window, sizeof(window), "%u", f->window);
    file = fopen(path, "wb");
    if (!file)
        return 0;
    good = fprintf(file,
                   "{\"architectures\": [\"Qwen3ForCausalLM\"], \"model_type\": \"qwen2\", "
                   "\"hidden_act\": \"silu\", \"hidden_size\": %u,\n\"num_hidden_layers\": %u, "
                   "\"num_attention_heads\": %u, \"num_key_value_heads\": %u, \"head_dim\": %u,\n"
                   "\"intermediate_size\": %u, \"vocab_size\": %u, \"rms_norm_eps\": 1e-06, "
                   "\"rope_theta\": 10000.0, \"rope_scaling\": null,\n\"max_position_embeddings\": "
                   "4096, \"qkv_bias\": false, \"use_qk_norm\": %s, "
                   "\"headwise_attn_output_gate\": %s,\n\"elementwise_attn_output_gate\": %s, "
                   "\"tie_word_embeddings\": %s, \"sliding_window\": %s,\n"
                   "\"use_sliding_window\": %s, \"max_window_layers\": 0, \"torch_dtype\": "
                   "\"%s\"}\n",
                   f->hidden, f->layers, f->heads, f->kv_heads, f->head_dim, f->ffn, f->vocab,
                   f->has_qk_norm ? "true" : "false", f->gate == 1 ? "true" : "false",
                   f->gate == 2 ? "true" : "false", f->is_tied ? "true" : "false", window,
                   f->window ? "true" : "false", f->is_bf16 ? "bfloat16" : "float32") > 0;
    return fclose(file) == 0 && good;
}

static uint64_t elements(const tensor *t)
{
    return (uint64_t)t->rows * (t->cols ? t->cols : 1);
}

static int write_header(const writer *w, FILE *file)
{
    const uint64_t size = w->f->is_bf16 ? 2 : 4;
    char *text = malloc(TENSORS_MAX * 256);
    size_t at = 0;
    uint64_t offset = 0, bytes;
    int good;

    if (!text)
        return 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const tensor *t = &w->tensors[i];
        char shape[32];

        if (t->cols)
            (void)snprintf(shape, sizeof(shape), "[%u,%u]", t->rows, t->cols);
        else
            (void)snprintf(shape, sizeof(shape), "[%u]", t->rows);
        at += (size_t)snprintf(text + at, 256,
                               "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64
                               ",%" PRIu64 "]}",
                               i ? "," : "{", t->name, w->f->is_bf16 ? "BF16" : "F32", shape,
                               offset, offset + elements(t) * size);
        offset += elements(t) * size;
    }
    text[at++] = '}';
    while (at % 8)
        text[at++] = ' ';
    bytes = at;
    good = fwrite(&bytes, sizeof(bytes), 1, file) == 1 && fwrite(text, 1, at, file) == at;
    free(text);
    return good;
}

static int write_values(const hg_fixture *f, const tensor *t, uint64_t *state, FILE *file)
{
    int good = 1;

    for (uint64_t i = 0; i < elements(t) && good; i++) {
        const float value = t->scale > 0 ? t->scale * normal(state) : 1 + 0.2f * normal(state);
        uint32_t bits;
        uint16_t half;

        memcpy(&bits, &value, sizeof(bits));
        half = (uint16_t)(bits >> 16);
        good = f->is_bf16 ? fwrite(&half, 2, 1, file) == 1 : fwrite(&value, 4, 1, file) == 1;
    }
    return good;
}

int hg_fixture_write(const hg_fixture *fixture, const char *folder)
{
    writer *w = calloc(1, sizeof(*w));
    uint64_t state = fixture->seed;
    char path[1024];
    FILE *file;
    int good;

    if (!w)
        return 0;
    w->f = fixture;
    list_tensors(w);
    (void)snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    file = fopen(path, "wb");
    good = file && write_header(w, file);
    for (uint32_t i = 0; i < w->count && good; i++)
        good = write_values(fixture, &w->tensors[i], &state, file);
    if (file && fclose(file) != 0)
        good = 0;
    free(w);
    return good && write_config(fixture, folder);
}

void hg_fixture_ids(const hg_fixture *fixture, int32_t *ids)
{
    uint64_t state = fixture->seed ^ 0x5eed;

    for (uint32_t i = 0; i < fixture->tokens; i++)
        ids[i] = (int32_t)(next(&state) % fixture->vocab);
}

void hg_fixture_random(uint64_t number, hg_fixture *out)
{
    uint64_t s = number * 77 + 1;
    const uint32_t group = 1 + (uint32_t)(next(&s) % 4);

    memset(out, 0, sizeof(*out));
    out->kv_heads = 1 + (uint32_t)(next(&s) % 3);
    out->heads = out->kv_heads * group;
    out->head_dim = 2 * (4 + (uint32_t)(next(&s) % 20));
    out->hidden = 17 + (uint32_t)(next(&s) % 60);
    out->ffn = 9 + (uint32_t)(next(&s) % 90);
    out->vocab = 20 + (uint32_t)(next(&s) % 200);
    out->layers = 1 + (uint32_t)(next(&s) % 4);
    out->gate = (uint32_t)(next(&s) % 3);
    out->window = next(&s) % 4 == 0 ? 1 + (uint32_t)(next(&s) % 9) : 0;
    out->is_bf16 = next(&s) % 2 == 0;
    out->is_tied = next(&s) % 2 == 0;
    out->has_qk_norm = next(&s) % 3 != 0;
    out->embed_scale = next(&s) % 5 == 0 ? 1e-4f : next(&s) % 5 == 0 ? 30.0f : 1.0f;
    out->q_scale = next(&s) % 6 == 0 ? 20.0f : 1.0f;
    out->tokens = next(&s) % 5 == 0   ? 1 + (uint32_t)(next(&s) % 4)
                  : next(&s) % 5 == 0 ? 60 + (uint32_t)(next(&s) % 90)
                                      : 5 + (uint32_t)(next(&s) % 40);
    out->seed = number + 1;
    if (number % 10 == 9) /* the residual stream leaves float32 */
        out->out_scale = 2e38f;
}
