/* SPDX-License-Identifier: MIT */
/* A comparison as a table for a terminal. See compare_report.h. */
#include "compare_report.h"

#include "app.h"
#include "message.h"
#include "paragraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns that a narrow terminal has no room for. */
enum { WIDTH_SHARE = 90, WIDTH_ALL = 100 };

typedef struct table {
    const hg_compare_report *report;
    hg_output *output;
    uint32_t width;
    int exact; /* the rows are under exact: other bits are faults */
} table;

static void device_text(const hg_compare_side *side, char *text, size_t size)
{
    const hg_record_meta *m = &side->meta;
    int at = snprintf(text, size, "%s, %s", m->precision, m->device);

    if (m->driver[0] || m->driver_version[0])
        at += snprintf(text + at, size - (size_t)at, " (%s%s%s)", m->driver,
                       m->driver[0] && m->driver_version[0] ? " " : "", m->driver_version);
    if (m->date[0])
        snprintf(text + at, size - (size_t)at, ", saved %s", m->date);
}

static uint32_t label_width(const hg_comparison *c)
{
    uint32_t width = 6;

    for (uint32_t i = 0; i < c->side_count; i++) {
        const uint32_t wide = hg_paragraph_columns(c->sides[i].label);

        width = wide > width ? wide : width;
    }
    return width < 24 ? width : 24;
}

/* A paragraph on a line of its own. */
static hg_result print_below(const table *t, uint32_t indent, const char *text)
{
    (void)hg_output_format(t->output, "%*s", (int)indent, "");
    return hg_paragraph_print(t->output, t->width, indent, indent, text);
}

static hg_result print_device(const table *t, uint32_t index, uint32_t first)
{
    const hg_comparison *c = t->report->comparison;
    const hg_compare_side *side = &c->sides[index];
    const uint32_t wide = hg_paragraph_columns(side->label), indent = first + 12;
    char text[1200], speed[32] = "-", standing[96];
    hg_result res = HG_OK;

    if (side->meta.tokens_per_s > 0 && c->tokens >= HG_COMPARE_TIMED_TOKENS)
        snprintf(speed, sizeof(speed), "%.4g", side->meta.tokens_per_s);
    HG_TRY(hg_output_format(t->output, "%s%*s", side->label, wide < first ? (int)(first - wide) : 0,
                            ""));
    if (wide > first) /* a long one has the line for itself */
        HG_TRY(hg_output_format(t->output, "\n%*s", (int)first, ""));
    HG_TRY(hg_output_format(t->output, "  %8s  ", speed));
    hg_compare_standing(c, index, standing);
    if (side->verdict == HG_VERDICT_NOT_RUN)
        snprintf(text, sizeof(text), "%s: %s", standing, side->reason);
    HG_TRY(hg_paragraph_print(t->output, t->width, indent, indent,
                              side->verdict == HG_VERDICT_NOT_RUN ? text : standing));
    if (!side->meta.device[0] || side->verdict == HG_VERDICT_NOT_RUN)
        goto out;
    device_text(side, text, sizeof(text));
    HG_TRY(print_below(t, indent, text));
    if (side->runs > 1)
        HG_TRY(print_below(t, indent, hg_compare_runs(side, text)));
out:
    return res;
}

static hg_result print_devices(const table *t)
{
    const hg_comparison *c = t->report->comparison;
    const uint32_t first = label_width(c);
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(t->output, "%-*s  %8s  %s\n", (int)first, "DEVICE", "TOKENS/S",
                            "VERDICT; PRECISION, DEVICE, DRIVER"));
    for (uint32_t i = 0; i < c->side_count; i++)
        HG_TRY(print_device(t, i, first));
    HG_TRY(hg_output_text(t->output, "\n"));
    res = hg_paragraph_print(
        t->output, t->width, 2, 0,
        c->tokens < HG_COMPARE_TIMED_TOKENS
            ? "TOKENS/S: a prompt this short tells no speed; `headgate bench` does."
            : "TOKENS/S: the prompt read at once (prefill) while no stage is looked at; `headgate "
              "bench` says more.");
out:
    return res;
}

/* Where the largest difference is, with its token while there is room. */
static const char *place_text(const table *t, const hg_stage_row *row, uint32_t room,
                              char text[200])
{
    const hg_difference *d = &row->difference;
    char place[96], token[64];
    int64_t at = -1;

    text[0] = '\0';
    if (!row->is_measured || d->max_abs == 0)
        return text;
    hg_stage_place(&row->head, d->max_at, t->report->comparison->map_pool, &at, place);
    hg_compare_token(t->report, at, token);
    snprintf(text, 200, "  %s%s%s%s", place, token[0] ? " \"" : "", token, token[0] ? "\"" : "");
    if (hg_paragraph_columns(text) > room)
        snprintf(text, 200, "  %s", place);
    return text;
}

