/* SPDX-License-Identifier: MIT */
/* Checks before first use, and what follows from them. */
#include "trust.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

struct hg_trust {
    pthread_mutex_t lock;
    hg_trust_entry *entries;          /* [hg_variant_count] */
    uint8_t settled[HG_KERNEL_COUNT]; /* a bit per hg_dtype: nothing to look up any more */
    hg_trial_room room;               /* open while there is something to try */
    int read, changed;
};

hg_result hg_trust_create(hg_engine *engine, hg_trust **out)
{
    hg_trust *trust = calloc(1, sizeof(*trust));

    *out = NULL;
    if (trust)
        trust->entries = calloc(hg_variant_count, sizeof(*trust->entries));
    if (!trust || !trust->entries || pthread_mutex_init(&trust->lock, NULL) != 0) {
        if (trust)
            free(trust->entries);
        free(trust);
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory for checks of kernels");
    }
    *out = trust;
    return HG_OK;
}

void hg_trust_free(hg_trust **trust)
{
    if (!*trust)
        return;
    pthread_mutex_destroy(&(*trust)->lock);
    free((*trust)->entries);
    free(*trust);
    *trust = NULL;
}

static hg_trust_entry *entry_of(const hg_trust *trust, const hg_variant *variant)
{
    return &trust->entries[variant - hg_variants];
}

static void demote(hg_engine *engine, const hg_variant *variant, int is_wrong)
{
    uint8_t *mask = &engine->plan.demoted[variant->kernel][variant->tier];
    const uint32_t bit = 1u << variant->dtype;

    pthread_mutex_lock(&engine->lock);
    *mask = (uint8_t)(is_wrong ? *mask | bit : *mask & ~bit);
    pthread_mutex_unlock(&engine->lock);
}

/* "bf16"; "" where there are no weights. */
static const char *type_of(const hg_variant *variant)
{
    return variant->dtype == HG_DTYPE_NONE ? "" : hg_dtype_name(variant->dtype);
}

static void warn(const hg_engine *engine, const hg_variant *wrong, const hg_variant *instead,
                 const char *why)
{
    const hg_device_info *device = &engine->plan.device;

    hg_say(&engine->log, HG_LOG_WARNING,
           "kernel %s (%s%s%s) is wrong on %s (%s; %s %s) and is not used there, tier %s is: %s",
           hg_kernels[wrong->kernel].name, hg_tier_name(wrong->tier), *type_of(wrong) ? " " : "",
           type_of(wrong), device->selector, device->name, device->driver, device->driver_version,
           hg_tier_name(instead->tier), why);
}

static hg_result refuse(const hg_engine *engine, const hg_variant *wrong, const char *why)
{
    const hg_device_info *device = &engine->plan.device;
    const int exact = engine->plan.precision == HG_PRECISION_EXACT;

    return hg_fail(
        &engine->log, HG_ERR_DRIVER,
        "%skernel %s (%s%s%s) is wrong on %s (%s; %s %s): %s: use another device, or the "
        "reference (ref)",
        exact ? "precision exact cannot be had: " : "", hg_kernels[wrong->kernel].name,
        hg_tier_name(wrong->tier), *type_of(wrong) ? " " : "", type_of(wrong), device->selector,
        device->name, device->driver, device->driver_version, why);
}

static hg_result try_variant(hg_engine *engine, hg_trust *trust, const hg_variant *variant)
{
    hg_trust_entry *entry = entry_of(trust, variant);
    hg_check check;
    hg_result res = HG_OK;

    if (!trust->room.engine)
        HG_TRY(hg_trial_room_open(&trust->room, engine, hg_selftest_room_bytes(1)));
    HG_TRY(hg_selftest_quick(&trust->room, variant, &check));
    entry->kept = 0;
    entry->refused = check.refused;
    entry->state = check.passed ? HG_TRUST_PASSED : HG_TRUST_FAILED;
    memcpy(entry->why, check.why, sizeof(entry->why));
    trust->changed = 1;
out:
    return res;
}

/* The arithmetic is probed by every program anew: it costs little, and settings of a driver that no
 * key knows change it. */
static void read_file(hg_engine *engine, hg_trust *trust)
{
    hg_trust_file_read(engine, trust->entries);
    trust->read = 1;
    for (uint32_t v = 0; v < hg_variant_count; v++)
        if (hg_variants[v].kernel == HG_KERNEL_probe)
            trust->entries[v].state = HG_TRUST_UNKNOWN;
}

