/* SPDX-License-Identifier: MIT */
/* Buffers, the sub-buffers that bindings are, and views for the host. Nothing is freed while work
 * may be in flight (D24). */
#include "cl.h"

#include "check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this many, the sub-buffers that no work in flight uses are dropped (a cache that grows by
 * a row per token would otherwise leave one for each length). Far more than most sessions make:
 * PoCL 7.1 crashes or hangs now and then after some were released while their buffer lives (seen
 * with 128 here: 2 of 12 self tests, an idle queue made no difference; none of 12 without a
 * release). */
enum { RANGES_KEPT = 4096 };

#define MIB(bytes) ((double)(bytes) / (double)(1 << 20))

struct hg_cl_range {
    uint64_t offset_bytes, size_bytes;
    cl_mem buffer;
    uint64_t last_point;
};

struct hg_cl_view {
    struct hg_cl_view *next;
    uint64_t offset_bytes, size_bytes;
    void *host;
};

static hg_cl_dev *device_of(const hg_mem *mem)
{
    return (hg_cl_dev *)mem->dev;
}

hg_result hg_cl_alloc(hg_dev *dev, const hg_mem_desc *desc, hg_mem **out)
{
    hg_cl_dev *d = (hg_cl_dev *)dev;
    const hg_log *log = &dev->plan.log;
    const uint64_t total = dev->plan.device.memory_total_bytes;
    const uint32_t staging = desc->kind == HG_MEM_UPLOAD || desc->kind == HG_MEM_READBACK;
    const uint32_t mappable = staging || d->unified;
    const char *name = desc->name ? desc->name : "buffer";
    hg_cl_mem *m = NULL;
    cl_int code = CL_SUCCESS;
    hg_result res = HG_OK;

    *out = NULL;
    assert(desc->size_bytes > 0);
    if (d->lost)
        return hg_fail(log, HG_ERR_DEVICE_LOST, "%s: the OpenCL device was lost earlier", name);
    HG_TRY(hg_cl_reap(d));
    if (desc->size_bytes > dev->plan.limits.alloc_bytes || desc->size_bytes > SIZE_MAX) {
        res = hg_fail(
            log, HG_ERR_DEVICE_MEMORY, "%s needs %.1f MiB in one buffer; %s allows %.1f MiB", name,
            MIB(desc->size_bytes), dev->plan.device.name, MIB(dev->plan.limits.alloc_bytes));
        goto out;
    }
    m = calloc(1, sizeof(*m));
    if (m)
        m->name = strdup(name);
    if (!m || !m->name) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "%s: no memory to describe a buffer", name);
        goto out;
    }
    /* Memory that both sides reach: a map is then a pointer, not a copy. */
    m->buffer =
        d->cl.clCreateBuffer(d->context, CL_MEM_READ_WRITE | (mappable ? CL_MEM_ALLOC_HOST_PTR : 0),
                             (size_t)desc->size_bytes, NULL, &code);
    if (!m->buffer || code != CL_SUCCESS) {
        if (hg_cl_result(code) == HG_ERR_DEVICE_MEMORY || code == CL_OUT_OF_HOST_MEMORY)
            res = hg_fail(log, HG_ERR_DEVICE_MEMORY,
                          "%s needs %.1f MiB; %s has given %.1f of %.1f MiB and refuses: %s (%d)",
                          name, MIB(desc->size_bytes), dev->plan.device.name,
                          MIB(dev->allocated_bytes), MIB(total), hg_cl_error_name(code), (int)code);
        else
            res = hg_cl_fail(log, code, "%s: cannot make a buffer of %.1f MiB", name,
                             MIB(desc->size_bytes));
        goto out;
    }
    m->base = (hg_mem){
        .dev = dev, .size_bytes = desc->size_bytes, .kind = desc->kind, .mappable = mappable};
    d->mems++;
    dev->allocated_bytes += desc->size_bytes;
    if (dev->allocated_bytes > dev->peak_bytes)
        dev->peak_bytes = dev->allocated_bytes;
    *out = &m->base;
    m = NULL;
out:
    if (m) {
        free(m->name);
        free(m);
    }
    return res;
}

