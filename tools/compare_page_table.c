/* SPDX-License-Identifier: MIT */
/* The tables of stages of a page. */
#include "compare_page.h"

#include <stdio.h>

enum { KINDS, STAGES };

typedef struct form {
    const hg_compare_report *report;
    hg_output *output;
    int kind;
    int exact;     /* other bits are faults */
    int in_pieces; /* rows say whose tokens they are */
} form;

static void put_head(const form *f, const char *caption)
{
    hg_page_put(f->output,
                "<p class=\"wide soft\">The table scrolls sideways &#8594;</p>\n"
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n"
                "<thead><tr><th class=\"left\" scope=\"col\">stage</th>"
                "<th scope=\"col\">layer</th>%s<th scope=\"col\">roundings</th>"
                "<th scope=\"col\">isolated</th><th scope=\"col\">max diff</th>"
                "<th scope=\"col\">NMSE</th><th scope=\"col\">1 - cosine</th>"
                "<th scope=\"col\">differ</th>"
                "<th class=\"left\" scope=\"col\">max diff at</th>%s</tr></thead><tbody>\n",
                caption, f->in_pieces ? "<th scope=\"col\">tokens</th>" : "",
                f->kind == STAGES ? "<th class=\"left\" scope=\"col\">run as</th>" : "");
}

static void put_cell(hg_output *output, const char *text, int is_beyond)
{
    hg_page_put(output, "<td%s>%s</td>", is_beyond ? " class=\"beyond\"" : "", text);
}

static void put_place(const hg_compare_report *report, const hg_stage_row *row, hg_output *output)
{
    char place[96], token[64];
    int64_t at = -1;

    hg_page_put(output, "<td class=\"left\">");
    if (row->is_measured && row->difference.max_abs > 0) {
        hg_page_text(output, hg_stage_place(&row->head, row->difference.max_at,
                                            report->comparison->map_pool, &at, place));
        if (*hg_compare_token(report, at, token)) {
            hg_page_put(output, " <bdi class=\"mono\">");
            hg_page_text(output, token);
            hg_page_put(output, "</bdi>");
        }
    }
    hg_page_put(output, "</td>");
}

static void put_row(const form *f, const hg_stage_row *row)
{
    const hg_difference *d = &row->difference;
    const int beyond = row->excess.beyond != 0, other = f->exact && row->is_other;
    hg_output *output = f->output;
    char layer[16] = "-", how[128], text[48];

    if (row->head.layer >= 0)
        snprintf(layer, sizeof(layer), "%d", row->head.layer + 1);
    hg_page_put(output, "<tr%s><th scope=\"row\">%s</th><td>%s</td>",
                beyond || other ? " class=\"beyond\"" : "", row->head.name, layer);
    if (f->in_pieces)
        put_cell(output, hg_stage_piece(&row->head, text), 0);
    put_cell(output, row->is_measured ? hg_roundings_text(hg_stage_free_share(row), text) : "-",
             row->is_beyond != 0);
    put_cell(output, row->is_isolated ? hg_share_text(row->excess.worst, text) : "-", beyond);
    if (row->is_measured)
        hg_page_put(output, "<td>%.2g</td><td>%.2g</td><td>%.2g</td>", d->max_abs, d->nmse,
                    1 - d->cosine);
    else
        hg_page_put(output, "<td>-</td><td>-</td><td>-</td>");
    if (row->is_measured)
        snprintf(text, sizeof(text), "%.1f %%%s", 100.0 * (double)d->differing / (double)d->count,
                 other ? " OTHER BITS" : "");
    else
        snprintf(text, sizeof(text), "%s",
                 !row->is_other ? "none"
                 : other        ? "OTHER BITS"
                                : "some (a hash)");
    put_cell(output, text, other);
    put_place(f->report, row, output);
    if (f->kind == STAGES) {
        hg_page_put(output, "<td class=\"left\">");
        hg_page_text(output, hg_stage_how(&row->head, how));
        hg_page_put(output, "</td>");
    }
    hg_page_put(output, "</tr>\n");
}

void hg_page_tables(const hg_compare_report *report, uint32_t side, hg_output *output)
{
    const hg_compare_side *s = &report->comparison->sides[side];
    form f = {.report = report,
              .output = output,
              .kind = KINDS,
              .exact = hg_compare_is_exact(report->comparison, side),
              .in_pieces = hg_compare_in_pieces(s)};

    hg_page_heading(output, "Kinds of stages");
    hg_page_put(output,
                "<p class=\"soft\">Of each kind the layer that is nearest to a bound. Roundings: "
                "how far the stage is away, in units of what float32 rounding alone does to this "
                "prompt (a fault above %.0f). Isolated: the kernel alone, its largest error as a "
                "share of that value&#39;s bound (a fault above 1). NMSE: squared distance by "
                "squared length. Differ: share of the values that have other bits.%s</p>\n",
                HG_COMPARE_ROUNDINGS, f.exact ? " Under exact any other bit is a fault." : "");
    put_head(&f, "Kinds of stages");
    for (uint32_t i = 0; i < s->row_count; i++) {
        const uint32_t nearest = hg_stage_nearest(s, i);

        if (nearest != UINT32_MAX)
            put_row(&f, &s->rows[nearest]);
    }
    hg_page_put(output,
                "</tbody></table></div>\n<details><summary>All %u stages, in the order of "
                "execution</summary>\n",
                s->row_count);
    f.kind = STAGES;
    put_head(&f, "All stages, in the order of execution");
    for (uint32_t i = 0; i < s->row_count; i++)
        put_row(&f, &s->rows[i]);
    hg_page_put(output, "</tbody></table></div></details>\n");
}
