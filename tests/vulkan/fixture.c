/* SPDX-License-Identifier: MIT */
/* Kernels, log and device of the Vulkan tests. See fixture.h. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t affine_words[] = {
#include "affine.inc"
};
static const uint32_t sum8_words[] = {
#include "sum8.inc"
};
static const uint32_t groups_words[] = {
#include "groups.inc"
};

const hg_kernel hg_kernels[HG_KERNEL_COUNT] = {
    [TEST_AFFINE] = {.name = "affine", .bind_count = 2, .param_bytes = sizeof(affine_params)},
    [TEST_SUM8] = {.name = "sum8", .bind_count = 8, .param_bytes = 128},
    [TEST_GROUPS] = {.name = "groups", .bind_count = 1},
};

static const char *const affine_spec_names[] = {"FACTOR", "UNUSED"};

const hg_variant affine_variant = {
    .kernel = (hg_kernel_id)TEST_AFFINE,
    .threads = 64,
    .spec_count = 2,
    .spec_name = affine_spec_names,
    .spirv = affine_words,
    .spirv_bytes = sizeof(affine_words),
};
const hg_variant sum8_variant = {
    .kernel = (hg_kernel_id)TEST_SUM8,
    .threads = 64,
    .spirv = sum8_words,
    .spirv_bytes = sizeof(sum8_words),
};
const hg_variant groups_variant = {
    .kernel = (hg_kernel_id)TEST_GROUPS,
    .threads = 1,
    .spirv = groups_words,
    .spirv_bytes = sizeof(groups_words),
};

static uint32_t features_off;

static void keep_line(void *user, hg_log_level level, const char *line)
{
    test_log *log = user;

    snprintf(log->last[level], sizeof(log->last[level]), "%s", line);
    log->lines[level]++;
    if (getenv("HG_TEST_VERBOSE"))
        print_message("log %d: %s\n", (int)level, line);
}

void test_log_init(test_log *log)
{
    memset(log, 0, sizeof(*log));
    log->log = (hg_log){keep_line, log, HG_LOG_DEBUG};
}

static void switch_off(const char *names)
{
    static const struct {
        const char *name;
        uint32_t feature;
    } rows[] = {
        {"timeline", HG_FEATURE_TIMELINE},
        {"push", HG_FEATURE_PUSH_DESCRIPTOR},
        {"unified", HG_FEATURE_UNIFIED_MEMORY},
        {"timestamps", HG_FEATURE_TIMESTAMPS},
        {"rte", HG_FEATURE_RTE32},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(names, rows[i].name))
            features_off |= rows[i].feature;
}

int fixture_options(int argc, char **argv)
{
    hg_snapshot found;
    uint32_t count = 1;
    test_log log;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--without") == 0)
            switch_off(argv[i + 1]);
    test_log_init(&log);
    if (hg_backend_vulkan.enumerate(&log.log, &found, &count) != HG_OK)
        return 1;
    if (count == 0) {
        printf("skipped: no Vulkan device under this driver (%s)\n", log.last[HG_LOG_INFO]);
        return 77;
    }
    return 0;
}

hg_plan fixture_plan(fixture *f)
{
    hg_plan plan = {0};
    uint32_t count = 1;

    plan.log = f->log.log;
    assert_int_equal(hg_backend_vulkan.enumerate(&plan.log, &plan.device, &count), HG_OK);
    assert_int_equal(count, 1);
    plan.limits = plan.device.limits;
    plan.features = plan.device.features & ~features_off;
    plan.validate = 1;
    return plan;
}

int fixture_open(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    hg_result result;

    if (!f)
        return -1;
    test_log_init(&f->log);
    f->plan = fixture_plan(f);
    result = hg_backend_vulkan.open(&f->plan, NULL, &f->dev);
    if (result == HG_ERR_UNSUPPORTED &&
        strstr(f->log.last[HG_LOG_ERROR], "vulkan-validationlayers")) {
        print_message("not validated: %s\n", f->log.last[HG_LOG_ERROR]);
        f->plan.validate = 0;
        result = hg_backend_vulkan.open(&f->plan, NULL, &f->dev);
    }
    assert_int_equal(result, HG_OK);
    *state = f;
    return 0;
}

int fixture_close(void **state)
{
    fixture *f = *state;
    uint32_t messages = 0;

    if (f->dev) {
        hg_dev *dev = f->dev;

        hg_backend_vulkan.wait(dev, 0, 0);
        messages = dev->validation_messages;
        hg_backend_vulkan.close(&f->dev);
    }
    if (messages > 0)
        print_error("%u validation messages, the last: %s\n", messages, f->log.last[HG_LOG_ERROR]);
    free(f);
    return messages > 0 ? -1 : 0;
}

hg_mem *make_mem(fixture *f, hg_mem_kind kind, uint64_t size_bytes)
{
    hg_mem_desc desc = {size_bytes, kind, "test"};
    hg_mem *mem;

    assert_int_equal(hg_backend_vulkan.alloc(f->dev, &desc, &mem), HG_OK);
    assert_non_null(mem);
    assert_int_equal(mem->size_bytes, size_bytes);
    return mem;
}

hg_pipe *make_pipe(fixture *f, const hg_variant *variant, uint32_t spec0)
{
    uint32_t spec[HG_SPEC_MAX] = {spec0, 1, 0, 0};
    hg_pipe *pipe;

    assert_int_equal(hg_backend_vulkan.prepare(f->dev, variant, spec, &pipe), HG_OK);
    assert_non_null(pipe);
    return pipe;
}

hg_list *make_list(fixture *f)
{
    hg_list *list;

    assert_int_equal(hg_backend_vulkan.begin(f->dev, NULL, &list), HG_OK);
    assert_non_null(list);
    return list;
}

uint64_t submit(fixture *f, hg_list **list)
{
    uint64_t point = 0;

    (void)f;
    assert_int_equal(hg_backend_vulkan.submit(list, NULL, 0, NULL, 0, &point), HG_OK);
    assert_null(*list);
    assert_true(point > 0);
    return point;
}

void finish(fixture *f, uint64_t point)
{
    assert_int_equal(hg_backend_vulkan.wait(f->dev, point, UINT64_MAX), HG_OK);
}

hg_bind whole(hg_mem *mem)
{
    return (hg_bind){mem, 0, mem->size_bytes};
}

hg_bind part(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes)
{
    return (hg_bind){mem, offset_bytes, size_bytes};
}

void barrier(hg_list *list, hg_bind range, uint32_t before, uint32_t after)
{
    hg_hazard hazard = {range, before, after};

    hg_backend_vulkan.barrier(list, &hazard, 1);
}

void write_mem(fixture *f, hg_mem *mem, const void *bytes, uint64_t size_bytes)
{
    hg_mem *upload = mem->mappable ? mem : make_mem(f, HG_MEM_UPLOAD, size_bytes);
    void *view;

    assert_int_equal(hg_backend_vulkan.map(upload, 0, size_bytes, HG_MAP_WRITE, &view), HG_OK);
    memcpy(view, bytes, size_bytes);
    hg_backend_vulkan.unmap(upload, 0, size_bytes);
    if (upload != mem) {
        hg_list *list = make_list(f);

        hg_backend_vulkan.copy(list, part(mem, 0, size_bytes), whole(upload));
        submit(f, &list);
        hg_backend_vulkan.release(&upload);
    }
}

void read_mem(fixture *f, hg_mem *mem, void *bytes, uint64_t size_bytes)
{
    hg_mem *readback = make_mem(f, HG_MEM_READBACK, size_bytes);
    hg_list *list = make_list(f);
    void *view;

    hg_backend_vulkan.copy(list, whole(readback), part(mem, 0, size_bytes));
    finish(f, submit(f, &list));
    assert_int_equal(hg_backend_vulkan.map(readback, 0, size_bytes, HG_MAP_READ, &view), HG_OK);
    memcpy(bytes, view, size_bytes);
    hg_backend_vulkan.unmap(readback, 0, size_bytes);
    hg_backend_vulkan.release(&readback);
}

void run_affine(hg_list *list, hg_pipe *pipe, hg_mem *x, hg_mem *y, affine_params params)
{
    uint32_t groups[3] = {(params.count + 63) / 64, 1, 1};
    hg_bind binds[2] = {whole(x), whole(y)};

    hg_backend_vulkan.dispatch(list, pipe, &params, binds, 2, groups);
}
