/* SPDX-License-Identifier: MIT */
/* Draws a laid-out figure on any cairo surface, in the picture pixels of its PNG. */
#include "figure_parts.h"

#include "colormap.h"

static void draw_title(hg_figure_pen *pen, uint32_t index)
{
    hg_figure *figure = pen->figure;
    const hg_figure_panel *panel = &figure->params.panels[index];
    const hg_figure_map *map = &figure->maps[index];
    hg_figure_style title, note;
    char text[256];
    const char *after = hg_figure_note(figure, index, text);
    int width = 0, note_width = 0;

    hg_figure_panel_styles(figure, &title, &note);
    title.max_width = map->title_width;
    if (panel->title && *panel->title) {
        hg_figure_text_size(figure, &title, panel->title, &width, NULL);
        hg_figure_text(pen, &title, panel->title, map->x, map->title_y, 0.0);
        width += hg_figure_px(figure, figure->thumbnails ? 5.0 : 8.0);
    }
    if (!*after)
        return;
    /* A note cut in its middle would be a wrong number: whole, or not at all. */
    hg_figure_text_size(figure, &note, after, &note_width, NULL);
    if (width + note_width <= map->title_width)
        hg_figure_text(pen, &note, after, map->x + width, map->title_y, 0.0);
}

static hg_result draw_gate(hg_figure_pen *pen, uint32_t index)
{
    hg_figure *figure = pen->figure;
    const hg_figure_map *map = &figure->maps[index];
    hg_result res = hg_figure_gate_draw(pen, index);

    if (res == HG_OK && map->column_axis.kind != HG_AXIS_NONE) {
        hg_figure_style style = hg_style_tick;

        style.color = HG_INK_NOTE;
        hg_figure_text_turned(pen, &style, "gate",
                              map->gate_x + map->gate_width * 0.5 +
                                  style.size * figure->unit * 0.36,
                              map->y + map->height + hg_figure_px(figure, 3.0), 1.0);
    }
    return res;
}

static hg_result draw_bar(hg_figure_pen *pen, uint32_t index)
{
    hg_figure *figure = pen->figure;
    const hg_figure_map *map = &figure->maps[index];
    int line = hg_figure_px(figure, 0.75) > 0 ? hg_figure_px(figure, 0.75) : 1;
    int x = map->bar_x + map->bar_width + hg_figure_px(figure, 0.5);
    double room = map->height / figure->unit;
    double place;
    char text[32];
    hg_result res = hg_figure_bar_draw(pen, hg_colormap_viridis, map->bar_x, map->y, map->bar_width,
                                       map->height, 0);

    for (uint32_t i = 0; res == HG_OK && hg_figure_bar_tick(figure, map, room, i, text, &place);
         i++) {
        double y = map->y + map->height * (1.0 - place);

        hg_figure_box(pen, HG_INK_LINE, x, (int)(y - line * 0.5), hg_figure_px(figure, 3.0), line);
        hg_figure_text(pen, &hg_style_tick, text, x + hg_figure_px(figure, 5.0),
                       y + hg_style_tick.size * figure->unit * 0.36, 0.0);
    }
    return res;
}

static hg_result draw_panel(hg_figure_pen *pen, uint32_t index)
{
    const hg_figure_panel *panel = &pen->figure->params.panels[index];
    hg_result res = hg_figure_map_draw(pen, index);

    if (res != HG_OK)
        return res;
    draw_title(pen, index);
    hg_figure_axis_draw(pen, index, 0);
    hg_figure_axis_draw(pen, index, 1);
    if (panel->gate)
        res = draw_gate(pen, index);
    if (res == HG_OK && pen->figure->maps[index].bar_width)
        res = draw_bar(pen, index);
    return res;
}

static void draw_block(hg_figure_pen *pen, const hg_figure_style *style, const char *text, int y)
{
    hg_figure_style wrapped = *style;

    wrapped.max_width = pen->figure->content_width;
    if (text && *text)
        hg_figure_text_block(pen, &wrapped, text, pen->figure->margin, y);
}

hg_result hg_figure_draw(hg_figure_pen *pen)
{
    hg_figure *figure = pen->figure;
    const hg_figure_params *params = &figure->params;
    hg_result res;

    cairo_set_source_rgb(pen->cairo, 1.0, 1.0, 1.0);
    cairo_paint(pen->cairo);
    draw_block(pen, &hg_style_title, params->title, figure->title_y);
    draw_block(pen, &hg_style_subtitle, params->subtitle, figure->subtitle_y);
    res = hg_figure_legend(figure, pen, figure->legend_x, figure->legend_y, NULL);
    for (uint32_t row = 0; res == HG_OK && params->row_titles && row < figure->grid_rows; row++)
        if (params->layout == HG_FIGURE_GRID && params->row_titles[row])
            hg_figure_text(pen, &hg_style_row_title, params->row_titles[row], figure->margin,
                           figure->row_title_y[row], 0.0);
    for (uint32_t i = 0; res == HG_OK && i < params->panel_count; i++)
        if (params->panels[i].cells)
            res = draw_panel(pen, i);
    draw_block(pen, &hg_style_footer, params->footer, figure->footer_y);
    return res;
}
