/* SPDX-License-Identifier: MIT */
/* An OpenCL device, opened: context, two queues, and the table of functions that is the seam. */
#include "cl.h"

#include "check.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hg_result enumerate(const hg_log *log, hg_snapshot *out, uint32_t *count)
{
    hg_cl cl;
    hg_result res;

    if (hg_cl_load(log, &cl) != HG_OK) {
        *count = 0;
        return HG_OK;
    }
    res = hg_cl_enumerate(&cl, log, out, count);
    hg_cl_unload(&cl);
    return res;
}

/* The device that the plan was made for must still be in its place. */
static hg_result find_place(hg_cl_dev *d)
{
    const hg_plan *plan = &d->base.plan;
    hg_cl_place places[HG_CL_DEVICES_MAX];
    const uint32_t found = hg_cl_places(&d->cl, &plan->log, places);
    hg_snapshot now;

    if (plan->device.backend_index >= found ||
        hg_cl_snapshot(&d->cl, places[plan->device.backend_index], plan->device.backend_index,
                       &now) != HG_OK ||
        strcmp(now.name, plan->device.name) != 0 || strcmp(now.driver, plan->device.driver) != 0)
        return hg_fail(&plan->log, HG_ERR_NO_DEVICE,
                       "OpenCL device %u is no longer %s of %s: list the devices again",
                       plan->device.backend_index, plan->device.name, plan->device.driver);
    d->place = places[plan->device.backend_index];
    return HG_OK;
}

/* PoCL keeps what it has compiled by itself; asking it for a program's binary makes it compile
 * every kernel once more for any group size (15 s for the table's 24 programs, to save 0.3 s
 * later). */
static uint32_t keeps_own_cache(const hg_snapshot *device)
{
    return strcmp(device->driver, "Portable Computing Language") == 0;
}

/* All that decides whether a compiled program still fits, in words. */
static hg_result make_cache_key(hg_cl_dev *d)
{
    static const char form[] = "headgate %s; %s; %s; %s; %s; %s";
    const hg_snapshot *s = &d->base.plan.device;
    char *platform = hg_cl_platform_text(&d->cl, d->place.platform, CL_PLATFORM_VERSION);
    char *version = hg_cl_device_text(&d->cl, d->place.device, CL_DEVICE_VERSION);
    int length;

    if (platform && version) {
        length = snprintf(NULL, 0, form, HG_VERSION_STRING, s->driver, platform, s->driver_version,
                          version, s->name);
        d->cache_key = length < 0 ? NULL : calloc((size_t)length + 1, 1);
        if (d->cache_key)
            snprintf(d->cache_key, (size_t)length + 1, form, HG_VERSION_STRING, s->driver, platform,
                     s->driver_version, version, s->name);
    }
    free(platform);
    free(version);
    if (!d->cache_key)
        return hg_fail(&d->base.plan.log, HG_ERR_DRIVER,
                       "OpenCL device %s does not say its versions", s->name);
    return HG_OK;
}

static hg_result make_queues(hg_cl_dev *d)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)d->place.platform, 0};
    const hg_log *log = &d->base.plan.log;
    const char *name = d->base.plan.device.name;
    cl_int code = CL_SUCCESS;

    d->context = d->cl.clCreateContext(properties, 1, &d->place.device, NULL, NULL, &code);
    if (!d->context || code != CL_SUCCESS)
        return hg_cl_fail(log, code, "cannot open OpenCL device %s", name);
    /* In order: what a barrier asks for holds by itself. */
    d->work =
        d->cl.clCreateCommandQueue(d->context, d->place.device, CL_QUEUE_PROFILING_ENABLE, &code);
    if (!d->work || code != CL_SUCCESS)
        return hg_cl_fail(log, code, "cannot make a command queue on OpenCL device %s", name);
    d->maps = d->cl.clCreateCommandQueue(d->context, d->place.device, 0, &code);
    if (!d->maps || code != CL_SUCCESS)
        return hg_cl_fail(log, code, "cannot make a second command queue on OpenCL device %s",
                          name);
    return HG_OK;
}

