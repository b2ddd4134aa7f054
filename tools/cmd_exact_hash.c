/* SPDX-License-Identifier: MIT */
/* headgate exact-hash: the sha256 of logits and maps in exact mode, beside the one that shipped. */
#include "commands.h"

#include "evaluate.h"
#include "exact_hash.h"
#include "message.h"
#include "samples.h"

#include <stdlib.h>
#include <string.h>

typedef struct exact_job {
    hg_source source;
    hg_prompt prompt;
    hg_machine machine;
    hg_evaluation evaluation;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_exact_hash hash;
    hg_shipped shipped;
    hg_output *output;
} exact_job;

static int is_as_shipped(const exact_job *job)
{
    return strcmp(job->hash.all, job->shipped.all) == 0 &&
           strcmp(job->hash.logits, job->shipped.logits) == 0 &&
           strcmp(job->hash.maps, job->shipped.maps) == 0;
}

static const char *verdict(const exact_job *job)
{
    if (!job->shipped.listed)
        return "not listed";
    return is_as_shipped(job) ? "as shipped" : "different from the shipped hash";
}

static hg_result print(const hg_app *app, exact_job *job)
{
    hg_result res;

    HG_TRY(hg_output_format(job->output, HG_EXACT_REVISION " logits %s\n", job->hash.logits));
    for (uint32_t i = 0; i < job->hash.layer_count && hg_args_count(app->args, HG_OPTION_VERBOSE);
         i++)
        HG_TRY(hg_output_format(job->output, HG_EXACT_REVISION " layer-%u %s\n", i + 1,
                                job->hash.layers[i]));
    HG_TRY(hg_output_format(job->output, HG_EXACT_REVISION " maps %s\n", job->hash.maps));
    HG_TRY(hg_output_format(job->output, HG_EXACT_REVISION " all %s\n", job->hash.all));
    HG_TRY(hg_output_format(job->output, "weights %s\ntokens %u\ndevice %s, %s\nverdict %s\n",
                            job->provenance.weights_sha256, job->prompt.count,
                            job->provenance.device, job->provenance.driver, verdict(job)));
out:
    return res;
}

static void put_sums(hg_put *put, const char *key, const char *logits, const char *maps,
                     const char *all)
{
    hg_put_object(put, key);
    hg_put_text(put, "logits", logits);
    hg_put_text(put, "maps", maps);
    hg_put_text(put, "all", all);
    hg_put_end(put);
}

static void put(exact_job *job)
{
    hg_put put;

    hg_put_start(&put, job->output, "exact-hash");
    hg_put_text(&put, "revision", HG_EXACT_REVISION);
    hg_put_text(&put, "model", job->source.name);
    hg_put_ids(&put, "ids", job->prompt.ids, job->prompt.count);
    put_sums(&put, "sha256", job->hash.logits, job->hash.maps, job->hash.all);
    hg_put_array(&put, "layers");
    for (uint32_t i = 0; i < job->hash.layer_count; i++)
        hg_put_text(&put, NULL, job->hash.layers[i]);
    hg_put_end(&put);
    hg_put_text(&put, "verdict", verdict(job));
    if (job->shipped.listed)
        put_sums(&put, "shipped", job->shipped.logits, job->shipped.maps, job->shipped.all);
    else
        hg_put_null(&put, "shipped");
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
}

/* Exact unless something else was asked for, which cannot be done. */
static hg_result choose_machine(const hg_args *args, hg_machine_choice *choice)
{
    hg_result res = hg_machine_choose(args, NULL, choice);

    if (res == HG_OK && choice->precision_given && choice->precision != HG_PRECISION_EXACT)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "exact-hash is about precision exact; precision %s contradicts it "
                               "(expected exact, or none at all)",
                               hg_precision_name(choice->precision));
    choice->precision = HG_PRECISION_EXACT;
    return res;
}

