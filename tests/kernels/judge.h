/* SPDX-License-Identifier: MIT */
/* Compares two results of a call: by bytes, or by the bound that the reference's magnitude allows.
 */
#ifndef HG_TEST_KERNELS_JUDGE_H
#define HG_TEST_KERNELS_JUDGE_H

#include "call.h"

/* Elements of the output binding. */
uint64_t hg_judge_elements(const hg_call *call);

/* The whole blocks are the same bytes; why: the first word that is not, in words. */
bool hg_judge_same(const hg_call *call, const uint8_t *expected, const uint8_t *found, char *why,
                   size_t why_bytes);

/* Every written element is within u x c x magnitude of ref (docs/DECISIONS.md D8, D14), what ref
 * left alone is left alone. Remembers the worst per kernel. */
bool hg_judge_close(const hg_call *call, uint8_t *ref, const uint8_t *found,
                    const double *magnitude, char *why, size_t why_bytes);

/* How many kernels have a bound above 32 x the worst error that was seen; prints a line each. */
uint32_t hg_judge_bounds_fit(void);

#endif
