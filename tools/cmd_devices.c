/* SPDX-License-Identifier: MIT */
/* headgate devices: every device, what it can do, and why one cannot be used. */
#include "commands.h"

#include "interrupt.h"
#include "json_writer.h"
#include "machine.h"
#include "message.h"
#include "paragraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct feature_name {
    uint32_t bit;
    const char *name;
} feature_name;

static const feature_name features[] = {
    {HG_FEATURE_FP16, "fp16"},
    {HG_FEATURE_STORAGE16, "storage16"},
    {HG_FEATURE_SUBGROUP_ARITHMETIC, "subgroup"},
    {HG_FEATURE_SUBGROUP_SIZE, "subgroup-size"},
    {HG_FEATURE_COOPMAT, "coopmat"},
    {HG_FEATURE_INT64, "int64"},
    {HG_FEATURE_RTE32, "rte32"},
    {HG_FEATURE_TIMELINE, "timeline"},
    {HG_FEATURE_PUSH_DESCRIPTOR, "push-descriptor"},
    {HG_FEATURE_TIMESTAMPS, "timestamps"},
    {HG_FEATURE_UNIFIED_MEMORY, "unified-memory"},
    {HG_FEATURE_BUDGET, "budget"},
    {HG_FEATURE_PORTABILITY, "portability"},
};
enum { FEATURE_COUNT = sizeof(features) / sizeof(features[0]) };

static hg_result list_devices(hg_app *app, hg_device_info **out, uint32_t *count)
{
    hg_devices_params params = {.struct_size = sizeof(params), .log = app->log};
    hg_device_info *devices;
    hg_result res;

    *out = NULL;
    *count = 0;
    res = hg_devices(&params, NULL, count);
    if (res != HG_OK)
        return res;
    devices = calloc((size_t)*count + 1, sizeof(*devices));
    if (!devices)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < *count; i++)
        devices[i].struct_size = sizeof(devices[i]);
    res = hg_devices(&params, devices, count);
    if (res != HG_OK) {
        free(devices);
        return res;
    }
    *out = devices;
    return HG_OK;
}

static void put_limits(const hg_limits *limits, hg_put *put)
{
    hg_put_object(put, "limits");
    hg_put_unsigned(put, "group_invocations", limits->group_invocations);
    hg_put_row(put, "group_size");
    for (int i = 0; i < 3; i++)
        hg_put_unsigned(put, NULL, limits->group_size[i]);
    hg_put_end(put);
    hg_put_row(put, "group_count");
    for (int i = 0; i < 3; i++)
        hg_put_unsigned(put, NULL, limits->group_count[i]);
    hg_put_end(put);
    hg_put_unsigned(put, "shared_bytes", limits->shared_bytes);
    hg_put_unsigned(put, "push_bytes", limits->push_bytes);
    hg_put_unsigned(put, "storage_buffers", limits->storage_buffers);
    hg_put_unsigned(put, "bind_align_bytes", limits->bind_align_bytes);
    hg_put_unsigned(put, "subgroup_min", limits->subgroup_min);
    hg_put_unsigned(put, "subgroup_max", limits->subgroup_max);
    hg_put_unsigned(put, "binding_bytes", limits->binding_bytes);
    hg_put_unsigned(put, "alloc_bytes", limits->alloc_bytes);
    hg_put_end(put);
}

static const char *matrix_type_name(uint8_t type)
{
    static const char *const names[] = {"unknown", "f16", "bf16", "f32"};

    return names[type < sizeof(names) / sizeof(names[0]) ? type : 0];
}

static void put_shapes(const hg_device_info *device, hg_put *put)
{
    hg_put_array(put, "matrix_shapes");
    for (uint32_t i = 0; i < device->matrix_count; i++) {
        const hg_matrix_shape *shape = &device->matrix[i];

        hg_put_object(put, NULL);
        hg_put_unsigned(put, "m", shape->m);
        hg_put_unsigned(put, "n", shape->n);
        hg_put_unsigned(put, "k", shape->k);
        hg_put_text(put, "operands", matrix_type_name(shape->operands));
        hg_put_text(put, "sums", matrix_type_name(shape->sums));
        hg_put_end(put);
    }
    hg_put_end(put);
}

static void put_device(const hg_device_info *device, int is_default, hg_put *put)
{
    hg_put_object(put, NULL);
    hg_put_unsigned(put, "index", device->index);
    hg_put_text(put, "selector", device->selector);
    hg_put_boolean(put, "default", is_default);
    hg_put_text(put, "backend", hg_backend_label(device->backend));
    hg_put_text(put, "type", hg_device_type_name(device->type));
    hg_put_text(put, "name", device->name);
    hg_put_text(put, "driver", device->driver);
    hg_put_text(put, "driver_version", device->driver_version);
    hg_put_text(put, "api_version", device->api_version);
    hg_put_text(put, "unusable", *device->unusable ? device->unusable : NULL);
    hg_put_hex(put, "device_uuid", device->device_uuid, sizeof(device->device_uuid));
    hg_put_hex(put, "driver_uuid", device->driver_uuid, sizeof(device->driver_uuid));
    hg_put_unsigned(put, "vendor_id", device->vendor_id);
    hg_put_unsigned(put, "device_id", device->device_id);
    hg_put_unsigned(put, "compute_units", device->compute_units);
    hg_put_unsigned(put, "memory_total_bytes", device->memory_total_bytes);
    hg_put_unsigned(put, "memory_free_bytes", device->memory_free_bytes);
    hg_put_row(put, "features");
    for (int i = 0; i < FEATURE_COUNT; i++) {
        if (device->features & features[i].bit)
            hg_put_text(put, NULL, features[i].name);
    }
    hg_put_end(put);
    put_limits(&device->limits, put);
    hg_put_unsigned(put, "subgroup_size", device->subgroup_size);
    put_shapes(device, put);
    hg_put_end(put);
}

