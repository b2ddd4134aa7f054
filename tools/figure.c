/* SPDX-License-Identifier: MIT */
/* The public face of figures: checks params, makes the surface of each format, answers where cells
 * are. */
#include "figure.h"

#include "figure_parts.h"
#include "png_writer.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hg_result check_panel(const hg_figure_params *params, uint32_t index)
{
    const hg_figure_panel *panel = &params->panels[index];

    if (!panel->cells)
        return HG_OK;
    if (panel->rows < 1 || panel->columns < 1 || panel->rows > HG_FIGURE_MAX_CELLS ||
        panel->columns > HG_FIGURE_MAX_CELLS)
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "panel %u has %u x %u cells; 1 to %d an edge can be drawn", (unsigned)index,
                       (unsigned)panel->rows, (unsigned)panel->columns, HG_FIGURE_MAX_CELLS);
    if (panel->row_stride && panel->row_stride < panel->columns)
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "panel %u: rows of %u cells cannot be %zu cells apart", (unsigned)index,
                       (unsigned)panel->columns, panel->row_stride);
    for (uint32_t i = 0; panel->row_labels && i < panel->rows; i++)
        if (!panel->row_labels[i])
            return hg_fail(&params->log, HG_ERR_ARGUMENT, "panel %u: label %u of the rows is NULL",
                           (unsigned)index, (unsigned)i);
    for (uint32_t i = 0; panel->column_labels && i < panel->columns; i++)
        if (!panel->column_labels[i])
            return hg_fail(&params->log, HG_ERR_ARGUMENT,
                           "panel %u: label %u of the columns is NULL", (unsigned)index,
                           (unsigned)i);
    return HG_OK;
}

static hg_result check_numbers(const hg_figure_params *params)
{
    if (!(params->dpi >= 24.0 && params->dpi <= 1200.0))
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "a figure has 24 to 1200 dots per inch, %g were asked for", params->dpi);
    if (params->map_size > 8192)
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "a map is at most 8192 layout pixels wide, %u were asked for",
                       (unsigned)params->map_size);
    if (!isfinite(params->maximum) || params->maximum <= 0.0f || !isfinite(params->floor) ||
        params->floor <= 0.0f ||
        (params->scale == HG_FIGURE_LOG && params->floor >= params->maximum * 0.999f))
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "the colours of a figure must go from a floor above 0 up to a larger "
                       "maximum, found %g to %g",
                       (double)params->floor, (double)params->maximum);
    return HG_OK;
}

static hg_result check_params(const hg_figure_params *params)
{
    hg_result res = check_numbers(params);
    int any = 0;

    if (res != HG_OK)
        return res;
    if (!params->panels || params->panel_count < 1 || params->panel_count > HG_FIGURE_MAX_PANELS)
        return hg_fail(&params->log, HG_ERR_ARGUMENT, "a figure has 1 to %d panels, %u were given",
                       HG_FIGURE_MAX_PANELS, (unsigned)params->panel_count);
    for (uint32_t i = 0; i < params->fact_count; i++)
        if (!hg_png_key_valid(params->facts[i].key) || !params->facts[i].value)
            return hg_fail(&params->log, HG_ERR_ARGUMENT,
                           "fact %u of the figure needs a value and a key of 1 to 79 printable "
                           "ASCII characters, found the key \"%.80s\"",
                           (unsigned)i, params->facts[i].key ? params->facts[i].key : "");
    for (uint32_t i = 0; i < params->panel_count; i++) {
        any |= params->panels[i].cells != NULL;
        res = check_panel(params, i);
        if (res != HG_OK)
            return res;
    }
    return any ? HG_OK
               : hg_fail(&params->log, HG_ERR_ARGUMENT, "none of the %u panels has cells",
                         (unsigned)params->panel_count);
}

