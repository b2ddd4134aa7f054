/* SPDX-License-Identifier: MIT */
/*
 * Runs a list of operations: variant and work-groups per operation, barriers by byte range, cut
 * into submits that are short enough for a watchdog and for Ctrl-C. Knows no kernel by name.
 */
#include "device.h"

#include "check.h"
#include "hazard.h"
#include "os.h"
#include "panel.h"
#include "prepare.h"
#include "rounds.h"
#include "tap.h"
#include "trust.h"
#include "tune.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>

/* Work per submit: a guess for the first one, then by measured time towards the goal. 100 ms is far
 * below every watchdog (2 s and more) and short enough to be cancelled. */
#define FIRST_SUBMIT_FLOPS 5e7
#define GOAL_NS 100e6
#define SUBMIT_FLOPS_MIN 1e6
#define SUBMIT_FLOPS_MAX 1e13
#define ASK_NS UINT64_C(200000000)
/* Operations without arithmetic cost something too. */
#define OP_FLOPS 1e4

typedef struct runner {
    hg_engine *engine;
    const hg_oplist *ops;
    const hg_run_params *params;
    hg_list *list;       /* being recorded, or NULL */
    hg_watch watch;      /* of its operations */
    double list_flops;   /* in it */
    double submit_flops; /* goal */
    uint64_t point;      /* of the submit in flight; 0: none */
    hg_watch point_watch;
    uint64_t point_start_ns;
    double point_flops;
    uint64_t asked_ns; /* when progress was last told */
    hg_tap_room room;
    uint32_t done; /* operations recorded */
} runner;

static hg_result no_tracking(hg_engine *engine)
{
    return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to track hazards");
}

static hg_result order(runner *r, const hg_bind *binds, const uint8_t *access, uint32_t count)
{
    hg_engine *e = r->engine;
    hg_hazard hazards[HG_HAZARDS_MAX];
    size_t found;

    do {
        found = hg_tracker_step(e->tracker, binds, access, count, hazards);
        if (found == SIZE_MAX)
            return no_tracking(e);
        if (found) {
            e->backend->barrier(r->list, hazards, (uint32_t)found);
            e->counters.barriers++;
        }
    } while (found == HG_HAZARDS_MAX);
    return HG_OK;
}

static hg_result record_dispatch(runner *r, const hg_op *op, hg_watch_entry *entry)
{
    hg_engine *e = r->engine;
    const hg_kernel *kernel = &hg_kernels[op->kernel];
    const hg_variant *variant = hg_plan_variant(&e->plan, op->kernel, op->dtype);
    uint32_t *const spec = entry->spec;
    uint8_t access[HG_BINDS_MAX];
    uint32_t groups[3] = {0, 1, 1};
    hg_pipe *pipe = NULL;
    hg_result res = HG_OK;

    if (!variant)
        return hg_fail(&e->log, HG_ERR_UNSUPPORTED, "%s needs work-groups of %u, %s allows %u",
                       kernel->name,
                       hg_variant_t0(op->kernel, hg_dtype_element(op->dtype))->threads,
                       e->plan.device.selector, e->plan.limits.group_invocations);
    hg_plan_spec(&e->plan, variant, spec);
    HG_TRY(hg_rounds_check(&e->plan, op, variant, spec));
    variant->grid(op->words, spec, variant->threads, groups);
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0)
        return HG_OK;
    HG_TRY(hg_plan_fold(&e->plan, groups));
    HG_TRY(e->backend->prepare(e->dev, variant, spec, &pipe));
    for (uint32_t b = 0; b < op->bind_count; b++)
        access[b] = kernel->bind[b].access;
    HG_TRY(order(r, op->bind, access, op->bind_count));
    e->backend->dispatch(r->list, pipe, op->words, op->bind, op->bind_count, groups);
    e->counters.dispatches++;
    entry->variant = variant;
    entry->groups = groups[0] * groups[1] * groups[2];
    if (hg_used_note(&e->used, variant, spec) != HG_OK)
        res = hg_fail(&e->log, HG_ERR_HOST_MEMORY, "no memory to note what ran");
out:
    return res;
}

static hg_result record_op(runner *r, const hg_op *op)
{
    static const uint8_t copy_access[2] = {HG_ACCESS_W, HG_ACCESS_R};
    hg_engine *e = r->engine;
    const hg_cost cost = hg_op_cost(op);
    hg_watch_entry entry = {.op = op};
    hg_result res = HG_OK;

    if (!r->list) {
        HG_TRY(e->backend->begin(e->dev, NULL, &r->list));
        r->list_flops = 0;
        hg_watch_begin(e, r->list, &r->watch);
    }
    if (op->stage_count)
        e->backend->mark(r->list, op->stage[0].name, UINT32_MAX);
    switch (op->kind) {
    case HG_OP_DISPATCH:
        HG_TRY(record_dispatch(r, op, &entry));
        break;
    case HG_OP_COPY:
        HG_TRY(order(r, op->bind, copy_access, 2));
        e->backend->copy(r->list, op->bind[0], op->bind[1]);
        e->counters.copies++;
        break;
    case HG_OP_FILL:
        HG_TRY(order(r, op->bind, copy_access, 1));
        e->backend->fill(r->list, op->bind[0], op->words[0]);
        break;
    }
    HG_TRY(hg_watch_note(e, r->list, &r->watch, &entry));
    r->list_flops += OP_FLOPS + cost.flops;
    e->counters.flops += cost.flops;
    e->counters.memory_bytes += cost.bytes;
out:
    return res;
}