static hg_result print_text(hg_output *output, uint32_t width, const char *text)
{
    enum { TEXT_AT = 25 };
    hg_result res = hg_output_format(output, "%*s", (int)TEXT_AT, "");

    return res == HG_OK ? hg_paragraph_print(output, width, TEXT_AT, TEXT_AT, text) : res;
}

static int same_operands(const hg_matrix_shape *a, const hg_matrix_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->operands == b->operands;
}

/* "matrices 16x16x16 f16 (sums f16, f32)": shapes that differ in nothing but their sums share one.
 */
static void say_shapes(const hg_device_info *device, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "matrices");

    for (uint32_t i = 0; i < device->matrix_count && used < size; i++) {
        const hg_matrix_shape *shape = &device->matrix[i];
        const int is_same = i > 0 && same_operands(shape, shape - 1);
        const int more = i + 1 < device->matrix_count && same_operands(shape, shape + 1);

        if (!is_same)
            used +=
                (size_t)snprintf(text + used, size - used, "%s %ux%ux%u %s (sums", i ? "," : "",
                                 shape->m, shape->n, shape->k, matrix_type_name(shape->operands));
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s %s%s", is_same ? "," : "",
                                     matrix_type_name(shape->sums), more ? "" : ")");
    }
}

static hg_result print_device(hg_output *output, const hg_device_info *device, int is_default)
{
    enum { WIDTH = 80 }; /* what a report that is sent is read in */
    const uint32_t room = hg_paragraph_width(), width = room < WIDTH ? room : WIDTH;
    char total[32], available[32], driver[640], text[900], names[256] = "";
    hg_result res;

    res = hg_output_format(output, "%c %-3u %-6s %-11s %s\n", is_default ? '*' : ' ', device->index,
                           device->selector, hg_device_type_name(device->type), device->name);
    snprintf(text, sizeof(text), "%s; memory %s, %s free", hg_driver_label(device, driver),
             hg_show_bytes(device->memory_total_bytes, total),
             hg_show_bytes(device->memory_free_bytes, available));
    if (res == HG_OK)
        res = print_text(output, width, text);
    if (res == HG_OK && *device->unusable) {
        snprintf(text, sizeof(text), "cannot be used: %s", device->unusable);
        return print_text(output, width, text);
    }
    for (int i = 0; i < FEATURE_COUNT; i++) {
        const size_t used = strlen(names);

        if (device->features & features[i].bit)
            snprintf(names + used, sizeof(names) - used, "%s%s", used ? " " : "", features[i].name);
    }
    if (res == HG_OK)
        res = print_text(output, width, *names ? names : "no optional features");
    if (res == HG_OK && device->matrix_count) {
        say_shapes(device, text, sizeof(text));
        res = print_text(output, width, text);
    }
    return res;
}

/* The place of what --device would pick when it is not given; count when there is none. */
static uint32_t find_default(const hg_device_info *devices, uint32_t count)
{
    uint32_t found = count;
    hg_result res = hg_device_select(NULL, devices, count, NULL, &found);

    return res == HG_OK ? found : count;
}

static hg_result print_devices(hg_app *app, hg_output *output)
{
    hg_device_info *devices = NULL;
    uint32_t count, chosen;
    hg_put put;
    hg_result res;

    HG_TRY(list_devices(app, &devices, &count));
    HG_TRY(hg_interrupt_check());
    chosen = find_default(devices, count);
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        hg_put_start(&put, output, "devices");
        hg_put_array(&put, "devices");
        for (uint32_t i = 0; i < count; i++)
            put_device(&devices[i], i == chosen, &put);
        hg_put_end(&put);
        hg_put_finish(&put);
    } else {
        HG_TRY(hg_output_text(output, "  N   SEL    TYPE        NAME\n"));
        for (uint32_t i = 0; i < count; i++)
            HG_TRY(print_device(output, &devices[i], i == chosen));
    }
    if (chosen == count)
        res = hg_message_fail(HG_ERR_NO_DEVICE, "no device can be used; the list says why");
out:
    free(devices);
    return res;
}

static int run(hg_app *app)
{
    hg_output *output;
    hg_result res = hg_output_open("-", &output), written;

    if (res != HG_OK)
        return hg_exit_code(res);
    res = print_devices(app, output);
    written = hg_output_commit(&output);
    return hg_exit_code(res != HG_OK ? res : written);
}

static const hg_option_id options[] = {HG_OPTION_JSON, HG_OPTION_END};

const hg_command hg_command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "list the devices, their drivers, and why one cannot be used",
    .about = "Lists every Vulkan device, every OpenCL device and the reference, in the order in "
             "which --device counts "
             "them. * marks the one that is used when none is named.",
    .examples = "headgate devices\n"
                "headgate devices --json | jq -r '.devices[].selector'",
    .options = options,
    .run = run,
};
