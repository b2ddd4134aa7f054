/* SPDX-License-Identifier: MIT */
/* What a real OpenCL device computes through the seam: results, order, ranges, grids, views,
 * timestamps, the cache. */
#include "spy.h"
#include "tiny.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t device_index;
static hg_cl real;

typedef struct world {
    hg_cl cl; /* the spy in front of the real driver */
    hg_tiny_log log;
    hg_plan plan;
    hg_dev *dev;
    uint32_t interpreted; /* 1: Oclgrind, some thousand times slower: smaller work */
} world;

static int setup(void **state)
{
    world *w = calloc(1, sizeof(*w));

    if (!w)
        return -1;
    hg_tiny_log_start(&w->log);
    hg_spy_start(&real, 0, 0, &w->cl);
    if (hg_tiny_plan(&w->cl, device_index, &w->log.log, &w->plan) != HG_OK)
        return -1;
    w->interpreted = strcmp(w->plan.device.driver, "Oclgrind") == 0;
    w->dev = hg_tiny_open(&w->cl, &w->plan);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;

    assert_int_equal(w->dev->allocated_bytes, 0);
    hg_backend_opencl.close(&w->dev);
    assert_int_equal(hg_spy_state.objects, 0);
    free(w);
    return 0;
}

static void test_snapshot(void **state)
{
    const world *w = *state;
    const hg_snapshot *s = &w->plan.device;
    uint64_t free_bytes = 0, total_bytes = 0;

    print_message("%s | %s | %s | %s\n", s->name, s->driver, s->driver_version, s->api_version);
    assert_string_equal(s->unusable, "");
    assert_int_equal(s->backend, HG_BACKEND_OPENCL);
    assert_true(s->name[0] && s->driver[0] && s->driver_version[0]);
    assert_int_equal(strncmp(s->api_version, "OpenCL ", 7), 0);
    assert_true(s->compute_units > 0 && s->memory_total_bytes >= s->memory_free_bytes &&
                s->memory_free_bytes > 0);
    assert_true(s->limits.group_invocations >= 128 &&
                s->limits.bind_align_bytes <= HG_BIND_ALIGN_BYTES);
    assert_true(s->limits.binding_bytes >= UINT64_C(128) << 20);
    assert_int_equal(hg_backend_opencl.budget(w->dev, &free_bytes, &total_bytes), HG_OK);
    assert_true(free_bytes <= total_bytes && total_bytes == s->memory_total_bytes);
}

/* 1: the seam's own enumerate and open find the same device. */
static void test_seam(void **state)
{
    const world *w = *state;
    hg_snapshot found[HG_CL_DEVICES_MAX];
    uint32_t count = HG_CL_DEVICES_MAX;
    hg_dev *dev = NULL;

    assert_int_equal(hg_backend_opencl.enumerate(&w->log.log, found, &count), HG_OK);
    assert_true(count > device_index);
    assert_string_equal(found[device_index].name, w->plan.device.name);
    assert_int_equal(hg_backend_opencl.open(&w->plan, NULL, &dev), HG_OK);
    hg_tiny_finish(hg_tiny_begin(dev));
    hg_backend_opencl.close(&dev);
}

static void fill_ramp(hg_mem *mem, uint64_t offset_bytes, uint32_t words)
{
    float *ramp = calloc(words, sizeof(*ramp));

    assert_non_null(ramp);
    for (uint32_t i = 0; i < words; i++)
        ramp[i] = (float)i;
    hg_tiny_write(mem, offset_bytes, ramp, words * sizeof(*ramp));
    free(ramp);
}

/* result[i] == factor * i + add for all words */
static void check_ramp(hg_mem *mem, uint64_t offset_bytes, uint32_t words, float factor, float add)
{
    float *result = calloc(words, sizeof(*result));
    uint32_t wrong = 0;

    assert_non_null(result);
    hg_tiny_read(mem, offset_bytes, result, words * sizeof(*result));
    for (uint32_t i = 0; i < words; i++)
        wrong += result[i] != factor * (float)i + add;
    free(result);
    assert_int_equal(wrong, 0);
}

