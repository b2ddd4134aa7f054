/* SPDX-License-Identifier: MIT */
/* headgate bench: tokens per second, reading a prompt and decoding, on one device or several. */
#include "commands.h"

#include "evaluate.h"
#include "interrupt.h"
#include "message.h"
#include "numbers.h"
#include "provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 1 << 20, REPEAT_MAX = 1000, DEVICE_MAX = 16 };
enum { FORM_MD, FORM_JSON, FORM_CSV, FORM_COUNT };

typedef struct bench_row {
    uint32_t machine;
    int decodes; /* 0: a prompt is read in one go */
    uint32_t tokens;
    uint64_t *times_ns; /* [repeat], sorted */
} bench_row;

typedef struct bench_job {
    hg_source source;
    hg_output *output;
    uint32_t *prefill, *decode;
    uint32_t prefill_count, decode_count;
    uint32_t repeat, seed, form;
    hg_machine_choice choices[DEVICE_MAX];
    hg_machine machines[DEVICE_MAX]; /* engine NULL once measured */
    hg_provenance provenance[DEVICE_MAX];
    uint32_t machine_count;
    hg_weights_digest *digest;
    int32_t *ids; /* as many as the longest row takes */
    float *logits;
    bench_row *rows;
    uint32_t row_count;
    int complained;
} bench_job;

/* SplitMix64: the same ids everywhere. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static hg_result read_list(const hg_args *args, hg_option_id id, const char *by_default,
                           uint32_t **list, uint32_t *count)
{
    const char *value = hg_args_value(args, id), *reason;
    hg_result res;

    if (!value)
        value = by_default;
    if (strcmp(value, "0") == 0)
        return HG_OK; /* no row of this kind */
    res = hg_numbers_parse(value, 1, TOKENS_MAX, list, count, &reason);
    if (res != HG_OK)
        return hg_message_fail(res, "--%s %s: %s; numbers of tokens from 1 to %d, or 0 for none",
                               hg_option_row(id)->name, value, reason, TOKENS_MAX);
    return HG_OK;
}

static hg_result read_options(hg_app *app, bench_job *job)
{
    static const char *const forms[FORM_COUNT] = {"md", "json", "csv"};
    const hg_args *args = app->args;
    const char *named = hg_args_value(args, HG_OPTION_FORMAT_TABLE);
    uint32_t devices = hg_args_count(args, HG_OPTION_DEVICE);
    hg_result res;

    job->repeat = 5;
    job->seed = 1;
    HG_TRY(read_list(args, HG_OPTION_PREFILL, "32,128", &job->prefill, &job->prefill_count));
    HG_TRY(read_list(args, HG_OPTION_DECODE, "16", &job->decode, &job->decode_count));
    HG_TRY(hg_args_number(args, HG_OPTION_REPEAT, 1, REPEAT_MAX, &job->repeat));
    HG_TRY(hg_args_number(args, HG_OPTION_SEED, 0, UINT32_MAX, &job->seed));
    HG_TRY(hg_args_choice(args, HG_OPTION_FORMAT_TABLE, forms, FORM_COUNT, &job->form));
    if (hg_args_count(args, HG_OPTION_JSON)) {
        if (named && job->form != FORM_JSON) {
            res = hg_message_fail(HG_ERR_ARGUMENT, "--json and --format %s contradict each other",
                                  named);
            goto out;
        }
        job->form = FORM_JSON;
    }
    if (job->prefill_count + job->decode_count == 0 || devices > DEVICE_MAX) {
        res = hg_message_fail(HG_ERR_ARGUMENT, devices > DEVICE_MAX
                                                   ? "too many devices"
                                                   : "-p 0 -n 0 leaves nothing to do");
        goto out;
    }
    job->machine_count = devices ? devices : 1;
    for (uint32_t i = 0; i < job->machine_count; i++)
        HG_TRY(
            hg_machine_choose(args, hg_args_value_at(args, HG_OPTION_DEVICE, i), &job->choices[i]));
out:
    return res;
}

static hg_result prepare(bench_job *job)
{
    uint64_t state = job->seed;
    uint32_t most = 1, rows = job->prefill_count + job->decode_count;

    for (uint32_t i = 0; i < job->prefill_count; i++)
        most = job->prefill[i] > most ? job->prefill[i] : most;
    for (uint32_t i = 0; i < job->decode_count; i++)
        most = job->decode[i] + 1 > most ? job->decode[i] + 1 : most;
    job->ids = malloc((size_t)most * sizeof(*job->ids));
    job->logits = malloc(((size_t)job->source.info.vocab + 1) * sizeof(*job->logits));
    job->rows = calloc((size_t)rows * job->machine_count + 1, sizeof(*job->rows));
    if (!job->ids || !job->logits || !job->rows)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < most; i++)
        job->ids[i] = (int32_t)(next_random(&state) % job->source.info.vocab);
    return HG_OK;
}

