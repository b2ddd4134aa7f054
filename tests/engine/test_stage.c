/* SPDX-License-Identifier: MIT */
/*
 * Uploads through staging, as on a card whose memory the host does not see: many times its size, so
 * that both of its halves are in flight and used again. Bytes arrive as where the host writes them
 * itself. test_stage --device SEL
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"
#include "given_device.h"
#include "panel.h"

enum { ROWS = 331, K = 2048, COUNT = ROWS * K }; /* 1.3 MiB of 16 bits */

static const char *selector;

static hg_engine *engine_with(const char *limits)
{
    const hg_engine_params params = {
        .struct_size = sizeof(params), .selector = selector, .limits = limits};
    hg_engine *engine = NULL;

    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    return engine;
}

static uint16_t *weights(void)
{
    uint16_t *w = malloc(COUNT * sizeof(*w));

    assert_non_null(w);
    for (uint32_t i = 0; i < COUNT; i++)
        w[i] = (uint16_t)(0x3c00u + (i * 2654435761u >> 20) % 1000);
    w[COUNT / 2] = 0x0004; /* one below 2^-50 */
    return w;
}

/* All three kinds of upload, one after the other, then read back. The engine is given to be shown
 * whether it staged. */
static void upload(hg_engine *engine, hg_dtype dtype, uint8_t *back, size_t bytes, int *staged)
{
    uint16_t *w = weights();
    hg_upload_counts counts = {0};
    hg_mem *mem = NULL;

    assert_int_equal(hg_buffer_create(engine, HG_MEM_WEIGHT, bytes + 512, "w", &mem), HG_OK);
    *staged = !mem->mappable;
    if (hg_dtype_is_panel(dtype))
        assert_int_equal(hg_upload_panels(engine, mem, 512, w, dtype, ROWS, K, &counts), HG_OK);
    else if (dtype == HG_DTYPE_NONE)
        assert_int_equal(hg_upload_bytes(engine, mem, 512, w, bytes), HG_OK);
    else
        assert_int_equal(hg_upload_weight(engine, mem, 512, w, dtype, COUNT, &counts), HG_OK);
    assert_int_equal(counts.tiny_count, dtype != HG_DTYPE_NONE);
    assert_int_equal(hg_upload_bytes(engine, mem, 0, "headgate", 8), HG_OK);
    memset(w, 0, COUNT * sizeof(*w)); /* the source is the caller's again */
    assert_int_equal(hg_readback_bytes(engine, mem, 512, back, bytes), HG_OK);
    hg_buffer_free(engine, &mem);
    free(w);
}

static void arrives(hg_dtype dtype)
{
    const size_t bytes =
        2 * (size_t)(hg_dtype_is_panel(dtype) ? hg_panel_elements(dtype, ROWS, K) : COUNT);
    hg_engine *direct = engine_with(NULL);
    hg_engine *through = engine_with("unified=0,alloc=1703936,range=262144");
    uint8_t *want = malloc(bytes), *found = malloc(bytes);
    hg_engine_counters before = {.struct_size = sizeof(before)};
    hg_engine_counters after = {.struct_size = sizeof(after)};
    int staged = 0;

    assert_non_null(want);
    assert_non_null(found);
    upload(direct, dtype, want, bytes, &staged);
    hg_engine_count(through, &before);
    upload(through, dtype, found, bytes, &staged);
    hg_engine_count(through, &after);
    assert_memory_equal(found, want, bytes);
    if (staged) /* halves of 128 KiB, and as many on the way back */
        assert_true(after.copies - before.copies >= 15);
    else
        print_message("%s: the host sees all memory, nothing was staged\n", selector);
    free(want);
    free(found);
    hg_engine_destroy(&through);
    hg_engine_destroy(&direct);
}

static void weights_in_rows(void **state)
{
    (void)state;
    arrives(HG_DTYPE_BF16);
}

static void weights_in_panels(void **state)
{
    (void)state;
    arrives(HG_DTYPE_BF16P);
}

static void plain_bytes(void **state)
{
    (void)state;
    arrives(HG_DTYPE_NONE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights_in_rows),
                                       cmocka_unit_test(weights_in_panels),
                                       cmocka_unit_test(plain_bytes)};
    int found;

    selector = hg_test_device(argc, argv, &found);
    return found ? cmocka_run_group_tests(tests, NULL, NULL) : HG_TEST_SKIP;
}
