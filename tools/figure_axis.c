/* SPDX-License-Identifier: MIT */
/*
 * Labels along the edges of a map and ticks of colour bars. Few tokens are all named, more are
 * named in part, and beyond 200 (or where cells stand for several tokens) positions take the place
 * of names.
 */
#include "figure_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_NAMED = 200,
    TICK_GAP = 3,
    TICK_LENGTH = 3,
    INDEX_EVERY = 10,
    INDEX_FROM = 12,
    INDEX_GAP = 4
};

static const double label_room = 8.4;   /* layout pixels that a line of text needs */
static const double longest_label = 76; /* layout pixels before the ellipsis */
static const double position_room = 38;

struct edge {
    const hg_figure_panel *panel;
    const char *const *labels;
    uint32_t cells;       /* of the array */
    uint32_t begin, step; /* tokens */
    int cell_px;
    uint32_t pool;
};

static struct edge edge_of(const hg_figure *figure, uint32_t panel_index, int columns)
{
    const hg_figure_panel *panel = &figure->params.panels[panel_index];
    const hg_figure_map *map = &figure->maps[panel_index];
    struct edge edge = {
        .panel = panel,
        .labels = columns ? panel->column_labels : panel->row_labels,
        .cells = columns ? panel->columns : panel->rows,
        .begin = columns ? panel->column_begin : panel->row_begin,
        .step = columns ? panel->column_step : panel->row_step,
        .cell_px = columns ? map->cell_width : map->cell_height,
        .pool = map->pool,
    };

    edge.step = edge.step ? edge.step : 1;
    return edge;
}

/* 1, 2 or 5 times a power of ten, at least `least`. */
static uint64_t round_step(double least)
{
    uint64_t ten = 1;

    while ((double)ten * 10.0 <= least)
        ten *= 10;
    if ((double)ten >= least)
        return ten;
    if ((double)ten * 2.0 >= least)
        return ten * 2;
    return (double)ten * 5.0 >= least ? ten * 5 : ten * 10;
}

static hg_figure_style label_style(const hg_figure *figure, const hg_figure_axis *axis)
{
    hg_figure_style style = {.size = axis->size, .color = HG_INK_LABEL, .fade = 1};

    style.max_width = longest_label * figure->unit;
    return style;
}

static hg_figure_style index_style(const hg_figure_axis *axis)
{
    hg_figure_style style = {.color = HG_INK_FAINT};

    style.size = axis->kind == HG_AXIS_LABELS && axis->size < 8.0 ? 7.0 : 7.5;
    if (axis->kind == HG_AXIS_POSITIONS) {
        style.size = axis->size;
        style.color = HG_INK_LABEL;
    }
    return style;
}

/* In names every tenth position is told beside the name, so that equal tokens can be told apart. */
static int has_index(const hg_figure_axis *axis, const struct edge *edge, uint32_t cell)
{
    return axis->with_index && ((uint64_t)edge->begin + cell) % INDEX_EVERY == 0;
}

static void index_text(const struct edge *edge, uint32_t cell, char text[24])
{
    snprintf(text, 24, "%llu", (unsigned long long)edge->begin + cell);
}

static void plan_names(hg_figure *figure, const struct edge *edge, double cell,
                       hg_figure_axis *axis)
{
    hg_figure_style style, index;
    int longest = 0;

    axis->kind = HG_AXIS_LABELS;
    axis->step = (uint32_t)ceil(label_room / cell);
    axis->size = cell * axis->step * 0.78;
    axis->size = axis->size > 9.5 ? 9.5 : axis->size < 7.0 ? 7.0 : axis->size;
    axis->with_index = edge->cells > INDEX_FROM && axis->step == 1;
    style = label_style(figure, axis);
    index = index_style(axis);
    for (uint32_t i = 0; i < edge->cells; i += axis->step) {
        int width, beside;
        char text[24];

        hg_figure_text_size(figure, &style, edge->labels[i], &width, NULL);
        if (has_index(axis, edge, i)) {
            index_text(edge, i, text);
            hg_figure_text_size(figure, &index, text, &beside, NULL);
            width += hg_figure_px(figure, INDEX_GAP) + beside;
        }
        longest = width > longest ? width : longest;
    }
    axis->extent = hg_figure_px(figure, TICK_GAP + (axis->step > 1 ? TICK_LENGTH : 0)) + longest;
}

