/* SPDX-License-Identifier: MIT */
/*
 * The shipped kernel table on a real OpenCL device: every variant builds and has the arguments of
 * its row, and a matrix product through the whole seam gives the bytes of the kernel's own text.
 * What each kernel computes is judged elsewhere.
 */
#include "opencl/cl.h"

#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t device_index;
static hg_dev *dev;

static void write_line(void *user, hg_log_level level, const char *line)
{
    (void)user;
    (void)level;
    print_message("%s\n", line);
}

static hg_result open_device(void)
{
    const hg_log log = {.write = write_line, .level = HG_LOG_WARNING};
    hg_snapshot found[HG_CL_DEVICES_MAX];
    uint32_t count = HG_CL_DEVICES_MAX;
    hg_plan plan;

    if (hg_backend_opencl.enumerate(&log, found, &count) != HG_OK || count <= device_index)
        return HG_ERR_NO_DEVICE;
    plan = (hg_plan){.device = found[device_index],
                     .limits = found[device_index].limits,
                     .features = found[device_index].features,
                     .log = log};
    return hg_backend_opencl.open(&plan, NULL, &dev);
}

static void test_build(void **state)
{
    uint32_t failed = 0;

    (void)state;
    assert_true(hg_variant_count > 0);
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        uint32_t spec[HG_SPEC_MAX] = {0};
        hg_pipe *pipe = NULL;

        if (!v->cl_source)
            continue;
        memcpy(spec, v->spec_default, v->spec_count * sizeof(*spec));
        if (hg_backend_opencl.prepare(dev, v, spec, &pipe) != HG_OK)
            failed++;
    }
    assert_int_equal(failed, 0);
}

typedef struct product {
    struct hg_matmul_params params;
    uint32_t x_words, w_words, y_words;
    uint32_t *x, *w, *y, *expect;
} product;

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Bits of +-1.m x 2^-3..2^0: inside the range of every weight type. */
static uint32_t small_f32(uint32_t *seed)
{
    return (next(seed) & 1) << 31 | (124 + next(seed) % 4) << 23 | (next(seed) & 0x7fffff);
}

static void make_product(product *p, hg_dtype dtype)
{
    uint32_t seed = 11;

    *p = (product){.params = {.rows = 13, .k = 200, .cols = 37, .y_stride = 37}};
    p->x_words = p->params.rows * p->params.k;
    p->w_words = p->params.cols * p->params.k / (dtype == HG_DTYPE_F32 ? 1 : 2);
    p->y_words = p->params.rows * p->params.y_stride;
    p->x = calloc(p->x_words, 4);
    p->w = calloc(p->w_words, 4);
    p->y = calloc(p->y_words, 4);
    p->expect = calloc(p->y_words, 4);
    assert_true(p->x && p->w && p->y && p->expect);
    for (uint32_t i = 0; i < p->x_words; i++)
        p->x[i] = small_f32(&seed);
    for (uint32_t i = 0; i < p->w_words; i++) {
        const uint32_t high = small_f32(&seed), low = small_f32(&seed);

        p->w[i] = high;
        if (dtype == HG_DTYPE_BF16)
            p->w[i] = (high & 0xffff0000u) | low >> 16;
        else if (dtype == HG_DTYPE_F16) /* sign, exponent 12..15, ten bits */
            p->w[i] = (high & 0x80008000u) | (high & 0x03ff03ffu) | 0x30003000u;
    }
}

static hg_bind upload(const uint32_t *words, uint32_t count)
{
    const hg_mem_desc desc = {
        .size_bytes = 4 * (uint64_t)count, .kind = HG_MEM_UPLOAD, .name = "matmul"};
    hg_mem *mem = NULL;
    void *to = NULL;

    assert_int_equal(hg_backend_opencl.alloc(dev, &desc, &mem), HG_OK);
    assert_int_equal(hg_backend_opencl.map(mem, 0, desc.size_bytes, HG_MAP_WRITE, &to), HG_OK);
    memcpy(to, words, (size_t)desc.size_bytes);
    hg_backend_opencl.unmap(mem, 0, desc.size_bytes);
    return (hg_bind){mem, 0, desc.size_bytes};
}

static void run_product(product *p, const hg_variant *v)
{
    uint32_t no_bias[64] = {0};
    uint32_t spec[HG_SPEC_MAX] = {0};
    hg_bind binds[4] = {upload(p->x, p->x_words), upload(p->w, p->w_words), upload(no_bias, 64),
                        upload(p->y, p->y_words)};
    void *const text_binds[4] = {p->x, p->w, no_bias, p->expect};
    hg_text_call call = {.params = &p->params, .bind = text_binds, .spec = spec};
    hg_pipe *pipe = NULL;
    hg_list *list = NULL;
    uint64_t point = 0;
    void *from = NULL;

    memcpy(spec, v->spec_default, v->spec_count * sizeof(*spec));
    v->grid(&p->params, spec, v->threads, call.groups);
    call.group_end = call.groups[0] * call.groups[1] * call.groups[2];
    v->text(&call);
    assert_int_equal(hg_backend_opencl.prepare(dev, v, spec, &pipe), HG_OK);
    assert_int_equal(hg_backend_opencl.begin(dev, NULL, &list), HG_OK);
    hg_backend_opencl.dispatch(list, pipe, &p->params, binds, 4, call.groups);
    assert_int_equal(hg_backend_opencl.submit(&list, NULL, 0, NULL, 0, &point), HG_OK);
    assert_int_equal(hg_backend_opencl.wait(dev, point, UINT64_MAX), HG_OK);
    assert_int_equal(
        hg_backend_opencl.map(binds[3].mem, 0, binds[3].size_bytes, HG_MAP_READ, &from), HG_OK);
    memcpy(p->y, from, (size_t)binds[3].size_bytes);
    hg_backend_opencl.unmap(binds[3].mem, 0, binds[3].size_bytes);
    for (int i = 0; i < 4; i++)
        hg_backend_opencl.release(&binds[i].mem);
}

static void test_matmul(void **state)
{
    static const hg_dtype dtypes[] = {HG_DTYPE_F32, HG_DTYPE_F16, HG_DTYPE_BF16};

    (void)state;
    for (int i = 0; i < 3; i++) {
        product p;
        uint32_t written = 0;

        make_product(&p, dtypes[i]);
        run_product(&p, hg_variant_t0(HG_KERNEL_matmul, dtypes[i]));
        assert_memory_equal(p.y, p.expect, p.y_words * sizeof(*p.y));
        for (uint32_t y = 0; y < p.y_words; y++)
            written += p.expect[y] != 0;
        assert_int_equal(written, p.y_words);
        free(p.x);
        free(p.w);
        free(p.y);
        free(p.expect);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_build), cmocka_unit_test(test_matmul)};
    int failed;

    if (argc == 3 && strcmp(argv[1], "--device") == 0 && strncmp(argv[2], "cl:", 3) == 0)
        device_index = (uint32_t)strtoul(argv[2] + 3, NULL, 10);
    if (open_device() != HG_OK) {
        printf("skipped: no OpenCL device %u here\n", device_index);
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_backend_opencl.close(&dev);
    return failed;
}
