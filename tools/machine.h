/* SPDX-License-Identifier: MIT */
/* The device that a command runs on: --device, --precision, --limits, --threads, --validate and
 * HG_DEVICE. */
#ifndef HG_TOOLS_MACHINE_H
#define HG_TOOLS_MACHINE_H

#include "app.h"

typedef struct hg_machine {
    hg_engine *engine;
    hg_device_info device;
    hg_precision precision;
} hg_machine;

/* What the options ask for, before a driver is touched. selector is cut to its part before
 * /TIER and @PRECISION. */
typedef struct hg_machine_choice {
    char selector[HG_NAME_SIZE];
    char tier[8];   /* of SEL/TIER, or "" */
    int by_default; /* nobody chose a device */
    int trust;      /* kernels are used untried: for commands that judge them by themselves */
    hg_precision precision;
    int precision_given; /* somebody chose the precision */
} hg_machine_choice;

/* value: one --device as written, or NULL for the last one given (else HG_DEVICE, else the
 * default). */
hg_result hg_machine_choose(const hg_args *args, const char *value, hg_machine_choice *out);
hg_result hg_machine_open(hg_app *app, const hg_machine_choice *choice, hg_machine *out);
/* The engine of a choice under the other options; without a word to the user but through log. */
hg_result hg_machine_engine(hg_app *app, const hg_machine_choice *choice, const hg_log *log,
                            hg_engine **out);
void hg_machine_close(hg_machine *machine);

/* Under --validate: says how many messages there were; 1 when there were any. */
int hg_machine_complained(const hg_machine *machine);

const char *hg_precision_name(hg_precision precision);
const char *hg_backend_label(hg_backend_kind backend);
const char *hg_device_type_name(hg_device_type type);
/* "llvmpipe Mesa 22.3.6 (LLVM 15.0.6), Vulkan 1.3.230" */
const char *hg_driver_label(const hg_device_info *device, char text[640]);

#endif
