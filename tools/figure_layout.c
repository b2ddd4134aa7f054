/* SPDX-License-Identifier: MIT */
/* Where everything goes: sizes of cells, extents of labels, slots of the grid, the size of the
 * picture. Nothing is drawn here. */
#include "figure_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hg_figure_style hg_style_title = {.size = 16.0, .color = HG_INK_TITLE, .bold = 1, .wrap = 1};
const hg_figure_style hg_style_subtitle = {.size = 10.5, .color = HG_INK_NOTE, .wrap = 1};
const hg_figure_style hg_style_footer = {.size = 9.0, .color = HG_INK_FAINT, .wrap = 1};
const hg_figure_style hg_style_row_title = {.size = 12.5, .color = HG_INK_TITLE, .bold = 1};
const hg_figure_style hg_style_tick = {.size = 8.5, .color = HG_INK_LABEL};

static const double margin = 20.0;
static const double widest_grid = 1240.0; /* layout pixels for the maps of a grid */
static const double largest_cell = 56.0;
static const double least_edge = 40.0;

void hg_figure_panel_styles(const hg_figure *figure, hg_figure_style *title, hg_figure_style *note)
{
    int panels = figure->params.layout == HG_FIGURE_PANELS;
    double size = panels ? 12.0 : figure->thumbnails ? 8.5 : 10.5;

    *title = (hg_figure_style){.size = size, .color = HG_INK_TITLE, .bold = 1};
    *note = (hg_figure_style){.size = panels               ? 11.0
                                      : figure->thumbnails ? 8.5
                                                           : 10.0,
                              .color = HG_INK_NOTE};
}

const char *hg_figure_note(const hg_figure *figure, uint32_t panel, char text[256])
{
    const char *note = figure->params.panels[panel].note;

    note = note ? note : "";
    if (figure->params.layout == HG_FIGURE_GRID && figure->params.range == HG_FIGURE_PER_PANEL) {
        snprintf(text, 256, "%.200s%sto %.2g", note, *note ? " \u00B7 " : "",
                 figure->maps[panel].maximum);
        return text;
    }
    return note;
}

static uint32_t longest_edge(const hg_figure *figure)
{
    uint32_t longest = 1;

    for (uint32_t i = 0; i < figure->params.panel_count; i++) {
        const hg_figure_panel *panel = &figure->params.panels[i];

        if (!panel->cells)
            continue;
        longest = panel->rows > longest ? panel->rows : longest;
        longest = panel->columns > longest ? panel->columns : longest;
    }
    return longest;
}

static void choose_grid(hg_figure *figure)
{
    const hg_figure_params *params = &figure->params;
    uint32_t columns = params->columns;
    uint32_t rows;

    if (!columns && params->layout == HG_FIGURE_GRID)
        columns = params->panel_count;
    if (!columns)
        columns = (uint32_t)ceil(sqrt((double)params->panel_count));
    if (columns > params->panel_count)
        columns = params->panel_count;
    columns = columns ? columns : 1;
    figure->grid_columns = columns;
    rows = (params->panel_count - 1) / columns;
    figure->grid_rows = rows < params->panel_count ? rows + 1 : 1;
}

/* The edge to aim for, in layout pixels. */
static double wanted_edge(const hg_figure *figure)
{
    double edge, per_token;

    if (figure->params.map_size)
        return figure->params.map_size;
    if (figure->params.layout == HG_FIGURE_PANELS) {
        per_token = 11.0 * longest_edge(figure);
        return per_token < 400.0 ? 400.0 : per_token > 640.0 ? 640.0 : per_token;
    }
    edge = widest_grid / figure->grid_columns - 14.0;
    return edge < 64.0 ? 64.0 : edge > 300.0 ? 300.0 : edge;
}

