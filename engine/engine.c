/* SPDX-License-Identifier: MIT */
/* Public entry points of the engine: list devices, open one, describe it. Choices are in plan.c and
 * select.c. */
#include "device.h"

#include "check.h"
#include "hazard.h"
#include "params.h"
#include "trust.h"
#include "tune.h"

#include <stdlib.h>
#include <string.h>

static const hg_backend *const backends[] = {&hg_backend_vulkan, &hg_backend_opencl,
                                             &hg_backend_reference};

enum {
    BACKENDS = 3,
    DEVICES_PER_BACKEND_MAX = 64,
    DEVICES_MAX = BACKENDS * DEVICES_PER_BACKEND_MAX
};

/* 0: a selector that names another backend. Its drivers are then not started: one that crashes
 * while devices are listed must not take those away that have nothing to do with it. */
static int may_be_meant(const hg_backend *backend, const char *selector)
{
    if (!selector || (strcmp(selector, "ref") != 0 && strncmp(selector, "vk:", 3) != 0 &&
                      strncmp(selector, "cl:", 3) != 0))
        return 1;
    return strncmp(selector, backend->name, strlen(backend->name)) == 0;
}

/* Devices in our order, of the backend that the selector names or of all; *out is malloced. */
static hg_result all_devices(const hg_log *log, const char *selector, hg_snapshot **out,
                             uint32_t *count)
{
    hg_snapshot *all = calloc(DEVICES_MAX, sizeof(*all));
    uint32_t total = 0;

    *out = NULL;
    *count = 0;
    if (!all)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "no memory for the list of devices");
    for (int b = 0; b < BACKENDS; b++) {
        uint32_t n = DEVICES_PER_BACKEND_MAX;
        hg_result res;

        if (!may_be_meant(backends[b], selector))
            continue;
        res = backends[b]->enumerate(log, all + total, &n);
        if (res != HG_OK) {
            hg_say(log, HG_LOG_WARNING, "backend %s cannot list its devices (%s)",
                   backends[b]->name, hg_result_name(res));
            continue;
        }
        total += n;
    }
    hg_devices_sort(all, total);
    *out = all;
    *count = total;
    return HG_OK;
}

/* The caller's array has elements of the size that the first one names. */
static void copy_devices(hg_device_info *out, const hg_snapshot *all, uint32_t count)
{
    const size_t stride = count ? hg_struct_stride(out, sizeof(*out)) : 0;
    const uint32_t told = (uint32_t)stride;

    for (uint32_t i = 0; i < count; i++) {
        memcpy((char *)out + i * stride, &told, sizeof(told));
        hg_struct_out((char *)out + i * stride, &all[i], sizeof(all[i]));
    }
}

hg_result hg_devices(const hg_devices_params *params, hg_device_info *out, uint32_t *count)
{
    hg_devices_params own;
    const hg_log *log = &own.log;
    hg_snapshot *all = NULL;
    uint32_t total = 0;
    hg_result res = HG_OK;

    hg_struct_in(&own, sizeof(own), params);
    if (!count)
        return hg_fail(log, HG_ERR_ARGUMENT, "hg_devices: count is NULL");
    HG_TRY(all_devices(log, NULL, &all, &total));
    if (!out) {
        *count = total;
    } else {
        if (*count > total)
            *count = total;
        copy_devices(out, all, *count);
    }
out:
    free(all);
    return res;
}

static hg_result backend_open(hg_engine *engine, hg_backend_kind kind)
{
    for (int b = 0; b < BACKENDS; b++)
        if (backends[b]->kind == kind) {
            engine->backend = backends[b];
            return engine->backend->open(&engine->plan, NULL, &engine->dev);
        }
    return hg_fail(&engine->log, HG_ERR_NO_DEVICE, "no backend %d in this build", (int)kind);
}

static hg_result open_device(hg_engine *engine, const hg_engine_params *params)
{
    hg_snapshot *all = NULL;
    uint32_t total = 0, found = 0;
    hg_result res = HG_OK;

    HG_TRY(all_devices(&params->log, params->selector, &all, &total));
    HG_TRY(hg_device_select(&params->log, all, total, params->selector, &found));
    HG_TRY(all && found < total ? HG_OK : HG_ERR_NO_DEVICE);
    HG_TRY(hg_plan_make(&all[found], params, &engine->plan));
    engine->plan.cache_dir = engine->cache_dir;
    HG_TRY(backend_open(engine, all[found].backend));
out:
    free(all);
    return res;
}

