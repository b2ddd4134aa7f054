/* SPDX-License-Identifier: MIT */
/*
 * Every variant on every shape on one device: byte for byte what the text compiled as C gives,
 * within a reasoned bound of the reference in double, guards whole, five replays the same.
 *
 *   test_kernels --device SELECTOR [--limits TEXT] [--precision exact|fp32|fast] [--match PART]
 * [--tier NAME]
 *                [--words FOLDER]
 * --tier: that tier alone, also where it is not used by default; a device without it is skipped.
 * --words: with it, the SPIR-V of FOLDER/KERNEL_TIER_TYPE.spv in the place of what is built in.
 */
#include "judge.h"
#include "runner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { REPLAYS = 5, SKIP = 77 };

static struct {
    hg_runner runner;
    bool exact; /* the device promises the text's bytes */
    const char *match, *tier, *words;
    uint8_t *text, *ref, *after;
    double *magnitude;
    uint32_t calls;
} self;

/* A variant that promises no bytes: within the bound, the same in every run, nothing else touched.
 */
static void try_by_bound(const hg_trial *call, const char *name)
{
    char why[256];

    for (int i = 0; i < REPLAYS; i++) {
        memset(self.after, 0, call->block_bytes);
        assert_int_equal(hg_trial_run(&self.runner.room, call, self.after, NULL), HG_OK);
        if (i == 0) {
            memcpy(self.text, self.after, call->block_bytes);
            if (!hg_trial_whole(call, self.after, why, sizeof(why)) ||
                !hg_judge_close(call, self.ref, self.after, self.magnitude, why, sizeof(why)))
                fail_msg("%s: %s", name, why);
        }
        if (!hg_trial_same(call, self.text, self.after, why, sizeof(why)))
            fail_msg("%s: run %d differs from the first: %s", name, i + 1, why);
    }
    self.calls++;
}

static void try_call(const hg_trial *call, const char *name)
{
    char why[256];

    assert_true(call->block_bytes <= self.runner.room.room_bytes);
    hg_trial_ref(call, self.ref, self.magnitude);
    if (!hg_tier_is_exact(call->variant->tier)) {
        try_by_bound(call, name);
        return;
    }
    hg_trial_oracle(call, self.text);
    if (call->variant->text) /* T0V has none of its own */
        hg_trial_text(call, self.after);
    if (call->variant->text && !hg_trial_same(call, self.text, self.after, why, sizeof(why)))
        fail_msg("%s: the text of this variant differs from T0's: %s", name, why);
    for (int i = 0; i < REPLAYS; i++) {
        memset(self.after, 0, call->block_bytes);
        assert_int_equal(hg_trial_run(&self.runner.room, call, self.after, NULL), HG_OK);
        if (self.exact && !hg_trial_same(call, self.text, self.after, why, sizeof(why)))
            fail_msg("%s: differs from the text: %s", name, why);
        if (!self.exact && !hg_trial_same(call, self.ref, self.after, why, sizeof(why)))
            fail_msg("%s: differs from the reference: %s", name, why);
    }
    if (!hg_judge_close(call, self.ref, self.text, self.magnitude, why, sizeof(why)))
        fail_msg("%s: the text is too far from the reference: %s", name, why);
    self.calls++;
}

/* Tile numbers that the table does not have: the bytes do not depend on them. TC: those of a
 * processor with narrower registers. */
static void other_numbers(const hg_variant *variant, uint32_t spec[HG_SPEC_MAX])
{
    static const uint32_t others[HG_SPEC_MAX] = {12, 5, 1, 1};
    static hg_plan narrow; /* vector_floats 0 */

    if (variant->tier == HG_TIER_TC)
        hg_plan_spec(&narrow, variant, spec);
    else
        memcpy(spec, others, sizeof(others));
}

/* The file's words in the place of the variant's; they stay until the program ends. */
static void replace_words(hg_variant *variant)
{
    char path[1024];
    uint32_t *words;
    FILE *file;
    long size;

    (void)snprintf(path, sizeof(path), "%s/%s_%s_%s.spv", self.words,
                   hg_kernels[variant->kernel].name, hg_tier_name(variant->tier),
                   hg_dtype_name(variant->dtype));
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size > 0 && size % 4 == 0);
    rewind(file);
    words = malloc((size_t)size);
    assert_non_null(words);
    assert_int_equal(fread(words, 1, (size_t)size, file), size);
    (void)fclose(file);
    variant->spirv = words;
    variant->spirv_bytes = (size_t)size;
}