/* Whole pixels for a cell, or whole cells for a pixel. */
static void size_map(const hg_figure *figure, const hg_figure_panel *panel, double edge,
                     hg_figure_map *map)
{
    uint32_t longest = panel->rows > panel->columns ? panel->rows : panel->columns;
    double wanted = edge * figure->unit;
    double cell = floor(wanted / longest + 0.5);
    double least = least_edge * figure->unit;

    map->pool = 1;
    if (longest > 1.5 * wanted)
        map->pool = (uint32_t)ceil(longest / (1.5 * wanted));
    if (cell < 1.0)
        cell = 1.0;
    if (cell > largest_cell * figure->unit && !figure->params.map_size)
        cell = floor(largest_cell * figure->unit);
    map->rows = (panel->rows + map->pool - 1) / map->pool;
    map->columns = (panel->columns + map->pool - 1) / map->pool;
    map->cell_width = map->cell_height = (int)cell;
    /* A strip of few rows or columns gets longer cells, else it could not be seen or labelled. */
    if (map->rows * cell < least)
        map->cell_height = (int)ceil(least / map->rows);
    if (map->columns * cell < least)
        map->cell_width = (int)ceil(least / map->columns);
    map->width = map->cell_width * (int)map->columns;
    map->height = map->cell_height * (int)map->rows;
}

static int same_labels(const hg_figure_panel *a, const hg_figure_panel *b, int columns)
{
    const char *const *left = columns ? a->column_labels : a->row_labels;
    const char *const *right = columns ? b->column_labels : b->row_labels;
    uint32_t count = columns ? a->columns : a->rows;

    if (count != (columns ? b->columns : b->rows) || !left != !right)
        return 0;
    if ((columns ? a->column_begin : a->row_begin) != (columns ? b->column_begin : b->row_begin) ||
        (columns ? a->column_step : a->row_step) != (columns ? b->column_step : b->row_step))
        return 0;
    for (uint32_t i = 0; left != right && i < count; i++)
        if (strcmp(left[i], right[i]) != 0)
            return 0;
    return 1;
}

/* In a grid the outer panel carries the labels for those it agrees with. */
static int needs_axis(const hg_figure *figure, uint32_t index, int columns)
{
    const hg_figure_panel *panels = figure->params.panels;
    uint32_t row = index / figure->grid_columns;
    uint32_t next = index;

    if (figure->params.layout == HG_FIGURE_PANELS)
        return 1;
    for (;;) {
        if (columns) {
            next += figure->grid_columns;
            if (next >= figure->params.panel_count)
                return 1;
        } else {
            if (next == row * figure->grid_columns)
                return 1;
            next--;
        }
        if (panels[next].cells)
            return !same_labels(&panels[index], &panels[next], columns);
    }
}

static int title_extent(hg_figure *figure, uint32_t index)
{
    const hg_figure_panel *panel = &figure->params.panels[index];
    hg_figure_style title, note;
    char text[256];
    int width = 0, part = 0;

    hg_figure_panel_styles(figure, &title, &note);
    if (panel->title)
        hg_figure_text_size(figure, &title, panel->title, &width, NULL);
    hg_figure_text_size(figure, &note, hg_figure_note(figure, index, text), &part, NULL);
    return width + (part ? hg_figure_px(figure, 8.0) + part : 0);
}

/* What a panel needs around its cells. */
static void size_panel(hg_figure *figure, uint32_t index)
{
    const hg_figure_panel *panel = &figure->params.panels[index];
    hg_figure_map *map = &figure->maps[index];
    int panels = figure->params.layout == HG_FIGURE_PANELS;

    if (needs_axis(figure, index, 0))
        hg_figure_axis_plan(figure, index, 0, &map->row_axis);
    if (needs_axis(figure, index, 1))
        hg_figure_axis_plan(figure, index, 1, &map->column_axis);
    map->left = map->row_axis.extent;
    map->bottom = map->column_axis.extent;
    map->right = 0;
    if (panel->gate) {
        map->gate_width = hg_figure_px(figure, panels ? 12.0 : figure->thumbnails ? 4.0 : 8.0);
        map->right += hg_figure_px(figure, figure->thumbnails ? 2.0 : 5.0) + map->gate_width;
        if (map->column_axis.kind != HG_AXIS_NONE) {
            int caption;

            hg_figure_text_size(figure, &hg_style_tick, "gate", &caption, NULL);
            caption += hg_figure_px(figure, 3.0);
            map->bottom = map->bottom > caption ? map->bottom : caption;
        }
    }
    if (panels) {
        double place, room = map->height / figure->unit;
        char text[32];
        int longest = 0, width;

        for (uint32_t i = 0; hg_figure_bar_tick(figure, map, room, i, text, &place); i++) {
            hg_figure_text_size(figure, &hg_style_tick, text, &width, NULL);
            longest = width > longest ? width : longest;
        }
        map->bar_width = hg_figure_px(figure, 11.0);
        map->right += hg_figure_px(figure, 12.0 + 6.0) + map->bar_width + longest;
    }
}

