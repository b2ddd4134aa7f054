/* SPDX-License-Identifier: MIT */
/*
 * config.json: the keys of the two original classes with their defaults and ranges, and the keys of
 * other architectures that must stop us, because ignoring them would give wrong numbers without a
 * word. Whether the tensors agree is judged in checkpoint.c.
 */
#include "config.h"

#include "check.h"
#include "config_rope.h"
#include "file.h"
#include "json.h"

#include <stddef.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 16 << 20 };

/* Wide enough for any model that this program can run, narrow enough that products fit in 64 bits.
 */
typedef struct size_key {
    const char *name;
    size_t offset; /* of a uint32_t in hg_config */
    int64_t fallback, min, max;
    int is_size; /* its absence is worth a warning: the class default hardly ever is the model's
                    size */
} size_key;

static const size_key size_keys[] = {
    {"num_hidden_layers", offsetof(hg_config, layers), 32, 1, 65536, 1},
    {"hidden_size", offsetof(hg_config, hidden), 4096, 1, 1 << 20, 1},
    {"num_attention_heads", offsetof(hg_config, heads), 32, 1, 16384, 1},
    {"head_dim", offsetof(hg_config, head_dim), 128, 2, HG_HEAD_DIM_MAX, 0},
    {"intermediate_size", offsetof(hg_config, ffn), 22016, 1, 1 << 22, 1},
    {"vocab_size", offsetof(hg_config, vocab), 151936, 1, 1 << 24, 1},
    {"max_position_embeddings", offsetof(hg_config, max_positions), 32768, 1, INT32_MAX, 0},
};

typedef enum refusal_rule {
    OFF, /* absent, null, false, 0 or an empty list */
    ONE  /* absent, null or 1 */
} refusal_rule;

typedef struct refusal {
    const char *key;
    refusal_rule rule;
    const char *why;
} refusal;

static const refusal refusals[] = {
    {"partial_rotary_factor", ONE, "rotating a part of a head"},
    {"rotary_pct", ONE, "rotating a part of a head"},
    {"rotary_dim", OFF, "rotating a part of a head"},
    {"attn_logit_softcapping", OFF, "a cap on attention scores"},
    {"final_logit_softcapping", OFF, "a cap on logits"},
    {"query_pre_attn_scalar", OFF, "another scale of attention scores"},
    {"attention_multiplier", OFF, "another scale of attention scores"},
    {"embedding_multiplier", ONE, "scaled embeddings"},
    {"residual_multiplier", ONE, "scaled residuals"},
    {"logits_scaling", ONE, "scaled logits"},
    {"logit_scale", ONE, "scaled logits"},
    {"scale_emb", ONE, "scaled embeddings"},
    {"attn_output_gate", OFF, "the gate of another model family"},
    {"full_attention_interval", OFF, "layers of another kind"},
    {"linear_num_key_heads", OFF, "layers of linear attention"},
    {"sliding_window_pattern", OFF, "a window in some layers only"},
    {"attention_chunk_size", OFF, "chunked attention"},
    {"no_rope_layers", OFF, "layers without rope"},
    {"no_rope_layer_interval", OFF, "layers without rope"},
    {"use_mrope", OFF, "rope in several dimensions"},
    {"alibi", OFF, "position by bias"},
    {"mlp_bias", OFF, "biases in the MLP"},
    {"use_parallel_residual", OFF, "parallel attention and MLP"},
    {"parallel_attn", OFF, "parallel attention and MLP"},
    {"num_experts", OFF, "a mixture of experts"},
    {"num_local_experts", OFF, "a mixture of experts"},
    {"n_routed_experts", OFF, "a mixture of experts"},
    {"moe_intermediate_size", OFF, "a mixture of experts"},
    {"kv_lora_rank", OFF, "latent attention"},
    {"is_encoder_decoder", OFF, "an encoder"},
    {"vision_config", OFF, "images"},
    {"text_config", OFF, "a model inside another"},
    {"quantization_config", OFF, "quantised weights"},
};

static hg_result say_wrong(const hg_json_from *from, const char *key, const char *expected)
{
    char found[96];

    return hg_fail(from->log, HG_ERR_FILE, "%s: %s: expected %s, found %s", from->label, key,
                   expected, hg_json_show(hg_json_find(from->object, key), found, sizeof(found)));
}

