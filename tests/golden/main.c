/* SPDX-License-Identifier: MIT */
/*
 * test_golden --device SEL [--precision fp32|exact] [--limits LIMITS] [--cuts none|few|all] [--case
 * NAME] [--tier NAME]
 *
 * One cmocka test per case of tests/reference/models and per prompt of a sample model:
 *   outputs within the case's tolerances, closed forms and greedy generation included;
 *   under exact, the same bytes as the reference's text column, and as any other cut into evals and
 * pieces (under fp32 another cut is only held to the tolerances: a tier may add in another order).
 * Validation layers are on; a message of theirs fails the run. Exit status 77: no such device here,
 * or it has none of what tier T2 works with.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"

enum { CASES_MAX = 256, CUTS_MAX = 5, EXIT_SKIP = 77 };

static hg_golden_device device = {.selector = "ref", .precision = HG_PRECISION_FP32};
static hg_engine *engine;
static hg_engine *text; /* the reference's exact bytes; NULL when not asked for */
static uint32_t cut_count = 3;
static const char *only;

/* Token by token and 7 at a time are what a chat does, 64 is a block of the exact order, 1 the
 * smallest piece. */
static const hg_golden_cut cuts[CUTS_MAX] = {{1, 0}, {0, 7}, {7, 0}, {0, 64}, {0, 1}};

static hg_golden_case cases[CASES_MAX];
static struct CMUnitTest tests[CASES_MAX];
static size_t case_count;

static void fail_with_stage(const hg_golden_case *golden, const char *what, const char *why)
{
    char stage[HG_GOLDEN_TEXT];
    hg_golden_first_stage(engine, golden, 2e-5, stage);
    fail_msg("%s: %s%s; %s", golden->name, what, why, stage);
}

static void check_cuts(const hg_golden_case *golden, const hg_golden_outputs *whole)
{
    char why[HG_GOLDEN_TEXT];
    for (uint32_t cut = 0; cut < cut_count; cut++) {
        hg_golden_outputs *pieces = NULL;
        const uint32_t size = cuts[cut].eval ? cuts[cut].eval : cuts[cut].piece;
        if (size >= golden->tokens && size > 1) {
            continue; /* one piece, which is what `whole` is */
        }
        const hg_result result = hg_golden_run(engine, golden, cuts[cut], NULL, NULL, &pieces);
        if (result != HG_OK) {
            fail_msg("%s in %s of %u: %s (%s)", golden->name, cuts[cut].eval ? "evals" : "pieces",
                     size, hg_result_name(result), hg_golden_last_error());
        }
        const int good = device.precision == HG_PRECISION_EXACT
                             ? hg_golden_same(whole, pieces, why)
                             : hg_golden_judge(golden, pieces, why);
        hg_golden_outputs_free(&pieces);
        if (!good) {
            fail_msg("%s in %s of %u: %s", golden->name, cuts[cut].eval ? "evals" : "pieces", size,
                     why);
        }
    }
}

static void check_text(const hg_golden_case *golden, const hg_golden_outputs *outputs)
{
    char why[HG_GOLDEN_TEXT];
    hg_golden_outputs *want = NULL;
    const hg_golden_cut whole = {0};
    const hg_result result = hg_golden_run(text, golden, whole, NULL, NULL, &want);
    if (result != HG_OK) {
        fail_msg("%s on the reference: %s (%s)", golden->name, hg_result_name(result),
                 hg_golden_last_error());
    }
    const int good = hg_golden_same(outputs, want, why);
    hg_golden_outputs_free(&want);
    if (!good) {
        fail_msg("%s: not the bytes of the exact reference: %s", golden->name, why);
    }
}

static void check_generation(const hg_golden_case *golden, uint32_t vocab)
{
    char why[HG_GOLDEN_TEXT];
    int32_t *ids = calloc(golden->steps, sizeof *ids);
    float *logits = calloc((size_t)golden->steps * vocab, sizeof *logits);
    hg_result result = HG_ERR_HOST_MEMORY;
    int good = 0;
    if (ids && logits) {
        result = hg_golden_generate(engine, golden, vocab, ids, logits);
        good = result == HG_OK && hg_golden_judge_steps(golden, vocab, ids, logits, why);
    }
    free(ids);
    free(logits);
    if (result != HG_OK) {
        fail_msg("%s, generating: %s (%s)", golden->name, hg_result_name(result),
                 hg_golden_last_error());
    }
    if (!good) {
        fail_msg("%s, generating: %s", golden->name, why);
    }
}

static void check_case(void **state)
{
    const hg_golden_case *golden = *state;
    char why[HG_GOLDEN_TEXT];
    hg_golden_outputs *outputs = NULL;
    const hg_golden_cut whole = {0};
    const hg_result result = hg_golden_run(engine, golden, whole, NULL, NULL, &outputs);
    if (result != HG_OK) {
        fail_msg("%s: %s (%s)", golden->name, hg_result_name(result), hg_golden_last_error());
    }
    const uint32_t vocab = outputs->vocab;
    if (!hg_golden_judge(golden, outputs, why)) {
        hg_golden_outputs_free(&outputs);
        fail_with_stage(golden, "", why);
    }
    if (text) {
        check_text(golden, outputs);
    }
    check_cuts(golden, outputs);
    hg_golden_outputs_free(&outputs);
    if (golden->steps > 0) {
        check_generation(golden, vocab);
    }
}

