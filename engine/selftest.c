/* SPDX-License-Identifier: MIT */
/* Trials of variants, and their verdicts. */
#include "selftest.h"

#include "check.h"
#include "operation.h"
#include "params.h"

#include <headgate/diagnose.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct oracles {
    uint8_t *expected; /* byte for byte; NULL: the bound alone decides */
    uint8_t *ref, *first, *after;
    double *magnitude;
} oracles;

static void free_oracles(oracles *o)
{
    free(o->expected);
    free(o->ref);
    free(o->first);
    free(o->after);
    free(o->magnitude);
}

/* T0 and T0C promise the text's bytes under exact alone: a device that rounds otherwise is good
 * enough for fp32. */
static int by_bytes(const hg_engine *engine, const hg_variant *variant)
{
    return hg_tier_is_exact(variant->tier) && engine->plan.precision == HG_PRECISION_EXACT;
}

static hg_result make_oracles(hg_engine *engine, const hg_trial *trial, oracles *o)
{
    const uint64_t elements = hg_trial_output_elements(trial);

    o->ref = malloc(trial->block_bytes);
    o->first = malloc(trial->block_bytes);
    o->after = malloc(trial->block_bytes);
    o->magnitude = malloc((size_t)elements * sizeof(*o->magnitude) + 1);
    if (by_bytes(engine, trial->variant))
        o->expected = malloc(trial->block_bytes);
    if (!o->ref || !o->first || !o->after || !o->magnitude ||
        (by_bytes(engine, trial->variant) && !o->expected))
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to check kernel %s",
                       trial->kernel->name);
    hg_trial_ref(trial, o->ref, o->magnitude);
    if (!o->expected)
        return HG_OK;
    hg_trial_oracle(trial, o->expected);
    return HG_OK;
}

/* A word of each block, as bits and as a number. */
static void show_word(const uint8_t *block, uint64_t at, char text[40])
{
    uint32_t word;
    float value;

    memcpy(&word, block + at, sizeof(word));
    memcpy(&value, block + at, sizeof(value));
    (void)snprintf(text, 40, "%08x (%.9g)", word, (double)value);
}

/* What differs, in words: of the probe the operation. */
static void tell_bits(const hg_trial *trial, const oracles *o, char *why, size_t why_bytes)
{
    char expected[40], found[40];
    const hg_operation *operation;
    uint32_t bind = 0;
    uint64_t element = 0, at;

    (void)hg_trial_same(trial, o->expected, o->after, why, why_bytes);
    if (trial->variant->kernel != HG_KERNEL_probe ||
        !hg_trial_difference(trial, o->expected, o->after, &bind, &element) ||
        bind != trial->kernel->output)
        return;
    operation = hg_operation_at(element);
    at = trial->offset_bytes[bind] + element * 4;
    show_word(o->expected, at, expected);
    show_word(o->after, at, found);
    (void)snprintf(why, why_bytes, "operation \"%s\": expected %s, found %s; %s", operation->name,
                   expected, found, operation->cause);
}

/* Other bytes than the text's: does that matter to exact alone? */
static void judge_bits(const hg_trial *trial, oracles *o, hg_check *out)
{
    char bits[200], why[200];

    tell_bits(trial, o, bits, sizeof(bits));
    out->within_bound =
        hg_trial_whole(trial, o->after, why, sizeof(why)) &&
        hg_trial_close(trial, o->ref, o->after, o->magnitude, NULL, why, sizeof(why));
    if (out->within_bound)
        (void)snprintf(out->why, sizeof(out->why), HG_SELFTEST_WITHIN ": %s", bits);
    else if (trial->variant->kernel == HG_KERNEL_probe)
        (void)snprintf(out->why, sizeof(out->why), HG_SELFTEST_BITS ": %s", bits);
    else
        (void)snprintf(out->why, sizeof(out->why), "%s", why);
}

static int judge(const hg_trial *trial, oracles *o, uint32_t replay, hg_check *out)
{
    char why[200];

    if (replay > 0 && !hg_trial_same(trial, o->first, o->after, why, sizeof(why))) {
        (void)snprintf(out->why, sizeof(out->why), "run %u differs from the first: %s", replay + 1,
                       why);
        return 0;
    }
    if (replay > 0)
        return 1;
    memcpy(o->first, o->after, trial->block_bytes);
    if (o->expected && memcmp(o->expected, o->after, trial->block_bytes) != 0) {
        judge_bits(trial, o, out);
        return 0;
    }
    if (!o->expected && !hg_trial_whole(trial, o->after, out->why, sizeof(out->why)))
        return 0;
    return hg_trial_close(trial, o->ref, o->after, o->magnitude, NULL, out->why, sizeof(out->why));
}

hg_result hg_selftest_try(hg_trial_room *room, const hg_variant *variant, const hg_shape *shape,
                          uint32_t replays, hg_check *out)
{
    hg_engine *engine = room->engine;
    uint32_t spec[HG_SPEC_MAX];
    oracles o = {0};
    hg_trial trial;
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    hg_plan_spec(&engine->plan, variant, spec);
    if (!hg_trial_make(&trial, variant, shape, spec))
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to check kernel %s",
                       hg_kernels[variant->kernel].name);
    HG_TRY(make_oracles(engine, &trial, &o));
    out->passed = 1;
    for (uint32_t i = 0; i < replays && out->passed; i++) {
        memset(o.after, 0, trial.block_bytes);
        res = hg_trial_run(room, &trial, o.after, NULL);
        if (res == HG_ERR_DRIVER || res == HG_ERR_UNSUPPORTED) {
            (void)snprintf(out->why, sizeof(out->why), "the driver refuses it (%s)",
                           hg_result_name(res));
            out->passed = 0;
            out->refused = 1;
            res = HG_OK;
            break;
        }
        HG_TRY(res);
        out->passed = judge(&trial, &o, i, out);
    }