/* One kernel for one type. *tried: a check was made, and there may be more to do. */
static hg_result settle(hg_engine *engine, hg_trust *trust, hg_kernel_id kernel, hg_dtype dtype,
                        int *tried)
{
    const hg_variant *wrong = NULL;
    const hg_variant *variant;

    if (trust->settled[kernel] & 1u << dtype)
        return HG_OK;
    if (!trust->read)
        read_file(engine, trust);
    while ((variant = hg_plan_variant(&engine->plan, kernel, dtype)) != NULL) {
        hg_trust_entry *entry = entry_of(trust, variant);

        if (entry->state == HG_TRUST_UNKNOWN) {
            *tried = 1;
            return try_variant(engine, trust, variant);
        }
        if (entry->state == HG_TRUST_PASSED) {
            trust->settled[kernel] = (uint8_t)(trust->settled[kernel] | 1u << dtype);
            return HG_OK;
        }
        demote(engine, variant, 1);
        wrong = variant;
        variant = hg_plan_variant(&engine->plan, kernel, dtype);
        if (variant) {
            warn(engine, wrong, variant, entry->why);
        } else if (entry->kept) {
            /* A device is not refused for what it did once. */
            demote(engine, wrong, 0);
            entry->state = HG_TRUST_UNKNOWN;
            entry->kept = 0;
        }
    }
    /* Where no variant fits the limits, running says so. */
    if (!wrong)
        wrong = hg_variant_find(kernel, HG_TIER_T0, dtype);
    if (wrong && entry_of(trust, wrong)->state == HG_TRUST_FAILED)
        return refuse(engine, wrong, entry_of(trust, wrong)->why);
    return HG_OK;
}

static hg_result find_usable(hg_engine *engine, hg_trust *trust, hg_kernel_id kernel,
                             hg_dtype dtype, int *usable)
{
    const hg_variant *variant;
    hg_result res = HG_OK;

    if (!trust->read)
        read_file(engine, trust);
    while ((variant = hg_plan_variant(&engine->plan, kernel, dtype)) != NULL) {
        const hg_trust_entry *entry = entry_of(trust, variant);

        if (entry->state == HG_TRUST_UNKNOWN)
            HG_TRY(try_variant(engine, trust, variant));
        *usable = entry->state == HG_TRUST_PASSED;
        if (*usable)
            break;
        demote(engine, variant, 1);
        hg_say(&engine->log, HG_LOG_WARNING,
               "kernel %s (%s %s) is wrong on %s (%s %s) and is not used there: %s",
               hg_kernels[kernel].name, hg_tier_name(variant->tier), type_of(variant),
               engine->plan.device.selector, engine->plan.device.driver,
               engine->plan.device.driver_version, entry->why);
    }
out:
    return res;
}

static hg_result settle_list(hg_engine *engine, hg_trust *trust, const hg_oplist *list, int *tried)
{
    hg_result res = HG_OK;

    *tried = 0;
    if (engine->plan.precision == HG_PRECISION_EXACT)
        HG_TRY(settle(engine, trust, HG_KERNEL_probe, HG_DTYPE_NONE, tried));
    for (uint32_t i = 0; i < list->count && !*tried; i++) {
        if (list->ops[i].kind == HG_OP_DISPATCH)
            HG_TRY(settle(engine, trust, list->ops[i].kernel, list->ops[i].dtype, tried));
    }
out:
    return res;
}

static void finish(hg_engine *engine, hg_trust *trust)
{
    hg_trial_room_close(&trust->room);
    if (trust->changed)
        hg_trust_file_write(engine, trust->entries);
    trust->changed = 0;
}

hg_result hg_trust_usable(hg_engine *engine, hg_kernel_id kernel, hg_dtype dtype, int *usable)
{
    hg_trust *trust = engine->trust;
    hg_result res;

    *usable = 0;
    if (!trust) {
        *usable = hg_plan_variant(&engine->plan, kernel, dtype) != NULL;
        return HG_OK;
    }
    pthread_mutex_lock(&trust->lock);
    res = find_usable(engine, trust, kernel, dtype, usable);
    finish(engine, trust);
    pthread_mutex_unlock(&trust->lock);
    return res;
}

hg_result hg_trust_ready(hg_engine *engine, const hg_oplist *list, const hg_run_params *params)
{
    hg_trust *trust = engine->trust;
    hg_result res = HG_OK;
    int tried = 1;

    while (trust && res == HG_OK && tried) {
        pthread_mutex_lock(&trust->lock);
        res = settle_list(engine, trust, list, &tried);
        if (res != HG_OK || !tried)
            finish(engine, trust);
        pthread_mutex_unlock(&trust->lock);
        /* Kernels are compiled on the way: nobody waits for all of them to stop. Without the lock,
         * since the callback may use this engine for something else. */
        if (res == HG_OK && tried && params->progress.step &&
            params->progress.step(params->progress.user, params->what, 0, list->count))
            res = HG_CANCELLED;
        if (res == HG_CANCELLED) {
            pthread_mutex_lock(&trust->lock);
            finish(engine, trust);
            pthread_mutex_unlock(&trust->lock);
        }
    }
    return res;
}
