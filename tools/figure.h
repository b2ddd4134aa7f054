/* SPDX-License-Identifier: MIT */
/*
 * Figures of attention maps: PNG, SVG and PDF from one drawing. Draws plain arrays; knows no model
 * and no device. Commands say what to draw and where the bytes go.
 *
 *   hg_figure_params params = {.struct_size = sizeof(params), .panels = panels, .panel_count = 4};
 *   hg_figure *figure;
 *   res = hg_figure_create(&params, &figure);          lays out; nothing is drawn yet
 *   res = hg_figure_write(figure, HG_FIGURE_PNG, &sink);
 *   hg_figure_destroy(&figure);
 *
 * What params point to must live until hg_figure_destroy. A figure belongs to one thread at a time.
 * The same params give the same PNG and PDF bytes on the same machine (fonts are the machine's),
 * and in an SVG the same picture: cairo numbers its parts on within a process.
 */
#ifndef HG_TOOLS_FIGURE_H
#define HG_TOOLS_FIGURE_H

#include <headgate/base.h>

typedef enum hg_figure_format {
    HG_FIGURE_PNG = 0,
    HG_FIGURE_SVG = 1,
    HG_FIGURE_PDF = 2
} hg_figure_format;

/* PANELS: each map has its own labels and colour bar, and the grid is chosen (4 become 2 x 2): the
 * figure of selected layers. GRID: small multiples, one legend for all, labels on the outer axes
 * only; row by row: models x layers, or layers x heads. Too small for text, a grid drops its labels
 * and keeps its titles. */
typedef enum hg_figure_layout { HG_FIGURE_PANELS = 0, HG_FIGURE_GRID = 1 } hg_figure_layout;

typedef enum hg_figure_scale {
    HG_FIGURE_LINEAR = 0,
    HG_FIGURE_LOG = 1 /* decades; values below `floor` take its colour, which the colour bar says */
} hg_figure_scale;

/* Where the colour bar ends. */
typedef enum hg_figure_range {
    HG_FIGURE_SHARED = 0, /* at `maximum`, in all panels: colours may be compared */
    HG_FIGURE_PER_PANEL =
        1 /* at the panel's own largest value (PANELS layout; a GRID says it in the title) */
} hg_figure_range;

enum {
    HG_PANEL_CAUSAL = 1u << 0 /* keys after the query are masked; a cell of several tokens is masked
                               * when every pair in it is */
};

/* One map: rows are queries, columns are keys, origin top left. cells NULL leaves the place empty
 * (a model with fewer layers). A value that is not finite and not masked is drawn in magenta, and
 * warned of. */
typedef struct hg_figure_panel {
    const char *title; /* "Layer 21", "L21 H3" */
    const char
        *note; /* after it, lighter: "first token 0.41 (uniform 0.17)"; hg_figure_share_note */
    const float *cells; /* [rows, columns], probabilities */
    size_t row_stride;  /* floats from one row to the next; 0: columns */
    uint32_t rows, columns;
    uint32_t flags;  /* HG_PANEL_ */
    uint32_t window; /* with CAUSAL: keys further back than window - 1 are masked; 0: none are */
    const uint8_t *masked; /* [rows, columns], non-zero is masked, beside what flags say; or NULL */
    const char *const *row_labels;    /* [rows] UTF-8; NULL: ticks by position */
    const char *const *column_labels; /* [columns] */
    uint32_t row_begin, column_begin; /* position of the first token: a rectangle of a longer map */
    uint32_t row_step, column_step;   /* tokens in a cell, for maps pooled by the caller; 0: 1 */
    const float *gate; /* [rows] mean gate of each query token, 0 to 1; NULL: no strip */
} hg_figure_panel;

/* Goes into the file: iTXt chunks, SVG <metadata>, PDF document information. key: 1..79 printable
 * ASCII characters, no space at the ends or twice in a row (PNG's rule); value: UTF-8. */
typedef struct hg_figure_fact {
    const char *key;
    const char *value;
} hg_figure_fact;

/* No font on this machine draws these characters (a box with the code point is drawn). Reported
 * once for each script and figure, at the first writing. */
