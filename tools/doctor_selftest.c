/* SPDX-License-Identifier: MIT */
/* Kernels on each device with a driver: the quick level of hg_selftest, under exact and under fp32,
 * in a child with a longer time, since drivers compile. */
#include "doctor.h"
#include "doctor_probe.h"
#include "selftest_tally.h"

#include "message.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char section[] = "selftest";

enum { SECONDS = 180 };

static void write_line(void *user, hg_log_level level, const char *line)
{
    const int *fd = user;

    (void)level;
    hg_probe_answer(*fd, "LINE", line);
}

static void take_row(void *user, const hg_selftest_row *row)
{
    (void)hg_selftest_tally_add(user, row);
}

/* The first line of the worst state. */
static void answer_worst(const hg_selftest_tally *tally, int fd)
{
    const hg_selftest_line *worst = NULL;
    char text[512];

    for (uint32_t i = 0; i < tally->count; i++) {
        const hg_selftest_line *line = &tally->lines[i];

        if (line->state >= HG_SELFTEST_OTHER_BITS && (!worst || line->state > worst->state))
            worst = line;
    }
    if (!worst)
        return;
    snprintf(text, sizeof(text), "%s: %.320s", hg_selftest_state_name(worst), worst->first);
    hg_probe_answer(fd, "FAIL", text);
}

/* 0: it could not be tried; LINE says why. */
static int try_precision(const hg_question *question, hg_precision precision, int fd,
                         hg_selftest_tally *tally)
{
    hg_engine_params params = {.struct_size = sizeof(params),
                               .selector = question->selector,
                               .precision = precision,
                               .log = {write_line, &fd, HG_LOG_ERROR}};
    const hg_selftest_params level = {.struct_size = sizeof(level), .level = HG_SELFTEST_QUICK};
    hg_engine *engine = NULL;
    int good;

    memset(tally, 0, sizeof(*tally));
    good = hg_engine_create(&params, &engine) == HG_OK &&
           hg_selftest(engine, &level, take_row, tally) == HG_OK;
    hg_engine_destroy(&engine);
    return good;
}

/* Of each precision BITS or NEAR: "1 26", whether it is right and the number of kernels; WORD: the
 * sum in words; FAIL: the first that failed. */
static void ask(const hg_question *question, int fd)
{
    static const hg_precision precisions[] = {HG_PRECISION_EXACT, HG_PRECISION_FP32};
    hg_selftest_tally *tally = calloc(1, sizeof(*tally));
    uint32_t wrong = 0;
    char text[160], words[160] = "";

    hg_probe_hide(question);
    for (int i = 0; tally && i < 2 && try_precision(question, precisions[i], fd, tally); i++) {
        const int is_exact = precisions[i] == HG_PRECISION_EXACT;
        const hg_selftest_sum sum = hg_selftest_tally_sum(tally);

        answer_worst(tally, fd);
        if (is_exact || !sum.for_fp32)
            hg_selftest_words(&sum, is_exact, words);
        else if (wrong) /* kernels that exact does not take make up for it */
            snprintf(words, sizeof(words),
                     "not usable with --exact (%u kernel%s wrong); right for fp32, where others "
                     "take their place",
                     wrong, wrong == 1 ? "" : "s");
        wrong = is_exact && !sum.for_fp32 ? sum.wrong : 0;
        snprintf(text, sizeof(text), "%d %u", is_exact ? sum.for_exact : sum.for_fp32, sum.used);
        hg_probe_answer(fd, is_exact ? "BITS" : "NEAR", text);
    }
    if (*words)
        hg_probe_answer(fd, "WORD", words);
    free(tally);
}

/* --- what came of it ---------------------------------------------------------------------- */

typedef struct trial_verdict {
    int exact, fp32; /* right for it; -1: not known */
    unsigned kernels;
} trial_verdict;

static trial_verdict judge(const hg_probe *probe)
{
    const char *exact = hg_probe_text(probe, "BITS"), *fp32 = hg_probe_text(probe, "NEAR");
    trial_verdict out = {-1, -1, 0};

    if (exact && sscanf(exact, "%d %u", &out.exact, &out.kernels) != 2)
        out.exact = -1;
    if (fp32 && sscanf(fp32, "%d", &out.fp32) != 1)
        out.fp32 = -1;
    if (!probe->ended) /* it died while it was closed, too */
        out.exact = out.fp32 = -1;
    return out;
}

/* PoCL links what it compiles with the system's linker, and gives up when it finds none. */
static int is_linking(const hg_probe *probe)
{
    return strstr(probe->last_line, "Final linking") != NULL;
}

/* selector: OpenCL without a linker is suspect whatever it said; newer PoCL loses its device. */
static const char *mend_linking(const hg_doctor *doctor, const char *selector,
                                const hg_probe *probe, const char *remedy,
                                char text[HG_COMMAND_SIZE])
{
    if (!hg_doctor_has_linker() && (is_linking(probe) || strncmp(selector, "cl:", 3) == 0))
        return hg_doctor_mend_path(doctor, text);
    if (!is_linking(probe))
        return remedy;
    return hg_doctor_install(doctor, "binutils gcc libc6-dev", text);
}

