/* SPDX-License-Identifier: MIT */
/* The free ranges of a block: best fit over a short sorted array. See vk_ranges.h. */
#include "vk_ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

hg_result hg_vk_ranges_init(hg_vk_ranges *ranges, uint64_t size)
{
    *ranges = (hg_vk_ranges){0};
    ranges->free = calloc(4, sizeof(*ranges->free));
    if (!ranges->free)
        return HG_ERR_HOST_MEMORY;
    ranges->room = 4;
    ranges->count = 1;
    ranges->free[0].size = size;
    return HG_OK;
}

void hg_vk_ranges_destroy(hg_vk_ranges *ranges)
{
    free(ranges->free);
    *ranges = (hg_vk_ranges){0};
}

/* n live ranges leave at most n + 1 free ones between them. */
static hg_result make_room(hg_vk_ranges *ranges, uint32_t live)
{
    uint32_t room = ranges->room;
    hg_vk_range *grown;

    if (room >= live + 1)
        return HG_OK;
    while (room < live + 1)
        room *= 2;
    grown = realloc(ranges->free, room * sizeof(*grown));
    if (!grown)
        return HG_ERR_HOST_MEMORY;
    ranges->free = grown;
    ranges->room = room;
    return HG_OK;
}

/* UINT32_MAX: none is large enough. */
static uint32_t best_fit(const hg_vk_ranges *ranges, uint64_t size)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->free[i].size >= size &&
            (best == UINT32_MAX || ranges->free[i].size < ranges->free[best].size))
            best = i;
    return best;
}

uint64_t hg_vk_ranges_fit(const hg_vk_ranges *ranges, uint64_t size)
{
    const uint32_t best = best_fit(ranges, size);

    return best == UINT32_MAX ? 0 : ranges->free[best].size;
}

hg_result hg_vk_ranges_take(hg_vk_ranges *ranges, uint64_t size, uint64_t *offset)
{
    const uint32_t best = best_fit(ranges, size);
    hg_vk_range *range;

    assert(size > 0);
    if (best == UINT32_MAX)
        return HG_ERR_DEVICE_MEMORY;
    if (make_room(ranges, ranges->live + 1) != HG_OK)
        return HG_ERR_HOST_MEMORY;
    range = &ranges->free[best];
    *offset = range->offset;
    range->offset += size;
    range->size -= size;
    if (range->size == 0) {
        memmove(range, range + 1, (ranges->count - best - 1) * sizeof(*range));
        ranges->count--;
    }
    ranges->live++;
    return HG_OK;
}

void hg_vk_ranges_give(hg_vk_ranges *ranges, uint64_t offset, uint64_t size)
{
    hg_vk_range *all = ranges->free;
    uint32_t at = 0;
    int joins_before, joins_after;

    assert(ranges->live > 0);
    while (at < ranges->count && all[at].offset < offset)
        at++;
    joins_before = at > 0 && all[at - 1].offset + all[at - 1].size == offset;
    joins_after = at < ranges->count && offset + size == all[at].offset;
    if (joins_before && joins_after) {
        all[at - 1].size += size + all[at].size;
        memmove(&all[at], &all[at + 1], (ranges->count - at - 1) * sizeof(*all));
        ranges->count--;
    } else if (joins_before) {
        all[at - 1].size += size;
    } else if (joins_after) {
        all[at].offset = offset;
        all[at].size += size;
    } else {
        assert(ranges->count < ranges->room);
        memmove(&all[at + 1], &all[at], (ranges->count - at) * sizeof(*all));
        all[at] = (hg_vk_range){offset, size};
        ranges->count++;
    }
    ranges->live--;
}