static hg_result make_spare(hg_engine *engine)
{
    static const uint32_t zeros[HG_BIND_ALIGN_BYTES / 4];
    hg_result res = HG_OK;

    HG_TRY(hg_buffer_create(engine, HG_MEM_WEIGHT, sizeof(zeros), "spare", &engine->spare));
    HG_TRY(hg_upload_bytes(engine, engine->spare, 0, zeros, sizeof(zeros)));
out:
    return res;
}

hg_result hg_engine_create(const hg_engine_params *theirs, hg_engine **out)
{
    hg_engine_params own;
    const hg_engine_params *params = &own;
    hg_engine *engine = NULL;
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    hg_struct_in(&own, sizeof(own), theirs);
    engine = calloc(1, sizeof(*engine));
    if (!engine)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no memory for an engine");
    engine->log = params->log;
    engine->memory_limit_bytes = params->memory_limit_bytes;
    if (pthread_mutex_init(&engine->lock, NULL) != 0) {
        free(engine);
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no mutex for an engine");
    }
    engine->tracker = hg_tracker_create();
    engine->cache_dir = params->cache_dir ? strdup(params->cache_dir) : NULL;
    if (!engine->tracker || (params->cache_dir && !engine->cache_dir)) {
        res = hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no memory for an engine");
        goto out;
    }
    HG_TRY(open_device(engine, params));
    HG_TRY(make_spare(engine));
    for (const char *c = params->surroundings; c && *c; c++)
        engine->surroundings =
            (engine->surroundings ^ (unsigned char)*c) * UINT64_C(0x100000001b3) + 1;
    /* The reference is what others are judged by. */
    if (!params->trust && engine->plan.device.backend != HG_BACKEND_REFERENCE)
        HG_TRY(hg_trust_create(engine, &engine->trust));
    HG_TRY(hg_tuner_create(engine, params->tune, &engine->tuner));
    *out = engine;
    engine = NULL;
out:
    hg_engine_destroy(&engine);
    return res;
}

void hg_engine_destroy(hg_engine **engine)
{
    hg_engine *e = engine ? *engine : NULL;

    if (!e)
        return;
    hg_buffer_free(e, &e->spare);
    hg_buffer_free(e, &e->stage[0]);
    hg_buffer_free(e, &e->stage[1]);
    if (e->dev)
        e->backend->close(&e->dev);
    hg_trust_free(&e->trust);
    hg_tuner_free(&e->tuner);
    hg_pool_free(&e->pool);
    hg_used_free(&e->used);
    hg_tracker_free(&e->tracker);
    pthread_mutex_destroy(&e->lock);
    free(e->cache_dir);
    free(e);
    *engine = NULL;
}

hg_result hg_engine_describe(const hg_engine *engine, hg_device_info *out)
{
    if (!engine || !out)
        return HG_ERR_ARGUMENT;
    hg_struct_out(out, &engine->plan.device, sizeof(*out));
    return HG_OK;
}

hg_precision hg_engine_precision(const hg_engine *engine)
{
    if (!engine)
        return HG_PRECISION_FP32;
    return engine->plan.precision;
}

/* Looking at an engine changes nothing of it but, for a moment, its lock. */
static pthread_mutex_t *lock_of(const hg_engine *engine)
{
    return (pthread_mutex_t *)&engine->lock;
}

void hg_engine_memory(const hg_engine *engine, uint64_t *now_bytes, uint64_t *peak_bytes)
{
    if (now_bytes)
        *now_bytes = 0;
    if (peak_bytes)
        *peak_bytes = 0;
    if (!engine)
        return;
    pthread_mutex_lock(lock_of(engine));
    if (now_bytes)
        *now_bytes = engine->now_bytes;
    if (peak_bytes)
        *peak_bytes = engine->peak_bytes;
    pthread_mutex_unlock(lock_of(engine));
}

uint32_t hg_engine_validation_messages(const hg_engine *engine)
{
    return engine ? engine->dev->validation_messages : 0;
}

void hg_engine_count(const hg_engine *engine, hg_engine_counters *out)
{
    if (!engine || !out)
        return;
    pthread_mutex_lock(lock_of(engine));
    hg_struct_out(out, &engine->counters, sizeof(*out));
    pthread_mutex_unlock(lock_of(engine));
}

hg_result hg_kernel_describe(uint32_t index, hg_kernel_info *out)
{
    const hg_variant *v;

    if (!out || index >= hg_variant_count)
        return HG_ERR_ARGUMENT;
    v = &hg_variants[index];
    const hg_kernel_info info = {.kernel = hg_kernels[v->kernel].name,
                                 .tier = hg_tier_name(v->tier),
                                 .dtype = hg_dtype_name(v->dtype),
                                 .threads = v->threads,
                                 .exact = (uint32_t)hg_tier_is_exact(v->tier)};
    hg_struct_out(out, &info, sizeof(info));
    return HG_OK;
}
