/* SPDX-License-Identifier: MIT */
/* The tiny kernel table, and the steps of the tests. */
#include "tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(id, text, binds)                                                                       \
    [id] = {.name = (text),                                                                        \
            .bind_count = (binds),                                                                 \
            .param_bytes = sizeof(struct hg_tiny_params),                                          \
            .bind = {{HG_ACCESS_R, HG_BIND_f32, "x"}, {HG_ACCESS_RW, HG_BIND_f32, "y"}},           \
            .output = 1}
const hg_kernel hg_kernels[HG_KERNEL_COUNT] = {
    ROW(0, "scale", 2),
    ROW(1, "broken", 2),
    ROW(2, "missing", 2),
    ROW(3, "arity", 2),
};
#undef ROW

static const char scale_source[] =
    "typedef struct { uint count; float add; uint rounds; } params;\n"
    "__kernel void hg_scale(__global const float *x, __global float *y, const params p)\n"
    "{\n"
    "    const size_t group = get_group_id(0) + get_num_groups(0) *\n"
    "                         (get_group_id(1) + get_num_groups(1) * get_group_id(2));\n"
    "    const uint i = (uint)(group * THREADS + get_local_id(0));\n"
    "    if (i < p.count) {\n"
    "        float v = x[i];\n"
    "        for (uint r = 0; r < p.rounds; r++)\n"
    "            v = v * SCALE + p.add;\n"
    "        y[i] = v;\n"
    "    }\n"
    "}\n";
static const char broken_source[] =
    "__kernel void hg_broken(__global const float *x, __global float *y)\n"
    "{\n"
    "    y[0] = x[0] + this_name_is_not_declared;\n"
    "}\n";
static const char missing_source[] = "__kernel void hg_other(__global float *x) { x[0] = 1.0f; }\n";
static const char arity_source[] =
    "__kernel void hg_arity(__global const float *x, __global float *y) { y[0] = x[0]; }\n";

const uint32_t hg_tiny_spec[HG_SPEC_MAX] = {2};
static const char *const spec_names[] = {"SCALE"};

const hg_variant hg_tiny_scale = {.threads = HG_TINY_THREADS,
                                  .spec_count = 1,
                                  .spec_name = spec_names,
                                  .spec_default = hg_tiny_spec,
                                  .cl_source = scale_source,
                                  .cl_options = "-DTHREADS=64"};
const hg_variant hg_tiny_wide = {.threads = UINT32_C(1) << 20,
                                 .spec_count = 1,
                                 .spec_name = spec_names,
                                 .spec_default = hg_tiny_spec,
                                 .cl_source = scale_source,
                                 .cl_options = "-DTHREADS=1048576"};
const hg_variant hg_tiny_broken = {
    .kernel = (hg_kernel_id)1, .threads = 1, .cl_source = broken_source};
const hg_variant hg_tiny_missing = {
    .kernel = (hg_kernel_id)2, .threads = 1, .cl_source = missing_source};
const hg_variant hg_tiny_arity = {
    .kernel = (hg_kernel_id)3, .threads = 1, .cl_source = arity_source};
const hg_variant hg_tiny_nothing = {.kernel = (hg_kernel_id)3, .threads = 1};

static void remember(void *user, hg_log_level level, const char *line)
{
    hg_tiny_log *log = user;
    const size_t used = strlen(log->text);

    log->errors += level == HG_LOG_ERROR;
    log->warnings += level == HG_LOG_WARNING;
    log->infos += level == HG_LOG_INFO;
    assert_null(strchr(line, '\n'));
    snprintf(log->text + used, sizeof(log->text) - used, "%s\n", line);
}

void hg_tiny_log_start(hg_tiny_log *log)
{
    *log = (hg_tiny_log){.log = {.write = remember, .level = HG_LOG_DEBUG}};
    log->log.user = log;
}

hg_result hg_tiny_plan(const hg_cl *cl, uint32_t backend_index, const hg_log *log, hg_plan *out)
{
    hg_snapshot found[HG_CL_DEVICES_MAX];
    uint32_t count = HG_CL_DEVICES_MAX;
    const hg_result res = hg_cl_enumerate(cl, log, found, &count);

    *out = (hg_plan){0};
    if (res != HG_OK)
        return res;
    for (uint32_t i = 0; i < count; i++)
        if (found[i].backend_index == backend_index) {
            *out = (hg_plan){.device = found[i],
                             .limits = found[i].limits,
                             .features = found[i].features,
                             .log = *log};
            return HG_OK;
        }
    return HG_ERR_NO_DEVICE;
}

