/* SPDX-License-Identifier: MIT */
/* The upload pass and buffers on the reference: flushing, counting, odd addresses, budgets,
 * cancelled runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

static hg_engine *engine_of(const hg_engine_params *params)
{
    hg_engine_params p = *params;
    hg_engine *engine = NULL;

    p.selector = "ref";
    assert_int_equal(hg_engine_create(&p, &engine), HG_OK);
    return engine;
}

/* Uploads from an odd address and reads the words back. */
static void pass(hg_engine *engine, const void *source, size_t bytes, hg_dtype dtype,
                 uint64_t elements, uint8_t *back, hg_upload_counts *counts)
{
    uint8_t *odd = malloc(bytes + 1);
    hg_mem *mem = NULL;

    assert_non_null(odd);
    memcpy(odd + 1, source, bytes);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_WEIGHT, bytes + 256, "w", &mem), HG_OK);
    assert_int_equal(hg_upload_weight(engine, mem, 256, odd + 1, dtype, elements, counts), HG_OK);
    assert_int_equal(hg_readback_bytes(engine, mem, 256, back, (bytes + 3) & ~(size_t)3), HG_OK);
    hg_buffer_free(engine, &mem);
    free(odd);
}

static void flushes_and_counts_bf16(void **state)
{
    /* 1, -0, 2^-50, just below, denormal, NaN, -Inf */
    const uint16_t in[7] = {0x3f80, 0x8000, 0x2680, 0x267f, 0x0001, 0x7fc0, 0xff80};
    const uint16_t want[8] = {0x3f80, 0, 0x2680, 0, 0, 0x7fc0, 0xff80, 0};
    hg_engine *engine = engine_of(&(hg_engine_params){.threads = 1});
    hg_upload_counts counts = {0};
    uint16_t back[8];

    (void)state;
    pass(engine, in, sizeof(in), HG_DTYPE_BF16, 7, (uint8_t *)back, &counts);
    assert_memory_equal(back, want, sizeof(want));
    assert_int_equal(counts.tiny_count, 2);
    assert_int_equal(counts.nan_count, 1);
    assert_int_equal(counts.inf_count, 1);
    hg_engine_destroy(&engine);
}

static void flushes_and_counts_f32_and_f16(void **state)
{
    /* 1, -0, 2^-50, just below, Inf, 2^100 */
    const uint32_t in[6] = {0x3f800000, 0x80000000, 0x26800000, 0x267fffff, 0x7f800000, 0x71800000};
    const uint32_t want[6] = {0x3f800000, 0, 0x26800000, 0, 0x7f800000, 0x71800000};
    const uint16_t half_in[3] = {0x8000, 0x0001, 0x7e00};
    const uint16_t half_want[4] = {0, 0x0001, 0x7e00, 0};
    hg_engine *engine = engine_of(&(hg_engine_params){.threads = 1});
    hg_upload_counts counts = {0};
    uint32_t back[6];
    uint16_t half_back[4];

    (void)state;
    pass(engine, in, sizeof(in), HG_DTYPE_F32, 6, (uint8_t *)back, &counts);
    assert_memory_equal(back, want, sizeof(want));
    assert_int_equal(counts.tiny_count, 1);
    assert_int_equal(counts.inf_count, 1);
    assert_int_equal(counts.huge_count, 1);
    pass(engine, half_in, sizeof(half_in), HG_DTYPE_F16, 3, (uint8_t *)half_back, &counts);
    assert_memory_equal(half_back, half_want, sizeof(half_want));
    assert_int_equal(counts.nan_count, 1);
    hg_engine_destroy(&engine);
}

static void keeps_long_plain_weights(void **state)
{
    enum { COUNT = 600001 }; /* more than two slices, odd */
    uint16_t *in = malloc(COUNT * sizeof(*in));
    uint16_t *back = malloc((COUNT + 1) * sizeof(*back));
    hg_engine *engine = engine_of(&(hg_engine_params){.threads = 1});
    hg_upload_counts counts = {0};

    (void)state;
    assert_non_null(in);
    assert_non_null(back);
    for (size_t i = 0; i < COUNT; i++)
        in[i] = (uint16_t)(0x3c00u + i % 1000);
    in[300000] = 0x0004; /* one in the middle slice */
    pass(engine, in, COUNT * sizeof(*in), HG_DTYPE_BF16, COUNT, (uint8_t *)back, &counts);
    in[300000] = 0;
    assert_memory_equal(back, in, COUNT * sizeof(*in));
    assert_int_equal(back[COUNT], 0);
    assert_int_equal(counts.tiny_count, 1);
    free(in);
    free(back);
    hg_engine_destroy(&engine);
}

static void respects_budget_and_limits(void **state)
{
    hg_engine *engine = engine_of(
        &(hg_engine_params){.threads = 1, .memory_limit_bytes = 4096, .limits = "alloc=65536"});
    hg_mem *mem = NULL, *other = NULL;
    uint64_t now = 0, peak = 0;

    (void)state;
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, 100000, "big", &mem),
                     HG_ERR_UNSUPPORTED);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, 5000, "more", &mem),
                     HG_ERR_DEVICE_MEMORY);
    assert_null(mem);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, 3000, "some", &mem), HG_OK);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, 3000, "some", &other),
                     HG_ERR_DEVICE_MEMORY);
    hg_buffer_free(engine, &mem);
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, 3000, "some", &other), HG_OK);
    hg_engine_memory(engine, &now, &peak);
    assert_int_equal(now, 3512); /* with the 512 bytes of the spare */
    assert_int_equal(peak, 3512);
    hg_buffer_free(engine, &other);
    hg_engine_destroy(&engine);
    assert_null(engine);
}

static int stop_now(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;

    assert_string_equal(what, "fills");
    assert_true(done <= total);
    return ++*calls >= 2;
}

static void runs_in_order_and_cancels(void **state)
{
    hg_engine *engine = engine_of(&(hg_engine_params){.threads = 2});
    hg_oplist list = {0};
    hg_mem *mem = NULL;
    uint32_t words[64];
    int calls = 0;
    const hg_run_params run = {.progress = {stop_now, &calls}, .what = "fills"};

    (void)state;
    assert_int_equal(hg_buffer_create(engine, HG_MEM_SCRATCH, sizeof(words), "words", &mem), HG_OK);
    for (uint32_t i = 0; i < 64; i++) {
        hg_op *op = hg_oplist_append(&list, HG_OP_FILL);

        assert_non_null(op);
        op->bind_count = 1;
        op->bind[0] = (hg_bind){mem, 0, sizeof(words) - i * 4};
        op->words[0] = i;
    }
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    assert_int_equal(hg_readback_bytes(engine, mem, 0, words, sizeof(words)), HG_OK);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(words[i], 63 - i);
    engine->submit_flops =
        1; /* a submit per operation, so that there is something to cancel between */
    assert_int_equal(hg_engine_run(engine, &list, &run), HG_CANCELLED);
    assert_int_equal(calls, 2);
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK); /* and all is well afterwards */
    hg_oplist_free(&list);
    hg_buffer_free(engine, &mem);
    hg_engine_destroy(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushes_and_counts_bf16),
        cmocka_unit_test(flushes_and_counts_f32_and_f16),
        cmocka_unit_test(keeps_long_plain_weights),
        cmocka_unit_test(respects_budget_and_limits),
        cmocka_unit_test(runs_in_order_and_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
