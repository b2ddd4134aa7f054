/* SPDX-License-Identifier: MIT */
/* Points, timeouts, timestamps, late frees and a lost device, on a made-up driver that holds work
 * back on demand. */
#include "fake.h"
#include "tiny.h"

#include "os.h"

#include <string.h>

enum { WORDS = 1024, BYTES = 4 * WORDS };

typedef struct world {
    hg_cl cl;
    hg_tiny_log log;
    hg_plan plan;
    hg_dev *dev;
    hg_mem *a, *b;
    hg_pipe *pipe;
} world;

static void start(world *w)
{
    hg_fake_start(&w->cl);
    hg_tiny_log_start(&w->log);
    assert_int_equal(hg_tiny_plan(&w->cl, 0, &w->log.log, &w->plan), HG_OK);
    w->dev = hg_tiny_open(&w->cl, &w->plan);
    w->a = hg_tiny_alloc(w->dev, HG_MEM_SCRATCH, BYTES);
    w->b = hg_tiny_alloc(w->dev, HG_MEM_SCRATCH, BYTES);
    w->pipe = hg_tiny_prepare(w->dev, 2);
}

static void stop_worker(world *w)
{
    hg_backend_opencl.release(&w->a);
    hg_backend_opencl.release(&w->b);
    assert_null(w->a);
    hg_backend_opencl.release(&w->a); /* NULL inside is fine */
    hg_backend_opencl.close(&w->dev);
    assert_null(w->dev);
    hg_backend_opencl.close(&w->dev);
    assert_int_equal(hg_fake_state.freed_in_flight, 0);
}

static uint64_t submit_scale(world *w)
{
    hg_list *list = hg_tiny_begin(w->dev);

    hg_tiny_scale_record(list, w->pipe, hg_tiny_all(w->a), hg_tiny_all(w->b), 1, 1);
    return hg_tiny_submit(list);
}

static void test_timeout(void **state)
{
    world w;
    uint64_t first, second, begin;

    (void)state;
    start(&w);
    first = submit_scale(&w);
    assert_int_equal(first, 1);
    assert_int_equal(hg_backend_opencl.wait(w.dev, first, 0), HG_OK);
    hg_fake_hold(1);
    second = submit_scale(&w);
    assert_int_equal(second, 2);
    assert_int_equal(hg_backend_opencl.wait(w.dev, second, 0), HG_TIMEOUT);
    begin = hg_os_clock_ns();
    assert_int_equal(hg_backend_opencl.wait(w.dev, second, 3000000), HG_TIMEOUT);
    assert_true(hg_os_clock_ns() - begin >= 3000000);
    assert_int_equal(hg_backend_opencl.wait(w.dev, first, 0), HG_OK);
    assert_int_equal(hg_backend_opencl.wait(w.dev, 0, 0), HG_OK);
    hg_fake_hold(0);
    assert_int_equal(hg_backend_opencl.wait(w.dev, second, 1), HG_OK);
    hg_fake_hold(1);
    second = submit_scale(&w);
    assert_int_equal(hg_backend_opencl.wait(w.dev, second, UINT64_MAX), HG_OK);
    assert_int_equal(w.log.errors, 0);
    stop_worker(&w);
}

