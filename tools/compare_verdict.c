/* SPDX-License-Identifier: MIT */
/* What the measurements of compare.c mean: a verdict for each side, and one for all. */
#include "compare_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *hg_verdict_name(hg_verdict verdict)
{
    switch (verdict) {
    case HG_VERDICT_SAME_BITS:
        return "same bits";
    case HG_VERDICT_ROUNDING:
        return "same within rounding";
    case HG_VERDICT_DIFFERENT:
        return "different";
    case HG_VERDICT_NOT_RUN:
        return "did not run";
    }
    return "unknown";
}

/*
 * The distance of two float32 runs from double varies by luck, the more the fewer values a stage
 * has: four gates may all be right. So a stage is granted at least one unit in the last place, and
 * a quarter of the relative distance that an earlier stage had.
 */
double hg_rounding_of(const hg_difference *d, double *relative)
{
    const double least = 0x1p-24 * d->norm;
    double distance = isfinite(d->distance) ? d->distance : 0;

    if (d->norm > 0 && distance / d->norm > *relative)
        *relative = distance / d->norm;
    distance = distance > least ? distance : least;
    return distance > *relative / 4 * d->norm ? distance : *relative / 4 * d->norm;
}

const char *hg_stage_how(const hg_stage_head *head, char text[128])
{
    int at = snprintf(text, 128, "kernel %s", head->kernel);

    if (head->tier[0])
        at += snprintf(text + at, 128 - (size_t)at, ", %s%s%s", head->tier,
                       strcmp(head->dtype, "none") == 0 ? "" : " ",
                       strcmp(head->dtype, "none") == 0 ? "" : head->dtype);
    for (uint32_t d = 0; d < head->rank; d++)
        at += snprintf(text + at, 128 - (size_t)at, "%s%u", d ? ", " : ", [", head->shape[d]);
    snprintf(text + at, 128 - (size_t)at, "]");
    return text;
}

const char *hg_stage_place(const hg_stage_head *head, uint64_t index, uint32_t pool, int64_t *token,
                           char text[96])
{
    const uint64_t last = head->shape[head->rank - 1];
    const uint64_t column = index % last, row = index / last;
    const uint64_t inner = head->rank == 3 ? head->shape[1] : 1;
    const int is_map = strcmp(head->name, "attn_probs") == 0 && head->rank == 3;
    const uint64_t at = head->first_token + (is_map ? row % inner * pool : row / inner);
    const unsigned long long human = at + 1, human_column = column + 1;

    *token = (int64_t)at;
    if (is_map)
        snprintf(text, 96, "head %u, query %llu, key %llu", (unsigned)(row / inner + 1), human,
                 (unsigned long long)(column * pool + 1));
    else if (head->rank == 3)
        snprintf(text, 96, "token %llu, head %u, column %llu", human, (unsigned)(row % inner + 1),
                 human_column);
    else
        snprintf(text, 96, "token %llu, column %llu", human, human_column);
    return text;
}

static void find_worst(hg_compare_side *side)
{
    side->worst_free_row = side->worst_isolated_row = UINT32_MAX;
    for (uint32_t i = 0; i < side->row_count; i++) {
        const hg_stage_row *row = &side->rows[i];
        const double share = row->difference.distance == 0 ? 0
                             : row->bound > 0              ? row->difference.distance / row->bound
                                                           : INFINITY;

        if (row->is_measured && share > side->worst_free) {
            side->worst_free = share;
            side->worst_free_row = i;
        }
        if (row->is_isolated && row->excess.worst > side->worst_isolated) {
            side->worst_isolated = row->excess.worst;
            side->worst_isolated_row = i;
        }
    }
}

static uint32_t first_isolated(const hg_compare_side *side)
{
    for (uint32_t i = 0; i < side->row_count; i++)
        if (side->rows[i].is_isolated && side->rows[i].excess.beyond)
            return i;
    return UINT32_MAX;
}