struct track {
    int before, inside, after; /* labels, cells, gate and colour bar */
};

/* Widths of the columns of the grid or heights of its rows. */
static void size_tracks(hg_figure *figure, struct track *columns, struct track *rows)
{
    for (uint32_t i = 0; i < figure->params.panel_count; i++) {
        const hg_figure_map *map = &figure->maps[i];
        struct track *column = &columns[i % figure->grid_columns];
        struct track *row = &rows[i / figure->grid_columns];
        int title, room;

        if (!figure->params.panels[i].cells)
            continue;
        column->before = map->left > column->before ? map->left : column->before;
        column->inside = map->width > column->inside ? map->width : column->inside;
        column->after = map->right > column->after ? map->right : column->after;
        row->before = map->top > row->before ? map->top : row->before;
        row->inside = map->height > row->inside ? map->height : row->inside;
        row->after = map->bottom > row->after ? map->bottom : row->after;
        /* A title longer than its map widens it, but never past what maps of that kind have. */
        title = title_extent(figure, i);
        room = hg_figure_px(figure, figure->thumbnails ? 72.0 : 340.0);
        title = title < room ? title : room;
        if (title > column->inside + column->after)
            column->after = title - column->inside;
    }
}

/* Gate strips and bars of one column of the grid stand above each other. */
static void place_panel(hg_figure *figure, uint32_t index, int x, int y, const struct track *column)
{
    hg_figure_map *map = &figure->maps[index];
    int panels = figure->params.layout == HG_FIGURE_PANELS;

    map->x = x;
    map->y = y;
    map->title_y = y - hg_figure_px(figure, figure->thumbnails ? 4.0 : 7.0);
    map->title_width = column->inside + column->after;
    map->gate_x = x + map->width + hg_figure_px(figure, figure->thumbnails ? 2.0 : 5.0);
    map->bar_x = x + map->width + hg_figure_px(figure, 12.0);
    if (map->gate_width && panels)
        map->bar_x = map->gate_x + map->gate_width + hg_figure_px(figure, 12.0);
}

static void place_grid(hg_figure *figure, const struct track *columns, const struct track *rows,
                       int top)
{
    int grid = figure->params.layout == HG_FIGURE_GRID;
    int across = hg_figure_px(figure, !grid ? 30.0 : figure->thumbnails ? 10.0 : 16.0);
    int down = hg_figure_px(figure, !grid ? 22.0 : figure->thumbnails ? 8.0 : 14.0);
    int heading = grid && figure->params.row_titles ? hg_figure_px(figure, 22.0) : 0;
    int y = top;

    for (uint32_t row = 0; row < figure->grid_rows; row++) {
        int x = figure->margin;

        figure->row_title_y[row] = y + hg_figure_px(figure, 13.0);
        y += heading + rows[row].before;
        for (uint32_t column = 0; column < figure->grid_columns; column++) {
            uint32_t index = row * figure->grid_columns + column;

            x += columns[column].before;
            if (index < figure->params.panel_count && figure->params.panels[index].cells)
                place_panel(figure, index, x, y, &columns[column]);
            x += columns[column].inside + columns[column].after + across;
        }
        y += rows[row].inside + rows[row].after;
        y += row + 1 < figure->grid_rows ? down : 0;
    }
    figure->height = y;
}

static int block_height(hg_figure *figure, const hg_figure_style *style, const char *text)
{
    hg_figure_style wrapped = *style;
    int height = 0;

    if (!text || !*text)
        return 0;
    wrapped.max_width = figure->content_width;
    hg_figure_text_size(figure, &wrapped, text, NULL, &height);
    return height;
}

/* Title, subtitle and legend; returns where the panels begin. */
static int place_header(hg_figure *figure)
{
    int y = figure->margin - hg_figure_px(figure, 4.0);
    int height = block_height(figure, &hg_style_title, figure->params.title);

    figure->title_y = y;
    y += height ? height + hg_figure_px(figure, 3.0) : 0;
    figure->subtitle_y = y;
    height = block_height(figure, &hg_style_subtitle, figure->params.subtitle);
    y += height ? height + hg_figure_px(figure, 5.0) : 0;
    figure->legend_x = figure->margin;
    figure->legend_y = y + hg_figure_px(figure, 4.0);
    (void)hg_figure_legend(figure, NULL, figure->legend_x, figure->legend_y, &height);
    y += height ? height + hg_figure_px(figure, 10.0) : 0;
    return y + hg_figure_px(figure, 8.0);
}