typedef struct hg_figure_missing {
    const char *script;  /* "Hangul", "emoji" */
    const char *package; /* the Debian package whose font has them: "fonts-noto-cjk" */
    uint32_t codepoint;  /* the first that was met */
    const char *label;   /* the label that holds it */
} hg_figure_missing;

typedef struct hg_figure_params {
    uint32_t struct_size;
    hg_figure_layout layout;
    const hg_figure_panel *panels;
    uint32_t panel_count;
    uint32_t columns;              /* panels side by side; 0: chosen (GRID: all in one row) */
    const char *title;             /* NULL: none */
    const char *subtitle;          /* smaller, under it */
    const char *footer;            /* small, at the bottom, wrapped: prompt, device, precision */
    const char *const *row_titles; /* GRID: a heading over each row of panels; NULL: none */
    const char *value_name;        /* at the colour bar; NULL: "attention probability" */
    hg_figure_scale scale;
    hg_figure_range range;
    float maximum;     /* of the colour bar; 0: 1 */
    float floor;       /* of the log scale; 0: 1e-4 */
    double dpi;        /* 0: 192. At 96 a layout pixel is a picture pixel */
    uint32_t map_size; /* wanted edge of a map in layout pixels; 0: chosen. Cells are whole pixels,
                        * so the edge is near it */
    const char *font;  /* pango family list; NULL: DejaVu Sans, then whatever sans there is */
    const hg_figure_fact *facts;
    uint32_t fact_count;
    const char *created; /* PDF creation date, ISO 8601; NULL: 1970, so that bytes repeat */
    void (*missing)(void *user, const hg_figure_missing *missing); /* NULL: a warning in the log */
    void *missing_user;
    hg_log log;
} hg_figure_params;

typedef struct hg_figure hg_figure;

/* HG_ERR_ARGUMENT: params that mean nothing, or a picture of more pixels than can be made (the log
 * says what would fit). */
hg_result hg_figure_create(const hg_figure_params *params, hg_figure **out);
void hg_figure_destroy(hg_figure **figure);

/* Bytes of the file, in order. Anything but HG_OK stops the writing and is what hg_figure_write
 * returns. */
typedef struct hg_figure_sink {
    hg_result (*write)(void *user, const void *data, size_t bytes);
    void *user;
} hg_figure_sink;

hg_result hg_figure_write(hg_figure *figure, hg_figure_format format, const hg_figure_sink *sink);

/* Size of the PNG in pixels. */
void hg_figure_size(const hg_figure *figure, uint32_t *width, uint32_t *height);

/* Where a cell is in the PNG: its middle pixel. Every pixel of a cell has the same colour,
 * hg_colormap_viridis[round(255 * value)] on the linear scale 0..1. *pooled (may be NULL) is how
 * many cells on each edge share that pixel, of which it shows the largest: 1 unless a map has more
 * cells than pixels. HG_ERR_ARGUMENT: no such cell. */
hg_result hg_figure_cell(const hg_figure *figure, uint32_t panel, uint32_t row, uint32_t column,
                         uint32_t *x, uint32_t *y, uint32_t *pooled);

/* The same for the gate strip's pixel of a row (hg_colormap_cividis[round(255 * gate)]). */
hg_result hg_figure_gate_cell(const hg_figure *figure, uint32_t panel, uint32_t row, uint32_t *x,
                              uint32_t *y);

/* Which font of this machine draws a character of a label. HG_ERR_UNSUPPORTED, and nothing is said:
 * built without figures. */
typedef struct hg_figure_font {
    const char *script;  /* "hangul", "emoji" */
    const char *package; /* the Debian package whose font has it; NULL: not known */
    char family[128];    /* "" when no font has it */
} hg_figure_font;
hg_result hg_figure_find_font(uint32_t codepoint, hg_figure_font *out);

/* By the ending of a path: .png .svg .pdf, any case. HG_ERR_ARGUMENT: another, and nothing is said.
 */
hg_result hg_figure_format_of(const char *path, hg_figure_format *format);

/* "first token 0.41 (uniform 0.17)". Cut to bytes; returns text. */
const char *hg_figure_share_note(char *text, size_t bytes, double share, double uniform);

#endif