static int is_off(const cJSON *value)
{
    return cJSON_IsNull(value) || cJSON_IsFalse(value) ||
           (cJSON_IsNumber(value) && value->valuedouble == 0) ||
           (cJSON_IsArray(value) && !value->child);
}

static hg_result judge_refusals(const hg_json_from *from)
{
    size_t i;

    for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const cJSON *value = hg_json_find(from->object, refusals[i].key);
        char found[96];

        if (!value || cJSON_IsNull(value) || (refusals[i].rule == OFF && is_off(value)))
            continue;
        if (refusals[i].rule == ONE && cJSON_IsNumber(value) && value->valuedouble == 1.0)
            continue;
        return hg_fail(
            from->log, HG_ERR_FILE,
            "%s: %s is %s: %s is not supported, and without it the results would be wrong",
            from->label, refusals[i].key, hg_json_show(value, found, sizeof(found)),
            refusals[i].why);
    }
    return HG_OK;
}

/* The function silu under its two names. */
static hg_result judge_activation(const hg_json_from *from)
{
    const char *name;
    hg_result res = hg_json_string(from, "hidden_act", "silu", &name);

    if (res == HG_OK && strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0)
        res = say_wrong(from, "hidden_act", "\"silu\" (other activations are not supported)");
    return res;
}

static hg_result read_sizes(const hg_json_from *from, hg_config *config)
{
    const int64_t heads_default = 32;
    int64_t number;
    const cJSON *kv;
    size_t i;
    hg_result res;

    for (i = 0; i < sizeof(size_keys) / sizeof(size_keys[0]); i++) {
        const size_key *key = &size_keys[i];
        uint32_t value;

        if (key->is_size && !hg_json_find(from->object, key->name))
            hg_say(from->log, HG_LOG_WARNING,
                   "%s: %s is missing; the original class then takes %lld", from->label, key->name,
                   (long long)key->fallback);
        HG_TRY(hg_json_integer(from, key->name, &key->fallback, key->min, key->max, &number));
        value = (uint32_t)number;
        memcpy((char *)config + key->offset, &value, sizeof(value));
    }
    if (config->head_dim % 2)
        return say_wrong(from, "head_dim", "an even number (rope turns pairs)");
    config->kv_heads = config->heads;
    kv = hg_json_find(from->object, "num_key_value_heads");
    if (!kv || !cJSON_IsNull(kv)) {
        HG_TRY(hg_json_integer(from, "num_key_value_heads", &heads_default, 1, 16384, &number));
        config->kv_heads = (uint32_t)number;
    }
    if (config->kv_heads > config->heads || config->heads % config->kv_heads)
        return hg_fail(from->log, HG_ERR_FILE,
                       "%s: expected num_attention_heads to be a multiple of num_key_value_heads, "
                       "found %u and %u",
                       from->label, config->heads, config->kv_heads);
out:
    return res;
}

/* The eager path of the original hides keys in every layer, whatever max_window_layers says;
 * without use_sliding_window its config class drops sliding_window. */
static hg_result read_window(const hg_json_from *from, hg_config *config)
{
    const int off = 0;
    const int64_t fallback = 4096;
    const cJSON *window = hg_json_find(from->object, "sliding_window");
    const cJSON *types = hg_json_find(from->object, "layer_types"), *type;
    int64_t number = 0;
    int use;
    hg_result res;

    HG_TRY(hg_json_bool(from, "use_sliding_window", &off, &use));
    if (use && !(window && cJSON_IsNull(window)))
        HG_TRY(hg_json_integer(from, "sliding_window", &fallback, 1, INT32_MAX, &number));
    config->window = (uint32_t)number;
    if (!types || cJSON_IsNull(types))
        goto out;
    HG_TRY(hg_json_array(from, "layer_types", &types));
    for (type = types->child; type; type = type->next) {
        const char *expected = config->window ? "sliding_attention" : "full_attention";
        char found[96];

        if (!cJSON_IsString(type) || strcmp(type->valuestring, expected) != 0)
            return hg_fail(from->log, HG_ERR_FILE,
                           "%s: layer_types: expected \"%s\" for every layer (others are not "
                           "supported), found %s",
                           from->label, expected, hg_json_show(type, found, sizeof(found)));
    }
out:
    return res;
}

