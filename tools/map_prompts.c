/* SPDX-License-Identifier: MIT */
/* Many prompts in passes, drawn one after the other; every file is there whole or not at all. */
#include "map_prompts.h"

#include "file_names.h"
#include "interrupt.h"
#include "map_result.h"
#include "message.h"
#include "passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maps of a pass are read together up to here; larger ones one prompt at a time. */
static const uint64_t kept_bytes_max = UINT64_C(256) << 20;

typedef struct prompts_job {
    hg_source source;
    hg_prompts prompts;
    hg_machine machine;
    hg_passes passes;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_maps choice; /* layers and heads */
    hg_maps *maps;  /* [of the pass] */
    hg_file_names names;
    hg_output *output;
    hg_put put; /* of the one object on standard output */
    int listed; /* one object for all */
    uint32_t format, scale, drawn;
} prompts_job;

static hg_result choose_format(hg_app *app, prompts_job *job, const char *target)
{
    static const char *const scales[] = {"linear", "log"};
    const int standard = target && strcmp(target, "-") == 0;
    hg_result res;

    job->scale = HG_FIGURE_LINEAR;
    res = hg_args_choice(app->args, HG_OPTION_SCALE, scales, 2, &job->scale);
    if (res != HG_OK)
        return res;
    res = hg_map_format_choose(
        app->args, target && hg_file_names_are_pattern(target) ? target : NULL, &job->format);
    if (res != HG_OK)
        return res;
    job->listed = job->format == HG_MAP_JSON &&
                  (standard || (!target && hg_args_count(app->args, HG_OPTION_JSON) > 0));
    if (standard && !job->listed)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "-o - with --prompts: standard output takes JSON alone (--json); "
                               "pictures need a folder");
    return HG_OK;
}

/* Names of all files, checked before any work. */
static hg_result choose_names(hg_app *app, prompts_job *job, const char *target)
{
    char folder[HG_NAME_SIZE + 64], path[HG_PATH_SIZE];
    hg_result res = HG_OK;

    snprintf(folder, sizeof(folder), "%s_attention_maps", job->source.name);
    HG_TRY(hg_file_names_choose(target ? target : folder, hg_map_format_names[job->format],
                                &job->prompts, &job->names));
    HG_TRY(hg_file_names_check(&job->names, &job->prompts));
    for (uint32_t i = 0; i < job->prompts.count && res == HG_OK; i++) {
        hg_file_names_at(&job->names, &job->prompts, i, path);
        res = hg_source_spare(&job->source, hg_args_value(app->args, HG_OPTION_PROMPTS), path);
    }
    HG_TRY(res);
    if (*job->names.folder)
        HG_TRY(hg_output_make_folder(job->names.folder));
    /* The first file is opened before the work: a folder that cannot be written is told now. */
    hg_file_names_at(&job->names, &job->prompts, 0, path);
    HG_TRY(hg_output_open(path, &job->output));
out:
    return res;
}

static hg_result open_output(hg_app *app, prompts_job *job, const char *target)
{
    hg_result res;

    if (!job->listed)
        return choose_names(app, job, target);
    /* In memory first: standard output gets all of it or nothing. */
    res = hg_output_open_memory(&job->output);
    if (res != HG_OK)
        return res;
    hg_put_start(&job->put, job->output, "map");
    hg_put_text(&job->put, "model", job->source.name);
    hg_put_text(&job->put, "gate", hg_gate_name(job->source.info.gate));
    hg_map_layers_put(&job->choice, &job->put);
    hg_put_array(&job->put, "prompts");
    return HG_OK;
}

static hg_result write_listed(prompts_job *job, const hg_map_result *result, uint32_t index)
{
    const hg_prompts_row *row = &job->prompts.rows[index];
    hg_result res;

    hg_put_object(&job->put, NULL);
    hg_put_unsigned(&job->put, "number", index + 1);
    hg_put_unsigned(&job->put, "line", row->line);
    hg_put_text(&job->put, "name", row->named ? row->name : NULL);
    res = hg_map_result_put(result, 1, &job->put);
    hg_put_end(&job->put);
    return res;
}

static hg_result write_file(hg_app *app, prompts_job *job, const hg_map_result *result,
                            uint32_t index)
{
    char path[HG_PATH_SIZE];
    hg_result res = HG_OK;

    hg_file_names_at(&job->names, &job->prompts, index, path);
    if (!job->output)
        HG_TRY(hg_output_open(path, &job->output));
    HG_TRY(job->format == HG_MAP_JSON ? hg_map_result_json(result, job->output)
                                      : hg_map_result_draw(app, result, job->output));
    HG_TRY(hg_interrupt_check());
    HG_TRY(hg_output_commit(&job->output));
    job->drawn++;
out:
    return res;
}

static hg_result write_prompt(hg_app *app, prompts_job *job, uint32_t index, const hg_maps *maps)
{
    hg_prompts_row *row = &job->prompts.rows[index];
    const hg_map_result result = {.source = &job->source,
                                  .prompt = &row->prompt,
                                  .provenance = &job->provenance,
                                  .maps = maps,
                                  .session = job->passes.evaluation.session,
                                  .name = row->name,
                                  .format = job->format,
                                  .scale = job->scale};
    hg_result res;

    hg_meter_step(&app->meter, job->format == HG_MAP_JSON ? "writing" : "drawing", index,
                  job->prompts.count);
    job->provenance.text = row->prompt.text;
    HG_TRY(hg_labels_create(job->source.tokenizer, row->prompt.ids, row->prompt.count,
                            &row->prompt.labels));
    HG_TRY(job->listed ? write_listed(job, &result, index) : write_file(app, job, &result, index));
    HG_TRY(hg_interrupt_check());
out:
    hg_labels_free(&row->prompt.labels);
    return res;
}

