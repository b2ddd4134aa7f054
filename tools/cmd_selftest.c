/* SPDX-License-Identifier: MIT */
/* headgate selftest: does a device compute every kernel rightly, and the same each time. */
#include "commands.h"

#include "device_list.h"
#include "json_writer.h"
#include "message.h"
#include "paragraph.h"
#include "selftest_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES_MAX = 64, REPLAY_MAX = 1000, TIMEOUT_S = 120 };

typedef struct test_job {
    hg_selftest_job base;
    hg_selftest_side *sides; /* [SIDES_MAX] */
    uint32_t side_count;
    hg_output *output;
} test_job;

static hg_result add_side(void *user, const char *value)
{
    test_job *job = user;
    hg_selftest_side *side = &job->sides[job->side_count];
    hg_result res;

    if (job->side_count == SIDES_MAX)
        return hg_message_fail(HG_ERR_ARGUMENT, "--device: at most %d devices are tested",
                               SIDES_MAX);
    res = hg_machine_choose(job->base.app->args, value, &side->choice);
    if (res != HG_OK)
        return res;
    /* Column text of the reference: what the others are compared with. */
    if (!side->choice.precision_given)
        side->choice.precision = HG_PRECISION_EXACT;
    snprintf(side->label, sizeof(side->label), "%s", value && *value ? value : "default");
    job->side_count++;
    return HG_OK;
}

static hg_result read_options(test_job *job)
{
    const hg_args *args = job->base.app->args;
    const int quick = hg_args_count(args, HG_OPTION_QUICK) > 0;
    hg_result res;

    if (quick && hg_args_count(args, HG_OPTION_FULL))
        return hg_message_fail(HG_ERR_ARGUMENT, "--quick and --full contradict each other");
    job->base.timeout_s = TIMEOUT_S;
    job->base.level.struct_size = sizeof(job->base.level);
    job->base.level.level = quick ? HG_SELFTEST_QUICK : HG_SELFTEST_FULL;
    HG_TRY(hg_args_number(args, HG_OPTION_RUNS, 1, REPLAY_MAX, &job->base.level.replays));
    HG_TRY(hg_args_number(args, HG_OPTION_TIMEOUT, 1, 86400, &job->base.timeout_s));
    HG_TRY(hg_device_each(args, HG_OPTION_DEVICES, add_side, job));
out:
    return res;
}

static hg_result print_line(hg_output *output, uint32_t width, const hg_selftest_line *line)
{
    enum { VERDICT_AT = 46 };
    char shapes[32] = "-", runs[16] = "-", text[400];
    hg_result res;

    if (line->state != HG_SELFTEST_UNUSED) {
        snprintf(shapes, sizeof(shapes), "%u/%u", line->passed, line->shapes);
        snprintf(runs, sizeof(runs), "%u", line->replays);
    }
    snprintf(text, sizeof(text), "%s%s%s", hg_selftest_state_name(line), *line->first ? ": " : "",
             line->first);
    res = hg_output_format(output, "  %-15s  %-4s  %-5s  %-6s  %4s  ", line->kernel, line->tier,
                           line->dtype, shapes, runs);
    return res == HG_OK ? hg_paragraph_print(output, width, VERDICT_AT, VERDICT_AT, text) : res;
}

static hg_result print_side(hg_output *output, const hg_selftest_side *side)
{
    const uint32_t width = hg_paragraph_width();
    const hg_selftest_tally *tally = side->tally;
    char driver[640], text[1200];
    uint32_t at = 4;
    hg_result res;

    snprintf(text, sizeof(text), "%s", side->label);
    if (*side->device.name) {
        snprintf(text, sizeof(text), "%s  %s; %s", side->device.selector, side->device.name,
                 hg_driver_label(&side->device, driver));
        at = hg_paragraph_columns(side->device.selector) + 2;
    }
    /* Tables for people: 80 columns where what drivers say allows it. */
    HG_TRY(hg_paragraph_print(output, width < 80 ? width : 80, at, 0, text));
    if (tally->count > 0)
        HG_TRY(hg_output_text(output, "  KERNEL           TIER  TYPE   SHAPES  RUNS  VERDICT\n"));
    for (uint32_t i = 0; i < tally->count; i++)
        HG_TRY(print_line(output, width, &tally->lines[i]));
    if (*side->failure) {
        HG_TRY(hg_output_text(output, "  "));
        HG_TRY(hg_paragraph_print(output, width, 4, 2, side->failure));
    }
    if (side->complaints)
        HG_TRY(
            hg_output_format(output, "  %u messages of the validation layer\n", side->complaints));
out:
    return res;
}