static uint32_t first_beyond(const hg_compare_side *side)
{
    for (uint32_t i = 0; i < side->row_count; i++)
        if (side->rows[i].is_measured && side->rows[i].is_beyond)
            return i;
    return UINT32_MAX;
}

static uint32_t first_other(const hg_compare_side *side)
{
    for (uint32_t i = 0; i < side->row_count; i++)
        if (side->rows[i].is_other)
            return i;
    return UINT32_MAX;
}

static void decide(hg_compare_side *side, uint32_t row, hg_pass pass)
{
    side->verdict = HG_VERDICT_DIFFERENT;
    side->decisive = row;
    side->decisive_pass = pass;
}

static void say_isolated(const hg_comparison *c, hg_compare_side *side)
{
    const hg_stage_row *row = &side->rows[side->decisive];
    const hg_excess *e = &row->excess;
    char label[64], how[128], place[96];
    int64_t token;

    snprintf(side->reason, sizeof(side->reason),
             "%s (%s) on the reference's inputs: %llu of %llu values are beyond their bounds; the "
             "worst, %s, is %.9g, expected %.9g within %.2g",
             hg_stage_head_label(&row->head, label), hg_stage_how(&row->head, how),
             (unsigned long long)e->beyond, (unsigned long long)row->head.count,
             hg_stage_place(&row->head, e->worst_at, c->map_pool, &token, place),
             (double)e->worst_found, (double)e->worst_expected, (double)e->worst_allowed);
}

static void say_free(const hg_comparison *c, hg_compare_side *side, const char *against)
{
    const hg_stage_row *row = &side->rows[side->decisive];
    const hg_difference *d = &row->difference;
    char label[64], how[128], place[96];
    int64_t token;

    snprintf(side->reason, sizeof(side->reason),
             "%s (%s) end to end: %.3g away from %s, %.3g is allowed (%.0f times what rounding "
             "does); the largest difference is at %s: %.9g, expected %.9g",
             hg_stage_head_label(&row->head, label), hg_stage_how(&row->head, how), d->distance,
             against, row->bound, HG_COMPARE_ROUNDINGS,
             hg_stage_place(&row->head, d->max_at, c->map_pool, &token, place),
             (double)d->max_found, (double)d->max_expected);
}

static void say_exact(hg_compare_side *side, const char *against)
{
    const hg_stage_row *row = &side->rows[side->decisive];
    char label[64], how[128];

    if (!row->is_measured)
        snprintf(side->reason, sizeof(side->reason),
                 "%s (%s) has other bits than %s (only its hash was kept), and both are exact",
                 hg_stage_head_label(&row->head, label), hg_stage_how(&row->head, how), against);
    else
        snprintf(side->reason, sizeof(side->reason),
                 "%s (%s) has other bits than %s in %llu of %llu values, and both are exact",
                 hg_stage_head_label(&row->head, label), hg_stage_how(&row->head, how), against,
                 (unsigned long long)row->difference.differing,
                 (unsigned long long)row->head.count);
}

/* Of a record some stages are there as hashes only: no distance can be told of them. */
static void say_rounding(hg_compare_side *side)
{
    uint32_t measured = 0, other = 0;
    char label[64] = "", end[200];

    for (uint32_t i = 0; i < side->row_count; i++) {
        measured += side->rows[i].is_measured;
        other += side->rows[i].is_other;
    }
    if (measured)
        snprintf(
            end, sizeof(end),
            "at most %.2g of the distance allowed end to end (%.0f times what rounding does%s)",
            side->worst_free, HG_COMPARE_ROUNDINGS,
            measured < side->row_count ? "; the record has not the values of all" : "");
    else
        snprintf(end, sizeof(end), "end to end only hashes were kept, of which %u are others",
                 other);
    if (side->worst_isolated_row != UINT32_MAX)
        hg_stage_head_label(&side->rows[side->worst_isolated_row].head, label);
    snprintf(side->reason, sizeof(side->reason),
             "all %u stages are within their bounds: %s, at most %.2g of an element's bound on the "
             "reference's inputs%s%s",
             side->row_count, end, side->worst_isolated, label[0] ? ", at " : "", label);
}

