/* SPDX-License-Identifier: MIT */
/* See map_result.h. */
#include "map_result.h"

#include "interrupt.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAND_FLOATS = 1 << 20, PANELS_MAX = 8, TEXT_SIZE = 2048, SHOWN_SIZE = 400 };

const char *const hg_map_format_names[HG_MAP_FORMATS] = {"png", "svg", "pdf", "json"};

static int ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a > b && strcmp(text + a - b, end) == 0;
}

hg_result hg_map_format_choose(const hg_args *args, const char *target, uint32_t *format)
{
    const char *named = hg_args_value(args, HG_OPTION_FORMAT_FIGURE);
    hg_figure_format figure = HG_FIGURE_PNG;
    uint32_t by_name = HG_MAP_FORMATS, by_option = HG_MAP_FORMATS;
    hg_result res;

    if (target && hg_figure_format_of(target, &figure) == HG_OK)
        by_name = (uint32_t)figure;
    else if (target && (ends_with(target, ".json") || ends_with(target, ".JSON")))
        by_name = HG_MAP_JSON;
    res = hg_args_choice(args, HG_OPTION_FORMAT_FIGURE, hg_map_format_names, HG_MAP_FORMATS,
                         &by_option);
    if (res != HG_OK)
        return res;
    if (hg_args_count(args, HG_OPTION_JSON)) {
        if (named && by_option != HG_MAP_JSON)
            return hg_message_fail(HG_ERR_ARGUMENT, "--json and --format %s contradict each other",
                                   named);
        by_option = HG_MAP_JSON;
    }
    if (by_option < HG_MAP_FORMATS && by_name < HG_MAP_FORMATS && by_option != by_name)
        return hg_message_fail(HG_ERR_ARGUMENT, "-o %s and the format %s contradict each other",
                               target, hg_map_format_names[by_option]);
    *format = by_option < HG_MAP_FORMATS ? by_option : by_name;
    if (*format < HG_MAP_FORMATS)
        return HG_OK;
    if (target)
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "-o %s: which format? End the name in .png, .svg, .pdf or .json, or use "
            "--format",
            target);
    *format = HG_MAP_PNG;
    return HG_OK;
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
static void write_subtitle(const hg_map_result *result, int terse, char *text, size_t bytes)
{
    const hg_maps *maps = result->maps;
    size_t length = 0;

    text[0] = '\0';
    if (terse)
        length += (size_t)snprintf(
            text, bytes, "Beside each name: first-token share (uniform %.3f). ", maps->uniform[0]);
    if (maps->pool > 1 && length < bytes)
        length += (size_t)snprintf(text + length, bytes - length,
                                   "%u tokens; each cell is the largest of %u x %u. ", maps->tokens,
                                   maps->pool, maps->pool);
    if (result->source->info.max_positions && maps->tokens > result->source->info.max_positions &&
        length < bytes)
        snprintf(text + length, bytes - length,
                 "%u tokens, but the model was made for %u: positions beyond that are untrained.",
                 maps->tokens, result->source->info.max_positions);
}

/* Layout of the panels: a few with their own axes, many as small multiples. */
hg_result hg_map_result_draw(hg_app *app, const hg_map_result *result, hg_output *output)
{
    uint32_t count = result->maps->layers.count * result->maps->heads.count;
    hg_figure_panel *panels = calloc(count, sizeof(*panels));
    hg_panel_text *texts = calloc(count, sizeof(*texts));
    char title[HG_NAME_SIZE + 64], subtitle[256], footer[TEXT_SIZE], shown[SHOWN_SIZE];
    hg_picture picture = {.provenance = result->provenance, .panels = panels, .panel_count = count};
    hg_figure *figure = NULL;
    hg_result res = HG_OK;

    if (!panels || !texts) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    picture.layout = count <= PANELS_MAX ? HG_FIGURE_PANELS : HG_FIGURE_GRID;
    picture.columns = choose_columns(result->maps, picture.layout);
    hg_maps_panels(result->maps, result->prompt->labels, picture.layout == HG_FIGURE_GRID, panels,
                   texts);
    snprintf(title, sizeof(title), "%s: attention probabilities%s", result->source->name,
             result->maps->heads.heads ? "" : ", mean over heads");
    write_subtitle(result, picture.layout == HG_FIGURE_GRID, subtitle, sizeof(subtitle));
    hg_prompt_show(result->prompt, shown, sizeof(shown));
    snprintf(footer, sizeof(footer), "prompt: %s\n", shown);
    hg_provenance_footer(result->provenance, footer + strlen(footer),
                         sizeof(footer) - strlen(footer));
    picture.title = title;
    picture.subtitle = *subtitle ? subtitle : NULL;
    picture.footer = footer;
    picture.scale = (hg_figure_scale)result->scale;
    HG_TRY(hg_picture_create(app, &picture, &figure));
    HG_TRY(hg_picture_write(figure, (hg_figure_format)result->format, output));
out:
    hg_figure_destroy(&figure);
    free(texts);
    free(panels);
    return res;
}

