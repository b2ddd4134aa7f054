/* SPDX-License-Identifier: MIT */
/* config.json: defaults of the original classes, every key with good and bad values, rope of every
 * type. */
#include "config.h"
#include "support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sizes of a model, then the keys of the test. */
#define SIZES                                                                                      \
    "\"num_hidden_layers\":2,\"hidden_size\":12,\"num_attention_heads\":4,\"num_key_value_"        \
    "heads\":2,"                                                                                   \
    "\"head_dim\":8,\"intermediate_size\":20,\"vocab_size\":24"

static hg_result read_text(const char *text, test_log *log, hg_config *config)
{
    char folder[64], path[128];
    hg_result res;

    test_folder_make(folder);
    test_text_write(folder, "config.json", text);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    test_log_init(log);
    res = hg_config_read(&log->log, path, config);
    test_folder_remove(folder);
    return res;
}

/* keys: ",\"a\":1" or "". */
static hg_result read_keys(const char *keys, test_log *log, hg_config *config)
{
    char *text = malloc(strlen(keys) + sizeof(SIZES) + 3);
    hg_result res;

    assert_non_null(text);
    sprintf(text, "{" SIZES "%s}", keys);
    res = read_text(text, log, config);
    free(text);
    return res;
}

static void defaults_are_those_of_the_class(void **state)
{
    test_log log;
    hg_config c;

    (void)state;
    assert_int_equal(read_text("{}", &log, &c), HG_OK);
    assert_int_equal(log.warnings, 5);
    assert_int_equal(c.layers, 32);
    assert_int_equal(c.hidden, 4096);
    assert_int_equal(c.heads, 32);
    assert_int_equal(c.kv_heads, 32);
    assert_int_equal(c.head_dim, 128);
    assert_int_equal(c.ffn, 22016);
    assert_int_equal(c.vocab, 151936);
    assert_int_equal(c.max_positions, 32768);
    assert_true(c.eps == 1e-6F && c.rope.theta == 10000.0);
    assert_int_equal(c.rope.type, HG_ROPE_DEFAULT);
    assert_int_equal(c.qk_norm, 1);
    assert_int_equal(c.tied, 0);
    assert_int_equal(c.window, 0);
    assert_int_equal(c.bias_key, 0);
    assert_int_equal(c.gate_headwise, -1);
    assert_int_equal(c.gate_elementwise, -1);
    assert_int_equal(c.bos_token_id, -1);
    assert_int_equal(c.eos_token_id, -1);
}

static void keys_are_read(void **state)
{
    test_log log;
    hg_config c;

    (void)state;
    assert_int_equal(
        read_keys(
            ",\"use_qk_norm\":false,\"tie_word_embeddings\":true,\"rms_norm_eps\":0.01,"
            "\"rope_theta\":5000000,\"headwise_attn_output_gate\":true,"
            "\"elementwise_attn_output_gate\":false,\"qkv_bias\":false,\"attention_bias\":true,"
            "\"bos_token_id\":3,\"eos_token_id\":[5,6],\"max_position_embeddings\":77,"
            "\"hidden_act\":\"swish\",\"model_type\":\"mamba\",\"rope_scaling\":null,"
            "\"architectures\":[\"X\"],\"torch_dtype\":7,\"num_experts\":0,"
            "\"partial_rotary_factor\":1.0,\"quantization_config\":null",
            &log, &c),
        HG_OK);
    assert_int_equal(log.lines, 0);
    assert_int_equal(c.layers, 2);
    assert_int_equal(c.kv_heads, 2);
    assert_int_equal(c.qk_norm, 0);
    assert_int_equal(c.tied, 1);
    assert_true(c.eps == 0.01F && c.rope.theta == 5e6);
    assert_int_equal(c.gate_headwise, 1);
    assert_int_equal(c.gate_elementwise, 0);
    assert_int_equal(c.bias_key, 1);
    assert_int_equal(c.bos_token_id, 3);
    assert_int_equal(c.eos_token_id, 5);
    assert_int_equal(c.max_positions, 77);
    assert_int_equal(
        read_text("{\"num_attention_heads\":6,\"num_key_value_heads\":null}", &log, &c), HG_OK);
    assert_int_equal(c.kv_heads, 6);
}

