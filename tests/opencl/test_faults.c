/* SPDX-License-Identifier: MIT */
/*
 * Every call of a whole life of a device made to fail in turn, on the made-up driver or on a real
 * one: an error with a sentence, or the right result all the same; nothing left behind.
 */
#include "fake.h"
#include "spy.h"
#include "tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 300, BYTES = 4 * WORDS, OFFSET = HG_BIND_ALIGN_BYTES };

static uint32_t device_index;
static hg_cl real;

static hg_result alloc(hg_dev *dev, hg_mem_kind kind, hg_mem **out)
{
    const hg_mem_desc desc = {.size_bytes = OFFSET + BYTES, .kind = kind, .name = "fault"};

    return hg_backend_opencl.alloc(dev, &desc, out);
}

static hg_result write_input(hg_mem *mem)
{
    float *to = NULL;
    void *view = NULL;
    const hg_result res = hg_backend_opencl.map(mem, 0, BYTES, HG_MAP_WRITE, &view);

    if (res != HG_OK)
        return res;
    to = view;
    for (int i = 0; i < WORDS; i++)
        to[i] = (float)i;
    hg_backend_opencl.unmap(mem, 0, BYTES);
    return HG_OK;
}

static hg_result check_output(hg_mem *mem)
{
    void *view = NULL;
    const float *from;
    const hg_result res = hg_backend_opencl.map(mem, 0, BYTES, HG_MAP_READ, &view);

    if (res != HG_OK)
        return res;
    from = view;
    for (int i = 0; i < WORDS; i++)
        assert_true(from[i] == (i < 2 ? 0.0f : (float)(2 * i + 1)));
    hg_backend_opencl.unmap(mem, 0, BYTES);
    return HG_OK;
}

static hg_result submit_work(hg_dev *dev, hg_pipe *pipe, hg_mem *up, hg_mem *work, hg_mem *back)
{
    const hg_bind range = {work, OFFSET, BYTES};
    hg_list *list = NULL;
    uint64_t point = 0, ns[2] = {0, 0};
    hg_result res = hg_backend_opencl.begin(dev, NULL, &list);

    if (res != HG_OK)
        return res;
    hg_backend_opencl.mark(list, "start", 0);
    hg_backend_opencl.copy(list, range, (hg_bind){up, 0, BYTES});
    hg_tiny_scale_record(list, pipe, range, range, 1, 1);
    hg_backend_opencl.fill(list, (hg_bind){work, OFFSET, 8}, 0);
    hg_backend_opencl.copy(list, (hg_bind){back, 0, BYTES}, range);
    hg_backend_opencl.mark(list, "end", 1);
    res = hg_backend_opencl.submit(&list, NULL, 0, NULL, 0, &point);
    assert_null(list);
    if (res == HG_OK)
        res = hg_backend_opencl.wait(dev, point, UINT64_MAX);
    if (res == HG_OK)
        res = hg_backend_opencl.times(dev, point, ns, 2);
    if (res == HG_OK)
        assert_true(ns[1] >= ns[0] && ns[0] > 0);
    return res;
}

/* Results of the first thing that fails; releases whatever there is. */
static hg_result life(const hg_cl *cl, const hg_log *log, const char *cache_dir)
{
    hg_plan plan;
    hg_dev *dev = NULL;
    hg_mem *up = NULL, *work = NULL, *back = NULL;
    hg_pipe *pipe = NULL;
    hg_result res = hg_tiny_plan(cl, device_index, log, &plan);

    if (res != HG_OK)
        return res;
    plan.cache_dir = cache_dir;
    res = hg_cl_open(cl, &plan, NULL, &dev);
    if (res != HG_OK) {
        assert_null(dev);
        return res;
    }
    if ((res = alloc(dev, HG_MEM_UPLOAD, &up)) == HG_OK &&
        (res = alloc(dev, HG_MEM_SCRATCH, &work)) == HG_OK &&
        (res = alloc(dev, HG_MEM_READBACK, &back)) == HG_OK && (res = write_input(up)) == HG_OK &&
        (res = hg_backend_opencl.prepare(dev, &hg_tiny_scale, hg_tiny_spec, &pipe)) == HG_OK &&
        (res = submit_work(dev, pipe, up, work, back)) == HG_OK)
        res = check_output(back);
    hg_backend_opencl.release(&up);
    hg_backend_opencl.release(&work);
    hg_backend_opencl.release(&back);
    hg_backend_opencl.close(&dev);
    return res;
}

static int listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* A failure that only costs time, or that nothing can be done about any more. */
static const char *const harmless[] = {"clFinish", "clGetProgramInfo", "clGetProgramBuildInfo",
                                       "clCreateProgramWithBinary", NULL};
/* Depends on which of the calls it is: an answer that can be done without, the last unmap, a wait
 * that was not needed, a build of a cached program. */
static const char *const either[] = {"clGetDeviceInfo",         "clGetPlatformInfo",
                                     "clEnqueueUnmapMemObject", "clWaitForEvents",
                                     "clBuildProgram",          NULL};

