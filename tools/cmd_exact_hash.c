/* SPDX-License-Identifier: MIT */
/* headgate exact-hash: the sha256 of logits and maps in exact mode, beside the one that shipped. */
#include "commands.h"

#include "device_list.h"
#include "evaluate.h"
#include "exact_hash_side.h"
#include "message.h"
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES_MAX = 16 };

typedef struct exact_job {
    hg_app *app;
    hg_source source;
    hg_prompt prompt;
    hg_weights_digest *digest;
    hg_shipped shipped;
    hg_hash_side sides[SIDES_MAX];
    uint32_t side_count;
    hg_output *output;
} exact_job;

static hg_hash_oracle oracle_of(const exact_job *job)
{
    hg_hash_oracle oracle = {.shipped = &job->shipped};

    for (uint32_t i = job->side_count; i-- > 0;) {
        if (job->sides[i].result == HG_OK)
            oracle.first = &job->sides[i];
    }
    return oracle;
}

/* --- options ------------------------------------------------------------------------------ */

static hg_result refuse_precision(const char *precision)
{
    return hg_message_fail(HG_ERR_ARGUMENT,
                           "exact-hash is about precision exact; precision %s contradicts it "
                           "(expected exact, or none at all)",
                           precision);
}

static hg_result add_side(void *user, const char *value)
{
    exact_job *job = user;
    hg_hash_side *side = &job->sides[job->side_count];
    hg_result res;

    if (job->side_count == SIDES_MAX)
        return hg_message_fail(HG_ERR_ARGUMENT, "--device: at most %d devices at a time",
                               SIDES_MAX);
    res = hg_machine_choose(job->app->args, value, &side->choice);
    if (res != HG_OK)
        return res;
    if (side->choice.precision_given && side->choice.precision != HG_PRECISION_EXACT)
        return refuse_precision(hg_precision_name(side->choice.precision));
    side->choice.precision = HG_PRECISION_EXACT;
    snprintf(side->label, sizeof(side->label), "%s", value && *value ? value : "default");
    job->side_count++;
    return HG_OK;
}

static hg_result read_options(exact_job *job)
{
    const hg_args *args = job->app->args;
    const char *precision = hg_args_value(args, HG_OPTION_PRECISION_EXACT);

    if (precision && strcmp(precision, "exact") != 0)
        return refuse_precision(precision);
    return hg_device_each(args, HG_OPTION_DEVICES_EXACT, add_side, job);
}

/* --- work --------------------------------------------------------------------------------- */

static hg_result run_side(exact_job *job, hg_hash_side *side)
{
    const hg_wish wish = {.capture = HG_CAPTURE_ATTENTION, .logits = HG_LOGITS_ALL};
    hg_machine machine = {.engine = NULL};
    hg_evaluation evaluation = {.model = NULL};
    hg_app *app = job->app;
    hg_result res;

    HG_TRY(hg_machine_open(app, &side->choice, &machine));
    snprintf(side->selector, sizeof(side->selector), "%s", machine.device.selector);
    HG_TRY(hg_evaluate(app, &machine, &job->source, &job->prompt, &wish, &evaluation));
    HG_TRY(hg_exact_hash_make(app, &job->source.info, evaluation.session, &side->hash));
    HG_TRY(hg_provenance_fill(app, &job->source, &machine, &job->prompt, job->digest,
                              &side->provenance));
    side->complained = hg_machine_complained(&machine);
out:
    hg_evaluation_free(&evaluation);
    hg_machine_close(&machine);
    side->result = res;
    return res;
}

/* The device's own fault: others may do. */
static int is_of_device(hg_result res)
{
    return res == HG_ERR_DRIVER || res == HG_ERR_DEVICE_LOST || res == HG_ERR_DEVICE_MEMORY ||
           res == HG_ERR_NO_DEVICE || res == HG_ERR_UNSUPPORTED;
}

static hg_result evaluate(exact_job *job)
{
    hg_app *app = job->app;
    const hg_args *args = app->args;
    const int has_prompt = hg_args_count(args, HG_OPTION_PROMPT) ||
                           hg_args_count(args, HG_OPTION_PROMPT_FILE) ||
                           hg_args_count(args, HG_OPTION_IDS);
    char sha256[HG_SHA256_TEXT];
    hg_result res;

    HG_TRY(read_options(job));
    HG_TRY(hg_source_open(app, args->operands[0], &job->source));
    HG_TRY(hg_prompt_read(app, &job->source, has_prompt ? NULL : hg_demo_prompt, &job->prompt));
    HG_TRY(hg_output_open("-", &job->output));
    HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    for (uint32_t i = 0; i < job->side_count; i++) {
        res = run_side(job, &job->sides[i]);
        if (res != HG_OK && (job->side_count == 1 || !is_of_device(res)))
            goto out;
    }
    HG_TRY(hg_weights_digest_wait(job->digest, sha256));
    HG_TRY(hg_shipped_find(args, sha256, job->prompt.ids, job->prompt.count, &job->shipped));
out:
    return res;
}

/* --- what came of it ---------------------------------------------------------------------- */

