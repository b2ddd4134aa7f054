/* SPDX-License-Identifier: MIT */
/*
 * The text as C, built by other compilers and at other levels (text_build.sh), run forwards, with
 * groups and lanes backwards, and with denormals flushed: the hashes of exact-1.txt for every
 * kernel and shape, the shipped hashes for the sample models, and neither a denormal operand nor an
 * underflow on the way. This program defines the entries of the table itself: each calls the same
 * entry of the library under test, so the library's own texts are not linked.
 *   test_kernels_builds NAME=FILE...    FILE empty: the compiler is not installed
 */
#include "exact_sample.h"
#include "hashes.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "float_mode.h"

enum {
    MODE_STICKY = 0x3f,
    FLAG_DENORMAL = 0x02,
    FLAG_UNDERFLOW = 0x10,
    MODE_FLUSH = 0x8040, /* flush to zero, denormals are zero */
    BUILDS_MAX = 8
};

enum {
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid) ENTRY_##kernel##_##tier##_##dtype,
#include "kernels.def"
    ENTRY_COUNT
};

static const char *const entry_names[ENTRY_COUNT] = {
#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    "hg_text_" #kernel "_" #tier "_" #dtype,
#include "kernels.def"
};

typedef void text_entry(const hg_text_call *call);

/* The library under test and how it is run. Set while no engine works. */
static struct {
    void *library;
    text_entry *entry[ENTRY_COUNT];
    int *lanes_backwards;
    int backwards, flush;
} now;

/* Since they were last cleared, by any thread. */
static atomic_uint sticky[ENTRY_COUNT], calls[ENTRY_COUNT];

static void run_entry(int index, const hg_text_call *call)
{
    const uint32_t mode = float_mode();
    hg_text_call one = *call;

    set_float_mode((mode & ~(uint32_t)MODE_STICKY) | (now.flush ? MODE_FLUSH : 0));
    if (!now.backwards)
        now.entry[index](call);
    for (uint32_t group = call->group_end; now.backwards && group-- > call->group_begin;) {
        one.group_begin = group;
        one.group_end = group + 1;
        now.entry[index](&one);
    }
    atomic_fetch_or(&sticky[index], float_mode() & MODE_STICKY);
    atomic_fetch_add(&calls[index], 1);
    set_float_mode(mode);
}

#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    void hg_text_##kernel##_##tier##_##dtype(const hg_text_call *call);                            \
    void hg_text_##kernel##_##tier##_##dtype(const hg_text_call *call)                             \
    {                                                                                              \
        run_entry(ENTRY_##kernel##_##tier##_##dtype, call);                                        \
    }
#include "kernels.def"

static void *symbol(const char *name)
{
    void *found = dlsym(now.library, name);

    if (!found)
        fail_msg("no %s in the library", name);
    return found;
}

static void open_build(const char *file)
{
    now.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!now.library)
        fail_msg("%s", dlerror());
    now.lanes_backwards = symbol("hg_text_backwards");
    for (int i = 0; i < ENTRY_COUNT; i++) {
        void *found;

        if (!hg_variants[i].text) /* the rows of the table, in its order */
            continue;
        found = symbol(entry_names[i]);
        memcpy(&now.entry[i], &found, sizeof(found));
    }
}

typedef struct way {
    const char *name;
    int backwards, flush;
} way;

static const way ways[] = {{"forwards", 0, 0}, {"backwards", 1, 0}, {"denormals flushed", 0, 1}};
enum { WAY_COUNT = sizeof(ways) / sizeof(ways[0]) };

static void choose_way(const way *chosen)
{
    now.backwards = chosen->backwards;
    now.flush = chosen->flush;
    *now.lanes_backwards = chosen->backwards;
    for (int i = 0; i < ENTRY_COUNT; i++) {
        atomic_store(&sticky[i], 0);
        atomic_store(&calls[i], 0);
    }
}

/* allow_underflow: where a product itself is tiny, and flushed before anything is done with it. */
static void expect_no_flags(const way *chosen, const char *what, int allow_underflow)
{
    const uint32_t unwanted =
        FLAG_DENORMAL | (allow_underflow || chosen->flush ? 0 : (uint32_t)FLAG_UNDERFLOW);

    for (int i = 0; i < ENTRY_COUNT; i++)
        if (atomic_load(&sticky[i]) & unwanted)
            fail_msg("%s, %s: %s raised%s%s", what, chosen->name, entry_names[i],
                     atomic_load(&sticky[i]) & FLAG_DENORMAL ? " denormal" : "",
                     atomic_load(&sticky[i]) & FLAG_UNDERFLOW ? " underflow" : "");
}

/* One variant on one shape; the expected hash is that of T0. */
static void check_shape(const way *chosen, const hg_variant *variant, const hg_shape *shape)
{
    hg_trial trial;
    uint64_t expected = 0;
    uint64_t found;
    uint8_t *block;

    if (!hg_hash_find(HG_TEST_HASHES, shape->name, variant->dtype, &expected))
        fail_msg("%s|%s: no such line", shape->name, hg_dtype_name(variant->dtype));
    assert_true(hg_trial_make(&trial, variant, shape, NULL));
    block = malloc(trial.block_bytes);
    assert_non_null(block);
    choose_way(chosen);
    hg_trial_text(&trial, block);
    found = hg_hash_outputs(&trial, block);
    free(block);
    hg_trial_free(&trial);
    if (found != expected)
        fail_msg("%s|%s|%s, %s: expected %016llx, found %016llx", shape->name,
                 hg_tier_name(variant->tier), hg_dtype_name(variant->dtype), chosen->name,
                 (unsigned long long)expected, (unsigned long long)found);
    expect_no_flags(chosen, shape->name, strstr(shape->name, "tiny scale") != NULL);
}

