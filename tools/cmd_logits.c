/* SPDX-License-Identifier: MIT */
/* headgate logits: the likeliest next tokens, or the tensors of a pass as a safetensors file. */
#include "commands.h"

#include "dump.h"
#include "json_writer.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_DEFAULT = 10, TOP_MAX = 1000 };

typedef struct logits_job {
    hg_source source;
    hg_prompt prompt;
    hg_machine machine;
    hg_evaluation evaluation;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_layer_choice layers;
    hg_output *output;
    hg_dump_what what;
    uint32_t top;
} logits_job;

/* order[0..top): ids by falling logit, ties by rising id; NaN last. */
static void find_top(const float *logits, uint32_t vocab, uint32_t top, int32_t *order)
{
    uint32_t count = 0;

    for (uint32_t id = 0; id < vocab; id++) {
        uint32_t place = count < top ? count : top;

        if (isnan(logits[id]))
            continue;
        while (place > 0 && logits[order[place - 1]] < logits[id])
            place--;
        if (place == top)
            continue;
        if (count < top)
            count++;
        memmove(order + place + 1, order + place, (count - 1 - place) * sizeof(*order));
        order[place] = (int32_t)id;
    }
    for (; count < top; count++)
        order[count] = -1;
}

static double log_sum(const float *logits, uint32_t vocab, const int32_t *order)
{
    double max = order[0] >= 0 ? (double)logits[order[0]] : (double)NAN, sum = 0;

    for (uint32_t id = 0; id < vocab; id++)
        sum += exp((double)logits[id] - max);
    return max + log(sum);
}

static hg_result print_top(const logits_job *job, const float *logits, const int32_t *order,
                           double lse)
{
    hg_result res = hg_output_text(job->output, "PLACE       ID      LOGIT  PROBABILITY  TOKEN\n");

    for (uint32_t i = 0; i < job->top && order[i] >= 0 && res == HG_OK; i++) {
        hg_labels *label = NULL;

        res = hg_labels_create(job->source.tokenizer, &order[i], 1, &label);
        if (res == HG_OK)
            res = hg_output_format(job->output, "%5u %8d %10.4f %12.6f  %s\n", i + 1, (int)order[i],
                                   (double)logits[order[i]], exp((double)logits[order[i]] - lse),
                                   label->text[0]);
        hg_labels_free(&label);
    }
    return res;
}

static void put_top(const logits_job *job, const float *logits, const int32_t *order, double lse)
{
    hg_put put;

    hg_put_start(&put, job->output, "logits");
    hg_put_text(&put, "model", job->source.name);
    hg_put_ids(&put, "ids", job->prompt.ids, job->prompt.count);
    hg_put_number(&put, "log_sum_exp", lse);
    hg_put_array(&put, "top");
    for (uint32_t i = 0; i < job->top && order[i] >= 0; i++) {
        hg_put_object(&put, NULL);
        hg_put_integer(&put, "id", order[i]);
        hg_put_text(&put, "token",
                    job->source.tokenizer ? hg_tokenizer_token(job->source.tokenizer, order[i])
                                          : NULL);
        hg_put_float(&put, "logit", logits[order[i]]);
        hg_put_number(&put, "probability", exp((double)logits[order[i]] - lse));
        hg_put_end(&put);
    }
    hg_put_end(&put);
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
}

static hg_result show_top(hg_app *app, logits_job *job)
{
    uint32_t vocab = job->source.info.vocab;
    float *logits = malloc((size_t)vocab * sizeof(*logits));
    int32_t *order = calloc((size_t)job->top + 1, sizeof(*order));
    double lse;
    hg_result res;

    if (!logits || !order) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    HG_TRY(hg_session_logits(job->evaluation.session, job->prompt.count - 1, logits));
    find_top(logits, vocab, job->top, order);
    lse = log_sum(logits, vocab, order);
    if (hg_args_count(app->args, HG_OPTION_JSON))
        put_top(job, logits, order, lse);
    else
        HG_TRY(print_top(job, logits, order, lse));
out:
    free(order);
    free(logits);
    return res;
}

