/* SPDX-License-Identifier: MIT */
/* An engine of one device with room for trials, as the tests of kernels open it. */
#ifndef HG_TEST_KERNELS_RUNNER_H
#define HG_TEST_KERNELS_RUNNER_H

#include "trial.h"

typedef struct hg_runner {
    hg_engine *engine;
    hg_trial_room room;
} hg_runner;

/* tier: NULL, or as in hg_engine_params. HG_ERR_NO_DEVICE: skip. Errors go to stderr. */
hg_result hg_runner_open(hg_runner *runner, const char *selector, const char *limits,
                         hg_precision precision, const char *tier, uint64_t room_bytes);
void hg_runner_close(hg_runner *runner);

#endif