static void take_params(hg_figure *figure, const hg_figure_params *params)
{
    size_t size = params->struct_size;

    if (size == 0 || size > sizeof(figure->params))
        size = sizeof(figure->params);
    memcpy(&figure->params, params, size);
    if (figure->params.dpi == 0.0)
        figure->params.dpi = 192.0;
    if (figure->params.maximum == 0.0f)
        figure->params.maximum = 1.0f;
    if (figure->params.floor == 0.0f)
        figure->params.floor = 1e-4f;
    if (!figure->params.value_name)
        figure->params.value_name = "attention probability";
    figure->unit = figure->params.dpi / 96.0;
}

/* Largest values, and a word about cells that are no numbers. */
static void scan_panels(hg_figure *figure)
{
    const hg_figure_params *params = &figure->params;
    double least = params->scale == HG_FIGURE_LOG ? (double)params->floor * 1.01 : 1e-12;
    uint64_t broken = 0;
    uint32_t first = 0;

    for (uint32_t i = 0; i < params->panel_count; i++) {
        hg_figure_map *map = &figure->maps[i];

        map->maximum = (double)params->maximum;
        if (!params->panels[i].cells)
            continue;
        hg_figure_map_scan(&params->panels[i], map, &figure->has_masked);
        if (params->range == HG_FIGURE_PER_PANEL)
            map->maximum = map->largest > least ? map->largest : least;
        if (params->panels[i].gate)
            figure->has_gate = 1;
        if (map->broken && !broken)
            first = i;
        broken += map->broken;
    }
    if (broken)
        hg_say(&params->log, HG_LOG_WARNING,
               "%llu cells, the first in panel %u, are not finite numbers and are drawn in "
               "magenta",
               (unsigned long long)broken, (unsigned)first);
}

/* Text is measured and drawn without hinting, so that it looks the same in every format. */
static hg_result open_fonts(hg_figure *figure)
{
    cairo_font_options_t *options = cairo_font_options_create();
    hg_result res = HG_OK;

    figure->fonts = pango_cairo_font_map_new();
    figure->context = figure->fonts ? pango_font_map_create_context(figure->fonts) : NULL;
    if (!figure->context || cairo_font_options_status(options) != CAIRO_STATUS_SUCCESS) {
        res = hg_fail(&figure->params.log, HG_ERR_HOST_MEMORY, "no memory for the fonts");
        goto out;
    }
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(figure->context, options);
    pango_cairo_context_set_resolution(figure->context, 96.0);
    pango_context_set_round_glyph_positions(figure->context, FALSE);
out:
    cairo_font_options_destroy(options);
    return res;
}

hg_result hg_figure_create(const hg_figure_params *params, hg_figure **out)
{
    hg_figure *figure;
    hg_result res;

    *out = NULL;
    figure = calloc(1, sizeof(*figure));
    if (!figure)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no memory for a figure");
    take_params(figure, params);
    HG_TRY(check_params(&figure->params));
    figure->maps = calloc(figure->params.panel_count, sizeof(*figure->maps));
    if (!figure->maps) {
        res = hg_fail(&figure->params.log, HG_ERR_HOST_MEMORY, "no memory for %u panels",
                      (unsigned)figure->params.panel_count);
        goto out;
    }
    scan_panels(figure);
    HG_TRY(open_fonts(figure));
    HG_TRY(hg_figure_place(figure));
    *out = figure;
    figure = NULL;
out:
    hg_figure_destroy(&figure);
    return res;
}

void hg_figure_destroy(hg_figure **figure)
{
    if (!figure || !*figure)
        return;
    if ((*figure)->context)
        g_object_unref((*figure)->context);
    if ((*figure)->fonts)
        g_object_unref((*figure)->fonts);
    free((*figure)->maps);
    free((*figure)->row_title_y);
    free(*figure);
    *figure = NULL;
}