static void test_pipes(void **state)
{
    world *w = *state;
    hg_mem *x = hg_tiny_alloc(w->dev, HG_MEM_UPLOAD, 4 * 1000);
    hg_mem *y = hg_tiny_alloc(w->dev, HG_MEM_READBACK, 4 * 1000);
    hg_pipe *two = hg_tiny_prepare(w->dev, 2), *three = hg_tiny_prepare(w->dev, 3);
    hg_list *list = hg_tiny_begin(w->dev);

    assert_ptr_not_equal(two, three);
    assert_ptr_equal(two, hg_tiny_prepare(w->dev, 2));
    assert_int_equal(three->spec[0], 3);
    assert_int_equal(hg_spy_state.count[HG_SPY_clCreateProgramWithSource], 2);
    fill_ramp(x, 0, 1000);
    hg_tiny_scale_record(list, three, hg_tiny_all(x), hg_tiny_all(y), 7, 1);
    hg_tiny_finish(list);
    check_ramp(y, 0, 1000, 3, 7);
    hg_backend_opencl.release(&x);
    hg_backend_opencl.release(&y);
}

/* The right error, with the compiler's words where there are some. */
static void test_bad_kernels(void **state)
{
    static const struct {
        const hg_variant *variant;
        hg_result result;
        const char *words;
    } bad[] = {
        {&hg_tiny_broken, HG_ERR_DRIVER, "kernel broken does not build"},
        {&hg_tiny_missing, HG_ERR_DRIVER, "no function hg_missing"},
        {&hg_tiny_arity, HG_ERR_DRIVER, "takes 2 arguments"},
        {&hg_tiny_wide, HG_ERR_UNSUPPORTED, "needs groups of 1048576"},
        {&hg_tiny_nothing, HG_ERR_UNSUPPORTED, "no OpenCL source"},
    };
    world *w = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hg_pipe *pipe = NULL;

        hg_tiny_log_start(&w->log);
        assert_int_equal(hg_backend_opencl.prepare(w->dev, bad[i].variant, hg_tiny_spec, &pipe),
                         bad[i].result);
        assert_null(pipe);
        assert_int_equal(w->log.errors, 1);
        if (!strstr(w->log.text, bad[i].words))
            fail_msg("expected '%s' in: %s", bad[i].words, w->log.text);
        if (i == 0)
            assert_non_null(strstr(w->log.text, "this_name_is_not_declared"));
    }
}

/* Each dispatch reads what the one before wrote: 200 in one list, then over many lists without a
 * wait between them. */
static void test_order(void **state)
{
    enum { CHAIN = 200, LISTS = 300 };
    world *w = *state;
    const uint32_t words = w->interpreted ? 100 : 5000;
    hg_mem *a = hg_tiny_alloc(w->dev, HG_MEM_UPLOAD, UINT64_C(4) * words);
    hg_mem *b = hg_tiny_alloc(w->dev, HG_MEM_SCRATCH, UINT64_C(4) * words);
    hg_mem *back = hg_tiny_alloc(w->dev, HG_MEM_READBACK, UINT64_C(4) * words);
    hg_pipe *one = hg_tiny_prepare(w->dev, 1);
    const hg_hazard hazard = {hg_tiny_all(a), HG_ACCESS_W, HG_ACCESS_R};
    hg_list *list = hg_tiny_begin(w->dev);
    uint64_t last = 0;

    fill_ramp(a, 0, words);
    for (int i = 0; i < CHAIN; i++) {
        hg_backend_opencl.barrier(list, &hazard, 1);
        hg_tiny_scale_record(list, one, hg_tiny_all(i % 2 ? b : a), hg_tiny_all(i % 2 ? a : b), 1,
                             1);
    }
    hg_tiny_scale_record(list, one, hg_tiny_all(a), hg_tiny_all(a), 1, 1); /* in place */
    hg_backend_opencl.copy(list, hg_tiny_all(back), hg_tiny_all(a));
    hg_tiny_finish(list);
    check_ramp(back, 0, words, 1, CHAIN + 1);
    for (int i = 0; i < LISTS; i++) {
        list = hg_tiny_begin(w->dev);
        hg_tiny_scale_record(list, one, hg_tiny_all(i % 2 ? b : a), hg_tiny_all(i % 2 ? a : b), 1,
                             1);
        last = hg_tiny_submit(list);
    }
    assert_int_equal(last, LISTS + 1);
    list = hg_tiny_begin(w->dev);
    hg_backend_opencl.copy(list, hg_tiny_all(back), hg_tiny_all(a));
    hg_tiny_finish(list);
    assert_int_equal(hg_backend_opencl.wait(w->dev, last, 0), HG_OK);
    check_ramp(back, 0, words, 1, CHAIN + 1 + LISTS);
    hg_backend_opencl.release(&a);
    hg_backend_opencl.release(&b);
    hg_backend_opencl.release(&back);
}