/* Whether the cells of all prompts of the pass may be kept at once, none of them pooled. */
static int small_pass(const prompts_job *job)
{
    const uint32_t map_count = job->choice.layers.count * job->choice.heads.count;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < job->passes.count; i++) {
        const uint32_t tokens = job->prompts.rows[job->passes.first + i].prompt.count;

        bytes += hg_maps_bytes(&job->choice, tokens);
        if (bytes > kept_bytes_max || hg_maps_pool(tokens, map_count) > 1)
            return 0;
    }
    return 1;
}

static hg_result write_small(hg_app *app, prompts_job *job)
{
    const hg_passes *p = &job->passes;
    hg_result res = HG_OK;

    job->maps = calloc(p->count, sizeof(*job->maps));
    if (!job->maps)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    job->maps[0] = job->choice;
    job->maps[0].keep_cells = 1;
    job->maps[0].pool = 1;
    HG_TRY(hg_maps_read_batch(app, &job->source, p->evaluation.session, job->maps));
    for (uint32_t i = 0; i < p->count && res == HG_OK; i++)
        res = write_prompt(app, job, p->first + i, &job->maps[i]);
out:
    for (uint32_t i = 0; i < p->count; i++)
        hg_maps_clear(&job->maps[i]);
    free(job->maps);
    job->maps = NULL;
    return res;
}

static hg_result write_large(hg_app *app, prompts_job *job)
{
    const hg_passes *p = &job->passes;
    const uint32_t map_count = job->choice.layers.count * job->choice.heads.count;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < p->count && res == HG_OK; i++) {
        const uint32_t tokens = job->prompts.rows[p->first + i].prompt.count;
        hg_maps maps = job->choice;

        maps.keep_cells = job->format != HG_MAP_JSON;
        maps.pool = maps.keep_cells ? hg_maps_pool(tokens, map_count) : 1;
        res = hg_batch_select(p->evaluation.session, i);
        if (res == HG_OK)
            res = hg_maps_read(app, &job->source, p->evaluation.session, &maps);
        if (res == HG_OK)
            res = write_prompt(app, job, p->first + i, &maps);
        hg_maps_clear(&maps);
    }
    return res;
}

/* The object is complete: now it may be seen. */
static hg_result finish_listed(prompts_job *job)
{
    hg_output *standard = NULL;
    char *text = NULL;
    size_t bytes = 0;
    hg_result res;

    hg_put_end(&job->put);
    hg_provenance_put(&job->provenance, &job->put);
    hg_put_finish(&job->put);
    HG_TRY(hg_output_take(&job->output, &text, &bytes));
    HG_TRY(hg_output_open("-", &standard));
    HG_TRY(hg_output_write(standard, text, bytes));
    HG_TRY(hg_output_commit(&standard));
out:
    hg_output_discard(&standard);
    free(text);
    return res;
}

static void report(const prompts_job *job)
{
    if (job->drawn)
        hg_message_note("wrote %u %s into %s", job->drawn, job->drawn == 1 ? "file" : "files",
                        *job->names.folder ? job->names.folder : "the current folder");
    if (job->drawn && job->format != HG_MAP_JSON && job->scale == HG_FIGURE_LINEAR &&
        job->prompts.longest > HG_MAP_LINEAR_TOKENS_MAX)
        hg_message_note("up to %u tokens: most probabilities are near 0; --scale log shows them",
                        job->prompts.longest);
}

static hg_result make(hg_app *app, prompts_job *job)
{
    const char *target = hg_args_value(app->args, HG_OPTION_OUTPUT_MAP);
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES};
    hg_result res;

    HG_TRY(choose_format(app, job, target));
    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(hg_layers_choose(app->args, &job->source.info, 1, &job->choice.layers));
    HG_TRY(hg_heads_choose(app->args, &job->source.info, &job->choice.heads));
    HG_TRY(hg_prompts_read(app, &job->source, &job->prompts));
    HG_TRY(open_output(app, job, target));
    HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    wish.layers = job->choice.layers.layers;
    wish.layer_count = job->choice.layers.count;
    HG_TRY(hg_passes_open(app, &job->machine, &job->source, &job->prompts, &wish, &job->passes));
    HG_TRY(
        hg_provenance_fill(app, &job->source, &job->machine, NULL, job->digest, &job->provenance));
    for (;;) {
        HG_TRY(hg_passes_next(&job->passes));
        if (job->passes.count == 0)
            break;
        HG_TRY(small_pass(job) ? write_small(app, job) : write_large(app, job));
    }
    hg_meter_stop(&app->meter);
    if (job->listed)
        HG_TRY(finish_listed(job));
out:
    hg_meter_stop(&app->meter);
    report(job);
    return res;
}

int hg_map_prompts(hg_app *app)
{
    prompts_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
    hg_weights_digest_free(&job->digest);
    hg_passes_free(&job->passes);
    if (code == 0 && hg_machine_complained(&job->machine))
        code = 1;
    hg_machine_close(&job->machine);
    hg_maps_free(&job->choice);
    hg_prompts_free(&job->prompts);
    hg_source_close(&job->source);
    free(job);
    return code;
}
