/* SPDX-License-Identifier: MIT */
/*
 * Rope keys, checked so that hg_rope_frequencies has no bad cases: every frequency is a finite
 * number, and no angle of a position below 2^32 leaves the range of the host's sine.
 */
#include "config_rope.h"

#include "check.h"
#include "real.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    USES_FACTOR = 1 << 0,
    USES_ORIGINAL = 1 << 1,
    USES_ATTENTION = 1 << 2,
    USES_YARN = 1 << 3,
    USES_LLAMA3 = 1 << 4,
    USES_LISTS = 1 << 5
};

typedef struct rope_kind {
    const char *name;
    unsigned uses;
} rope_kind;

/* By hg_rope_type. */
static const rope_kind kinds[] = {
    {"default", 0},
    {"linear", USES_FACTOR},
    {"dynamic", USES_FACTOR},
    {"yarn", USES_FACTOR | USES_ORIGINAL | USES_ATTENTION | USES_YARN},
    {"llama3", USES_FACTOR | USES_ORIGINAL | USES_LLAMA3},
    {"longrope", USES_FACTOR | USES_ATTENTION | USES_LISTS},
};

/* Every key we know inside rope_scaling, and which types read it. */
static const struct {
    const char *name;
    unsigned uses;
} known_keys[] = {
    {"type", ~0u},
    {"rope_type", ~0u},
    {"rope_theta", ~0u},
    {"partial_rotary_factor", ~0u},
    {"finetuned", ~0u},
    {"truncate", ~0u},
    {"factor", USES_FACTOR},
    {"original_max_position_embeddings", USES_ORIGINAL},
    {"attention_factor", USES_ATTENTION},
    {"beta_fast", USES_YARN},
    {"beta_slow", USES_YARN},
    {"mscale", USES_YARN},
    {"mscale_all_dim", USES_YARN},
    {"low_freq_factor", USES_LLAMA3},
    {"high_freq_factor", USES_LLAMA3},
    {"short_factor", USES_LISTS},
    {"long_factor", USES_LISTS},
};

const char *hg_rope_type_name(hg_rope_type type)
{
    return kinds[type].name;
}

static hg_result say_range(const hg_json_from *from, const char *key, const char *expected)
{
    char found[96];

    return hg_fail(from->log, HG_ERR_FILE, "%s: %s: expected %s, found %s", from->label, key,
                   expected, hg_json_show(hg_json_find(from->object, key), found, sizeof(found)));
}

/* Bounds of every number here: no quotient or power of two of them leaves the range of double. */
static const double LEAST = 1e-9, MOST = 1e12;

/* Absent and null are the same. required: then an error. */
static hg_result read_positive(const hg_json_from *from, const char *key, int required,
                               double fallback, double *out)
{
    const cJSON *value = hg_json_find(from->object, key);
    hg_result res;

    *out = fallback;
    if (!required && (!value || cJSON_IsNull(value)))
        return HG_OK;
    res = hg_json_number(from, key, NULL, out);
    if (res == HG_OK && !(*out >= LEAST && *out <= MOST))
        res = say_range(from, key, "a number from 1e-9 to 1e12");
    return res;
}

/* The class reads these with `or`: null and 0 are the default. */
static hg_result read_or(const hg_json_from *from, const char *key, double fallback, double *out)
{
    const cJSON *value = hg_json_find(from->object, key);

    if (!value || cJSON_IsNull(value) || (cJSON_IsNumber(value) && value->valuedouble == 0)) {
        *out = fallback;
        return HG_OK;
    }
    return read_positive(from, key, 1, fallback, out);
}

static hg_result read_type(const hg_json_from *from, hg_rope *rope)
{
    const cJSON *older = hg_json_find(from->object, "type");
    const cJSON *newer = hg_json_find(from->object, "rope_type");
    const char *key = older ? "type" : "rope_type", *name;
    size_t i;
    hg_result res;

    if (!older && !newer)
        return hg_fail(from->log, HG_ERR_FILE,
                       "%s: expected a key \"rope_type\" (or \"type\"), found none; the scaling "
                       "cannot be told",
                       from->label);
    res = hg_json_string(from, key, NULL, &name);
    if (res != HG_OK)
        return res;
    if (older && newer && (!cJSON_IsString(newer) || strcmp(newer->valuestring, name) != 0))
        hg_say(from->log, HG_LOG_WARNING,
               "%s: type and rope_type differ; type \"%s\" is used, as the original class does",
               from->label, name);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            rope->type = (hg_rope_type)i;
            return HG_OK;
        }
    }
    return say_range(from, key, "one of default, linear, dynamic, yarn, llama3, longrope");
}