static void check_validation(void **state)
{
    (void)state;
    assert_int_equal(hg_engine_validation_messages(engine), 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hg_golden_case *)a)->name, ((const hg_golden_case *)b)->name);
}

static int wanted(const char *name)
{
    return name[0] != '.' && (!only || strcmp(only, name) == 0);
}

static int list_models(void)
{
    char path[256];
    int good = 1;
    struct dirent *entry = NULL;
    DIR *folder = opendir(HG_TEST_REFERENCE_DIR "/models");
    if (!folder) {
        return 0;
    }
    while (good && (entry = readdir(folder)) != NULL) {
        if (wanted(entry->d_name) && case_count < CASES_MAX - 1) {
            (void)snprintf(path, sizeof path, "%s/models/%.96s", HG_TEST_REFERENCE_DIR,
                           entry->d_name);
            good = hg_golden_case_read(&cases[case_count++], path);
        }
    }
    (void)closedir(folder);
    return good;
}

static int list_samples(void)
{
    static const char *const models[] = {"baseline", "gate_headwise", "gate_elementwise"};
    char path[256];
    char expected[256];
    char name[64];
    int good = 1;
    for (int index = 0; index < 6 && good; index++) {
        const char *model = models[index / 2];
        (void)snprintf(name, sizeof name, "sample-%s-%d", model, index % 2);
        (void)snprintf(path, sizeof path, "%s/%s", HG_TEST_SAMPLES_DIR, model);
        (void)snprintf(expected, sizeof expected, "%s/samples/%s/expected-%d.safetensors",
                       HG_TEST_REFERENCE_DIR, model, index % 2);
        if (wanted(name) && case_count < CASES_MAX - 1) {
            good = hg_golden_sample_read(&cases[case_count++], path, expected, name);
        }
    }
    return good;
}

static int read_arguments(int argc, char **argv)
{
    for (int index = 1; index + 1 < argc; index += 2) {
        const char *name = argv[index];
        const char *value = argv[index + 1];
        if (strcmp(name, "--device") == 0) {
            device.selector = value;
        } else if (strcmp(name, "--precision") == 0) {
            device.precision = strcmp(value, "exact") == 0 ? HG_PRECISION_EXACT : HG_PRECISION_FP32;
        } else if (strcmp(name, "--limits") == 0) {
            device.limits = value;
        } else if (strcmp(name, "--tier") == 0) {
            device.tier = value;
        } else if (strcmp(name, "--cuts") == 0) {
            cut_count = strcmp(value, "none") == 0 ? 0 : strcmp(value, "few") == 0 ? 2 : CUTS_MAX;
        } else if (strcmp(name, "--case") == 0) {
            only = value;
        } else {
            return 0;
        }
    }
    return argc % 2 == 1;
}

/* 1: matrix products were asked for, and the device has none. */
static int lacks_matrices(void)
{
    hg_device_info info = {.struct_size = sizeof info};

    return device.tier && strcmp(device.tier, "T2") == 0 &&
           hg_engine_describe(engine, &info) == HG_OK && info.matrix_count == 0;
}

int main(int argc, char **argv)
{
    const hg_golden_device exact = {.selector = "ref", .precision = HG_PRECISION_EXACT};
    hg_result result = HG_OK;
    int failed = 1;
    if (!read_arguments(argc, argv)) {
        (void)fprintf(stderr, "usage: see the head of tests/golden/main.c\n");
        return 2;
    }
    result = hg_golden_engine(&device, &engine);
    if (result == HG_ERR_NO_DEVICE) {
        (void)printf("skipped: no device %s here (%s)\n", device.selector, hg_golden_last_error());
        return EXIT_SKIP;
    }
    if (result == HG_OK && lacks_matrices()) {
        (void)printf("skipped: %s has no cooperative matrices\n", device.selector);
        hg_engine_destroy(&engine);
        return EXIT_SKIP;
    }
    /* The text column is compared with itself nowhere: there its tolerances are the test. */
    if (result == HG_OK && device.precision == HG_PRECISION_EXACT &&
        strcmp(device.selector, "ref") != 0) {
        result = hg_golden_engine(&exact, &text);
    }
    if (result != HG_OK) {
        (void)fprintf(stderr, "%s: %s (%s)\n", device.selector, hg_result_name(result),
                      hg_golden_last_error());
        goto out;
    }
    if (!list_models() || !list_samples() || case_count == 0) {
        goto out;
    }
    qsort(cases, case_count, sizeof cases[0], by_name);
    for (size_t index = 0; index < case_count; index++) {
        tests[index] = (struct CMUnitTest){
            .name = cases[index].name, .test_func = check_case, .initial_state = &cases[index]};
    }
    tests[case_count] =
        (struct CMUnitTest){.name = "no validation messages", .test_func = check_validation};
    failed = _cmocka_run_group_tests("golden", tests, case_count + 1, NULL, NULL);
out:
    for (size_t index = 0; index < case_count; index++) {
        hg_golden_case_free(&cases[index]);
    }
    hg_engine_destroy(&text);
    hg_engine_destroy(&engine);
    return failed != 0;
}
