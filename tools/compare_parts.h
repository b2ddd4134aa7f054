/* SPDX-License-Identifier: MIT */
/* Shared by the files of compare only. */
#ifndef HG_TOOLS_COMPARE_PARTS_H
#define HG_TOOLS_COMPARE_PARTS_H

#include "compare.h"

/* The L2 distance that rounding explains at a stage where the text is d away from the reference.
 * relative: of the stages so far, starts as 0. */
double hg_rounding_of(const hg_difference *d, double *relative);

/* Verdicts of every side, and of all, with their sentences. */
void hg_compare_judge(hg_comparison *comparison);
/* The sentences, once verdicts are there; decisive: the side that counts for the whole. */
void hg_compare_explain(hg_comparison *comparison, const hg_compare_side *decisive);

#endif