static void say_same(hg_compare_side *side)
{
    if (side->verdict == HG_VERDICT_SAME_BITS)
        snprintf(side->reason, sizeof(side->reason), "all %u stages have the same bits",
                 side->row_count);
    else
        say_rounding(side);
}

static int is_exact(const hg_compare_side *side)
{
    return strcmp(side->meta.precision, "exact") == 0;
}

static void judge_side(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    const hg_compare_side *base = &c->sides[0];
    const char *against = index == 0 || c->is_lost ? "the reference" : base->label;
    const int exact = index > 0 && !c->is_lost && is_exact(side) && is_exact(base);
    char label[64], how[128];
    uint32_t row;

    if (side->verdict == HG_VERDICT_NOT_RUN)
        return;
    find_worst(side);
    if (side->runs_differ) {
        decide(side, side->runs_stage, HG_PASS_FREE);
        snprintf(side->reason, sizeof(side->reason),
                 "%u of %u runs differ from the first, %s (%s) before others", side->runs_differ,
                 side->runs, hg_stage_head_label(&side->rows[side->decisive].head, label),
                 hg_stage_how(&side->rows[side->decisive].head, how));
    } else if ((row = first_isolated(side)) != UINT32_MAX) {
        decide(side, row, HG_PASS_ISOLATED);
        say_isolated(c, side);
    } else if (exact && (row = first_other(side)) != UINT32_MAX) {
        decide(side, row, HG_PASS_FREE);
        say_exact(side, against);
    } else if ((row = first_beyond(side)) != UINT32_MAX) {
        decide(side, row, HG_PASS_FREE);
        say_free(c, side, against);
    } else if (side->untapped_differ) {
        side->verdict = HG_VERDICT_DIFFERENT;
        snprintf(
            side->reason, sizeof(side->reason),
            "%llu logits have other bits when the stages are not looked at, so that kernels follow "
            "each other in one submit: one does not wait for another, or results are not the same "
            "twice (--replay 20 tells)",
            (unsigned long long)side->untapped_differ);
    } else {
        side->verdict =
            first_other(side) == UINT32_MAX ? HG_VERDICT_SAME_BITS : HG_VERDICT_ROUNDING;
        say_same(side);
    }
}

/* A baseline that is beyond its own bounds: what differs from it may be right. */
static void blame_baseline(hg_comparison *c)
{
    const hg_compare_side *base = &c->sides[0];

    if (c->is_lost || base->verdict != HG_VERDICT_DIFFERENT)
        return;
    for (uint32_t i = 1; i < c->side_count; i++) {
        hg_compare_side *side = &c->sides[i];
        const size_t length = strlen(side->reason);

        if (side->verdict == HG_VERDICT_DIFFERENT && side->decisive_pass == HG_PASS_FREE &&
            !side->runs_differ)
            snprintf(side->reason + length, sizeof(side->reason) - length,
                     "; but the fault may be the baseline's");
    }
}

/* What counts for the whole: a difference says more than a device that did not run. */
static int rank(hg_verdict verdict)
{
    return verdict == HG_VERDICT_DIFFERENT ? HG_VERDICT_NOT_RUN + 1 : (int)verdict;
}

void hg_compare_judge(hg_comparison *c)
{
    const hg_compare_side *decisive = &c->sides[0];

    for (uint32_t i = 0; i < c->side_count; i++)
        judge_side(c, i);
    blame_baseline(c);
    /* How far the baseline is from double is no difference between devices; its faults are. */
    if (c->side_count > 1 && decisive->verdict <= HG_VERDICT_ROUNDING)
        decisive = &c->sides[1];
    for (uint32_t i = 1; i < c->side_count; i++)
        if (rank(c->sides[i].verdict) > rank(decisive->verdict))
            decisive = &c->sides[i];
    c->verdict = decisive->verdict;
    snprintf(c->reason, sizeof(c->reason), "%s: %s", decisive->label, decisive->reason);
}
