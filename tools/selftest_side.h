/* SPDX-License-Identifier: MIT */
/* The self test of one device, in a child: what it said of each kernel, or how it ended. */
#ifndef HG_TOOLS_SELFTEST_SIDE_H
#define HG_TOOLS_SELFTEST_SIDE_H

#include "machine.h"
#include "selftest_tally.h"

typedef struct hg_selftest_side {
    char label[HG_NAME_SIZE]; /* as it was asked for */
    hg_machine_choice choice;
    hg_device_info device; /* name "" until the child has told it */
    hg_selftest_tally *tally;
    uint32_t complaints; /* of the validation layer */
    hg_result result;    /* HG_ERR_DRIVER: it crashed, hung or broke a promise: failure */
    char failure[512];   /* "" when it came to its end */
} hg_selftest_side;

typedef struct hg_selftest_job {
    hg_app *app;
    hg_selftest_params level;
    uint32_t timeout_s;
} hg_selftest_job;

/* HG_OK whatever the verdict; HG_CANCELLED; HG_ERR_HOST_MEMORY. */
hg_result hg_selftest_side_run(const hg_selftest_job *job, hg_selftest_side *side);
void hg_selftest_side_free(hg_selftest_side *side);

#endif
