/* SPDX-License-Identifier: MIT */
/* Shared by the files of compare only. */
#ifndef HG_TOOLS_COMPARE_PARTS_H
#define HG_TOOLS_COMPARE_PARTS_H

#include "compare.h"

/* Which child: sides are 0 and up. */
enum { HG_COMPARE_REFERENCE = -1, HG_COMPARE_TEXT = -2 };

typedef struct hg_compare_job {
    const hg_compare_params *params;
    const hg_spool *reference; /* NULL while it is being made */
    int32_t who;
    uint32_t piece, map_pool;
    char error[400]; /* in the child */
    int is_list;     /* of what follows */
} hg_compare_job;

/* The hg_child_work of a hg_compare_job. */
int hg_compare_work(void *user, int fd);

/* The L2 distance that rounding explains at a stage where the text is d away from the reference.
 * relative: of the stages so far, starts as 0. */
double hg_rounding_of(const hg_difference *d, double *relative);

/* Verdicts of every side, and of all, with their sentences. */
void hg_compare_judge(hg_comparison *comparison);
/* The sentences, once verdicts are there; decisive: the side that counts for the whole. */
void hg_compare_explain(hg_comparison *comparison, const hg_compare_side *decisive);

#endif
