/* SPDX-License-Identifier: MIT */
/* A comparison as a table for a terminal. See compare_report.h. */
#include "compare_report.h"

#include "app.h"
#include "message.h"
#include "paragraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns of a row before its place; less on a narrow terminal. */
enum { WIDTH_BITS = 90, WIDTH_ALL = 100 };

typedef struct table {
    const hg_compare_report *report;
    hg_output *output;
    uint32_t width;
} table;

const char *hg_compare_token(const hg_compare_report *report, int64_t token, char text[64])
{
    text[0] = '\0';
    if (report->prompt->labels && token >= 0 && (uint64_t)token < report->prompt->labels->count) {
        snprintf(text, 64, "%s", report->prompt->labels->text[token]);
        hg_message_defuse(text);
    }
    return text;
}

const char *hg_share_text(double share, char text[16])
{
    if (share == 0)
        snprintf(text, 16, "0");
    else if (isinf(share))
        snprintf(text, 16, "beyond");
    else
        snprintf(text, 16, "%.2g", share);
    return text;
}

double hg_stage_free_share(const hg_stage_row *row)
{
    if (!row->is_measured || row->difference.distance == 0)
        return 0;
    return row->bound > 0 ? row->difference.distance / row->bound : INFINITY;
}

/* How much a row has to say among those of its name: 0 to infinity. */
static double weight(const hg_stage_row *row)
{
    const double f = hg_stage_free_share(row);

    return row->excess.worst > f ? row->excess.worst : f;
}

uint32_t hg_stage_nearest(const hg_compare_side *side, uint32_t i)
{
    uint32_t best = i;

    for (uint32_t j = 0; j < i; j++)
        if (strcmp(side->rows[j].head.name, side->rows[i].head.name) == 0)
            return UINT32_MAX;
    for (uint32_t j = i + 1; j < side->row_count; j++)
        if (strcmp(side->rows[j].head.name, side->rows[i].head.name) == 0 &&
            weight(&side->rows[j]) > weight(&side->rows[best]))
            best = j;
    return best;
}

static int is_like(const hg_compare_side *a, const hg_compare_side *b)
{
    if (a->verdict != b->verdict || a->verdict == HG_VERDICT_NOT_RUN ||
        a->row_count != b->row_count || a->runs_differ || b->runs_differ || a->untapped_differ ||
        b->untapped_differ)
        return 0;
    for (uint32_t i = 0; i < a->row_count; i++) {
        const hg_stage_row *x = &a->rows[i], *y = &b->rows[i];

        if (memcmp(x->head.sha256, y->head.sha256, HG_SHA256_BYTES) != 0 ||
            x->excess.beyond != y->excess.beyond || x->excess.worst != y->excess.worst)
            return 0;
    }
    return 1;
}

uint32_t hg_compare_twin(const hg_comparison *c, uint32_t side)
{
    for (uint32_t i = 1; i < side; i++)
        if (is_like(&c->sides[i], &c->sides[side]))
            return i;
    return UINT32_MAX;
}

uint32_t hg_compare_stages(const hg_comparison *c)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->side_count; i++)
        if (c->sides[i].row_count > count)
            count = c->sides[i].row_count;
    return count;
}

static void device_text(const hg_compare_side *side, char *text, size_t size)
{
    const hg_record_meta *m = &side->meta;
    int at;

    if (!m->device[0] || side->verdict == HG_VERDICT_NOT_RUN) {
        snprintf(text, size, "%s", side->reason);
        return;
    }
    at = snprintf(text, size, "%s, %s", m->precision, m->device);
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

static hg_result print_sides(const table *t)
{
    const hg_comparison *c = t->report->comparison;
    const uint32_t first = label_width(c), indent = first + 35;
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(t->output, "%-*s  %-20s %10s  %s\n", (int)first, "DEVICE", "VERDICT",
                            "TOKENS/S", "PRECISION, DEVICE, DRIVER"));
    for (uint32_t i = 0; i < c->side_count; i++) {
        const hg_compare_side *side = &c->sides[i];
        const uint32_t wide = hg_paragraph_columns(side->label);
        char text[1200], speed[32] = "-";

        if (side->meta.tokens_per_s > 0)
            snprintf(speed, sizeof(speed), "%.4g", side->meta.tokens_per_s);
        device_text(side, text, sizeof(text));
        HG_TRY(hg_output_format(t->output, "%s%*s", side->label,
                                wide < first ? (int)(first - wide) : 0, ""));
        if (wide > first) /* a long one has the line for itself */
            HG_TRY(hg_output_format(t->output, "\n%*s", (int)first, ""));
        HG_TRY(hg_output_format(t->output, "  %-20s %10s  ",
                                i == 0 && side->verdict < HG_VERDICT_DIFFERENT
                                    ? "baseline"
                                    : hg_verdict_name(side->verdict),
                                speed));
        HG_TRY(hg_paragraph_print(t->output, t->width, indent, indent, text));
    }
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
    char layer[16] = "-", end[16], isolated[16], most[16] = "-", bits[16], nmse[16] = "-",
         cosine[16] = "-", place[200], line[160];
    int at;

    if (row->head.layer >= 0)
        snprintf(layer, sizeof(layer), "%d", row->head.layer + 1);
    snprintf(bits, sizeof(bits), "%s", row->is_other ? "other" : "same");
    if (row->is_measured) {
        snprintf(most, sizeof(most), "%.2g", d->max_abs);
        snprintf(bits, sizeof(bits), "%.1f%%", 100.0 * (double)d->differing / (double)d->count);
        snprintf(nmse, sizeof(nmse), "%.2g", d->nmse);
        snprintf(cosine, sizeof(cosine), "%.2g", 1 - d->cosine);
    }
    at = snprintf(line, sizeof(line), "%-13s %5s %7s %8s %8s", row->head.name, layer,
                  row->is_measured ? hg_share_text(hg_stage_free_share(row), end) : "-",
                  row->is_isolated ? hg_share_text(row->excess.worst, isolated) : "-", most);
    if (t->width >= WIDTH_BITS)
        at += snprintf(line + at, sizeof(line) - (size_t)at, " %6s", bits);
    if (t->width >= WIDTH_ALL)
        at += snprintf(line + at, sizeof(line) - (size_t)at, " %7s %7s", nmse, cosine);
    return hg_output_format(t->output, "%s%s\n", line,
                            place_text(t, row, t->width - (uint32_t)at, place));
}

