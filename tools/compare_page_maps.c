/* SPDX-License-Identifier: MIT */
/* Attention maps of a page, as small PNGs inside it: what the baseline looked at, what the device
 * looked at, and where they part. Mean over heads. */
#include "compare_page.h"

#include "app.h"
#include "colormap.h"
#include "message.h"
#include "png_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 };

/* One map, as it is painted. */
typedef struct picture {
    const hg_compare_report *report;
    hg_output *output;
    uint32_t *pixels; /* [cells, cells] */
    uint32_t cells;
} picture;

typedef struct base64 {
    hg_output *output;
    uint8_t held[3];
    uint32_t count;
} base64;

static void put_group(base64 *b)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    char text[4];

    for (uint32_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < b->count ? b->held[i] : 0u);
    for (uint32_t i = 0; i < 4; i++)
        text[i] = (char)(i <= b->count ? letters[bits >> (18 - 6 * i) & 63] : '=');
    (void)hg_output_write(b->output, text, sizeof(text));
    b->count = 0;
}

static hg_result take_bytes(void *user, const void *data, size_t bytes)
{
    base64 *b = user;

    for (size_t i = 0; i < bytes; i++) {
        b->held[b->count++] = ((const uint8_t *)data)[i];
        if (b->count == 3)
            put_group(b);
    }
    return HG_OK;
}

static hg_result put_png(const picture *p)
{
    base64 data = {.output = p->output};
    const hg_png_image image = {.pixels = (const unsigned char *)p->pixels,
                                .stride = (size_t)p->cells * 4,
                                .width = p->cells,
                                .height = p->cells};
    const hg_figure_sink sink = {.write = take_bytes, .user = &data};
    const hg_log log = hg_message_log();
    hg_result res;

    hg_page_put(p->output, "data:image/png;base64,");
    res = hg_png_write(&image, NULL, 0, &sink, &log);
    if (data.count)
        put_group(&data);
    return res;
}

/* A blend of the anchors of a diverging scale, blue over white to red; share from -1 to 1. */
static uint32_t diverging(double share)
{
    static const uint32_t anchors[] = {0x2166AC, 0x92C5DE, 0xF7F7F7, 0xF4A582, 0xB2182B};
    const double at = (share < -1 ? -1 : share > 1 ? 1 : share) * 2 + 2;
    const int below = at >= 4 ? 3 : (int)at;
    const double part = at - below;
    uint32_t color = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        const double a = anchors[below] >> shift & 255, b = anchors[below + 1] >> shift & 255;

        color |= (uint32_t)(a + (b - a) * part + 0.5) << shift;
    }
    return color;
}

static double largest(const float *map, const float *less, uint32_t cells)
{
    double most = 0;

    for (uint32_t i = 0; i < cells * cells; i++) {
        const double value = less ? fabs((double)map[i] - less[i]) : map[i];

        if (isfinite(value) && value > most)
            most = value;
        else if (isnan(value) && less && most == 0)
            most = 0x1p-126; /* something is to be seen */
    }
    return most;
}

/* Square roots: most of a row often lies on one key, and the rest is to be seen too. */
static hg_result put_map(const picture *p, const float *map, double most, const char *what,
                         const char *alt)
{
    hg_result res;

    for (uint32_t i = 0; i < p->cells * p->cells; i++)
        p->pixels[i] =
            isfinite(map[i])
                ? hg_colormap_viridis[hg_colormap_index(most > 0 ? sqrt((double)map[i] / most) : 0)]
                : HG_COLOR_BROKEN;
    hg_page_put(p->output, "<div><div class=\"cell\"><img width=\"%u\" height=\"%u\" alt=\"",
                p->cells, p->cells);
    hg_page_text(p->output, alt);
    hg_page_put(p->output, "\" src=\"");
    res = put_png(p);
    hg_page_put(p->output, "\"></div>");
    hg_page_text(p->output, what);
    hg_page_put(p->output, "</div>\n");
    return res;
}

/* What 16 roundings would look like, given that the largest difference is `most`: the end of the
 * colours, so that rounding stays pale. most itself where nothing was measured, or it is more. */
static double full_scale(const hg_compare_side *s, uint32_t layer, double most, int *is_within)
{
    *is_within = 0;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const hg_stage_row *row = &s->rows[i];
        const double share = hg_stage_free_share(row);

        if (strcmp(row->head.name, "attn_probs") != 0 || row->head.layer != (int32_t)layer ||
            !row->is_measured)
            continue;
        *is_within = share <= 1;
        return share > 0 && share < 1 ? most / share : most;
    }
    return most;
}

static hg_result put_difference(const picture *p, uint32_t side, const float *map,
                                const float *base, uint32_t layer)
{
    const double most = largest(map, base, p->cells);
    int is_within;
    const double full = full_scale(&p->report->comparison->sides[side], layer, most, &is_within);
    hg_result res = HG_OK;

    if (most == 0) {
        hg_page_put(p->output,
                    "<div><div class=\"cell plain\">no<br>difference</div>difference</div>\n");
        return HG_OK;
    }
    for (uint32_t i = 0; i < p->cells * p->cells; i++) {
        const double d = ((double)map[i] - base[i]) / full;

        p->pixels[i] = isfinite(d) ? diverging(d < 0 ? -sqrt(-d) : sqrt(d)) : HG_COLOR_BROKEN;
    }
    hg_page_put(p->output,
                "<div><div class=\"cell\"><img width=\"%u\" height=\"%u\" alt=\"Difference of the "
                "attention of layer %u, from -%.2g to +%.2g\" src=\"",
                p->cells, p->cells, layer + 1, most, most);
    res = put_png(p);
    hg_page_put(p->output, "\"></div>difference, &#177;%.2g%s</div>\n", most,
                is_within ? ", within rounding" : "");
    return res;
}

