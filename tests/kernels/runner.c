/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include "check.h"

#include <stdio.h>
#include <string.h>

static void say(void *user, hg_log_level level, const char *line)
{
    (void)user;
    if (level == HG_LOG_ERROR)
        (void)fprintf(stderr, "%s\n", line);
}

hg_result hg_runner_open(hg_runner *runner, const char *selector, const char *limits,
                         hg_precision precision, const char *tier, uint64_t room_bytes)
{
    const hg_log log = {.write = say, .level = HG_LOG_WARNING};
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = selector,
                                     .precision = precision,
                                     .limits = limits,
                                     .threads = 2,
                                     .validate = 1,
                                     .log = log,
                                     .tier = tier};
    hg_result res = HG_OK;

    memset(runner, 0, sizeof(*runner));
    HG_TRY(hg_engine_create(&params, &runner->engine));
    HG_TRY(hg_trial_room_open(&runner->room, runner->engine, room_bytes));
out:
    if (res != HG_OK)
        hg_runner_close(runner);
    return res;
}

void hg_runner_close(hg_runner *runner)
{
    if (!runner->engine)
        return;
    hg_trial_room_close(&runner->room);
    hg_engine_destroy(&runner->engine);
}
