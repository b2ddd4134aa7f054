/* SPDX-License-Identifier: MIT */
/*
 * Runs a call on a device through the seam: one block of device memory for all calls (drivers that
 * do not like much allocating), copied in, computed on, copied out.
 */
#ifndef HG_TEST_KERNELS_RUNNER_H
#define HG_TEST_KERNELS_RUNNER_H

#include "call.h"
#include "device.h"

typedef struct hg_runner {
    hg_engine *engine;
    hg_mem *upload, *block, *readback;
    uint64_t room_bytes;
} hg_runner;

/* HG_ERR_NO_DEVICE: skip. Errors go to stderr. */
hg_result hg_runner_open(hg_runner *runner, const char *selector, const char *limits,
                         hg_precision precision, uint64_t room_bytes);
void hg_runner_close(hg_runner *runner);

/* after: block_bytes, what the block holds afterwards. ns: NULL, or the time from submit to done.
 */
hg_result hg_runner_run(hg_runner *runner, const hg_call *call, uint8_t *after, uint64_t *ns);

#endif
