/* SPDX-License-Identifier: MIT */
/* hg_trial_close that remembers, and whether the bounds fit what it saw. */
#ifndef HG_TEST_KERNELS_JUDGE_H
#define HG_TEST_KERNELS_JUDGE_H

#include "trial.h"

/* As hg_trial_close; remembers the worst per kernel. */
int hg_judge_close(const hg_trial *trial, uint8_t *ref, const uint8_t *found,
                   const double *magnitude, char *why, size_t why_bytes);

/* How many kernels have a bound above 32 x the worst error that was seen; prints a line each. */
uint32_t hg_judge_bounds_fit(void);

#endif