/* What is released while work may use it stays until the work is over. */
static void test_late_free(void **state)
{
    world w;
    hg_mem *filled;
    hg_list *list;
    uint64_t point;

    (void)state;
    start(&w);
    assert_int_equal(w.dev->allocated_bytes, 2 * BYTES);
    hg_fake_hold(1);
    point = submit_scale(&w);
    hg_backend_opencl.release(&w.a);
    assert_null(w.a);
    assert_int_equal(w.dev->allocated_bytes, 2 * BYTES);
    assert_int_equal(hg_fake_state.freed_in_flight, 0);
    hg_fake_hold(0);
    assert_int_equal(hg_backend_opencl.wait(w.dev, point, 0), HG_OK);
    assert_int_equal(w.dev->allocated_bytes, BYTES);
    /* Both sides of a copy, and what is filled. */
    w.a = hg_tiny_alloc(w.dev, HG_MEM_KV, BYTES);
    filled = hg_tiny_alloc(w.dev, HG_MEM_KV, BYTES);
    list = hg_tiny_begin(w.dev);
    hg_backend_opencl.copy(list, hg_tiny_all(w.b), hg_tiny_all(w.a));
    hg_backend_opencl.fill(list, hg_tiny_all(filled), 1);
    hg_fake_hold(1);
    hg_tiny_submit(list);
    hg_backend_opencl.release(&w.a);
    hg_backend_opencl.release(&w.b);
    hg_backend_opencl.release(&filled);
    assert_int_equal(hg_fake_state.freed_in_flight, 0);
    hg_fake_hold(0);
    w.b = hg_tiny_alloc(w.dev, HG_MEM_KV, BYTES); /* looks for what can go */
    assert_int_equal(w.dev->allocated_bytes, BYTES);
    /* One that no work uses any more goes at once, and so does one whose work has just ended. */
    w.a = hg_tiny_alloc(w.dev, HG_MEM_KV, BYTES);
    submit_scale(&w);
    hg_backend_opencl.release(&w.b);
    assert_int_equal(w.dev->allocated_bytes, BYTES);
    assert_int_equal(w.dev->peak_bytes, 3 * BYTES);
    stop_worker(&w);
}

/* Closing waits by itself. */
static void test_close_in_flight(void **state)
{
    world w;

    (void)state;
    start(&w);
    hg_fake_hold(1);
    submit_scale(&w);
    submit_scale(&w);
    stop_worker(&w);
}

/* A cache that grows by a row per token binds a new range each time: old sub-buffers go, none that
 * is in flight, and none that was used again since. */
static void test_many_ranges(void **state)
{
    enum { RANGES = 4400, HELD = 4250, KEPT = 4096 };
    const float value = 3;
    world w;
    hg_mem *big;
    float read;

    (void)state;
    start(&w);
    big = hg_tiny_alloc(w.dev, HG_MEM_KV, 256 * RANGES);
    hg_tiny_write(big, 0, &value, sizeof(value));
    for (uint32_t i = 1; i < RANGES; i++) {
        hg_list *list = hg_tiny_begin(w.dev);

        hg_fake_hold(i > HELD); /* the last ones are in flight */
        hg_tiny_scale_record(list, w.pipe, (hg_bind){big, 0, 256}, (hg_bind){big, 256 * i, 256},
                             (float)i, 1);
        hg_tiny_submit(list);
        hg_tiny_read(big, 256 * i, &read, sizeof(read));
        assert_true(read == 6 + (float)i);
        assert_true(((hg_cl_mem *)big)->range_count <= KEPT + (i > HELD ? i - HELD : 0));
    }
    assert_int_equal(hg_fake_state.freed_in_flight, 0);
    hg_fake_hold(0);
    hg_backend_opencl.release(&big);
    stop_worker(&w);
}

static cl_int CL_API_CALL fail_unmap(cl_command_queue queue, cl_mem mem, void *view,
                                     cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    (void)queue;
    (void)mem;
    (void)view;
    (void)wait_count;
    (void)wait;
    (void)event;
    return CL_INVALID_VALUE;
}

/* unmap has no result: the next submit must not work on bytes that did not arrive. */
static void test_unmap_fails(void **state)
{
    const float value = 1;
    world w;
    hg_list *list;
    uint64_t point = 9;

    (void)state;
    start(&w);
    ((hg_cl_dev *)w.dev)->cl.clEnqueueUnmapMemObject = fail_unmap;
    hg_tiny_write(w.a, 0, &value, sizeof(value));
    hg_tiny_write(w.b, 0, &value, sizeof(value));
    ((hg_cl_dev *)w.dev)->cl.clEnqueueUnmapMemObject = w.cl.clEnqueueUnmapMemObject;
    list = hg_tiny_begin(w.dev);
    assert_int_equal(hg_backend_opencl.submit(&list, NULL, 0, NULL, 0, &point), HG_ERR_DRIVER);
    assert_int_equal(point, 0);
    assert_null(list);
    assert_int_equal(hg_backend_opencl.wait(w.dev, submit_scale(&w), UINT64_MAX), HG_OK);
    stop_worker(&w);
}