out:
    free_oracles(&o);
    hg_trial_free(&trial);
    return res;
}

static int fits(const hg_shape *shape, const hg_variant *variant, int quick)
{
    return shape->kernel == variant->kernel && hg_shape_applies(shape, variant->dtype) &&
           (quick ? shape->quick != 0 : shape->large == 0);
}

hg_result hg_selftest_quick(hg_trial_room *room, const hg_variant *variant, hg_check *out)
{
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        const hg_shape *shape = &hg_shapes[s];
        char why[sizeof(out->why)];

        if (!fits(shape, variant, 1))
            continue;
        HG_TRY(hg_selftest_try(room, variant, shape, HG_REPLAYS_QUICK, out));
        if (!out->passed) {
            memcpy(why, out->why, sizeof(why));
            (void)snprintf(out->why, sizeof(out->why), "shape \"%s\": %.215s", shape->name, why);
            break;
        }
    }
out:
    return res;
}

uint64_t hg_selftest_room_bytes(int quick)
{
    uint64_t most = 0;

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        for (uint32_t s = 0; s < hg_shape_count; s++) {
            uint64_t bytes;

            if (!fits(&hg_shapes[s], &hg_variants[v], quick))
                continue;
            bytes = hg_trial_bytes(&hg_variants[v], &hg_shapes[s]);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* ---- the public self test ---- */

typedef struct tester {
    hg_trial_room room;
    hg_selftest_params params;
    hg_selftest_callback callback;
    void *user;
    uint32_t done, total;
} tester;

static void tell(const tester *t, const hg_variant *variant, const char *shape,
                 hg_selftest_verdict verdict, uint32_t replays, const hg_check *check)
{
    const hg_selftest_row row = {.struct_size = sizeof(row),
                                 .kernel = hg_kernels[variant->kernel].name,
                                 .tier = hg_tier_name(variant->tier),
                                 .dtype = hg_dtype_name(variant->dtype),
                                 .shape = shape,
                                 .verdict = verdict,
                                 .replays = replays,
                                 .detail = check->why,
                                 .within_bound = check->within_bound != 0,
                                 .exact_only = variant->kernel == HG_KERNEL_probe};

    t->callback(t->user, &row);
}

/* NULL, or why this engine never uses the variant. */
static const char *refusal(hg_engine *engine, const hg_variant *variant)
{
    const char *refused;

    if (variant->kernel == HG_KERNEL_probe && engine->plan.precision != HG_PRECISION_EXACT)
        return "it asks for the bits of exact, and no model uses it";
    pthread_mutex_lock(&engine->lock); /* a run of another thread may demote */
    refused = hg_plan_refuses(&engine->plan, variant);
    pthread_mutex_unlock(&engine->lock);
    return refused;
}

static hg_result test_variant(tester *t, const hg_variant *variant)
{
    const int quick = t->params.level == HG_SELFTEST_QUICK;
    const hg_progress *progress = &t->params.progress;
    const char *refused = refusal(t->room.engine, variant);
    hg_check check = {0};
    hg_result res = HG_OK;

    if (refused) {
        (void)snprintf(check.why, sizeof(check.why), "%s", refused);
        tell(t, variant, "", HG_SELFTEST_SKIPPED, 0, &check);
    }
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        const hg_shape *shape = &hg_shapes[s];

        if (!fits(shape, variant, quick))
            continue;
        if (!refused) {
            HG_TRY(hg_selftest_try(&t->room, variant, shape, t->params.replays, &check));
            tell(t, variant, shape->name, check.passed ? HG_SELFTEST_PASSED : HG_SELFTEST_FAILED,
                 t->params.replays, &check);
        }
        t->done++;
        if (progress->step &&
            progress->step(progress->user, hg_kernels[variant->kernel].name, t->done, t->total))
            return HG_CANCELLED;
    }
out:
    return res;
}

hg_result hg_selftest(hg_engine *engine, const hg_selftest_params *params,
                      hg_selftest_callback callback, void *user)
{
    tester t = {.callback = callback, .user = user};
    hg_result res = HG_OK;
    int quick;

    if (!engine || !callback)
        return HG_ERR_ARGUMENT;
    hg_struct_in(&t.params, sizeof(t.params), params);
    quick = t.params.level == HG_SELFTEST_QUICK;
    if (!quick && t.params.level != HG_SELFTEST_FULL)
        return hg_fail(&engine->log, HG_ERR_ARGUMENT, "self test level %d is none that is known",
                       (int)t.params.level);
    if (t.params.replays == 0)
        t.params.replays = quick ? HG_REPLAYS_QUICK : HG_REPLAYS_FULL;
    for (uint32_t v = 0; v < hg_variant_count; v++)
        for (uint32_t s = 0; s < hg_shape_count; s++)
            t.total += (uint32_t)fits(&hg_shapes[s], &hg_variants[v], quick);
    HG_TRY(hg_trial_room_open(&t.room, engine, hg_selftest_room_bytes(quick)));
    for (uint32_t v = 0; v < hg_variant_count; v++)
        HG_TRY(test_variant(&t, &hg_variants[v]));
out:
    hg_trial_room_close(&t.room);
    return res;
}
