/* SPDX-License-Identifier: MIT */
/*
 * Records that were cut, or in which a bit was flipped: each is refused in words, or compared; what
 * is compared was not damaged where it matters. Nothing crashes, whatever the file says.
 */
#include "compare.h"
#include "fixture.h"
#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { TOKENS = 3, FLIPS = 240 };

static struct {
    hg_checkpoint *checkpoint;
    int32_t ids[TOKENS];
    uint8_t *good;
    size_t bytes;
} self;

static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = HG_PRECISION_EXACT,
                                     .threads = 1,
                                     .log = *log};

    (void)user;
    (void)side;
    return hg_engine_create(&params, out);
}

static hg_result compare(hg_record *loaded, hg_comparison *out)
{
    static const char *const labels[] = {"one"};
    const hg_compare_params params = {.checkpoint = self.checkpoint,
                                      .ids = self.ids,
                                      .count = TOKENS,
                                      .labels = labels,
                                      .side_count = 1,
                                      .loaded = loaded,
                                      .open = open_side,
                                      .runs = 1,
                                      .timeout_s = 60,
                                      .threads = 1};

    return hg_compare_run(&params, out);
}

/* The record of a healthy run, values and all. */
static int make_record(void)
{
    hg_comparison c;
    hg_record_meta meta;
    hg_output *output = NULL;
    char *data = NULL;
    int good;

    if (compare(NULL, &c) != HG_OK)
        return 0;
    meta = c.sides[0].meta;
    meta.ids = self.ids;
    meta.id_count = TOKENS;
    meta.piece = TOKENS;
    meta.map_pool = c.map_pool;
    (void)snprintf(meta.date, sizeof(meta.date), "2026-01-01T00:00:00Z");
    good = hg_output_open_memory(&output) == HG_OK &&
           hg_record_save(output, &meta, &c.baseline, "all") == HG_OK &&
           hg_output_take(&output, &data, &self.bytes) == HG_OK;
    self.good = (uint8_t *)data;
    hg_comparison_free(&c);
    return good;
}

static void write_file(const uint8_t *data, size_t bytes)
{
    FILE *file = fopen("x.hgr", "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* 1: it was compared. */
static int try_file(void)
{
    static char said[400]; /* kept by the messages */
    hg_record record;
    hg_comparison c;
    hg_result res;
    int same;

    said[0] = '\0';
    hg_message_keep(said, sizeof(said));
    res = hg_record_open("x.hgr", &record);
    if (res != HG_OK) {
        assert_int_equal(res, HG_ERR_FILE);
        assert_int_not_equal(said[0], '\0');
        return 0;
    }
    same =
        record.meta.id_count == TOKENS && memcmp(record.meta.ids, self.ids, sizeof(self.ids)) == 0;
    if (!same) { /* the command asks for the same prompt */
        hg_record_close(&record);
        return 0;
    }
    res = compare(&record, &c);
    hg_record_close(&record);
    if (res != HG_OK) {
        assert_int_equal(res, HG_ERR_FILE);
        assert_int_not_equal(said[0], '\0');
        return 0;
    }
    assert_true(c.sides[0].verdict <= HG_VERDICT_ROUNDING);
    assert_int_not_equal(c.sides[1].verdict, HG_VERDICT_NOT_RUN);
    hg_comparison_free(&c);
    return 1;
}

static void test_whole(void **state)
{
    (void)state;
    write_file(self.good, self.bytes);
    assert_int_equal(try_file(), 1);
}

static void test_cut(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < self.bytes; bytes += bytes < 1024 ? 1 : 64) {
        write_file(self.good, bytes);
        assert_int_equal(try_file(), 0);
    }
    write_file(self.good, self.bytes - 1);
    assert_int_equal(try_file(), 0);
}

/* Values, shapes and names are checked; other texts may be anything. */
static void test_flips(void **state)
{
    uint32_t compared = 0, tried = 0;

    (void)state;
    for (size_t at = 0; at < self.bytes; at += 1 + self.bytes / FLIPS) {
        self.good[at] ^= (uint8_t)(1u << (tried++ % 8));
        write_file(self.good, self.bytes);
        self.good[at] ^= (uint8_t)(1u << ((tried - 1) % 8));
        compared += (uint32_t)try_file();
    }
    print_message("%u of %u records with a flipped bit were compared\n", compared, tried);
    assert_true(tried >= FLIPS / 2);
    assert_true(compared < tried / 4);
}

/* Every bit of the first part and the first head; only what is not compared with anything. */
static void test_first_bits(void **state)
{
    const size_t end = self.bytes < 900 ? self.bytes : 900;

    (void)state;
    for (size_t at = 0; at < end; at++) {
        for (uint32_t bit = 0; bit < 8; bit++) {
            static char said[400]; /* kept by the messages */
            hg_record record;
            hg_result res;

            self.good[at] ^= (uint8_t)(1u << bit);
            write_file(self.good, self.bytes);
            self.good[at] ^= (uint8_t)(1u << bit);
            said[0] = '\0';
            hg_message_keep(said, sizeof(said));
            res = hg_record_open("x.hgr", &record);
            assert_true(res == HG_OK || (res == HG_ERR_FILE && said[0]));
            if (res == HG_OK)
                hg_record_close(&record);
        }
    }
}

int main(void)
{
    static const hg_fixture fixture = {.layers = 1,
                                       .hidden = 16,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .head_dim = 8,
                                       .ffn = 16,
                                       .vocab = 40,
                                       .gate = 2,
                                       .has_qk_norm = 1,
                                       .seed = 3,
                                       .tokens = TOKENS};
    const hg_checkpoint_params params = {
        .struct_size = sizeof(params), .path = "record-model", .log = hg_message_log()};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_first_bits),
                                       cmocka_unit_test(test_flips)};
    int failed = 1;

    hg_message_setup(HG_LOG_WARNING);
    (void)mkdir(params.path, 0777);
    hg_fixture_ids(&fixture, self.ids);
    if (hg_fixture_write(&fixture, params.path) &&
        hg_checkpoint_open(&params, &self.checkpoint) == HG_OK && make_record())
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_checkpoint_close(&self.checkpoint);
    free(self.good);
    return failed;
}
