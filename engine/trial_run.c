/* SPDX-License-Identifier: MIT */
/* A trial on a device: the seam used as run.c uses it, for one dispatch. */
#include "trial.h"

#include "check.h"

#include <string.h>

hg_result hg_trial_room_open(hg_trial_room *room, hg_engine *engine, uint64_t room_bytes)
{
    hg_result res = HG_OK;

    memset(room, 0, sizeof(*room));
    room->engine = engine;
    room->room_bytes = room_bytes;
    HG_TRY(hg_buffer_create(engine, HG_MEM_UPLOAD, room_bytes, "trial.upload", &room->upload));
    HG_TRY(hg_buffer_create(engine, HG_MEM_SCRATCH, room_bytes, "trial.block", &room->block));
    HG_TRY(
        hg_buffer_create(engine, HG_MEM_READBACK, room_bytes, "trial.readback", &room->readback));
out:
    if (res != HG_OK)
        hg_trial_room_close(room);
    return res;
}

void hg_trial_room_close(hg_trial_room *room)
{
    if (!room->engine)
        return;
    hg_buffer_free(room->engine, &room->upload);
    hg_buffer_free(room->engine, &room->block);
    hg_buffer_free(room->engine, &room->readback);
    room->engine = NULL;
}

static void barrier(const hg_trial_room *room, hg_list *list, uint64_t size_bytes)
{
    const hg_hazard hazard = {
        .range = {room->block, 0, size_bytes}, .before = HG_ACCESS_RW, .after = HG_ACCESS_RW};

    room->engine->backend->barrier(list, &hazard, 1);
}

static void record(const hg_trial_room *room, const hg_trial *trial, hg_list *list, hg_pipe *pipe,
                   const uint32_t groups[3])
{
    const hg_backend *backend = room->engine->backend;
    const uint64_t bytes = trial->block_bytes;
    hg_bind binds[HG_BINDS_MAX];

    for (uint32_t b = 0; b < trial->kernel->bind_count; b++)
        binds[b] = (hg_bind){room->block, trial->offset_bytes[b], trial->size_bytes[b]};
    backend->copy(list, (hg_bind){room->block, 0, bytes}, (hg_bind){room->upload, 0, bytes});
    barrier(room, list, bytes);
    backend->mark(list, trial->kernel->name, 0);
    backend->dispatch(list, pipe, trial->params.words, binds, trial->kernel->bind_count, groups);
    backend->mark(list, NULL, 1);
    barrier(room, list, bytes);
    backend->copy(list, (hg_bind){room->readback, 0, bytes}, (hg_bind){room->block, 0, bytes});
}

static hg_result run_locked(hg_trial_room *room, const hg_trial *trial, uint8_t *after,
                            uint64_t *ns)
{
    hg_engine *e = room->engine;
    const hg_backend *backend = e->backend;
    const uint64_t bytes = trial->block_bytes;
    uint32_t groups[3] = {trial->groups[0], trial->groups[1], trial->groups[2]};
    uint64_t times[2] = {0, 0};
    hg_pipe *pipe = NULL;
    hg_list *list = NULL;
    uint64_t point = 0;
    void *view = NULL;
    hg_result res = HG_OK;

    HG_TRY(backend->map(room->upload, 0, bytes, HG_MAP_WRITE, &view));
    memcpy(view, trial->before, bytes);
    backend->unmap(room->upload, 0, bytes);
    HG_TRY(hg_plan_fold(&e->plan, groups));
    HG_TRY(backend->prepare(e->dev, trial->variant, trial->spec, &pipe));
    HG_TRY(backend->begin(e->dev, NULL, &list));
    record(room, trial, list, pipe, groups);
    HG_TRY(backend->submit(&list, NULL, 0, NULL, 0, &point));
    HG_TRY(backend->wait(e->dev, point, UINT64_MAX));
    HG_TRY(backend->map(room->readback, 0, bytes, HG_MAP_READ, &view));
    memcpy(after, view, bytes);
    backend->unmap(room->readback, 0, bytes);
    if (ns) {
        HG_TRY(backend->times(e->dev, point, times, 2));
        *ns = times[1] - times[0];
    }
out:
    if (list)
        backend->discard(&list);
    return res;
}

hg_result hg_trial_run(hg_trial_room *room, const hg_trial *trial, uint8_t *after, uint64_t *ns)
{
    hg_result res;

    if (trial->block_bytes > room->room_bytes)
        return hg_fail(&room->engine->log, HG_ERR_ARGUMENT,
                       "a trial of %s needs %zu bytes, its room has %llu", trial->kernel->name,
                       trial->block_bytes, (unsigned long long)room->room_bytes);
    pthread_mutex_lock(&room->engine->lock);
    res = run_locked(room, trial, after, ns);
    pthread_mutex_unlock(&room->engine->lock);
    return res;
}
