/* SPDX-License-Identifier: MIT */
/*
 * Cells of a map to pixels: scale, mask, pooling. A map is painted at the picture's own resolution
 * and put on whole pixels, so that a cell is one flat colour that can be read back; the vector
 * formats get the same image, in which a viewer that smooths images can blur no more than a pixel
 * of it.
 */
#include "figure_parts.h"

#include "colormap.h"

#include <math.h>

int hg_figure_masked(const hg_figure_panel *panel, uint32_t row, uint32_t column)
{
    uint64_t row_step = panel->row_step ? panel->row_step : 1;
    uint64_t column_step = panel->column_step ? panel->column_step : 1;
    uint64_t query = panel->row_begin + row * row_step;
    uint64_t key = panel->column_begin + column * column_step;

    if (panel->masked && panel->masked[(size_t)row * panel->columns + column])
        return 1;
    if (!(panel->flags & HG_PANEL_CAUSAL))
        return 0;
    if (key > query + row_step - 1)
        return 1;
    return panel->window && key + column_step - 1 + panel->window <= query;
}

static float cell(const hg_figure_panel *panel, uint32_t row, uint32_t column)
{
    size_t stride = panel->row_stride ? panel->row_stride : panel->columns;

    return panel->cells[row * stride + column];
}

void hg_figure_map_scan(const hg_figure_panel *panel, hg_figure_map *map, int *has_masked)
{
    map->largest = 0.0;
    map->broken = 0;
    for (uint32_t row = 0; row < panel->rows; row++)
        for (uint32_t column = 0; column < panel->columns; column++) {
            double value = (double)cell(panel, row, column);

            if (hg_figure_masked(panel, row, column))
                *has_masked = 1;
            else if (!isfinite(value))
                map->broken++;
            else if (value > map->largest)
                map->largest = value;
        }
}

uint32_t hg_figure_value_color(const hg_figure *figure, const hg_figure_map *map, double value)
{
    double floor_value = (double)figure->params.floor;

    if (figure->params.scale == HG_FIGURE_LINEAR)
        return hg_colormap_viridis[hg_colormap_index(value / map->maximum)];
    if (!(value > floor_value))
        return hg_colormap_viridis[0];
    return hg_colormap_viridis[hg_colormap_index(log(value / floor_value) /
                                                 log(map->maximum / floor_value))];
}

uint32_t hg_figure_map_color(const hg_figure *figure, uint32_t panel_index, uint32_t row,
                             uint32_t column)
{
    const hg_figure_panel *panel = &figure->params.panels[panel_index];
    const hg_figure_map *map = &figure->maps[panel_index];
    uint32_t row_end = (row + 1) * map->pool < panel->rows ? (row + 1) * map->pool : panel->rows;
    uint32_t column_end =
        (column + 1) * map->pool < panel->columns ? (column + 1) * map->pool : panel->columns;
    double largest = -INFINITY;
    int any = 0;

    for (uint32_t i = row * map->pool; i < row_end; i++)
        for (uint32_t j = column * map->pool; j < column_end; j++) {
            double value = (double)cell(panel, i, j);

            if (hg_figure_masked(panel, i, j))
                continue;
            if (!isfinite(value))
                return HG_COLOR_BROKEN;
            any = 1;
            if (value > largest)
                largest = value;
        }
    return any ? hg_figure_value_color(figure, map, largest) : HG_COLOR_MASKED;
}

/* Paints an image on whole pixels; takes it. */
static hg_result paint(hg_figure_pen *pen, cairo_surface_t *image, int x, int y)
{
    cairo_surface_mark_dirty(image);
    cairo_set_source_surface(pen->cairo, image, x, y);
    cairo_pattern_set_filter(cairo_get_source(pen->cairo), CAIRO_FILTER_NEAREST);
    cairo_paint(pen->cairo);
    cairo_set_source_rgb(pen->cairo, 0.0, 0.0, 0.0);
    cairo_surface_destroy(image);
    return HG_OK;
}

static hg_result image_create(hg_figure_pen *pen, int width, int height, cairo_surface_t **out)
{
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);

    *out = NULL;
    if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS) {
        hg_result res = hg_fail(&pen->figure->params.log, HG_ERR_HOST_MEMORY,
                                "no memory for a map of %d x %d pixels", width, height);

        cairo_surface_destroy(image);
        return res;
    }
    cairo_surface_flush(image);
    *out = image;
    return HG_OK;
}