/* Waits for the submit in flight and learns from its time. */
static hg_result settle(runner *r)
{
    hg_engine *e = r->engine;
    const uint64_t point = r->point;
    hg_result res = HG_OK;

    if (!point)
        return HG_OK;
    r->point = 0;
    res = e->backend->wait(e->dev, point, UINT64_MAX);
    if (res == HG_OK) {
        const double ns = (double)(hg_os_clock_ns() - r->point_start_ns) + 1.0;
        double next = r->point_flops * GOAL_NS / ns;

        /* Half way at a time: the first submits also pay for compiling. */
        next = next < r->submit_flops / 2 ? r->submit_flops / 2 : next;
        next = next > r->submit_flops * 4 ? r->submit_flops * 4 : next;
        next = next < SUBMIT_FLOPS_MIN ? SUBMIT_FLOPS_MIN : next;
        r->submit_flops = next > SUBMIT_FLOPS_MAX ? SUBMIT_FLOPS_MAX : next;
        res = hg_watch_tell(e, point, &r->point_watch);
    }
    return res;
}

/* Tells how far the list is and hears whether to stop; without the lock, since the callback may use
 * this engine for something else. */
static hg_result ask(runner *r)
{
    const hg_progress *progress = &r->params->progress;
    int stop;

    r->asked_ns = hg_os_clock_ns();
    if (!progress->step)
        return HG_OK;
    pthread_mutex_unlock(&r->engine->lock);
    stop = progress->step(progress->user, r->params->what, r->done, r->ops->count);
    pthread_mutex_lock(&r->engine->lock);
    return stop ? HG_CANCELLED : HG_OK;
}

/* Sends what is recorded; the one before is waited for first, so that one runs while the next is
 * recorded. */
static hg_result flush(runner *r)
{
    hg_engine *e = r->engine;
    hg_watch watch;
    hg_result res = HG_OK;

    if (!r->list)
        return HG_OK;
    HG_TRY(settle(r));
    r->point_start_ns = hg_os_clock_ns();
    r->point_flops = r->list_flops;
    HG_TRY(e->backend->submit(&r->list, NULL, 0, NULL, 0, &r->point));
    e->counters.submits++;
    watch = r->point_watch; /* its room is used again */
    r->point_watch = r->watch;
    r->watch = watch;
    res = ask(r);
out:
    return res;
}

/* The stages of the operation that was recorded last. */
static hg_result tap(runner *r, const hg_op *op)
{
    hg_result res = HG_OK;

    HG_TRY(flush(r));
    HG_TRY(settle(r));
    pthread_mutex_unlock(&r->engine->lock);
    res = hg_tap_show(r->engine, r->params, op, &r->room);
    pthread_mutex_lock(&r->engine->lock);
out:
    return res;
}

static hg_result run_locked(runner *r)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < r->ops->count; i++) {
        const hg_op *op = &r->ops->ops[i];

        HG_TRY(hg_tap_prepare(r->engine, r->params, op, &r->room));
        HG_TRY(record_op(r, op));
        r->done = i + 1;
        /* Recording is quick, unless kernels are compiled on the way: nobody waits for all of them
         * to stop. */
        if (hg_os_clock_ns() - r->asked_ns > ASK_NS)
            HG_TRY(ask(r));
        if (r->params->tap && op->stage_count)
            HG_TRY(tap(r, op));
        else if (r->list_flops >= r->submit_flops || hg_watch_full(&r->watch))
            HG_TRY(flush(r));
    }
    HG_TRY(flush(r));
    HG_TRY(settle(r));
out:
    if (r->list)
        r->engine->backend->discard(&r->list);
    if (r->point) { /* after a failure or a cancel: nothing may be in flight when buffers are reused
                     */
        const hg_result waited = r->engine->backend->wait(r->engine->dev, r->point, UINT64_MAX);
        if (res == HG_OK)
            res = waited;
    }
    r->engine->dev->magnitude = NULL;
    hg_tap_room_free(&r->room);
    hg_watch_free(&r->watch);
    hg_watch_free(&r->point_watch);
    return res;
}

hg_result hg_engine_run(hg_engine *engine, const hg_oplist *list, const hg_run_params *params)
{
    static const hg_run_params plain;
    runner r = {.engine = engine, .ops = list, .params = params ? params : &plain};
    hg_result res;

    if (list->failed != HG_OK)
        return hg_fail(&engine->log, list->failed, "no memory for a list of operations");
    res = hg_tune_list(engine, list, r.params);
    if (res == HG_OK)
        res = hg_prepare_list(engine, list, r.params);
    if (res == HG_OK)
        res = hg_trust_ready(engine, list, r.params);
    if (res != HG_OK)
        return res;
    r.asked_ns = hg_os_clock_ns();
    pthread_mutex_lock(&engine->lock);
    r.submit_flops = engine->submit_flops > 0 ? engine->submit_flops : FIRST_SUBMIT_FLOPS;
    res = run_locked(&r);
    engine->submit_flops = r.submit_flops;
    pthread_mutex_unlock(&engine->lock);
    return res;
}
