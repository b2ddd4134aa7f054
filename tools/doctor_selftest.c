/* SPDX-License-Identifier: MIT */
/* Kernels on each device with a driver: the quick level of hg_selftest, in a child with a longer
 * time, since drivers compile. */
#include "doctor.h"
#include "doctor_probe.h"

#include "message.h"

#include <headgate/diagnose.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char section[] = "selftest";

enum { SECONDS = 180, TOLD_MAX = 4 };

typedef struct test_tally {
    int fd;
    uint32_t passed, failed, skipped;
} test_tally;

static void write_line(void *user, hg_log_level level, const char *line)
{
    const test_tally *tally = user;

    (void)level;
    hg_probe_answer(tally->fd, "LINE", line);
}

static void take_row(void *user, const hg_selftest_row *row)
{
    test_tally *at = user;
    char text[512];

    at->passed += row->verdict == HG_SELFTEST_PASSED;
    at->skipped += row->verdict == HG_SELFTEST_SKIPPED;
    if (row->verdict != HG_SELFTEST_FAILED || at->failed++ >= TOLD_MAX)
        return;
    snprintf(text, sizeof(text), "%s %s %s on %s: %.300s", row->kernel, row->dtype, row->tier,
             row->shape, row->detail);
    hg_probe_answer(at->fd, "FAIL", text);
}

/* FAIL for the first rows that failed, then COUN "passed failed skipped". */
static void ask(const hg_question *question, int fd)
{
    test_tally tally = {.fd = fd};
    hg_engine_params params = {.struct_size = sizeof(params),
                               .selector = question->selector,
                               .log = {write_line, &tally, HG_LOG_ERROR}};
    const hg_selftest_params level = {.struct_size = sizeof(level), .level = HG_SELFTEST_QUICK};
    hg_engine *engine = NULL;
    char text[64];

    hg_probe_hide(question);
    if (hg_engine_create(&params, &engine) == HG_OK &&
        hg_selftest(engine, &level, take_row, &tally) == HG_OK) {
        snprintf(text, sizeof(text), "%u %u %u", tally.passed, tally.failed, tally.skipped);
        hg_probe_answer(fd, "COUN", text);
    }
    hg_engine_destroy(&engine);
}

/* PoCL links what it compiles with the system's linker, and gives up when it finds none. */
static const char *mend_linking(const hg_doctor *doctor, const hg_probe *probe, const char *remedy,
                                char text[HG_COMMAND_SIZE])
{
    if (!strstr(probe->last_line, "Final linking"))
        return remedy;
    if (!hg_doctor_variable("PATH"))
        return "export PATH=/usr/local/bin:/usr/bin:/bin";
    return hg_doctor_install(doctor, "binutils gcc libc6-dev", text);
}

void hg_doctor_selftest_row(hg_doctor *doctor, const char *selector, const hg_probe *probe,
                            const char *remedy)
{
    const char *counted = hg_probe_text(probe, "COUN"), *line = hg_probe_text(probe, "LINE");
    const char *fail = hg_probe_text(probe, "FAIL");
    unsigned passed = 0, failed = 0, skipped = 0;
    char text[640], command[HG_COMMAND_SIZE];

    if (counted && sscanf(counted, "%u %u %u", &passed, &failed, &skipped) == 3 && !failed)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, selector, NULL, "%u kernel tests passed%s",
                      passed, skipped ? ", some kernels are not for this device" : "");
    else if (counted)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector, remedy,
                      "%u of %u kernel tests failed, first %s", failed, passed + failed,
                      fail ? fail : "an unknown one");
    else if (probe->ended)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector, remedy,
                      "the device cannot be tried: %s", line ? line : "no reason was given");
    else
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector,
                      mend_linking(doctor, probe, remedy, command), "trying its kernels, it %s%s%s",
                      hg_probe_failure(probe, text), fail ? "; before that failed " : "",
                      fail ? fail : "");
}

static int is_good(const hg_probe *probe)
{
    const char *counted = hg_probe_text(probe, "COUN");
    unsigned passed, failed;

    return counted && sscanf(counted, "%u %u", &passed, &failed) == 2 && failed == 0;
}

/* The reference has no driver that could be wrong. */
static int is_tried(const hg_device_info *device)
{
    return !device->unusable[0] && device->backend != HG_BACKEND_REFERENCE;
}

static hg_result look(hg_doctor *doctor, hg_probe *probes)
{
    char remedy[64] = "export HG_DEVICE=ref";
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < doctor->device_count && res == HG_OK; i++) {
        hg_question question = hg_doctor_question(doctor);
        char status[64];

        if (!is_tried(&doctor->devices[i]))
            continue;
        question.selector = doctor->devices[i].selector;
        question.seconds = SECONDS;
        snprintf(status, sizeof(status), "trying kernels on %s", question.selector);
        hg_message_status(status);
        res = hg_probe_run(&probes[i], ask, &question);
    }
    /* The first that is good is what to use instead of one that is not. */
    for (uint32_t i = doctor->device_count; i-- > 0;) {
        if (is_tried(&doctor->devices[i]) && is_good(&probes[i]))
            snprintf(remedy, sizeof(remedy), "export HG_DEVICE=%.15s", doctor->devices[i].selector);
    }
    for (uint32_t i = 0; i < doctor->device_count && res == HG_OK; i++) {
        if (is_tried(&doctor->devices[i]))
            hg_doctor_selftest_row(doctor, doctor->devices[i].selector, &probes[i], remedy);
    }
    return res;
}

void hg_doctor_selftest(hg_doctor *doctor)
{
    hg_probe *probes = calloc((size_t)doctor->device_count + 1, sizeof(*probes));
    hg_result res = probes ? look(doctor, probes) : HG_ERR_HOST_MEMORY;

    if (doctor->result == HG_OK)
        doctor->result = res;
    for (uint32_t i = 0; probes && i < doctor->device_count; i++)
        hg_probe_free(&probes[i]);
    free(probes);
}