/* A row of pixels of an image of ours. Rows of cairo images are aligned to 4 bytes. */
static uint32_t *pixels_of(cairo_surface_t *image, int y)
{
    unsigned char *data = cairo_image_surface_get_data(image);

    return (uint32_t *)(void *)(data + (ptrdiff_t)y * cairo_image_surface_get_stride(image));
}

hg_result hg_figure_map_draw(hg_figure_pen *pen, uint32_t panel)
{
    const hg_figure_map *map = &pen->figure->maps[panel];
    cairo_surface_t *image;
    hg_result res = image_create(pen, map->width, map->height, &image);

    if (res != HG_OK)
        return res;
    for (uint32_t row = 0; row < map->rows; row++) {
        int top = (int)row * map->cell_height;
        uint32_t *first = pixels_of(image, top);

        for (uint32_t column = 0; column < map->columns; column++) {
            uint32_t color = hg_figure_map_color(pen->figure, panel, row, column);

            for (int x = 0; x < map->cell_width; x++)
                first[(int)column * map->cell_width + x] = color;
        }
        for (int y = 1; y < map->cell_height; y++) {
            uint32_t *line = pixels_of(image, top + y);

            for (int x = 0; x < map->width; x++)
                line[x] = first[x];
        }
    }
    hg_figure_frame(pen, map->x, map->y, map->width, map->height);
    return paint(pen, image, map->x, map->y);
}

static uint32_t gate_color(const hg_figure_panel *panel, const hg_figure_map *map, uint32_t row)
{
    uint32_t first = row * map->pool;
    uint32_t last = first + map->pool < panel->rows ? first + map->pool : panel->rows;
    double sum = 0.0;

    for (uint32_t i = first; i < last; i++)
        sum += (double)panel->gate[i];
    if (!isfinite(sum))
        return HG_COLOR_BROKEN;
    return hg_colormap_cividis[hg_colormap_index(sum / (last - first))];
}

hg_result hg_figure_gate_draw(hg_figure_pen *pen, uint32_t panel)
{
    const hg_figure_map *map = &pen->figure->maps[panel];
    cairo_surface_t *image;
    hg_result res = image_create(pen, map->gate_width, map->height, &image);

    if (res != HG_OK)
        return res;
    for (int y = 0; y < map->height; y++) {
        uint32_t row = (uint32_t)(y / map->cell_height);
        uint32_t color = gate_color(&pen->figure->params.panels[panel], map, row);
        uint32_t *line = pixels_of(image, y);

        for (int x = 0; x < map->gate_width; x++)
            line[x] = color;
    }
    hg_figure_frame(pen, map->gate_x, map->y, map->gate_width, map->height);
    return paint(pen, image, map->gate_x, map->y);
}

hg_result hg_figure_bar_draw(hg_figure_pen *pen, const uint32_t table[256], int x, int y, int width,
                             int height, int across)
{
    cairo_surface_t *image;
    hg_result res = image_create(pen, width, height, &image);

    if (res != HG_OK)
        return res;
    for (int j = 0; j < height; j++) {
        uint32_t *line = pixels_of(image, j);

        for (int i = 0; i < width; i++) {
            double place = across ? (i + 0.5) / width : 1.0 - (j + 0.5) / height;

            line[i] = table[hg_colormap_index(place)];
        }
    }
    hg_figure_frame(pen, x, y, width, height);
    return paint(pen, image, x, y);
}

void hg_figure_box(hg_figure_pen *pen, uint32_t color, int x, int y, int width, int height)
{
    cairo_set_source_rgb(pen->cairo, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0,
                         (color & 255) / 255.0);
    cairo_rectangle(pen->cairo, x, y, width, height);
    cairo_fill(pen->cairo);
}

void hg_figure_frame(hg_figure_pen *pen, int x, int y, int width, int height)
{
    int line = hg_figure_px(pen->figure, 0.5);

    line = line > 0 ? line : 1;
    hg_figure_box(pen, HG_INK_LINE, x - line, y - line, width + 2 * line, line);
    hg_figure_box(pen, HG_INK_LINE, x - line, y + height, width + 2 * line, line);
    hg_figure_box(pen, HG_INK_LINE, x - line, y, line, height);
    hg_figure_box(pen, HG_INK_LINE, x + width, y, line, height);
}
