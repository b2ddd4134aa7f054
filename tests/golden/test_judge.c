/* SPDX-License-Identifier: MIT */
/*
 * The judgement of the golden tests can fail: outputs that are right pass, and the same outputs
 * with one value moved a little beyond its tolerance do not, whichever output it is. Stages that
 * differ are found by name.
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

#include "golden.h"

static hg_engine *reference;
static hg_engine *text;
static hg_golden_case golden;
static hg_golden_outputs *outputs;

static void open_case(const char *name)
{
    char path[256];
    const hg_golden_cut whole = {0};
    (void)snprintf(path, sizeof path, "%s/models/%s", HG_TEST_REFERENCE_DIR, name);
    assert_true(hg_golden_case_read(&golden, path));
    assert_int_equal(hg_golden_run(reference, &golden, whole, NULL, NULL, &outputs), HG_OK);
}

static void close_case(void)
{
    hg_golden_outputs_free(&outputs);
    hg_golden_case_free(&golden);
}

/* Moves one value by `change` and back; the judge must notice, and must name the output. */
static void must_notice(float *value, double change, const char *name)
{
    char why[HG_GOLDEN_TEXT];
    const float kept = *value;
    *value = (float)((double)kept + change);
    const int passed = hg_golden_judge(&golden, outputs, why);
    *value = kept;
    if (passed) {
        fail_msg("a change of %g in %s was not noticed", change, name);
    }
    if (!strstr(why, name)) {
        fail_msg("a change in %s was noticed as: %s", name, why);
    }
}

static double row_scale(const float *row, uint32_t columns)
{
    double scale = 0;
    for (uint32_t column = 0; column < columns; column++) {
        scale = fmax(scale, fabs((double)row[column]));
    }
    return scale;
}

static void notices_every_output(void **state)
{
    char why[HG_GOLDEN_TEXT];
    (void)state;
    open_case("gate-headwise-g2");
    if (!hg_golden_judge(&golden, outputs, why)) {
        fail_msg("right outputs did not pass: %s", why);
    }
    const uint32_t token = outputs->tokens - 1;
    float *logits = outputs->logits + (size_t)token * outputs->vocab;
    float *residual = outputs->states[outputs->layers + 1] + (size_t)token * outputs->hidden;
    float *hidden = outputs->states[1] + (size_t)token * outputs->hidden;
    must_notice(logits + 3, 3 * golden.tolerance.logits * row_scale(logits, outputs->vocab),
                "logits");
    must_notice(logits + 3, (double)NAN, "logits");
    must_notice(residual, 3 * golden.tolerance.residual * row_scale(residual, outputs->hidden),
                "final_residual");
    must_notice(hidden + 5, -3 * golden.tolerance.hidden * row_scale(hidden, outputs->hidden),
                "hidden_states.1");
    must_notice(outputs->attentions[1] + 2, 3 * golden.tolerance.attentions, "attentions.1");
    must_notice(outputs->gates[0] + 7, -3 * golden.tolerance.gates, "gate_scores.0");
    /* Small enough for the tolerance, but a key that the query may not see. */
    must_notice(outputs->attentions[0] + 1, 1e-9, "later key");
    outputs->shares[1] += 1e-4;
    assert_false(hg_golden_judge(&golden, outputs, why));
    outputs->shares[1] -= 1e-4;
    float *gates = outputs->gates[0];
    outputs->gates[0] = NULL;
    assert_false(hg_golden_judge(&golden, outputs, why));
    outputs->gates[0] = gates;
    assert_true(hg_golden_judge(&golden, outputs, why));
    close_case();
}

/* A relative measure is blind beside a channel of 16384; the other channels are looked at by
 * themselves. */
static void notices_beside_a_huge_channel(void **state)
{
    (void)state;
    open_case("constructed-headwise");
    must_notice(outputs->states[1] + 5, 4e-6, "without channel 2");
    must_notice(outputs->states[outputs->layers + 1] + 5, 4e-6, "without channel 2");
    close_case();
}

static void notices_steps(void **state)
{
    char why[HG_GOLDEN_TEXT];
    (void)state;
    open_case("generate-headwise");
    const uint32_t vocab = outputs->vocab;
    int32_t ids[32];
    float *logits = hg_test_tensors_f32(golden.expected, "step_logits");
    assert_non_null(logits);
    memcpy(ids, golden.generated, golden.steps * sizeof ids[0]);
    assert_true(hg_golden_judge_steps(&golden, vocab, ids, logits, why));
    ids[golden.steps - 1] ^= 1;
    assert_false(hg_golden_judge_steps(&golden, vocab, ids, logits, why));
    ids[golden.steps - 1] ^= 1;
    logits[golden.steps * vocab - 1] += 0.01F;
    assert_false(hg_golden_judge_steps(&golden, vocab, ids, logits, why));
    free(logits);
    close_case();
}

static void one_bit_is_another(void **state)
{
    char why[HG_GOLDEN_TEXT];
    hg_golden_outputs *again = NULL;
    const hg_golden_cut whole = {0};
    (void)state;
    open_case("gate-elementwise-g2");
    assert_int_equal(hg_golden_run(reference, &golden, whole, NULL, NULL, &again), HG_OK);
    assert_true(hg_golden_same(outputs, again, why));
    float *const places[] = {again->logits + 1, again->states[0] + 1, again->stats[1] + 1,
                             again->attentions[0], again->gates[1] + 1};
    for (size_t index = 0; index < sizeof places / sizeof places[0]; index++) {
        const float kept = *places[index];
        *places[index] = nextafterf(kept, 10.0F);
        assert_false(hg_golden_same(outputs, again, why));
        *places[index] = kept;
    }
    hg_golden_outputs_free(&again);
    close_case();
}

/* float32 in the exact order differs from double in some stage of layer 0; nothing differs by more
 * than the usual bound. */
static void first_stage_has_a_name(void **state)
{
    char why[HG_GOLDEN_TEXT];
    (void)state;
    open_case("gate-headwise-g2");
    hg_golden_first_stage(text, &golden, 0, why);
    if (!strstr(why, "first stage that differs") || !strstr(why, "kernel")) {
        fail_msg("%s", why);
    }
    hg_golden_first_stage(text, &golden, 2e-5, why);
    if (!strstr(why, "no stage differs")) {
        fail_msg("%s", why);
    }
    close_case();
}

int main(void)
{
    const hg_golden_device plain = {.selector = "ref", .precision = HG_PRECISION_FP32};
    const hg_golden_device exact = {.selector = "ref", .precision = HG_PRECISION_EXACT};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_every_output),   cmocka_unit_test(notices_beside_a_huge_channel),
        cmocka_unit_test(notices_steps),          cmocka_unit_test(one_bit_is_another),
        cmocka_unit_test(first_stage_has_a_name),
    };
    int failed = 1;
    if (hg_golden_engine(&plain, &reference) == HG_OK && hg_golden_engine(&exact, &text) == HG_OK) {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    }
    hg_engine_destroy(&text);
    hg_engine_destroy(&reference);
    return failed;
}
