/* SPDX-License-Identifier: MIT */
/* Byte-range hazards between commands; see hazard.h. A list, scanned: a forward pass keeps a few
 * dozen entries open. */
#include "hazard.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    hg_bind range;
    uint32_t access;
} entry;

struct hg_tracker {
    entry *entries;
    size_t count, room;
};

hg_tracker *hg_tracker_create(void)
{
    return calloc(1, sizeof(hg_tracker));
}

void hg_tracker_free(hg_tracker **tracker)
{
    if (*tracker)
        free((*tracker)->entries);
    free(*tracker);
    *tracker = NULL;
}

static int overlaps(const hg_bind *a, const hg_bind *b)
{
    return a->mem == b->mem && a->offset_bytes < b->offset_bytes + b->size_bytes &&
           b->offset_bytes < a->offset_bytes + a->size_bytes;
}

static int contains(const hg_bind *outer, const hg_bind *inner)
{
    return outer->mem == inner->mem && outer->offset_bytes <= inner->offset_bytes &&
           inner->offset_bytes + inner->size_bytes <= outer->offset_bytes + outer->size_bytes;
}

static int remember(hg_tracker *t, const hg_bind *range, uint32_t access)
{
    for (size_t i = 0; i < t->count; i++)
        if (contains(&t->entries[i].range, range) && (t->entries[i].access & access) == access)
            return 1;
    if (t->count == t->room) {
        const size_t room = t->room ? t->room * 2 : 64;
        entry *grown = realloc(t->entries, room * sizeof(*grown));

        if (!grown)
            return 0;
        t->entries = grown;
        t->room = room;
    }
    t->entries[t->count++] = (entry){.range = *range, .access = access};
    return 1;
}

static void drop(hg_tracker *t, size_t index)
{
    t->entries[index] = t->entries[--t->count];
}

/* After a barrier over these hazards: reads are over, and the writes it covered are visible. */
static void settle(hg_tracker *t, const hg_hazard *hazards, size_t hazard_count)
{
    for (size_t i = t->count; i-- > 0;) {
        int covered = !(t->entries[i].access & HG_ACCESS_W);

        for (size_t h = 0; h < hazard_count && !covered; h++)
            covered = contains(&hazards[h].range, &t->entries[i].range);
        if (covered)
            drop(t, i);
    }
}

size_t hg_tracker_step(hg_tracker *tracker, const hg_bind *binds, const uint8_t *access,
                       uint32_t count, hg_hazard hazards[HG_HAZARDS_MAX])
{
    size_t found = 0;

    for (size_t e = 0; e < tracker->count && found < HG_HAZARDS_MAX; e++) {
        uint32_t after = 0;

        for (uint32_t b = 0; b < count; b++)
            if (overlaps(&tracker->entries[e].range, &binds[b]) &&
                ((tracker->entries[e].access | access[b]) & HG_ACCESS_W))
                after |= access[b];
        if (after)
            hazards[found++] = (hg_hazard){.range = tracker->entries[e].range,
                                           .before = tracker->entries[e].access,
                                           .after = after};
    }
    if (found > 0)
        settle(tracker, hazards, found);
    if (found == HG_HAZARDS_MAX)
        return found;
    for (uint32_t b = 0; b < count; b++)
        if (!remember(tracker, &binds[b], access[b]))
            return SIZE_MAX;
    return found;
}

void hg_tracker_forget(hg_tracker *tracker, const hg_mem *mem)
{
    for (size_t i = tracker->count; i-- > 0;)
        if (tracker->entries[i].range.mem == mem)
            drop(tracker, i);
}
