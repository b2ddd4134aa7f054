/* SPDX-License-Identifier: MIT */
/* headgate map: attention maps of one prompt as a figure or as JSON. */
#include "commands.h"

#include "interrupt.h"
#include "message.h"
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_PNG = HG_FIGURE_PNG, FORMAT_SVG, FORMAT_PDF, FORMAT_JSON, FORMAT_COUNT };
enum { BAND_FLOATS = 1 << 20, PANELS_MAX = 8, TEXT_SIZE = 2048, SHOWN_SIZE = 400 };
/* From this length on nearly every cell of a linear map is dark. */
enum { LINEAR_TOKENS_MAX = 96 };

static const char *const format_names[FORMAT_COUNT] = {"png", "svg", "pdf", "json"};

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

static int ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a > b && strcmp(text + a - b, end) == 0;
}

/* --format, --json and the end of the file's name must not contradict each other. */
static hg_result choose_format(const hg_args *args, const char *target, uint32_t *format)
{
    const char *named = hg_args_value(args, HG_OPTION_FORMAT_FIGURE);
    hg_figure_format figure = HG_FIGURE_PNG;
    uint32_t by_name = FORMAT_COUNT, by_option = FORMAT_COUNT;
    hg_result res;

    if (target && hg_figure_format_of(target, &figure) == HG_OK)
        by_name = (uint32_t)figure;
    else if (target && (ends_with(target, ".json") || ends_with(target, ".JSON")))
        by_name = FORMAT_JSON;
    res = hg_args_choice(args, HG_OPTION_FORMAT_FIGURE, format_names, FORMAT_COUNT, &by_option);
    if (res != HG_OK)
        return res;
    if (hg_args_count(args, HG_OPTION_JSON)) {
        if (named && by_option != FORMAT_JSON)
            return hg_message_fail(HG_ERR_ARGUMENT, "--json and --format %s contradict each other",
                                   named);
        by_option = FORMAT_JSON;
    }
    if (by_option < FORMAT_COUNT && by_name < FORMAT_COUNT && by_option != by_name)
        return hg_message_fail(HG_ERR_ARGUMENT, "-o %s and the format %s contradict each other",
                               target, format_names[by_option]);
    *format = by_option < FORMAT_COUNT ? by_option : by_name;
    if (*format < FORMAT_COUNT)
        return HG_OK;
    if (target)
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "-o %s: which format? End the name in .png, .svg, .pdf or .json, or use "
            "--format",
            target);
    *format = FORMAT_PNG;
    return HG_OK;
}

static hg_result open_output(hg_app *app, map_job *job)
{
    const char *target = hg_args_value(app->args, HG_OPTION_OUTPUT);

    if (!target && job->format == FORMAT_JSON && hg_args_count(app->args, HG_OPTION_JSON)) {
        target = "-"; /* --json alone means standard output, as in every command */
    } else if (!target) {
        snprintf(job->default_target, sizeof(job->default_target),
                 "%s_selected_layer_attention_maps.%s", job->source.name,
                 format_names[job->format]);
        target = job->default_target;
    }
    job->target = target;
    if (strcmp(target, "-") == 0 && (job->format == FORMAT_PNG || job->format == FORMAT_PDF) &&
        isatty(STDOUT_FILENO))
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "-o -: a terminal cannot show a %s; send standard output to a file or a "
            "program",
            format_names[job->format]);
    if (hg_source_spare(&job->source, hg_args_value(app->args, HG_OPTION_PROMPT_FILE), target) !=
        HG_OK)
        return HG_ERR_ARGUMENT;
    return hg_output_open(target, &job->output);
}

static hg_result read_options(hg_app *app, map_job *job)
{
    static const char *const scales[] = {"linear", "log"};
    const char *target = hg_args_value(app->args, HG_OPTION_OUTPUT);
    hg_result res;

    res =
        choose_format(app->args, target && strcmp(target, "-") == 0 ? NULL : target, &job->format);
    if (res != HG_OK)
        return res;
    job->scale = HG_FIGURE_LINEAR;
    return hg_args_choice(app->args, HG_OPTION_SCALE, scales, 2, &job->scale);
}

/* One row per layer where there are several layers and several heads; else near a square, which the
 * figure chooses by itself for a few panels. */
static uint32_t choose_columns(const hg_maps *maps, hg_figure_layout layout)
{
    const uint32_t count = maps->layers.count * maps->heads.count;
    uint32_t columns = 0;

    if (maps->heads.count > 1 && maps->layers.count > 1)
        return maps->heads.count;
    while (layout == HG_FIGURE_GRID && columns * columns < count)
        columns++;
    return columns;
}

