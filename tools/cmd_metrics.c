/* SPDX-License-Identifier: MIT */
/* headgate metrics: the paper's measures per layer and head. */
#include "commands.h"

#include "choice.h"
#include "evaluate.h"
#include "interrupt.h"
#include "maps.h"
#include "message.h"
#include "provenance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct metrics_job {
    hg_source source;
    hg_prompt prompt;
    hg_machine machine;
    hg_evaluation evaluation;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_layer_choice layers;
    hg_layer_metrics *metrics; /* [layers] */
    double *shares;            /* [layers, 2, heads] */
    hg_output *output;
} metrics_job;

static hg_result read_metrics(hg_app *app, metrics_job *job)
{
    size_t heads = job->source.info.heads;
    hg_result res = HG_OK;

    job->metrics = calloc(job->layers.count, sizeof(*job->metrics));
    job->shares = calloc(job->layers.count * heads * 2, sizeof(*job->shares));
    if (!job->metrics || !job->shares)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < job->layers.count && res == HG_OK; i++) {
        hg_meter_step(&app->meter, "metrics", i, job->layers.count);
        res = hg_capture_metrics(job->evaluation.session, job->layers.layers[i], &job->metrics[i],
                                 job->shares + i * heads * 2);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    hg_meter_stop(&app->meter);
    return res;
}

/* Over the chosen layers. */
static double mean_share(const metrics_job *job, int later)
{
    double sum = 0;

    for (uint32_t i = 0; i < job->layers.count; i++)
        sum += later ? job->metrics[i].first_token_share_later : job->metrics[i].first_token_share;
    return sum / job->layers.count;
}

/* A number of width 9, or a dash: NaN is "there is none". */
static hg_result print_cell(hg_output *output, const char *format, double value)
{
    char text[32] = "-";

    if (!isnan(value))
        snprintf(text, sizeof(text), strcmp(format, "share") == 0 ? "%.4f" : "%.4g", value);
    return hg_output_format(output, " %9s", text);
}

static hg_result print_layers(const metrics_job *job, const double uniform[2])
{
    hg_result res;

    HG_TRY(hg_output_format(
        job->output,
        "%s, %u tokens. First-token share F: mean attention on the first token.\n\n"
        "LAYER         F   F later      gate gate<.1     max|x|\n",
        job->source.name, job->prompt.count));
    for (uint32_t i = 0; i < job->layers.count; i++) {
        const hg_layer_metrics *m = &job->metrics[i];

        HG_TRY(hg_output_format(job->output, "%5u", job->layers.layers[i] + 1));
        HG_TRY(print_cell(job->output, "share", m->first_token_share));
        HG_TRY(print_cell(job->output, "share", m->first_token_share_later));
        HG_TRY(print_cell(job->output, "share", m->gate_mean));
        HG_TRY(print_cell(job->output, "share", m->gate_below_tenth));
        HG_TRY(print_cell(job->output, "size", m->hidden_abs_max));
        HG_TRY(hg_output_text(job->output, "\n"));
    }
    HG_TRY(hg_output_text(job->output, " mean"));
    HG_TRY(print_cell(job->output, "share", mean_share(job, 0)));
    HG_TRY(print_cell(job->output, "share", mean_share(job, 1)));
    HG_TRY(hg_output_text(job->output, "\n null"));
    HG_TRY(print_cell(job->output, "share", uniform[0]));
    HG_TRY(print_cell(job->output, "share", uniform[1]));
    HG_TRY(hg_output_text(job->output, "   uniform attention\n"));
out:
    return res;
}

/* F of every head, in lines of eight. */
static hg_result print_heads(const metrics_job *job, int later)
{
    uint32_t heads = job->source.info.heads;
    hg_result res;

    HG_TRY(hg_output_format(job->output, "\nF per head%s\n", later ? ", without query 0" : ""));
    for (uint32_t i = 0; i < job->layers.count; i++) {
        const double *shares = job->shares + ((size_t)i * 2 + (size_t)later) * heads;

        HG_TRY(hg_output_format(job->output, "%5u", job->layers.layers[i] + 1));
        for (uint32_t head = 0; head < heads; head++) {
            if (head > 0 && head % 8 == 0)
                HG_TRY(hg_output_text(job->output, "\n     "));
            HG_TRY(print_cell(job->output, "share", shares[head]));
        }
        HG_TRY(hg_output_text(job->output, "\n"));
    }
out:
    return res;
}

