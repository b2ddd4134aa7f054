/* SPDX-License-Identifier: MIT */
/*
 * A question to a driver, asked in a child process that may crash or hang: the child answers in
 * facts (frames of tools/child.h), what the driver prints is caught, and the parent gets all that
 * came before the end. Several may run at a time.
 */
#ifndef HG_TOOLS_DOCTOR_PROBE_H
#define HG_TOOLS_DOCTOR_PROBE_H

#include "child.h"

#include <headgate/engine.h>

#include <stdio.h>

enum { HG_PROBE_FACTS_MAX = 64, HG_PROBE_SECONDS = 20, HG_PROBE_AT_ONCE = 8 };

typedef struct hg_fact {
    char tag[5];
    char *data; /* ended by 0 beyond its bytes */
    size_t bytes;
} hg_fact;

typedef struct hg_probe {
    hg_child child;
    hg_fact facts[HG_PROBE_FACTS_MAX];
    uint32_t fact_count;
    FILE *said;          /* standard output and error of the child */
    char last_line[256]; /* of it; "" when it said nothing */
    int64_t until_ms;
    uint32_t seconds; /* that it had */
    int ended;        /* 1: its last fact was DONE */
    int timed_out;    /* 1: it was stopped after its seconds */
    int ending;       /* as hg_child_stop tells */
} hg_probe;

/* What is asked; every work of a probe takes one. */
typedef struct hg_question {
    const char *file;    /* the driver's manifest, for VK_DRIVER_FILES; NULL: leave as it is */
    const char *library; /* to open */
    int without_opencl, without_layers;
    const char *layer_off;  /* a variable to set, for loaders that know no other way; NULL: none */
    const char *selector;   /* of a device to try */
    const char *pocl_cache; /* an empty folder: PoCL compiles anew; NULL: its own cache */
    uint32_t seconds;       /* that an answer may take; 0: HG_PROBE_SECONDS */
} hg_question;

/* Runs in the child: answers with hg_probe_answer. */
typedef void (*hg_probe_work)(const hg_question *question, int fd);

hg_result hg_probe_start(hg_probe *probe, hg_probe_work work, const hg_question *question);
/* Waits for it. HG_CANCELLED, HG_ERR_HOST_MEMORY, else HG_OK however it ended. */
hg_result hg_probe_collect(hg_probe *probe);
void hg_probe_free(hg_probe *probe);
/* Starts and collects. */
hg_result hg_probe_run(hg_probe *probe, hg_probe_work work, const hg_question *question);

/* One probe for each question that names a library, several at a time; probes: zeros before. */
hg_result hg_probe_all(hg_probe *probes, hg_probe_work work, const hg_question *questions,
                       uint32_t count);

/* The first fact of a tag; NULL: none. */
const hg_fact *hg_probe_fact(const hg_probe *probe, const char *tag);
const char *hg_probe_text(const hg_probe *probe, const char *tag);
/* The devices of an answer to hg_ask_devices; 0: none. Texts inside are ended. */
uint32_t hg_probe_devices(const hg_probe *probe, hg_device_info **out);
/* "crashed: ended by signal 11 (Segmentation fault)", "gave no answer for 20 s"; how it did not
 * answer. */
const char *hg_probe_failure(const hg_probe *probe, char text[640]);

/* --- what a child does -------------------------------------------------------------------- */

void hg_probe_answer(int fd, const char tag[4], const char *text);
/* Sets the variables that hide what the question leaves out. */
void hg_probe_hide(const hg_question *question);

/* PATH where the library was found, or FAIL why it does not load. */
void hg_ask_layer(const hg_question *question, int fd);
/* The same; MISS a function that it lacks; then DEVS under this driver alone. */
void hg_ask_vulkan(const hg_question *question, int fd);
/* The same; PLAT "name, version, N devices" for each platform. */
void hg_ask_opencl(const hg_question *question, int fd);
/* PATH, VERS: a loader's file and version; FAIL why there is none. */
void hg_ask_vulkan_loader(const hg_question *question, int fd);
void hg_ask_opencl_loader(const hg_question *question, int fd);
/* DEVS: all devices; LINE: what the library had to say. */
void hg_ask_devices(const hg_question *question, int fd);

#endif