static hg_result read_options(hg_app *app, logits_job *job)
{
    const hg_args *args = app->args;
    int dumps = hg_args_count(args, HG_OPTION_DUMP) > 0;
    hg_result res;

    job->top = TOP_DEFAULT;
    res = hg_args_number(args, HG_OPTION_TOP, 1, TOP_MAX, &job->top);
    if (res != HG_OK)
        return res;
    if (!dumps && hg_args_count(args, HG_OPTION_WHAT))
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "--what says what --dump FILE writes; there is no --dump");
    if (!dumps && hg_args_count(args, HG_OPTION_LAYERS))
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "--layers chooses layers for --dump FILE; there is no --dump");
    if (dumps && (hg_args_count(args, HG_OPTION_JSON) || hg_args_count(args, HG_OPTION_TOP)))
        return hg_message_fail(HG_ERR_ARGUMENT, "--dump and --%s contradict each other",
                               hg_args_count(args, HG_OPTION_JSON) ? "json" : "top");
    return hg_dump_parse(hg_args_value(args, HG_OPTION_WHAT), &job->what);
}

static hg_result make(hg_app *app, logits_job *job)
{
    const char *dump = hg_args_value(app->args, HG_OPTION_DUMP);
    int recorded = dump || hg_args_count(app->args, HG_OPTION_JSON); /* where from, in the result */
    hg_machine_choice choice;
    hg_wish wish = {.logits = HG_LOGITS_LAST};
    hg_result res;

    HG_TRY(read_options(app, job));
    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(hg_layers_choose(app->args, &job->source.info, 0, &job->layers));
    if (dump)
        HG_TRY(hg_dump_check(&job->what, &job->source.info, &wish));
    HG_TRY(hg_prompt_read(app, &job->source, NULL, &job->prompt));
    HG_TRY(hg_source_spare(&job->source, hg_args_value(app->args, HG_OPTION_PROMPT_FILE),
                           dump ? dump : "-"));
    HG_TRY(hg_output_open(dump ? dump : "-", &job->output));
    if (recorded)
        HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    wish.layers = job->layers.layers;
    wish.layer_count = job->layers.count;
    HG_TRY(hg_evaluate(app, &job->machine, &job->source, &job->prompt, &wish, &job->evaluation));
    if (recorded)
        HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                                  &job->provenance));
    if (dump)
        HG_TRY(hg_dump_write(app, &job->what, &job->source.info, &job->layers,
                             job->evaluation.session, &job->provenance, job->output));
    else
        HG_TRY(show_top(app, job));
    HG_TRY(hg_output_commit(&job->output));
    if (dump && strcmp(dump, "-") != 0)
        hg_message_note("wrote %s", dump);
out:
    return res;
}

static int run(hg_app *app)
{
    logits_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
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
    HG_OPTION_PROMPT,   HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,       HG_OPTION_NO_SPECIAL,
    HG_OPTION_DUMP,     HG_OPTION_WHAT,        HG_OPTION_LAYERS,    HG_OPTION_TOP,
    HG_OPTION_JSON,     HG_OPTION_DEVICE,      HG_OPTION_PRECISION, HG_OPTION_EXACT,
    HG_OPTION_LIMITS,   HG_OPTION_REPACK,      HG_OPTION_TUNE,      HG_OPTION_THREADS,
    HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_logits = {
    .name = "logits",
    .operands = "MODEL",
    .summary = "the likeliest next tokens, or every tensor of the pass in a file",
    .about = "Prints the likeliest next tokens after a prompt. --dump writes tensors instead: "
             "input_ids [T], logits "
             "[T, V], last_logits [V], attentions.i [H, T, T] (before the gate), gate_scores.i [T, "
             "H] or [T, H, D], "
             "hidden_states.i [T, C] (0: embeddings, the last: after the final norm), "
             "final_residual [T, C]. In the "
             "names of tensors i counts layers from 0.",
    .examples = "headgate logits MODEL --prompt 'It is a truth universally'\n"
                "headgate logits MODEL --ids 1,2,3 --dump out.safetensors --what all",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
