/* SPDX-License-Identifier: MIT */
/*
 * The time of each operation of a list, by the device's own clock: a timestamp between any two.
 * Barriers stay as they are, so operations that may run side by side do, and what the last of them
 * is told is what was left of it; the sum is the time of the whole.
 */
#ifndef HG_ENGINE_WATCH_H
#define HG_ENGINE_WATCH_H

#include "device.h"

typedef struct hg_watch_entry {
    const hg_op *op;
    const hg_variant *variant; /* NULL: a copy, a fill, or nothing to do */
    uint32_t spec[HG_SPEC_MAX];
    uint32_t groups;
} hg_watch_entry;

/* Operations of one submit, in order. */
typedef struct hg_watch {
    hg_watch_entry *entries;
    uint32_t count, room;
    int is_on; /* somebody watched when the list was begun */
} hg_watch;

/* All with the engine's lock held, and all nothing while nobody watches the engine. begin: the list
 * is empty. */
void hg_watch_begin(hg_engine *engine, hg_list *list, hg_watch *watch);
hg_result hg_watch_note(hg_engine *engine, hg_list *list, hg_watch *watch,
                        const hg_watch_entry *entry);
/* 1: no timestamp is left for another operation. */
int hg_watch_full(const hg_watch *watch);
/* After the point has passed. Lets go of the lock while it calls back. */
hg_result hg_watch_tell(hg_engine *engine, uint64_t point, const hg_watch *watch);
void hg_watch_free(hg_watch *watch);

#endif