/* What a reader has to know before reading the maps. */
static void write_subtitle(const map_job *job, int terse, char *text, size_t bytes)
{
    const hg_maps *maps = &job->maps;
    size_t length = 0;

    text[0] = '\0';
    if (terse)
        length += (size_t)snprintf(
            text, bytes, "Beside each name: first-token share (uniform %.3f). ", maps->uniform[0]);
    if (maps->pool > 1 && length < bytes)
        length += (size_t)snprintf(text + length, bytes - length,
                                   "%u tokens; each cell is the largest of %u x %u. ", maps->tokens,
                                   maps->pool, maps->pool);
    if (job->source.info.max_positions && maps->tokens > job->source.info.max_positions &&
        length < bytes)
        snprintf(text + length, bytes - length,
                 "%u tokens, but the model was made for %u: positions beyond that are untrained.",
                 maps->tokens, job->source.info.max_positions);
}

/* Layout of the panels: a few with their own axes, many as small multiples. */
static hg_result draw(hg_app *app, map_job *job)
{
    uint32_t count = job->maps.layers.count * job->maps.heads.count;
    hg_figure_panel *panels = calloc(count, sizeof(*panels));
    hg_panel_text *texts = calloc(count, sizeof(*texts));
    char title[HG_NAME_SIZE + 64], subtitle[256], footer[TEXT_SIZE], shown[SHOWN_SIZE];
    hg_picture picture = {.provenance = &job->provenance, .panels = panels, .panel_count = count};
    hg_figure *figure = NULL;
    hg_result res = HG_OK;

    if (!panels || !texts) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    picture.layout = count <= PANELS_MAX ? HG_FIGURE_PANELS : HG_FIGURE_GRID;
    picture.columns = choose_columns(&job->maps, picture.layout);
    hg_maps_panels(&job->maps, job->prompt.labels, picture.layout == HG_FIGURE_GRID, panels, texts);
    snprintf(title, sizeof(title), "%s: attention probabilities%s", job->source.name,
             job->maps.heads.heads ? "" : ", mean over heads");
    write_subtitle(job, picture.layout == HG_FIGURE_GRID, subtitle, sizeof(subtitle));
    hg_prompt_show(&job->prompt, shown, sizeof(shown));
    snprintf(footer, sizeof(footer), "prompt: %s\n", shown);
    hg_provenance_footer(&job->provenance, footer + strlen(footer),
                         sizeof(footer) - strlen(footer));
    picture.title = title;
    picture.subtitle = *subtitle ? subtitle : NULL;
    picture.footer = footer;
    picture.scale = (hg_figure_scale)job->scale;
    HG_TRY(hg_picture_create(app, &picture, &figure));
    HG_TRY(hg_picture_write(figure, (hg_figure_format)job->format, job->output));
out:
    hg_figure_destroy(&figure);
    free(texts);
    free(panels);
    return res;
}

/* A map as rows, read in bands so that a long prompt needs no square of memory. */
static hg_result put_cells(map_job *job, hg_put *put, uint32_t layer, uint32_t map, float *band)
{
    uint32_t tokens = job->maps.tokens, rows = BAND_FLOATS / tokens;
    hg_result res = HG_OK;

    if (rows == 0)
        rows = 1;
    hg_put_array(put, "map");
    for (uint32_t first = 0; first < tokens && res == HG_OK; first += rows) {
        uint32_t count = tokens - first < rows ? tokens - first : rows;

        res = hg_maps_rows(job->evaluation.session, &job->maps, layer, map, first, count, band);
        for (uint32_t row = 0; row < count && res == HG_OK; row++)
            hg_put_floats(put, NULL, band + (size_t)row * tokens, tokens);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    hg_put_end(put);
    return res;
}

static hg_result put_map(map_job *job, hg_put *put, uint32_t layer, uint32_t map, float *band)
{
    const hg_maps *maps = &job->maps;
    const double *shares = hg_maps_shares(maps, layer, map);
    hg_result res;

    hg_put_object(put, NULL);
    hg_put_unsigned(put, "layer", maps->layers.layers[layer] + 1);
    if (maps->heads.heads)
        hg_put_unsigned(put, "head", maps->heads.heads[map] + 1);
    else
        hg_put_text(put, "head", "mean");
    hg_put_number(put, "first_token_share", shares[0]);
    hg_put_number(put, "first_token_share_later", shares[1]);
    if (maps->gates)
        hg_put_floats(put, "gate", hg_maps_gate(maps, layer, map), maps->tokens);
    else
        hg_put_null(put, "gate");
    res = put_cells(job, put, layer, map, band);
    hg_put_end(put);
    return res;
}

static void put_prompt(const map_job *job, hg_put *put)
{
    const hg_prompt *prompt = &job->prompt;

    if (prompt->text)
        hg_put_bytes(put, "text", prompt->text, prompt->bytes);
    else
        hg_put_null(put, "text");
    hg_put_ids(put, "ids", prompt->ids, prompt->count);
    hg_put_row(put, "tokens");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL,
                    job->source.tokenizer
                        ? hg_tokenizer_token(job->source.tokenizer, prompt->ids[i])
                        : NULL);
    hg_put_end(put);
    hg_put_row(put, "labels");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL, prompt->labels->text[i]);
    hg_put_end(put);
}