static hg_result print_rows(const table *t, const hg_compare_side *side, int verbose)
{
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(t->output, "%-13s %5s %7s %8s %8s%s%s  %s\n", "STAGE", "LAYER",
                            "END/END", "ISOLATED", "MAX DIFF",
                            t->width >= WIDTH_BITS ? "   BITS" : "",
                            t->width >= WIDTH_ALL ? "    NMSE   1-COS" : "", "AT"));
    for (uint32_t i = 0; i < side->row_count; i++) {
        const uint32_t row = verbose ? i : hg_stage_nearest(side, i);

        if (row != UINT32_MAX)
            HG_TRY(print_row(t, &side->rows[row]));
    }
out:
    return res;
}

static hg_result print_logits(const table *t, const hg_compare_side *side)
{
    const hg_agreement *a = &side->agreement;
    char text[256];

    if (a->tokens == 0)
        return HG_OK;
    snprintf(text, sizeof(text),
             "logits: KL mean %.2g, max %.2g; the likeliest next token agrees for %llu of %llu "
             "tokens, the %d likeliest by %.4g %%",
             a->kl_sum / (double)a->tokens, a->kl_max, (unsigned long long)a->same_first,
             (unsigned long long)a->tokens, HG_AGREEMENT_TOP,
             100 * a->top_shared / (double)a->tokens);
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

static hg_result print_side(const table *t, uint32_t index, int verbose)
{
    const hg_comparison *c = t->report->comparison;
    const hg_compare_side *side = &c->sides[index];
    const uint32_t twin = hg_compare_twin(c, index);
    char text[700];
    hg_result res = HG_OK;

    if (side->verdict == HG_VERDICT_NOT_RUN)
        return HG_OK; /* told above */
    HG_TRY(
        hg_output_format(t->output, "\n%s against %s\n", side->label,
                         index == 0 || c->is_lost ? "the reference in double" : c->sides[0].label));
    if (twin != UINT32_MAX && side->verdict != HG_VERDICT_SAME_BITS && !verbose) {
        snprintf(text, sizeof(text), "%s: every stage has the bits of %s, see there",
                 hg_verdict_name(side->verdict), c->sides[twin].label);
        res = hg_paragraph_print(t->output, t->width, 2, 0, text);
        goto out;
    }
    if (has_rows(t, index, verbose)) {
        HG_TRY(print_rows(t, side, verbose));
        HG_TRY(print_logits(t, side));
    }
    if (side->runs > 1)
        HG_TRY(hg_output_format(t->output, "%u of %u runs differ from the first\n",
                                side->runs_differ, side->runs));
    snprintf(text, sizeof(text), "%s: %s", hg_verdict_name(side->verdict), side->reason);
    HG_TRY(hg_paragraph_print(t->output, t->width, 2, 0, text));
out:
    return res;
}

hg_result hg_compare_print(const hg_compare_report *report, int verbose, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    const table t = {.report = report, .output = output, .width = hg_paragraph_width()};
    const uint32_t first = c->side_count > 1 && c->sides[0].verdict < HG_VERDICT_DIFFERENT;
    char note[400];
    int has_table = 0;
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(output, "%s, %u tokens, %u stages\n\n", report->source->name, c->tokens,
                            hg_compare_stages(c)));
    HG_TRY(print_sides(&t));
    for (uint32_t i = first; i < c->side_count; i++)
        has_table |= has_rows(&t, i, verbose);
    if (has_table) {
        snprintf(
            note, sizeof(note),
            "%s END/END and ISOLATED are shares of what is allowed: end to end %.0f times what "
            "rounding does to this prompt; isolated, every kernel on the reference's inputs, "
            "each value's own bound. Above 1 is a fault.",
            verbose ? "Every stage."
                    : "Of each kind of stage the layer that is nearest to its bound.",
            HG_COMPARE_ROUNDINGS);
        HG_TRY(hg_output_text(output, "\n"));
        HG_TRY(hg_paragraph_print(output, t.width, 0, 0, note));
    }
    for (uint32_t i = first; i < c->side_count; i++)
        HG_TRY(print_side(&t, i, verbose));
    /* One line, whatever its length: scripts take the last one. */
    HG_TRY(hg_output_format(output, "\n%s: %s\n", hg_verdict_name(c->verdict), c->reason));
out:
    return res;
}
