/* SPDX-License-Identifier: MIT */
/* The bounds, and what they are worth. */
#include "judge.h"

#include "bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double worst[HG_KERNEL_COUNT];

uint64_t hg_judge_elements(const hg_call *call)
{
    return call->size_bytes[call->kernel->output] / 4;
}

static uint32_t word_at(const uint8_t *block, uint64_t at)
{
    uint32_t word;

    memcpy(&word, block + at, sizeof(word));
    return word;
}

static double value_at(const uint8_t *block, uint64_t at)
{
    float value;

    memcpy(&value, block + at, sizeof(value));
    return value;
}

bool hg_judge_same(const hg_call *call, const uint8_t *expected, const uint8_t *found, char *why,
                   size_t why_bytes)
{
    uint64_t at = 0;
    const char *place = "the guard";
    uint64_t from = 0;

    if (memcmp(expected, found, call->block_bytes) == 0)
        return true;
    while (word_at(expected, at) == word_at(found, at))
        at += 4;
    for (uint32_t b = 0; b < call->kernel->bind_count; b++) {
        if (at >= call->offset_bytes[b] && at < call->offset_bytes[b] + call->size_bytes[b]) {
            place = call->kernel->bind[b].name;
            from = call->offset_bytes[b];
        }
    }
    (void)snprintf(why, why_bytes, "%s[%llu]: expected %08x (%.9g), found %08x (%.9g)", place,
                   (unsigned long long)((at - from) / 4), word_at(expected, at),
                   value_at(expected, at), word_at(found, at), value_at(found, at));
    return false;
}

static bool close_bind(const hg_call *call, uint32_t bind, const uint8_t *ref, const uint8_t *found,
                       const double *allowed, double floor, char *why, size_t why_bytes)
{
    const hg_kernel_id kernel = call->variant->kernel;
    const double units = hg_bound_units(kernel);

    for (uint64_t i = 0; i < call->size_bytes[bind] / 4; i++) {
        const uint64_t at = call->offset_bytes[bind] + i * 4;
        const double expected = value_at(ref, at);
        const double actual = value_at(found, at);
        const double error = fabs(expected - actual) - floor;
        double spent;

        if (word_at(ref, at) == word_at(found, at))
            continue;
        if (!hg_bound_holds(expected, actual, allowed[i])) {
            (void)snprintf(why, why_bytes, "%s[%llu]: expected %.9g, found %.9g, allowed %.3g",
                           call->kernel->bind[bind].name, (unsigned long long)i, expected, actual,
                           allowed[i]);
            return false;
        }
        spent = error > 0 && allowed[i] > floor ? error / (allowed[i] - floor) * units : 0;
        if (isfinite(spent) && spent > worst[kernel])
            worst[kernel] = spent;
    }
    return true;
}

bool hg_judge_close(const hg_call *call, uint8_t *ref, const uint8_t *found,
                    const double *magnitude, char *why, size_t why_bytes)
{
    const hg_kernel_id kernel = call->variant->kernel;
    void *bind[HG_BINDS_MAX] = {NULL};
    double *allowed = malloc(call->block_bytes * 2);
    bool good = allowed != NULL;
    double floor;

    for (uint32_t b = 0; b < call->kernel->bind_count; b++)
        bind[b] = ref + call->offset_bytes[b];
    if (!good)
        (void)snprintf(why, why_bytes, "no memory for the bounds");
    floor = hg_bound_floor(kernel, &call->params, bind, call->elements);
    for (uint32_t b = 0; good && b < call->kernel->bind_count; b++) {
        if (call->kernel->bind[b].access == HG_ACCESS_R)
            continue;
        hg_bound_allowed(kernel, &call->params, bind, call->elements, call->variant->dtype, b,
                         magnitude, allowed);
        good = close_bind(call, b, ref, found, allowed, floor, why, why_bytes);
    }
    free(allowed);
    return good;
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
