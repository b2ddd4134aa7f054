/* SPDX-License-Identifier: MIT */
/* The seam, used as record.c of the engine uses it, for one dispatch. */
#include "runner.h"

#include "check.h"

#include <stdio.h>
#include <string.h>

static void say(void *user, hg_log_level level, const char *line)
{
    (void)user;
    if (level == HG_LOG_ERROR)
        (void)fprintf(stderr, "%s\n", line);
}

hg_result hg_runner_open(hg_runner *runner, const char *selector, const char *limits,
                         hg_precision precision, uint64_t room_bytes)
{
    const hg_log log = {.write = say, .level = HG_LOG_WARNING};
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = selector,
                                     .precision = precision,
                                     .limits = limits,
                                     .threads = 2,
                                     .validate = 1,
                                     .log = log};
    hg_result res = HG_OK;

    memset(runner, 0, sizeof(*runner));
    runner->room_bytes = room_bytes;
    HG_TRY(hg_engine_create(&params, &runner->engine));
    HG_TRY(hg_buffer_create(runner->engine, HG_MEM_UPLOAD, room_bytes, "test.upload",
                            &runner->upload));
    HG_TRY(
        hg_buffer_create(runner->engine, HG_MEM_SCRATCH, room_bytes, "test.block", &runner->block));
    HG_TRY(hg_buffer_create(runner->engine, HG_MEM_READBACK, room_bytes, "test.readback",
                            &runner->readback));
out:
    if (res != HG_OK)
        hg_runner_close(runner);
    return res;
}

void hg_runner_close(hg_runner *runner)
{
    if (!runner->engine)
        return;
    hg_buffer_free(runner->engine, &runner->upload);
    hg_buffer_free(runner->engine, &runner->block);
    hg_buffer_free(runner->engine, &runner->readback);
    hg_engine_destroy(&runner->engine);
}

static void barrier(hg_runner *runner, hg_list *list, hg_mem *mem, uint64_t size_bytes)
{
    const hg_hazard hazard = {
        .range = {mem, 0, size_bytes}, .before = HG_ACCESS_RW, .after = HG_ACCESS_RW};

    runner->engine->backend->barrier(list, &hazard, 1);
}

hg_result hg_runner_run(hg_runner *runner, const hg_call *call, uint8_t *after, uint64_t *ns)
{
    hg_engine *e = runner->engine;
    const hg_backend *backend = e->backend;
    const uint64_t bytes = call->block_bytes;
    uint32_t groups[3] = {call->groups[0], call->groups[1], call->groups[2]};
    hg_bind binds[HG_BINDS_MAX];
    hg_pipe *pipe = NULL;
    hg_list *list = NULL;
    uint64_t point = 0;
    uint64_t times[2] = {0, 0};
    void *view = NULL;
    hg_result res = HG_OK;

    if (bytes > runner->room_bytes)
        return HG_ERR_ARGUMENT;
    for (uint32_t b = 0; b < call->kernel->bind_count; b++)
        binds[b] = (hg_bind){runner->block, call->offset_bytes[b], call->size_bytes[b]};
    HG_TRY(backend->map(runner->upload, 0, bytes, HG_MAP_WRITE, &view));
    memcpy(view, call->before, bytes);
    backend->unmap(runner->upload, 0, bytes);
    HG_TRY(hg_plan_fold(&e->plan, groups));
    HG_TRY(backend->prepare(e->dev, call->variant, call->spec, &pipe));
    HG_TRY(backend->begin(e->dev, NULL, &list));
    backend->copy(list, (hg_bind){runner->block, 0, bytes}, (hg_bind){runner->upload, 0, bytes});
    barrier(runner, list, runner->block, bytes);
    backend->mark(list, call->kernel->name, 0);
    backend->dispatch(list, pipe, call->params.words, binds, call->kernel->bind_count, groups);
    backend->mark(list, NULL, 1);
    barrier(runner, list, runner->block, bytes);
    backend->copy(list, (hg_bind){runner->readback, 0, bytes}, (hg_bind){runner->block, 0, bytes});
    HG_TRY(backend->submit(&list, NULL, 0, NULL, 0, &point));
    HG_TRY(backend->wait(e->dev, point, UINT64_MAX));
    HG_TRY(backend->map(runner->readback, 0, bytes, HG_MAP_READ, &view));
    memcpy(after, view, bytes);
    backend->unmap(runner->readback, 0, bytes);
    if (ns) {
        HG_TRY(backend->times(e->dev, point, times, 2));
        *ns = times[1] - times[0];
    }
out:
    if (list)
        backend->discard(&list);
    return res;
}
