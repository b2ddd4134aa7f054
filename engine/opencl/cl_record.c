/* SPDX-License-Identifier: MIT */
/* A list is data until it is submitted; then its commands go to the in-order queue, and its last
 * event is the point. */
#include "cl.h"

#include "check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_FIRST = 64, SLOTS_MAX = 4096 };
#define NO_COMMAND UINT32_MAX

typedef enum command_kind {
    COMMAND_DISPATCH,
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_MARKER
} command_kind;

typedef struct command {
    command_kind kind;
    uint32_t wants_event;
    const hg_cl_pipe *pipe;
    uint32_t bind_count; /* copy: 2, dst and src; fill: 1 */
    hg_bind bind[HG_BINDS_MAX];
    uint32_t groups[3];
    uint32_t params[HG_PARAM_WORDS_MAX]; /* fill: the word */
} command;

/* A timestamp slot takes the end of the command before it. */
typedef struct stamp {
    uint32_t slot, command;
} stamp;

typedef struct cl_list {
    hg_list base;
    hg_result result; /* of recording: the first that failed */
    command *commands;
    uint32_t command_count, command_room;
    stamp *stamps;
    uint32_t stamp_count, stamp_room;
} cl_list;

static const hg_log *log_of(const hg_list *list)
{
    return &list->dev->plan.log;
}

hg_result hg_cl_begin(hg_dev *dev, void *foreign_cmd, hg_list **out)
{
    cl_list *l;

    *out = NULL;
    if (foreign_cmd)
        return hg_fail(
            &dev->plan.log, HG_ERR_UNSUPPORTED,
            "OpenCL has no command buffer of the caller to record into: submit lists instead");
    l = calloc(1, sizeof(*l));
    if (!l)
        return hg_fail(&dev->plan.log, HG_ERR_HOST_MEMORY, "no memory for a list of commands");
    l->base.dev = dev;
    *out = &l->base;
    return HG_OK;
}

void hg_cl_discard(hg_list **list)
{
    cl_list *l = (cl_list *)*list;

    if (!l)
        return;
    free(l->commands);
    free(l->stamps);
    free(l);
    *list = NULL;
}

static void check_bind(const hg_bind *bind, uint64_t align_bytes)
{
    assert(bind->mem && bind->size_bytes > 0 && bind->offset_bytes % align_bytes == 0);
    assert(bind->offset_bytes <= bind->mem->size_bytes);
    assert(bind->size_bytes <= bind->mem->size_bytes - bind->offset_bytes);
    (void)bind;
    (void)align_bytes;
}

/* A new command, all zero; NULL: the list has failed, now or earlier. */
static command *add_command(cl_list *l, command_kind kind)
{
    command *c;

    if (l->result != HG_OK)
        return NULL;
    if (l->command_count == l->command_room) {
        const uint32_t room = l->command_room ? l->command_room * 2 : COMMANDS_FIRST;
        command *commands = realloc(l->commands, room * sizeof(*commands));

        if (!commands) {
            l->result =
                hg_fail(log_of(&l->base), HG_ERR_HOST_MEMORY, "no memory for %u commands", room);
            return NULL;
        }
        l->commands = commands;
        l->command_room = room;
    }
    c = &l->commands[l->command_count++];
    *c = (command){.kind = kind};
    return c;
}

void hg_cl_dispatch(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                    uint32_t bind_count, const uint32_t groups[3])
{
    const hg_kernel *kernel = &hg_kernels[pipe->variant->kernel];
    command *c;

    assert(bind_count == kernel->bind_count);
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0)
        return; /* nothing to compute, as in Vulkan; OpenCL would call it an error */
    c = add_command((cl_list *)list, COMMAND_DISPATCH);
    if (!c)
        return;
    c->pipe = (const hg_cl_pipe *)pipe;
    c->bind_count = bind_count;
    for (uint32_t i = 0; i < bind_count; i++) {
        check_bind(&binds[i], list->dev->plan.limits.bind_align_bytes);
        c->bind[i] = binds[i];
    }
    memcpy(c->groups, groups, sizeof(c->groups));
    memcpy(c->params, params, kernel->param_bytes);
}

/* The queue is in order: nothing to record. */
void hg_cl_barrier(hg_list *list, const hg_hazard *hazards, uint32_t count)
{
    (void)list;
    (void)hazards;
    (void)count;
}

