/* SPDX-License-Identifier: MIT */
/* The tables of stages of a page. */
#include "compare_page.h"

#include <math.h>
#include <stdio.h>

enum { KINDS, STAGES };

static void put_head(hg_output *output, const char *caption, int form)
{
    hg_page_put(
        output,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n"
        "<thead><tr><th class=\"left\" scope=\"col\">stage</th>"
        "<th scope=\"col\">layer</th><th scope=\"col\">end to end</th>"
        "<th scope=\"col\">isolated</th><th scope=\"col\">largest difference</th>"
        "<th scope=\"col\">NMSE</th><th scope=\"col\">1 - cosine</th>"
        "<th scope=\"col\">other bits</th>"
        "<th class=\"left\" scope=\"col\">largest difference at</th>%s</tr></thead><tbody>\n",
        caption, form == STAGES ? "<th class=\"left\" scope=\"col\">run as</th>" : "");
}

static void put_share(hg_output *output, int is_there, double share, int is_beyond)
{
    char text[16];

    hg_page_put(output, "<td%s>%s</td>", is_beyond ? " class=\"beyond\"" : "",
                is_there ? hg_share_text(share, text) : "-");
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

static void put_row(const hg_compare_report *report, const hg_stage_row *row, int form,
                    hg_output *output)
{
    const hg_difference *d = &row->difference;
    const int beyond = row->excess.beyond != 0;
    char layer[16] = "-", how[128];

    if (row->head.layer >= 0)
        snprintf(layer, sizeof(layer), "%d", row->head.layer + 1);
    hg_page_put(output, "<tr%s><th scope=\"row\">%s</th><td>%s</td>",
                beyond ? " class=\"beyond\"" : "", row->head.name, layer);
    put_share(output, row->is_measured != 0, hg_stage_free_share(row), row->is_beyond != 0);
    put_share(output, row->is_isolated != 0, row->excess.worst, beyond);
    if (row->is_measured)
        hg_page_put(output, "<td>%.2g</td><td>%.2g</td><td>%.2g</td><td>%.1f %%</td>", d->max_abs,
                    d->nmse, 1 - d->cosine, 100.0 * (double)d->differing / (double)d->count);
    else
        hg_page_put(output, "<td>-</td><td>-</td><td>-</td><td>%s</td>",
                    row->is_other ? "yes" : "none");
    put_place(report, row, output);
    if (form == STAGES) {
        hg_page_put(output, "<td class=\"left\">");
        hg_page_text(output, hg_stage_how(&row->head, how));
        hg_page_put(output, "</td>");
    }
    hg_page_put(output, "</tr>\n");
}

void hg_page_tables(const hg_compare_report *report, uint32_t side, hg_output *output)
{
    const hg_compare_side *s = &report->comparison->sides[side];

    hg_page_heading(output, "Kinds of stages");
    hg_page_put(output, "<p class=\"soft\">Of each kind the layer that is nearest to its bound. "
                        "End to end and isolated are shares of what is allowed.</p>\n");
    put_head(output, "Kinds of stages", KINDS);
    for (uint32_t i = 0; i < s->row_count; i++) {
        const uint32_t nearest = hg_stage_nearest(s, i);

        if (nearest != UINT32_MAX)
            put_row(report, &s->rows[nearest], KINDS, output);
    }
    hg_page_put(output,
                "</tbody></table></div>\n<details><summary>All %u stages, in the order of "
                "execution</summary>\n",
                s->row_count);
    put_head(output, "All stages, in the order of execution", STAGES);
    for (uint32_t i = 0; i < s->row_count; i++)
        put_row(report, &s->rows[i], STAGES, output);
    hg_page_put(output, "</tbody></table></div></details>\n");
}