void hg_figure_axis_plan(hg_figure *figure, uint32_t panel, int columns, hg_figure_axis *axis)
{
    struct edge edge = edge_of(figure, panel, columns);
    double cell = edge.cell_px / figure->unit;
    int names = edge.labels && edge.step == 1 && edge.pool == 1 && edge.cells <= MOST_NAMED;

    *axis = (hg_figure_axis){.kind = HG_AXIS_NONE};
    if (figure->thumbnails)
        return;
    if (names) {
        plan_names(figure, &edge, cell, axis);
        return;
    }
    {
        hg_figure_style style = {.size = 8.5};
        double token = cell / ((double)edge.step * edge.pool);
        uint64_t step = round_step(position_room / token);
        char text[24];
        int width, height;

        axis->kind = HG_AXIS_POSITIONS;
        axis->size = style.size;
        axis->step = step > UINT32_MAX ? UINT32_MAX : (uint32_t)step;
        snprintf(text, sizeof(text), "%llu",
                 (unsigned long long)edge.begin + (unsigned long long)edge.cells * edge.step);
        hg_figure_text_size(figure, &style, text, &width, &height);
        axis->extent = hg_figure_px(figure, TICK_GAP + TICK_LENGTH) + (columns ? height : width);
    }
}

/* A tick outside the frame, at the middle of a cell. */
static void tick(hg_figure_pen *pen, const hg_figure_map *map, int columns, double at)
{
    int line = hg_figure_px(pen->figure, 0.75) > 0 ? hg_figure_px(pen->figure, 0.75) : 1;
    int length = hg_figure_px(pen->figure, TICK_LENGTH);
    int gap = hg_figure_px(pen->figure, 0.5);

    if (columns)
        hg_figure_box(pen, HG_INK_LINE, map->x + (int)(at - line * 0.5), map->y + map->height + gap,
                      line, length);
    else
        hg_figure_box(pen, HG_INK_LINE, map->x - gap - length, map->y + (int)(at - line * 0.5),
                      length, line);
}

static void draw_names(hg_figure_pen *pen, const hg_figure_map *map, const hg_figure_axis *axis,
                       const struct edge *edge, int columns)
{
    hg_figure *figure = pen->figure;
    hg_figure_style style = label_style(figure, axis);
    hg_figure_style index = index_style(axis);
    int gap = hg_figure_px(figure, TICK_GAP + (axis->step > 1 ? TICK_LENGTH : 0));
    double drop = style.size * figure->unit * 0.36; /* from the middle of letters to the baseline */
    double index_drop = index.size * figure->unit * 0.36;

    for (uint32_t i = 0; i < edge->cells; i += axis->step) {
        double at = ((double)i + 0.5) * edge->cell_px;
        char text[24];
        int width;

        if (axis->step > 1)
            tick(pen, map, columns, at);
        if (columns)
            hg_figure_text_turned(pen, &style, edge->labels[i], map->x + at + drop,
                                  map->y + map->height + gap, 1.0);
        else
            hg_figure_text(pen, &style, edge->labels[i], map->x - gap, map->y + at + drop, 1.0);
        if (!has_index(axis, edge, i))
            continue;
        index_text(edge, i, text);
        hg_figure_text_size(figure, &style, edge->labels[i], &width, NULL);
        width += gap + hg_figure_px(figure, INDEX_GAP);
        if (columns)
            hg_figure_text_turned(pen, &index, text, map->x + at + index_drop,
                                  map->y + map->height + width, 1.0);
        else
            hg_figure_text(pen, &index, text, map->x - width, map->y + at + index_drop, 1.0);
    }
}

