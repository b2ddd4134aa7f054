/* SPDX-License-Identifier: MIT */
/*
 * Whether a device computes a variant rightly: on the shapes of the table, against both oracles,
 * several times over. The public self test and trust.c (before first use) are built on it.
 */
#ifndef HG_ENGINE_SELFTEST_H
#define HG_ENGINE_SELFTEST_H

#include "trial.h"

enum { HG_REPLAYS_QUICK = 2, HG_REPLAYS_FULL = 5 };

typedef struct hg_check {
    int passed;
    int refused; /* the driver did not take it: the machine's trouble may be, not a wrong result */
    int within_bound; /* it failed by its bytes alone: the bound of fp32 holds */
    char why[256];    /* the first wrong element, in words */
} hg_check;

/* A result is returned only when nothing can be said of the variant: no memory, a lost device. A
 * driver that refuses the kernel is a check that failed. */
hg_result hg_selftest_try(hg_trial_room *room, const hg_variant *variant, const hg_shape *shape,
                          uint32_t replays, hg_check *out);

/* The same on every quick shape, up to the first that fails; why then begins with its name. */
hg_result hg_selftest_quick(hg_trial_room *room, const hg_variant *variant, hg_check *out);

/* Room for these shapes of every variant. */
uint64_t hg_selftest_room_bytes(int quick);

#endif