void hg_doctor_selftest_row(hg_doctor *doctor, const char *selector, const hg_probe *probe,
                            const char *remedy, const char *blame)
{
    const trial_verdict verdict = judge(probe);
    const char *line = hg_probe_text(probe, "LINE"), *words = hg_probe_text(probe, "WORD");
    const char *fail = hg_probe_text(probe, "FAIL");
    char text[640], command[HG_COMMAND_SIZE];

    if (blame)
        remedy = blame;
    if (verdict.exact == 1 && verdict.fp32 == 1)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, selector, NULL,
                      "right for fp32 and for exact: all %u kernels", verdict.kernels);
    else if (verdict.fp32 == 1)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, selector, blame, "%s; first %s",
                      words ? words : "right for fp32, not for exact", fail ? fail : "unknown");
    else if (verdict.fp32 == 0)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector, remedy, "%s; first %s",
                      words ? words : "not usable", fail ? fail : "unknown");
    else if (probe->ended)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector,
                      mend_linking(doctor, selector, probe, remedy, command),
                      "the device cannot be tried: %s", line ? line : "no reason was given");
    else
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, selector,
                      mend_linking(doctor, selector, probe, remedy, command),
                      "trying its kernels, it %s%s%s", hg_probe_failure(probe, text),
                      fail ? "; before that failed " : "", fail ? fail : "");
}

const char *hg_doctor_trouble(const hg_doctor *doctor, uint32_t device)
{
    const hg_probe *probe = doctor->trials ? &doctor->trials[device] : NULL;

    if (!probe || probe->seconds == 0 || judge(probe).fp32 == 1)
        return NULL;
    if (judge(probe).fp32 == 0)
        return "are wrong";
    return is_linking(probe) ? "cannot be built" : "cannot be tried";
}

/* --- the trials --------------------------------------------------------------------------- */

/* The reference has no driver that could be wrong. */
static int is_tried(const hg_device_info *device)
{
    return !device->unusable[0] && device->backend != HG_BACKEND_REFERENCE;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

/* What lies in PoCL's cache is linked already: a linker that is gone would not be missed. */
static int needs_new_cache(const hg_device_info *device)
{
    return device->backend == HG_BACKEND_OPENCL && !hg_doctor_has_linker() &&
           strstr(device->driver, "Portable Computing Language") != NULL;
}

static hg_result try_device(const hg_doctor *doctor, uint32_t i)
{
    enum { OPEN_FOLDERS_MAX = 16 };
    const char *folder = hg_doctor_variable("TMPDIR");
    hg_question question = hg_doctor_question(doctor);
    char status[64], cache[HG_PATH_SIZE] = "";
    hg_result res;

    question.selector = doctor->devices[i].selector;
    question.seconds = SECONDS;
    if (needs_new_cache(&doctor->devices[i])) {
        snprintf(cache, sizeof(cache), "%.4000s/headgate-doctor-XXXXXX", folder ? folder : "/tmp");
        question.pocl_cache = mkdtemp(cache);
    }
    snprintf(status, sizeof(status), "trying kernels on %s", question.selector);
    hg_message_status(status);
    res = hg_probe_run(&doctor->trials[i], ask, &question);
    if (question.pocl_cache)
        (void)nftw(cache, remove_one, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
    return res;
}

void hg_doctor_try(hg_doctor *doctor)
{
    hg_result res = HG_OK;

    doctor->trials = calloc((size_t)doctor->device_count + 1, sizeof(*doctor->trials));
    if (!doctor->trials)
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < doctor->device_count && res == HG_OK; i++) {
        if (is_tried(&doctor->devices[i]))
            res = try_device(doctor, i);
    }
    if (doctor->result == HG_OK)
        doctor->result = res;
}

void hg_doctor_free_trials(hg_doctor *doctor)
{
    for (uint32_t i = 0; doctor->trials && i < doctor->device_count; i++)
        hg_probe_free(&doctor->trials[i]);
    free(doctor->trials);
    doctor->trials = NULL;
}

void hg_doctor_selftest(hg_doctor *doctor)
{
    char remedy[64] = "export HG_DEVICE=ref", blame[HG_COMMAND_SIZE];

    if (!doctor->trials)
        return;
    /* The first that is good is what to use instead of one that is not. */
    for (uint32_t i = doctor->device_count; i-- > 0;) {
        if (is_tried(&doctor->devices[i]) && !hg_doctor_trouble(doctor, i))
            snprintf(remedy, sizeof(remedy), "export HG_DEVICE=%.15s", doctor->devices[i].selector);
    }
    for (uint32_t i = 0; i < doctor->device_count; i++) {
        if (is_tried(&doctor->devices[i]))
            hg_doctor_selftest_row(doctor, doctor->devices[i].selector, &doctor->trials[i], remedy,
                                   hg_doctor_blame(doctor->devices[i].backend, blame));
    }
}