static uint32_t fail_each(const char *cache_dir, cl_int code)
{
    hg_tiny_log log;
    hg_cl cl;
    uint32_t calls, failures = 0;
    hg_result res;

    hg_tiny_log_start(&log);
    hg_spy_start(&real, 0, 0, &cl);
    assert_int_equal(life(&cl, &log.log, cache_dir), HG_OK);
    assert_int_equal(hg_spy_state.objects, 0);
    assert_int_equal(log.errors, 0);
    calls = hg_spy_state.calls;
    for (uint32_t at = 1; at <= calls; at++) {
        hg_tiny_log_start(&log);
        hg_spy_start(&real, at, code, &cl);
        res = life(&cl, &log.log, cache_dir);
        if (!hg_spy_state.failed)
            break; /* a shorter life: fewer polls */
        if (hg_spy_state.objects != 0)
            fail_msg("%s failed (call %u): %d objects are left", hg_spy_state.failed, at,
                     (int)hg_spy_state.objects);
        if (res > HG_OK || (res != HG_OK && log.errors == 0 && log.infos == 0))
            fail_msg("%s failed (call %u): result %s without a line", hg_spy_state.failed, at,
                     hg_result_name(res));
        if (strncmp(hg_spy_state.failed, "clRelease", strlen("clRelease")) == 0 ||
            listed(harmless, hg_spy_state.failed)) {
            if (res != HG_OK)
                fail_msg("%s failed (call %u): %s", hg_spy_state.failed, at, log.text);
        } else if (res == HG_OK && !listed(either, hg_spy_state.failed)) {
            fail_msg("%s failed (call %u) and nothing was said", hg_spy_state.failed, at);
        }
        failures += res != HG_OK;
    }
    return failures;
}

static void test_without_cache(void **state)
{
    (void)state;
    /* Every function of the table appears at least once in a life with a cache; most are fatal. */
    assert_true(fail_each(NULL, CL_OUT_OF_RESOURCES) > 40);
}

static void test_other_error(void **state)
{
    (void)state;
    assert_true(fail_each(NULL, CL_INVALID_VALUE) > 40);
}

static void test_with_cache(void **state)
{
    char dir[] = "opencl-faults-XXXXXX", command[64];
    hg_tiny_log log;
    hg_cl cl;
    hg_spy first;

    (void)state;
    assert_non_null(mkdtemp(dir));
    hg_tiny_log_start(&log);
    hg_spy_start(&real, 0, 0, &cl);
    assert_int_equal(life(&cl, &log.log, dir), HG_OK); /* stores */
    first = hg_spy_state;
    assert_true(fail_each(dir, CL_OUT_OF_RESOURCES) > 40); /* loads */
    assert_int_equal(hg_spy_state.objects, 0);
    assert_true(first.count[HG_SPY_clCreateProgramWithSource] == 1);
    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): a name of our own
}

/* No memory on the device is said with numbers. */
static void test_memory(void **state)
{
    static const cl_int codes[] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                   CL_OUT_OF_HOST_MEMORY, CL_INVALID_BUFFER_SIZE};
    hg_tiny_log log;
    hg_plan plan;
    hg_dev *dev = NULL;
    hg_mem *mem = NULL;
    hg_mem_desc desc = {.kind = HG_MEM_WEIGHT, .name = "weights"};
    hg_cl cl;

    (void)state;
    hg_tiny_log_start(&log);
    hg_spy_start(&real, 0, 0, &cl);
    assert_int_equal(hg_tiny_plan(&cl, device_index, &log.log, &plan), HG_OK);
    dev = hg_tiny_open(&cl, &plan);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        desc.size_bytes = 3 << 20;
        hg_spy_state.fail_code = codes[i];
        hg_spy_state.fail_at = hg_spy_state.calls + 1;
        assert_int_equal(hg_backend_opencl.alloc(dev, &desc, &mem), HG_ERR_DEVICE_MEMORY);
        assert_null(mem);
        assert_string_equal(hg_spy_state.failed, "clCreateBuffer");
        assert_non_null(strstr(log.text, "weights needs 3.0 MiB"));
    }
    desc.size_bytes = plan.limits.alloc_bytes + 1;
    assert_int_equal(hg_backend_opencl.alloc(dev, &desc, &mem), HG_ERR_DEVICE_MEMORY);
    assert_int_equal(log.errors, 5);
    assert_int_equal(dev->allocated_bytes, 0);
    hg_backend_opencl.close(&dev);
    assert_int_equal(hg_spy_state.objects, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_cache),
        cmocka_unit_test(test_other_error),
        cmocka_unit_test(test_with_cache),
        cmocka_unit_test(test_memory),
    };
    const uint32_t index = hg_tiny_device(argc, argv);
    hg_plan plan;
    int failed;

    if (index == HG_TINY_NO_DEVICE) {
        hg_fake_start(&real);
    } else {
        device_index = index;
        if (hg_cl_load(NULL, &real) != HG_OK ||
            hg_tiny_plan(&real, index, &(hg_log){0}, &plan) != HG_OK) {
            printf("skipped: no OpenCL device %u here\n", index);
            return 77;
        }
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_cl_unload(&real);
    return failed;
}