static int is_good(const hg_selftest_side *side)
{
    const hg_selftest_sum sum = hg_selftest_tally_sum(side->tally);

    return sum.other + sum.wrong == 0 && !*side->failure && !side->complaints;
}

/* What a driver did, not what an option or this machine lacks. */
static int is_driver_failure(const hg_selftest_side *side)
{
    return side->result == HG_ERR_DRIVER || side->result == HG_ERR_DEVICE_LOST;
}

static const char *name_of(const hg_selftest_side *side)
{
    return *side->device.selector ? side->device.selector : side->label;
}

/* "not usable with --exact; right for fp32 (2 of 26 kernels give other bits)" */
static const char *words_of(const hg_selftest_side *side, char text[224])
{
    const hg_selftest_sum sum = hg_selftest_tally_sum(side->tally);
    char words[160];

    if (*side->failure)
        snprintf(text, 224, "did not finish");
    else
        snprintf(text, 224, "%s%s",
                 hg_selftest_words(&sum, side->choice.precision == HG_PRECISION_EXACT, words),
                 side->complaints ? "; messages of the validation layer" : "");
    return text;
}

static hg_result print_verdict(const test_job *job)
{
    hg_output *output = job->output;
    uint32_t bad = 0, tables = 0;
    char text[224];
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < job->side_count; i++) {
        bad += !is_good(&job->sides[i]);
        tables += job->sides[i].tally->count > 0;
    }
    if (tables)
        HG_TRY(hg_output_text(output, "TIER: T0 is portable; T0C and T0V give the same bytes, "
                                      "made for processors.\nTC has vectors for OpenCL on "
                                      "processors, T1 has subgroups, T2 matrix units.\n"));
    if (bad == 0)
        return hg_output_format(output, "all kernels pass on %u device%s\n", job->side_count,
                                job->side_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < job->side_count; i++)
        HG_TRY(hg_output_format(output, "%s: %s\n", name_of(&job->sides[i]),
                                words_of(&job->sides[i], text)));
out:
    return res;
}

static void put_line(const hg_selftest_line *line, hg_put *put)
{
    static const char *const verdicts[] = {"pass", "not used", "fail", "fail"};
    const int failed = line->state >= HG_SELFTEST_OTHER_BITS;

    hg_put_object(put, NULL);
    hg_put_text(put, "kernel", line->kernel);
    hg_put_text(put, "tier", line->tier);
    hg_put_text(put, "type", strcmp(line->dtype, "-") == 0 ? "none" : line->dtype);
    hg_put_unsigned(put, "shapes", line->shapes);
    hg_put_unsigned(put, "passed", line->passed);
    hg_put_unsigned(put, "replays", line->replays);
    hg_put_text(put, "verdict", verdicts[line->state]);
    if (failed)
        hg_put_boolean(put, "within_bound",
                       line->state == HG_SELFTEST_OTHER_BITS && line->within_bound);
    else
        hg_put_null(put, "within_bound");
    hg_put_text(put, "detail", *line->first ? line->first : NULL);
    hg_put_end(put);
}

static void put_side(const hg_selftest_side *side, hg_put *put)
{
    const hg_selftest_sum sum = hg_selftest_tally_sum(side->tally);
    const int ended = !*side->failure;
    char text[224];

    hg_put_object(put, NULL);
    hg_put_text(put, "selector", name_of(side));
    hg_put_text(put, "device", *side->device.name ? side->device.name : NULL);
    hg_put_text(put, "driver", *side->device.name ? side->device.driver : NULL);
    hg_put_text(put, "driver_version", *side->device.name ? side->device.driver_version : NULL);
    hg_put_text(put, "api_version", *side->device.name ? side->device.api_version : NULL);
    hg_put_text(put, "precision", hg_precision_name(side->choice.precision));
    hg_put_boolean(put, "passed", is_good(side));
    hg_put_boolean(put, "right_for_fp32", ended && sum.for_fp32);
    if (side->choice.precision == HG_PRECISION_EXACT)
        hg_put_boolean(put, "right_for_exact", ended && sum.for_exact);
    else
        hg_put_null(put, "right_for_exact"); /* nobody asked */
    hg_put_text(put, "sum", words_of(side, text));
    hg_put_text(put, "failure", *side->failure ? side->failure : NULL);
    hg_put_unsigned(put, "validation_messages", side->complaints);
    hg_put_array(put, "kernels");
    for (uint32_t i = 0; i < side->tally->count; i++)
        put_line(&side->tally->lines[i], put);
    hg_put_end(put);
    hg_put_end(put);
}