static void test_variant(void **state)
{
    hg_variant *variant = *state;
    uint32_t spec[HG_SPEC_MAX];
    const char *why = hg_plan_refuses(&self.runner.engine->plan, variant);
    /* SPIR-V has the tile numbers of the table built in. */
    const int others =
        variant->spec_count > 0 && self.runner.engine->backend->kind != HG_BACKEND_VULKAN;
    uint32_t shapes = 0;

    if (why) {
        printf("not applicable: %s\n", why);
        skip();
    }
    if (self.words)
        replace_words(variant);
    hg_plan_spec(&self.runner.engine->plan, variant, spec);
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        const hg_shape *shape = &hg_shapes[s];
        hg_trial call;

        if (shape->kernel != variant->kernel || !hg_shape_applies(shape, variant->dtype))
            continue;
        shapes++;
        for (int other = 0; other <= others; other++) {
            uint32_t numbers[HG_SPEC_MAX];

            other_numbers(variant, numbers);
            assert_true(hg_trial_make(&call, variant, shape, other ? numbers : spec));
            try_call(&call, shape->name);
            hg_trial_free(&call);
        }
    }
    assert_true(shapes > 0); /* a kernel without a shape is not tested */
}

/* Values of keys from this one on are infinite, in the place of ordinary ones. */
static void spoil_values(const hg_trial *call, uint32_t key)
{
    const struct hg_attention_params *p = &call->params.attention;
    const uint32_t *rows = (const void *)hg_trial_bind(call, 4);
    float *v = hg_trial_bind(call, 2);

    for (uint64_t i = (uint64_t)(rows[2] + key) * p->kv_heads * p->head_dim; i < call->elements[2];
         i++)
        v[i] = i & 1u ? INFINITY : -INFINITY;
}

/* How far the outputs of the first tokens are from those of another run; NaN: infinitely. */
static double farthest(const hg_trial *call, uint32_t tokens)
{
    const uint64_t count =
        (uint64_t)tokens * call->params.attention.heads * call->params.attention.head_dim;
    const float *a = (const void *)(self.text + call->offset_bytes[5]);
    const float *b = (const void *)(self.after + call->offset_bytes[5]);
    double most = 0;

    for (uint64_t i = 0; i < count; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);

        most = apart <= most ? most : isnan(apart) ? (double)INFINITY : apart;
    }
    return most;
}

/* What a token does not see yet has no part in its sum, not even as 0 times infinity. */
static void test_later_values_do_not_show(void **state)
{
    const hg_shape *shape = hg_shapes;
    uint32_t tried = 0;

    (void)state;
    while (strcmp(shape->name, "attention 130 tokens") != 0)
        shape++;
    for (uint32_t v = 0; v < hg_variant_count; v++) {
        hg_variant variant = hg_variants[v];
        uint32_t spec[HG_SPEC_MAX];
        hg_trial call;

        if (variant.kernel != HG_KERNEL_attention ||
            (self.tier && strcmp(hg_tier_name(variant.tier), self.tier) != 0) ||
            hg_plan_refuses(&self.runner.engine->plan, &variant))
            continue;
        if (self.words)
            replace_words(&variant);
        hg_plan_spec(&self.runner.engine->plan, &variant, spec);
        assert_true(hg_trial_make(&call, &variant, shape, spec));
        assert_int_equal(hg_trial_run(&self.runner.room, &call, self.text, NULL), HG_OK);
        spoil_values(&call, 41);
        assert_int_equal(hg_trial_run(&self.runner.room, &call, self.after, NULL), HG_OK);
        if (!(farthest(&call, 41) <= 2e-6))
            fail_msg("%s: what later tokens hold moves earlier ones by %g",
                     hg_tier_name(variant.tier), farthest(&call, 41));
        if (farthest(&call, 130) <= 2e-6)
            fail_msg("%s: infinite values do not show", hg_tier_name(variant.tier));
        hg_trial_free(&call);
        tried++;
    }
    if (!tried)
        skip();
}

static void test_bounds_fit(void **state)
{
    const uint32_t loose = hg_judge_bounds_fit();

    (void)state;
    if (self.match || self.tier)
        skip();
    assert_int_equal(loose, 0);
}

static void test_validation_is_silent(void **state)
{
    (void)state;
    assert_int_equal(hg_engine_validation_messages(self.runner.engine), 0);
}

