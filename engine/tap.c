/* SPDX-License-Identifier: MIT */
/* See tap.h. */
#include "tap.h"

#include "bound.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

void hg_tap_room_free(hg_tap_room *room)
{
    free(room->values);
    free(room->allowed);
    free(room->magnitude);
    memset(room, 0, sizeof(*room));
}

/* Room for count elements at *array; NULL: no memory. What was there is lost. */
static void *grow(void *array, uint64_t *room, uint64_t count, size_t element_bytes)
{
    if (array && count <= *room)
        return array;
    free(array);
    array = count > SIZE_MAX / element_bytes ? NULL : calloc((size_t)count, element_bytes);
    *room = array ? count : 0;
    return array;
}

static int is_double(const hg_engine *engine)
{
    return engine->backend->kind == HG_BACKEND_REFERENCE && !engine->plan.reference_text;
}

hg_result hg_tap_prepare(hg_engine *engine, const hg_run_params *params, const hg_op *op,
                         hg_tap_room *room)
{
    const hg_bind *output;

    engine->dev->magnitude = NULL;
    if (!params->tap || !params->bounds || !is_double(engine) || op->kind != HG_OP_DISPATCH)
        return HG_OK;
    output = &op->bind[hg_kernels[op->kernel].output];
    /* A matrix in several row blocks is several operations on one output. */
    if (room->magnitude && memcmp(output, &room->output, sizeof(*output)) != 0)
        memset(room->magnitude, 0, (size_t)room->magnitude_count * sizeof(*room->magnitude));
    room->magnitude = grow(room->magnitude, &room->magnitude_count, output->size_bytes / 4,
                           sizeof(*room->magnitude));
    if (!room->magnitude)
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory for the bounds of a stage");
    room->output = *output;
    engine->dev->magnitude = room->magnitude;
    return HG_OK;
}

/* allowed of a whole binding; the reference's memory is the host's. */
static hg_result find_allowed(hg_engine *engine, const hg_op *op, const hg_op_stage *stage,
                              hg_tap_room *room)
{
    const uint64_t count = op->bind[stage->bind].size_bytes / 4;
    void *bind[HG_BINDS_MAX] = {NULL};
    uint64_t elements[HG_BINDS_MAX] = {0};
    hg_result res = HG_OK;

    room->allowed = grow(room->allowed, &room->allowed_count, count, sizeof(*room->allowed));
    if (!room->allowed)
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory for the bounds of stage %s",
                       stage->name);
    for (uint32_t b = 0; b < op->bind_count; b++) {
        const hg_bind *at = &op->bind[b];
        const int is_half = hg_kernels[op->kernel].bind[b].type == HG_BIND_w &&
                            (op->dtype == HG_DTYPE_F16 || op->dtype == HG_DTYPE_BF16);

        HG_TRY(
            engine->backend->map(at->mem, at->offset_bytes, at->size_bytes, HG_MAP_READ, &bind[b]));
        elements[b] = at->size_bytes / (is_half ? 2 : 4);
    }
    hg_bound_allowed(op->kernel, op->words, bind, elements, op->dtype, stage->bind, room->magnitude,
                     room->allowed);
    for (uint32_t b = 0; b < op->bind_count; b++)
        engine->backend->unmap(op->bind[b].mem, op->bind[b].offset_bytes, op->bind[b].size_bytes);
out:
    return res;
}

static hg_result show(hg_engine *engine, const hg_run_params *params, const hg_op *op,
                      const hg_op_stage *stage, hg_tap_room *room)
{
    const hg_bind *bind = &op->bind[stage->bind];
    const uint64_t from_bytes = bind->offset_bytes + stage->offset_bytes;
    hg_tapped tapped = {.op = op, .stage = stage, .count = 1};
    hg_result res = HG_OK;

    for (uint32_t d = 0; d < stage->rank; d++)
        tapped.count *= stage->shape[d];
    room->values = grow(room->values, &room->values_count, tapped.count, sizeof(*room->values));
    if (!room->values)
        return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory for stage %s", stage->name);
    HG_TRY(hg_readback_bytes(engine, bind->mem, from_bytes, room->values, tapped.count * 4));
    if (op->kind == HG_OP_DISPATCH) {
        tapped.variant = hg_plan_variant(&engine->plan, op->kernel, op->dtype);
        if (room->magnitude && params->bounds && is_double(engine)) {
            HG_TRY(find_allowed(engine, op, stage, room));
            tapped.allowed = room->allowed + stage->offset_bytes / 4;
        }
    }
    tapped.values = room->values;
    if (params->tap(params->tap_user, &tapped))
        HG_TRY(hg_upload_bytes(engine, bind->mem, from_bytes, room->values, tapped.count * 4));
out:
    return res;
}

hg_result hg_tap_show(hg_engine *engine, const hg_run_params *params, const hg_op *op,
                      hg_tap_room *room)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < op->stage_count && res == HG_OK; i++)
        res = show(engine, params, op, &op->stage[i], room);
    return res;
}
