/* SPDX-License-Identifier: MIT */
/*
 * Every checkpoint of tests/reference/models and every sample: opens, describes itself as case.json
 * says, and gives the frequencies that the original has. Values of weights are judged by the golden
 * tests.
 */
#include "checkpoint.h"
#include "json.h"
#include "support.h"
#include "tensors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODELS HG_TEST_REFERENCE_DIR "/models"

static int64_t number(const cJSON *object, const char *key)
{
    int64_t value = -1;

    assert_true(hg_json_to_integer(hg_json_find(object, key), 0, INT32_MAX, &value));
    return value;
}

static hg_gate_kind gate_of(const char *word)
{
    if (strcmp(word, "headwise") == 0)
        return HG_GATE_HEADWISE;
    return strcmp(word, "elementwise") == 0 ? HG_GATE_ELEMENTWISE : HG_GATE_NONE;
}

/* By the formula of the architecture, not by the files. */
static uint64_t count_parameters(const hg_model_info *i)
{
    uint64_t c = i->hidden, hd = (uint64_t)i->heads * i->head_dim,
             kd = (uint64_t)i->kv_heads * i->head_dim;
    uint64_t q = hd + (uint64_t)i->heads * i->gate_dim;
    uint64_t layer = c * q + 2 * c * kd + hd * c + 3 * c * i->ffn + 2 * c;

    layer += i->qk_norm ? 2 * (uint64_t)i->head_dim : 0;
    layer += i->qkv_bias ? q + 2 * kd : 0;
    layer += i->o_bias ? c : 0;
    return layer * i->layers + c + c * i->vocab * (i->tied ? 1 : 2);
}

/* A switch of config.json, which the cases spell out. */
static int is_on(const cJSON *config, const char *key)
{
    return cJSON_IsTrue(hg_json_find(config, key));
}

static void check_switches(const char *name, const cJSON *config, const hg_model_info *info)
{
    int window = is_on(config, "use_sliding_window");

    assert_int_equal(info->qkv_bias, is_on(config, "qkv_bias"));
    assert_int_equal(info->o_bias, is_on(config, "qkv_bias") && strcmp(name, "bias-qkv-only") != 0);
    assert_int_equal(info->qk_norm, is_on(config, "use_qk_norm"));
    assert_int_equal(info->tied, is_on(config, "tie_word_embeddings"));
    assert_int_equal(info->sliding_window, window ? number(config, "sliding_window") : 0);
    assert_true(info->rope_theta == hg_json_find(config, "rope_theta")->valuedouble);
    assert_true(info->rms_norm_eps == (float)hg_json_find(config, "rms_norm_eps")->valuedouble);
    assert_int_equal(info->max_positions, number(config, "max_position_embeddings"));
}

static void check_info(const char *name, const hg_checkpoint *checkpoint, const cJSON *about)
{
    const cJSON *shape = hg_json_find(about, "shape");
    hg_model_info info = {.struct_size = sizeof(info)};
    const char *word = hg_json_find(about, "gate")->valuestring;
    char path[1024];
    cJSON *config;

    snprintf(path, sizeof(path), "%s/config.json", checkpoint->path);
    assert_int_equal(hg_json_read(NULL, path, NULL, &config), HG_OK);
    hg_checkpoint_describe(checkpoint, &info);
    assert_int_equal(info.struct_size, sizeof(info));
    assert_int_equal(info.layers, number(shape, "L"));
    assert_int_equal(info.heads, number(shape, "H"));
    assert_int_equal(info.kv_heads, number(shape, "K"));
    assert_int_equal(info.head_dim, number(shape, "D"));
    assert_int_equal(info.hidden, number(shape, "C"));
    assert_int_equal(info.ffn, number(shape, "F"));
    assert_int_equal(info.vocab, number(shape, "V"));
    assert_int_equal(info.gate, gate_of(word));
    assert_int_equal(info.gate_dim, info.gate == HG_GATE_NONE
                                        ? 0
                                        : (info.gate == HG_GATE_HEADWISE ? 1 : info.head_dim));
    assert_int_equal(info.gate_layout, HG_GATE_LAYOUT_GROUPED);
    assert_int_equal(info.parameters, count_parameters(&info));
    assert_true(info.weight_bytes >= info.parameters * 2 &&
                info.weight_bytes <= info.parameters * 4);
    assert_int_equal(info.eos_token_id, info.vocab - 1);
    check_switches(name, config, &info);
    cJSON_Delete(config);
}

