/* SPDX-License-Identifier: MIT */
/* Verdicts in words: a sentence for each side, and one that names every device. */
#include "compare_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_MAX = 6 };

typedef struct sentence {
    char *text;
    size_t size;
} sentence;

static void add(const sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(const sentence *s, const char *format, ...)
{
    const size_t length = strlen(s->text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(s->text + length, s->size - length, format, args);
    va_end(args);
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

const char *hg_roundings_text(double share, char text[16])
{
    const double roundings = share * HG_COMPARE_ROUNDINGS;

    if (roundings == 0)
        snprintf(text, 16, "0");
    else if (!isfinite(roundings))
        snprintf(text, 16, "beyond");
    else
        snprintf(text, 16, roundings >= 0.1 && roundings < 1000 ? "%.1f" : "%.2g", roundings);
    return text;
}

/* "q_rope, layer 2", "logits". */
static void add_stage(const sentence *s, const hg_stage_head *head)
{
    add(s, "%s", head->name);
    if (head->layer >= 0)
        add(s, ", layer %d", head->layer + 1);
}

static const char *against(const hg_comparison *c, uint32_t index)
{
    return index == 0 || c->is_lost ? "the reference in double" : c->sides[0].label;
}

static void say_isolated(const hg_comparison *c, hg_compare_side *side)
{
    const hg_stage_row *row = &side->rows[side->decisive];
    const hg_excess *e = &row->excess;
    char label[64], how[128], place[96];
    int64_t token;

    snprintf(side->reason, sizeof(side->reason),
             "%s (%s) is wrong by itself, on the reference's inputs: %llu of %llu values are "
             "beyond their error bounds; the worst, %s, is %.9g, expected %.9g within %.2g",
             hg_stage_head_label(&row->head, label), hg_stage_how(&row->head, how),
             (unsigned long long)e->beyond, (unsigned long long)row->head.count,
             hg_stage_place(&row->head, e->worst_at, c->map_pool, &token, place),
             (double)e->worst_found, (double)e->worst_expected, (double)e->worst_allowed);
}

static void say_free(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    const hg_stage_row *row = &side->rows[side->decisive];
    const hg_difference *d = &row->difference;
    const double share = hg_stage_free_share(row);
    const sentence s = {side->reason, sizeof(side->reason)};
    char label[64], how[128], place[96], times[16];
    int64_t token;

    side->reason[0] = '\0';
    add(&s, "%s (%s) differs from %s ", hg_stage_head_label(&row->head, label),
        hg_stage_how(&row->head, how), against(c, index));
    if (isfinite(share))
        add(&s, "by %s x what float32 rounding does here (%.0f x is allowed)",
            hg_roundings_text(share, times), HG_COMPARE_ROUNDINGS);
    else
        add(&s, "by what no rounding explains");
    add(&s, "; the largest difference, at %s, is %.9g, expected %.9g",
        hg_stage_place(&row->head, d->max_at, c->map_pool, &token, place), (double)d->max_found,
        (double)d->max_expected);
}

/* What other bits under exact amount to. */
static void add_weight(const sentence *s, const hg_compare_side *side)
{
    double most = 0;

    for (uint32_t i = 0; i < side->row_count; i++) {
        const hg_stage_row *row = &side->rows[i];

        if (row->is_measured && row->is_beyond) {
            add(s, "; ");
            add_stage(s, &row->head);
            add(s, ", is beyond what fp32 is allowed, too");
            return;
        }
        if (row->is_measured && row->difference.max_abs > most)
            most = row->difference.max_abs;
    }
    if (side->measured == 0)
        add(s, "; by how much cannot be told from hashes");
    else
        add(s,
            "; differences are at most %.2g%s, within what fp32 is allowed: good for fp32, not "
            "exact",
            most, side->hashes_other ? " where there are values" : "");
}

static void say_exact(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    const hg_stage_row *row = &side->rows[side->decisive];
    const sentence s = {side->reason, sizeof(side->reason)};
    char label[64], how[128];

    side->reason[0] = '\0';
    add(&s, "%s (%s) has other bits than %s ", hg_stage_head_label(&row->head, label),
        hg_stage_how(&row->head, how), against(c, index));
    if (row->is_measured)
        add(&s, "in %llu of %llu values", (unsigned long long)row->difference.differing,
            (unsigned long long)row->head.count);
    else
        add(&s, "(its hash is all that is there)");
    add(&s, ", and both are exact");
    add_weight(&s, side);
}

static void say_different(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    char label[64], how[128];

    if (side->runs_differ)
        snprintf(side->reason, sizeof(side->reason),
                 "%u of %u runs differ from the first, %s (%s) before others", side->runs_differ,
                 side->runs, hg_stage_head_label(&side->rows[side->decisive].head, label),
                 hg_stage_how(&side->rows[side->decisive].head, how));
    else if (side->decisive == UINT32_MAX)
        snprintf(
            side->reason, sizeof(side->reason),
            "%llu logits are others when the stages are not looked at, so that kernels follow "
            "each other in one submit: one does not wait for another, or results are not the same "
            "twice (--replay 20 tells)",
            (unsigned long long)side->untapped_differ);
    else if (side->decisive_pass == HG_PASS_ISOLATED)
        say_isolated(c, side);
    else if (hg_compare_is_exact(c, index))
        say_exact(c, index);
    else
        say_free(c, index);
}

/* Of a record some stages may be there as hashes only: no distance can be told of them. */
static void add_measured(const sentence *s, const hg_compare_side *side)
{
    const uint32_t hashes = side->row_count - side->measured;

    if (!hg_compare_is_partial(side))
        return;
    add(s, "values of %u of %u stages are in the record, ", side->measured, side->row_count);
    if (side->hashes_other == hashes)
        add(s, "the others are hashes that differ; ");
    else
        add(s, "the others are hashes, of which %u differ; ", side->hashes_other);
}

static void add_kernel(const sentence *s, const hg_compare_side *side)
{
    char share[16];

    if (side->worst_isolated_row == UINT32_MAX)
        return;
    add(s, ", and no kernel alone is off by more than %s of its error bound (",
        hg_share_text(side->worst_isolated, share));
    add_stage(s, &side->rows[side->worst_isolated_row].head);
    add(s, ")");
}

static void add_distance(const sentence *s, double worst_free, const char *from)
{
    char times[16];

    add(s, "from %s by %s x what float32 rounding does here (%.0f x is allowed)", from,
        hg_roundings_text(worst_free, times), HG_COMPARE_ROUNDINGS);
}

static void say_alike(const hg_comparison *c, uint32_t index)
{
    hg_compare_side *side = &c->sides[index];
    const sentence s = {side->reason, sizeof(side->reason)};

    side->reason[0] = '\0';
    if (side->verdict == HG_VERDICT_SAME_BITS) {
        add(&s, "agrees with %s in all %u stages", against(c, index), side->row_count);
        return;
    }
    add_measured(&s, side);
    if (side->measured == 0) {
        add(&s, "cannot be measured end to end");
    } else {
        add(&s, "differs ");
        add_distance(&s, side->worst_free, against(c, index));
    }
    add_kernel(&s, side);
}

/* "vk:0, cl:0 and ref": the sides with this verdict from `from` on; how many. */
static uint32_t add_names(const sentence *s, const hg_comparison *c, uint32_t from,
                          hg_verdict verdict)
{
    uint32_t count = 0, told = 0;

    for (uint32_t i = from; i < c->side_count; i++)
        count += i == 0 || c->sides[i].verdict == verdict;
    for (uint32_t i = from; i < c->side_count; i++) {
        if (i > 0 && c->sides[i].verdict != verdict)
            continue;
        if (told == NAMED_MAX && count > NAMED_MAX + 1) {
            add(s, " and %u more", count - told);
            break;
        }
        add(s, "%s%.60s", told == 0 ? "" : told + 1 == count ? " and " : ", ", c->sides[i].label);
        told++;
    }
    return count;
}

/* The side with the largest share of a bound, unless all have the same. */
static uint32_t weakest(const hg_comparison *c)
{
    double most = -1, least = INFINITY;
    uint32_t worst = UINT32_MAX;

    for (uint32_t i = 1; i < c->side_count; i++) {
        const hg_compare_side *side = &c->sides[i];
        const double share =
            side->worst_free > side->worst_isolated ? side->worst_free : side->worst_isolated;

        if (side->verdict != HG_VERDICT_ROUNDING)
            continue;
        if (share > most) {
            most = share;
            worst = i;
        }
        least = share < least ? share : least;
    }
    return most > least ? worst : UINT32_MAX;
}

static void say_all_rounding(const hg_comparison *c, const hg_compare_side *decisive,
                             const sentence *s)
{
    double worst_free = 0;
    const hg_compare_side *kernel = decisive;
    uint32_t count = 0, same = 0, worst;

    add_measured(s, decisive);
    for (uint32_t i = 1; i < c->side_count; i++) {
        const hg_compare_side *side = &c->sides[i];

        same += side->verdict == HG_VERDICT_SAME_BITS;
        if (side->verdict != HG_VERDICT_ROUNDING)
            continue;
        if (side->worst_free > worst_free)
            worst_free = side->worst_free;
        if (side->worst_isolated > kernel->worst_isolated)
            kernel = side;
    }
    count = add_names(s, c, 1, HG_VERDICT_ROUNDING);
    if (decisive->measured == 0) {
        add(s, " cannot be measured end to end");
    } else {
        add(s, count == 1 ? " differs " : " differ ");
        add_distance(s, worst_free, c->sides[0].label);
    }
    add_kernel(s, kernel);
    worst = weakest(c);
    if (worst != UINT32_MAX)
        add(s, "; weakest: %.60s", c->sides[worst].label);
    if (same) {
        add(s, "; ");
        (void)add_names(s, c, 1, HG_VERDICT_SAME_BITS);
        add(s, same == 1 ? " has the bits of %s" : " have the bits of %s", c->sides[0].label);
    }
}

/* After what decided: how the other devices fared. */
static void add_others(const hg_comparison *c, const hg_compare_side *decisive, const sentence *s)
{
    uint32_t told = 0;

    for (uint32_t i = 1; i < c->side_count && told <= NAMED_MAX; i++) {
        if (&c->sides[i] == decisive)
            continue;
        if (told++ == NAMED_MAX)
            add(s, ", ...");
        else
            add(s, "%s%.60s %s", told == 1 ? "; the others: " : ", ", c->sides[i].label,
                hg_verdict_name(c->sides[i].verdict));
    }
}

static void say_all(hg_comparison *c, const hg_compare_side *decisive)
{
    const sentence s = {c->reason, sizeof(c->reason)};

    c->reason[0] = '\0';
    if (decisive->verdict > HG_VERDICT_ROUNDING) {
        add(&s, "%s: %s", decisive->label, decisive->reason);
        add_others(c, decisive, &s);
    } else if (decisive == &c->sides[0]) {
        add(&s, "%s%s%s", hg_compare_is_partial(decisive) ? "" : decisive->label,
            hg_compare_is_partial(decisive) ? "" : " ", decisive->reason);
    } else if (decisive->verdict == HG_VERDICT_SAME_BITS) {
        (void)add_names(&s, c, 0, HG_VERDICT_SAME_BITS);
        add(&s, " agree in all %u stages", decisive->row_count);
    } else {
        say_all_rounding(c, decisive, &s);
    }
}

/* A record of another precision than the run has other bits by right. */
static void note_precision(hg_comparison *c)
{
    const char *record = c->sides[0].meta.precision;

    for (uint32_t i = 1; c->is_loaded && i < c->side_count; i++) {
        const hg_compare_side *side = &c->sides[i];

        if (side->verdict == HG_VERDICT_NOT_RUN || strcmp(record, side->meta.precision) == 0)
            continue;
        snprintf(c->note, sizeof(c->note),
                 "note: the record was made with %.16s and %.60s ran with %.16s, so that other "
                 "bits are no fault; --precision %.16s compares like with like",
                 record, side->label, side->meta.precision, record);
        return;
    }
}

/* A baseline that is beyond its own bounds: what differs from it may be right. */
static void blame_baseline(hg_comparison *c)
{
    if (c->is_lost || c->sides[0].verdict != HG_VERDICT_DIFFERENT)
        return;
    for (uint32_t i = 1; i < c->side_count; i++) {
        hg_compare_side *side = &c->sides[i];
        const sentence s = {side->reason, sizeof(side->reason)};

        if (side->verdict == HG_VERDICT_DIFFERENT && side->decisive_pass == HG_PASS_FREE &&
            !side->runs_differ)
            add(&s, "; but the fault may be the baseline's");
    }
}

void hg_compare_explain(hg_comparison *c, const hg_compare_side *decisive)
{
    for (uint32_t i = 0; i < c->side_count; i++) {
        if (c->sides[i].verdict == HG_VERDICT_DIFFERENT)
            say_different(c, i);
        else if (c->sides[i].verdict != HG_VERDICT_NOT_RUN)
            say_alike(c, i);
    }
    blame_baseline(c);
    note_precision(c);
    say_all(c, decisive);
}