static cl_int CL_API_CALL fail_fill(cl_command_queue queue, cl_mem dst, const void *pattern,
                                    size_t pattern_size, size_t offset, size_t size,
                                    cl_uint wait_count, const cl_event *wait, cl_event *event)
{
    (void)queue;
    (void)dst;
    (void)pattern;
    (void)pattern_size;
    (void)offset;
    (void)size;
    (void)wait_count;
    (void)wait;
    (void)event;
    return CL_OUT_OF_RESOURCES;
}

/* The first half of a submit that fails has no point: it is waited for before the error is told. */
static void test_submit_fails(void **state)
{
    world w;
    hg_list *list;
    uint64_t point = 9;
    uint32_t finished;

    (void)state;
    start(&w);
    ((hg_cl_dev *)w.dev)->cl.clEnqueueFillBuffer = fail_fill;
    list = hg_tiny_begin(w.dev);
    hg_tiny_scale_record(list, w.pipe, hg_tiny_all(w.a), hg_tiny_all(w.b), 1, 1);
    hg_backend_opencl.mark(list, NULL, 0);
    hg_backend_opencl.fill(list, hg_tiny_all(w.a), 1);
    finished = hg_fake_state.finished;
    assert_int_equal(hg_backend_opencl.submit(&list, NULL, 0, NULL, 0, &point),
                     HG_ERR_DEVICE_MEMORY);
    assert_null(list);
    assert_int_equal(point, 0);
    assert_int_equal(hg_fake_state.finished, finished + 1);
    assert_int_equal(submit_scale(&w), 1); /* the number was not used up */
    stop_worker(&w);
}

static void test_times(void **state)
{
    world w;
    hg_list *list;
    uint64_t ns[8], point;

    (void)state;
    start(&w);
    list = hg_tiny_begin(w.dev);
    hg_backend_opencl.mark(list, "start", 0);
    hg_backend_opencl.mark(list, "also the start", 5);
    hg_tiny_scale_record(list, w.pipe, hg_tiny_all(w.a), hg_tiny_all(w.b), 1, 1);
    hg_backend_opencl.mark(list, "label alone", UINT32_MAX);
    hg_backend_opencl.fill(list, hg_tiny_all(w.a), 0);
    hg_backend_opencl.mark(list, NULL, 3);
    hg_backend_opencl.copy(list, hg_tiny_all(w.b), hg_tiny_all(w.a));
    hg_backend_opencl.mark(list, NULL, 4095);
    hg_fake_hold(1);
    point = hg_tiny_submit(list);
    assert_int_equal(hg_backend_opencl.times(w.dev, point, ns, 8), HG_TIMEOUT);
    hg_fake_hold(0);
    assert_int_equal(hg_backend_opencl.times(w.dev, point, ns, 8), HG_OK);
    assert_true(ns[0] > 0 && ns[5] == ns[0]);
    assert_true(ns[3] == ns[0] + 2000); /* the made-up clock: 1000 ns a command */
    assert_true(ns[1] == 0 && ns[2] == 0 && ns[4] == 0 && ns[7] == 0);
    assert_int_equal(hg_backend_opencl.times(w.dev, point, ns, 2), HG_OK);
    assert_true(ns[0] > 0 && ns[1] == 0);
    /* The newest 64 are kept, whatever was submitted without timestamps between them. */
    for (int i = 0; i < 64; i++) {
        list = hg_tiny_begin(w.dev);
        hg_backend_opencl.mark(list, NULL, 0);
        hg_tiny_submit(list);
        submit_scale(&w);
    }
    assert_int_equal(hg_backend_opencl.wait(w.dev, point + 128, UINT64_MAX), HG_OK);
    assert_int_equal(hg_backend_opencl.times(w.dev, point + 1, ns, 1), HG_OK);
    assert_true(ns[0] > 0);
    assert_int_equal(hg_backend_opencl.times(w.dev, point, ns, 1), HG_OK);
    assert_true(ns[0] == 0);
    stop_worker(&w);
}

