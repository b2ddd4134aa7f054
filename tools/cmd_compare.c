/* SPDX-License-Identifier: MIT */
/* headgate compare: do two devices compute the same, and where do they part. */
#include "commands.h"

#include "child.h"
#include "compare_report.h"
#include "device_list.h"
#include "interrupt.h"
#include "machine.h"
#include "message.h"
#include "provenance.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDES_MAX = 64, LABEL_SIZE = 320 };

typedef struct compare_job {
    hg_app *app;
    hg_source source;
    hg_prompt prompt;
    hg_weights_digest *digest;
    char weights[HG_SHA256_TEXT];
    hg_record loaded;
    char (*labels)[LABEL_SIZE];
    const char *label_at[SIDES_MAX];
    hg_machine_choice *choices; /* [SIDES_MAX] */
    uint32_t side_count;
    hg_comparison comparison;
    hg_output *output;
} compare_job;

static hg_result add_side(void *user, const char *value)
{
    compare_job *job = user;
    hg_result res;

    value = value ? value : "";
    if (job->side_count == SIDES_MAX)
        return hg_message_fail(HG_ERR_ARGUMENT, "--device: at most %d devices are compared",
                               SIDES_MAX);
    if (strlen(value) >= LABEL_SIZE)
        return hg_message_fail(HG_ERR_ARGUMENT, "--device: longer than any selector can be");
    res = hg_machine_choose(job->app->args, value, &job->choices[job->side_count]);
    if (res != HG_OK)
        return res;
    /* What a faulty kernel does to the stages is what is asked here: it must not be replaced. */
    job->choices[job->side_count].trust = 1;
    snprintf(job->labels[job->side_count], LABEL_SIZE, "%s", value);
    job->label_at[job->side_count] = job->labels[job->side_count];
    job->side_count++;
    return HG_OK;
}

/* What cannot be meant is told before anything runs. A listing that fails is no reason: every
 * device runs in a child, and the one that is to blame becomes a row. A default gets its name. */
static hg_result check_sides(compare_job *job)
{
    const hg_log silent = {0};
    hg_device_info *devices = NULL;
    uint32_t count = 0, found = 0;
    char there[512] = "";
    int drivers = 0;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < job->side_count; i++)
        drivers |= strcmp(job->choices[i].selector, "ref") != 0;
    if (!drivers) /* the reference is always there */
        return HG_OK;
    res = hg_device_list(&devices, &count);
    if (res == HG_CANCELLED || res == HG_ERR_HOST_MEMORY)
        return res;
    for (uint32_t i = 0; i < count; i++)
        if (!devices[i].unusable[0] && strlen(there) + 20 < sizeof(there))
            snprintf(there + strlen(there), sizeof(there) - strlen(there), "%s%s",
                     there[0] ? ", " : "", devices[i].selector);
    for (uint32_t i = 0; i < job->side_count && res == HG_OK; i++) {
        res = hg_device_select(&silent, devices, count, job->choices[i].selector, &found);
        if (res != HG_OK)
            res =
                hg_message_fail(HG_ERR_NO_DEVICE,
                                "no device '%s' can be used here; there are %s; `headgate devices` "
                                "says more",
                                job->labels[i], there);
        else if (!job->labels[i][0])
            snprintf(job->labels[i], LABEL_SIZE, "%s (default)", devices[found].selector);
    }
    free(devices);
    return res == HG_ERR_DRIVER ? HG_OK : res;
}

/* One device alone is compared with the reference. */
static hg_result choose_sides(compare_job *job)
{
    const hg_args *args = job->app->args;
    const int is_loaded = hg_args_count(args, HG_OPTION_LOAD) > 0;
    const int is_saved = hg_args_count(args, HG_OPTION_SAVE) > 0;
    hg_result res = HG_OK;

    HG_TRY(hg_device_each(args, HG_OPTION_DEVICES, add_side, job));
    if (job->side_count == 1 && !is_loaded && !is_saved) {
        const hg_machine_choice device = job->choices[0];
        char label[LABEL_SIZE];

        memcpy(label, job->labels[0], sizeof(label));
        job->side_count = 0;
        HG_TRY(add_side(job, "ref"));
        HG_TRY(add_side(job, label));
        job->choices[1] = device;
    }
    if (job->side_count == 0)
        res =
            hg_message_fail(HG_ERR_NO_DEVICE, "no device can be used; `headgate doctor` says why");
    else
        res = check_sides(job);
    for (uint32_t i = 0; i < job->side_count; i++)
        if (!job->labels[i][0])
            snprintf(job->labels[i], LABEL_SIZE, "default");
out:
    return res;
}

