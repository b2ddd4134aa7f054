/* SPDX-License-Identifier: MIT */
/*
 * The reference backend: one device, always there, plain memory. Column `ref` is double arithmetic
 * written to be obvious; column `text` is the kernels' own source compiled as C (docs/DECISIONS.md
 * D16). Like a driver it queues on dispatch and acts on submit (D24), so order, cancel and faults
 * behave alike.
 */
#include "backend.h"
#include "check.h"
#include "os.h"
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIME_SLOTS = 4096, TIMED_POINTS = 4 };

typedef struct ref_pipe {
    hg_pipe base;
    struct ref_pipe *next;
} ref_pipe;

typedef struct ref_mem {
    hg_mem base;
    uint8_t *bytes;
} ref_mem;

typedef enum command_kind { DISPATCH, COPY, FILL, MARK } command_kind;

typedef struct command {
    command_kind kind;
    const hg_pipe *pipe;
    uint32_t words[HG_PARAM_WORDS_MAX]; /* FILL: the word; MARK: the slot */
    hg_bind bind[HG_BINDS_MAX];         /* COPY, FILL: destination, source */
    uint32_t bind_count;
    uint32_t groups[3];
} command;

typedef struct ref_list {
    hg_list base;
    command *commands;
    uint32_t count, room;
    hg_result failed;
} ref_list;

typedef struct timed_point {
    uint64_t point;
    uint64_t ns[TIME_SLOTS];
} timed_point;

typedef struct ref_dev {
    hg_dev base;
    hg_pool_threads *pool;
    ref_pipe *pipes;
    uint64_t point;
    timed_point times[TIMED_POINTS];
} ref_dev;

static hg_result ref_enumerate(const hg_log *log, hg_snapshot *out, uint32_t *count)
{
    (void)log;
    if (*count == 0)
        return HG_OK;
    *count = 1;
    memset(out, 0, sizeof(*out));
    out->backend = HG_BACKEND_REFERENCE;
    out->type = HG_DEVICE_CPU;
    snprintf(out->name, sizeof(out->name), "reference");
    snprintf(out->driver, sizeof(out->driver), "headgate, plain C");
    snprintf(out->driver_version, sizeof(out->driver_version), "%s", HG_VERSION_STRING);
    snprintf(out->api_version, sizeof(out->api_version), "C11");
    out->features = HG_FEATURE_TIMELINE | HG_FEATURE_PUSH_DESCRIPTOR | HG_FEATURE_RTE32 |
                    HG_FEATURE_TIMESTAMPS | HG_FEATURE_UNIFIED_MEMORY;
    out->compute_units = hg_os_processors();
    hg_os_memory(&out->memory_free_bytes, &out->memory_total_bytes);
    out->limits = (hg_limits){.group_invocations = 1024,
                              .group_size = {1024, 1024, 64},
                              .group_count = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                              .shared_bytes = 65536,
                              .push_bytes = 4 * HG_PARAM_WORDS_MAX,
                              .storage_buffers = HG_BINDS_MAX,
                              .bind_align_bytes = 16,
                              .binding_bytes = UINT64_C(1) << 40,
                              .alloc_bytes = UINT64_C(1) << 40};
    return HG_OK;
}

static hg_result ref_open(const hg_plan *plan, const void *import, hg_dev **out)
{
    ref_dev *dev;

    *out = NULL;
    if (import)
        return hg_fail(&plan->log, HG_ERR_UNSUPPORTED, "the reference has no foreign device");
    dev = calloc(1, sizeof(*dev));
    if (!dev)
        return hg_fail(&plan->log, HG_ERR_HOST_MEMORY, "no memory for the reference device");
    dev->base.backend = &hg_backend_reference;
    dev->base.plan = *plan;
    dev->pool = hg_pool_create(plan->threads ? plan->threads : hg_os_processors());
    if (!dev->pool) {
        free(dev);
        return hg_fail(&plan->log, HG_ERR_HOST_MEMORY, "no threads for the reference device");
    }
    *out = &dev->base;
    return HG_OK;
}

static void ref_close(hg_dev **out)
{
    ref_dev *dev = (ref_dev *)*out;

    if (!dev)
        return;
    while (dev->pipes) {
        ref_pipe *pipe = dev->pipes;

        dev->pipes = pipe->next;
        free(pipe);
    }
    hg_pool_free(&dev->pool);
    free(dev);
    *out = NULL;
}

static hg_result ref_budget(hg_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)dev;
    hg_os_memory(free_bytes, total_bytes);
    return HG_OK;
}

