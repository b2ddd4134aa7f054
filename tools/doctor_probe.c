/* SPDX-License-Identifier: MIT */
/* The parent's side of a probe: start, collect within a time limit, look at what came. */
#include "doctor_probe.h"

#include "message.h"
#include "progress.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Devices of a few hundred drivers; a child that sends more is not ours any more. */
enum { FACT_BYTES_MAX = 4 << 20, DEVICES_MAX = 256 };

typedef struct probe_errand {
    hg_probe_work work;
    const hg_question *question;
    FILE *said;
} probe_errand;

static int run_errand(void *user, int fd)
{
    const probe_errand *errand = user;
    const struct rlimit no_core = {0, 0};
    const int said = fileno(errand->said);

    /* The report is on standard output: a driver must not write into it. */
    if (dup2(said, STDOUT_FILENO) < 0 || dup2(said, STDERR_FILENO) < 0)
        return 1;
    (void)setrlimit(RLIMIT_CORE, &no_core);
    /* A crash is to be told from an answer, whatever this program does about it. */
    signal(SIGBUS, SIG_DFL);
    errand->work(errand->question, fd);
    return hg_frame_write(fd, "DONE", NULL, 0) == HG_OK ? 0 : 1;
}

static int64_t now_ms(void)
{
    return (int64_t)(hg_clock_ns() / 1000000);
}

hg_result hg_probe_start(hg_probe *probe, hg_probe_work work, const hg_question *question)
{
    probe_errand errand = {work, question, NULL};

    memset(probe, 0, sizeof(*probe));
    probe->child.fd = -1;
    probe->said = errand.said = tmpfile();
    if (!errand.said)
        errand.said = probe->said = fopen("/dev/null", "r+");
    if (!errand.said)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no file for what a driver prints");
    probe->seconds = question && question->seconds ? question->seconds : HG_PROBE_SECONDS;
    probe->until_ms = now_ms() + (int64_t)probe->seconds * 1000;
    return hg_child_start(&probe->child, run_errand, &errand);
}

static uint32_t seconds_left(const hg_probe *probe)
{
    const int64_t left = probe->until_ms - now_ms();

    /* Another one may have used up the time while this one's answer lay in its pipe. */
    return left <= 1000 ? 1 : (uint32_t)((left + 999) / 1000);
}

static hg_result take_fact(hg_probe *probe, const hg_frame *frame)
{
    hg_fact *fact = &probe->facts[probe->fact_count];
    hg_result res;

    if (probe->fact_count == HG_PROBE_FACTS_MAX || frame->bytes > FACT_BYTES_MAX)
        return HG_ERR_FILE;
    fact->data = calloc((size_t)frame->bytes + 1, 1);
    if (!fact->data)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    res = hg_child_read(&probe->child, seconds_left(probe), fact->data, frame->bytes);
    if (res != HG_OK) {
        free(fact->data);
        fact->data = NULL;
        return res;
    }
    memcpy(fact->tag, frame->tag, sizeof(fact->tag));
    fact->bytes = (size_t)frame->bytes;
    probe->fact_count++;
    return HG_OK;
}

/* The last line with anything on it of the first 64 KiB. */
static void read_said(hg_probe *probe)
{
    char line[1024];

    rewind(probe->said);
    for (long at = 0; at < 1 << 16 && fgets(line, sizeof(line), probe->said);
         at = ftell(probe->said)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")] != '\0')
            snprintf(probe->last_line, sizeof(probe->last_line), "%.250s", line);
    }
    fclose(probe->said);
    probe->said = NULL;
}

hg_result hg_probe_collect(hg_probe *probe)
{
    hg_frame frame;
    hg_result res = HG_OK;

    while (res == HG_OK && !probe->ended) {
        res = hg_child_next(&probe->child, seconds_left(probe), &frame);
        if (res != HG_OK)
            break;
        probe->ended = strcmp(frame.tag, "DONE") == 0;
        if (!probe->ended)
            res = take_fact(probe, &frame);
    }
    probe->timed_out = res == HG_TIMEOUT;
    probe->ending = hg_child_stop(&probe->child, res == HG_OK || res == HG_ERR_FILE ? 1 : 0);
    read_said(probe);
    return res == HG_CANCELLED || res == HG_ERR_HOST_MEMORY ? res : HG_OK;
}