void hg_cl_copy(hg_list *list, hg_bind dst, hg_bind src)
{
    command *c = add_command((cl_list *)list, COMMAND_COPY);

    check_bind(&dst, 4);
    check_bind(&src, 4);
    assert(dst.size_bytes == src.size_bytes && dst.size_bytes % 4 == 0);
    if (!c)
        return;
    c->bind_count = 2;
    c->bind[0] = dst;
    c->bind[1] = src;
}

void hg_cl_fill(hg_list *list, hg_bind dst, uint32_t word)
{
    command *c = add_command((cl_list *)list, COMMAND_FILL);

    check_bind(&dst, 4);
    assert(dst.size_bytes % 4 == 0);
    if (!c)
        return;
    c->bind_count = 1;
    c->bind[0] = dst;
    c->params[0] = word;
}

/* Labels have no place in OpenCL. */
void hg_cl_mark(hg_list *list, const char *label, uint32_t timestamp_slot)
{
    cl_list *l = (cl_list *)list;

    (void)label;
    if (timestamp_slot == UINT32_MAX)
        return;
    assert(timestamp_slot < SLOTS_MAX);
    if (l->command_count == 0 && !add_command(l, COMMAND_MARKER))
        return;
    if (l->result != HG_OK)
        return;
    if (l->stamp_count == l->stamp_room) {
        const uint32_t room = l->stamp_room ? l->stamp_room * 2 : 16;
        stamp *stamps = realloc(l->stamps, room * sizeof(*stamps));

        if (!stamps) {
            l->result =
                hg_fail(log_of(list), HG_ERR_HOST_MEMORY, "no memory for %u timestamps", room);
            return;
        }
        l->stamps = stamps;
        l->stamp_room = room;
    }
    l->commands[l->command_count - 1].wants_event = 1;
    l->stamps[l->stamp_count++] = (stamp){timestamp_slot, l->command_count - 1};
}

static hg_result enqueue_dispatch(hg_cl_dev *d, const command *c, uint64_t point, cl_event *event)
{
    const hg_variant *variant = c->pipe->base.variant;
    const hg_kernel *kernel = &hg_kernels[variant->kernel];
    const size_t local[3] = {variant->threads, 1, 1};
    const size_t global[3] = {(size_t)c->groups[0] * variant->threads, c->groups[1], c->groups[2]};
    cl_int code;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < c->bind_count; i++) {
        cl_mem buffer = NULL;

        HG_TRY(hg_cl_range(&c->bind[i], point, &buffer));
        code = d->cl.clSetKernelArg(c->pipe->kernel, i, sizeof(cl_mem), (const void *)&buffer);
        if (code != CL_SUCCESS)
            return hg_cl_fail(&d->base.plan.log, code, "kernel %s: cannot set buffer %s",
                              kernel->name, kernel->bind[i].name);
    }
    code = d->cl.clSetKernelArg(c->pipe->kernel, c->bind_count, kernel->param_bytes, c->params);
    if (code != CL_SUCCESS)
        return hg_cl_fail(&d->base.plan.log, code, "kernel %s: cannot set its %u bytes of params",
                          kernel->name, kernel->param_bytes);
    code = d->cl.clEnqueueNDRangeKernel(d->work, c->pipe->kernel, 3, NULL, global, local, 0, NULL,
                                        event);
    if (code != CL_SUCCESS)
        return hg_cl_fail(&d->base.plan.log, code,
                          "kernel %s: cannot start %u x %u x %u groups of %u", kernel->name,
                          c->groups[0], c->groups[1], c->groups[2], variant->threads);
out:
    return res;
}

