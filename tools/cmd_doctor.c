/* SPDX-License-Identifier: MIT */
/* headgate doctor: what a report of a bug needs, and the command that mends what is wrong. */
#include "commands.h"

#include "doctor.h"
#include "interrupt.h"
#include "message.h"

#include <unistd.h>

static hg_result look(hg_doctor *doctor)
{
    static void (*const sections[])(hg_doctor *) = {
        hg_doctor_system,  hg_doctor_layers,      hg_doctor_vulkan, hg_doctor_opencl,
        hg_doctor_devices, hg_doctor_selftest,    hg_doctor_access, hg_doctor_fonts,
        hg_doctor_folders, hg_doctor_environment,
    };

    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && doctor->result == HG_OK; i++) {
        sections[i](doctor);
        if (doctor->result == HG_OK)
            doctor->result = hg_interrupt_check();
    }
    hg_message_status(NULL);
    return doctor->result;
}

static int run(hg_app *app)
{
    const int as_json = hg_args_count(app->args, HG_OPTION_JSON) > 0;
    hg_doctor doctor = {.app = app, .root = ""};
    hg_output *output = NULL;
    uint32_t wrong;
    hg_result res;

    HG_TRY(hg_output_open("-", &output));
    HG_TRY(look(&doctor));
    if (as_json)
        HG_TRY(hg_doctor_print_json(&doctor, output));
    else
        HG_TRY(hg_doctor_print(&doctor, output, isatty(STDOUT_FILENO),
                               hg_args_count(app->args, HG_OPTION_QUIET) > 0));
    res = hg_output_commit(&output);
out:
    hg_output_discard(&output);
    wrong = hg_doctor_count(&doctor, HG_DOCTOR_WRONG);
    hg_doctor_free(&doctor);
    return res == HG_OK ? wrong > 0 : hg_exit_code(res);
}

static const hg_option_id options[] = {HG_OPTION_JSON, HG_OPTION_END};

const hg_command hg_command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "what is wrong with drivers, devices and folders, and the command that mends it",
    .about = "Looks at Vulkan and OpenCL loaders, every driver file and layer, devices, access to "
             "GPUs, fonts, models, caches and the environment. Every driver is tried in a process "
             "of its own, so one that crashes or hangs is a line of the report. Each line that is "
             "wrong ends with the command that mends it; nothing is changed. -q leaves out what is "
             "well. Exit code 1: something is wrong. The output is what a bug report needs; values "
             "of tokens and keys are left "
             "out.",
    .examples = "headgate doctor\n"
                "headgate doctor -q\n"
                "headgate doctor --json | jq '.rows[] | select(.state == \"wrong\")'",
    .options = options,
    .run = run,
};