static hg_result ref_alloc(hg_dev *dev, const hg_mem_desc *desc, hg_mem **out)
{
    ref_mem *mem = calloc(1, sizeof(*mem));

    *out = NULL;
    if (!mem)
        return hg_fail(&dev->plan.log, HG_ERR_HOST_MEMORY, "no memory for %s", desc->name);
    mem->base =
        (hg_mem){.dev = dev, .size_bytes = desc->size_bytes, .kind = desc->kind, .mappable = 1};
    mem->bytes = malloc((size_t)desc->size_bytes);
    if (!mem->bytes) {
        free(mem);
        return hg_fail(&dev->plan.log, HG_ERR_DEVICE_MEMORY, "%s needs %llu bytes: malloc refused",
                       desc->name, (unsigned long long)desc->size_bytes);
    }
    *out = &mem->base;
    return HG_OK;
}

static void ref_release(hg_mem **mem)
{
    if (!*mem)
        return;
    /* Nothing is ever in flight after submit returns. */
    free(((ref_mem *)*mem)->bytes);
    free(*mem);
    *mem = NULL;
}

static hg_result ref_map(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes,
                         hg_map_access access, void **out)
{
    (void)size_bytes;
    (void)access;
    *out = ((ref_mem *)mem)->bytes + offset_bytes;
    return HG_OK;
}

static void ref_unmap(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes)
{
    (void)mem;
    (void)offset_bytes;
    (void)size_bytes;
}

static hg_result ref_prepare(hg_dev *base, const hg_variant *variant, const uint32_t *spec,
                             hg_pipe **out)
{
    ref_dev *dev = (ref_dev *)base;
    ref_pipe *pipe;

    *out = NULL;
    for (pipe = dev->pipes; pipe; pipe = pipe->next)
        if (pipe->base.variant == variant &&
            memcmp(pipe->base.spec, spec, sizeof(pipe->base.spec)) == 0)
            goto found;
    if (base->plan.reference_text && !variant->text)
        return hg_fail(&base->plan.log, HG_ERR_UNSUPPORTED, "kernel %s has no column text",
                       hg_kernels[variant->kernel].name);
    pipe = calloc(1, sizeof(*pipe));
    if (!pipe)
        return hg_fail(&base->plan.log, HG_ERR_HOST_MEMORY, "no memory for kernel %s",
                       hg_kernels[variant->kernel].name);
    pipe->base.dev = base;
    pipe->base.variant = variant;
    memcpy(pipe->base.spec, spec, sizeof(pipe->base.spec));
    pipe->next = dev->pipes;
    dev->pipes = pipe;
found:
    *out = &pipe->base;
    return HG_OK;
}

static hg_result ref_begin(hg_dev *dev, void *foreign_cmd, hg_list **out)
{
    ref_list *list;

    *out = NULL;
    if (foreign_cmd)
        return hg_fail(&dev->plan.log, HG_ERR_UNSUPPORTED, "the reference records no foreign list");
    list = calloc(1, sizeof(*list));
    if (!list)
        return hg_fail(&dev->plan.log, HG_ERR_HOST_MEMORY, "no memory for a list");
    list->base.dev = dev;
    *out = &list->base;
    return HG_OK;
}

static command *append(hg_list *base, command_kind kind)
{
    ref_list *list = (ref_list *)base;

    if (list->count == list->room) {
        const uint32_t room = list->room ? list->room * 2 : 64;
        command *grown = realloc(list->commands, (size_t)room * sizeof(*grown));

        if (!grown) {
            list->failed = HG_ERR_HOST_MEMORY;
            return NULL;
        }
        list->commands = grown;
        list->room = room;
    }
    memset(&list->commands[list->count], 0, sizeof(command));
    list->commands[list->count].kind = kind;
    return &list->commands[list->count++];
}

static void ref_dispatch(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                         uint32_t bind_count, const uint32_t groups[3])
{
    command *c = append(list, DISPATCH);

    if (!c)
        return;
    c->pipe = pipe;
    memcpy(c->words, params, hg_kernels[pipe->variant->kernel].param_bytes);
    memcpy(c->bind, binds, bind_count * sizeof(*binds));
    c->bind_count = bind_count;
    memcpy(c->groups, groups, sizeof(c->groups));
}

/* Commands run one after another, so every hazard is already met. */
static void ref_barrier(hg_list *list, const hg_hazard *hazards, uint32_t count)
{
    (void)list;
    (void)hazards;
    (void)count;
}

static void ref_copy(hg_list *list, hg_bind dst, hg_bind src)
{
    command *c = append(list, COPY);

    if (!c)
        return;
    c->bind[0] = dst;
    c->bind[1] = src;
}

static void ref_fill(hg_list *list, hg_bind dst, uint32_t word)
{
    command *c = append(list, FILL);

    if (!c)
        return;
    c->bind[0] = dst;
    c->words[0] = word;
}

static void ref_mark(hg_list *list, const char *label, uint32_t timestamp_slot)
{
    command *c;

    (void)label;
    if (timestamp_slot >= TIME_SLOTS)
        return;
    c = append(list, MARK);
    if (c)
        c->words[0] = timestamp_slot;
}