/* Lost once, lost for ever, whatever the driver says later; and everything can still be given back.
 */
static void test_lost(void **state)
{
    const hg_mem_desc desc = {.size_bytes = 64, .kind = HG_MEM_UPLOAD, .name = "late"};
    const uint32_t other[HG_SPEC_MAX] = {9};
    world w;
    uint64_t point, later = 7, ns;
    hg_list *list;
    hg_mem *mem = NULL;
    hg_pipe *pipe = NULL;
    void *view = NULL;

    (void)state;
    start(&w);
    hg_fake_hold(1);
    point = submit_scale(&w);
    hg_fake_state.give_up = CL_OUT_OF_RESOURCES;
    assert_int_equal(hg_backend_opencl.wait(w.dev, point, UINT64_MAX), HG_ERR_DEVICE_LOST);
    assert_non_null(strstr(w.log.text, "gave up the work of submit 1: CL_OUT_OF_RESOURCES"));
    assert_int_equal(w.log.errors, 1);
    hg_fake_state.give_up = 0;
    assert_int_equal(hg_backend_opencl.wait(w.dev, point, 0), HG_ERR_DEVICE_LOST);
    assert_int_equal(hg_backend_opencl.times(w.dev, point, &ns, 1), HG_ERR_DEVICE_LOST);
    list = hg_tiny_begin(w.dev);
    assert_int_equal(hg_backend_opencl.submit(&list, NULL, 0, NULL, 0, &later), HG_ERR_DEVICE_LOST);
    assert_null(list);
    assert_int_equal(later, 0);
    assert_int_equal(hg_backend_opencl.alloc(w.dev, &desc, &mem), HG_ERR_DEVICE_LOST);
    assert_null(mem);
    assert_int_equal(hg_backend_opencl.map(w.a, 0, 4, HG_MAP_READ, &view), HG_ERR_DEVICE_LOST);
    assert_null(view);
    assert_int_equal(hg_backend_opencl.prepare(w.dev, &hg_tiny_scale, other, &pipe),
                     HG_ERR_DEVICE_LOST);
    assert_null(pipe);
    assert_int_equal(w.log.errors, 7); /* one sentence per failed call */
    stop_worker(&w);
}

static void test_lists(void **state)
{
    world w;
    hg_list *list = NULL;
    uint64_t point = 0;
    char foreign = 0;

    (void)state;
    start(&w);
    assert_int_equal(hg_backend_opencl.begin(w.dev, &foreign, &list), HG_ERR_UNSUPPORTED);
    assert_null(list);
    /* An empty list is a point like any other. */
    assert_int_equal(
        hg_backend_opencl.wait(w.dev, hg_tiny_submit(hg_tiny_begin(w.dev)), UINT64_MAX), HG_OK);
    list = hg_tiny_begin(w.dev);
    hg_tiny_scale_record(list, w.pipe, hg_tiny_all(w.a), hg_tiny_all(w.b), 1, 1);
    hg_backend_opencl.mark(list, NULL, 1);
    hg_backend_opencl.discard(&list);
    assert_null(list);
    hg_backend_opencl.discard(&list);
    /* Semaphores are not offered. */
    list = hg_tiny_begin(w.dev);
    assert_int_equal(hg_backend_opencl.submit(&list, (const hg_sync *)(const void *)&foreign, 1,
                                              NULL, 0, &point),
                     HG_ERR_UNSUPPORTED);
    assert_null(list);
    stop_worker(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout),         cmocka_unit_test(test_late_free),
        cmocka_unit_test(test_close_in_flight), cmocka_unit_test(test_many_ranges),
        cmocka_unit_test(test_times),           cmocka_unit_test(test_lost),
        cmocka_unit_test(test_lists),           cmocka_unit_test(test_unmap_fails),
        cmocka_unit_test(test_submit_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