/* In a child. */
static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    compare_job *job = user;

    if (job->choices[side].precision == HG_PRECISION_FAST) {
        log->write(log->user, HG_LOG_ERROR,
                   "precision fast rounds more than float32 does, which is what compare judges by: "
                   "expected fp32 or exact");
        return HG_ERR_UNSUPPORTED;
    }
    return hg_machine_engine(job->app, &job->choices[side], log, out);
}

/* The record's ids are the prompt, unless one is given; then it has to be the same. */
static hg_result read_prompt(compare_job *job)
{
    hg_app *app = job->app;
    const char *path = hg_args_value(app->args, HG_OPTION_LOAD);
    const int given = hg_args_count(app->args, HG_OPTION_PROMPT) +
                          hg_args_count(app->args, HG_OPTION_PROMPT_FILE) +
                          hg_args_count(app->args, HG_OPTION_IDS) >
                      0;
    hg_result res = HG_OK;

    if (path)
        HG_TRY(hg_record_open(path, &job->loaded));
    if (path && !given) {
        HG_TRY(hg_source_tokenizer(app, &job->source, 0));
        HG_TRY(hg_prompt_take(&job->source, job->loaded.meta.ids, job->loaded.meta.id_count,
                              &job->prompt));
    } else {
        HG_TRY(hg_prompt_read(app, &job->source, NULL, &job->prompt));
    }
    if (path && (job->prompt.count != job->loaded.meta.id_count ||
                 memcmp(job->prompt.ids, job->loaded.meta.ids, job->prompt.count * 4) != 0))
        res = hg_message_fail(
            HG_ERR_TEXT,
            "%s was made for another prompt (%u tokens, this one has %u): leave out --prompt to "
            "take the record's",
            path, job->loaded.meta.id_count, job->prompt.count);
out:
    return res;
}

static hg_result check_weights(const compare_job *job)
{
    const hg_record_meta *meta = &job->loaded.meta;

    if (!job->loaded.meta.ids || strcmp(meta->weights, job->weights) == 0)
        return HG_OK;
    return hg_message_fail(
        HG_ERR_FILE,
        "%s was made with other weights: sha256 %.12s..., %s has %.12s...; take the same model "
        "folder as there",
        job->loaded.name, meta->weights, job->source.name, job->weights);
}

static hg_result compare(compare_job *job)
{
    hg_app *app = job->app;
    hg_compare_params params = {.checkpoint = job->source.checkpoint,
                                .ids = job->prompt.ids,
                                .count = job->prompt.count,
                                .labels = job->label_at,
                                .side_count = job->side_count,
                                .loaded = job->loaded.meta.ids ? &job->loaded : NULL,
                                .open = open_side,
                                .user = job,
                                .runs = 1,
                                .timeout_s = 120,
                                .cache_dir = hg_app_cache(app),
                                .progress = app->progress};
    hg_result res = HG_OK;

    HG_TRY(hg_args_number(app->args, HG_OPTION_REPLAY, 1, 1000000, &params.runs));
    HG_TRY(hg_args_number(app->args, HG_OPTION_TIMEOUT, 1, 86400, &params.timeout_s));
    HG_TRY(hg_args_number(app->args, HG_OPTION_THREADS, 1, 1024, &params.threads));
    HG_TRY(hg_compare_run(&params, &job->comparison));
    if (job->comparison.strange_stage != UINT32_MAX)
        hg_message(
            HG_LOG_WARNING,
            "%s holds values that are no numbers in float32: from there on kernels are not judged "
            "alone, and stages have no bound end to end",
            job->comparison.strange);
out:
    hg_meter_stop(&app->meter);
    return res;
}

