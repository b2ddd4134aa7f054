/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a Qwen3 model with or without gates, their values, and the safetensors form.
 * torch_file.c has the other form.
 *
 * Values are counter-based: element i of a tensor is a function of (seed, name, i). Matrices are
 * close to N(0, 0.02): the sum of four uniform numbers, which is a few instructions per value. Norm
 * weights are 1.
 */
#include "random_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER_TENSORS = 11, HEAD_TENSORS = 2, PIECE = 1 << 16 };

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static uint64_t name_key(uint64_t seed, const char *name)
{
    uint64_t key = mix(seed + 1);
    for (; *name; name++) {
        key = mix(key ^ (uint64_t)(unsigned char)*name) + UINT64_C(0x9e3779b97f4a7c15);
    }
    return key;
}

uint32_t hg_bench_dtype_bytes(hg_bench_dtype dtype)
{
    return dtype == HG_BENCH_F32 ? 4 : 2;
}

static void set_tensor(hg_bench_tensor *out, uint64_t rows, uint64_t columns)
{
    out->rank = columns ? 2 : 1;
    out->shape[0] = rows;
    out->shape[1] = columns;
    out->count = rows * (columns ? columns : 1);
}

static void layer_tensor(const hg_bench_shape *s, uint32_t layer, uint32_t which,
                         hg_bench_tensor *out)
{
    static const char *const names[LAYER_TENSORS] = {
        "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",        "self_attn.o_proj",
        "self_attn.q_norm", "self_attn.k_norm", "mlp.gate_proj",           "mlp.up_proj",
        "mlp.down_proj",    "input_layernorm",  "post_attention_layernorm"};
    const uint64_t hidden = s->hidden;
    const uint64_t q_rows = (uint64_t)s->heads * s->head_dim;
    const uint64_t kv_rows = (uint64_t)s->kv_heads * s->head_dim;
    const uint64_t gate_rows = s->gate == HG_BENCH_NO_GATE    ? 0
                               : s->gate == HG_BENCH_HEADWISE ? s->heads
                                                              : q_rows;
    const uint64_t rows[LAYER_TENSORS] = {q_rows + gate_rows,
                                          kv_rows,
                                          kv_rows,
                                          hidden,
                                          s->head_dim,
                                          s->head_dim,
                                          s->ffn,
                                          s->ffn,
                                          hidden,
                                          hidden,
                                          hidden};
    const uint64_t columns[LAYER_TENSORS] = {hidden, hidden, hidden, q_rows, 0, 0,
                                             hidden, hidden, s->ffn, 0,      0};
    (void)snprintf(out->name, sizeof out->name, "model.layers.%" PRIu32 ".%s.weight", layer,
                   names[which]);
    set_tensor(out, rows[which], columns[which]);
}