/* One run, ended by the logits on the host: nothing can be left undone on the device. */
static hg_result run_once(bench_job *job, hg_session *session, const bench_row *row,
                          uint64_t *time_ns)
{
    uint64_t start;
    hg_result res;

    HG_TRY(hg_session_truncate(session, 0));
    if (row->decodes)
        HG_TRY(hg_session_eval(session, job->ids, 1)); /* the first token is not decoding */
    start = hg_clock_ns();
    if (row->decodes) {
        for (uint32_t i = 1; i <= row->tokens; i++) {
            HG_TRY(hg_session_eval(session, job->ids + i, 1));
            HG_TRY(hg_session_logits(session, i, job->logits));
        }
    } else {
        HG_TRY(hg_session_eval(session, job->ids, row->tokens));
        HG_TRY(hg_session_logits(session, row->tokens - 1, job->logits));
    }
    *time_ns = hg_clock_ns() - start;
out:
    return res;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static hg_result measure(hg_app *app, bench_job *job, hg_model *model, bench_row *row)
{
    hg_session_params params = {.struct_size = sizeof(params)};
    hg_session *session = NULL;
    char title[64];
    uint64_t ignored;
    hg_result res;

    row->times_ns = calloc(job->repeat, sizeof(*row->times_ns));
    if (!row->times_ns)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    snprintf(title, sizeof(title), "%s %s %u", job->machines[row->machine].device.selector,
             row->decodes ? "decode" : "prefill", row->tokens);
    app->meter.title = title;
    params.max_tokens = row->tokens + (row->decodes ? 1 : 0);
    params.logits = HG_LOGITS_LAST;
    params.progress = app->progress;
    params.log = app->log;
    HG_TRY(hg_session_create(model, &params, &session));
    HG_TRY(run_once(job, session, row, &ignored));
    for (uint32_t i = 0; i < job->repeat; i++)
        HG_TRY(run_once(job, session, row, &row->times_ns[i]));
    qsort(row->times_ns, job->repeat, sizeof(*row->times_ns), compare_times);
out:
    app->meter.title = NULL;
    hg_meter_stop(&app->meter);
    hg_session_free(&session);
    return res;
}

static hg_result bench_machine(hg_app *app, bench_job *job, uint32_t machine)
{
    hg_model_params params = {
        .struct_size = sizeof(params), .progress = app->progress, .log = app->log};
    hg_machine *m = &job->machines[machine];
    hg_model *model = NULL;
    hg_result res;

    HG_TRY(hg_machine_open(app, &job->choices[machine], m));
    if (job->form == FORM_JSON) /* hashing beside a measurement would slow it: it is waited for */
        HG_TRY(
            hg_provenance_fill(app, &job->source, m, NULL, job->digest, &job->provenance[machine]));
    HG_TRY(hg_model_load(m->engine, job->source.checkpoint, &params, &model));
    for (uint32_t i = 0; i < job->prefill_count + job->decode_count; i++) {
        bench_row *row = &job->rows[job->row_count++];

        row->machine = machine;
        row->decodes = i >= job->prefill_count;
        row->tokens = row->decodes ? job->decode[i - job->prefill_count] : job->prefill[i];
        HG_TRY(measure(app, job, model, row));
    }
    job->complained |= hg_machine_complained(m);
out:
    hg_model_free(&model);
    hg_machine_close(m);
    return res;
}

/* Tokens per second of the times in the order of rank: 0 the fastest. */
static double speed(const bench_job *job, const bench_row *row, uint32_t rank)
{
    (void)job;
    return row->tokens * 1e9 / (double)(row->times_ns[rank] ? row->times_ns[rank] : 1);
}

static double median_speed(const bench_job *job, const bench_row *row)
{
    uint32_t half = job->repeat / 2;

    if (job->repeat % 2)
        return speed(job, row, half);
    return row->tokens * 2e9 /
           (double)(row->times_ns[half - 1] + row->times_ns[half]
                        ? row->times_ns[half - 1] + row->times_ns[half]
                        : 1);
}

/* "pp32", "tg16": the names that people know from llama-bench. */
static const char *test_name(const bench_row *row, char text[32])
{
    snprintf(text, 32, "%s%u", row->decodes ? "tg" : "pp", row->tokens);
    return text;
}

/* Names of devices may hold the separators of a table. */
static hg_result print_field(hg_output *output, const char *text, int csv)
{
    hg_result res = csv ? hg_output_text(output, "\"") : HG_OK;

    for (; *text && res == HG_OK; text++) {
        if (csv && *text == '"')
            res = hg_output_text(output, "\"\"");
        else if (!csv && *text == '|')
            res = hg_output_text(output, "\\|");
        else
            res = hg_output_write(output, text, 1);
    }
    if (res == HG_OK && csv)
        res = hg_output_text(output, "\"");
    return res;
}

static hg_result print_row(const bench_job *job, const bench_row *row, int csv)
{
    const hg_machine *machine = &job->machines[row->machine];
    const char *gap = csv ? "," : " | ";
    char test[32], driver[640];
    const char *fields[] = {
        job->source.name,
        machine->device.selector,
        machine->device.name,
        hg_driver_label(&machine->device, driver),
        hg_precision_name(machine->precision),
        test_name(row, test),
    };
    hg_result res = hg_output_text(job->output, csv ? "" : "| ");

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && res == HG_OK; i++) {
        res = print_field(job->output, fields[i], csv);
        if (res == HG_OK)
            res = hg_output_text(job->output, gap);
    }
    if (res != HG_OK)
        return res;
    return hg_output_format(job->output, "%.2f%s%.2f%s%.2f%s%u%s\n", median_speed(job, row), gap,
                            speed(job, row, job->repeat - 1), gap, speed(job, row, 0), gap,
                            job->repeat, csv ? "" : " |");
}

