/* SPDX-License-Identifier: MIT */
/*
 * What `headgate doctor` finds: rows of { section, name, state, what was found, the command that
 * mends it }. One file per section adds rows; doctor_report.c prints them. No section touches a
 * driver in this process (doctor_probe.h does it in children).
 */
#ifndef HG_TOOLS_DOCTOR_H
#define HG_TOOLS_DOCTOR_H

#include "app.h"

typedef enum hg_doctor_state {
    HG_DOCTOR_OK = 0,
    HG_DOCTOR_NOTE = 1, /* works all the same; may have a remedy */
    HG_DOCTOR_WRONG = 2 /* always has a remedy */
} hg_doctor_state;

typedef struct hg_doctor_row {
    const char *section, *name; /* name: owned */
    const char *found, *remedy; /* owned; remedy NULL: none */
    hg_doctor_state state;
} hg_doctor_row;

typedef struct hg_doctor {
    hg_app *app;
    const char
        *root; /* "": what /dev, /etc, /proc, /run and /sys are below; tests make up their own */
    hg_doctor_row *rows;
    uint32_t row_count, row_room;
    hg_result result;        /* the first failure to go on: memory, a signal */
    char container[32];      /* "docker", "podman", "lxc", "container"; "": none */
    int wsl;                 /* Windows Subsystem for Linux */
    int has_apt;             /* packages are Debian's */
    hg_device_info *devices; /* of the whole enumeration; NULL: it did not end */
    uint32_t device_count;
    struct hg_probe *trials; /* of their kernels, one per device; NULL: not tried */
    /* For the enumeration of all: what crashed or hung alone is left out. */
    uint32_t layers_bad, vulkan_bad, opencl_bad;
    char layer_off[HG_NAME_SIZE]; /* variable that turns the first bad layer off; "": none */
    char *vulkan_good;            /* driver files that work, as VK_DRIVER_FILES takes them */
    uint32_t vulkan_alone;        /* Vulkan devices that drivers had when asked alone */
} hg_doctor;

enum { HG_COMMAND_SIZE = 3 * HG_PATH_SIZE };

/* remedy is required when state is HG_DOCTOR_WRONG. */
void hg_doctor_add(hg_doctor *doctor, hg_doctor_state state, const char *section, const char *name,
                   const char *remedy, const char *format, ...) HG_PRINTF(6, 7);
uint32_t hg_doctor_count(const hg_doctor *doctor, hg_doctor_state state);
void hg_doctor_free(hg_doctor *doctor);

/* is_quiet: without what is well. */
hg_result hg_doctor_print(const hg_doctor *doctor, hg_output *output, int is_terminal,
                          int is_quiet);
hg_result hg_doctor_print_json(const hg_doctor *doctor, hg_output *output);

/* Commands, as somebody would paste them. The text that is written to is returned. */
const char *hg_doctor_install(const hg_doctor *doctor, const char *packages,
                              char text[HG_COMMAND_SIZE]);
const char *hg_doctor_reinstall(const hg_doctor *doctor, const char *packages,
                                char text[HG_COMMAND_SIZE]);
/* Takes a file out of a loader's sight: renames it to FILE.off. */
const char *hg_doctor_put_off(const char *path, char text[HG_COMMAND_SIZE]);
/* "sudo " unless this is root. */
const char *hg_doctor_sudo(void);
/* A path as a word of a shell. Too long a path: "". */
const char *hg_doctor_quote(const char *path, char text[HG_COMMAND_SIZE]);

/* A path below the root. */
const char *hg_doctor_path(const hg_doctor *doctor, const char *path, char text[HG_PATH_SIZE]);
/* The first line of a small file of the system, below the root; "" when there is none. */
const char *hg_doctor_line(const hg_doctor *doctor, const char *path, char *text, size_t bytes);

/* The variable's value, or NULL when it is not set or empty. */
const char *hg_doctor_variable(const char *name);

/* Variables that are set and change what a driver of this kind computes, as "unset NAME NAME";
 * NULL: none is. */
const char *hg_doctor_blame(hg_backend_kind backend, char text[HG_COMMAND_SIZE]);
/* Whether PATH leads to a linker, which PoCL calls. */
int hg_doctor_has_linker(void);
/* What makes it lead to one. */
const char *hg_doctor_mend_path(const hg_doctor *doctor, char text[HG_COMMAND_SIZE]);

/* What all devices are asked, without what crashes or hangs. */
struct hg_question hg_doctor_question(const hg_doctor *doctor);
struct hg_probe;
/* Tries the kernels of all devices. */
void hg_doctor_try(hg_doctor *doctor);
/* NULL, or what is the matter with a device's kernels: "are wrong", "cannot be built". */
const char *hg_doctor_trouble(const hg_doctor *doctor, uint32_t device);
void hg_doctor_free_trials(hg_doctor *doctor);
/* The row of a device whose kernels were tried; remedy: what to do when they are wrong; blame:
 * what hg_doctor_blame says, or NULL. */
void hg_doctor_selftest_row(hg_doctor *doctor, const char *selector, const struct hg_probe *probe,
                            const char *remedy, const char *blame);

/* The sections, in this order. */
void hg_doctor_system(hg_doctor *doctor);
void hg_doctor_layers(hg_doctor *doctor); /* a bad layer must not be taken for a bad driver */
void hg_doctor_vulkan(hg_doctor *doctor);
void hg_doctor_opencl(hg_doctor *doctor);
void hg_doctor_devices(hg_doctor *doctor);
void hg_doctor_selftest(hg_doctor *doctor);
void hg_doctor_access(hg_doctor *doctor);
void hg_doctor_fonts(hg_doctor *doctor);
void hg_doctor_folders(hg_doctor *doctor);
void hg_doctor_environment(hg_doctor *doctor);

#endif