hg_result hg_cl_wrap(hg_dev *dev, const hg_wrap_desc *desc, hg_mem **out)
{
    hg_cl_dev *d = (hg_cl_dev *)dev;
    hg_cl_mem *m = calloc(1, sizeof(*m));
    void *host = NULL;
    cl_int code = CL_SUCCESS;
    hg_result res = HG_OK;

    *out = NULL;
    if (m)
        m->name = strdup(desc->name);
    if (!m || !m->name) {
        res = hg_fail(&dev->plan.log, HG_ERR_HOST_MEMORY, "%s: no memory to describe a buffer",
                      desc->name);
        goto out;
    }
    /* The flag promises reading alone; the pointer has no const in OpenCL. */
    memcpy(&host, &desc->host, sizeof(host));
    m->buffer = d->cl.clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
                                     (size_t)desc->size_bytes, host, &code);
    if (!m->buffer || code != CL_SUCCESS) {
        res = hg_cl_fail(&dev->plan.log, code, "%s: cannot use %.1f MiB where they are", m->name,
                         MIB(desc->size_bytes));
        goto out;
    }
    m->base = (hg_mem){
        .dev = dev, .size_bytes = desc->size_bytes, .kind = HG_MEM_WEIGHT, .is_wrapped = 1};
    d->mems++;
    *out = &m->base;
    m = NULL;
out:
    if (m) {
        free(m->name);
        free(m);
    }
    return res;
}

static void destroy(hg_cl_dev *d, hg_cl_mem *m)
{
    for (uint32_t i = 0; i < m->range_count; i++)
        d->cl.clReleaseMemObject(m->ranges[i].buffer);
    d->cl.clReleaseMemObject(m->buffer);
    if (!m->base.is_wrapped)
        d->base.allocated_bytes -= m->base.size_bytes;
    d->mems--;
    free(m->ranges);
    free(m->name);
    free(m);
}

void hg_cl_release(hg_mem **mem)
{
    hg_cl_mem *m = (hg_cl_mem *)*mem;
    hg_cl_dev *d;

    if (!m)
        return;
    *mem = NULL;
    d = device_of(&m->base);
    while (m->views) /* a caller that gave up between map and unmap */
        hg_cl_unmap(&m->base, m->views->offset_bytes, m->views->size_bytes);
    /* Looks, does not wait. A lost device is told by the next call that can say so. */
    if (m->last_point > d->passed && !d->lost)
        hg_cl_reap(d);
    if (m->last_point <= d->passed) {
        destroy(d, m);
        return;
    }
    m->next_dead = d->dead;
    d->dead = m;
}

void hg_cl_memory_reap(hg_cl_dev *dev, uint64_t passed)
{
    hg_cl_mem **at = &dev->dead;

    while (*at) {
        hg_cl_mem *m = *at;

        if (m->last_point <= passed) {
            *at = m->next_dead;
            destroy(dev, m);
        } else {
            at = &m->next_dead;
        }
    }
}

hg_result hg_cl_map(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes, hg_map_access access,
                    void **out)
{
    hg_cl_mem *m = (hg_cl_mem *)mem;
    hg_cl_dev *d = device_of(mem);
    const hg_log *log = &d->base.plan.log;
    struct hg_cl_view *view;
    cl_int code = CL_SUCCESS;

    *out = NULL;
    assert(mem->mappable && size_bytes > 0);
    assert(offset_bytes <= mem->size_bytes && size_bytes <= mem->size_bytes - offset_bytes);
    if (d->lost)
        return hg_fail(log, HG_ERR_DEVICE_LOST, "%s: the OpenCL device was lost earlier", m->name);
    view = calloc(1, sizeof(*view));
    if (!view)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: no memory to map it", m->name);
    view->host = d->cl.clEnqueueMapBuffer(
        d->maps, m->buffer, CL_TRUE, access == HG_MAP_READ ? CL_MAP_READ : CL_MAP_WRITE,
        (size_t)offset_bytes, (size_t)size_bytes, 0, NULL, NULL, &code);
    if (!view->host || code != CL_SUCCESS) {
        free(view);
        return hg_cl_fail(log, code, "%s: cannot map %llu bytes", m->name,
                          (unsigned long long)size_bytes);
    }
    view->offset_bytes = offset_bytes;
    view->size_bytes = size_bytes;
    view->next = m->views;
    m->views = view;
    *out = view->host;
    return HG_OK;
}