static hg_result evaluate(hg_app *app, exact_job *job)
{
    const hg_args *args = app->args;
    const int has_prompt = hg_args_count(args, HG_OPTION_PROMPT) ||
                           hg_args_count(args, HG_OPTION_PROMPT_FILE) ||
                           hg_args_count(args, HG_OPTION_IDS);
    const hg_wish wish = {.capture = HG_CAPTURE_ATTENTION, .logits = HG_LOGITS_ALL};
    hg_machine_choice choice;
    hg_result res;

    HG_TRY(choose_machine(args, &choice));
    HG_TRY(hg_source_open(app, args->operands[0], &job->source));
    HG_TRY(hg_prompt_read(app, &job->source, has_prompt ? NULL : hg_demo_prompt, &job->prompt));
    HG_TRY(hg_output_open("-", &job->output));
    HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    HG_TRY(hg_evaluate(app, &job->machine, &job->source, &job->prompt, &wish, &job->evaluation));
    HG_TRY(hg_exact_hash_make(app, &job->source.info, job->evaluation.session, &job->hash));
    HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                              &job->provenance));
    HG_TRY(hg_shipped_find(args, job->provenance.weights_sha256, job->prompt.ids, job->prompt.count,
                           &job->shipped));
out:
    return res;
}

/* The exit code of a result that was written. */
static int judge(const hg_app *app, const exact_job *job)
{
    if (job->shipped.listed && !is_as_shipped(job)) {
        hg_message(HG_LOG_ERROR,
                   "%s on %s is different from the shipped hash: expected all %s, found %s",
                   job->source.name, job->provenance.device, job->shipped.all, job->hash.all);
        return 1;
    }
    if (!job->shipped.listed && hg_args_count(app->args, HG_OPTION_CHECK)) {
        hg_message(HG_LOG_ERROR,
                   "no hash of revision %s is shipped for these weights and these tokens of %s",
                   HG_EXACT_REVISION, job->source.name);
        return 1;
    }
    return hg_machine_complained(&job->machine) ? 1 : 0;
}

static int run(hg_app *app)
{
    exact_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    HG_TRY(evaluate(app, job));
    if (hg_args_count(app->args, HG_OPTION_JSON))
        put(job);
    else
        HG_TRY(print(app, job));
    res = hg_output_commit(&job->output);
out:
    code = res == HG_OK ? judge(app, job) : hg_exit_code(res);
    hg_output_discard(&job->output);
    hg_weights_digest_free(&job->digest);
    hg_exact_hash_free(&job->hash);
    hg_evaluation_free(&job->evaluation);
    hg_machine_close(&job->machine);
    hg_prompt_free(&job->prompt);
    hg_source_close(&job->source);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT,    HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,    HG_OPTION_NO_SPECIAL,
    HG_OPTION_CHECK,     HG_OPTION_SAMPLES,     HG_OPTION_JSON,   HG_OPTION_DEVICE,
    HG_OPTION_PRECISION, HG_OPTION_EXACT,       HG_OPTION_LIMITS, HG_OPTION_THREADS,
    HG_OPTION_VALIDATE,  HG_OPTION_END,
};

const hg_command hg_command_exact_hash = {
    .name = "exact-hash",
    .operands = "MODEL",
    .summary = "the sha256 of logits and maps, the same on every device",
    .about =
        "Computes with precision exact and prints the sha256 of the logits [T, V] of all tokens, "
        "of the attention probabilities [H, T, T] of all layers (with -v of each layer too), and "
        "of both as one stream, as little-endian float32. The default prompt is that of demo; a "
        "model without a tokenizer needs --ids. For the sample models and that prompt the hashes "
        "ship with the program: 'as shipped', or 'different from the shipped hash' and exit code "
        "1. Others are 'not listed'.",
    .examples = "headgate exact-hash MODEL --prompt 'It was' --device vk:0\n"
                "headgate exact-hash MODEL --ids 1,2,3 --json",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