/* hg_rope_table against libm in long double, at near and far positions. */
static void check_table(const double *inv_freq, double scaling, uint32_t head_dim)
{
    static const uint32_t firsts[] = {0, 1000, 1u << 20, UINT32_MAX - 7};
    uint32_t half = head_dim / 2, f, p, i;
    float table[8 * HG_HEAD_DIM_MAX];

    for (f = 0; f < 4; f++) {
        hg_rope_table(inv_freq, scaling, head_dim, firsts[f], 8, table);
        for (p = 0; p < 8; p++) {
            for (i = 0; i < half; i++) {
                double angle = ((double)firsts[f] + p) * inv_freq[i];
                double c = (double)(cosl((long double)angle) * (long double)scaling);
                double s = (double)(sinl((long double)angle) * (long double)scaling);
                const float *at = table + ((size_t)p * half + i) * 2;

                assert_true(fabs((double)at[0] - c) <= 0x1p-24 * fabs(c) * 1.0001 + 0x1p-50);
                assert_true(fabs((double)at[1] - s) <= 0x1p-24 * fabs(s) * 1.0001 + 0x1p-50);
                assert_true(at[0] == 0 || fabsf(at[0]) >= 0x1p-50f);
                assert_true(at[1] == 0 || fabsf(at[1]) >= 0x1p-50f);
                assert_false((at[0] == 0 && signbit(at[0])) || (at[1] == 0 && signbit(at[1])));
            }
        }
    }
}

static void check_rope(const char *folder, const hg_checkpoint *checkpoint, uint32_t tokens)
{
    const hg_config *config = &checkpoint->config;
    double inv_freq[HG_HEAD_DIM_MAX / 2], scaling;
    char path[1024];
    hg_test_tensors *expected;
    double *values, *factor;
    uint32_t i;

    snprintf(path, sizeof(path), "%s/expected.safetensors", folder);
    expected = hg_test_tensors_read(path);
    assert_non_null(expected);
    values = hg_test_tensors_f64(expected, "rope.inv_freq");
    factor = hg_test_tensors_f64(expected, "rope.attention_scaling");
    assert_int_equal(hg_test_tensors_count(expected, "rope.inv_freq", NULL), config->head_dim / 2);
    hg_rope_frequencies(config, tokens, inv_freq, &scaling);
    for (i = 0; i < config->head_dim / 2; i++)
        assert_true(fabs(inv_freq[i] - values[i]) <= 1e-12 * values[i]);
    assert_true(fabs(scaling - factor[0]) <= 1e-12 * factor[0]);
    check_table(inv_freq, scaling, config->head_dim);
    hg_rope_frequencies(config, tokens + 1000, inv_freq, &scaling);
    assert_int_equal(hg_rope_depends_on_length(config),
                     fabs(inv_freq[1] - values[1]) > 1e-9 * values[1]);
    free(values);
    free(factor);
    hg_test_tensors_free(expected);
}

/* Cases that are to say something while they open. Every other one is to open in silence. */
static uint32_t expected_warnings(const char *name)
{
    static const char *const loud[] = {"bias-keys-without-tensors", "bias-qkv-only",
                                       "file-st-extra-tensors", "rope-yarn-factor-ignored",
                                       "tied-with-other-head"};
    size_t i;

    for (i = 0; i < sizeof(loud) / sizeof(loud[0]); i++)
        if (strcmp(name, loud[i]) == 0)
            return 1;
    return 0;
}

