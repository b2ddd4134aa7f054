/* SPDX-License-Identifier: MIT */
/* Buffers with a budget, and moving bytes to and from them. The flushing pass over weights is in
 * upload.c. */
#include "device.h"

#include "check.h"
#include "hazard.h"
#include "os.h"

#include <string.h>
#include <unistd.h>

/* Staging where the host cannot map a buffer: its halves large enough to be worth a submit, the
 * whole small beside a model. */
enum { STAGE_BYTES = 16 << 20 };

#define MIB(bytes) ((double)(bytes) / (double)(1 << 20))

uint64_t hg_engine_free_bytes(hg_engine *engine)
{
    uint64_t free_bytes = 0, total = 0;

    if (engine->plan.device.type == HG_DEVICE_CPU) {
        hg_os_memory(&free_bytes, &total);
        if (total == 0)
            free_bytes = UINT64_MAX; /* cannot be told: let malloc judge */
    } else if (engine->backend->budget(engine->dev, &free_bytes, &total) != HG_OK) {
        free_bytes = engine->plan.device.memory_total_bytes > engine->now_bytes
                         ? engine->plan.device.memory_total_bytes - engine->now_bytes
                         : 0;
    }
    if (engine->memory_limit_bytes) {
        const uint64_t left = engine->memory_limit_bytes > engine->now_bytes
                                  ? engine->memory_limit_bytes - engine->now_bytes
                                  : 0;
        if (left < free_bytes)
            free_bytes = left;
    }
    return free_bytes;
}

uint64_t hg_engine_block_bytes(const hg_engine *engine)
{
    const hg_limits *limits = &engine->plan.limits;
    uint64_t most =
        limits->binding_bytes < limits->alloc_bytes ? limits->binding_bytes : limits->alloc_bytes;

    /* Element offsets in params are u32 and count 16-bit elements at the finest. */
    if (most > UINT64_C(1) << 32)
        most = UINT64_C(1) << 32;
    return most & ~(uint64_t)(HG_BIND_ALIGN_BYTES - 1);
}

static hg_result create_locked(hg_engine *engine, const hg_mem_desc *desc, hg_mem **out)
{
    const hg_limits *limits = &engine->plan.limits;
    hg_result res;

    if (desc->size_bytes > limits->alloc_bytes)
        return hg_fail(
            &engine->log, HG_ERR_UNSUPPORTED,
            "%s needs one buffer of %.1f MiB, %s allows allocations of %.1f MiB: use fewer "
            "tokens or another device",
            desc->name, MIB(desc->size_bytes), engine->plan.device.selector,
            MIB(limits->alloc_bytes));
    if (desc->size_bytes > hg_engine_free_bytes(engine))
        return hg_fail(&engine->log, HG_ERR_DEVICE_MEMORY,
                       "%s needs %.1f MiB, %s has %.1f MiB free", desc->name, MIB(desc->size_bytes),
                       engine->plan.device.selector, MIB(hg_engine_free_bytes(engine)));
    res = engine->backend->alloc(engine->dev, desc, out);
    if (res == HG_OK) {
        engine->now_bytes += desc->size_bytes;
        if (engine->now_bytes > engine->peak_bytes)
            engine->peak_bytes = engine->now_bytes;
    }
    return res;
}

hg_result hg_buffer_create(hg_engine *engine, hg_mem_kind kind, uint64_t size_bytes,
                           const char *name, hg_mem **out)
{
    hg_mem_desc desc = {.size_bytes = size_bytes ? size_bytes : 4, .kind = kind, .name = name};
    hg_result res;

    *out = NULL;
    /* A kernel reads and writes whole words. */
    desc.size_bytes = (desc.size_bytes + 3) & ~UINT64_C(3);
    pthread_mutex_lock(&engine->lock);
    res = create_locked(engine, &desc, out);
    pthread_mutex_unlock(&engine->lock);
    return res;
}

hg_result hg_buffer_wrap(hg_engine *engine, const void *host, uint64_t size_bytes, const char *name,
                         hg_mem **out, uint64_t *lead_bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t lead = (uintptr_t)host % page;
    const hg_wrap_desc desc = {
        .host = (const uint8_t *)host - lead, .size_bytes = size_bytes + lead, .name = name};
    hg_result res;

    *out = NULL;
    *lead_bytes = lead;
    pthread_mutex_lock(&engine->lock);
    res = engine->backend->wrap(engine->dev, &desc, out);
    pthread_mutex_unlock(&engine->lock);
    return res;
}

void hg_buffer_free(hg_engine *engine, hg_mem **mem)
{
    if (!*mem)
        return;
    pthread_mutex_lock(&engine->lock);
    hg_tracker_forget(engine->tracker, *mem);
    if (!(*mem)->is_wrapped)
        engine->now_bytes -= (*mem)->size_bytes;
    engine->backend->release(mem);
    pthread_mutex_unlock(&engine->lock);
    *mem = NULL;
}

static hg_result need_stage(hg_engine *engine, hg_mem_kind kind, hg_mem **out)
{
    hg_mem **stage = &engine->stage[kind == HG_MEM_READBACK];
    const uint64_t block = hg_engine_block_bytes(engine);
    const uint64_t stage_bytes = block < STAGE_BYTES ? block : STAGE_BYTES;
    hg_result res = HG_OK;

    if (!*stage) {
        const hg_mem_desc desc = {.size_bytes = stage_bytes,
                                  .kind = kind,
                                  .name = kind == HG_MEM_READBACK ? "readback" : "upload"};
        res = create_locked(engine, &desc, stage);
    }
    *out = *stage;
    return res;
}