static hg_result print_row(const table *t, const hg_stage_row *row)
{
    const hg_difference *d = &row->difference;
    char layer[16] = "-", end[16], isolated[16], most[16] = "-", differ[16], nmse[16] = "-",
         cosine[16] = "-", place[200], line[160];
    int at;

    if (row->head.layer >= 0)
        snprintf(layer, sizeof(layer), "%d", row->head.layer + 1);
    snprintf(differ, sizeof(differ), "%s", row->is_other ? "some" : "none");
    if (row->is_measured) {
        snprintf(most, sizeof(most), "%.2g", d->max_abs);
        snprintf(differ, sizeof(differ), "%.1f%%", 100.0 * (double)d->differing / (double)d->count);
        snprintf(nmse, sizeof(nmse), "%.2g", d->nmse);
        snprintf(cosine, sizeof(cosine), "%.2g", 1 - d->cosine);
    }
    at = snprintf(line, sizeof(line), "%-13s %5s %9s %8s %8s", row->head.name, layer,
                  row->is_measured ? hg_roundings_text(hg_stage_free_share(row), end) : "-",
                  row->is_isolated ? hg_share_text(row->excess.worst, isolated) : "-", most);
    if (t->width >= WIDTH_SHARE)
        at += snprintf(line + at, sizeof(line) - (size_t)at, " %6s", differ);
    if (t->width >= WIDTH_ALL)
        at += snprintf(line + at, sizeof(line) - (size_t)at, " %7s %7s", nmse, cosine);
    if (t->exact)
        at += snprintf(line + at, sizeof(line) - (size_t)at, "  %-10s",
                       row->is_other ? "OTHER BITS" : "same bits");
    place_text(t, row, t->width > (uint32_t)at ? t->width - (uint32_t)at : 0, place);
    while (!place[0] && at > 0 && line[at - 1] == ' ') /* nothing at the end of a line */
        line[--at] = '\0';
    return hg_output_format(t->output, "%s%s\n", line, place);
}

static hg_result print_rows(const table *t, const hg_compare_side *side, int verbose)
{
    const int in_pieces = verbose && hg_compare_in_pieces(side);
    char piece[32], before[32] = "";
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(
        t->output, "%-13s %5s %9s %8s %8s%s%s%s  %s\n", "STAGE", "LAYER", "ROUNDINGS", "ISOLATED",
        "MAX DIFF", t->width >= WIDTH_SHARE ? " DIFFER" : "",
        t->width >= WIDTH_ALL ? "    NMSE   1-COS" : "", t->exact ? "  BITS      " : "", "AT"));
    for (uint32_t i = 0; i < side->row_count; i++) {
        const uint32_t row = verbose ? i : hg_stage_nearest(side, i);

        if (in_pieces && strcmp(hg_stage_piece(&side->rows[i].head, piece), before) != 0) {
            HG_TRY(hg_output_format(t->output, "tokens %s:\n", piece));
            memcpy(before, piece, sizeof(before));
        }
        if (row != UINT32_MAX)
            HG_TRY(print_row(t, &side->rows[row]));
    }
out:
    return res;
}

static hg_result print_logits(const table *t, const hg_compare_side *side)
{
    const hg_agreement *a = &side->agreement;
    char text[400] = "logits:";
    int at = 7;

    if (a->tokens == 0 && a->strange == 0)
        return HG_OK;
    if (a->tokens)
        at += snprintf(text + at, sizeof(text) - (size_t)at,
                       " KL mean %.2g, max %.2g nats; the likeliest next token agrees for %llu of "
                       "%llu tokens; top-%d lists agree %.4g %%%s",
                       a->kl_sum / (double)a->tokens, a->kl_max, (unsigned long long)a->same_first,
                       (unsigned long long)a->tokens, HG_AGREEMENT_TOP,
                       100 * a->top_shared / (double)a->tokens, a->strange ? ";" : "");
    if (a->strange)
        snprintf(text + at, sizeof(text) - (size_t)at,
                 " of %llu tokens some logits are no finite numbers",
                 (unsigned long long)a->strange);
    return hg_paragraph_print(t->output, t->width, 2, 0, text);
}