/* A map as rows, read in bands so that a long prompt needs no square of memory. */
static hg_result put_cells(const hg_map_result *result, hg_put *put, uint32_t layer, uint32_t map,
                           float *band)
{
    const float *kept = result->maps->cells ? hg_maps_cells(result->maps, layer, map) : NULL;
    uint32_t tokens = result->maps->tokens, rows = BAND_FLOATS / tokens;
    hg_result res = HG_OK;

    if (rows == 0)
        rows = 1;
    hg_put_array(put, "map");
    for (uint32_t first = 0; first < tokens && res == HG_OK; first += rows) {
        uint32_t count = tokens - first < rows ? tokens - first : rows;
        const float *from = kept ? kept + (size_t)first * tokens : band;

        if (!kept)
            res = hg_maps_rows(result->session, result->maps, layer, map, first, count, band);
        for (uint32_t row = 0; row < count && res == HG_OK; row++)
            hg_put_floats(put, NULL, from + (size_t)row * tokens, tokens);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    hg_put_end(put);
    return res;
}

static hg_result put_map(const hg_map_result *result, hg_put *put, uint32_t layer, uint32_t map,
                         float *band)
{
    const hg_maps *maps = result->maps;
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
    res = put_cells(result, put, layer, map, band);
    hg_put_end(put);
    return res;
}

static void put_prompt(const hg_map_result *result, hg_put *put)
{
    const hg_prompt *prompt = result->prompt;

    if (prompt->text)
        hg_put_bytes(put, "text", prompt->text, prompt->bytes);
    else
        hg_put_null(put, "text");
    hg_put_ids(put, "ids", prompt->ids, prompt->count);
    hg_put_row(put, "tokens");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL,
                    result->source->tokenizer
                        ? hg_tokenizer_token(result->source->tokenizer, prompt->ids[i])
                        : NULL);
    hg_put_end(put);
    hg_put_row(put, "labels");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL, prompt->labels->text[i]);
    hg_put_end(put);
}

void hg_map_layers_put(const hg_maps *maps, hg_put *put)
{
    hg_put_row(put, "layers");
    for (uint32_t i = 0; i < maps->layers.count; i++)
        hg_put_unsigned(put, NULL, maps->layers.layers[i] + 1);
    hg_put_end(put);
}

hg_result hg_map_result_put(const hg_map_result *result, int listed, hg_put *put)
{
    const hg_maps *maps = result->maps;
    size_t band_floats = maps->tokens > BAND_FLOATS ? maps->tokens : BAND_FLOATS;
    float *band = malloc(band_floats * sizeof(*band));
    hg_result res = HG_OK;

    if (!band)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    put_prompt(result, put);
    hg_put_number(put, "uniform_share", maps->uniform[0]);
    hg_put_number(put, "uniform_share_later", maps->uniform[1]);
    if (!listed)
        hg_map_layers_put(maps, put);
    hg_put_array(put, "maps");
    for (uint32_t layer = 0; layer < maps->layers.count && res == HG_OK; layer++) {
        for (uint32_t map = 0; map < maps->heads.count && res == HG_OK; map++)
            res = put_map(result, put, layer, map, band);
    }
    hg_put_end(put);
    free(band);
    return res;
}

hg_result hg_map_result_json(const hg_map_result *result, hg_output *output)
{
    hg_result res;
    hg_put put;

    hg_put_start(&put, output, "map");
    hg_put_text(&put, "model", result->source->name);
    hg_put_text(&put, "gate", hg_gate_name(result->source->info.gate));
    if (result->name)
        hg_put_text(&put, "name", result->name);
    res = hg_map_result_put(result, 0, &put);
    hg_provenance_put(result->provenance, &put);
    hg_put_finish(&put);
    return res;
}
