/* SPDX-License-Identifier: MIT */
/*
 * Stages of one run in a file: a temporary one without a name while devices are compared, or a
 * record (.hgr) that was loaded. Heads are in memory, values are read when somebody wants them.
 * Reads are by position, so that a child may use the parent's spool.
 */
#ifndef HG_TOOLS_SPOOL_H
#define HG_TOOLS_SPOOL_H

#include "output.h"
#include "stage_frame.h"

typedef struct hg_spool_entry {
    hg_stage_head head;
    uint64_t values_at, allowed_at; /* bytes from the start of the file; 0: not there */
} hg_spool_entry;

typedef struct hg_spool {
    int fd; /* -1: closed */
    uint64_t bytes;
    hg_spool_entry *entries;
    uint32_t count, room;
} hg_spool;

/* In $TMPDIR, else /var/tmp: may hold hundreds of MB. */
hg_result hg_spool_create(hg_spool *spool);
void hg_spool_close(hg_spool *spool);

/* values, allowed: as the head says, else ignored. HG_ERR_OUTPUT: the disk is full. */
hg_result hg_spool_append(hg_spool *spool, const hg_stage_head *head, const float *values,
                          const float *allowed);
/* [head.count] floats. HG_ERR_ARGUMENT: not kept. HG_ERR_FILE: cannot be read any more. */
hg_result hg_spool_values(const hg_spool *spool, uint32_t index, float *out);
hg_result hg_spool_allowed(const hg_spool *spool, uint32_t index, float *out);

#endif
