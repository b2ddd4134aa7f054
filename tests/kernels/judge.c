/* SPDX-License-Identifier: MIT */
/* What the bounds of the kernels are worth: the worst errors that a program saw beside them. */
#include "judge.h"

#include "bound.h"

#include <stdio.h>

static double worst[HG_KERNEL_COUNT];

int hg_judge_close(const hg_trial *trial, uint8_t *ref, const uint8_t *found,
                   const double *magnitude, char *why, size_t why_bytes)
{
    return hg_trial_close(trial, ref, found, magnitude, &worst[trial->variant->kernel], why,
                          why_bytes);
}

uint32_t hg_judge_bounds_fit(void)
{
    uint32_t loose = 0;

    for (uint32_t k = 0; k < HG_KERNEL_COUNT; k++) {
        if (hg_bound_units((hg_kernel_id)k) == 0)
            continue;
        printf("%s: worst error %.3g u magnitude, bound %.3g\n", hg_kernels[k].name, worst[k],
               hg_bound_units((hg_kernel_id)k));
        if (hg_bound_units((hg_kernel_id)k) > 1 && hg_bound_units((hg_kernel_id)k) > 32 * worst[k])
            loose++;
    }
    return loose;
}