static hg_result write_json(map_job *job)
{
    const hg_maps *maps = &job->maps;
    size_t band_floats = maps->tokens > BAND_FLOATS ? maps->tokens : BAND_FLOATS;
    float *band = malloc(band_floats * sizeof(*band));
    hg_result res = HG_OK;
    hg_put put;

    if (!band)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    hg_put_start(&put, job->output, "map");
    hg_put_text(&put, "model", job->source.name);
    hg_put_text(&put, "gate", hg_gate_name(job->source.info.gate));
    put_prompt(job, &put);
    hg_put_number(&put, "uniform_share", maps->uniform[0]);
    hg_put_number(&put, "uniform_share_later", maps->uniform[1]);
    hg_put_row(&put, "layers");
    for (uint32_t i = 0; i < maps->layers.count; i++)
        hg_put_unsigned(&put, NULL, maps->layers.layers[i] + 1);
    hg_put_end(&put);
    hg_put_array(&put, "maps");
    for (uint32_t layer = 0; layer < maps->layers.count && res == HG_OK; layer++) {
        for (uint32_t map = 0; map < maps->heads.count && res == HG_OK; map++)
            res = put_map(job, &put, layer, map, band);
    }
    hg_put_end(&put);
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
    free(band);
    return res;
}

static hg_result make(hg_app *app, map_job *job)
{
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES};
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
    job->maps.keep_cells = job->format != FORMAT_JSON;
    job->maps.pool =
        job->maps.keep_cells
            ? hg_maps_pool(job->prompt.count, job->maps.layers.count * job->maps.heads.count)
            : 1;
    HG_TRY(hg_maps_read(app, &job->source, job->evaluation.session, &job->maps));
    HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, &job->prompt, job->digest,
                              &job->provenance));
    HG_TRY(job->format == FORMAT_JSON ? write_json(job) : draw(app, job));
    HG_TRY(hg_interrupt_check());
    HG_TRY(hg_output_commit(&job->output));
    if (strcmp(job->target, "-") != 0)
        hg_message_note("wrote %s", job->target);
    if (job->format != FORMAT_JSON && job->scale == HG_FIGURE_LINEAR &&
        job->maps.tokens > LINEAR_TOKENS_MAX)
        hg_message_note("%u tokens: most probabilities are near 0; --scale log shows them",
                        job->maps.tokens);
out:
    return res;
}

static int run(hg_app *app)
{
    map_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

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
    HG_OPTION_PROMPT, HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,     HG_OPTION_NO_SPECIAL,
    HG_OPTION_LAYERS, HG_OPTION_HEADS,       HG_OPTION_OUTPUT,  HG_OPTION_FORMAT_FIGURE,
    HG_OPTION_SCALE,  HG_OPTION_JSON,        HG_OPTION_DEVICE,  HG_OPTION_PRECISION,
    HG_OPTION_EXACT,  HG_OPTION_LIMITS,      HG_OPTION_THREADS, HG_OPTION_VALIDATE,
    HG_OPTION_END,
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
             "Without -o: MODEL_selected_layer_attention_maps.png in the current folder.",
    .examples =
        "headgate map MODEL --prompt 'Sparse gating mechanism mitigates attention sink.'\n"
        "headgate map owner/name:1B_gate_headwise --prompt-file text.txt --layers all -o maps.pdf\n"
        "headgate map MODEL --ids 1,2,3 --heads 3,5 --layers 1 -o - --format svg >map.svg\n"
        "headgate map MODEL --prompt 'A text' --json | jq '.maps[].first_token_share'",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