void hg_probe_free(hg_probe *probe)
{
    if (probe->child.pid > 0 || probe->child.fd > 0)
        (void)hg_child_stop(&probe->child, 0);
    for (uint32_t i = 0; i < probe->fact_count; i++)
        free(probe->facts[i].data);
    if (probe->said)
        fclose(probe->said);
    memset(probe, 0, sizeof(*probe));
}

const hg_fact *hg_probe_fact(const hg_probe *probe, const char *tag)
{
    for (uint32_t i = 0; i < probe->fact_count; i++) {
        if (strcmp(probe->facts[i].tag, tag) == 0)
            return &probe->facts[i];
    }
    return NULL;
}

const char *hg_probe_text(const hg_probe *probe, const char *tag)
{
    const hg_fact *fact = hg_probe_fact(probe, tag);

    return fact ? fact->data : NULL;
}

uint32_t hg_probe_devices(const hg_probe *probe, hg_device_info **out)
{
    const hg_fact *fact = hg_probe_fact(probe, "DEVS");
    hg_device_info *devices;
    size_t count = fact ? fact->bytes / sizeof(*devices) : 0;

    *out = NULL;
    if (!fact || count == 0 || count > DEVICES_MAX || fact->bytes % sizeof(*devices) != 0)
        return 0;
    devices = malloc(fact->bytes);
    if (!devices)
        return 0;
    memcpy(devices, fact->data, fact->bytes);
    for (size_t i = 0; i < count; i++) {
        devices[i].selector[sizeof(devices[i].selector) - 1] = '\0';
        devices[i].name[sizeof(devices[i].name) - 1] = '\0';
        devices[i].driver[sizeof(devices[i].driver) - 1] = '\0';
        devices[i].driver_version[sizeof(devices[i].driver_version) - 1] = '\0';
        devices[i].api_version[sizeof(devices[i].api_version) - 1] = '\0';
        devices[i].unusable[sizeof(devices[i].unusable) - 1] = '\0';
    }
    *out = devices;
    return (uint32_t)count;
}

const char *hg_probe_failure(const hg_probe *probe, char text[640])
{
    char how[128];

    if (probe->timed_out)
        snprintf(text, 640, "gives no answer for %u s and was stopped", probe->seconds);
    else if (probe->ending >= 256)
        snprintf(text, 640, "crashes: %s", hg_child_describe(probe->ending, how));
    else
        snprintf(text, 640, "ends the program that loads it: %s",
                 hg_child_describe(probe->ending, how));
    if (probe->last_line[0]) {
        const size_t used = strlen(text);

        snprintf(text + used, 640 - used, "; its last words: %s", probe->last_line);
    }
    return text;
}

hg_result hg_probe_run(hg_probe *probe, hg_probe_work work, const hg_question *question)
{
    hg_result res = hg_probe_start(probe, work, question);

    return res == HG_OK ? hg_probe_collect(probe) : res;
}

hg_result hg_probe_all(hg_probe *probes, hg_probe_work work, const hg_question *questions,
                       uint32_t count)
{
    hg_result res = HG_OK;

    for (uint32_t begin = 0; begin < count && res == HG_OK; begin += HG_PROBE_AT_ONCE) {
        const uint32_t left = count - begin;
        const uint32_t end = begin + (left < HG_PROBE_AT_ONCE ? left : HG_PROBE_AT_ONCE);

        for (uint32_t i = begin; i < end && res == HG_OK; i++) {
            if (questions[i].library)
                res = hg_probe_start(&probes[i], work, &questions[i]);
        }
        for (uint32_t i = begin; i < end && res == HG_OK; i++) {
            if (questions[i].library)
                res = hg_probe_collect(&probes[i]);
        }
    }
    return res;
}
