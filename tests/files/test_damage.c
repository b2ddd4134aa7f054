/* SPDX-License-Identifier: MIT */
/*
 * Files cut short at every 64th byte, and changed at every byte of their structure: an error with
 * one sentence, or a checkpoint whose weights are all inside its files. Run under a sanitizer, this
 * is where a byte too far shows.
 */
#include "checkpoint.h"
#include "safetensors.h"
#include "support.h"
#include "tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MODELS HG_TEST_REFERENCE_DIR "/models/"

/* A copy of the checkpoint whose file `name` is cut at 0, 64, 128, ... bytes. */
static void cut(const char *model, const char *name, const char *const *others)
{
    char folder[64], path[1024], from[512];
    size_t bytes, at, i;
    char *data;

    test_folder_make(folder);
    snprintf(from, sizeof(from), MODELS "%s", model);
    test_file_copy(from, "config.json", folder);
    for (i = 0; others && others[i]; i++)
        test_file_copy(from, others[i], folder);
    snprintf(path, sizeof(path), "%s/%s", from, name);
    data = hg_test_file_read(path, &bytes);
    assert_non_null(data);
    test_file_write(folder, name, data, bytes);
    free(data);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (at = bytes; at > 0;) {
        hg_checkpoint *checkpoint = NULL;
        test_log log;

        /* A text without its last newline is still whole. */
        at = at == bytes ? (bytes - 2) / 64 * 64 : at - 64;
        assert_int_equal(truncate(path, (off_t)at), 0);
        test_log_init(&log);
        if (test_open(&log, folder, &checkpoint) != HG_ERR_FILE || log.errors != 1)
            fail_msg("%s/%s opened when cut at %zu of %zu bytes", model, name, at, bytes);
    }
    test_folder_remove(folder);
}

static void safetensors_cut_short(void **state)
{
    (void)state;
    cut("file-st-unaligned", "model.safetensors", NULL);
}

static void index_cut_short(void **state)
{
    static const char *const shards[] = {"model-00001-of-00003.safetensors",
                                         "model-00002-of-00003.safetensors",
                                         "model-00003-of-00003.safetensors", NULL};

    (void)state;
    cut("file-st-sharded", "model.safetensors.index.json", shards);
}

static void archive_cut_short(void **state)
{
    (void)state;
    cut("file-bin-views", "pytorch_model.bin", NULL);
    cut("file-bin-repacked", "pytorch_model.bin", NULL);
}

static void config_cut_short(void **state)
{
    static const char *const weights[] = {"model.safetensors", NULL};

    (void)state;
    cut("rope-longrope-short", "config.json", weights);
}

/* Every byte of the header of a safetensors file, in memory of exactly its size. */
static void changed_header(void **state)
{
    static const uint8_t changes[] = {0x01, 0x02, 0x10, 0x80, 0xFF};
    size_t bytes, i, c, header, refused = 0;
    uint8_t *data =
        (uint8_t *)hg_test_file_read(MODELS "file-st-unaligned/model.safetensors", &bytes);

    (void)state;
    assert_non_null(data);
    header = 8 + ((size_t)data[0] | (size_t)data[1] << 8);
    assert_true(header < bytes);
    for (i = 0; i < header; i++) {
        for (c = 0; c < sizeof(changes); c++) {
            hg_tensor_table table = {NULL, 0, 0, NULL};
            uint8_t *copy = malloc(bytes);
            hg_file file = {copy, bytes};
            test_log log;
            hg_result res;
            uint32_t t;

            assert_non_null(copy);
            memcpy(copy, data, bytes);
            copy[i] ^= changes[c];
            test_log_init(&log);
            res = hg_safetensors_read(&log.log, "changed", &file, 0, &table);
            assert_true(res == HG_OK ? log.errors == 0 : res == HG_ERR_FILE && log.errors == 1);
            for (t = 0; res == HG_OK && t < table.count; t++)
                assert_true(table.items[t].data >= copy &&
                            table.items[t].bytes <= (uint64_t)(copy + bytes - table.items[t].data));
            refused += res != HG_OK;
            hg_tensor_table_free(&table);
            free(copy);
        }
    }
    assert_true(refused > header);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_cut_short), cmocka_unit_test(index_cut_short),
        cmocka_unit_test(archive_cut_short),     cmocka_unit_test(config_cut_short),
        cmocka_unit_test(changed_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