/* Ranges of one buffer: reads one part, writes another, leaves the rest alone. */
static void test_ranges(void **state)
{
    enum { PART = 4096, WORDS = PART / 4 };
    world *w = *state;
    hg_mem *mem = hg_tiny_alloc(w->dev, HG_MEM_READBACK, 4 * PART);
    hg_pipe *two = hg_tiny_prepare(w->dev, 2);
    hg_list *list = hg_tiny_begin(w->dev);
    const hg_bind first = {mem, 0, PART}, second = {mem, PART + HG_BIND_ALIGN_BYTES, PART},
                  third = {mem, 3 * PART - HG_BIND_ALIGN_BYTES, PART};
    uint32_t words[4];

    fill_ramp(mem, 0, WORDS);
    hg_backend_opencl.fill(list, (hg_bind){mem, PART, 3 * PART}, 0xdeadbeef);
    hg_tiny_scale_record(list, two, first, second, 1, 1);
    hg_tiny_scale_record(list, two, second, third, 1, 1);
    hg_tiny_finish(list);
    check_ramp(mem, 0, WORDS, 1, 0);
    check_ramp(mem, PART + HG_BIND_ALIGN_BYTES, WORDS, 2, 1);
    check_ramp(mem, 3 * PART - HG_BIND_ALIGN_BYTES, WORDS, 4, 3);
    hg_tiny_read(mem, PART + HG_BIND_ALIGN_BYTES - 4, &words[0], 4);
    hg_tiny_read(mem, 2 * PART + HG_BIND_ALIGN_BYTES, &words[1], 4);
    hg_tiny_read(mem, 3 * PART - HG_BIND_ALIGN_BYTES - 4, &words[2], 4);
    hg_tiny_read(mem, 4 * PART - HG_BIND_ALIGN_BYTES, &words[3], 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(words[i], 0xdeadbeef);
    hg_backend_opencl.release(&mem);
}

/* Copies and fills start at any word. */
static void test_copy_fill(void **state)
{
    world *w = *state;
    uint32_t in[64], out[64], expect[64];
    hg_mem *a = hg_tiny_alloc(w->dev, HG_MEM_UPLOAD, sizeof(in));
    hg_mem *b = hg_tiny_alloc(w->dev, HG_MEM_KV, sizeof(in));
    hg_mem *back = hg_tiny_alloc(w->dev, HG_MEM_READBACK, sizeof(out));
    hg_list *list = hg_tiny_begin(w->dev);

    for (uint32_t i = 0; i < 64; i++)
        in[i] = 1000 + i;
    hg_tiny_write(a, 0, in, sizeof(in));
    hg_backend_opencl.fill(list, hg_tiny_all(b), 7);
    hg_backend_opencl.copy(list, (hg_bind){b, 4 * 3, 4 * 10}, (hg_bind){a, 4 * 21, 4 * 10});
    hg_backend_opencl.fill(list, (hg_bind){b, 4 * 61, 4 * 2}, 0x01020304);
    hg_backend_opencl.copy(list, (hg_bind){b, 4 * 40, 4 * 5},
                           (hg_bind){b, 4 * 3, 4 * 5}); /* in one buffer */
    hg_backend_opencl.copy(list, hg_tiny_all(back), hg_tiny_all(b));
    hg_tiny_finish(list);
    hg_tiny_read(back, 0, out, sizeof(out));
    for (uint32_t i = 0; i < 64; i++)
        expect[i] = i >= 3 && i < 13     ? 1000 + 21 + i - 3
                    : i >= 40 && i < 45  ? 1000 + 21 + i - 40
                    : i == 61 || i == 62 ? 0x01020304
                                         : 7;
    assert_memory_equal(out, expect, sizeof(out));
    hg_backend_opencl.release(&a);
    hg_backend_opencl.release(&b);
    hg_backend_opencl.release(&back);
}

/* A flat grid in all three dimensions, folded as the engine does, with groups that have nothing to
 * do; and an empty one. */
static void test_grid(void **state)
{
    enum { WORDS = 64 * 7 * 5 * 3 - 10 };
    world *w = *state;
    hg_mem *mem = hg_tiny_alloc(w->dev, HG_MEM_READBACK, 4 * WORDS);
    hg_pipe *two = hg_tiny_prepare(w->dev, 2);
    hg_list *list = hg_tiny_begin(w->dev);
    const struct hg_tiny_params params = {.count = WORDS, .add = 4, .rounds = 1};
    const uint32_t groups[3] = {7, 5, 3}, none[3] = {7, 0, 3};
    const hg_bind binds[2] = {hg_tiny_all(mem), hg_tiny_all(mem)};

    fill_ramp(mem, 0, WORDS);
    hg_backend_opencl.dispatch(list, two, &params, binds, 2, none);
    hg_backend_opencl.dispatch(list, two, &params, binds, 2, groups);
    hg_tiny_finish(list);
    check_ramp(mem, 0, WORDS, 2, 4);
    hg_backend_opencl.release(&mem);
}

/* Two views at a time, parts of a buffer; every kind where memory is shared, staging alone where
 * that is switched off. */
static void test_maps(void **state)
{
    static const hg_mem_kind kinds[] = {HG_MEM_WEIGHT, HG_MEM_SCRATCH, HG_MEM_KV, HG_MEM_UPLOAD,
                                        HG_MEM_READBACK};
    world *w = *state;
    hg_plan staged = w->plan;
    hg_dev *dev;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        hg_mem *mem = hg_tiny_alloc(w->dev, kinds[i], 4096);
        void *low = NULL, *high = NULL;
        uint32_t words[2] = {0};

        assert_int_equal(mem->mappable, (w->plan.features & HG_FEATURE_UNIFIED_MEMORY) || i >= 3);
        if (mem->mappable) {
            assert_int_equal(hg_backend_opencl.map(mem, 4, 4, HG_MAP_WRITE, &low), HG_OK);
            assert_int_equal(hg_backend_opencl.map(mem, 4092, 4, HG_MAP_WRITE, &high), HG_OK);
            memcpy(high, &(uint32_t){22}, 4);
            memcpy(low, &(uint32_t){11}, 4);
            hg_backend_opencl.unmap(mem, 4, 4);
            hg_backend_opencl.unmap(mem, 4092, 4);
            hg_tiny_read(mem, 4, &words[0], 4);
            hg_tiny_read(mem, 4092, &words[1], 4);
            assert_true(words[0] == 11 && words[1] == 22);
            /* Released while mapped, as after an error: ended first. */
            assert_int_equal(hg_backend_opencl.map(mem, 0, 8, HG_MAP_READ, &low), HG_OK);
        }
        hg_backend_opencl.release(&mem);
    }
    staged.features &= ~(uint32_t)HG_FEATURE_UNIFIED_MEMORY;
    dev = hg_tiny_open(&w->cl, &staged);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        hg_mem *mem = hg_tiny_alloc(dev, kinds[i], 4096);

        assert_int_equal(mem->mappable, i >= 3);
        hg_backend_opencl.release(&mem);
    }
    hg_backend_opencl.close(&dev);
    assert_int_equal(w->log.errors, 0);
}

