/* SPDX-License-Identifier: MIT */
/*
 * Which earlier commands a command must wait for, by byte range and access. Pure bookkeeping.
 */
#ifndef HG_ENGINE_HAZARD_H
#define HG_ENGINE_HAZARD_H

#include "backend.h"

typedef struct hg_tracker hg_tracker;

hg_tracker *hg_tracker_create(void);
void hg_tracker_free(hg_tracker **tracker);

/*
 * Looks one command's ranges up against everything since the last barriers and writes the hazards
 * it has to wait for. A full array means there may be more: emit the barrier and ask again; the
 * command's own ranges are remembered only by the call that returns less than HG_HAZARDS_MAX.
 * SIZE_MAX: no memory.
 *
 * What a barrier settles: every earlier read is over (execution), and the writes in its ranges are
 * visible. Writes outside its ranges stay open: their visibility was not asked for.
 */
enum { HG_HAZARDS_MAX = 64 };
size_t hg_tracker_step(hg_tracker *tracker, const hg_bind *binds, const uint8_t *access,
                       uint32_t count, hg_hazard hazards[HG_HAZARDS_MAX]);
/* Nothing of this buffer is remembered any more (it is being freed). */
void hg_tracker_forget(hg_tracker *tracker, const hg_mem *mem);

#endif
