/* SPDX-License-Identifier: MIT */
/*
 * What the Vulkan tests share: three small kernels with their own table (the real one is not
 * linked), a log that keeps its last lines, a device opened with features switched off, and short
 * ways to make a buffer, fill it and read it back.
 */
#ifndef HG_TESTS_VULKAN_FIXTURE_H
#define HG_TESTS_VULKAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vulkan/vk.h"

/* Rows of the test's own kernel table, under names of the enum that are free here. */
enum {
    TEST_AFFINE = HG_KERNEL_embed_rows, /* x, y; struct affine_params */
    TEST_SUM8 = HG_KERNEL_rms_norm,     /* a..g, y; 32 words */
    TEST_GROUPS = HG_KERNEL_matmul      /* y; none */
};

typedef struct affine_params {
    uint32_t count;
    float scale, bias;
} affine_params;

extern const hg_variant affine_variant, sum8_variant, groups_variant;

typedef struct test_log {
    hg_log log;
    char last[4][512]; /* newest line of each level */
    uint32_t lines[4];
} test_log;

typedef struct fixture {
    test_log log;
    hg_plan plan;
    hg_dev *dev;
} fixture;

void test_log_init(test_log *log);

/* Options of the command line: --without timeline,push,unified,timestamps,rte. 77 when no device is
 * there. */
int fixture_options(int argc, char **argv);
hg_plan fixture_plan(fixture *f);
int fixture_open(void **state);  /* cmocka setup */
int fixture_close(void **state); /* cmocka teardown: fails on any validation message */

hg_mem *make_mem(fixture *f, hg_mem_kind kind, uint64_t size_bytes);
hg_pipe *make_pipe(fixture *f, const hg_variant *variant, uint32_t spec0);
hg_list *make_list(fixture *f);
uint64_t submit(fixture *f, hg_list **list);
void finish(fixture *f, uint64_t point);
hg_bind whole(hg_mem *mem);
hg_bind part(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes);
void barrier(hg_list *list, hg_bind range, uint32_t before, uint32_t after);

/* Through an upload or readback buffer and a submit of its own, or a map where the buffer allows
 * it. */
void write_mem(fixture *f, hg_mem *mem, const void *bytes, uint64_t size_bytes);
void read_mem(fixture *f, hg_mem *mem, void *bytes, uint64_t size_bytes);
void run_affine(hg_list *list, hg_pipe *pipe, hg_mem *x, hg_mem *y, affine_params params);

#endif
