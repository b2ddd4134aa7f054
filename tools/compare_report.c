/* SPDX-License-Identifier: MIT */
/* What table, JSON and page say alike of rows and devices. See compare_report.h. */
#include "compare_report.h"

#include "message.h"

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

const char *hg_compare_standing(const hg_comparison *c, uint32_t index, char text[96])
{
    static const char *const judged[] = {"same bits as the reference in double",
                                         "same within rounding of the reference in double",
                                         "different from the reference in double"};
    const hg_compare_side *side = &c->sides[index];

    if (index > 0 || side->verdict == HG_VERDICT_NOT_RUN)
        snprintf(text, 96, "%s%s", hg_verdict_name(side->verdict),
                 hg_compare_is_partial(side) ? " as far as can be told" : "");
    else
        snprintf(text, 96, "%s%s%s", c->side_count > 1 ? "baseline; " : "", judged[side->verdict],
                 hg_compare_is_partial(side) ? ", as far as can be told" : "");
    return text;
}

const char *hg_compare_headline(const hg_comparison *c, char text[64])
{
    snprintf(text, 64, "%s%s", hg_verdict_name(c->verdict),
             c->is_partial ? " as far as can be told" : "");
    return text;
}

const char *hg_compare_runs(const hg_compare_side *side, char text[64])
{
    if (side->runs_differ)
        snprintf(text, 64, "%u runs: %u with other bits than the first", side->runs,
                 side->runs_differ);
    else
        snprintf(text, 64, "%u runs: same bits", side->runs);
    return text;
}

int hg_compare_in_pieces(const hg_compare_side *side)
{
    for (uint32_t i = 0; i < side->row_count; i++)
        if (side->rows[i].head.first_token > 0)
            return 1;
    return 0;
}

const char *hg_stage_piece(const hg_stage_head *head, char text[32])
{
    if (strcmp(head->name, "attn_probs") == 0)
        snprintf(text, 32, "all");
    else
        snprintf(text, 32, "%u-%u", head->first_token + 1, head->first_token + head->shape[0]);
    return text;
}
