/* SPDX-License-Identifier: MIT */
/* Reading maps from a session. Leaves drawing to figure.h. */
#include "maps.h"

#include "interrupt.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double hg_null_share(uint32_t window, uint32_t tokens, int later)
{
    uint32_t seeing = window > 0 && window < tokens ? window : tokens; /* queries that see key 0 */

    if (!later)
        return hg_uniform_share(seeing, 0) * seeing / tokens;
    if (tokens < 2 || seeing < 2)
        return tokens < 2 ? (double)NAN : 0;
    return hg_uniform_share(seeing, 1) * (seeing - 1) / (tokens - 1);
}

uint32_t hg_maps_pool(uint32_t tokens, uint32_t map_count)
{
    uint32_t rows = map_count <= 4 ? 1024 : map_count <= 16 ? 512 : 256;

    return (tokens + rows - 1) / rows;
}

static size_t map_index(const hg_maps *maps, uint32_t layer, uint32_t map)
{
    return (size_t)layer * maps->heads.count + map;
}

const float *hg_maps_cells(const hg_maps *maps, uint32_t layer, uint32_t map)
{
    return maps->cells + map_index(maps, layer, map) * maps->rows * maps->rows;
}

const float *hg_maps_gate(const hg_maps *maps, uint32_t layer, uint32_t map)
{
    return maps->gates ? maps->gates + map_index(maps, layer, map) * maps->rows : NULL;
}

const double *hg_maps_shares(const hg_maps *maps, uint32_t layer, uint32_t map)
{
    return maps->shares + map_index(maps, layer, map) * 2;
}

/* One call for neighbouring heads would save little: a map is far larger than a call. */
static void point_at(const hg_maps *maps, uint32_t layer, uint32_t map, hg_map_params *params)
{
    memset(params, 0, sizeof(*params));
    params->struct_size = sizeof(*params);
    params->layer = maps->layers.layers[layer];
    params->head_first = maps->heads.heads ? maps->heads.heads[map] : 0;
    params->head_count = maps->heads.heads ? 1 : 0;
    params->head_mean = maps->heads.heads ? 0 : 1;
}

static hg_result read_cells(hg_session *session, const hg_maps *maps, uint32_t layer, uint32_t map)
{
    hg_map_params params;

    point_at(maps, layer, map, &params);
    params.pool_queries = params.pool_keys = maps->pool;
    params.pool = HG_POOL_MAX;
    return hg_capture_map(session, &params,
                          maps->cells + map_index(maps, layer, map) * maps->rows * maps->rows);
}

hg_result hg_maps_rows(hg_session *session, const hg_maps *maps, uint32_t layer, uint32_t map,
                       uint32_t first, uint32_t count, float *out)
{
    hg_map_params params;

    point_at(maps, layer, map, &params);
    params.query_first = first;
    params.query_count = count;
    return hg_capture_map(session, &params, out);
}

/* gates: [tokens, heads, gate_dim] of a layer. Means over the dims, over the heads of the map, over
 * a cell's tokens. */
static void average_gates(const hg_maps *maps, const hg_model_info *info, const float *gates,
                          uint32_t map, float *out)
{
    uint32_t first = maps->heads.heads ? maps->heads.heads[map] : 0;
    uint32_t count = maps->heads.heads ? 1 : info->heads;
    size_t token_size = (size_t)info->heads * info->gate_dim;

    for (uint32_t row = 0; row < maps->rows; row++) {
        uint64_t begin = (uint64_t)row * maps->pool, end = begin + maps->pool;
        double sum = 0;

        if (end > maps->tokens)
            end = maps->tokens;
        for (uint64_t t = begin; t < end; t++) {
            const float *values = gates + t * token_size + (size_t)first * info->gate_dim;

            for (size_t i = 0; i < (size_t)count * info->gate_dim; i++)
                sum += (double)values[i];
        }
        out[row] = (float)(sum / ((double)(end - begin) * count * info->gate_dim));
    }
}

/* What the measures of a layer and its gates ([tokens, heads, gate_dim] or NULL) say about its
 * maps.
 */
static void take_layer(const hg_source *source, hg_maps *maps, uint32_t layer,
                       const hg_layer_metrics *metrics, const double *head_shares,
                       const float *gates)
{
    for (uint32_t map = 0; map < maps->heads.count; map++) {
        double *shares = maps->shares + map_index(maps, layer, map) * 2;

        if (maps->heads.heads) {
            shares[0] = head_shares[maps->heads.heads[map]];
            shares[1] = head_shares[source->info.heads + maps->heads.heads[map]];
        } else {
            shares[0] = metrics->first_token_share;
            shares[1] = metrics->first_token_share_later;
        }
        if (gates)
            average_gates(maps, &source->info, gates, map,
                          maps->gates + map_index(maps, layer, map) * maps->rows);
    }
}

