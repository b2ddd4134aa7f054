/* SPDX-License-Identifier: MIT */
/* hg_checkpoint_scan on values put in place, in all three types; and files that are no files. */
#include "checkpoint.h"
#include "file.h"
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A model of one layer, small enough to write by hand. */
static const char config_text[] =
    "{\"num_hidden_layers\":1,\"hidden_size\":2,\"num_attention_heads\":1,\"num_key_value_heads\":"
    "1,\"head_dim\":2,"
    "\"intermediate_size\":3,\"vocab_size\":4,\"tie_word_embeddings\":true}";

typedef struct entry {
    const char *name;
    uint32_t rows, cols; /* rows 0: a vector */
} entry;

static const entry entries[] = {
    {"model.embed_tokens.weight", 4, 2},
    {"model.layers.0.input_layernorm.weight", 0, 2},
    {"model.layers.0.self_attn.q_proj.weight", 2, 2},
    {"model.layers.0.self_attn.k_proj.weight", 2, 2},
    {"model.layers.0.self_attn.v_proj.weight", 2, 2},
    {"model.layers.0.self_attn.o_proj.weight", 2, 2},
    {"model.layers.0.self_attn.q_norm.weight", 0, 2},
    {"model.layers.0.self_attn.k_norm.weight", 0, 2},
    {"model.layers.0.post_attention_layernorm.weight", 0, 2},
    {"model.layers.0.mlp.gate_proj.weight", 3, 2},
    {"model.layers.0.mlp.up_proj.weight", 3, 2},
    {"model.layers.0.mlp.down_proj.weight", 2, 3},
    {"model.norm.weight", 0, 2},
};
enum { PARAMETERS = 8 + 2 + 4 * 4 + 3 * 2 + 3 * 6 + 2 };

/* All values are 1, but for those of the first tensor. An odd header length puts the data at odd
 * addresses. */
static void write_model(const char *folder, const char *type, uint32_t element_bytes, uint32_t one,
                        const uint32_t *first)
{
    char header[4096];
    uint8_t file[8192];
    size_t used = 1, at = 0, i, k;

    snprintf(header, sizeof(header), "{");
    for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        uint32_t count = (entries[i].rows ? entries[i].rows : 1) * entries[i].cols;
        char shape[32];

        if (entries[i].rows)
            snprintf(shape, sizeof(shape), "%u,%u", entries[i].rows, entries[i].cols);
        else
            snprintf(shape, sizeof(shape), "%u", entries[i].cols);
        used += (size_t)snprintf(
            header + used, sizeof(header) - used,
            "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", i ? "," : "",
            entries[i].name, type, shape, at * element_bytes, (at + count) * element_bytes);
        at += count;
    }
    used += (size_t)snprintf(header + used, sizeof(header) - used, used % 2 ? " }" : "}");
    assert_int_equal(at, PARAMETERS);
    assert_int_equal(used % 2, 1);
    memset(file, 0, 8);
    file[0] = (uint8_t)used;
    file[1] = (uint8_t)(used >> 8);
    memcpy(file + 8, header, used);
    for (k = 0; k < PARAMETERS; k++) {
        uint32_t bits = k < 8 ? first[k] : one;

        /* little-endian: the low bytes are the value in either size */
        for (i = 0; i < element_bytes; i++)
            file[8 + used + k * element_bytes + i] = (uint8_t)(bits >> (8 * i));
    }
    test_text_write(folder, "config.json", config_text);
    test_file_write(folder, "model.safetensors", file,
                    8 + used + (size_t)PARAMETERS * element_bytes);
}

static void check_scan(const char *type, uint32_t element_bytes, uint32_t one,
                       const uint32_t *first, uint64_t tiny, float abs_max)
{
    char folder[64];
    hg_checkpoint *checkpoint;
    hg_scan scan = {.struct_size = sizeof(scan)};
    test_log log;

    test_folder_make(folder);
    write_model(folder, type, element_bytes, one, first);
    test_log_init(&log);
    if (test_open(&log, folder, &checkpoint) != HG_OK)
        fail_msg("%s", log.error);
    assert_int_equal(log.lines, 0);
    assert_int_equal(checkpoint->info.parameters, PARAMETERS);
    /* Vectors are float on a device, whatever the file has. */
    assert_int_equal(checkpoint->info.weight_bytes, (PARAMETERS - 10) * element_bytes + 10 * 4);
    assert_int_equal(hg_checkpoint_scan(checkpoint, NULL, &scan), HG_OK);
    assert_int_equal(scan.values, PARAMETERS);
    assert_int_equal(scan.nan_count, 2);
    assert_int_equal(scan.inf_count, 1);
    assert_int_equal(scan.tiny_count, tiny);
    assert_true(scan.abs_max == abs_max);
    assert_string_equal(scan.first_bad, entries[0].name);
    assert_int_equal(log.warnings, 1);
    hg_checkpoint_close(&checkpoint);
    test_folder_remove(folder);
}

static void values_are_counted(void **state)
{
    /* NaN, -NaN, -Inf, 0, -0, smallest, just below 2^-50, largest negative */
    static const uint32_t f32[] = {0x7F800001, 0xFFC00000, 0xFF800000, 0,
                                   0x80000000, 1,          0xA67FFFFF, 0xFF7FFFFF};
    static const uint32_t bf16[] = {0x7F81, 0xFFC0, 0xFF80, 0, 0x8000, 1, 0xA67F, 0xFF7F};
    static const uint32_t f16[] = {0x7C01, 0xFE00, 0xFC00, 0, 0x8000, 1, 0x8001, 0xFBFF};
    static const uint32_t small[] = {0x7C01, 0xFE00, 0xFC00, 0, 0x8000, 1, 0x8001, 0x3C00};

    (void)state;
    check_scan("F32", 4, 0x3F800000, f32, 2, 0x1.fffffep127F);
    check_scan("BF16", 2, 0x3F80, bf16, 2, 0x1.fep127F);
    check_scan("F16", 2, 0x3C00, f16, 0, 65504.0F);
    check_scan("F16", 2, 0x3C00, small, 0, 1.0F);
    check_scan("F16", 2, 0x03FF, small, 0, 1.0F);
}