/* A result is read while later work is still going on. */
static void test_read_behind(void **state)
{
    world *w = *state;
    const uint32_t words = w->interpreted ? 64 : 4096;
    hg_mem *a = hg_tiny_alloc(w->dev, HG_MEM_READBACK, UINT64_C(4) * words);
    hg_mem *b = hg_tiny_alloc(w->dev, HG_MEM_SCRATCH, UINT64_C(4) * words);
    hg_pipe *one = hg_tiny_prepare(w->dev, 1);
    hg_list *list = hg_tiny_begin(w->dev);
    uint64_t first, last;

    fill_ramp(a, 0, words);
    hg_tiny_scale_record(list, one, hg_tiny_all(a), hg_tiny_all(a), 1, 1);
    first = hg_tiny_submit(list);
    list = hg_tiny_begin(w->dev);
    hg_backend_opencl.fill(list, hg_tiny_all(b), 0);
    hg_tiny_scale_record(list, one, hg_tiny_all(b), hg_tiny_all(b), 1, w->interpreted ? 50 : 2000);
    last = hg_tiny_submit(list);
    assert_int_equal(hg_backend_opencl.wait(w->dev, first, UINT64_MAX), HG_OK);
    check_ramp(a, 0, words, 1, 1);
    hg_backend_opencl.release(&b); /* the work may still run */
    assert_int_equal(hg_backend_opencl.wait(w->dev, last, UINT64_C(60000000000)), HG_OK);
    hg_backend_opencl.release(&a);
    assert_int_equal(w->dev->allocated_bytes, 0);
}

