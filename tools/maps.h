/* SPDX-License-Identifier: MIT */
/*
 * Attention maps of some layers and heads, read back from a session, with their gates and
 * first-token shares, and their panels in a figure. Used by map, demo and whoever draws maps.
 */
#ifndef HG_TOOLS_MAPS_H
#define HG_TOOLS_MAPS_H

#include "choice.h"
#include "evaluate.h"
#include "figure.h"

typedef struct hg_maps {
    hg_layer_choice layers; /* taken over by hg_maps_read */
    hg_head_choice heads;
    uint32_t tokens;
    uint32_t
        pool; /* tokens on the edge of a cell; more than 1: the largest value of the cell is kept */
    uint32_t rows;   /* ceil(tokens / pool) */
    uint32_t window; /* 0: off */
    int keep_cells;  /* 0: cells stay on the device, for hg_maps_rows */
    float *cells;    /* [layers, maps per layer, rows, rows] */
    float
        *gates; /* [layers, maps per layer, rows]: mean gate of the queries; NULL without a gate */
    double *shares;    /* [layers, maps per layer, 2]: first-token share with and without query 0 */
    double uniform[2]; /* of uniform attention, the same two */
} hg_maps;

/* Largest map that is drawn cell by cell; longer prompts are pooled. */
uint32_t hg_maps_pool(uint32_t tokens, uint32_t map_count);

/* Reads everything in *maps from the session; layers, heads, pool and keep_cells are set by the
 * caller. */
hg_result hg_maps_read(hg_app *app, const hg_source *source, hg_session *session, hg_maps *maps);
/* The same of every sequence of a batch, with few calls: maps of the pass, [hg_batch_sequences].
 * Only layers, heads, pool and keep_cells of the first are looked at, and pool is 1: the others
 * point at its choices, which stay its own. */
hg_result hg_maps_read_batch(hg_app *app, const hg_source *source, hg_session *session,
                             hg_maps *maps);
/* Bytes of the cells of one prompt, of this many tokens. */
uint64_t hg_maps_bytes(const hg_maps *maps, uint32_t tokens);
/* Rows first.. of one map, [count, tokens], never pooled. */
hg_result hg_maps_rows(hg_session *session, const hg_maps *maps, uint32_t layer, uint32_t map,
                       uint32_t first, uint32_t count, float *out);
void hg_maps_free(hg_maps *maps);
/* All but the choices of layers and heads. */
void hg_maps_clear(hg_maps *maps);

const float *hg_maps_cells(const hg_maps *maps, uint32_t layer, uint32_t map);
const float *hg_maps_gate(const hg_maps *maps, uint32_t layer,
                          uint32_t map); /* NULL without a gate */
const double *hg_maps_shares(const hg_maps *maps, uint32_t layer, uint32_t map);

/* Titles and notes of panels; a panel points into its text. */
typedef struct hg_panel_text {
    char title[64];
    char note[64];
} hg_panel_text;

/* panels, texts: [layers * maps per layer]. labels: of the tokens, or NULL. terse 1: "L21 H3" and
 * the share alone, for panels too small for more. */
void hg_maps_panels(const hg_maps *maps, const hg_labels *labels, int terse,
                    hg_figure_panel *panels, hg_panel_text *texts);

/* First-token share of attention that is uniform over the keys it may see (D30), within a window
 * too. */
double hg_null_share(uint32_t window, uint32_t tokens, int later);

#endif