static void put_shares(hg_put *put, const char *key, const double *shares, uint32_t count)
{
    hg_put_row(put, key);
    for (uint32_t i = 0; i < count; i++)
        hg_put_number(put, NULL, shares[i]);
    hg_put_end(put);
}

static void put_json(const metrics_job *job, const double uniform[2])
{
    uint32_t heads = job->source.info.heads;
    hg_put put;

    hg_put_start(&put, job->output, "metrics");
    hg_put_text(&put, "model", job->source.name);
    hg_put_ids(&put, "ids", job->prompt.ids, job->prompt.count);
    hg_put_number(&put, "uniform_share", uniform[0]);
    hg_put_number(&put, "uniform_share_later", uniform[1]);
    hg_put_number(&put, "mean_first_token_share", mean_share(job, 0));
    hg_put_number(&put, "mean_first_token_share_later", mean_share(job, 1));
    hg_put_array(&put, "layers");
    for (uint32_t i = 0; i < job->layers.count; i++) {
        const hg_layer_metrics *m = &job->metrics[i];
        const double *shares = job->shares + (size_t)i * 2 * heads;

        hg_put_object(&put, NULL);
        hg_put_unsigned(&put, "layer", job->layers.layers[i] + 1);
        hg_put_number(&put, "first_token_share", m->first_token_share);
        hg_put_number(&put, "first_token_share_later", m->first_token_share_later);
        hg_put_number(&put, "gate_mean", m->gate_mean);
        hg_put_number(&put, "gate_below_tenth", m->gate_below_tenth);
        hg_put_number(&put, "hidden_abs_max", m->hidden_abs_max);
        put_shares(&put, "head_first_token_share", shares, heads);
        put_shares(&put, "head_first_token_share_later", shares + heads, heads);
        hg_put_end(&put);
    }
    hg_put_end(&put);
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
}

static hg_result make(hg_app *app, metrics_job *job)
{
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN};
    double uniform[2];
    hg_result res;

    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(hg_layers_choose(app->args, &job->source.info, 0, &job->layers));
    HG_TRY(hg_prompt_read(app, &job->source, NULL, &job->prompt));
    HG_TRY(hg_output_open("-", &job->output));
    if (hg_args_count(app->args, HG_OPTION_JSON))
        HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    wish.layers = job->layers.layers;
    wish.layer_count = job->layers.count;
    HG_TRY(hg_evaluate(app, &job->machine, &job->source, &job->prompt, &wish, &job->evaluation));
    HG_TRY(read_metrics(app, job));
    uniform[0] = hg_null_share(job->source.info.sliding_window, job->prompt.count, 0);
    uniform[1] = hg_null_share(job->source.info.sliding_window, job->prompt.count, 1);
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                                  &job->provenance));
        put_json(job, uniform);
    } else {
        HG_TRY(print_layers(job, uniform));
        HG_TRY(print_heads(job, 0));
        HG_TRY(print_heads(job, 1));
    }
    HG_TRY(hg_output_commit(&job->output));
out:
    return res;
}

static int run(hg_app *app)
{
    metrics_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
    free(job->shares);
    free(job->metrics);
    hg_weights_digest_free(&job->digest);
    hg_evaluation_free(&job->evaluation);
    if (code == 0 && hg_machine_complained(&job->machine))
        code = 1;
    hg_machine_close(&job->machine);
    hg_layers_free(&job->layers);
    hg_prompt_free(&job->prompt);
    hg_source_close(&job->source);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT, HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,     HG_OPTION_NO_SPECIAL,
    HG_OPTION_LAYERS, HG_OPTION_JSON,        HG_OPTION_DEVICE,  HG_OPTION_PRECISION,
    HG_OPTION_EXACT,  HG_OPTION_LIMITS,      HG_OPTION_THREADS, HG_OPTION_VALIDATE,
    HG_OPTION_END,
};

const hg_command hg_command_metrics = {
    .name = "metrics",
    .operands = "MODEL",
    .summary = "first-token share, gates and largest activations per layer and head",
    .about = "The measures of arXiv 2505.06708 for one prompt. F is the mean share of attention on "
             "the first token; "
             "F later leaves out the first query, which can look nowhere else; null is what "
             "uniform attention would "
             "give. gate is the mean gate, gate<.1 the share of gates below 0.1, max|x| the "
             "largest value of the "
             "layer's output.",
    .examples =
        "headgate metrics MODEL --prompt 'Sparse gating mechanism mitigates attention sink.'\n"
        "headgate metrics MODEL --prompt-file text.txt --json",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