/* What a drawing costs and whether cairo is content. */
static hg_result draw_on(hg_figure *figure, cairo_surface_t *surface, double scale,
                         hg_figure_buffer *words)
{
    cairo_t *cairo = cairo_create(surface);
    hg_figure_pen pen = {.figure = figure, .cairo = cairo, .words = words};
    cairo_status_t status;
    hg_result res = HG_OK;

    pen.vector = cairo_surface_get_type(surface) != CAIRO_SURFACE_TYPE_IMAGE;
    cairo_scale(cairo, scale, scale);
    if (cairo_status(cairo) == CAIRO_STATUS_SUCCESS)
        res = hg_figure_draw(&pen);
    cairo_show_page(cairo);
    status = cairo_status(cairo);
    cairo_destroy(cairo);
    if (res == HG_OK && status != CAIRO_STATUS_SUCCESS)
        res = hg_fail(&figure->params.log,
                      status == CAIRO_STATUS_NO_MEMORY ? HG_ERR_HOST_MEMORY : HG_ERR_OUTPUT,
                      "cairo could not draw the figure of %d x %d pixels: %s", figure->width,
                      figure->height, cairo_status_to_string(status));
    return res;
}

static hg_result write_png(hg_figure *figure, const hg_figure_sink *sink)
{
    const hg_figure_params *params = &figure->params;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, figure->width, figure->height);
    hg_png_image image = {.width = (uint32_t)figure->width, .height = (uint32_t)figure->height};
    hg_result res;

    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
        res = hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no memory for a picture of %d x %d pixels",
                      figure->width, figure->height);
        goto out;
    }
    HG_TRY(draw_on(figure, surface, 1.0, NULL));
    cairo_surface_flush(surface);
    image.pixels = cairo_image_surface_get_data(surface);
    image.stride = (size_t)cairo_image_surface_get_stride(surface);
    image.dpi = params->dpi;
    res = hg_png_write(&image, params->facts, params->fact_count, sink, &params->log);
out:
    cairo_surface_destroy(surface);
    return res;
}

static cairo_status_t to_buffer(void *user, const unsigned char *data, unsigned bytes)
{
    hg_figure_buffer *buffer = user;

    hg_figure_buffer_put(buffer, data, bytes);
    return buffer->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* Facts have no place of their own in a PDF that cairo 1.16 writes: they are the subject. */
static void put_pdf_facts(hg_figure *figure, cairo_surface_t *surface)
{
    const hg_figure_params *params = &figure->params;
    hg_figure_buffer subject = {0};

    for (uint32_t i = 0; i < params->fact_count; i++) {
        hg_figure_buffer_put(&subject, params->facts[i].key, strlen(params->facts[i].key));
        hg_figure_buffer_put(&subject, ": ", 2);
        hg_figure_buffer_put(&subject, params->facts[i].value, strlen(params->facts[i].value));
        hg_figure_buffer_put(&subject, "\n", 1);
    }
    hg_figure_buffer_put(&subject, "", 1);
    if (!subject.failed) {
        char *valid = hg_figure_text_clean(subject.data, SIZE_MAX, 1);

        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_SUBJECT, valid);
        g_free(valid);
    }
    free(subject.data);
    if (params->title) {
        char *valid = hg_figure_text_clean(params->title, SIZE_MAX, 1);

        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, valid);
        g_free(valid);
    }
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR,
                                   "headgate " HG_VERSION_STRING);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                   params->created ? params->created : "1970-01-01T00:00:00Z");
}

