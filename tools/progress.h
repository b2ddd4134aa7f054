/* SPDX-License-Identifier: MIT */
/*
 * Progress of anything that takes more than a second, on a terminal only, and the way a signal
 * cancels the library's work: every step asks hg_interrupt_pending.
 */
#ifndef HG_TOOLS_PROGRESS_H
#define HG_TOOLS_PROGRESS_H

#include <headgate/base.h>

#include <stdint.h>

typedef struct hg_meter {
    uint64_t start_ns; /* of the command */
    uint64_t drawn_ns;
    const char *title; /* "baseline", or NULL */
} hg_meter;

uint64_t hg_clock_ns(void); /* monotonic */

void hg_meter_start(hg_meter *meter);
/* For hg_progress.step, user a hg_meter. */
int hg_meter_step(void *user, const char *what, uint64_t done, uint64_t total);
/* Takes the line away. */
void hg_meter_stop(hg_meter *meter);

#endif
