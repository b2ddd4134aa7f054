/* SPDX-License-Identifier: MIT */
/*
 * Showing stages: read back, with the error that each element may have where the engine is the
 * reference in double, and written again where the one who looks has changed them.
 */
#ifndef HG_ENGINE_TAP_H
#define HG_ENGINE_TAP_H

#include "device.h"

typedef struct hg_tap_room {
    float *values;
    double *allowed, *magnitude;
    uint64_t values_count, allowed_count, magnitude_count; /* room */
    hg_bind output;                                        /* what magnitude stands for */
} hg_tap_room;

void hg_tap_room_free(hg_tap_room *room);

/* Before an operation is recorded, with the engine's lock held. */
hg_result hg_tap_prepare(hg_engine *engine, const hg_run_params *params, const hg_op *op,
                         hg_tap_room *room);

/* After it has run, without the lock: every stage of it. */
hg_result hg_tap_show(hg_engine *engine, const hg_run_params *params, const hg_op *op,
                      hg_tap_room *room);

#endif
