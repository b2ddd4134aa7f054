/* SPDX-License-Identifier: MIT */
/* headgate metrics: the paper's measures per layer and head of one prompt; of many:
 * metrics_prompts.c. */
#include "commands.h"

#include "evaluate.h"
#include "interrupt.h"
#include "maps.h"
#include "measures.h"
#include "message.h"
#include "metrics_prompts.h"
#include "provenance.h"

#include <stdlib.h>

typedef struct metrics_job {
    hg_source source;
    hg_prompt prompt;
    hg_machine machine;
    hg_evaluation evaluation;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_layer_choice layers;
    hg_measures measures;
    hg_output *output;
} metrics_job;

static hg_result read_metrics(hg_app *app, metrics_job *job)
{
    size_t heads = job->source.info.heads;
    hg_result res = hg_measures_create(&job->layers, job->source.info.heads, &job->measures);

    for (uint32_t i = 0; i < job->layers.count && res == HG_OK; i++) {
        hg_meter_step(&app->meter, "metrics", i, job->layers.count);
        res = hg_capture_metrics(job->evaluation.session, job->layers.layers[i],
                                 &job->measures.metrics[i], job->measures.shares + i * heads * 2);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    for (int later = 0; later < 2; later++)
        job->measures.uniform[later] =
            hg_null_share(job->source.info.sliding_window, job->prompt.count, later);
    hg_meter_stop(&app->meter);
    return res;
}

static hg_result print_table(const metrics_job *job)
{
    hg_result res;

    HG_TRY(hg_output_format(
        job->output, "%s, %u tokens. First-token share F: mean attention on the first token.\n\n",
        job->source.name, job->prompt.count));
    HG_TRY(hg_measures_print_layers(job->output, &job->measures));
    HG_TRY(hg_measures_print_heads(job->output, &job->measures, 0));
    HG_TRY(hg_measures_print_heads(job->output, &job->measures, 1));
out:
    return res;
}

static void put_json(const metrics_job *job)
{
    hg_put put;

    hg_put_start(&put, job->output, "metrics");
    hg_put_text(&put, "model", job->source.name);
    hg_put_ids(&put, "ids", job->prompt.ids, job->prompt.count);
    hg_measures_put(&put, &job->measures);
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
}

static hg_result make(hg_app *app, metrics_job *job)
{
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN};
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
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                                  &job->provenance));
        put_json(job);
    } else {
        HG_TRY(print_table(job));
    }
    HG_TRY(hg_output_commit(&job->output));
out:
    return res;
}

static int run(hg_app *app)
{
    metrics_job *job;
    hg_result res;
    int code;

    if (hg_args_count(app->args, HG_OPTION_PROMPTS))
        return hg_metrics_prompts(app);
    job = calloc(1, sizeof(*job));
    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
    hg_measures_free(&job->measures);
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
    HG_OPTION_PROMPT,     HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,      HG_OPTION_PROMPTS,
    HG_OPTION_NO_SPECIAL, HG_OPTION_LAYERS,      HG_OPTION_JSON,     HG_OPTION_DEVICE,
    HG_OPTION_PRECISION,  HG_OPTION_EXACT,       HG_OPTION_LIMITS,   HG_OPTION_REPACK,
    HG_OPTION_TUNE,       HG_OPTION_THREADS,     HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_metrics = {
    .name = "metrics",
    .operands = "MODEL",
    .summary = "first-token share, gates and largest activations per layer and head",
    .about =
        "The measures of arXiv 2505.06708 for a prompt. F is the mean share of attention on "
        "the first token; "
        "F later leaves out the first query, which can look nowhere else; null is what "
        "uniform attention would "
        "give. gate is the mean gate, gate<.1 the share of gates below 0.1, max|x| the "
        "largest value of the "
        "layer's output.\n\n"
        "With --prompts a line per prompt, its mean over the layers (max|x|: the largest), then "
        "the mean over the prompts per layer and head.",
    .examples =
        "headgate metrics MODEL --prompt 'Sparse gating mechanism mitigates attention sink.'\n"
        "headgate metrics MODEL --prompts list.jsonl\n"
        "headgate metrics MODEL --prompt-file text.txt --json",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