/* Sent, and not waited for. */
static hg_result copy_begin(hg_engine *engine, hg_bind dst, hg_bind src, uint64_t *point)
{
    const hg_backend *b = engine->backend;
    const hg_bind binds[2] = {dst, src};
    const uint8_t access[2] = {HG_ACCESS_W, HG_ACCESS_R};
    hg_hazard hazards[HG_HAZARDS_MAX];
    hg_list *list = NULL;
    size_t found;
    hg_result res = HG_OK;

    HG_TRY(b->begin(engine->dev, NULL, &list));
    do {
        found = hg_tracker_step(engine->tracker, binds, access, 2, hazards);
        if (found == SIZE_MAX) {
            res = hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to track a copy");
            goto out;
        }
        if (found)
            b->barrier(list, hazards, (uint32_t)found);
    } while (found == HG_HAZARDS_MAX);
    b->copy(list, dst, src);
    HG_TRY(b->submit(&list, NULL, 0, NULL, 0, point));
    engine->counters.submits++;
    engine->counters.copies++;
out:
    if (list)
        b->discard(&list);
    return res;
}

hg_result hg_engine_copy(hg_engine *engine, hg_bind dst, hg_bind src)
{
    uint64_t point = 0;
    hg_result res = copy_begin(engine, dst, src, &point);

    return res == HG_OK ? engine->backend->wait(engine->dev, point, UINT64_MAX) : res;
}

hg_result hg_engine_stage_half(hg_engine *engine, hg_bind *out)
{
    hg_mem *stage = NULL;
    uint64_t *point = &engine->stage_point[engine->stage_half];
    uint64_t half;
    hg_result res = HG_OK;

    HG_TRY(need_stage(engine, HG_MEM_UPLOAD, &stage));
    if (*point)
        HG_TRY(engine->backend->wait(engine->dev, *point, UINT64_MAX));
    *point = 0;
    half = stage->size_bytes / 2 & ~(uint64_t)(HG_BIND_ALIGN_BYTES - 1);
    *out = (hg_bind){stage, engine->stage_half * half, half};
out:
    return res;
}

hg_result hg_engine_stage_send(hg_engine *engine, hg_bind dst, hg_bind half)
{
    const hg_result res =
        copy_begin(engine, dst, (hg_bind){half.mem, half.offset_bytes, dst.size_bytes},
                   &engine->stage_point[engine->stage_half]);

    engine->stage_half ^= 1;
    return res;
}

static hg_result upload_locked(hg_engine *engine, hg_mem *mem, uint64_t offset, const void *source,
                               uint64_t bytes)
{
    const uint8_t *from = source;
    hg_bind half;
    void *to = NULL;
    hg_result res = HG_OK;

    if (mem->mappable) {
        HG_TRY(engine->backend->map(mem, offset, bytes, HG_MAP_WRITE, &to));
        memcpy(to, source, bytes);
        engine->backend->unmap(mem, offset, bytes);
        goto out;
    }
    for (uint64_t done = 0, part; done < bytes; done += part) {
        HG_TRY(hg_engine_stage_half(engine, &half));
        part = bytes - done < half.size_bytes ? bytes - done : half.size_bytes;
        HG_TRY(engine->backend->map(half.mem, half.offset_bytes, part, HG_MAP_WRITE, &to));
        memcpy(to, from + done, part);
        engine->backend->unmap(half.mem, half.offset_bytes, part);
        HG_TRY(hg_engine_stage_send(engine, (hg_bind){mem, offset + done, part}, half));
    }
out:
    engine->counters.upload_bytes += bytes;
    return res;
}

hg_result hg_upload_bytes(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes, const void *source,
                          uint64_t bytes)
{
    hg_result res;

    if (bytes == 0)
        return HG_OK;
    pthread_mutex_lock(&engine->lock);
    res = upload_locked(engine, mem, offset_bytes, source, bytes);
    pthread_mutex_unlock(&engine->lock);
    return res;
}

static hg_result readback_locked(hg_engine *engine, hg_mem *mem, uint64_t offset, void *out,
                                 uint64_t bytes)
{
    uint8_t *to = out;
    hg_mem *stage = NULL;
    void *from = NULL;
    hg_result res = HG_OK;

    if (mem->mappable) {
        HG_TRY(engine->backend->map(mem, offset, bytes, HG_MAP_READ, &from));
        memcpy(out, from, bytes);
        engine->backend->unmap(mem, offset, bytes);
        goto out;
    }
    HG_TRY(need_stage(engine, HG_MEM_READBACK, &stage));
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t part = bytes - done < stage->size_bytes ? bytes - done : stage->size_bytes;

        HG_TRY(
            hg_engine_copy(engine, (hg_bind){stage, 0, part}, (hg_bind){mem, offset + done, part}));
        HG_TRY(engine->backend->map(stage, 0, part, HG_MAP_READ, &from));
        memcpy(to + done, from, part);
        engine->backend->unmap(stage, 0, part);
        done += part;
    }
out:
    engine->counters.readback_bytes += bytes;
    return res;
}

hg_result hg_readback_bytes(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes, void *out,
                            uint64_t bytes)
{
    hg_result res;

    if (bytes == 0)
        return HG_OK;
    pthread_mutex_lock(&engine->lock);
    res = readback_locked(engine, mem, offset_bytes, out, bytes);
    pthread_mutex_unlock(&engine->lock);
    return res;
}
