/* SPDX-License-Identifier: MIT */
/* Collects variants of a list and has the backend compile them; see prepare.h. */
#include "prepare.h"

#include "os.h"

enum { ROUND = 8 };

/* The driver's messages from several threads, without the errors. */
typedef struct hush {
    hg_log log;
    pthread_mutex_t lock;
} hush;

typedef struct work {
    hg_engine *engine;
    const hg_variant *variants[HG_KERNEL_COUNT * HG_DTYPE_COUNT];
    uint32_t count, done, end; /* being compiled: [done, end) */
} work;

static void write_line(void *user, hg_log_level level, const char *line)
{
    hush *h = user;

    if (level == HG_LOG_ERROR || !h->log.write)
        return;
    pthread_mutex_lock(&h->lock);
    h->log.write(h->log.user, level, line);
    pthread_mutex_unlock(&h->lock);
}

/* What no list had before; from then on it counts as had. */
static void collect(hg_engine *engine, const hg_oplist *list, work *w)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const hg_op *op = &list->ops[i];
        uint8_t *had = &engine->prepared[op->kernel];
        const hg_variant *variant;

        if (op->kind != HG_OP_DISPATCH || *had & 1u << op->dtype)
            continue;
        *had = (uint8_t)(*had | 1u << op->dtype);
        variant = hg_plan_variant(&engine->plan, op->kernel, op->dtype);
        if (!variant)
            continue;
        w->variants[w->count++] = variant;
    }
}

static void compile(void *user, uint32_t begin, uint32_t end)
{
    const work *w = user;

    for (uint32_t i = w->done + begin; i < w->done + end; i++) {
        uint32_t spec[HG_SPEC_MAX];
        hg_pipe *pipe = NULL;

        hg_plan_spec(&w->engine->plan, w->variants[i], spec);
        (void)w->engine->backend->prepare(w->engine->dev, w->variants[i], spec, &pipe);
    }
}

/* The next few: as many as nobody minds waiting for before a Ctrl-C is heard. */
static void compile_round(hg_engine *engine, work *w)
{
    hg_log *log = &engine->dev->plan.log;
    hush h = {.log = *log};

    w->end = w->count - w->done < ROUND ? w->count : w->done + ROUND;
    if (!engine->pool)
        engine->pool = hg_pool_create(hg_os_processors());
    if (!engine->pool || pthread_mutex_init(&h.lock, NULL) != 0)
        return;
    *log = (hg_log){.write = write_line, .user = &h, .level = h.log.level};
    hg_pool_run(engine->pool, w->end - w->done, compile, w);
    *log = h.log;
    pthread_mutex_destroy(&h.lock);
}

hg_result hg_prepare_list(hg_engine *engine, const hg_oplist *list, const hg_run_params *params)
{
    const hg_progress *progress = &params->progress;
    work w = {.engine = engine};
    hg_result res = HG_OK;

    if (engine->plan.device.backend == HG_BACKEND_REFERENCE)
        return HG_OK;
    pthread_mutex_lock(&engine->lock);
    collect(engine, list, &w);
    for (int stop = 0; w.count > 1 && w.done < w.count && !stop; w.done = w.end) {
        compile_round(engine, &w);
        /* Without the lock, since the callback may use this engine for something else. */
        pthread_mutex_unlock(&engine->lock);
        stop = progress->step && progress->step(progress->user, params->what, 0, list->count);
        pthread_mutex_lock(&engine->lock);
        res = stop ? HG_CANCELLED : HG_OK;
    }
    pthread_mutex_unlock(&engine->lock);
    return res;
}
