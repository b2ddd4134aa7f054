/* SPDX-License-Identifier: MIT */
/*
 * A table of OpenCL functions between the backend and a driver: counts calls and living objects,
 * and makes one call fail. One at a time in a program.
 */
#ifndef HG_TEST_OPENCL_SPY_H
#define HG_TEST_OPENCL_SPY_H

#include "opencl/cl.h"

typedef enum hg_spy_call {
#define STATUS(name, params, args) HG_SPY_##name,
#define OBJECT(name, type, params, args) HG_SPY_##name,
#include "opencl/cl_functions.def"
    HG_SPY_COUNT
} hg_spy_call;

typedef struct hg_spy {
    hg_cl base;       /* the driver behind */
    uint32_t calls;   /* since the start */
    uint32_t fail_at; /* this call fails, counted from 1; 0: none */
    cl_int fail_code;
    const char *failed; /* name of the function that was made to fail; NULL: none was */
    uint32_t count[HG_SPY_COUNT];
    int32_t objects; /* made and not yet released: contexts, queues, buffers, programs, kernels,
                        events */
} hg_spy;

extern hg_spy hg_spy_state;

/* The table that goes through the spy to `base`; all counters at 0. */
void hg_spy_start(const hg_cl *base, uint32_t fail_at, cl_int fail_code, hg_cl *out);

#endif