static hg_result save(compare_job *job, const char *path)
{
    hg_record_meta meta = job->comparison.sides[0].meta;
    hg_output *output = NULL;
    const time_t now = time(NULL);
    struct tm parts;
    hg_model_info info = job->source.info;
    hg_result res = HG_OK;

    if (job->comparison.is_lost)
        return hg_message_fail(HG_ERR_DRIVER, "%s did not run, so that nothing is saved: %s",
                               job->comparison.sides[0].label, job->comparison.sides[0].reason);
    snprintf(meta.model, sizeof(meta.model), "%s", job->source.name);
    snprintf(meta.weights, sizeof(meta.weights), "%s", job->weights);
    if (gmtime_r(&now, &parts))
        (void)strftime(meta.date, sizeof(meta.date), "%Y-%m-%dT%H:%M:%SZ", &parts);
    meta.piece = hg_trace_piece(&info, job->prompt.count);
    meta.map_pool = job->comparison.map_pool;
    meta.ids = (int32_t *)job->prompt.ids; /* read only */
    meta.id_count = job->prompt.count;
    HG_TRY(hg_output_open(path, &output));
    HG_TRY(hg_record_save(output, &meta, &job->comparison.baseline,
                          hg_args_value(job->app->args, HG_OPTION_VALUES)));
    HG_TRY(hg_output_commit(&output));
    hg_message_note("wrote %s", path);
out:
    hg_output_discard(&output);
    return res;
}

static hg_compare_report report_of(const compare_job *job)
{
    return (hg_compare_report){.comparison = &job->comparison,
                               .source = &job->source,
                               .prompt = &job->prompt,
                               .weights = job->weights,
                               .command_line = job->app->command_line,
                               .limits = hg_args_value(job->app->args, HG_OPTION_LIMITS)};
}

static hg_result print(compare_job *job)
{
    const hg_compare_report r = report_of(job);
    hg_put put;
    hg_result res = HG_OK;

    HG_TRY(hg_output_open("-", &job->output));
    if (hg_args_count(job->app->args, HG_OPTION_JSON)) {
        hg_put_start(&put, job->output, "compare");
        hg_compare_put_json(&r, &put);
        hg_put_finish(&put);
    } else {
        HG_TRY(hg_compare_print(&r, hg_message_level() >= HG_LOG_INFO, job->output));
    }
    HG_TRY(hg_output_commit(&job->output));
out:
    return res;
}

static hg_result write_page(compare_job *job, const char *page)
{
    const hg_compare_report r = report_of(job);
    hg_result res = HG_OK;

    HG_TRY(hg_output_open(page, &job->output));
    HG_TRY(hg_compare_write_page(&r, job->output));
    HG_TRY(hg_output_commit(&job->output));
    hg_message_note("wrote %s", page);
out:
    return res;
}

/* Options that cannot be meant, before anything is read. */
static hg_result check_options(const hg_args *args)
{
    const char *page = hg_args_value(args, HG_OPTION_OUTPUT_PAGE);
    const char *target = hg_args_value(args, HG_OPTION_SAVE);
    const char *slash = page ? strrchr(page, '/') : NULL;
    const char *end = page ? strrchr(slash ? slash : page, '.') : NULL;

    if (hg_args_count(args, HG_OPTION_SAVE) && hg_args_count(args, HG_OPTION_LOAD))
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "--save and --load contradict each other: save on one machine, load on "
            "the other");
    if (end && strcmp(end, ".html") != 0 && strcmp(end, ".htm") != 0)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "-o %s: the report is a page, its name ends in .html", page);
    if ((page && strcmp(page, "-") == 0) || (target && strcmp(target, "-") == 0))
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "standard output has the table or the JSON: --save and -o need the "
                               "name of a file");
    if (page && target && strcmp(page, target) == 0)
        return hg_message_fail(HG_ERR_ARGUMENT, "--save and -o name the same file, %s", page);
    if (hg_args_count(args, HG_OPTION_VALUES) && !target)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "--values says what --save keeps: there is no --save");
    return hg_record_check_keep(hg_args_value(args, HG_OPTION_VALUES));
}