static uint64_t room(void)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        for (uint32_t s = 0; s < hg_shape_count; s++) {
            uint64_t bytes;

            if (hg_shapes[s].kernel != hg_variants[v].kernel ||
                !hg_shape_applies(&hg_shapes[s], hg_variants[v].dtype))
                continue;
            bytes = hg_trial_bytes(&hg_variants[v], &hg_shapes[s]);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

static int run_group(void)
{
    enum { TESTS_MAX = 160 };
    static struct CMUnitTest tests[TESTS_MAX];
    static char names[TESTS_MAX][64];
    static hg_variant variants[TESTS_MAX];
    size_t count = 0;

    assert_true(hg_variant_count + 3 <= TESTS_MAX);
    for (uint32_t v = 0; v < hg_variant_count; v++) {
        const hg_variant *variant = &hg_variants[v];
        const char *name = hg_kernels[variant->kernel].name;

        if (self.match && !strstr(name, self.match))
            continue;
        if (self.tier && strcmp(hg_tier_name(variant->tier), self.tier) != 0)
            continue;
        variants[count] = *variant;
        (void)snprintf(names[count], sizeof(names[0]), "%s %s %s", name,
                       hg_tier_name(variant->tier), hg_dtype_name(variant->dtype));
        tests[count] = (struct CMUnitTest){
            .name = names[count], .test_func = test_variant, .initial_state = &variants[count]};
        count++;
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_later_values_do_not_show);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_bounds_fit);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_validation_is_silent);
    return _cmocka_run_group_tests("kernels", tests, count, NULL, NULL);
}

/* 1: the tier asked for is not on this device. */
static int has_no_tier(void)
{
    const char *why = "no such tier in the table";

    for (uint32_t v = 0; self.tier && v < hg_variant_count; v++) {
        if (strcmp(hg_tier_name(hg_variants[v].tier), self.tier) != 0)
            continue;
        why = hg_plan_refuses(&self.runner.engine->plan, &hg_variants[v]);
        if (!why)
            return 0;
    }
    if (self.tier)
        printf("skipped: tier %s: %s\n", self.tier, why);
    return self.tier != NULL;
}

static hg_precision read_precision(const char *name)
{
    if (strcmp(name, "fast") == 0)
        return HG_PRECISION_FAST;
    return strcmp(name, "fp32") == 0 ? HG_PRECISION_FP32 : HG_PRECISION_EXACT;
}

int main(int argc, char **argv)
{
    const char *selector = NULL;
    const char *limits = NULL;
    hg_precision precision = HG_PRECISION_EXACT;
    const uint64_t bytes = room();
    int failed = 1;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--device") == 0)
            selector = argv[i + 1];
        else if (strcmp(argv[i], "--limits") == 0)
            limits = argv[i + 1];
        else if (strcmp(argv[i], "--match") == 0)
            self.match = argv[i + 1];
        else if (strcmp(argv[i], "--tier") == 0)
            self.tier = argv[i + 1];
        else if (strcmp(argv[i], "--words") == 0)
            self.words = argv[i + 1];
        else if (strcmp(argv[i], "--precision") == 0)
            precision = read_precision(argv[i + 1]);
    }
    switch (hg_runner_open(&self.runner, selector, limits, precision, self.tier, bytes)) {
    case HG_OK:
        break;
    case HG_ERR_NO_DEVICE:
        printf("skipped: no device %s here\n", selector ? selector : "");
        return SKIP;
    default:
        return 1;
    }
    if (has_no_tier()) {
        hg_runner_close(&self.runner);
        return SKIP;
    }
    self.exact = self.runner.engine->backend->kind != HG_BACKEND_REFERENCE ||
                 precision == HG_PRECISION_EXACT;
    self.text = malloc(bytes);
    self.ref = malloc(bytes);
    self.after = malloc(bytes);
    self.magnitude = malloc(bytes * 2);
    if (self.text && self.ref && self.after && self.magnitude) {
        failed = run_group();
        printf("%u calls on %s (%s), %u messages of the validation layer\n", self.calls,
               self.runner.engine->plan.device.name, self.runner.engine->plan.device.driver,
               hg_engine_validation_messages(self.runner.engine));
    }
    free(self.text);
    free(self.ref);
    free(self.after);
    free(self.magnitude);
    hg_runner_close(&self.runner);
    return failed;
}
