/* SPDX-License-Identifier: MIT */
/* What a child of compare does: opens its device, traces the prompt, says what it was. The parent
 * that reads it is compare.c. */
#include "compare_parts.h"

#include "app.h"
#include "child.h"
#include "machine.h"
#include "message.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void child_log(void *user, hg_log_level level, const char *line)
{
    hg_compare_job *j = user;
    const size_t length = strlen(j->error);

    if (level != HG_LOG_ERROR)
        return;
    /* The first one is the cause; what follows a colon are its candidates. */
    if (length == 0)
        snprintf(j->error, sizeof(j->error), "%s", line);
    else if (j->is_list)
        snprintf(j->error + length, sizeof(j->error) - length, "%s %s",
                 j->error[length - 1] == ':' ? "" : ";", line + strspn(line, " "));
    if (length == 0 && j->error[0])
        j->is_list = j->error[strlen(j->error) - 1] == ':';
}

static hg_result open_engine(hg_compare_job *j, const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = j->who == HG_COMPARE_TEXT ? HG_PRECISION_EXACT
                                                                            : HG_PRECISION_FP32,
                                     .threads = j->params->threads,
                                     .log = *log};

    if (j->who >= 0)
        return j->params->open(j->params->user, (uint32_t)j->who, log, out);
    return hg_engine_create(&params, out);
}

static hg_result send_meta(int fd, hg_engine *engine)
{
    hg_device_info device = {.struct_size = sizeof(device)};
    hg_record_meta meta = {.program = HG_VERSION_STRING, .revision = HG_EXACT_REVISION};
    char *text;
    hg_result res;

    hg_engine_describe(engine, &device);
    snprintf(meta.device, sizeof(meta.device), "%s", device.name);
    snprintf(meta.driver, sizeof(meta.driver), "%s", device.driver);
    snprintf(meta.driver_version, sizeof(meta.driver_version), "%s", device.driver_version);
    snprintf(meta.api, sizeof(meta.api), "%s", device.api_version);
    snprintf(meta.selector, sizeof(meta.selector), "%s", device.selector);
    snprintf(meta.precision, sizeof(meta.precision), "%s",
             hg_precision_name(hg_engine_precision(engine)));
    text = hg_record_meta_text(&meta);
    if (!text)
        return HG_ERR_HOST_MEMORY;
    res = hg_frame_write(fd, "META", text, strlen(text));
    free(text);
    return res;
}

/* Under --validate a message is a failure; the first of them says what it was. */
static hg_result check_validation(hg_compare_job *j, const hg_engine *engine)
{
    const uint32_t count = hg_engine_validation_messages(engine);
    char first[sizeof(j->error)];

    if (count == 0)
        return HG_OK;
    memcpy(first, j->error, sizeof(first));
    snprintf(j->error, sizeof(j->error), "the validation layer had %u message%s%s%.300s", count,
             count == 1 ? "" : "s", first[0] ? ": " : "", first);
    return HG_ERR_DRIVER;
}

static hg_result work(hg_compare_job *j, int fd)
{
    const hg_log log = {.write = child_log, .user = j, .level = HG_LOG_ERROR};
    hg_trace_params trace = {.checkpoint = j->params->checkpoint,
                             .ids = j->params->ids,
                             .count = j->params->count,
                             .piece = j->piece,
                             .map_pool = j->map_pool,
                             .bounds = j->who == HG_COMPARE_REFERENCE,
                             .runs = j->who >= 0 ? j->params->runs : 1,
                             .isolated = j->who >= 0,
                             .inputs = j->reference,
                             .fd = fd,
                             .log = log};
    uint8_t done[4];
    uint32_t stages = 0;
    hg_result res;

    HG_TRY(open_engine(j, &log, &trace.engine));
    HG_TRY(send_meta(fd, trace.engine));
    HG_TRY(hg_trace_run(&trace, &stages));
    HG_TRY(check_validation(j, trace.engine));
    hg_put_u32(done, stages);
    HG_TRY(hg_frame_write(fd, "DONE", done, sizeof(done)));
out:
    hg_engine_destroy(&trace.engine);
    return res;
}

int hg_compare_work(void *user, int fd)
{
    hg_compare_job *j = user;
    uint8_t code[4];
    hg_result res;

    hg_message_keep(j->error, sizeof(j->error));
    res = work(j, fd);
    if (res == HG_OK)
        return 0;
    hg_put_u32(code, (uint32_t)res);
    (void)hg_frame_write2(fd, "FAIL", code, sizeof(code), j->error, strlen(j->error));
    return hg_exit_code(res);
}