static hg_result judge_keys(const hg_json_from *from, unsigned uses)
{
    const size_t known_count = sizeof(known_keys) / sizeof(known_keys[0]);
    const cJSON *child;
    size_t i;

    for (child = from->object->child; child; child = child->next) {
        for (i = 0; i < known_count && strcmp(known_keys[i].name, child->string) != 0; i++) {
        }
        if (i == known_count)
            return hg_fail(from->log, HG_ERR_FILE,
                           "%s: the key \"%.80s\" is not known and may change the mathematics",
                           from->label, child->string);
        if (!(known_keys[i].uses & (uses | 1u << 31)) && !cJSON_IsNull(child))
            hg_say(from->log, HG_LOG_WARNING, "%s: %s is not used by this rope type", from->label,
                   child->string);
    }
    child = hg_json_find(from->object, "truncate");
    if (child && cJSON_IsFalse(child))
        return say_range(from, "truncate", "true (other bounds of yarn are not supported)");
    child = hg_json_find(from->object, "partial_rotary_factor");
    if (child && !cJSON_IsNull(child) && (!cJSON_IsNumber(child) || child->valuedouble != 1.0))
        return say_range(from, "partial_rotary_factor",
                         "1 (rotating a part of a head is not supported)");
    return HG_OK;
}

static hg_result read_list(const hg_json_from *from, const char *key, uint32_t count, double *out)
{
    const cJSON *list, *item;
    uint32_t i = 0;
    hg_result res = hg_json_array(from, key, &list);

    if (res != HG_OK)
        return res;
    for (item = list->child; item; item = item->next, i++) {
        if (i < count && cJSON_IsNumber(item) && item->valuedouble >= LEAST &&
            item->valuedouble <= MOST)
            out[i] = item->valuedouble;
        else if (i < count)
            return hg_fail(from->log, HG_ERR_FILE,
                           "%s: %s: entry %u is no number from 1e-9 to 1e12", from->label, key, i);
    }
    if (i != count)
        return hg_fail(from->log, HG_ERR_FILE,
                       "%s: %s: expected %u entries (half of head_dim), found %u", from->label, key,
                       count, i);
    return HG_OK;
}

static hg_result read_yarn(const hg_json_from *from, hg_config *config)
{
    hg_rope *rope = &config->rope;
    double ratio;
    hg_result res;

    HG_TRY(read_or(from, "beta_fast", 32.0, &rope->beta_fast));
    HG_TRY(read_or(from, "beta_slow", 1.0, &rope->beta_slow));
    HG_TRY(read_or(from, "mscale", 0.0, &rope->mscale));
    HG_TRY(read_or(from, "mscale_all_dim", 0.0, &rope->mscale_all_dim));
    if (rope->theta <= 1)
        return hg_fail(from->log, HG_ERR_FILE, "%s: yarn expects a rope_theta above 1, found %g",
                       from->label, rope->theta);
    ratio = rope->original_max_positions > 0 ? config->max_positions / rope->original_max_positions
                                             : rope->factor;
    if (fabs(ratio - rope->factor) > 1e-9 * ratio)
        hg_say(from->log, HG_LOG_WARNING,
               "%s: factor %g is not used: max_position_embeddings / "
               "original_max_position_embeddings = %g "
               "takes its place, as in the original class",
               from->label, rope->factor, ratio);
out:
    return res;
}

static hg_result read_llama3(const hg_json_from *from, hg_rope *rope)
{
    hg_result res;

    HG_TRY(read_positive(from, "low_freq_factor", 1, 0, &rope->low_freq_factor));
    HG_TRY(read_positive(from, "high_freq_factor", 1, 0, &rope->high_freq_factor));
    if (rope->high_freq_factor <= rope->low_freq_factor)
        res = say_range(from, "high_freq_factor", "a number above low_freq_factor");
out:
    return res;
}

/* The class takes the original length from the top level of the config here, never from
 * rope_scaling. */
static hg_result read_longrope(const hg_json_from *from, const hg_json_from *root,
                               hg_config *config)
{
    hg_rope *rope = &config->rope;
    uint32_t half = config->head_dim / 2;
    double original;
    hg_result res;

    HG_TRY(read_list(from, "short_factor", half, rope->short_factor));
    HG_TRY(read_list(from, "long_factor", half, rope->long_factor));
    HG_TRY(read_positive(root, "original_max_position_embeddings", 0, 0,
                         &rope->original_max_positions));
    if (rope->factor <= 0 && rope->attention_factor <= 0 && rope->original_max_positions <= 0)
        return hg_fail(from->log, HG_ERR_FILE,
                       "%s: longrope expects the key \"factor\" or \"attention_factor\"",
                       from->label);
    original =
        rope->original_max_positions > 0 ? rope->original_max_positions : config->max_positions;
    if (rope->attention_factor <= 0 && original <= 1)
        return hg_fail(from->log, HG_ERR_FILE,
                       "%s: longrope expects an original length above 1, found %g", from->label,
                       original);
out:
    return res;
}

