/* SPDX-License-Identifier: MIT */
/*
 * Attention that looks far back: a head of 128 dimensions over 3000 keys, as one prompt and as its
 * last token alone. exact has the bytes of the text, fp32 is near it, and who cannot get there says
 * so. llvmpipe leaves loops after 65535 rounds without a word (engine/rounds.h): attention was
 * wrong there from 1400 (T0) and 2600 (T0V) keys on. test_long --device SEL
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../compare/fixture.h"
#include <headgate/headgate.h>

#include "given_device.h"

enum { TOKENS = 3000, VOCAB = 50 };

static const char *selector;
static int32_t ids[TOKENS];
static float right[TOKENS * VOCAB];
static float seen[TOKENS * VOCAB];

/* Logits of every token into out. */
static hg_result evaluate(const char *device, const char *tier, hg_precision precision, float *out)
{
    const hg_engine_params params = {
        .struct_size = sizeof(params), .selector = device, .tier = tier, .precision = precision};
    const hg_session_params all = {
        .struct_size = sizeof(all), .max_tokens = TOKENS, .logits = HG_LOGITS_ALL};
    hg_engine *engine = NULL;
    hg_checkpoint *checkpoint = NULL;
    hg_model *model = NULL;
    hg_session *session = NULL;
    hg_result res;

    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    assert_int_equal(hg_checkpoint_open(&(hg_checkpoint_params){.path = "long"}, &checkpoint),
                     HG_OK);
    assert_int_equal(hg_model_load(engine, checkpoint, NULL, &model), HG_OK);
    hg_checkpoint_close(&checkpoint);
    assert_int_equal(hg_session_create(model, &all, &session), HG_OK);
    res = hg_session_eval(session, ids, TOKENS - 1);
    if (res == HG_OK)
        res = hg_session_eval(session, ids + TOKENS - 1, 1);
    for (uint32_t i = 0; res == HG_OK && i < TOKENS; i++)
        assert_int_equal(hg_session_logits(session, i, out + (size_t)i * VOCAB), HG_OK);
    hg_session_free(&session);
    hg_model_free(&model);
    hg_engine_destroy(&engine);
    return res;
}

static int write_model(void **state)
{
    const hg_fixture fixture = {.layers = 1,
                                .hidden = 32,
                                .heads = 2,
                                .kv_heads = 1,
                                .head_dim = 128,
                                .ffn = 32,
                                .vocab = VOCAB,
                                .gate = 1,
                                .is_tied = 1,
                                .seed = 7,
                                .tokens = TOKENS};

    (void)state;
    mkdir("long", 0777);
    if (!hg_fixture_write(&fixture, "long"))
        return -1;
    hg_fixture_ids(&fixture, ids);
    return evaluate("ref", NULL, HG_PRECISION_EXACT, right) == HG_OK ? 0 : -1;
}

static void exact_has_the_bytes_of_the_text(void **state)
{
    (void)state;
    assert_int_equal(evaluate(selector, NULL, HG_PRECISION_EXACT, seen), HG_OK);
    assert_memory_equal(seen, right, sizeof(right));
}

static void is_near(const char *tier)
{
    assert_int_equal(evaluate(selector, tier, HG_PRECISION_FP32, seen), HG_OK);
    for (uint32_t i = 0; i < TOKENS * VOCAB; i++) {
        if (!(fabsf(seen[i] - right[i]) <= 1e-4f))
            fail_msg("token %u: %g, not %g", i / VOCAB, (double)seen[i], (double)right[i]);
    }
}

static void fp32_is_near(void **state)
{
    (void)state;
    is_near(NULL);
    is_near("T0");
}

/* Either right or refused. */
static void t0_is_exact_or_says_that_it_is_not(void **state)
{
    const hg_result res = evaluate(selector, "T0", HG_PRECISION_EXACT, seen);

    (void)state;
    if (res == HG_OK)
        assert_memory_equal(seen, right, sizeof(right));
    else
        assert_int_equal(res, HG_ERR_UNSUPPORTED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_has_the_bytes_of_the_text),
        cmocka_unit_test(fp32_is_near),
        cmocka_unit_test(t0_is_exact_or_says_that_it_is_not),
    };
    int found;

    selector = hg_test_device(argc, argv, &found);
    return found ? cmocka_run_group_tests(tests, write_model, NULL) : HG_TEST_SKIP;
}
