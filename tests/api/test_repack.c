/* SPDX-License-Identifier: MIT */
/*
 * Weights packed, in rows, and read in the file itself give the same results: within rounding where
 * kernels differ, the same bits under exact, where there is one layout. The checkpoint is closed
 * before anything is computed. test_repack --device SEL
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <headgate/headgate.h>

enum { TOKENS = 37, SKIP = 77 };

static const char *selector;
static const hg_repack policies[] = {HG_REPACK_ALWAYS, HG_REPACK_NEVER, HG_REPACK_AUTO};
static const char *const models[] = {
    HG_TEST_SAMPLES_DIR "/gate_headwise",
    HG_TEST_REFERENCE_DIR "/models/dtype-mixed",
    HG_TEST_REFERENCE_DIR "/models/bias-elementwise",
    HG_TEST_REFERENCE_DIR "/models/file-bin-views", /* strided: a copy that lives with the files */
    HG_TEST_REFERENCE_DIR "/models/file-bin-f16",
    HG_TEST_REFERENCE_DIR "/models/file-st-unaligned",
};

/* Logits of the last token: of a prompt read at once, then token by token. Bytes of the device. */
static uint64_t logits_of(hg_engine *engine, const char *folder, hg_repack repack, float **out,
                          uint32_t *vocab)
{
    const hg_model_params params = {.struct_size = sizeof(params), .repack = repack};
    hg_session_params wish = {.struct_size = sizeof(wish), .max_tokens = TOKENS + 2};
    hg_checkpoint *checkpoint = NULL;
    hg_session *session = NULL;
    hg_model *model = NULL;
    hg_model_info info = {.struct_size = sizeof(info)};
    int32_t ids[TOKENS + 2];
    uint64_t before_bytes = 0, now_bytes = 0;

    hg_engine_memory(engine, &before_bytes, NULL);
    wish.logits = HG_LOGITS_LAST;
    assert_int_equal(hg_checkpoint_open(&(hg_checkpoint_params){.path = folder}, &checkpoint),
                     HG_OK);
    assert_int_equal(hg_model_load(engine, checkpoint, &params, &model), HG_OK);
    hg_checkpoint_close(&checkpoint);
    hg_engine_memory(engine, &now_bytes, NULL);
    hg_model_describe(model, &info);
    *vocab = info.vocab;
    for (uint32_t i = 0; i < TOKENS + 2; i++)
        ids[i] = (int32_t)((i * 977u + 3u) % info.vocab);
    *out = malloc((size_t)info.vocab * 2 * sizeof(float));
    assert_non_null(*out);
    assert_int_equal(hg_session_create(model, &wish, &session), HG_OK);
    assert_int_equal(hg_session_eval(session, ids, TOKENS), HG_OK);
    assert_int_equal(hg_session_logits(session, TOKENS - 1, *out), HG_OK);
    for (uint32_t i = TOKENS; i < TOKENS + 2; i++)
        assert_int_equal(hg_session_eval(session, ids + i, 1), HG_OK);
    assert_int_equal(hg_session_logits(session, TOKENS + 1, *out + info.vocab), HG_OK);
    hg_session_free(&session);
    hg_model_free(&model);
    return now_bytes - before_bytes;
}

/* Largest difference, in units of the largest logit. */
static double distance(const float *a, const float *b, size_t count)
{
    double most = 0, size = 0;

    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)a[i] - b[i]));
        size = fmax(size, fabs((double)a[i]));
    }
    return size > 0 ? most / size : most;
}

static void check(hg_precision precision)
{
    const hg_engine_params params = {
        .struct_size = sizeof(params), .selector = selector, .precision = precision};

    for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
        hg_engine *engine = NULL;
        hg_device_info device = {.struct_size = sizeof(device)};
        float *first = NULL;
        uint64_t bytes[4];

        assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
        hg_engine_describe(engine, &device);
        for (size_t p = 0; p < 4; p++) { /* the first also makes room for uploads */
            uint32_t vocab = 0;
            float *logits = NULL;

            bytes[p] = logits_of(engine, models[m], policies[p % 3], &logits, &vocab);
            if (p == 0) {
                first = logits;
                continue;
            }
            if (precision == HG_PRECISION_EXACT)
                assert_memory_equal(first, logits, (size_t)vocab * 2 * sizeof(float));
            assert_true(distance(first, logits, (size_t)vocab * 2) < 1e-4);
            free(logits);
        }
        /* A file that is read where it lies takes nothing of the device. */
        assert_true(bytes[1] <= bytes[3]);
        if (m == 0 && strstr(device.driver, "Portable Computing") &&
            precision != HG_PRECISION_EXACT)
            assert_true(bytes[1] < bytes[3] / 2);
        free(first);
        hg_engine_destroy(&engine);
    }
}

static void layouts_agree(void **state)
{
    (void)state;
    check(HG_PRECISION_FP32);
}

static void exact_has_one(void **state)
{
    (void)state;
    check(HG_PRECISION_EXACT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_agree),
                                       cmocka_unit_test(exact_has_one)};
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = argc > 2 ? argv[2] : NULL};
    hg_engine *engine = NULL;

    selector = params.selector;
    if (hg_engine_create(&params, &engine) == HG_ERR_NO_DEVICE) {
        printf("skipped: no device %s here\n", selector ? selector : "");
        return SKIP;
    }
    hg_engine_destroy(&engine);
    (void)argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