static hg_result enqueue(hg_cl_dev *d, const command *c, uint64_t point, cl_event *event)
{
    hg_cl_mem *dst = (hg_cl_mem *)c->bind[0].mem;
    hg_cl_mem *src = (hg_cl_mem *)c->bind[1].mem;
    cl_int code = CL_SUCCESS;

    switch (c->kind) {
    case COMMAND_DISPATCH:
        return enqueue_dispatch(d, c, point, event);
    case COMMAND_COPY:
        dst->last_point = src->last_point = point;
        code = d->cl.clEnqueueCopyBuffer(
            d->work, src->buffer, dst->buffer, (size_t)c->bind[1].offset_bytes,
            (size_t)c->bind[0].offset_bytes, (size_t)c->bind[0].size_bytes, 0, NULL, event);
        if (code != CL_SUCCESS)
            return hg_cl_fail(&d->base.plan.log, code, "cannot copy %llu bytes from %s to %s",
                              (unsigned long long)c->bind[0].size_bytes, src->name, dst->name);
        break;
    case COMMAND_FILL:
        dst->last_point = point;
        code = d->cl.clEnqueueFillBuffer(d->work, dst->buffer, c->params, sizeof(c->params[0]),
                                         (size_t)c->bind[0].offset_bytes,
                                         (size_t)c->bind[0].size_bytes, 0, NULL, event);
        if (code != CL_SUCCESS)
            return hg_cl_fail(&d->base.plan.log, code, "cannot fill %llu bytes of %s",
                              (unsigned long long)c->bind[0].size_bytes, dst->name);
        break;
    case COMMAND_MARKER:
        code = d->cl.clEnqueueMarkerWithWaitList(d->work, 0, NULL, event);
        if (code != CL_SUCCESS)
            return hg_cl_fail(&d->base.plan.log, code, "cannot mark a point in time");
        break;
    }
    return HG_OK;
}

/* Enqueues all of it; the events that are wanted go to p, in order. */
static hg_result enqueue_all(hg_cl_dev *d, const cl_list *l, hg_cl_point *p)
{
    uint32_t next_stamp = 0;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < l->command_count; i++) {
        cl_event event = NULL;
        cl_event *const want = l->commands[i].wants_event ? &event : NULL;

        HG_TRY(enqueue(d, &l->commands[i], p->point, want));
        if (!want)
            continue;
        if (!event) {
            res = hg_fail(&d->base.plan.log, HG_ERR_DRIVER,
                          "the OpenCL driver started a command and gave no event");
            goto out;
        }
        for (; next_stamp < l->stamp_count && l->stamps[next_stamp].command == i; next_stamp++)
            p->stamps[p->stamp_count++] = (hg_cl_stamp){l->stamps[next_stamp].slot, p->event_count};
        p->events[p->event_count++] = event;
    }
out:
    return res;
}

static hg_result submit(hg_cl_dev *d, cl_list *l, uint64_t *point)
{
    const hg_log *log = &d->base.plan.log;
    hg_cl_point *p = NULL;
    uint32_t events = 0;
    cl_int code;
    hg_result res = HG_OK;

    HG_TRY(l->result);
    HG_TRY(hg_cl_reap(d));
    if (d->unmap_result != HG_OK) {
        res = hg_fail(log, d->unmap_result,
                      "bytes that were written through a map may not have arrived");
        d->unmap_result = HG_OK;
        goto out;
    }
    if (l->command_count == 0 && !add_command(l, COMMAND_MARKER)) {
        res = l->result;
        goto out;
    }
    l->commands[l->command_count - 1].wants_event = 1;
    for (uint32_t i = 0; i < l->command_count; i++)
        events += l->commands[i].wants_event;
    p = hg_cl_point_create(events, l->stamp_count);
    if (!p) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "no memory for a submit");
        goto out;
    }
    p->point = d->submitted + 1;
    res = enqueue_all(d, l, p);
    if (res == HG_OK) {
        code = d->cl.clFlush(d->work);
        if (code != CL_SUCCESS)
            res = hg_cl_fail(log, code, "cannot start submit %llu", (unsigned long long)p->point);
    }
    if (res != HG_OK) {
        d->cl.clFinish(d->work); /* what was enqueued has no point: it must not be in flight */
        goto out;
    }
    *point = p->point;
    hg_cl_point_append(d, p);
    p = NULL;
out:
    hg_cl_point_free(d, &p);
    return res;
}

hg_result hg_cl_submit(hg_list **list, const hg_sync *wait, uint32_t wait_count,
                       const hg_sync *signal, uint32_t signal_count, uint64_t *point)
{
    cl_list *l = (cl_list *)*list;
    hg_result res;

    (void)wait;
    (void)signal;
    *point = 0;
    if (wait_count || signal_count)
        res = hg_fail(log_of(*list), HG_ERR_UNSUPPORTED,
                      "the OpenCL backend has no semaphores to wait for or to signal");
    else
        res = submit((hg_cl_dev *)l->base.dev, l, point);
    hg_cl_discard(list);
    return res;
}
