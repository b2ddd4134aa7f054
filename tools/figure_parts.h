/* SPDX-License-Identifier: MIT */
/*
 * What the sources of a figure share. The way of a figure: figure.c checks params, figure_layout.c
 * finds places, figure_draw.c draws them once for every format with figure_map.c (cells),
 * figure_axis.c (labels) and figure_text.c (pango), figure_svg.c finishes an SVG.
 *
 * Lengths are picture pixels of the PNG unless they are called layout pixels (1/96 inch);
 * figure->unit picture pixels make one layout pixel. Vector formats draw in the same picture
 * pixels, scaled.
 */
#ifndef HG_TOOLS_FIGURE_PARTS_H
#define HG_TOOLS_FIGURE_PARTS_H

#include "check.h"
#include "figure.h"

#include <cairo.h>
#include <pango/pangocairo.h>

enum {
    HG_FIGURE_MAX_EDGE = 32767,     /* cairo's image surface ends here */
    HG_FIGURE_MAX_PIXELS = 1 << 27, /* 512 MiB of picture */
    HG_FIGURE_MAX_PANELS = 4096,
    HG_FIGURE_MAX_CELLS = 1 << 20, /* on an edge of a map */
    HG_FIGURE_SCRIPTS = 256
};

enum {
    HG_INK_TITLE = 0x1A1A1A,
    HG_INK_NOTE = 0x5C5C5C,
    HG_INK_LABEL = 0x333333,
    HG_INK_FAINT = 0x8A8A8A,
    HG_INK_LINE = 0x9A9A9A
};

typedef struct hg_figure_style {
    double size; /* layout pixels */
    uint32_t color;
    int bold;
    int fade;         /* draw U+2423 and its like fainter than the rest */
    double max_width; /* picture pixels, 0: none. One line: ends in an ellipsis */
    int wrap;         /* at max_width, instead */
} hg_figure_style;

typedef enum hg_axis_kind { HG_AXIS_NONE = 0, HG_AXIS_LABELS, HG_AXIS_POSITIONS } hg_axis_kind;

/* How one edge of a map is labelled. */
typedef struct hg_figure_axis {
    hg_axis_kind kind;
    uint32_t step;  /* LABELS: every so many cells; POSITIONS: every so many tokens */
    double size;    /* of the text, layout pixels */
    int extent;     /* from the map to the end of the longest label */
    int with_index; /* every tenth label with its position */
} hg_figure_axis;

/* A panel's place. */
typedef struct hg_figure_map {
    int x, y, width, height; /* the cells, without the frame around them */
    int cell_width, cell_height;
    uint32_t pool;                /* cells of the array that share a shown cell, on each edge */
    uint32_t rows, columns;       /* shown cells */
    int gate_x, gate_width;       /* 0 wide: none */
    int bar_x, bar_width;         /* 0 wide: none */
    int title_y;                  /* baseline */
    int title_width;              /* room for title and note */
    int left, right, top, bottom; /* around the cells */
    hg_figure_axis row_axis, column_axis;
    double maximum;  /* of the colours */
    double largest;  /* finite value that is not masked */
    uint64_t broken; /* cells that are not finite */
} hg_figure_map;

struct hg_figure {
    hg_figure_params params;
    double unit;
    hg_figure_map *maps; /* [panel_count] */
    uint32_t grid_rows, grid_columns;
    int width, height, margin;
    int title_y, subtitle_y, legend_x, legend_y, footer_y; /* tops */
    int content_width;
    int *row_title_y; /* [grid_rows] baselines */
    int has_masked, has_gate, thumbnails;
    uint32_t max_pool;
    PangoFontMap *fonts;
    PangoContext *context;
    unsigned char reported[HG_FIGURE_SCRIPTS]; /* scripts that a font is missing for, said once */
    int reported_emoji;
};

/* Grows by doubling; failed is sticky and means no memory. */
typedef struct hg_figure_buffer {
    char *data;
    size_t size, capacity;
    int failed;
} hg_figure_buffer;

void hg_figure_buffer_put(hg_figure_buffer *buffer, const void *data, size_t bytes);
void hg_figure_buffer_format(hg_figure_buffer *buffer, const char *format, ...) HG_PRINTF(2, 3);
/* text as XML character data, fit for an attribute too; what XML 1.0 cannot hold becomes U+FFFD. */
void hg_figure_buffer_xml(hg_figure_buffer *buffer, const char *text);

