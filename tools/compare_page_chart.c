/* SPDX-License-Identifier: MIT */
/* The chart of a page: every stage in the order of execution, and how near it is to what is
 * allowed: end to end in roundings on the left, isolated as shares of a bound on the right. */
#include "compare_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In units of the viewBox; zero has no logarithm, so it lies on a line of its own below. */
enum { WIDTH = 1080, LEFT = 58, RIGHT = 52, TOP = 52, PLOT = 220, ZERO = 22, STRIP = 18 };
enum { LABEL = 22, PIECES = 18, BOTTOM = 12 };

typedef struct chart {
    const hg_compare_side *side;
    hg_output *output;
    int low, high; /* decades */
    double step;   /* from a stage to the next */
    int has_strip; /* bits count */
    int in_pieces;
} chart;

/* Below the plot: the strip of bits if there is one, then labels. */
static int floor_of(const chart *c)
{
    return TOP + PLOT + ZERO + (c->has_strip ? STRIP : 0);
}

static int height_of(const chart *c)
{
    return floor_of(c) + LABEL + (c->in_pieces ? PIECES : 0) + BOTTOM;
}

static double x_of(const chart *c, uint32_t row)
{
    return LEFT + ((double)row + 0.5) * c->step;
}

static double y_of(const chart *c, double share)
{
    double decade;

    if (share == 0)
        return TOP + PLOT + ZERO - 6;
    if (!isfinite(share))
        return TOP;
    decade = log10(share);
    decade = decade < c->low ? c->low : decade > c->high ? c->high : decade;
    return TOP + PLOT * (c->high - decade) / (c->high - c->low);
}

/* Above 1 there is always a decade, so that the line at 1 has two sides. */
static void settle_decades(chart *c)
{
    double least = 0.1, most = 10;

    for (uint32_t i = 0; i < c->side->row_count; i++) {
        const hg_stage_row *row = &c->side->rows[i];
        const double shares[] = {hg_stage_free_share(row),
                                 row->is_isolated ? row->excess.worst : 0};

        for (int k = 0; k < 2; k++) {
            if (shares[k] > 0 && shares[k] < least)
                least = shares[k];
            if (isfinite(shares[k]) && shares[k] > most)
                most = shares[k];
        }
    }
    c->low = least < 1e-6 ? -6 : (int)floor(log10(least));
    c->high = most > 1e12 ? 12 : (int)ceil(log10(most));
    c->step = (double)(WIDTH - LEFT - RIGHT) / (c->side->row_count ? c->side->row_count : 1);
}

