/* SPDX-License-Identifier: MIT */
/*
 * The entry of a kernel text compiled as C: a loop over the invocations of work-groups. Included at
 * the end of a generated file that has HG_BODY (tile numbers as in the table) and, with tile
 * numbers, HG_BODY_ANY (any up to HG_TILE_MAX).
 */
#include <assert.h>

#undef B
#undef KERNEL
#undef PARAMS
#define PARAMS(kernel, fields)

#define B(access, type, name) BIND_##name,
#define KERNEL(kernel, binds, flops, bytes) enum { binds BIND_COUNT };
#include "row.def"
#undef B
#undef KERNEL

/* Which invocation of a group comes when: tests run them from the last to the first. */
#ifndef HG_TEXT_LANE
#define HG_TEXT_LANE(lane) (lane)
#endif

void HG_TEXT_ENTRY(const hg_text_call *call);

void HG_TEXT_ENTRY(const hg_text_call *call)
{
    void *const *bind = call->bind;
    const HG_TEXT_PARAMS *params = call->params;

#ifdef HG_TEXT_DEFAULT
    const uint32_t *spec = call->spec;

    if (!HG_TEXT_DEFAULT(spec)) {
        for (uint32_t i = 0; i < HG_TEXT_SPECS; i++)
            assert(spec[i] >= 1 && spec[i] <= HG_TILE_MAX);
        for (uint32_t group = call->group_begin; group < call->group_end; group++) {
            for (uint32_t lane = 0; lane < THREADS; lane++) {
#define B(access, type, name) bind[BIND_##name],
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    HG_BODY_ANY(binds params, spec, group *THREADS + HG_TEXT_LANE(lane));
#include "row.def"
#undef B
#undef KERNEL
            }
        }
        return;
    }
#endif
    for (uint32_t group = call->group_begin; group < call->group_end; group++) {
        for (uint32_t lane = 0; lane < THREADS; lane++) {
#define B(access, type, name) bind[BIND_##name],
#define KERNEL(kernel, binds, flops, bytes)                                                        \
    HG_BODY(binds params, group *THREADS + HG_TEXT_LANE(lane));
#include "row.def"
        }
    }
}