/* Where to draw. words collects the texts for an SVG; NULL: not wanted. */
typedef struct hg_figure_pen {
    hg_figure *figure;
    cairo_t *cairo;
    hg_figure_buffer *words;
    int vector; /* not an image surface */
} hg_figure_pen;

static inline int hg_figure_px(const hg_figure *figure, double layout_px)
{
    return (int)(layout_px * figure->unit + 0.5);
}

/* figure_text.c */
/* Valid UTF-8; control characters become pictures of themselves, what no format can hold U+FFFD,
 * what is longer than `longest` bytes is cut. lines: newlines stay. Freed with g_free. */
char *hg_figure_text_clean(const char *text, size_t longest, int lines);
void hg_figure_text_size(hg_figure *figure, const hg_figure_style *style, const char *text,
                         int *width, int *height);
/* y is the baseline; align 0 starts at x, 0.5 is centred on it, 1 ends there. */
void hg_figure_text(hg_figure_pen *pen, const hg_figure_style *style, const char *text, double x,
                    double y, double align);
/* Turned to read upwards; x is the baseline, the text ends (align 1) or starts (0) at y. */
void hg_figure_text_turned(hg_figure_pen *pen, const hg_figure_style *style, const char *text,
                           double x, double y, double align);
/* A paragraph with its top left corner at x, y. */
void hg_figure_text_block(hg_figure_pen *pen, const hg_figure_style *style, const char *text,
                          double x, double y);
/* The name of a code point's script and the package that has it (NULL: no script, private use). */
const char *hg_figure_font_package(uint32_t codepoint, const char **script);

/* figure_map.c */
int hg_figure_masked(const hg_figure_panel *panel, uint32_t row, uint32_t column);
/* Largest value and the number of broken cells; whether any is masked. */
void hg_figure_map_scan(const hg_figure_panel *panel, hg_figure_map *map, int *has_masked);
/* The colour of a shown cell. */
uint32_t hg_figure_map_color(const hg_figure *figure, uint32_t panel, uint32_t row,
                             uint32_t column);
uint32_t hg_figure_value_color(const hg_figure *figure, const hg_figure_map *map, double value);
hg_result hg_figure_map_draw(hg_figure_pen *pen, uint32_t panel);
hg_result hg_figure_gate_draw(hg_figure_pen *pen, uint32_t panel);
/* A box of 256 colours, low end at the bottom (or at the left). */
hg_result hg_figure_bar_draw(hg_figure_pen *pen, const uint32_t table[256], int x, int y, int width,
                             int height, int across);
void hg_figure_box(hg_figure_pen *pen, uint32_t color, int x, int y, int width, int height);
/* Around a rectangle, outside it. */
void hg_figure_frame(hg_figure_pen *pen, int x, int y, int width, int height);

/* figure_axis.c */
void hg_figure_axis_plan(hg_figure *figure, uint32_t panel, int columns, hg_figure_axis *axis);
void hg_figure_axis_draw(hg_figure_pen *pen, uint32_t panel, int columns);
/* Ticks of a colour bar: text and place (0 low end .. 1) of tick i; 0 when there is none. room:
 * layout pixels of the bar. */
int hg_figure_bar_tick(const hg_figure *figure, const hg_figure_map *map, double room, uint32_t i,
                       char text[32], double *place);

/* figure_layout.c */
hg_result hg_figure_place(hg_figure *figure);
extern const hg_figure_style hg_style_title, hg_style_subtitle, hg_style_footer, hg_style_row_title,
    hg_style_tick;
void hg_figure_panel_styles(const hg_figure *figure, hg_figure_style *title, hg_figure_style *note);
/* The note of a panel with what the layout adds to it. */
const char *hg_figure_note(const hg_figure *figure, uint32_t panel, char text[256]);

/* figure_legend.c: the keys under the title, in lines of content_width. pen NULL: measured only. */
hg_result hg_figure_legend(hg_figure *figure, hg_figure_pen *pen, int x, int y, int *height);

/* figure_draw.c */
hg_result hg_figure_draw(hg_figure_pen *pen);

/* figure_svg.c: a finished cairo SVG with metadata and the words put in. */
hg_result hg_figure_svg_finish(const hg_figure *figure, const hg_figure_buffer *svg,
                               const hg_figure_buffer *words, const hg_figure_sink *sink);

#endif
