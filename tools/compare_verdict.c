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
    double distance = d->distance;

    if (!isfinite(distance)) /* float32 cannot hold this prompt here: nothing is promised */
        return INFINITY;
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

double hg_stage_free_share(const hg_stage_row *row)
{
    if (!row->is_measured || row->difference.distance == 0)
        return 0;
    return row->bound > 0 ? row->difference.distance / row->bound : INFINITY;
}

static void find_worst(hg_compare_side *side)
{
    side->worst_free_row = side->worst_isolated_row = UINT32_MAX;
    for (uint32_t i = 0; i < side->row_count; i++) {
        const hg_stage_row *row = &side->rows[i];
        const double share = hg_stage_free_share(row);

        side->measured += row->is_measured;
        side->hashes_other += !row->is_measured && row->is_other;
        if (share > side->worst_free) {
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

int hg_compare_is_exact(const hg_comparison *c, uint32_t index)
{
    return index > 0 && !c->is_lost && strcmp(c->sides[index].meta.precision, "exact") == 0 &&
           strcmp(c->sides[0].meta.precision, "exact") == 0 &&
           /* Another order has a right to other bits. */
           strcmp(c->sides[index].meta.revision, c->sides[0].meta.revision) == 0;
}

int hg_compare_is_partial(const hg_compare_side *side)
{
    return side->verdict == HG_VERDICT_ROUNDING && side->hashes_other > 0;
}

/* The page without taps has other kernels in some places. Under exact they owe the same bits, else
 * what the logits may be off by anyway: a driver that adds in its own order does so in each kernel
 * in another way (Intel's OpenCL). */
static int is_untapped_beyond(const hg_compare_side *side)
{
    double bound = 0;

    for (uint32_t i = 0; i < side->row_count; i++)
        if (strcmp(side->rows[i].head.name, "logits") == 0 && side->rows[i].is_measured)
            bound = side->rows[i].bound;
    if (side->untapped_differ == 0)
        return 0;
    if (isinf(bound)) /* float32 does not hold this prompt here */
        return 0;
    return strcmp(side->meta.precision, "exact") == 0 || !(side->untapped_distance <= bound);
}

static void judge_side(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    uint32_t row;

    if (side->verdict == HG_VERDICT_NOT_RUN)
        return;
    find_worst(side);
    side->untapped_beyond = (uint32_t)is_untapped_beyond(side);
    if (side->runs_differ)
        decide(side, side->runs_stage, HG_PASS_FREE);
    else if ((row = first_isolated(side)) != UINT32_MAX)
        decide(side, row, HG_PASS_ISOLATED);
    /* What float32 does not hold has no bits that anybody promises. */
    else if (hg_compare_is_exact(c, index) && (row = first_other(side)) < c->strange_stage)
        decide(side, row, HG_PASS_FREE);
    else if ((row = first_beyond(side)) != UINT32_MAX)
        decide(side, row, HG_PASS_FREE);
    else if (side->untapped_beyond)
        side->verdict = HG_VERDICT_DIFFERENT;
    else
        side->verdict =
            first_other(side) == UINT32_MAX ? HG_VERDICT_SAME_BITS : HG_VERDICT_ROUNDING;
}

/* What counts for the whole: a difference says more than a device that did not run, and what cannot
 * be told more than what can. How far the baseline is from double is no difference between devices;
 * its faults are. */
static int rank(const hg_comparison *c, uint32_t index)
{
    const hg_compare_side *side = &c->sides[index];

    if (index == 0 && c->side_count > 1 && side->verdict <= HG_VERDICT_ROUNDING)
        return -1;
    if (side->verdict == HG_VERDICT_DIFFERENT)
        return 2 * HG_VERDICT_NOT_RUN + 2;
    return 2 * (int)side->verdict + hg_compare_is_partial(side);
}

void hg_compare_judge(hg_comparison *c)
{
    uint32_t decisive = 0;

    for (uint32_t i = 0; i < c->side_count; i++)
        judge_side(c, i);
    for (uint32_t i = 1; i < c->side_count; i++)
        if (rank(c, i) > rank(c, decisive))
            decisive = i;
    c->verdict = c->sides[decisive].verdict;
    c->is_partial = (uint32_t)hg_compare_is_partial(&c->sides[decisive]);
    hg_compare_explain(c, &c->sides[decisive]);
}