static uint8_t *address(const hg_bind *bind)
{
    return ((const ref_mem *)bind->mem)->bytes + bind->offset_bytes;
}

typedef struct dispatch_work {
    const command *command;
    void *bind[HG_BINDS_MAX];
    double *magnitude;
    uint32_t text;
} dispatch_work;

static void run_slice(void *user, uint32_t begin, uint32_t end)
{
    const dispatch_work *work = user;
    const hg_variant *variant = work->command->pipe->variant;

    if (work->text) {
        hg_text_call call = {.params = work->command->words,
                             .bind = work->bind,
                             .spec = work->command->pipe->spec,
                             .group_begin = begin,
                             .group_end = end};
        memcpy(call.groups, work->command->groups, sizeof(call.groups));
        variant->text(&call);
    } else {
        const hg_ref_call call = {.params = work->command->words,
                                  .bind = work->bind,
                                  .w = variant->dtype,
                                  .begin = begin,
                                  .end = end,
                                  .magnitude = work->magnitude};
        hg_kernels[variant->kernel].ref(&call);
    }
}

static void run_dispatch(ref_dev *dev, const command *c)
{
    dispatch_work work = {
        .command = c, .magnitude = dev->base.magnitude, .text = dev->base.plan.reference_text};
    const uint32_t items = work.text ? c->groups[0] * c->groups[1] * c->groups[2]
                                     : hg_kernels[c->pipe->variant->kernel].ref_items(c->words);

    for (uint32_t b = 0; b < c->bind_count; b++)
        work.bind[b] = address(&c->bind[b]);
    hg_pool_run(dev->pool, items, run_slice, &work);
}

static void run_fill(const command *c)
{
    uint8_t *to = address(&c->bind[0]);

    for (uint64_t i = 0; i + 4 <= c->bind[0].size_bytes; i += 4)
        memcpy(to + i, &c->words[0], 4);
}

static void ref_discard(hg_list **out)
{
    ref_list *list = (ref_list *)*out;

    if (!list)
        return;
    free(list->commands);
    free(list);
    *out = NULL;
}

static hg_result ref_submit(hg_list **out, const hg_sync *wait, uint32_t wait_count,
                            const hg_sync *signal, uint32_t signal_count, uint64_t *point)
{
    ref_list *list = (ref_list *)*out;
    ref_dev *dev = (ref_dev *)list->base.dev;
    const hg_result failed = list->failed;
    timed_point *times;

    (void)wait;
    (void)wait_count;
    (void)signal;
    (void)signal_count;
    *point = 0;
    if (failed != HG_OK) {
        ref_discard(out);
        return hg_fail(&dev->base.plan.log, failed, "no memory for a list of commands");
    }
    *point = ++dev->point;
    times = &dev->times[*point % TIMED_POINTS];
    memset(times, 0, sizeof(*times));
    times->point = *point;
    for (uint32_t i = 0; i < list->count; i++) {
        const command *c = &list->commands[i];

        switch (c->kind) {
        case DISPATCH:
            run_dispatch(dev, c);
            break;
        case COPY:
            memmove(address(&c->bind[0]), address(&c->bind[1]), (size_t)c->bind[0].size_bytes);
            break;
        case FILL:
            run_fill(c);
            break;
        case MARK:
            times->ns[c->words[0]] = hg_os_clock_ns();
            break;
        }
    }
    ref_discard(out);
    return HG_OK;
}

static hg_result ref_wait(hg_dev *dev, uint64_t point, uint64_t timeout_ns)
{
    (void)timeout_ns;
    return point <= ((ref_dev *)dev)->point
               ? HG_OK
               : hg_fail(&dev->plan.log, HG_ERR_ARGUMENT, "waiting for a point not submitted");
}

static hg_result ref_times(hg_dev *base, uint64_t point, uint64_t *ns, uint32_t count)
{
    const timed_point *times = &((ref_dev *)base)->times[point % TIMED_POINTS];

    for (uint32_t i = 0; i < count; i++)
        ns[i] = times->point == point && i < TIME_SLOTS ? times->ns[i] : 0;
    return HG_OK;
}

const hg_backend hg_backend_reference = {
    .name = "ref",
    .kind = HG_BACKEND_REFERENCE,
    .enumerate = ref_enumerate,
    .open = ref_open,
    .close = ref_close,
    .budget = ref_budget,
    .alloc = ref_alloc,
    .release = ref_release,
    .map = ref_map,
    .unmap = ref_unmap,
    .prepare = ref_prepare,
    .begin = ref_begin,
    .dispatch = ref_dispatch,
    .barrier = ref_barrier,
    .copy = ref_copy,
    .fill = ref_fill,
    .mark = ref_mark,
    .submit = ref_submit,
    .discard = ref_discard,
    .wait = ref_wait,
    .times = ref_times,
};
