/* SPDX-License-Identifier: MIT */
/* Choosing and opening a device. */
#include "machine.h"

#include "interrupt.h"
#include "message.h"
#include "surroundings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const precision_names[] = {"fp32", "exact", "fast"};
enum { PRECISION_COUNT = sizeof(precision_names) / sizeof(precision_names[0]) };

const char *hg_precision_name(hg_precision precision)
{
    return (unsigned)precision < PRECISION_COUNT ? precision_names[precision] : "unknown";
}

const char *hg_backend_label(hg_backend_kind backend)
{
    switch (backend) {
    case HG_BACKEND_VULKAN:
        return "Vulkan";
    case HG_BACKEND_OPENCL:
        return "OpenCL";
    case HG_BACKEND_REFERENCE:
        return "reference";
    }
    return "unknown";
}

const char *hg_device_type_name(hg_device_type type)
{
    switch (type) {
    case HG_DEVICE_DISCRETE:
        return "discrete";
    case HG_DEVICE_INTEGRATED:
        return "integrated";
    case HG_DEVICE_VIRTUAL:
        return "virtual";
    case HG_DEVICE_OTHER:
        return "accelerator";
    case HG_DEVICE_CPU:
        return "software";
    }
    return "unknown";
}

const char *hg_driver_label(const hg_device_info *device, char text[640])
{
    snprintf(text, 640, "%s%s%s%s%s", device->driver, *device->driver_version ? " " : "",
             device->driver_version, *device->api_version ? ", " : "", device->api_version);
    return text;
}

/* A name may hold an @ of its own: only a precision after the last one counts. */
static int split_precision(char *selector, uint32_t *precision)
{
    char *at = strrchr(selector, '@');

    for (uint32_t i = 0; at && i < PRECISION_COUNT; i++) {
        if (strcmp(at + 1, precision_names[i]) == 0) {
            *at = '\0';
            *precision = i;
            return 1;
        }
    }
    return 0;
}

/* A name may hold a slash too: only a tier after the last one counts. */
static void split_tier(hg_machine_choice *choice)
{
    char *slash = strrchr(choice->selector, '/');
    hg_kernel_info row = {.struct_size = sizeof(row)};

    for (uint32_t i = 0; slash && hg_kernel_describe(i, &row) == HG_OK; i++) {
        if (strcmp(slash + 1, row.tier) == 0) {
            snprintf(choice->tier, sizeof(choice->tier), "%s", row.tier);
            *slash = '\0';
            return;
        }
    }
}

hg_result hg_machine_choose(const hg_args *args, const char *value, hg_machine_choice *out)
{
    uint32_t named = HG_PRECISION_FP32, suffix = HG_PRECISION_FP32, none = HG_PRECISION_FP32;
    int is_named = hg_args_value(args, HG_OPTION_PRECISION) != NULL, has_suffix;
    const char *source = "--device";
    hg_result res;

    memset(out, 0, sizeof(*out));
    res = hg_args_choice(args, HG_OPTION_PRECISION, precision_names, PRECISION_COUNT, &named);
    if (res != HG_OK)
        return res;
    if (hg_args_count(args, HG_OPTION_EXACT)) {
        if (is_named && named != HG_PRECISION_EXACT)
            return hg_message_fail(HG_ERR_ARGUMENT,
                                   "--exact and --precision %s contradict each other",
                                   precision_names[named]);
        named = HG_PRECISION_EXACT;
        is_named = 1;
    }
    if (!value)
        value = hg_args_value(args, HG_OPTION_DEVICE);
    if (!value) {
        value = getenv("HG_DEVICE");
        source = "HG_DEVICE";
    }
    if (!value)
        value = "";
    if (strlen(value) >= sizeof(out->selector))
        return hg_message_fail(HG_ERR_ARGUMENT, "%s: longer than any selector can be", source);
    memcpy(out->selector, value, strlen(value) + 1);
    has_suffix = split_precision(out->selector, &suffix);
    if (has_suffix && is_named && suffix != named)
        return hg_message_fail(HG_ERR_ARGUMENT, "%s %s and precision %s contradict each other",
                               source, value, precision_names[named]);
    split_tier(out);
    out->by_default = out->selector[0] == '\0';
    out->precision_given = has_suffix || is_named;
    out->precision = (hg_precision)(has_suffix ? suffix : is_named ? named : none);
    return HG_OK;
}

/* Commands that judge a device take the table's choice, which is the same from run to run. */
static hg_result read_tune(const hg_args *args, hg_tune *out)
{
    static const char *const names[] = {
        [HG_TUNE_AUTO] = "auto", [HG_TUNE_OFF] = "off", [HG_TUNE_QUICK] = "quick"};
    uint32_t choice =
        hg_args_takes(args->command, HG_OPTION_TUNE) ? (uint32_t)HG_TUNE_AUTO : HG_TUNE_OFF;
    const hg_result res = hg_args_choice(args, HG_OPTION_TUNE, names, 3, &choice);

    *out = (hg_tune)choice;
    return res;
}

hg_result hg_machine_engine(hg_app *app, const hg_machine_choice *choice, const hg_log *log,
                            hg_engine **out)
{
    hg_engine_params params = {.struct_size = sizeof(params)};
    char surroundings[32];
    uint32_t threads = 0;
    hg_result res;

    *out = NULL;
    HG_TRY(hg_args_number(app->args, HG_OPTION_THREADS, 1, 1024, &threads));
    HG_TRY(read_tune(app->args, &params.tune));
    params.surroundings = hg_surroundings_key(surroundings);
    params.selector = choice->selector;
    params.trust = choice->trust != 0;
    params.tier = choice->tier[0] ? choice->tier : NULL;
    params.precision = choice->precision;
    params.limits = hg_args_value(app->args, HG_OPTION_LIMITS);
    params.cache_dir = hg_app_cache(app);
    params.threads = threads;
    params.validate = hg_args_count(app->args, HG_OPTION_VALIDATE) > 0;
    params.log = *log;
    HG_TRY(hg_engine_create(&params, out));
out:
    return res;
}

hg_result hg_machine_open(hg_app *app, const hg_machine_choice *choice, hg_machine *out)
{
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(hg_machine_engine(app, choice, &app->log, &out->engine));
    HG_TRY(hg_interrupt_check());
    out->device.struct_size = sizeof(out->device);
    HG_TRY(hg_engine_describe(out->engine, &out->device));
    out->precision = hg_engine_precision(out->engine);
    if (choice->by_default && out->device.type == HG_DEVICE_CPU)
        hg_message_note("no GPU that can be used: running on the processor, %s: %s (%s)",
                        out->device.selector, out->device.name, out->device.driver);
    else
        hg_message(HG_LOG_INFO, "device %s: %s (%s)", out->device.selector, out->device.name,
                   out->device.driver);
out:
    if (res != HG_OK)
        hg_machine_close(out);
    return res;
}

void hg_machine_close(hg_machine *machine)
{
    hg_engine_destroy(&machine->engine);
}

int hg_machine_complained(const hg_machine *machine)
{
    uint32_t count = machine->engine ? hg_engine_validation_messages(machine->engine) : 0;

    if (count > 0)
        hg_message(HG_LOG_ERROR, "the validation layer had %u message%s", count,
                   count == 1 ? "" : "s");
    return count > 0;
}