static hg_result put_layer(const picture *p, uint32_t side, uint32_t layer)
{
    const hg_comparison *c = p->report->comparison;
    const uint64_t at = (uint64_t)layer * p->cells * p->cells;
    const float *map = c->sides[side].maps + at;
    const float *base = side > 0 && c->sides[0].maps ? c->sides[0].maps + at : NULL;
    double most = largest(map, NULL, p->cells);
    char alt[400];
    hg_result res = HG_OK;

    if (base && largest(base, NULL, p->cells) > most)
        most = largest(base, NULL, p->cells);
    hg_page_put(
        p->output,
        "<figure><figcaption>Layer %u, largest cell %.2g</figcaption><div class=\"trio\">\n",
        layer + 1, most);
    if (base) {
        snprintf(alt, sizeof(alt), "Attention of layer %u on %s", layer + 1, c->sides[0].label);
        HG_TRY(put_map(p, base, most, c->sides[0].label, alt));
    }
    snprintf(alt, sizeof(alt), "Attention of layer %u on %s", layer + 1, c->sides[side].label);
    HG_TRY(put_map(p, map, most, c->sides[side].label, alt));
    if (base)
        HG_TRY(put_difference(p, side, map, base, layer));
    hg_page_put(p->output, "</div></figure>\n");
out:
    return res;
}

/* Spread over the depth, and the layer with the largest difference among them. */
static void choose(const hg_comparison *c, uint32_t side, uint8_t *shown)
{
    const uint64_t cells = (uint64_t)c->map_cells * c->map_cells;
    const hg_compare_side *s = &c->sides[side];
    uint32_t worst = 0;
    double most = -1;

    for (uint32_t layer = 0; layer < c->layers; layer++) {
        const double d =
            side > 0 && c->sides[0].maps
                ? largest(s->maps + layer * cells, c->sides[0].maps + layer * cells, c->map_cells)
                : 0;

        shown[layer] = c->layers <= SHOWN;
        if (d > most) {
            most = d;
            worst = layer;
        }
    }
    if (c->layers <= SHOWN)
        return;
    for (uint32_t k = 0; k + 1 < SHOWN; k++)
        shown[(k * (c->layers - 1) + (SHOWN - 2) / 2) / (SHOWN - 2)] = 1;
    shown[worst] = 1;
}

void hg_page_maps_begin(const hg_compare_report *report, hg_output *output)
{
    const uint32_t cells = report->comparison->map_cells;

    if (cells == 0)
        return;
    hg_page_put(output,
                "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\">"
                "<clipPath id=\"kept\" clipPathUnits=\"objectBoundingBox\">"
                "<path transform=\"scale(%.9g)\" d=\"M0 0",
                1.0 / cells);
    for (uint32_t i = 1; i <= cells; i++)
        hg_page_put(output, "H%uV%u", i, i);
    hg_page_put(output, "H0Z\"/></clipPath></svg>\n");
}

static hg_result put_chosen(const picture *p, uint32_t side, const uint8_t *shown, uint8_t wanted)
{
    hg_result res = HG_OK;

    hg_page_put(p->output, "<div class=\"maps\">\n");
    for (uint32_t layer = 0; layer < p->report->comparison->layers; layer++)
        if (shown[layer] == wanted)
            HG_TRY(put_layer(p, side, layer));
    hg_page_put(p->output, "</div>\n");
out:
    return res;
}

hg_result hg_page_maps(const hg_compare_report *report, uint32_t side, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    picture p = {.report = report, .output = output, .cells = c->map_cells};
    uint8_t *shown = NULL;
    uint32_t count = 0;
    hg_result res = HG_OK;

    if (!c->sides[side].maps || c->map_cells == 0)
        return HG_OK;
    p.pixels = malloc((size_t)p.cells * p.cells * sizeof(*p.pixels));
    shown = calloc(c->layers, 1);
    if (!p.pixels || !shown) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the maps of a page");
        goto out;
    }
    choose(c, side, shown);
    for (uint32_t layer = 0; layer < c->layers; layer++)
        count += shown[layer];
    hg_page_heading(output, "Attention maps, mean over heads");
    hg_page_put(
        output,
        "<p class=\"soft\">Rows are queries, columns are keys, from the top left; a cell is "
        "%u token%s. Attention 0 <i class=\"bar-v\"></i> the layer&#39;s largest (square "
        "roots). Difference: less <i class=\"bar-d\"></i> more than the baseline, the full "
        "colours at %.0f roundings (square roots).</p>\n",
        c->map_pool, c->map_pool == 1 ? "" : "s", HG_COMPARE_ROUNDINGS);
    HG_TRY(put_chosen(&p, side, shown, 1));
    if (count < c->layers) {
        hg_page_put(output, "<details><summary>The other %u layers</summary>\n", c->layers - count);
        HG_TRY(put_chosen(&p, side, shown, 0));
        hg_page_put(output, "</details>\n");
    }
out:
    free(p.pixels);
    free(shown);
    return res;
}