static hg_result check_size(hg_figure *figure)
{
    double most = HG_FIGURE_MAX_EDGE;
    double longest = figure->width > figure->height ? figure->width : figure->height;
    double pixels = (double)figure->width * figure->height;
    const double most_pixels = HG_FIGURE_MAX_PIXELS;
    double shrink = 1.0;

    if (longest <= most && pixels <= most_pixels)
        return HG_OK;
    shrink = most / longest;
    if (pixels * shrink * shrink > most_pixels)
        shrink = sqrt(most_pixels / pixels);
    return hg_fail(&figure->params.log, HG_ERR_ARGUMENT,
                   "the figure would be %d x %d pixels, at most %d an edge and %d Mi together can "
                   "be made; draw fewer layers or heads, or use at most %.0f dots per inch",
                   figure->width, figure->height, HG_FIGURE_MAX_EDGE, HG_FIGURE_MAX_PIXELS >> 20,
                   floor(figure->params.dpi * shrink * 0.97));
}

static hg_result too_wide(hg_figure *figure)
{
    return hg_fail(&figure->params.log, HG_ERR_ARGUMENT,
                   "%u panels of this size side by side are more than a picture can hold; draw "
                   "fewer, or at fewer dots per inch",
                   (unsigned)figure->grid_columns);
}

static hg_result place_all(hg_figure *figure, struct track *columns, struct track *rows)
{
    int grid = figure->params.layout == HG_FIGURE_GRID;
    int across = hg_figure_px(figure, !grid ? 30.0 : figure->thumbnails ? 10.0 : 16.0);
    int64_t width = 0;
    int narrowest = hg_figure_px(figure, 360.0);
    int footer;

    size_tracks(figure, columns, rows);
    for (uint32_t i = 0; i < figure->grid_columns; i++)
        width +=
            (int64_t)columns[i].before + columns[i].inside + columns[i].after + (i ? across : 0);
    if (width > 1 << 28)
        return too_wide(figure);
    figure->content_width = (int)width > narrowest ? (int)width : narrowest;
    figure->width = figure->content_width + 2 * figure->margin;
    place_grid(figure, columns, rows, place_header(figure));
    footer = block_height(figure, &hg_style_footer, figure->params.footer);
    figure->footer_y = figure->height + hg_figure_px(figure, 14.0);
    figure->height = footer ? figure->footer_y + footer : figure->height;
    figure->height += figure->margin;
    return check_size(figure);
}

hg_result hg_figure_place(hg_figure *figure)
{
    struct track *columns = NULL, *rows = NULL;
    hg_result res = HG_OK;
    double edge;

    choose_grid(figure);
    edge = wanted_edge(figure);
    figure->thumbnails = figure->params.layout == HG_FIGURE_GRID && edge < 150.0;
    figure->margin = hg_figure_px(figure, margin);
    columns = calloc(figure->grid_columns, sizeof(*columns));
    rows = calloc(figure->grid_rows, sizeof(*rows));
    figure->row_title_y = calloc(figure->grid_rows, sizeof(*figure->row_title_y));
    if (!columns || !rows || !figure->row_title_y) {
        res = hg_fail(&figure->params.log, HG_ERR_HOST_MEMORY, "no memory to lay out %u panels",
                      (unsigned)figure->params.panel_count);
        goto out;
    }
    figure->max_pool = 1;
    for (uint32_t i = 0; i < figure->params.panel_count; i++) {
        hg_figure_map *map = &figure->maps[i];

        if (!figure->params.panels[i].cells)
            continue;
        size_map(figure, &figure->params.panels[i], edge, map);
        map->top = hg_figure_px(figure, figure->thumbnails ? 14.0 : 22.0);
        figure->max_pool = map->pool > figure->max_pool ? map->pool : figure->max_pool;
        size_panel(figure, i);
    }
    res = place_all(figure, columns, rows);
out:
    free(columns);
    free(rows);
    return res;
}