hg_dev *hg_tiny_open(const hg_cl *cl, const hg_plan *plan)
{
    hg_dev *dev = NULL;

    assert_int_equal(hg_cl_open(cl, plan, NULL, &dev), HG_OK);
    assert_non_null(dev);
    return dev;
}

hg_mem *hg_tiny_alloc(hg_dev *dev, hg_mem_kind kind, uint64_t size_bytes)
{
    const hg_mem_desc desc = {.size_bytes = size_bytes, .kind = kind, .name = "test"};
    hg_mem *mem = NULL;

    assert_int_equal(dev->backend->alloc(dev, &desc, &mem), HG_OK);
    return mem;
}

hg_bind hg_tiny_all(hg_mem *mem)
{
    return (hg_bind){mem, 0, mem->size_bytes};
}

void hg_tiny_write(hg_mem *mem, uint64_t offset_bytes, const void *bytes, uint64_t size)
{
    void *to = NULL;

    assert_int_equal(mem->dev->backend->map(mem, offset_bytes, size, HG_MAP_WRITE, &to), HG_OK);
    memcpy(to, bytes, size);
    mem->dev->backend->unmap(mem, offset_bytes, size);
}

void hg_tiny_read(hg_mem *mem, uint64_t offset_bytes, void *bytes, uint64_t size)
{
    void *from = NULL;

    assert_int_equal(mem->dev->backend->map(mem, offset_bytes, size, HG_MAP_READ, &from), HG_OK);
    memcpy(bytes, from, size);
    mem->dev->backend->unmap(mem, offset_bytes, size);
}

hg_pipe *hg_tiny_prepare(hg_dev *dev, uint32_t scale)
{
    const uint32_t spec[HG_SPEC_MAX] = {scale};
    hg_pipe *pipe = NULL;

    assert_int_equal(dev->backend->prepare(dev, &hg_tiny_scale, spec, &pipe), HG_OK);
    return pipe;
}

hg_list *hg_tiny_begin(hg_dev *dev)
{
    hg_list *list = NULL;

    assert_int_equal(dev->backend->begin(dev, NULL, &list), HG_OK);
    return list;
}

void hg_tiny_scale_record(hg_list *list, hg_pipe *pipe, hg_bind x, hg_bind y, float add,
                          uint32_t rounds)
{
    const uint64_t bytes = x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes;
    const struct hg_tiny_params params = {
        .count = (uint32_t)(bytes / 4), .add = add, .rounds = rounds};
    const uint32_t groups[3] = {(params.count + HG_TINY_THREADS - 1) / HG_TINY_THREADS, 1, 1};
    const hg_bind binds[2] = {x, y};

    list->dev->backend->dispatch(list, pipe, &params, binds, 2, groups);
}

uint64_t hg_tiny_submit(hg_list *list)
{
    hg_dev *dev = list->dev;
    uint64_t point = 0;

    assert_int_equal(dev->backend->submit(&list, NULL, 0, NULL, 0, &point), HG_OK);
    assert_null(list);
    assert_true(point > 0);
    return point;
}

void hg_tiny_finish(hg_list *list)
{
    hg_dev *dev = list->dev;

    assert_int_equal(dev->backend->wait(dev, hg_tiny_submit(list), UINT64_MAX), HG_OK);
}

uint32_t hg_tiny_device(int argc, char **argv)
{
    char *end = NULL;
    unsigned long index;

    if (argc < 2)
        return HG_TINY_NO_DEVICE;
    if (argc == 3 && strcmp(argv[1], "--device") == 0 && strncmp(argv[2], "cl:", 3) == 0) {
        index = strtoul(argv[2] + 3, &end, 10);
        if (end != argv[2] + 3 && *end == 0 && index < HG_CL_DEVICES_MAX)
            return (uint32_t)index;
    }
    fprintf(stderr, "usage: %s [--device cl:N]\n", argv[0]);
    exit(2);
}