void hg_cl_unmap(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes)
{
    hg_cl_mem *m = (hg_cl_mem *)mem;
    hg_cl_dev *d = device_of(mem);
    struct hg_cl_view **at = &m->views;
    struct hg_cl_view *view;
    cl_event event = NULL;
    cl_int code;

    while (*at && ((*at)->offset_bytes != offset_bytes || (*at)->size_bytes != size_bytes))
        at = &(*at)->next;
    view = *at;
    assert(view); /* of a map that was not ended yet */
    if (!view)
        return;
    *at = view->next;
    /* Waited for: the other queue may read these bytes next. */
    code = d->cl.clEnqueueUnmapMemObject(d->maps, m->buffer, view->host, 0, NULL, &event);
    if (code == CL_SUCCESS)
        code = d->cl.clWaitForEvents(1, &event);
    if (event)
        d->cl.clReleaseEvent(event);
    if (code != CL_SUCCESS && d->unmap_result == HG_OK)
        d->unmap_result =
            hg_cl_fail(&d->base.plan.log, code, "%s: cannot give %llu mapped bytes back", m->name,
                       (unsigned long long)size_bytes);
    free(view);
}

/* Drops sub-buffers that no work in flight uses. */
static void trim(hg_cl_dev *d, hg_cl_mem *m)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->range_count; i++) {
        if (m->ranges[i].last_point <= d->passed)
            d->cl.clReleaseMemObject(m->ranges[i].buffer);
        else
            m->ranges[kept++] = m->ranges[i];
    }
    m->range_count = kept;
}

static hg_result grow(hg_cl_dev *d, hg_cl_mem *m)
{
    const uint32_t room = m->range_room ? m->range_room * 2 : 8;
    struct hg_cl_range *ranges = realloc(m->ranges, room * sizeof(*ranges));

    if (!ranges)
        return hg_fail(&d->base.plan.log, HG_ERR_HOST_MEMORY, "%s: no memory for its sub-buffers",
                       m->name);
    m->ranges = ranges;
    m->range_room = room;
    return HG_OK;
}

hg_result hg_cl_range(const hg_bind *bind, uint64_t point, cl_mem *out)
{
    hg_cl_mem *m = (hg_cl_mem *)bind->mem;
    hg_cl_dev *d = device_of(bind->mem);
    const cl_buffer_region region = {.origin = (size_t)bind->offset_bytes,
                                     .size = (size_t)bind->size_bytes};
    struct hg_cl_range *range;
    cl_int code = CL_SUCCESS;
    hg_result res;

    m->last_point = point;
    *out = m->buffer;
    if (bind->offset_bytes == 0 && bind->size_bytes == m->base.size_bytes)
        return HG_OK;
    for (uint32_t i = 0; i < m->range_count; i++) {
        range = &m->ranges[i];
        if (range->offset_bytes == bind->offset_bytes && range->size_bytes == bind->size_bytes) {
            range->last_point = point;
            *out = range->buffer;
            return HG_OK;
        }
    }
    if (m->range_count >= RANGES_KEPT)
        trim(d, m);
    if (m->range_count == m->range_room) {
        res = grow(d, m);
        if (res != HG_OK)
            return res;
    }
    /* A part that starts at 0 is a sub-buffer too: a kernel may write another part of the same
     * buffer, and only sub-buffers that do not overlap may be used so. */
    range = &m->ranges[m->range_count];
    *range = (struct hg_cl_range){bind->offset_bytes, bind->size_bytes, NULL, point};
    range->buffer = d->cl.clCreateSubBuffer(m->buffer, CL_MEM_READ_WRITE,
                                            CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (!range->buffer || code != CL_SUCCESS)
        return hg_cl_fail(&d->base.plan.log, code, "%s: cannot bind %llu bytes from byte %llu",
                          m->name, (unsigned long long)bind->size_bytes,
                          (unsigned long long)bind->offset_bytes);
    m->range_count++;
    *out = range->buffer;
    return HG_OK;
}
