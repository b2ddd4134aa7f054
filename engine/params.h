/* SPDX-License-Identifier: MIT */
/*
 * Structs that cross the interface between versions: they grow at the end only, and struct_size,
 * their first member, says how much of one the caller knows (0: all of this version).
 */
#ifndef HG_ENGINE_PARAMS_H
#define HG_ENGINE_PARAMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t hg_struct_known(const void *theirs, size_t ours_bytes)
{
    uint32_t told;

    memcpy(&told, theirs, sizeof(told));
    return told == 0 || told > ours_bytes ? ours_bytes : told;
}

/* Bytes from one element of the caller's array to the next: what the first one says, however new
 * the caller. */
static inline size_t hg_struct_stride(const void *first, size_t ours_bytes)
{
    uint32_t told;

    memcpy(&told, first, sizeof(told));
    return told ? told : ours_bytes;
}

/* In: the caller's params as this version's, zeros (the defaults) where the caller knows no such
 * field. NULL: all zero. */
static inline void hg_struct_in(void *ours, size_t ours_bytes, const void *theirs)
{
    memset(ours, 0, ours_bytes);
    if (theirs)
        memcpy(ours, theirs, hg_struct_known(theirs, ours_bytes));
}

/* Out: as much of a result as the caller has room for. What the caller said of its size stays. */
static inline void hg_struct_out(void *theirs, const void *ours, size_t ours_bytes)
{
    const size_t bytes = hg_struct_known(theirs, ours_bytes);
    const uint32_t told = (uint32_t)bytes;

    memcpy(theirs, ours, bytes);
    memcpy(theirs, &told, sizeof(told));
}

#endif
