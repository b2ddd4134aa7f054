/* SPDX-License-Identifier: MIT */
/* See selftest_tally.h. */
#include "selftest_tally.h"

#include <stdio.h>
#include <string.h>

static hg_selftest_line *line_of(hg_selftest_tally *tally, const hg_selftest_row *row)
{
    const char *dtype = strcmp(row->dtype, "none") == 0 ? "-" : row->dtype;
    hg_selftest_line *line;

    for (uint32_t i = tally->count; i-- > 0;) {
        line = &tally->lines[i];
        if (strcmp(line->kernel, row->kernel) == 0 && strcmp(line->tier, row->tier) == 0 &&
            strcmp(line->dtype, dtype) == 0)
            return line;
    }
    if (tally->count == HG_SELFTEST_LINES_MAX)
        return NULL;
    line = &tally->lines[tally->count++];
    memset(line, 0, sizeof(*line));
    snprintf(line->kernel, sizeof(line->kernel), "%s", row->kernel);
    snprintf(line->tier, sizeof(line->tier), "%s", row->tier);
    snprintf(line->dtype, sizeof(line->dtype), "%s", dtype);
    return line;
}

/* The state's own words are told once, before the shape. */
static const char *without_state(const char *detail)
{
    static const char *const starts[] = {HG_SELFTEST_WITHIN ": ", HG_SELFTEST_BITS ": "};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(detail, starts[i], strlen(starts[i])) == 0)
            return detail + strlen(starts[i]);
    }
    return detail;
}

int hg_selftest_tally_add(hg_selftest_tally *tally, const hg_selftest_row *row)
{
    hg_selftest_line *line = line_of(tally, row);
    hg_selftest_state state = HG_SELFTEST_PASS;

    if (!line)
        return 0;
    line->replays = row->replays;
    if (row->verdict == HG_SELFTEST_SKIPPED) {
        line->state = HG_SELFTEST_UNUSED;
        snprintf(line->first, sizeof(line->first), "%s", row->detail);
        return 1;
    }
    line->shapes++;
    line->exact_only = row->exact_only != 0;
    line->passed += row->verdict == HG_SELFTEST_PASSED;
    if (row->verdict == HG_SELFTEST_FAILED)
        state = row->within_bound || row->exact_only ? HG_SELFTEST_OTHER_BITS : HG_SELFTEST_WRONG;
    if (state == HG_SELFTEST_OTHER_BITS)
        line->within_bound =
            row->within_bound && (line->state != HG_SELFTEST_OTHER_BITS || line->within_bound);
    if (state > line->state) {
        line->state = state;
        snprintf(line->first, sizeof(line->first), "%s: %s", row->shape,
                 without_state(row->detail));
    }
    return 1;
}

/* The best state of any variant of this kernel and type: what a run would take. */
static hg_selftest_state best_of(const hg_selftest_tally *tally, const hg_selftest_line *line)
{
    hg_selftest_state best = line->state;

    for (uint32_t i = 0; i < tally->count; i++) {
        const hg_selftest_line *other = &tally->lines[i];

        if (other->state != HG_SELFTEST_UNUSED && other->state < best &&
            strcmp(other->kernel, line->kernel) == 0 && strcmp(other->dtype, line->dtype) == 0)
            best = other->state;
    }
    return best;
}

hg_selftest_sum hg_selftest_tally_sum(const hg_selftest_tally *tally)
{
    hg_selftest_sum sum = {.for_fp32 = 1, .for_exact = 1};

    for (uint32_t i = 0; i < tally->count; i++) {
        const hg_selftest_line *line = &tally->lines[i];
        const hg_selftest_state best = best_of(tally, line);

        if (line->state == HG_SELFTEST_UNUSED)
            continue;
        sum.used++;
        sum.other += line->state == HG_SELFTEST_OTHER_BITS;
        sum.wrong += line->state == HG_SELFTEST_WRONG;
        if (line->state == HG_SELFTEST_WRONG && !sum.first_wrong)
            sum.first_wrong = line->kernel;
        sum.for_exact &= best == HG_SELFTEST_PASS;
        sum.for_fp32 &= best != HG_SELFTEST_WRONG;
    }
    return sum;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

const char *hg_selftest_words(const hg_selftest_sum *sum, int is_exact, char text[160])
{
    const uint32_t failed = sum->other + sum->wrong;

    if (!sum->for_fp32)
        snprintf(text, 160, "%u kernel%s wrong (%s%.40s), not usable", sum->wrong,
                 plural(sum->wrong), sum->wrong == 1 ? "" : "first ", sum->first_wrong);
    else if (!sum->for_exact)
        snprintf(text, 160,
                 "not usable with --exact; right for fp32 (%u of %u kernels give other bits)",
                 failed, sum->used);
    else if (failed)
        snprintf(text, 160, "usable: %u of %u kernels fail, others take their place", failed,
                 sum->used);
    else if (is_exact)
        snprintf(text, 160, "all %u kernels pass", sum->used);
    else
        snprintf(text, 160, "all %u kernels are right for fp32", sum->used);
    return text;
}

const char *hg_selftest_state_name(const hg_selftest_line *line)
{
    static const char *const names[] = {"pass", "not used", "", "WRONG"};

    if (line->state != HG_SELFTEST_OTHER_BITS)
        return names[line->state];
    return line->within_bound ? HG_SELFTEST_WITHIN : HG_SELFTEST_BITS;
}