static void test_times(void **state)
{
    world *w = *state;
    const uint32_t words = w->interpreted ? 64 : 4096;
    hg_mem *a = hg_tiny_alloc(w->dev, HG_MEM_UPLOAD, UINT64_C(4) * words);
    hg_pipe *one = hg_tiny_prepare(w->dev, 1);
    hg_list *list = hg_tiny_begin(w->dev);
    uint64_t ns[5], point;

    fill_ramp(a, 0, words);
    hg_backend_opencl.mark(list, "begin", 0);
    hg_tiny_scale_record(list, one, hg_tiny_all(a), hg_tiny_all(a), 1, 1);
    hg_backend_opencl.mark(list, "short", 1);
    hg_tiny_scale_record(list, one, hg_tiny_all(a), hg_tiny_all(a), 1, w->interpreted ? 50 : 500);
    hg_backend_opencl.mark(list, "long", 3);
    point = hg_tiny_submit(list);
    assert_int_equal(hg_backend_opencl.wait(w->dev, point, UINT64_MAX), HG_OK);
    assert_int_equal(hg_backend_opencl.times(w->dev, point, ns, 5), HG_OK);
    assert_true(ns[0] > 0 && ns[0] <= ns[1] && ns[1] < ns[3]);
    assert_true(ns[2] == 0 && ns[4] == 0);
    print_message("short %llu ns, long %llu ns\n", (unsigned long long)(ns[1] - ns[0]),
                  (unsigned long long)(ns[3] - ns[1]));
    hg_backend_opencl.release(&a);
}

/* The second opening compiles nothing and computes the same; on PoCL, which keeps programs by
 * itself, nothing of ours is stored. */
static void test_cache(void **state)
{
    world *w = *state;
    char dir[] = "opencl-device-XXXXXX", path[512];
    DIR *entries;
    const struct dirent *entry;
    const uint32_t own = strcmp(w->plan.device.driver, "Portable Computing Language") == 0;
    const uint32_t sources = hg_spy_state.count[HG_SPY_clCreateProgramWithSource];
    uint32_t files = 0;

    assert_non_null(mkdtemp(dir));
    w->plan.cache_dir = dir;
    for (uint32_t round = 0; round < 2; round++) {
        hg_dev *dev = hg_tiny_open(&w->cl, &w->plan);
        hg_mem *mem = hg_tiny_alloc(dev, HG_MEM_READBACK, 400);
        hg_list *list = hg_tiny_begin(dev);

        fill_ramp(mem, 0, 100);
        hg_tiny_scale_record(list, hg_tiny_prepare(dev, 5), hg_tiny_all(mem), hg_tiny_all(mem), 6,
                             1);
        hg_tiny_finish(list);
        check_ramp(mem, 0, 100, 5, 6);
        assert_int_equal(hg_spy_state.count[HG_SPY_clCreateProgramWithSource] - sources,
                         own ? round + 1 : 1);
        hg_backend_opencl.release(&mem);
        hg_backend_opencl.close(&dev);
    }
    assert_int_equal(w->log.infos, 0);
    entries = opendir(dir);
    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        files++;
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(files, own ? 0 : 1);
    closedir(entries);
    assert_int_equal(rmdir(dir), 0);
}

int main(int argc, char **argv)
{
#define DEVICE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_snapshot),    DEVICE_TEST(test_seam),  DEVICE_TEST(test_pipes),
        DEVICE_TEST(test_bad_kernels), DEVICE_TEST(test_order), DEVICE_TEST(test_ranges),
        DEVICE_TEST(test_copy_fill),   DEVICE_TEST(test_grid),  DEVICE_TEST(test_maps),
        DEVICE_TEST(test_read_behind), DEVICE_TEST(test_times), DEVICE_TEST(test_cache),
    };
#undef DEVICE_TEST
    hg_plan plan;
    int failed;

    device_index = hg_tiny_device(argc, argv);
    if (device_index == HG_TINY_NO_DEVICE)
        device_index = 0;
    if (hg_cl_load(NULL, &real) != HG_OK ||
        hg_tiny_plan(&real, device_index, &(hg_log){0}, &plan) != HG_OK) {
        printf("skipped: no OpenCL device %u here\n", device_index);
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_cl_unload(&real);
    return failed;
}