/* A gate key: -1 absent (null, too), else 0 or 1. */
static hg_result read_gate_key(const hg_json_from *from, const char *key, int32_t *out)
{
    const cJSON *value = hg_json_find(from->object, key);
    int on;
    hg_result res;

    *out = -1;
    if (!value || cJSON_IsNull(value))
        return HG_OK;
    res = hg_json_bool(from, key, NULL, &on);
    *out = on;
    return res;
}

static hg_result read_switches(const hg_json_from *from, hg_config *config)
{
    const int off = 0, on = 1;
    int value, other;
    hg_result res;

    HG_TRY(hg_json_bool(from, "use_qk_norm", &on, &value));
    config->qk_norm = (uint32_t)value;
    HG_TRY(hg_json_bool(from, "tie_word_embeddings", &off, &value));
    config->tied = (uint32_t)value;
    HG_TRY(hg_json_bool(from, "qkv_bias", &off, &value));
    HG_TRY(hg_json_bool(from, "attention_bias", &off, &other));
    config->bias_key = (uint32_t)(value | other);
    HG_TRY(read_gate_key(from, "headwise_attn_output_gate", &config->gate_headwise));
    HG_TRY(read_gate_key(from, "elementwise_attn_output_gate", &config->gate_elementwise));
    if (config->gate_headwise == 1 && config->gate_elementwise == 1)
        return hg_fail(
            from->log, HG_ERR_FILE,
            "%s: headwise_attn_output_gate and elementwise_attn_output_gate are both true; "
            "set the one to false that the model was not trained with",
            from->label);
out:
    return res;
}

/* An id, a list of ids (the first counts), null or nothing. */
static hg_result read_token_id(const hg_json_from *from, const char *key, int32_t *out)
{
    const cJSON *value = hg_json_find(from->object, key);
    int64_t number;

    *out = -1;
    if (cJSON_IsArray(value))
        value = value->child;
    if (!value || cJSON_IsNull(value))
        return HG_OK;
    if (!hg_json_to_integer(value, -1, INT32_MAX, &number))
        return say_wrong(from, key, "a token id");
    *out = (int32_t)number;
    return HG_OK;
}

static hg_result read_eps(const hg_json_from *from, float *out)
{
    const double fallback = 1e-6;
    double eps;
    hg_result res = hg_json_number(from, "rms_norm_eps", &fallback, &eps);

    if (res == HG_OK && !(eps >= 0 && eps <= 1))
        res = say_wrong(from, "rms_norm_eps", "a number from 0 to 1");
    *out = (float)eps;
    return res;
}

static hg_result read_root(const hg_json_from *from, hg_config *out)
{
    hg_result res;

    if (!cJSON_IsObject(from->object)) {
        char found[96];

        return hg_fail(from->log, HG_ERR_FILE, "%s: expected an object at the top, found %s",
                       from->label, hg_json_show(from->object, found, sizeof(found)));
    }
    HG_TRY(judge_refusals(from));
    HG_TRY(judge_activation(from));
    HG_TRY(read_sizes(from, out));
    HG_TRY(read_eps(from, &out->eps));
    HG_TRY(read_switches(from, out));
    HG_TRY(read_window(from, out));
    HG_TRY(read_token_id(from, "bos_token_id", &out->bos_token_id));
    HG_TRY(read_token_id(from, "eos_token_id", &out->eos_token_id));
    HG_TRY(hg_config_read_rope(from, out));
out:
    return res;
}

hg_result hg_config_parse(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                          hg_config *out)
{
    hg_json_from from = {log, label, NULL};
    cJSON *root = NULL;
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(hg_json_parse(log, label, text, bytes, NULL, &root));
    from.object = root;
    res = read_root(&from, out);
out:
    cJSON_Delete(root);
    return res;
}

hg_result hg_config_read(const hg_log *log, const char *path, hg_config *out)
{
    hg_file file;
    hg_result res;

    memset(out, 0, sizeof(*out));
    res = hg_file_map(log, path, CONFIG_BYTES_MAX, &file);
    if (res != HG_OK)
        return res;
    HG_TRY(hg_file_judge(log, path, &file));
    res = hg_config_parse(log, path, file.data, file.bytes, out);
out:
    hg_file_unmap(&file);
    return res;
}
