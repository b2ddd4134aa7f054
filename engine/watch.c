/* SPDX-License-Identifier: MIT */
/* Timestamps around operations, and telling them. */
#include "watch.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The seam has 4096 slots; one more than operations is needed. */
enum { OPERATIONS_MAX = 4000, SHAPE_TEXT = 256 };

hg_result hg_engine_watch(hg_engine *engine, hg_op_callback callback, void *user)
{
    if (!engine)
        return HG_ERR_ARGUMENT;
    if (callback && !(engine->plan.features & HG_FEATURE_TIMESTAMPS))
        return hg_fail(&engine->log, HG_ERR_UNSUPPORTED,
                       "%s has no timestamps: operations cannot be timed there",
                       engine->plan.device.selector);
    pthread_mutex_lock(&engine->lock);
    engine->watcher = callback;
    engine->watcher_user = user;
    pthread_mutex_unlock(&engine->lock);
    return HG_OK;
}

void hg_watch_begin(hg_engine *engine, hg_list *list, hg_watch *watch)
{
    watch->count = 0;
    watch->is_on = engine->watcher != NULL;
    if (watch->is_on)
        engine->backend->mark(list, NULL, 0);
}

hg_result hg_watch_note(hg_engine *engine, hg_list *list, hg_watch *watch,
                        const hg_watch_entry *entry)
{
    if (!watch->is_on)
        return HG_OK;
    if (watch->count == watch->room) {
        const uint32_t room = watch->room ? watch->room * 2 : 256;
        hg_watch_entry *grown = realloc(watch->entries, room * sizeof(*grown));

        if (!grown)
            return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to time %u operations",
                           room);
        watch->entries = grown;
        watch->room = room;
    }
    watch->entries[watch->count++] = *entry;
    engine->backend->mark(list, NULL, watch->count);
    return HG_OK;
}

int hg_watch_full(const hg_watch *watch)
{
    return watch->count >= OPERATIONS_MAX;
}

void hg_watch_free(hg_watch *watch)
{
    free(watch->entries);
    memset(watch, 0, sizeof(*watch));
}

/* "rows=32 k=1024 cols=3072": sizes that are 0 stand for what is not there. */
static void shape_text(const hg_op *op, char text[SHAPE_TEXT])
{
    const hg_kernel *kernel = &hg_kernels[op->kernel];
    size_t at = 0;

    text[0] = '\0';
    if (op->kind != HG_OP_DISPATCH) {
        (void)snprintf(text, SHAPE_TEXT, "bytes=%llu", (unsigned long long)op->bind[0].size_bytes);
        return;
    }
    for (uint32_t i = 0; i < kernel->param_bytes / 4 && at < SHAPE_TEXT; i++) {
        int length;

        if (!kernel->field[i].is_size || op->words[i] == 0)
            continue;
        length = snprintf(text + at, SHAPE_TEXT - at, "%s%s=%u", at ? " " : "",
                          kernel->field[i].name, op->words[i]);
        at += length > 0 ? (size_t)length : 0;
    }
}

static void tell(hg_op_callback callback, void *user, const hg_watch_entry *entry, uint64_t ns)
{
    const hg_op *op = entry->op;
    const hg_cost cost = hg_op_cost(op);
    char shape[SHAPE_TEXT], tiles[HG_TILES_TEXT] = "";
    hg_op_time time = {.struct_size = sizeof(time),
                       .kernel = op->kind == HG_OP_COPY ? "copy" : "fill",
                       .tier = "",
                       .dtype = "",
                       .tiles = tiles,
                       .shape = shape,
                       .groups = entry->groups,
                       .layer = op->layer,
                       .ns = ns,
                       .flops = cost.flops,
                       .memory_bytes = cost.bytes};

    if (op->kind == HG_OP_DISPATCH)
        time.kernel = hg_kernels[op->kernel].name;
    if (entry->variant) {
        time.tier = hg_tier_name(entry->variant->tier);
        time.dtype = hg_dtype_name(entry->variant->dtype);
        time.threads = entry->variant->threads;
        hg_tiles_text(entry->variant, entry->spec, tiles);
    }
    shape_text(op, shape);
    callback(user, &time);
}

hg_result hg_watch_tell(hg_engine *engine, uint64_t point, const hg_watch *watch)
{
    const hg_op_callback callback = engine->watcher;
    void *const user = engine->watcher_user;
    uint64_t *ns;
    hg_result res = HG_OK;

    if (!watch->is_on || !callback || watch->count == 0)
        return HG_OK;
    ns = calloc((size_t)watch->count + 1, sizeof(*ns));
    if (!ns)
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory for %u times", watch->count);
    HG_TRY(engine->backend->times(engine->dev, point, ns, watch->count + 1));
    pthread_mutex_unlock(&engine->lock);
    for (uint32_t i = 0; i < watch->count; i++)
        tell(callback, user, &watch->entries[i], ns[i + 1] > ns[i] ? ns[i + 1] - ns[i] : 0);
    pthread_mutex_lock(&engine->lock);
out:
    free(ns);
    return res;
}