static hg_result read_scaling(const hg_json_from *from, const hg_json_from *root, hg_config *config)
{
    hg_rope *rope = &config->rope;
    unsigned uses;
    hg_result res;

    HG_TRY(read_type(from, rope));
    uses = kinds[rope->type].uses;
    HG_TRY(judge_keys(from, uses));
    if (uses & USES_FACTOR)
        HG_TRY(read_positive(from, "factor", rope->type != HG_ROPE_LONGROPE, 0, &rope->factor));
    if (uses & USES_ORIGINAL)
        HG_TRY(read_positive(from, "original_max_position_embeddings", rope->type == HG_ROPE_LLAMA3,
                             0, &rope->original_max_positions));
    if (uses & USES_ATTENTION)
        HG_TRY(read_positive(from, "attention_factor", 0, 0, &rope->attention_factor));
    if (rope->type == HG_ROPE_YARN)
        HG_TRY(read_yarn(from, config));
    if (rope->type == HG_ROPE_LLAMA3)
        HG_TRY(read_llama3(from, rope));
    if (rope->type == HG_ROPE_LONGROPE)
        HG_TRY(read_longrope(from, root, config));
    if (rope->type == HG_ROPE_DYNAMIC && config->head_dim == 2)
        return hg_fail(from->log, HG_ERR_FILE, "%s: dynamic scaling expects a head_dim above 2",
                       from->label);
out:
    return res;
}

/* rope_theta stands at the top level, or inside rope_parameters. */
static hg_result read_theta(const hg_json_from *root, const hg_json_from *from, hg_rope *rope)
{
    const double fallback = 10000.0;
    const cJSON *inner = hg_json_find(from->object, "rope_theta");
    hg_result res;

    HG_TRY(hg_json_number(root, "rope_theta", &fallback, &rope->theta));
    if (inner && !hg_json_find(root->object, "rope_theta"))
        HG_TRY(hg_json_number(from, "rope_theta", NULL, &rope->theta));
    else if (inner && (!cJSON_IsNumber(inner) || inner->valuedouble != rope->theta))
        return say_range(from, "rope_theta", "the same value as at the top level");
    if (!(rope->theta >= LEAST && rope->theta <= MOST))
        return hg_fail(root->log, HG_ERR_FILE,
                       "%s: rope_theta: expected a number from 1e-9 to 1e12, found %g", root->label,
                       rope->theta);
out:
    return res;
}

static hg_result judge_frequencies(const hg_json_from *root, const hg_config *config,
                                   uint32_t tokens)
{
    const double fastest = HG_REAL_ANGLE_MAX / 4294967296.0;
    double inv_freq[HG_HEAD_DIM_MAX / 2], scaling;
    uint32_t i;

    hg_rope_frequencies(config, tokens, inv_freq, &scaling);
    for (i = 0; i < config->head_dim / 2; i++)
        if (!(inv_freq[i] >= 0 && inv_freq[i] <= fastest))
            return hg_fail(
                root->log, HG_ERR_FILE,
                "%s: rope_theta and rope_scaling give the frequency %g at pair %u; expected one "
                "from 0 to %g",
                root->label, inv_freq[i], i, fastest);
    if (!(scaling > 0 && scaling < 1e6))
        return hg_fail(root->log, HG_ERR_FILE,
                       "%s: rope_scaling multiplies the rotation by %g; expected a number above 0",
                       root->label, scaling);
    return HG_OK;
}

hg_result hg_config_read_rope(const hg_json_from *root, hg_config *config)
{
    const char *key = "rope_scaling";
    const cJSON *scaling = hg_json_find(root->object, key);
    const cJSON *newer = hg_json_find(root->object, "rope_parameters");
    hg_json_from from = {root->log, NULL, NULL};
    char label[1024];
    hg_result res;

    if (newer && !cJSON_IsNull(newer)) {
        if (scaling && !cJSON_IsNull(scaling))
            return hg_fail(root->log, HG_ERR_FILE,
                           "%s: rope_scaling and rope_parameters are both there; keep one",
                           root->label);
        key = "rope_parameters";
        scaling = newer;
    }
    snprintf(label, sizeof(label), "%.900s: %s", root->label, key);
    from.label = label;
    if (scaling && !cJSON_IsNull(scaling))
        HG_TRY(hg_json_object(root, key, &from.object));
    HG_TRY(read_theta(root, &from, &config->rope));
    if (from.object)
        HG_TRY(read_scaling(&from, root, config));
    HG_TRY(judge_frequencies(root, config, 1));
    HG_TRY(judge_frequencies(root, config, UINT32_MAX));
out:
    return res;
}