static int stop_at_once(void *user, const char *what, uint64_t done, uint64_t total)
{
    uint32_t *calls = user;

    assert_string_equal(what, "scan");
    assert_true(done < total);
    return ++*calls == 3;
}

static void a_scan_can_be_cancelled(void **state)
{
    hg_checkpoint *checkpoint;
    uint32_t calls = 0;
    hg_progress progress = {stop_at_once, &calls};
    hg_scan scan = {.struct_size = sizeof(scan), .values = 77};
    test_log log;

    (void)state;
    test_log_init(&log);
    assert_int_equal(test_open(&log, HG_TEST_SAMPLES_DIR "/baseline", &checkpoint), HG_OK);
    assert_int_equal(hg_checkpoint_scan(checkpoint, &progress, &scan), HG_CANCELLED);
    assert_int_equal(calls, 3);
    assert_int_equal(scan.values, 77);
    assert_int_equal(hg_checkpoint_scan(checkpoint, NULL, &scan), HG_OK);
    assert_int_equal(scan.values, 1443968);
    assert_int_equal(scan.nan_count + scan.inf_count, 0);
    assert_true(scan.abs_max > 0 && scan.abs_max < 100);
    hg_checkpoint_close(&checkpoint);
}

/* A foreign tensor in a layer is another architecture; elsewhere it is only a warning. */
static void foreign_tensors_are_told_apart(void **state)
{
    static const struct {
        const char *old, *new;
        hg_result res;
    } cases[] = {
        {"\"tie_word_embeddings\":true", "\"tie_word_embeddings\":true", HG_OK},
        {"\"num_hidden_layers\":1", "\"num_hidden_layers\":2", HG_ERR_FILE},
    };
    static const uint32_t first[8] = {0};
    char folder[64], path[128];
    size_t i, bytes;
    char *data;
    test_log log;
    hg_checkpoint *checkpoint;

    (void)state;
    test_folder_make(folder);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[sizeof(config_text) + 64];
        const char *at = strstr(config_text, cases[i].old);

        assert_non_null(at);
        write_model(folder, "F32", 4, 0x3F800000, first);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - config_text), config_text, cases[i].new,
                 at + strlen(cases[i].old));
        test_text_write(folder, "config.json", text);
        test_log_init(&log);
        assert_int_equal(test_open(&log, folder, &checkpoint), cases[i].res);
        hg_checkpoint_close(&checkpoint);
    }
    /* The same length of name, so that only the name changes. */
    test_text_write(folder, "config.json", config_text);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    data = hg_test_file_read(path, &bytes);
    assert_non_null(data);
    for (i = 0; i + 16 < bytes && memcmp(data + i, "self_attn.q_norm", 16) != 0; i++) {
    }
    assert_true(i + 16 < bytes);
    memcpy(data + i, "self_attn.z_norm", 16);
    test_file_write(folder, "model.safetensors", data, bytes);
    free(data);
    test_text_write(
        folder, "config.json",
        "{\"num_hidden_layers\":1,\"hidden_size\":2,\"num_attention_heads\":1,\"num_key_value_"
        "heads\":1,"
        "\"head_dim\":2,\"intermediate_size\":3,\"vocab_size\":4,\"tie_word_embeddings\":true,"
        "\"use_qk_norm\":false}");
    test_log_init(&log);
    assert_int_equal(test_open(&log, folder, &checkpoint), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "z_norm"));
    test_folder_remove(folder);
}

static void things_that_are_no_files(void **state)
{
    char folder[64], path[128], longest[5000];
    hg_file file;
    test_log log;

    (void)state;
    test_folder_make(folder);
    test_log_init(&log);
    snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(hg_file_look(path), HG_FILE_OTHER);
    assert_int_equal(hg_file_map(&log.log, path, 0, &file), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "pipe or a device"));
    snprintf(path, sizeof(path), "%s/circle", folder);
    assert_int_equal(symlink("circle", path), 0);
    assert_int_equal(hg_file_map(&log.log, path, 0, &file), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "circle"));
    assert_int_equal(hg_file_map(&log.log, folder, 0, &file), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "found a folder"));
    test_text_write(folder, "ten", "0123456789");
    snprintf(path, sizeof(path), "%s/ten/more", folder);
    assert_int_equal(hg_file_map(&log.log, path, 0, &file), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "no such file"));
    snprintf(path, sizeof(path), "%s/ten", folder);
    assert_int_equal(hg_file_map(&log.log, path, 9, &file), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "at most 9 bytes, found 10"));
    assert_int_equal(hg_file_map(&log.log, path, 10, &file), HG_OK);
    assert_memory_equal(file.data, "0123456789", 10);
    hg_file_unmap(&file);
    assert_null(file.data);
    hg_file_unmap(&file);
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_int_equal(hg_file_map(&log.log, longest, 0, &file), HG_ERR_FILE);
    assert_int_equal(log.errors, 6);
    test_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(a_scan_can_be_cancelled),
        cmocka_unit_test(foreign_tensors_are_told_apart),
        cmocka_unit_test(things_that_are_no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