hg_result hg_cl_open(const hg_cl *cl, const hg_plan *plan, const void *import, hg_dev **out)
{
    hg_cl_dev *d = NULL;
    hg_dev *base;
    hg_result res = HG_OK;

    *out = NULL;
    if (import)
        return hg_fail(
            &plan->log, HG_ERR_UNSUPPORTED,
            "an OpenCL context of the caller cannot be used yet: let headgate open the device");
    d = calloc(1, sizeof(*d));
    if (!d)
        return hg_fail(&plan->log, HG_ERR_HOST_MEMORY, "no memory for an OpenCL device");
    if (pthread_mutex_init(&d->program_lock, NULL) != 0) {
        free(d);
        return hg_fail(&plan->log, HG_ERR_HOST_MEMORY, "no mutex for an OpenCL device");
    }
    d->base.backend = &hg_backend_opencl;
    d->base.plan = *plan;
    d->cl = *cl;
    d->cl.library = NULL; /* the caller's until this has succeeded */
    d->unified = (plan->features & HG_FEATURE_UNIFIED_MEMORY) != 0;
    d->cache_dir = keeps_own_cache(&plan->device) ? NULL : plan->cache_dir;
    HG_TRY(find_place(d));
    HG_TRY(make_cache_key(d));
    HG_TRY(make_queues(d));
    d->cl.library = cl->library;
    *out = &d->base;
    d = NULL;
out:
    base = d ? &d->base : NULL;
    hg_cl_close(&base);
    return res;
}

static hg_result open(const hg_plan *plan, const void *import, hg_dev **out)
{
    hg_cl cl;
    hg_result res;

    *out = NULL;
    if (hg_cl_load(&plan->log, &cl) != HG_OK)
        return hg_fail(&plan->log, HG_ERR_NO_DEVICE, "there is no OpenCL loader to open %s with",
                       plan->device.name);
    res = hg_cl_open(&cl, plan, import, out);
    if (res != HG_OK)
        hg_cl_unload(&cl);
    return res;
}

void hg_cl_close(hg_dev **dev)
{
    hg_cl_dev *d = (hg_cl_dev *)*dev;

    if (!d)
        return;
    /* Nothing can be done about a failure any more: what follows gives everything back. */
    if (d->maps)
        d->cl.clFinish(d->maps);
    if (d->work)
        d->cl.clFinish(d->work);
    while (d->first) {
        hg_cl_point *point = d->first;

        d->first = point->next;
        hg_cl_point_free(d, &point);
    }
    hg_cl_memory_reap(d, UINT64_MAX);
    assert(d->mems == 0); /* buffers go before their device */
    hg_cl_programs_free(d);
    if (d->maps)
        d->cl.clReleaseCommandQueue(d->maps);
    if (d->work)
        d->cl.clReleaseCommandQueue(d->work);
    if (d->context)
        d->cl.clReleaseContext(d->context);
    hg_cl_unload(&d->cl);
    pthread_mutex_destroy(&d->program_lock);
    free(d->cache_key);
    free(d);
    *dev = NULL;
}

/* OpenCL has no number for free memory: what the device has, less what we took. */
static hg_result budget(hg_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const uint64_t total = dev->plan.device.memory_total_bytes;

    *total_bytes = total;
    *free_bytes = total > dev->allocated_bytes ? total - dev->allocated_bytes : 0;
    return HG_OK;
}

const hg_backend hg_backend_opencl = {
    .name = "cl",
    .kind = HG_BACKEND_OPENCL,
    .enumerate = enumerate,
    .open = open,
    .close = hg_cl_close,
    .budget = budget,
    .alloc = hg_cl_alloc,
    .wrap = hg_cl_wrap,
    .release = hg_cl_release,
    .map = hg_cl_map,
    .unmap = hg_cl_unmap,
    .prepare = hg_cl_prepare,
    .begin = hg_cl_begin,
    .dispatch = hg_cl_dispatch,
    .barrier = hg_cl_barrier,
    .copy = hg_cl_copy,
    .fill = hg_cl_fill,
    .mark = hg_cl_mark,
    .submit = hg_cl_submit,
    .discard = hg_cl_discard,
    .wait = hg_cl_wait,
    .times = hg_cl_times,
};