static hg_result make(compare_job *job)
{
    hg_app *app = job->app;
    const char *target = hg_args_value(app->args, HG_OPTION_SAVE);
    const char *page = hg_args_value(app->args, HG_OPTION_OUTPUT_PAGE);
    const char *prompt_file = hg_args_value(app->args, HG_OPTION_PROMPT_FILE);
    hg_result res = HG_OK;

    HG_TRY(check_options(app->args));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    if (target)
        HG_TRY(hg_source_spare(&job->source, prompt_file, target));
    if (page) {
        HG_TRY(hg_source_spare(&job->source, prompt_file, page));
        HG_TRY(hg_source_spare(&job->source, hg_args_value(app->args, HG_OPTION_LOAD), page));
    }
    HG_TRY(read_prompt(job));
    /* A thread of this process, and it ends before the first child is forked. */
    HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_weights_digest_wait(job->digest, job->weights));
    HG_TRY(check_weights(job));
    HG_TRY(choose_sides(job));
    HG_TRY(compare(job));
    /* The result first: a file that cannot be written must not take it along. */
    HG_TRY(print(job));
    if (target)
        HG_TRY(save(job, target));
    if (page)
        HG_TRY(write_page(job, page));
out:
    return res;
}

static int run(hg_app *app)
{
    compare_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (job) {
        job->app = app;
        job->loaded.spool.fd = job->comparison.baseline.fd = -1;
        job->labels = calloc(SIDES_MAX, sizeof(*job->labels));
        job->choices = calloc(SIDES_MAX, sizeof(*job->choices));
    }
    if (!job || !job->labels || !job->choices) {
        free(job);
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    }
    res = make(job);
    code = hg_exit_code(res);
    if (res == HG_OK && job->comparison.verdict > HG_VERDICT_ROUNDING)
        code = 1;
    hg_output_discard(&job->output);
    hg_comparison_free(&job->comparison);
    hg_record_close(&job->loaded);
    hg_weights_digest_free(&job->digest);
    hg_prompt_free(&job->prompt);
    hg_source_close(&job->source);
    free(job->labels);
    free(job->choices);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT,   HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,     HG_OPTION_NO_SPECIAL,
    HG_OPTION_DEVICES,  HG_OPTION_REPLAY,      HG_OPTION_SAVE,    HG_OPTION_VALUES,
    HG_OPTION_LOAD,     HG_OPTION_OUTPUT_PAGE, HG_OPTION_JSON,    HG_OPTION_PRECISION,
    HG_OPTION_EXACT,    HG_OPTION_LIMITS,      HG_OPTION_THREADS, HG_OPTION_TIMEOUT,
    HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_compare = {
    .name = "compare",
    .operands = "MODEL",
    .summary = "whether devices compute the same, stage by stage, and where they part",
    .about =
        "Runs the same prompt on each device, in a process of its own, and looks at every stage: "
        "what one operation wrote, as q_rope of layer 3, logits, or the attention maps. A stage is "
        "judged end to end against the first device (the baseline), and each kernel alone on the "
        "inputs of a reference in double, so that a fault shows where it is born. One device alone "
        "is compared with ref. --save on one machine and --load on another compare the two. "
        "-v prints every stage, -o writes a page for a bug report.\n"
        "\n"
        "Columns (layers, tokens and places count from 1):\n"
        "ROUNDINGS: distance in units of what float32 rounding alone does to this prompt; a fault "
        "above 16.\n"
        "ISOLATED: the kernel alone, its largest error as a share of its bound; a fault above 1.\n"
        "MAX DIFF: the largest difference of a value. AT: where that is.\n"
        "DIFFER: share of the values with other bits. Under --exact any one is a fault.\n"
        "NMSE: squared distance by squared length. 1-COS: 1 - cosine of the angle.\n"
        "KL: Kullback-Leibler divergence of the next token's distribution, in nats.\n"
        "\n"
        "The last line is the verdict. Exit codes: 0 same bits, or same within rounding; 1 "
        "different, or did not run; others as in 'headgate --help'. docs/compare.md has the "
        "bounds, "
        "the JSON and the record.",
    .examples = "headgate compare MODEL --prompt 'A text' --device vk:0 --device cl:0\n"
                "headgate compare MODEL --prompt 'A text' --device all --exact\n"
                "headgate compare MODEL --prompt 'A text' --replay 20 -o report.html\n"
                "headgate compare MODEL --prompt 'A text' --device vk:0 --save here.hgr\n"
                "headgate compare MODEL --load here.hgr   # there, with the same MODEL",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