static uint32_t check_shapes(const way *chosen)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        for (uint32_t s = 0; s < hg_shape_count; s++) {
            if (hg_shapes[s].kernel != hg_variants[v].kernel || hg_shapes[s].large ||
                !hg_variants[v].text)
                continue;
            check_shape(chosen, &hg_variants[v], &hg_shapes[s]);
            count++;
        }
    }
    return count;
}

/* The samples end to end, by the tiles of processors and by those of T0. */
static uint32_t check_samples(const way *chosen, const char *tier)
{
    hg_engine_params params = {.struct_size = sizeof(params),
                               .selector = "ref",
                               .precision = HG_PRECISION_EXACT,
                               .tier = tier};
    hg_engine *engine = NULL;
    uint32_t total = 0;

    params.threads = 2;
    params.trust = 1; /* or shapes would be tried, whose flags are not those of the samples */
    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    choose_way(chosen);
    for (int i = 0; i < EXACT_SAMPLES; i++) {
        exact_sample sample;
        char found[HG_SHA256_TEXT] = "";

        assert_true(exact_sample_read(exact_sample_names[i], &sample));
        assert_int_equal(exact_sample_hash(engine, &sample, 0, 0, found), HG_OK);
        if (strcmp(found, sample.all) != 0)
            fail_msg("%s by %s, %s: expected %s, found %s", sample.name,
                     tier ? tier : "the default tier", chosen->name, sample.all, found);
    }
    hg_engine_destroy(&engine);
    expect_no_flags(chosen, "the samples", 0);
    for (int i = 0; i < ENTRY_COUNT; i++)
        total += atomic_load(&calls[i]);
    return total;
}

static void the_bytes_are_the_same(void **state)
{
    const char *file = *state;

    if (!*file) {
        printf("the compiler is not installed\n");
        skip();
    }
    open_build(file);
    for (size_t w = 0; w < WAY_COUNT; w++) {
        uint32_t shapes, tiles, plain;

        if (ways[w].flush && !HAS_MXCSR) {
            printf("skipped: no MXCSR on this processor, so nothing flushes denormals\n");
            continue;
        }
        shapes = check_shapes(&ways[w]);
        tiles = check_samples(&ways[w], NULL);
        plain = check_samples(&ways[w], "T0");
        printf("%s: %u shapes, %u and %u calls for the samples\n", ways[w].name, shapes, tiles,
               plain);
        assert_true(shapes > 0 && tiles > 0 && plain > 0);
    }
    (void)dlclose(now.library);
    memset(&now, 0, sizeof(now));
}

/* The last bit of the first element of one kernel's result: the checks must see it. */
static text_entry *honest;

static void dishonest(const hg_text_call *call)
{
    uint8_t *y = call->bind[hg_kernels[HG_KERNEL_silu_mul].output];
    volatile float tiny = 0x1.8p-148f;

    honest(call);
    if (call->group_begin == 0) /* once a dispatch: threads share one */
        y[0] ^= 1;
    tiny = tiny * 0.5f; /* a denormal operand, and a result that underflows */
}

static void the_checks_can_fail(void **state)
{
    const hg_variant *variant = hg_variant_t0(HG_KERNEL_silu_mul, HG_DTYPE_NONE);
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = HG_PRECISION_EXACT,
                                     .tier = "T0"};
    const hg_shape *shape = hg_shapes;
    const char *file = *state;
    exact_sample sample;
    char found[HG_SHA256_TEXT] = "";
    hg_engine *engine = NULL;
    uint64_t expected = 0;
    hg_trial trial;
    uint8_t *block;

    if (!*file) {
        printf("the compiler is not installed\n");
        skip();
    }
    while (shape->kernel != HG_KERNEL_silu_mul)
        shape++;
    open_build(file);
    choose_way(&ways[0]);
    honest = now.entry[ENTRY_silu_mul_T0_none];
    now.entry[ENTRY_silu_mul_T0_none] = dishonest;
    assert_true(hg_hash_find(HG_TEST_HASHES, shape->name, HG_DTYPE_NONE, &expected));
    assert_true(hg_trial_make(&trial, variant, shape, NULL));
    block = malloc(trial.block_bytes);
    assert_non_null(block);
    hg_trial_text(&trial, block);
    assert_true(hg_hash_outputs(&trial, block) != expected);
    if (HAS_MXCSR)
        assert_int_equal(atomic_load(&sticky[ENTRY_silu_mul_T0_none]) &
                             (FLAG_DENORMAL | FLAG_UNDERFLOW),
                         FLAG_DENORMAL | FLAG_UNDERFLOW);
    free(block);
    hg_trial_free(&trial);
    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    assert_true(exact_sample_read(exact_sample_names[0], &sample));
    assert_int_equal(exact_sample_hash(engine, &sample, 0, 0, found), HG_OK);
    assert_string_not_equal(found, sample.all);
    hg_engine_destroy(&engine);
    (void)dlclose(now.library);
    memset(&now, 0, sizeof(now));
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[BUILDS_MAX + 1];
    size_t count = 0;
    char *file = NULL;

    for (int i = 1; i < argc && count < BUILDS_MAX; i++) {
        char *equals = strchr(argv[i], '=');

        if (!equals)
            return 2;
        *equals = '\0';
        file = equals + 1;
        tests[count++] = (struct CMUnitTest){argv[i], the_bytes_are_the_same, NULL, NULL, file};
    }
    if (count == 0)
        return 2;
    tests[count++] = (struct CMUnitTest){"the_checks_can_fail", the_checks_can_fail, NULL, NULL,
                                         tests[0].initial_state};
    return _cmocka_run_group_tests("builds", tests, count, NULL, NULL);
}
