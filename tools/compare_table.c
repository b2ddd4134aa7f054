/* SPDX-License-Identifier: MIT */
/* A comparison as a table for a terminal. See compare_report.h. */
#include "compare_report.h"

#include "app.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *hg_compare_token(const hg_compare_report *report, int64_t token, char text[64])
{
    text[0] = '\0';
    if (report->prompt->labels && token >= 0 && (uint64_t)token < report->prompt->labels->count) {
        snprintf(text, 64, "%s", report->prompt->labels->text[token]);
        hg_message_defuse(text);
    }
    return text;
}

const char *hg_compare_title(const hg_compare_side *side, char text[800])
{
    const hg_record_meta *m = &side->meta;

    if (!m->device[0])
        snprintf(text, 800, "%s", side->label);
    else
        snprintf(text, 800, "%s: %.150s (%.120s%s%.120s), %.16s", side->label, m->device, m->driver,
                 m->driver_version[0] ? " " : "", m->driver_version, m->precision);
    return text;
}

static hg_result print_sides(const hg_compare_report *report, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < c->side_count && res == HG_OK; i++) {
        const hg_compare_side *side = &c->sides[i];
        char title[800], speed[32] = "";

        if (side->meta.tokens_per_s > 0)
            snprintf(speed, sizeof(speed), "%.4g tokens/s, ", side->meta.tokens_per_s);
        res = hg_output_format(output, "  %s%s\n      %s%s\n", hg_compare_title(side, title),
                               i == 0 ? "  (baseline)" : "", speed, hg_verdict_name(side->verdict));
    }
    return res;
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

static hg_result print_row(const hg_compare_report *report, const hg_stage_row *row,
                           hg_output *output)
{
    const hg_difference *d = &row->difference;
    char layer[16] = "-", free_text[16], isolated[16], place[96] = "", token[64] = "",
         where[200] = "";
    int64_t at = -1;

    if (row->head.layer >= 0)
        snprintf(layer, sizeof(layer), "%d", row->head.layer + 1);
    if (row->is_measured && d->max_abs > 0) {
        hg_stage_place(&row->head, d->max_at, report->comparison->map_pool, &at, place);
        hg_compare_token(report, at, token);
        snprintf(where, sizeof(where), "%s%s%s%s", place, token[0] ? " \"" : "", token,
                 token[0] ? "\"" : "");
    }
    if (!row->is_measured)
        return hg_output_format(output, "%-14s %5s %9s %9s %9s %6s %8s %8s\n", row->head.name,
                                layer, "-", "-", "-", row->is_other ? "other" : "same", "-",
                                row->is_isolated ? hg_share_text(row->excess.worst, isolated)
                                                 : "-");
    return hg_output_format(
        output, "%-14s %5s %9.2g %9.2g %9.2g %5.1f%% %8s %8s  %s\n", row->head.name, layer,
        d->max_abs, d->nmse, 1 - d->cosine, 100.0 * (double)d->differing / (double)d->count,
        hg_share_text(hg_stage_free_share(row), free_text),
        row->is_isolated ? hg_share_text(row->excess.worst, isolated) : "-", where);
}

static hg_result print_kinds(const hg_compare_report *report, const hg_compare_side *side,
                             hg_output *output)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < side->row_count && res == HG_OK; i++) {
        const uint32_t nearest = hg_stage_nearest(side, i);

        if (nearest != UINT32_MAX)
            res = print_row(report, &side->rows[nearest], output);
    }
    return res;
}

static hg_result print_logits(const hg_compare_side *side, hg_output *output)
{
    const hg_agreement *a = &side->agreement;

    if (a->tokens == 0)
        return HG_OK;
    return hg_output_format(output,
                            "logits: KL mean %.2g, max %.2g; the likeliest next token agrees for "
                            "%llu of %llu tokens, the %d likeliest by %.4g %%\n",
                            a->kl_sum / (double)a->tokens, a->kl_max,
                            (unsigned long long)a->same_first, (unsigned long long)a->tokens,
                            HG_AGREEMENT_TOP, 100 * a->top_shared / (double)a->tokens);
}

static hg_result print_side(const hg_compare_report *report, uint32_t index, int verbose,
                            hg_output *output)
{
    const hg_comparison *c = report->comparison;
    const hg_compare_side *side = &c->sides[index];
    hg_result res = HG_OK;

    HG_TRY(
        hg_output_format(output, "\n%s against %s\n", side->label,
                         index == 0 || c->is_lost ? "the reference in double" : c->sides[0].label));
    if (side->verdict == HG_VERDICT_NOT_RUN) {
        res = hg_output_format(output, "did not run: %s\n", side->reason);
        goto out;
    }
    HG_TRY(hg_output_format(output, "%-14s %5s %9s %9s %9s %6s %8s %8s  %s\n", "STAGE", "LAYER",
                            "MAX DIFF", "NMSE", "1-COS", "BITS", "END/END", "ISOLATED",
                            "LARGEST DIFFERENCE AT"));
    if (verbose) {
        for (uint32_t i = 0; i < side->row_count; i++)
            HG_TRY(print_row(report, &side->rows[i], output));
    } else {
        HG_TRY(print_kinds(report, side, output));
    }
    HG_TRY(print_logits(side, output));
    if (side->runs > 1)
        HG_TRY(hg_output_format(output, "%u of %u runs differ from the first\n", side->runs_differ,
                                side->runs));
    HG_TRY(hg_output_format(output, "%s: %s\n", hg_verdict_name(side->verdict), side->reason));
out:
    return res;
}

hg_result hg_compare_print(const hg_compare_report *report, int verbose, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    hg_result res = HG_OK;

    HG_TRY(hg_output_format(output, "%s, %u tokens, %u stages\n", report->source->name, c->tokens,
                            c->sides[c->side_count - 1].row_count));
    HG_TRY(print_sides(report, output));
    HG_TRY(hg_output_format(
        output,
        "\nPer kind of stage the layer nearest to its bound; differences end to end. END/END and "
        "ISOLATED are\nshares of what is allowed: end to end %.0f times what rounding does to this "
        "prompt, isolated (every\nkernel on the reference's inputs) each element's own bound. "
        "Above 1 is a fault.\n",
        HG_COMPARE_ROUNDINGS));
    for (uint32_t i = c->side_count > 1 && c->sides[0].verdict < HG_VERDICT_DIFFERENT;
         i < c->side_count; i++)
        HG_TRY(print_side(report, i, verbose, output));
    HG_TRY(hg_output_format(output, "\n%s: %s\n", hg_verdict_name(c->verdict), c->reason));
out:
    return res;
}