/* A power of ten: "0.01", "100", then in superscripts. */
static const char *power_text(int decade, char text[32])
{
    static const char *const raised[] = {
        "\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
        "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    const int size = abs(decade);

    if (size <= 2)
        snprintf(text, 32, "%g", pow(10, decade));
    else
        snprintf(text, 32, "10%s%s%s", decade < 0 ? "\xE2\x81\xBB" : "",
                 size >= 10 ? raised[1] : "", raised[size % 10]);
    return text;
}

/* Numbers of an axis: unit is what a share of 1 is in it. */
static void put_numbers(const chart *c, double unit, int x, const char *anchor)
{
    const int low = (int)ceil(c->low + log10(unit) - 1e-9);
    const int high = (int)floor(c->high + log10(unit) + 1e-9);
    const int every = (high - low + 7) / 8;

    for (int d = low; d <= high; d++) {
        const double y = y_of(c, pow(10, d) / unit);
        char text[32];

        /* Not over the number at the bound. */
        if ((d - low) % (every ? every : 1) || fabs(y - y_of(c, 1)) < 13)
            continue;
        hg_page_put(c->output, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y + 4,
                    anchor, power_text(d, text));
        hg_page_put(c->output, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>\n",
                    unit == 1 ? WIDTH - RIGHT - 5 : LEFT, y, unit == 1 ? WIDTH - RIGHT : LEFT + 5);
        if (unit != 1)
            hg_page_put(c->output, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>\n", LEFT, y,
                        WIDTH - RIGHT);
    }
    hg_page_put(c->output,
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"%s\">0</text>\n<text class=\"onetext\" "
                "x=\"%d\" y=\"%.1f\" text-anchor=\"%s\">%g</text>\n",
                x, y_of(c, 0) + 4, anchor, x, y_of(c, 1) + 4, anchor, unit);
}

static void put_scale(const chart *c)
{
    const double one = y_of(c, 1);

    hg_page_put(c->output,
                "<rect class=\"zone\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%.1f\"/>\n", LEFT,
                TOP, WIDTH - LEFT - RIGHT, one - TOP);
    put_numbers(c, HG_COMPARE_ROUNDINGS, LEFT - 6, "end");
    put_numbers(c, 1, WIDTH - RIGHT + 6, "start");
    hg_page_put(
        c->output,
        "<path class=\"axis\" d=\"M%d %.1fH%d\"/>\n<path class=\"one\" d=\"M%d %.1fH%d\"/>\n"
        "<text x=\"4\" y=\"12\">roundings</text><text x=\"%d\" y=\"12\" "
        "text-anchor=\"end\">of bound</text>\n",
        LEFT, y_of(c, 0), WIDTH - RIGHT, LEFT, one, WIDTH - RIGHT, WIDTH - 4);
}

/* Under exact a bit counts: which stages have the baseline's. */
static void put_strip(const chart *c)
{
    const int y = TOP + PLOT + ZERO + 4;

    hg_page_put(c->output, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">bits</text>\n", LEFT - 6,
                y + 9);
    for (uint32_t i = 0; i < c->side->row_count; i++) {
        const hg_stage_row *row = &c->side->rows[i];
        char label[64];

        hg_page_put(c->output,
                    "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"10\">"
                    "<title>%s: %s</title></rect>\n",
                    row->is_other ? "bad" : "good", LEFT + c->step * i, y,
                    c->step > 3 ? c->step - 1 : c->step, hg_stage_head_label(&row->head, label),
                    row->is_other ? "other bits" : "same bits");
    }
}

/* Stages that follow each other in one layer; maps are made after the prompt, layer by layer. */
static int group_of(const hg_stage_row *row)
{
    return strcmp(row->head.name, "attn_probs") == 0 ? -2 : row->head.layer;
}

static void put_layers(const chart *c)
{
    const hg_compare_side *side = c->side;
    uint32_t shade = 0;

    for (uint32_t i = 0, next; i < side->row_count; i = next) {
        const int group = group_of(&side->rows[i]);
        double wide;
        char text[32];

        for (next = i + 1; next < side->row_count && group_of(&side->rows[next]) == group;)
            next++;
        wide = c->step * (next - i);
        if (shade++ % 2)
            hg_page_put(c->output,
                        "<rect class=\"band\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                        LEFT + c->step * i, TOP, wide, floor_of(c) - TOP);
        if (group == -2)
            snprintf(text, sizeof(text), "maps");
        else
            snprintf(text, sizeof(text), "%s%d", wide > 56 ? "layer " : "", group + 1);
        if (group != -1 && wide > 16)
            hg_page_put(c->output, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                        LEFT + c->step * i + wide / 2, floor_of(c) + 16, text);
    }
}

/* Tokens of each piece, below the layers that it went through. */
static void put_pieces(const chart *c)
{
    const hg_compare_side *side = c->side;
    const int y = floor_of(c) + LABEL;

    for (uint32_t i = 0, next; i < side->row_count; i = next) {
        char piece[32], other[32];

        hg_stage_piece(&side->rows[i].head, piece);
        for (next = i + 1; next < side->row_count; next++)
            if (strcmp(piece, hg_stage_piece(&side->rows[next].head, other)) != 0)
                break;
        hg_page_put(c->output,
                    "<path class=\"axis\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
                    "text-anchor=\"middle\">%s%s</text>\n",
                    LEFT + c->step * i, TOP, y + PIECES, LEFT + c->step * (i + next) / 2, y + 12,
                    c->step * (next - i) > 110 ? "tokens " : "", piece);
    }
}

static void put_point(const chart *c, uint32_t index, double share, int is_beyond, int isolated)
{
    const hg_stage_head *head = &c->side->rows[index].head;
    const double x = x_of(c, index), y = y_of(c, share);
    const double size = is_beyond ? 4.5 : c->step > 7 ? 3 : c->step > 4 ? 2.2 : 1.5;
    const char *kind = is_beyond ? "bad" : isolated ? "alone" : "end";
    char label[64], text[16];

    hg_stage_head_label(head, label); /* checked when it was read: letters, digits, _ */
    if (isolated)
        hg_page_put(c->output,
                    "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                    "<title>%s, isolated: %s of its bound</title></rect>\n",
                    kind, x - size, y - size, 2 * size, 2 * size, label,
                    hg_share_text(share, text));
    else
        hg_page_put(c->output,
                    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">"
                    "<title>%s, end to end: %s roundings</title></circle>\n",
                    kind, x, y, size, label, hg_roundings_text(share, text));
}

static void put_points(const chart *c)
{
    const hg_compare_side *side = c->side;
    int pen_down = 0;

    hg_page_put(c->output, "<path class=\"line\" d=\"");
    for (uint32_t i = 0; i < side->row_count; i++) {
        const hg_stage_row *row = &side->rows[i];

        if (row->is_measured)
            hg_page_put(c->output, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_of(c, i),
                        y_of(c, hg_stage_free_share(row)));
        pen_down = row->is_measured != 0;
    }
    hg_page_put(c->output, "\"/>\n");
    for (uint32_t i = 0; i < side->row_count; i++) {
        const hg_stage_row *row = &side->rows[i];

        if (row->is_measured)
            put_point(c, i, hg_stage_free_share(row), row->is_beyond != 0, 0);
        if (row->is_isolated)
            put_point(c, i, row->excess.worst, row->excess.beyond != 0, 1);
    }
}

/* The stage that decided, named where there is room. */
static void put_decision(const chart *c)
{
    const hg_compare_side *side = c->side;
    char label[64];
    double x;

    if (side->decisive >= side->row_count)
        return;
    x = x_of(c, side->decisive);
    hg_page_put(c->output,
                "<path class=\"mark\" d=\"M%.1f %dV%d\"/><text class=\"onetext\" x=\"%.1f\" "
                "y=\"%d\" text-anchor=\"%s\">%s: %s</text>\n",
                x, TOP - 8, floor_of(c), x, TOP - 14,
                x > WIDTH * 0.66  ? "end"
                : x < WIDTH * 0.2 ? "start"
                                  : "middle",
                side->decisive_pass == HG_PASS_ISOLATED ? "isolated, the first beyond its bounds"
                                                        : "end to end, the first that differs",
                hg_stage_head_label(&side->rows[side->decisive].head, label));
}

void hg_page_chart(const hg_compare_report *report, uint32_t side, hg_output *output)
{
    chart c = {.side = &report->comparison->sides[side],
               .output = output,
               .has_strip = hg_compare_is_exact(report->comparison, side)};
    char free_worst[16], isolated_worst[16];

    c.in_pieces = hg_compare_in_pieces(c.side);
    settle_decades(&c);
    hg_page_put(output,
                "<div class=\"scroll chart\" tabindex=\"0\" role=\"region\" aria-label=\"chart of "
                "all stages\">\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%u stages in "
                "order of execution; at most %s roundings end to end, and isolated %s of a "
                "bound\">\n",
                WIDTH, height_of(&c), c.side->row_count,
                hg_roundings_text(c.side->worst_free, free_worst),
                hg_share_text(c.side->worst_isolated, isolated_worst));
    put_layers(&c);
    put_scale(&c);
    if (c.in_pieces)
        put_pieces(&c);
    put_points(&c);
    if (c.has_strip)
        put_strip(&c);
    put_decision(&c);
    hg_page_put(output,
                "</svg></div>\n<p class=\"soft legend\"><span><i class=\"key\"></i>end to end, in "
                "roundings: what float32 rounding alone does to this prompt is 1, and a fault is "
                "above %.0f</span> <span><i class=\"key alone\"></i>isolated: each kernel on the "
                "reference&#39;s inputs, as a share of its error bound, and a fault is above "
                "1</span>%s%s</p>\n",
                HG_COMPARE_ROUNDINGS,
                c.has_strip ? " <span><i class=\"key same\"></i>same bits <i class=\"key "
                              "other\"></i>other bits: under exact any other bit is a fault</span>"
                            : "",
                c.in_pieces ? " <span>A long prompt runs in pieces, each through all "
                              "layers.</span>"
                            : "");
}