static hg_result print_all(const test_job *job)
{
    hg_put put;
    hg_result res = HG_OK;

    if (hg_args_count(job->base.app->args, HG_OPTION_JSON)) {
        hg_put_start(&put, job->output, "selftest");
        hg_put_text(&put, "level", job->base.level.level == HG_SELFTEST_QUICK ? "quick" : "full");
        hg_put_array(&put, "devices");
        for (uint32_t i = 0; i < job->side_count; i++)
            put_side(&job->sides[i], &put);
        hg_put_end(&put);
        hg_put_finish(&put);
        return HG_OK;
    }
    for (uint32_t i = 0; i < job->side_count; i++)
        HG_TRY(print_side(job->output, &job->sides[i]));
    res = print_verdict(job);
out:
    return res;
}

/* The worst of the devices: what is wrong with our options or this machine before what is wrong
 * with a device. */
static int code_of(const test_job *job)
{
    int code = 0;

    for (uint32_t i = 0; i < job->side_count; i++) {
        const hg_selftest_side *side = &job->sides[i];
        const int own = side->result == HG_OK || is_driver_failure(side)
                            ? !is_good(side)
                            : hg_exit_code(side->result);

        code = own > code ? own : code;
    }
    return code;
}

static int run(hg_app *app)
{
    test_job job = {.base = {.app = app}};
    hg_result res;

    job.sides = calloc(SIDES_MAX, sizeof(*job.sides));
    if (!job.sides)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    HG_TRY(read_options(&job));
    if (job.side_count == 0) {
        res =
            hg_message_fail(HG_ERR_NO_DEVICE, "no device can be used; `headgate doctor` says why");
        goto out;
    }
    HG_TRY(hg_output_open("-", &job.output));
    for (uint32_t i = 0; i < job.side_count; i++) {
        HG_TRY(hg_selftest_side_run(&job.base, &job.sides[i]));
        if (strncmp(job.sides[i].failure, "no device", 9) == 0)
            hg_message(HG_LOG_ERROR, "%s", job.sides[i].failure);
        else if (*job.sides[i].failure)
            hg_message(HG_LOG_ERROR, "%s: %s", name_of(&job.sides[i]), job.sides[i].failure);
    }
    /* Nothing was tried: there is no table. */
    if (!hg_args_count(app->args, HG_OPTION_JSON) && job.side_count == 1 &&
        job.sides[0].result != HG_OK && !is_driver_failure(&job.sides[0])) {
        res = job.sides[0].result;
        goto out;
    }
    HG_TRY(print_all(&job));
    res = hg_output_commit(&job.output);
out:
    hg_output_discard(&job.output);
    /* A driver that fails while it is listed. */
    const int code = res == HG_OK ? code_of(&job) : res == HG_ERR_DRIVER ? 1 : hg_exit_code(res);

    for (uint32_t i = 0; i < job.side_count; i++)
        hg_selftest_side_free(&job.sides[i]);
    free(job.sides);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_DEVICES, HG_OPTION_QUICK,    HG_OPTION_FULL, HG_OPTION_RUNS, HG_OPTION_LIMITS,
    HG_OPTION_TIMEOUT, HG_OPTION_VALIDATE, HG_OPTION_JSON, HG_OPTION_END,
};

const hg_command hg_command_selftest = {
    .name = "selftest",
    .operands = "",
    .summary = "try every kernel on a device, against the reference and bit for bit",
    .about =
        "Runs every kernel of the program on small and ragged shapes with values at the edges "
        "of the number format. Results must have the bytes that the kernel's text gives as "
        "plain C, be within the bound of the reference in double, and be the same in every "
        "run. Other bits within that bound rule out --exact alone; WRONG rules out the device. "
        "Each device is tried in a process of its own, so a driver that crashes or hangs "
        "is a line of the report. Exit code 1: something is wrong.",
    .examples = "headgate selftest\n"
                "headgate selftest --device all --replay 20\n"
                "headgate selftest --device vk:0 --quick --json",
    .options = options,
    .run = run,
};