static void check_model(const char *name)
{
    test_log log;
    char folder[512], path[1024];
    hg_checkpoint *checkpoint = NULL;
    cJSON *about;

    test_log_init(&log);
    snprintf(folder, sizeof(folder), MODELS "/%s", name);
    snprintf(path, sizeof(path), "%s/case.json", folder);
    assert_int_equal(hg_json_read(&log.log, path, NULL, &about), HG_OK);
    if (test_open(&log, folder, &checkpoint) != HG_OK)
        fail_msg("%s: %s", name, log.error);
    if (log.warnings != expected_warnings(name))
        fail_msg("%s: %u warnings, the last: %s", name, log.warnings, log.warning);
    check_info(name, checkpoint, about);
    assert_int_equal(checkpoint->info.warning_count, log.warnings);
    check_rope(folder, checkpoint, (uint32_t)number(about, "T"));
    hg_checkpoint_close(&checkpoint);
    assert_null(checkpoint);
    cJSON_Delete(about);
}

static void every_reference_model_opens(void **state)
{
    char **names = test_folders(MODELS);
    uint32_t i;

    (void)state;
    for (i = 0; names[i]; i++)
        check_model(names[i]);
    assert_int_equal(i, 96);
    test_names_free(names);
}

static void samples_have_the_parameters_of_their_readme(void **state)
{
    static const struct {
        const char *name;
        uint64_t parameters;
    } samples[] = {
        {"baseline", 1443968}, {"gate_headwise", 1446016}, {"gate_elementwise", 1706112}};
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        char path[512];
        test_log log;
        hg_checkpoint *checkpoint;
        hg_model_info info = {.struct_size = sizeof(info)};

        test_log_init(&log);
        snprintf(path, sizeof(path), HG_TEST_SAMPLES_DIR "/%s", samples[i].name);
        assert_int_equal(test_open(&log, path, &checkpoint), HG_OK);
        hg_checkpoint_describe(checkpoint, &info);
        assert_int_equal(info.parameters, samples[i].parameters);
        assert_string_equal(info.weight_types, "bf16");
        assert_string_equal(info.rope_type, "default");
        assert_string_equal(info.architecture, i ? "Qwen3 with gated attention" : "Qwen3");
        hg_checkpoint_close(&checkpoint);
    }
}

static void tensors_and_files_are_listed(void **state)
{
    test_log log;
    hg_checkpoint *checkpoint;
    hg_tensor_info tensor = {.struct_size = sizeof(tensor)};
    uint32_t i, used = 0, extra = 0;
    uint64_t bytes = 0, sum = 0;

    (void)state;
    test_log_init(&log);
    assert_int_equal(test_open(&log, MODELS "/file-st-extra-tensors/", &checkpoint), HG_OK);
    assert_string_equal(hg_checkpoint_path(checkpoint), MODELS "/file-st-extra-tensors");
    for (i = 0; i < checkpoint->info.tensor_count; i++) {
        assert_int_equal(hg_checkpoint_tensor(checkpoint, i, &tensor), HG_OK);
        assert_int_equal(tensor.file, 0);
        used += tensor.used;
        extra += strcmp(tensor.dtype, "I64") == 0;
        sum += tensor.bytes;
    }
    assert_true(used < checkpoint->info.tensor_count && used > 20);
    assert_true(extra > 0);
    assert_non_null(hg_checkpoint_file(checkpoint, 0, &bytes));
    assert_true(sum < bytes && bytes == checkpoint->info.file_bytes);
    assert_null(hg_checkpoint_file(checkpoint, 1, &bytes));
    assert_int_equal(hg_checkpoint_tensor(checkpoint, i, &tensor), HG_ERR_ARGUMENT);
    /* A caller that knows a shorter struct gets no more than that. */
    tensor.struct_size = 8;
    tensor.name[10] = '#';
    assert_int_equal(hg_checkpoint_tensor(checkpoint, 0, &tensor), HG_OK);
    assert_int_equal(tensor.name[10], '#');
    hg_checkpoint_release_pages(checkpoint, checkpoint->embed.data, 100);
    hg_checkpoint_release_pages(checkpoint, &tensor, sizeof(tensor));
    hg_checkpoint_close(&checkpoint);

    assert_int_equal(test_open(&log, MODELS "/file-bin-sharded", &checkpoint), HG_OK);
    assert_int_equal(checkpoint->info.file_count, 3);
    hg_checkpoint_close(&checkpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_model_opens),
        cmocka_unit_test(samples_have_the_parameters_of_their_readme),
        cmocka_unit_test(tensors_and_files_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