int hg_bench_tensor_at(const hg_bench_shape *shape, uint32_t index, hg_bench_tensor *out)
{
    memset(out, 0, sizeof *out);
    if (index == 0) {
        (void)snprintf(out->name, sizeof out->name, "model.embed_tokens.weight");
        set_tensor(out, shape->vocab, shape->hidden);
    } else if (index - 1 < shape->layers * LAYER_TENSORS) {
        layer_tensor(shape, (index - 1) / LAYER_TENSORS, (index - 1) % LAYER_TENSORS, out);
    } else if (index - 1 - shape->layers * LAYER_TENSORS == 0) {
        (void)snprintf(out->name, sizeof out->name, "model.norm.weight");
        set_tensor(out, shape->hidden, 0);
    } else if (index - 1 - shape->layers * LAYER_TENSORS < HEAD_TENSORS) {
        (void)snprintf(out->name, sizeof out->name, "lm_head.weight");
        set_tensor(out, shape->vocab, shape->hidden);
        out->alias = shape->tied;
    } else {
        return 0;
    }
    return 1;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Values are finite and below 1 in magnitude or exactly 1, so only normal numbers, denormals and
 * zero occur. */
static uint16_t to_f16(float value)
{
    uint32_t bits = 0;
    uint32_t mantissa = 0;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const int32_t exponent = (int32_t)((bits >> 23) & 0xffu) - 127;
    if (exponent < -25) {
        return (uint16_t)sign;
    }
    mantissa = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t shift = exponent >= -14 ? 13u : (uint32_t)(13 + (-14 - exponent));
    const uint32_t half = 1u << (shift - 1);
    uint32_t kept = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    kept += rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
    /* A carry out of the mantissa moves on into the exponent, as it should. */
    return (uint16_t)(sign | (exponent >= -14 ? ((uint32_t)(exponent + 14) << 10) + kept : kept));
}

void hg_bench_values(const hg_bench_shape *shape, const hg_bench_tensor *tensor, uint64_t first,
                     size_t count, void *out)
{
    const uint64_t key = name_key(shape->seed, tensor->name);
    unsigned char *bytes = out;
    for (size_t item = 0; item < count; item++) {
        float value = 1.0F;
        if (tensor->rank == 2) {
            const uint64_t random = mix(key + (first + item) * UINT64_C(0x9e3779b97f4a7c15));
            const int32_t sum = (int32_t)(random & 0xffff) + (int32_t)(random >> 16 & 0xffff) +
                                (int32_t)(random >> 32 & 0xffff) + (int32_t)(random >> 48) -
                                2 * 65535;
            /* The sum of four uniform numbers in [-1/2, 1/2] has a deviation of 1/sqrt(3). */
            value = (float)sum * (0.02F * 1.7320508F / 65535.0F);
        }
        if (shape->dtype == HG_BENCH_F32) {
            memcpy(bytes + item * 4, &value, 4);
        } else {
            const uint16_t word = shape->dtype == HG_BENCH_BF16 ? to_bf16(value) : to_f16(value);
            memcpy(bytes + item * 2, &word, 2);
        }
    }
}

int hg_bench_write_safetensors(FILE *file, const hg_bench_shape *shape)
{
    static const char *const dtypes[] = {"F32", "F16", "BF16"};
    const uint32_t item_bytes = hg_bench_dtype_bytes(shape->dtype);
    const size_t room = 65536 + (size_t)shape->layers * LAYER_TENSORS * 160;
    char *header = malloc(room);
    unsigned char *piece = malloc((size_t)PIECE * item_bytes);
    hg_bench_tensor tensor;
    uint64_t offset = 0;
    size_t used = 0;
    int good = 0;
    if (!header || !piece) {
        goto out;
    }
    used = (size_t)snprintf(header, room, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (uint32_t index = 0; hg_bench_tensor_at(shape, index, &tensor); index++) {
        if (tensor.alias) {
            continue;
        }
        const uint64_t bytes = tensor.count * item_bytes;
        used += (size_t)snprintf(header + used, room - used,
                                 ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64, tensor.name,
                                 dtypes[shape->dtype], tensor.shape[0]);
        if (tensor.rank == 2) {
            used += (size_t)snprintf(header + used, room - used, ",%" PRIu64, tensor.shape[1]);
        }
        used += (size_t)snprintf(header + used, room - used,
                                 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset,
                                 offset + bytes);
        offset += bytes;
    }
    header[used++] = '}';
    while (used % 8 != 0) {
        header[used++] = ' ';
    }
    const uint64_t header_bytes = used;
    if (fwrite(&header_bytes, 8, 1, file) != 1 || fwrite(header, 1, used, file) != used) {
        goto out;
    }
    for (uint32_t index = 0; hg_bench_tensor_at(shape, index, &tensor); index++) {
        for (uint64_t first = 0; !tensor.alias && first < tensor.count; first += PIECE) {
            const size_t count =
                tensor.count - first < PIECE ? (size_t)(tensor.count - first) : PIECE;
            hg_bench_values(shape, &tensor, first, count, piece);
            if (fwrite(piece, item_bytes, count, file) != count) {
                goto out;
            }
        }
    }
    good = 1;
out:
    free(header);
    free(piece);
    return good;
}
