/* SPDX-License-Identifier: MIT */
/*
 * A file of choices that is whole and of this device, and says what nobody may choose: tile numbers
 * of 0, which a grid would divide by. test_tune --device SEL
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "given_device.h"
#include "kept.h"
#include "shape.h"
#include "tune.h"

enum { ROWS = 8, K = 64, K_CLASS = 6, COLS = 32 };

static const char *selector;

static void put_line(void *user, hg_kept_text *out)
{
    hg_kept_put(out, "%s\n", (const char *)user);
}

/* What the tuner would write of these numbers. */
static void forge(hg_engine *engine, const hg_variant *variant, const uint32_t *spec)
{
    static const hg_kept kept = {"numbers", "headgate numbers 1", ""};
    hg_tuned *place = &engine->plan.tuned[variant->kernel][variant->dtype];
    char line[256];
    int used;

    *place = (hg_tuned){.is_set = 1, .tier = variant->tier};
    memcpy(place->spec, spec, sizeof(place->spec));
    used = snprintf(line, sizeof(line), "matmul %s %s %d %016" PRIx64, hg_tier_name(variant->tier),
                    hg_dtype_name(variant->dtype), K_CLASS, hg_kept_hash(engine, variant));
    for (uint32_t i = 0; i < HG_SPEC_MAX; i++)
        used += snprintf(line + used, sizeof(line) - (size_t)used, " %" PRIu32, spec[i]);
    memset(place, 0, sizeof(*place));
    hg_kept_write(engine, &kept, put_line, line);
}

/* One product, of whatever stands in memory. */
static void multiply(hg_engine *engine)
{
    static const uint8_t zeros[ROWS * K * 4];
    hg_upload_counts counts = {0};
    hg_oplist list = {0};
    hg_mem *x = NULL, *w = NULL, *y = NULL;
    hg_params params = {0};
    hg_op *op = hg_oplist_append(&list, HG_OP_DISPATCH);

    assert_non_null(op);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, ROWS * K * 4, "x", &x), HG_OK);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_WEIGHT, COLS * K * 2, "w", &w), HG_OK);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, ROWS * COLS * 4, "y", &y), HG_OK);
    assert_int_equal(hg_upload_bytes(engine, x, 0, zeros, sizeof(zeros)), HG_OK);
    assert_int_equal(hg_upload_weight(engine, w, 0, zeros, HG_DTYPE_BF16, COLS * K, &counts),
                     HG_OK);
    params.matmul.rows = ROWS;
    params.matmul.k = K;
    params.matmul.cols = params.matmul.y_stride = COLS;
    op->kernel = HG_KERNEL_matmul;
    op->dtype = HG_DTYPE_BF16;
    memcpy(op->words, params.words, sizeof(op->words));
    op->bind[0] = (hg_bind){x, 0, ROWS * K * 4};
    op->bind[1] = (hg_bind){w, 0, COLS * K * 2};
    op->bind[2] = (hg_bind){engine->spare, 0, engine->spare->size_bytes};
    op->bind[3] = (hg_bind){y, 0, ROWS * COLS * 4};
    op->bind_count = 4;
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    hg_oplist_free(&list);
    hg_buffer_free(engine, &x);
    hg_buffer_free(engine, &w);
    hg_buffer_free(engine, &y);
}

static hg_engine *engine_in(const char *folder)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = selector,
                                     .cache_dir = folder,
                                     .tier = "T0",
                                     .tune = HG_TUNE_QUICK};
    hg_engine *engine = NULL;

    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    return engine;
}

static void believes_what_may_be_chosen(void **state)
{
    const hg_variant *variant = hg_variant_find(HG_KERNEL_matmul, HG_TIER_T0, HG_DTYPE_BF16);
    uint32_t spec[HG_SPEC_MAX] = {0};
    char folder[] = "forged-XXXXXX";
    const hg_tuned *tuned;
    hg_engine *engine;

    (void)state;
    assert_non_null(variant);
    assert_non_null(mkdtemp(folder));
    engine = engine_in(folder);
    memcpy(spec, variant->spec_default, variant->spec_count * sizeof(*spec));
    forge(engine, variant, spec);
    multiply(engine);
    tuned = &engine->plan.tuned[HG_KERNEL_matmul][HG_DTYPE_BF16];
    assert_true(tuned->is_set); /* the form of the forgery is right: an honest one is taken */
    assert_memory_equal(tuned->spec, spec, sizeof(spec));
    hg_engine_destroy(&engine);
}

static void refuses_what_may_not(void **state)
{
    static const uint32_t numbers[][2] = {{0, 0}, {0, 8}, {8, 0}, {3, 8}, {UINT32_MAX, UINT32_MAX}};
    const hg_variant *variant = hg_variant_find(HG_KERNEL_matmul, HG_TIER_T0, HG_DTYPE_BF16);

    (void)state;
    assert_non_null(variant);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint32_t spec[HG_SPEC_MAX] = {numbers[i][0], numbers[i][1]};
        char folder[] = "forged-XXXXXX";
        const hg_tuned *tuned;
        hg_engine *engine;

        assert_non_null(mkdtemp(folder));
        engine = engine_in(folder);
        forge(engine, variant, spec);
        multiply(engine);
        tuned = &engine->plan.tuned[HG_KERNEL_matmul][HG_DTYPE_BF16];
        assert_false(tuned->is_set && memcmp(tuned->spec, spec, sizeof(spec)) == 0);
        hg_engine_destroy(&engine);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(believes_what_may_be_chosen),
                                       cmocka_unit_test(refuses_what_may_not)};
    int found;

    selector = hg_test_device(argc, argv, &found);
    return found ? cmocka_run_group_tests(tests, NULL, NULL) : HG_TEST_SKIP;
}