static hg_result print(exact_job *job)
{
    const hg_hash_oracle oracle = oracle_of(job);
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < job->side_count; i++) {
        if (i > 0)
            HG_TRY(hg_output_text(job->output, "\n"));
        HG_TRY(
            hg_hash_side_print(job->app, job->output, &job->sides[i], &oracle, job->prompt.count));
    }
out:
    return res;
}

/* Of one device its members are those of the object; of several there is an array. */
static void put(exact_job *job)
{
    const hg_hash_oracle oracle = oracle_of(job);
    hg_put put;

    hg_put_start(&put, job->output, "exact-hash");
    hg_put_text(&put, "revision", HG_EXACT_REVISION);
    hg_put_text(&put, "model", job->source.name);
    hg_put_ids(&put, "ids", job->prompt.ids, job->prompt.count);
    if (job->side_count == 1) {
        hg_hash_side_put(&job->sides[0], &oracle, &put);
    } else {
        hg_put_array(&put, "devices");
        for (uint32_t i = 0; i < job->side_count; i++) {
            hg_put_object(&put, NULL);
            hg_put_text(&put, "selector",
                        *job->sides[i].selector ? job->sides[i].selector : job->sides[i].label);
            hg_hash_side_put(&job->sides[i], &oracle, &put);
            hg_put_end(&put);
        }
        hg_put_end(&put);
    }
    hg_put_finish(&put);
}

/* The exit code of a result that was written. */
static int judge_side(const exact_job *job, const hg_hash_side *side, const hg_hash_oracle *oracle)
{
    switch (hg_hash_judge(side, oracle)) {
    case HG_HASH_NOT_RUN:
        return hg_exit_code(side->result);
    case HG_HASH_DIFFERENT:
        hg_message(HG_LOG_ERROR,
                   "%s on %s is different from the shipped hash: expected all %s, found %s",
                   job->source.name, side->provenance.device, oracle->shipped->all, side->hash.all);
        return 1;
    case HG_HASH_APART:
        hg_message(HG_LOG_ERROR, "%s on %s is different from %s: expected all %s, found %s",
                   job->source.name, side->provenance.device, oracle->first->selector,
                   oracle->first->hash.all, side->hash.all);
        return 1;
    case HG_HASH_AS_SHIPPED:
    case HG_HASH_UNLISTED:
        break;
    }
    return side->complained ? 1 : 0;
}

/* Different bytes count more than a device that did not run. */
static int judge(const exact_job *job)
{
    const hg_hash_oracle oracle = oracle_of(job);
    int code = 0;

    for (uint32_t i = 0; i < job->side_count; i++) {
        const int own = judge_side(job, &job->sides[i], &oracle);

        if (code == 0 || own == 1)
            code = own;
    }
    if (code == 0 && !job->shipped.listed && hg_args_count(job->app->args, HG_OPTION_CHECK)) {
        hg_message(HG_LOG_ERROR,
                   "no hash of revision %s is shipped for these weights and these tokens of %s",
                   HG_EXACT_REVISION, job->source.name);
        return 1;
    }
    return code;
}

static int run(hg_app *app)
{
    exact_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    job->app = app;
    HG_TRY(evaluate(job));
    if (hg_args_count(app->args, HG_OPTION_JSON))
        put(job);
    else
        HG_TRY(print(job));
    res = hg_output_commit(&job->output);
out:
    code = res == HG_OK ? judge(job) : hg_exit_code(res);
    hg_output_discard(&job->output);
    hg_weights_digest_free(&job->digest);
    for (uint32_t i = 0; i < job->side_count; i++)
        hg_exact_hash_free(&job->sides[i].hash);
    hg_prompt_free(&job->prompt);
    hg_source_close(&job->source);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT,          HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,    HG_OPTION_NO_SPECIAL,
    HG_OPTION_CHECK,           HG_OPTION_SAMPLES,     HG_OPTION_JSON,   HG_OPTION_DEVICES_EXACT,
    HG_OPTION_PRECISION_EXACT, HG_OPTION_EXACT,       HG_OPTION_LIMITS, HG_OPTION_THREADS,
    HG_OPTION_VALIDATE,        HG_OPTION_END,
};

const hg_command hg_command_exact_hash = {
    .name = "exact-hash",
    .operands = "MODEL",
    .summary = "the sha256 of logits and maps, the same on every device",
    .about =
        "Computes with precision exact and prints the sha256 of the logits [T, V] of all tokens, "
        "of the attention probabilities [H, T, T] of all layers (with -v of each layer too), and "
        "of both as one stream, as little-endian float32; on several devices one after the other. "
        "The default prompt is that of demo; a model without a tokenizer needs --ids. For the "
        "sample models and that prompt the hashes ship with the program: 'as shipped', or "
        "'different from the shipped hash' and exit code 1. Others are 'not listed', and several "
        "devices are compared with the first.",
    .examples = "headgate exact-hash MODEL --prompt 'It was' --device vk:0\n"
                "headgate exact-hash MODEL --device all\n"
                "headgate exact-hash MODEL --ids 1,2,3 --json",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