/* Where all bits are the same, or those of an earlier device, a table has nothing to add. */
static int has_rows(const table *t, uint32_t index, int verbose)
{
    const hg_comparison *c = t->report->comparison;
    const hg_verdict verdict = c->sides[index].verdict;

    if (verdict == HG_VERDICT_NOT_RUN)
        return 0;
    return verbose || (verdict != HG_VERDICT_SAME_BITS && hg_compare_twin(c, index) == UINT32_MAX);
}

/* The columns that are there, in words. */
static hg_result print_legend(const table *t, int verbose, int exact)
{
    const struct {
        const char *name, *text;
        int is_there;
    } rows[] = {{"ROUNDINGS",
                 "how far the stage is away, in units of what float32 rounding alone does to "
                 "this prompt; a fault above 16",
                 1},
                {"ISOLATED",
                 "each kernel alone on the reference's inputs: its largest error as a share of "
                 "that value's error bound; a fault above 1",
                 1},
                {"MAX DIFF", "the largest difference of a value; AT: where, counted from 1", 1},
                {"DIFFER", "share of the values that have other bits", t->width >= WIDTH_SHARE},
                {"NMSE", "squared distance by squared length; 1-COS: 1 - cosine of the angle",
                 t->width >= WIDTH_ALL},
                {"BITS", "under --exact any other bit is a fault", exact}};
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(
        t->output, "\n%s\n",
        verbose ? "Every stage." : "Of each kind of stage the layer that is nearest to a bound."));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].is_there)
            continue;
        HG_TRY(hg_output_format(t->output, "  %-9s  ", rows[i].name));
        HG_TRY(hg_paragraph_print(t->output, t->width, 13, 13, rows[i].text));
    }
out:
    return res;
}

/* is_last: the verdict on all follows, and must not say the same once more. */
static hg_result print_side(table *t, uint32_t index, int verbose, int is_last)
{
    const hg_comparison *c = t->report->comparison;
    const hg_compare_side *side = &c->sides[index];
    const uint32_t twin = hg_compare_twin(c, index);
    char text[900], standing[96];
    hg_result res = HG_OK;

    if (side->verdict == HG_VERDICT_NOT_RUN || (!verbose && side->verdict == HG_VERDICT_SAME_BITS))
        return HG_OK; /* told above */
    HG_TRY(
        hg_output_format(t->output, "\n%s against %s\n", side->label,
                         index == 0 || c->is_lost ? "the reference in double" : c->sides[0].label));
    if (twin != UINT32_MAX && !verbose) {
        snprintf(text, sizeof(text), "every stage has the bits of %s: see there",
                 c->sides[twin].label);
        res = hg_paragraph_print(t->output, t->width, 2, 0, text);
        goto out;
    }
    t->exact = hg_compare_is_exact(c, index);
    HG_TRY(print_rows(t, side, verbose));
    HG_TRY(print_logits(t, side));
    if (!is_last) {
        snprintf(text, sizeof(text), "%s: %s", hg_compare_standing(c, index, standing),
                 side->reason);
        HG_TRY(hg_paragraph_print(t->output, t->width, 2, 0, text));
    }
out:
    return res;
}

hg_result hg_compare_print(const hg_compare_report *report, int verbose, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    table t = {.report = report, .output = output, .width = hg_paragraph_width()};
    const uint32_t first = c->side_count > 1 && c->sides[0].verdict < HG_VERDICT_DIFFERENT;
    uint32_t last = UINT32_MAX;
    int exact = 0;
    char headline[64];
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(output, "%s, %u token%s, %u stages\n\n", report->source->name,
                            c->tokens, c->tokens == 1 ? "" : "s", hg_compare_stages(c)));
    HG_TRY(print_devices(&t));
    for (uint32_t i = first; i < c->side_count; i++) {
        if (!has_rows(&t, i, verbose))
            continue;
        last = i;
        exact |= hg_compare_is_exact(c, i);
    }
    if (last != UINT32_MAX)
        HG_TRY(print_legend(&t, verbose, exact));
    for (uint32_t i = first; i < c->side_count; i++)
        HG_TRY(print_side(&t, i, verbose, i == last));
    if (c->note[0]) {
        HG_TRY(hg_output_text(output, "\n"));
        HG_TRY(hg_paragraph_print(output, t.width, 2, 0, c->note));
    }
    /* One line, whatever its length: scripts take the last one. */
    HG_TRY(hg_output_format(output, "\n%s: %s\n", hg_compare_headline(c, headline), c->reason));
out:
    return res;
}