static void windows_follow_the_class(void **state)
{
    static const struct {
        const char *keys;
        uint32_t window;
    } cases[] = {
        {",\"sliding_window\":8", 0},
        {",\"use_sliding_window\":false,\"sliding_window\":0", 0},
        {",\"use_sliding_window\":true,\"sliding_window\":8", 8},
        {",\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":28", 8},
        {",\"use_sliding_window\":true", 4096},
        {",\"use_sliding_window\":true,\"sliding_window\":null", 0},
        {",\"use_sliding_window\":true,\"sliding_window\":8,\"layer_types\":[\"sliding_"
         "attention\"]",
         8},
        {",\"layer_types\":[\"full_attention\",\"full_attention\"]", 0},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_log log;
        hg_config c;

        if (read_keys(cases[i].keys, &log, &c) != HG_OK)
            fail_msg("%s: %s", cases[i].keys, log.error);
        assert_int_equal(c.window, cases[i].window);
    }
}

/* Every one is an error whose sentence has these words. */
static void what_cannot_be_right_is_refused(void **state)
{
    static const struct {
        const char *keys, *words;
    } cases[] = {
        {",\"hidden_act\":\"gelu\"", "hidden_act"},
        {",\"hidden_act\":1", "hidden_act"},
        {",\"partial_rotary_factor\":0.25", "partial_rotary_factor is 0.25"},
        {",\"attn_logit_softcapping\":50.0", "attn_logit_softcapping is 50"},
        {",\"final_logit_softcapping\":30", "final_logit_softcapping"},
        {",\"num_experts\":128", "experts"},
        {",\"num_local_experts\":8", "experts"},
        {",\"kv_lora_rank\":512", "latent"},
        {",\"mlp_bias\":true", "MLP"},
        {",\"attn_output_gate\":true", "attn_output_gate"},
        {",\"embedding_multiplier\":12.0", "embeddings"},
        {",\"logits_scaling\":8", "logits"},
        {",\"quantization_config\":{\"bits\":4}", "quantised"},
        {",\"text_config\":{}", "inside another"},
        {",\"no_rope_layers\":[1,0]", "rope"},
        {",\"is_encoder_decoder\":true", "encoder"},
        {",\"layer_types\":[\"full_attention\",\"linear_attention\"]", "linear_attention"},
        {",\"layer_types\":[\"sliding_attention\"]", "full_attention"},
        {",\"use_sliding_window\":1", "use_sliding_window"},
        {",\"use_sliding_window\":true,\"sliding_window\":0", "sliding_window"},
        {",\"use_sliding_window\":true,\"sliding_window\":2.5", "sliding_window"},
        {",\"headwise_attn_output_gate\":true,\"elementwise_attn_output_gate\":true", "both true"},
        {",\"headwise_attn_output_gate\":\"true\"", "headwise_attn_output_gate"},
        {",\"use_qk_norm\":null", "use_qk_norm"},
        {",\"rms_norm_eps\":-1e-6", "rms_norm_eps"},
        {",\"rms_norm_eps\":2", "rms_norm_eps"},
        {",\"bos_token_id\":\"a\"", "bos_token_id"},
        {",\"eos_token_id\":[1.5]", "eos_token_id"},
        {",\"rope_theta\":-1", "rope_theta"},
        {",\"rope_theta\":1e13", "rope_theta"},
        {",\"rope_theta\":\"1e4\"", "rope_theta"},
        {",\"rope_theta\":1e-9", "frequency"},
        {",\"max_position_embeddings\":0", "max_position_embeddings"},
        {",\"rope_scaling\":[]", "rope_scaling"},
        {",\"rope_scaling\":{}", "rope_type"},
        {",\"rope_scaling\":{\"rope_type\":null}", "rope_type"},
        {",\"rope_scaling\":{\"type\":\"mrope\"}", "mrope"},
        {",\"rope_scaling\":{\"type\":\"linear\"}", "factor"},
        {",\"rope_scaling\":{\"type\":\"linear\",\"factor\":null}", "factor"},
        {",\"rope_scaling\":{\"type\":\"linear\",\"factor\":-2}", "factor"},
        {",\"rope_scaling\":{\"type\":\"linear\",\"factor\":1e-9}", "frequency"},
        {",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"mrope_section\":[1]}",
         "mrope_section"},
        {",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"truncate\":false}", "truncate"},
        {",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"beta_fast\":\"32\"}", "beta_fast"},
        {",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"attention_factor\":0}",
         "attention_factor"},
        {",\"rope_theta\":1.0,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4}", "rope_theta"},
        {",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_"
         "factor\":4}",
         "original_max_position_embeddings"},
        {",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_"
         "factor\":4,"
         "\"original_max_position_embeddings\":64}",
         "high_freq_factor"},
        {",\"rope_scaling\":{\"type\":\"longrope\",\"factor\":4,\"short_factor\":[1,1,1],\"long_"
         "factor\":[1,1,1,1]}",
         "short_factor"},
        {",\"rope_scaling\":{\"type\":\"longrope\",\"factor\":4,\"short_factor\":[1,1,1,1],\"long_"
         "factor\":[1,1,1,0]}",
         "long_factor"},
        {",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1,1,1],\"long_factor\":[1,1,"
         "1,1]}",
         "factor"},
        {",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},\"rope_parameters\":{\"rope_type\":"
         "\"default\"}",
         "both there"},
        {",\"rope_theta\":5,\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":6}",
         "rope_theta"},
        {",\"rope_parameters\":{\"rope_type\":\"default\",\"partial_rotary_factor\":0.5}",
         "partial_rotary_factor"},
    };
    size_t i;
    uint32_t failed = 0;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_log log;
        hg_config c;

        if (read_keys(cases[i].keys, &log, &c) != HG_ERR_FILE || log.errors != 1 ||
            !strstr(log.error, cases[i].words)) {
            print_error("%s: expected an error with \"%s\", found: %s\n", cases[i].keys,
                        cases[i].words, log.error);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

static void dynamic_needs_more_than_one_pair(void **state)
{
    test_log log;
    hg_config c;

    (void)state;
    assert_int_equal(
        read_text("{\"head_dim\":2,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}", &log,
                  &c),
        HG_ERR_FILE);
    assert_int_equal(
        read_text("{\"head_dim\":2,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}", &log, &c),
        HG_OK);
    assert_int_equal(read_text("{\"head_dim\":258}", &log, &c), HG_ERR_FILE);
    assert_int_equal(read_text("{\"head_dim\":256}", &log, &c), HG_OK);
}

/* The newer spelling of the same thing. */
static void rope_parameters_are_read(void **state)
{
    test_log log;
    hg_config c;
    double inv_freq[4], scaling;

    (void)state;
    assert_int_equal(read_keys(",\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4.0,"
                               "\"rope_theta\":1000000.0}",
                               &log, &c),
                     HG_OK);
    assert_int_equal(log.lines, 0);
    assert_true(c.rope.theta == 1e6);
    hg_rope_frequencies(&c, 1, inv_freq, &scaling);
    assert_true(inv_freq[0] == 0.25 && scaling == 1.0);
    assert_true(fabs(inv_freq[3] - pow(1e6, -0.75) / 4) < 1e-15);
}

/* Oddities of the original that no reference file shows. */
static void contradictions_are_said(void **state)
{
    test_log log;
    hg_config c;

    (void)state;
    assert_int_equal(
        read_keys(",\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"yarn\",\"factor\":2}",
                  &log, &c),
        HG_OK);
    assert_int_equal(c.rope.type, HG_ROPE_LINEAR);
    assert_int_equal(log.warnings, 1);
    assert_int_equal(
        read_keys(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"beta_fast\":3}", &log, &c),
        HG_OK);
    assert_int_equal(log.warnings, 1);
    assert_int_equal(
        read_keys(",\"max_position_embeddings\":64,\"original_max_position_embeddings\":16,"
                  "\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,2,3,4],"
                  "\"long_factor\":[5,6,7,8]}",
                  &log, &c),
        HG_OK);
    assert_true(c.rope.original_max_positions == 16);
    assert_int_equal(hg_rope_depends_on_length(&c), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_class),
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(windows_follow_the_class),
        cmocka_unit_test(what_cannot_be_right_is_refused),
        cmocka_unit_test(dynamic_needs_more_than_one_pair),
        cmocka_unit_test(rope_parameters_are_read),
        cmocka_unit_test(contradictions_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