static hg_result read_layer(const hg_source *source, hg_session *session, hg_maps *maps,
                            uint32_t layer, double *head_shares, float *gates)
{
    uint32_t index = maps->layers.layers[layer];
    hg_layer_metrics metrics;
    hg_result res;

    res = hg_capture_metrics(session, index, &metrics, head_shares);
    if (res == HG_OK && gates)
        res = hg_capture_gates(session, index, gates);
    if (res == HG_OK)
        take_layer(source, maps, layer, &metrics, head_shares, gates);
    for (uint32_t map = 0; map < maps->heads.count && res == HG_OK; map++) {
        if (maps->cells)
            res = read_cells(session, maps, layer, map);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    return res;
}

static void *allocate(uint64_t count, size_t size)
{
    return count < SIZE_MAX / size ? calloc((size_t)count + 1, size) : NULL;
}

/* Memory of the results for a prompt of this many tokens. */
static hg_result prepare(const hg_source *source, hg_maps *maps, uint32_t tokens)
{
    uint64_t map_count = (uint64_t)maps->layers.count * maps->heads.count;
    const int has_gates = source->info.gate != HG_GATE_NONE;

    maps->tokens = tokens;
    maps->window = source->info.sliding_window;
    maps->rows = (tokens + maps->pool - 1) / maps->pool;
    maps->uniform[0] = hg_null_share(maps->window, tokens, 0);
    maps->uniform[1] = hg_null_share(maps->window, tokens, 1);
    maps->shares = allocate(map_count * 2, sizeof(*maps->shares));
    if (maps->keep_cells)
        maps->cells = allocate(map_count * maps->rows * maps->rows, sizeof(*maps->cells));
    if (has_gates)
        maps->gates = allocate(map_count * maps->rows, sizeof(*maps->gates));
    if (maps->shares && (maps->cells || !maps->keep_cells) && (maps->gates || !has_gates))
        return HG_OK;
    return hg_message_fail(
        HG_ERR_HOST_MEMORY,
        "out of memory for %llu maps of %u x %u cells; choose fewer with --layers or --heads",
        (unsigned long long)map_count, maps->rows, maps->rows);
}

static hg_result fail_memory(void)
{
    return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
}

hg_result hg_maps_read(hg_app *app, const hg_source *source, hg_session *session, hg_maps *maps)
{
    uint64_t gate_count = (uint64_t)source->info.heads * source->info.gate_dim;
    double *head_shares = allocate(2 * (uint64_t)source->info.heads, sizeof(*head_shares));
    float *gates = NULL;
    hg_result res;

    res = prepare(source, maps, hg_session_tokens(session));
    if (res == HG_OK && maps->gates)
        gates = allocate(maps->tokens * gate_count, sizeof(*gates));
    if (res == HG_OK && (!head_shares || (maps->gates && !gates)))
        res = fail_memory();
    for (uint32_t i = 0; i < maps->layers.count && res == HG_OK; i++) {
        hg_meter_step(&app->meter, "maps", i, maps->layers.count);
        res = read_layer(source, session, maps, i, head_shares, gates);
    }
    hg_meter_stop(&app->meter);
    free(gates);
    free(head_shares);
    return res;
}

uint64_t hg_maps_bytes(const hg_maps *maps, uint32_t tokens)
{
    return (uint64_t)maps->layers.count * maps->heads.count * tokens * tokens * sizeof(float);
}

/* Where results of all sequences arrive before they are dealt out. */
typedef struct dealer {
    uint32_t sequences;
    uint64_t tokens;
    hg_layer_metrics *metrics; /* [sequences] */
    double *shares;            /* [sequences, 2, heads] */
    float *gates;              /* [tokens, heads, gate_dim], or NULL */
    float *cells;              /* [tokens of a sequence, the same] of each, or NULL */
} dealer;

static void dealer_free(dealer *d)
{
    free(d->metrics);
    free(d->shares);
    free(d->gates);
    free(d->cells);
}

static hg_result dealer_prepare(const hg_source *source, hg_session *session, hg_maps *maps,
                                dealer *d)
{
    uint64_t squares = 0;
    hg_result res = HG_OK;

    d->sequences = hg_batch_sequences(session);
    for (uint32_t i = 0; i < d->sequences && res == HG_OK; i++) {
        if (i > 0)
            maps[i] = (hg_maps){.layers = maps->layers,
                                .heads = maps->heads,
                                .pool = maps->pool,
                                .keep_cells = maps->keep_cells};
        res = hg_batch_select(session, i);
        if (res == HG_OK)
            res = prepare(source, &maps[i], hg_session_tokens(session));
        d->tokens += maps[i].tokens;
        squares += (uint64_t)maps[i].tokens * maps[i].tokens;
    }
    if (res != HG_OK)
        return res;
    d->metrics = allocate(d->sequences, sizeof(*d->metrics));
    d->shares = allocate((uint64_t)d->sequences * 2 * source->info.heads, sizeof(*d->shares));
    if (maps->gates)
        d->gates =
            allocate(d->tokens * source->info.heads * source->info.gate_dim, sizeof(*d->gates));
    if (maps->keep_cells)
        d->cells = allocate(squares, sizeof(*d->cells));
    return d->metrics && d->shares && (d->gates || !maps->gates) && (d->cells || !maps->keep_cells)
               ? HG_OK
               : fail_memory();
}

static hg_result deal_cells(hg_session *session, hg_maps *maps, const dealer *d, uint32_t layer)
{
    hg_result res = HG_OK;

    for (uint32_t map = 0; map < maps->heads.count && res == HG_OK; map++) {
        const float *from = d->cells;
        hg_map_params params;

        point_at(maps, layer, map, &params);
        res = hg_batch_maps(session, &params, d->cells);
        for (uint32_t i = 0; i < d->sequences && res == HG_OK; i++) {
            const size_t count = (size_t)maps[i].tokens * maps[i].tokens;

            memcpy(maps[i].cells + map_index(&maps[i], layer, map) * count, from,
                   count * sizeof(*from));
            from += count;
        }
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    return res;
}

static hg_result deal_layer(const hg_source *source, hg_session *session, hg_maps *maps,
                            const dealer *d, uint32_t layer)
{
    const uint32_t index = maps->layers.layers[layer];
    const size_t gate_count = (size_t)source->info.heads * source->info.gate_dim;
    size_t token = 0;
    hg_result res = hg_batch_metrics(session, index, d->metrics, d->shares);

    if (res == HG_OK && d->gates)
        res = hg_batch_gates(session, index, d->gates);
    for (uint32_t i = 0; i < d->sequences && res == HG_OK; i++) {
        take_layer(source, &maps[i], layer, &d->metrics[i],
                   d->shares + (size_t)i * 2 * source->info.heads,
                   d->gates ? d->gates + token * gate_count : NULL);
        token += maps[i].tokens;
    }
    if (res == HG_OK && d->cells)
        res = deal_cells(session, maps, d, layer);
    return res == HG_OK ? hg_interrupt_check() : res;
}

hg_result hg_maps_read_batch(hg_app *app, const hg_source *source, hg_session *session,
                             hg_maps *maps)
{
    dealer d = {0};
    hg_result res = dealer_prepare(source, session, maps, &d);

    for (uint32_t i = 0; i < maps->layers.count && res == HG_OK; i++) {
        hg_meter_step(&app->meter, "maps", i, maps->layers.count);
        res = deal_layer(source, session, maps, &d, i);
    }
    hg_meter_stop(&app->meter);
    dealer_free(&d);
    return res;
}

void hg_maps_clear(hg_maps *maps)
{
    free(maps->cells);
    free(maps->gates);
    free(maps->shares);
    maps->cells = maps->gates = NULL;
    maps->shares = NULL;
}

void hg_maps_free(hg_maps *maps)
{
    hg_maps_clear(maps);
    hg_layers_free(&maps->layers);
    hg_heads_free(&maps->heads);
    memset(maps, 0, sizeof(*maps));
}

/* "Layer 21 head 3" with its share and the uniform one, or "L21 H3" with its share. */
static void name_panel(const hg_maps *maps, uint32_t layer, uint32_t map, int terse,
                       hg_panel_text *text)
{
    const double share = hg_maps_shares(maps, layer, map)[0];
    const uint32_t number = maps->layers.layers[layer] + 1;
    int length = terse ? snprintf(text->title, sizeof(text->title), "L%u", number)
                       : snprintf(text->title, sizeof(text->title), "Layer %u", number);

    if (maps->heads.heads)
        snprintf(text->title + length, sizeof(text->title) - (size_t)length,
                 terse ? " H%u" : " head %u", maps->heads.heads[map] + 1);
    if (terse)
        snprintf(text->note, sizeof(text->note), "%.2f", share);
    else
        hg_figure_share_note(text->note, sizeof(text->note), share, maps->uniform[0]);
}

void hg_maps_panels(const hg_maps *maps, const hg_labels *labels, int terse,
                    hg_figure_panel *panels, hg_panel_text *texts)
{
    const char *const *names = labels && maps->pool == 1 ? (const char *const *)labels->text : NULL;

    for (uint32_t layer = 0; layer < maps->layers.count; layer++) {
        for (uint32_t map = 0; map < maps->heads.count; map++) {
            size_t i = map_index(maps, layer, map);
            hg_figure_panel *panel = &panels[i];

            name_panel(maps, layer, map, terse, &texts[i]);
            memset(panel, 0, sizeof(*panel));
            panel->title = texts[i].title;
            panel->note = texts[i].note;
            panel->cells = hg_maps_cells(maps, layer, map);
            panel->rows = panel->columns = maps->rows;
            panel->flags = HG_PANEL_CAUSAL;
            panel->window = maps->window;
            panel->row_labels = panel->column_labels = names;
            panel->row_step = panel->column_step = maps->pool;
            panel->gate = hg_maps_gate(maps, layer, map);
        }
    }
}