static void draw_positions(hg_figure_pen *pen, const hg_figure_map *map, const hg_figure_axis *axis,
                           const struct edge *edge, int columns)
{
    hg_figure *figure = pen->figure;
    hg_figure_style style = index_style(axis);
    uint64_t end = edge->begin + (uint64_t)edge->cells * edge->step;
    uint64_t first = ((uint64_t)edge->begin + axis->step - 1) / axis->step * axis->step;
    int gap = hg_figure_px(figure, TICK_GAP + TICK_LENGTH);
    double token = edge->cell_px / ((double)edge->step * edge->pool);

    for (uint64_t position = first; position < end; position += axis->step) {
        uint64_t shown = (position - edge->begin) / edge->step / edge->pool;
        double at = token < 1.0 ? (double)(position - edge->begin) * token
                                : ((double)shown + 0.5) * edge->cell_px;
        char text[24];

        snprintf(text, sizeof(text), "%llu", (unsigned long long)position);
        tick(pen, map, columns, at);
        if (columns)
            hg_figure_text(pen, &style, text, map->x + at,
                           map->y + map->height + gap + hg_figure_px(figure, style.size * 0.95),
                           0.5);
        else
            hg_figure_text(pen, &style, text, map->x - gap,
                           map->y + at + style.size * figure->unit * 0.36, 1.0);
    }
}

void hg_figure_axis_draw(hg_figure_pen *pen, uint32_t panel, int columns)
{
    const hg_figure_map *map = &pen->figure->maps[panel];
    const hg_figure_axis *axis = columns ? &map->column_axis : &map->row_axis;
    struct edge edge = edge_of(pen->figure, panel, columns);

    if (axis->kind == HG_AXIS_LABELS)
        draw_names(pen, map, axis, &edge, columns);
    else if (axis->kind == HG_AXIS_POSITIONS)
        draw_positions(pen, map, axis, &edge, columns);
}

/* 10 to the power, in superscript digits. */
static void power_text(char text[32], int power, const char *before)
{
    static const char *const digits[] = {"\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    int size = power < 0 ? -power : power;

    if (power == 0)
        snprintf(text, 32, "%s1", before);
    else if (size < 10)
        snprintf(text, 32, "%s10%s%s", before, power < 0 ? "\u207B" : "", digits[size]);
    else
        snprintf(text, 32, "%s10%s%s%s", before, power < 0 ? "\u207B" : "", digits[size / 10 % 10],
                 digits[size % 10]);
}

static int log_tick(const hg_figure *figure, const hg_figure_map *map, uint32_t i, char text[32],
                    double *place)
{
    double low = log10((double)figure->params.floor);
    double high = log10(map->maximum);
    int first = (int)ceil(low - 1e-6);
    int last = (int)floor(high + 1e-6);
    int decade;

    /* Tick 0 is the floor, which stands for everything below it too. */
    if (i == 0) {
        *place = 0.0;
        if (fabs(low - first) < 1e-6)
            power_text(text, first, "\u2264 ");
        else
            snprintf(text, 32, "\u2264 %.2g", (double)figure->params.floor);
        return 1;
    }
    decade = first + (fabs(low - first) < 1e-6 ? 1 : 0) + (int)i - 1;
    if (decade > last)
        return 0;
    *place = (decade - low) / (high - low);
    power_text(text, decade, "");
    return 1;
}

int hg_figure_bar_tick(const hg_figure *figure, const hg_figure_map *map, double room, uint32_t i,
                       char text[32], double *place)
{
    double wanted, ten, step, value;
    int decimals;

    if (figure->params.scale == HG_FIGURE_LOG)
        return log_tick(figure, map, i, text, place);
    wanted = map->maximum / (room >= 150.0 ? 5.0 : room >= 60.0 ? 2.0 : 1.0);
    ten = pow(10.0, floor(log10(wanted) + 1e-6));
    step = wanted / ten > 5.001 ? ten * 10.0 : wanted / ten > 2.001 ? ten * 5.0 : ten * 2.0;
    if (wanted / ten < 1.001)
        step = ten;
    value = step * i;
    if (value > map->maximum * 1.0001)
        return 0;
    decimals = step >= 1.0 ? 0 : (int)ceil(-log10(step) - 1e-6);
    snprintf(text, 32, "%.*f", decimals > 12 ? 12 : decimals, value);
    *place = value / map->maximum;
    return 1;
}