/* Both are made in memory: a drawing that fails half-way leaves no half of a file at the sink. */
static hg_result write_vector(hg_figure *figure, hg_figure_format format,
                              const hg_figure_sink *sink)
{
    const double point = 72.0 / figure->params.dpi;
    double width = figure->width * point, height = figure->height * point;
    hg_figure_buffer file = {0}, words = {0};
    cairo_surface_t *surface;
    cairo_status_t status;
    hg_result res;

    if (format == HG_FIGURE_SVG) {
        surface = cairo_svg_surface_create_for_stream(to_buffer, &file, width, height);
        cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PT);
    } else {
        surface = cairo_pdf_surface_create_for_stream(to_buffer, &file, width, height);
        /* Later versions put the facts into compressed streams, where grep does not find them. */
        cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_4);
        put_pdf_facts(figure, surface);
    }
    res = draw_on(figure, surface, point, format == HG_FIGURE_SVG ? &words : NULL);
    cairo_surface_finish(surface);
    status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (res == HG_OK && (status != CAIRO_STATUS_SUCCESS || file.failed || words.failed))
        res = hg_fail(&figure->params.log,
                      file.failed || words.failed || status == CAIRO_STATUS_NO_MEMORY
                          ? HG_ERR_HOST_MEMORY
                          : HG_ERR_OUTPUT,
                      "cairo could not finish the %s: %s", format == HG_FIGURE_SVG ? "SVG" : "PDF",
                      cairo_status_to_string(status));
    if (res != HG_OK)
        goto out;
    if (format == HG_FIGURE_SVG)
        res = hg_figure_svg_finish(figure, &file, &words, sink);
    else
        res = sink->write(sink->user, file.data, file.size);
out:
    free(file.data);
    free(words.data);
    return res;
}

hg_result hg_figure_write(hg_figure *figure, hg_figure_format format, const hg_figure_sink *sink)
{
    if (!figure || !sink || !sink->write)
        return HG_ERR_ARGUMENT;
    switch (format) {
    case HG_FIGURE_PNG:
        return write_png(figure, sink);
    case HG_FIGURE_SVG:
    case HG_FIGURE_PDF:
        return write_vector(figure, format, sink);
    }
    return hg_fail(&figure->params.log, HG_ERR_ARGUMENT, "there is no figure format %d",
                   (int)format);
}

void hg_figure_size(const hg_figure *figure, uint32_t *width, uint32_t *height)
{
    *width = (uint32_t)figure->width;
    *height = (uint32_t)figure->height;
}

hg_result hg_figure_cell(const hg_figure *figure, uint32_t panel, uint32_t row, uint32_t column,
                         uint32_t *x, uint32_t *y, uint32_t *pooled)
{
    const hg_figure_map *map;

    if (panel >= figure->params.panel_count || !figure->params.panels[panel].cells ||
        row >= figure->params.panels[panel].rows || column >= figure->params.panels[panel].columns)
        return HG_ERR_ARGUMENT;
    map = &figure->maps[panel];
    *x = (uint32_t)(map->x + (int)(column / map->pool) * map->cell_width + map->cell_width / 2);
    *y = (uint32_t)(map->y + (int)(row / map->pool) * map->cell_height + map->cell_height / 2);
    if (pooled)
        *pooled = map->pool;
    return HG_OK;
}

hg_result hg_figure_gate_cell(const hg_figure *figure, uint32_t panel, uint32_t row, uint32_t *x,
                              uint32_t *y)
{
    uint32_t unused;
    hg_result res = hg_figure_cell(figure, panel, row, 0, &unused, y, NULL);

    if (res != HG_OK || !figure->params.panels[panel].gate)
        return HG_ERR_ARGUMENT;
    *x = (uint32_t)(figure->maps[panel].gate_x + figure->maps[panel].gate_width / 2);
    return HG_OK;
}

hg_result hg_figure_format_of(const char *path, hg_figure_format *format)
{
    static const char *const endings[] = {".png", ".svg", ".pdf"};
    const char *dot = path ? strrchr(path, '.') : NULL;

    for (int i = 0; dot && i < 3; i++)
        if (g_ascii_strcasecmp(dot, endings[i]) == 0) {
            *format = (hg_figure_format)i;
            return HG_OK;
        }
    return HG_ERR_ARGUMENT;
}

const char *hg_figure_share_note(char *text, size_t bytes, double share, double uniform)
{
    /* Two figures of the uniform share, which falls as the prompt grows. */
    const int digits = uniform >= 0.095 ? 2 : uniform >= 0.0095 ? 3 : 4;

    snprintf(text, bytes, "first token %.*f (uniform %.*f)", digits, share, digits, uniform);
    return text;
}
