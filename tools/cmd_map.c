/* SPDX-License-Identifier: MIT */
/* headgate map: attention maps of one prompt as a figure or as JSON; of many: map_prompts.c. */
#include "commands.h"

#include "interrupt.h"
#include "map_prompts.h"
#include "map_result.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct map_job {
    hg_source source;
    hg_prompt prompt;
    hg_machine machine;
    hg_evaluation evaluation;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_maps maps;
    hg_output *output;
    uint32_t format;
    uint32_t scale;
    const char *target; /* "-": standard output */
    char default_target[HG_NAME_SIZE + 64];
} map_job;

static hg_result open_output(hg_app *app, map_job *job)
{
    const char *target = hg_args_value(app->args, HG_OPTION_OUTPUT_MAP);

    if (!target && job->format == HG_MAP_JSON && hg_args_count(app->args, HG_OPTION_JSON)) {
        target = "-"; /* --json alone means standard output, as in every command */
    } else if (!target) {
        snprintf(job->default_target, sizeof(job->default_target),
                 "%s_selected_layer_attention_maps.%s", job->source.name,
                 hg_map_format_names[job->format]);
        target = job->default_target;
    }
    job->target = target;
    if (strcmp(target, "-") == 0 && (job->format == HG_MAP_PNG || job->format == HG_MAP_PDF) &&
        isatty(STDOUT_FILENO))
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "-o -: a terminal cannot show a %s; send standard output to a file or a "
            "program",
            hg_map_format_names[job->format]);
    if (hg_source_spare(&job->source, hg_args_value(app->args, HG_OPTION_PROMPT_FILE), target) !=
        HG_OK)
        return HG_ERR_ARGUMENT;
    return hg_output_open(target, &job->output);
}

static hg_result read_options(hg_app *app, map_job *job)
{
    static const char *const scales[] = {"linear", "log"};
    const char *target = hg_args_value(app->args, HG_OPTION_OUTPUT_MAP);
    hg_result res;

    res = hg_map_format_choose(app->args, target && strcmp(target, "-") == 0 ? NULL : target,
                               &job->format);
    if (res != HG_OK)
        return res;
    job->scale = HG_FIGURE_LINEAR;
    return hg_args_choice(app->args, HG_OPTION_SCALE, scales, 2, &job->scale);
}

static hg_result make(hg_app *app, map_job *job)
{
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES};
    hg_map_result result;
    hg_result res;

    HG_TRY(read_options(app, job));
    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(hg_layers_choose(app->args, &job->source.info, 1, &job->maps.layers));
    HG_TRY(hg_heads_choose(app->args, &job->source.info, &job->maps.heads));
    HG_TRY(hg_prompt_read(app, &job->source, NULL, &job->prompt));
    HG_TRY(open_output(app, job));
    HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    wish.layers = job->maps.layers.layers;
    wish.layer_count = job->maps.layers.count;
    HG_TRY(hg_evaluate(app, &job->machine, &job->source, &job->prompt, &wish, &job->evaluation));
    job->maps.keep_cells = job->format != HG_MAP_JSON;
    job->maps.pool =
        job->maps.keep_cells
            ? hg_maps_pool(job->prompt.count, job->maps.layers.count * job->maps.heads.count)
            : 1;
    HG_TRY(hg_maps_read(app, &job->source, job->evaluation.session, &job->maps));
    HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                              &job->provenance));
    result = (hg_map_result){.source = &job->source,
                             .prompt = &job->prompt,
                             .provenance = &job->provenance,
                             .maps = &job->maps,
                             .session = job->evaluation.session,
                             .format = job->format,
                             .scale = job->scale};
    HG_TRY(job->format == HG_MAP_JSON ? hg_map_result_json(&result, job->output)
                                      : hg_map_result_draw(app, &result, job->output));
    HG_TRY(hg_interrupt_check());
    HG_TRY(hg_output_commit(&job->output));
    if (strcmp(job->target, "-") != 0)
        hg_message_note("wrote %s", job->target);
    if (job->format != HG_MAP_JSON && job->scale == HG_FIGURE_LINEAR &&
        job->maps.tokens > HG_MAP_LINEAR_TOKENS_MAX)
        hg_message_note("%u tokens: most probabilities are near 0; --scale log shows them",
                        job->maps.tokens);
out:
    return res;
}

static int run(hg_app *app)
{
    map_job *job;
    hg_result res;
    int code;

    if (hg_args_count(app->args, HG_OPTION_PROMPTS))
        return hg_map_prompts(app);
    job = calloc(1, sizeof(*job));
    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
    hg_maps_free(&job->maps);
    hg_weights_digest_free(&job->digest);
    hg_evaluation_free(&job->evaluation);
    if (code == 0 && hg_machine_complained(&job->machine))
        code = 1;
    hg_machine_close(&job->machine);
    hg_prompt_free(&job->prompt);
    hg_source_close(&job->source);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT,        HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,      HG_OPTION_PROMPTS,
    HG_OPTION_NO_SPECIAL,    HG_OPTION_LAYERS,      HG_OPTION_HEADS,    HG_OPTION_OUTPUT_MAP,
    HG_OPTION_FORMAT_FIGURE, HG_OPTION_SCALE,       HG_OPTION_JSON,     HG_OPTION_DEVICE,
    HG_OPTION_PRECISION,     HG_OPTION_EXACT,       HG_OPTION_LIMITS,   HG_OPTION_REPACK,
    HG_OPTION_TUNE,          HG_OPTION_THREADS,     HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_map = {
    .name = "map",
    .operands = "MODEL",
    .summary = "draw what the heads look at for a prompt: PNG, SVG, PDF or JSON",
    .about = "Draws attention maps: rows are queries, columns are keys, one panel per layer and "
             "head. Above each panel "
             "stand the share of attention on the first token and what uniform attention would "
             "give; beside it, for a "
             "gated model, the mean gate of each query. The file says which weights, device and "
             "command made it. "
             "Without -o: MODEL_selected_layer_attention_maps.png in the current folder.\n\n"
             "With --prompts each prompt has a file of its own, NAME.png in the folder "
             "MODEL_attention_maps or that of -o, by its name in the list or its number; --json "
             "without -o writes one object with all of them.",
    .examples =
        "headgate map MODEL --prompt 'Sparse gating mechanism mitigates attention sink.'\n"
        "headgate map owner/name:1B_gate_headwise --prompt-file text.txt --layers all -o maps.pdf\n"
        "headgate map MODEL --ids 1,2,3 --heads 3,5 --layers 1 -o - --format svg >map.svg\n"
        "headgate map MODEL --prompts list.jsonl -o 'maps/{number}-{name}.svg'\n"
        "headgate map MODEL --prompt 'A text' --json | jq '.maps[].first_token_share'",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
