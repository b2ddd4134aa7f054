/* SPDX-License-Identifier: MIT */
/* The keys of a figure: the shared colour bar of a grid, the gate's colours, what grey means, which
 * way to read, how many cells share a pixel. Items flow into lines; an item that does not apply is
 * not there. */
#include "figure_parts.h"

#include "colormap.h"

#include <stdio.h>

struct flow {
    hg_figure *figure;
    hg_figure_pen *pen; /* NULL: measuring */
    int left, x, y;
    int line_height, bottom;
    hg_result res;
};

static const hg_figure_style key_style = {.size = 9.0, .color = HG_INK_NOTE};

static int px(const struct flow *flow, double layout_px)
{
    return hg_figure_px(flow->figure, layout_px);
}

static int word_width(struct flow *flow, const hg_figure_style *style, const char *text)
{
    int width;

    hg_figure_text_size(flow->figure, style, text, &width, NULL);
    return width;
}

/* Room for an item of this width; the next line when it does not fit. */
static void begin(struct flow *flow, int width, double height)
{
    if (flow->x > flow->left && flow->x + width > flow->left + flow->figure->content_width) {
        flow->x = flow->left;
        flow->y += flow->line_height + px(flow, 6.0);
        flow->line_height = 0;
    }
    if (px(flow, height) > flow->line_height)
        flow->line_height = px(flow, height);
    flow->bottom = flow->y + flow->line_height;
}

static void end(struct flow *flow, int width)
{
    flow->x += width + px(flow, 22.0);
}

static void word(struct flow *flow, const hg_figure_style *style, const char *text, int x,
                 double baseline, double align)
{
    if (flow->pen)
        hg_figure_text(flow->pen, style, text, x, flow->y + px(flow, baseline), align);
}

/* What the colours are, in words. */
static const char *scale_text(const hg_figure *figure, const char *before, char text[160])
{
    if (figure->params.scale == HG_FIGURE_LOG)
        snprintf(text, 160, "%s%.100s, log scale from %.2g", before, figure->params.value_name,
                 (double)figure->params.floor);
    else
        snprintf(text, 160, "%s%.100s", before, figure->params.value_name);
    return text;
}

/* The name, then the bar with its ticks under it. */
static void value_bar(struct flow *flow)
{
    const hg_figure_params *params = &flow->figure->params;
    hg_figure_map scale = {.maximum = (double)params->maximum};
    char words[160];
    int name = word_width(flow, &key_style, scale_text(flow->figure, "", words));
    int bar = px(flow, 190.0), gap = px(flow, 8.0);
    int width = name + gap + bar + px(flow, 8.0);
    int x;

    begin(flow, width, 23.0);
    x = flow->x + name + gap;
    word(flow, &key_style, words, flow->x, 8.5, 0.0);
    if (flow->pen && flow->res == HG_OK) {
        char text[32];
        double place;
        int relative = params->range == HG_FIGURE_PER_PANEL;

        flow->res =
            hg_figure_bar_draw(flow->pen, hg_colormap_viridis, x, flow->y, bar, px(flow, 10.0), 1);
        for (uint32_t i = 0;
             !relative && hg_figure_bar_tick(flow->figure, &scale, 190.0, i, text, &place); i++) {
            hg_figure_box(
                flow->pen, HG_INK_LINE, x + (int)(place * bar + 0.5) - (i ? px(flow, 0.5) : 0),
                flow->y + px(flow, 10.5), px(flow, 0.75) > 0 ? px(flow, 0.75) : 1, px(flow, 2.5));
            word(flow, &hg_style_tick, text, x + (int)(place * bar), 22.0, 0.5);
        }
        if (relative) {
            word(flow, &hg_style_tick, params->scale == HG_FIGURE_LOG ? "floor" : "0", x, 22.0,
                 0.0);
            word(flow, &hg_style_tick, "largest of the panel", x + bar, 22.0, 1.0);
        }
    }
    end(flow, width);
}

static void gate_key(struct flow *flow)
{
    int name = word_width(flow, &key_style, "mean gate  0");
    int one = word_width(flow, &key_style, "1");
    int bar = px(flow, 60.0), gap = px(flow, 5.0);
    int width = name + gap + bar + gap + one;

    begin(flow, width, 11.0);
    word(flow, &key_style, "mean gate  0", flow->x, 8.5, 0.0);
    if (flow->pen && flow->res == HG_OK)
        flow->res = hg_figure_bar_draw(flow->pen, hg_colormap_cividis, flow->x + name + gap,
                                       flow->y, bar, px(flow, 10.0), 1);
    word(flow, &key_style, "1", flow->x + name + gap + bar + gap, 8.5, 0.0);
    end(flow, width);
}

static void swatch(struct flow *flow, uint32_t color, const char *text)
{
    int box = px(flow, 10.0), gap = px(flow, 5.0);
    int width = box + gap + word_width(flow, &key_style, text);

    begin(flow, width, 11.0);
    if (flow->pen) {
        hg_figure_frame(flow->pen, flow->x, flow->y, box, box);
        hg_figure_box(flow->pen, color, flow->x, flow->y, box, box);
    }
    word(flow, &key_style, text, flow->x + box + gap, 8.5, 0.0);
    end(flow, width);
}

static void remark(struct flow *flow, const char *text)
{
    int width = word_width(flow, &key_style, text);

    begin(flow, width, 11.0);
    word(flow, &key_style, text, flow->x, 8.5, 0.0);
    end(flow, width);
}

hg_result hg_figure_legend(hg_figure *figure, hg_figure_pen *pen, int x, int y, int *height)
{
    struct flow flow = {.figure = figure, .pen = pen, .left = x, .x = x, .y = y, .bottom = y};
    uint64_t broken = 0;
    char text[160];

    if (figure->params.layout == HG_FIGURE_GRID)
        value_bar(&flow);
    else
        remark(&flow, scale_text(figure, "colour: ", text));
    remark(&flow, "\u2193 query  \u2192 key");
    if (figure->has_gate)
        gate_key(&flow);
    if (figure->has_masked)
        swatch(&flow, HG_COLOR_MASKED, "masked");
    for (uint32_t i = 0; i < figure->params.panel_count; i++)
        broken += figure->maps[i].broken;
    if (broken)
        swatch(&flow, HG_COLOR_BROKEN, "not a number");
    if (figure->max_pool > 1) {
        snprintf(text, sizeof(text), "a pixel shows the largest of up to %u \u00D7 %u cells",
                 (unsigned)figure->max_pool, (unsigned)figure->max_pool);
        remark(&flow, text);
    }
    if (height)
        *height = flow.bottom - y;
    return flow.res;
}