static hg_result print_table(const bench_job *job, int csv)
{
    hg_result res;

    if (csv)
        res = hg_output_text(job->output,
                             "model,selector,device,driver,precision,test,median_tokens_per_s,"
                             "min_tokens_per_s,max_tokens_per_s,runs\n");
    else
        res = hg_output_text(
            job->output,
            "| model | sel | device | driver | precision | test | tokens/s | min | max | runs |\n"
            "| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n");
    for (uint32_t i = 0; i < job->row_count && res == HG_OK; i++)
        res = print_row(job, &job->rows[i], csv);
    return res;
}

static void put_row(const bench_job *job, const bench_row *row, hg_put *put)
{
    const hg_machine *machine = &job->machines[row->machine];
    char test[32], driver[640];

    hg_put_object(put, NULL);
    hg_put_text(put, "test", test_name(row, test));
    hg_put_text(put, "phase", row->decodes ? "decode" : "prefill");
    hg_put_unsigned(put, "tokens", row->tokens);
    hg_put_text(put, "selector", machine->device.selector);
    hg_put_text(put, "device", machine->device.name);
    hg_put_text(put, "driver", hg_driver_label(&machine->device, driver));
    hg_put_text(put, "precision", hg_precision_name(machine->precision));
    hg_put_number(put, "median_tokens_per_s", median_speed(job, row));
    hg_put_number(put, "min_tokens_per_s", speed(job, row, job->repeat - 1));
    hg_put_number(put, "max_tokens_per_s", speed(job, row, 0));
    hg_put_row(put, "times_ns");
    for (uint32_t i = 0; i < job->repeat; i++)
        hg_put_unsigned(put, NULL, row->times_ns[i]);
    hg_put_end(put);
    hg_put_end(put);
}

static void put_json(const bench_job *job)
{
    hg_put put;

    hg_put_start(&put, job->output, "bench");
    hg_put_text(&put, "model", job->source.name);
    hg_put_unsigned(&put, "parameters", job->source.info.parameters);
    hg_put_unsigned(&put, "weight_bytes", job->source.info.weight_bytes);
    hg_put_text(&put, "weight_types", job->source.info.weight_types);
    hg_put_unsigned(&put, "seed", job->seed);
    hg_put_array(&put, "rows");
    for (uint32_t i = 0; i < job->row_count; i++)
        put_row(job, &job->rows[i], &put);
    hg_put_end(&put);
    hg_provenance_put(&job->provenance[0], &put);
    hg_put_finish(&put);
}

static hg_result make(hg_app *app, bench_job *job)
{
    hg_result res;

    HG_TRY(read_options(app, job));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(prepare(job));
    HG_TRY(hg_output_open("-", &job->output));
    if (job->form == FORM_JSON)
        HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    for (uint32_t i = 0; i < job->machine_count; i++)
        HG_TRY(bench_machine(app, job, i));
    if (job->form == FORM_JSON)
        put_json(job);
    else
        HG_TRY(print_table(job, job->form == FORM_CSV));
    HG_TRY(hg_output_commit(&job->output));
out:
    return res;
}

static int run(hg_app *app)
{
    bench_job *job = calloc(1, sizeof(*job));
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    code = hg_exit_code(make(app, job));
    if (code == 0 && job->complained)
        code = 1;
    hg_output_discard(&job->output);
    hg_weights_digest_free(&job->digest);
    for (uint32_t i = 0; job->rows && i < job->row_count; i++)
        free(job->rows[i].times_ns);
    free(job->rows);
    free(job->logits);
    free(job->ids);
    free(job->decode);
    free(job->prefill);
    hg_source_close(&job->source);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PREFILL,      HG_OPTION_DECODE, HG_OPTION_REPEAT, HG_OPTION_SEED,
    HG_OPTION_FORMAT_TABLE, HG_OPTION_JSON,   HG_OPTION_DEVICE, HG_OPTION_PRECISION,
    HG_OPTION_EXACT,        HG_OPTION_LIMITS, HG_OPTION_TUNE,   HG_OPTION_THREADS,
    HG_OPTION_VALIDATE,     HG_OPTION_END,
};

const hg_command hg_command_bench = {
    .name = "bench",
    .operands = "MODEL",
    .summary = "tokens per second, reading a prompt (pp) and decoding (tg)",
    .about = "Measures random token ids of a fixed seed: ppN reads N tokens in one go, tgN decodes "
             "N tokens one by one. "
             "Each time ends when the last logits are on the host. Median, slowest and fastest of "
             "the runs. --device "
             "may be given several times.",
    .examples = "headgate bench MODEL -p 32,128 -n 16\n"
                "headgate bench MODEL --device vk:0 --device cl:0 --format csv >bench.csv",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
