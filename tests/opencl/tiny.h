/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the OpenCL backend share: a kernel table of their own with a few tiny kernels,
 * so that nothing of shaders/ is needed, a log that remembers, and an opened device with steps that
 * must not fail.
 */
#ifndef HG_TEST_OPENCL_TINY_H
#define HG_TEST_OPENCL_TINY_H

#include "opencl/cl.h"
#include "plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* y[i] = x[i] * SCALE + add for i < count, over a flat grid of three dimensions; `rounds` times
 * over. */
struct hg_tiny_params {
    uint32_t count;
    float add;
    uint32_t rounds;
};

enum { HG_TINY_THREADS = 64 };

extern const hg_variant hg_tiny_scale;           /* spec: SCALE */
extern const hg_variant hg_tiny_broken;          /* does not compile */
extern const hg_variant hg_tiny_missing;         /* compiles, without its function */
extern const hg_variant hg_tiny_arity;           /* takes another number of arguments */
extern const hg_variant hg_tiny_wide;            /* more threads than any device runs in a group */
extern const hg_variant hg_tiny_nothing;         /* no OpenCL source */
extern const uint32_t hg_tiny_spec[HG_SPEC_MAX]; /* SCALE 2 */

typedef struct hg_tiny_log {
    hg_log log;
    uint32_t errors, warnings, infos;
    char text[8192]; /* the lines so far, one after another; cut */
} hg_tiny_log;

void hg_tiny_log_start(hg_tiny_log *log);

/* The device of backend_index under a table; opened without cache and with all of its features. */
hg_result hg_tiny_plan(const hg_cl *cl, uint32_t backend_index, const hg_log *log, hg_plan *out);
hg_dev *hg_tiny_open(const hg_cl *cl, const hg_plan *plan);

hg_mem *hg_tiny_alloc(hg_dev *dev, hg_mem_kind kind, uint64_t size_bytes);
hg_bind hg_tiny_all(hg_mem *mem);
void hg_tiny_write(hg_mem *mem, uint64_t offset_bytes, const void *bytes, uint64_t size);
void hg_tiny_read(hg_mem *mem, uint64_t offset_bytes, void *bytes, uint64_t size);
hg_pipe *hg_tiny_prepare(hg_dev *dev, uint32_t scale);
hg_list *hg_tiny_begin(hg_dev *dev);
/* y = x * SCALE + add, in one dimension. */
void hg_tiny_scale_record(hg_list *list, hg_pipe *pipe, hg_bind x, hg_bind y, float add,
                          uint32_t rounds);
uint64_t hg_tiny_submit(hg_list *list);
void hg_tiny_finish(hg_list *list); /* submits and waits */

/* N of "--device cl:N"; anything else ends the program with a message and 2. Without the option:
 * none. */
#define HG_TINY_NO_DEVICE UINT32_MAX
uint32_t hg_tiny_device(int argc, char **argv);

#endif
