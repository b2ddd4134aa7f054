/* SPDX-License-Identifier: MIT */
/*
 * Many sequences in one session, side by side in the same cache: which fit, which one is looked at,
 * and results of all of them with few dispatches. Positions are data (docs/DECISIONS.md D7), so the
 * pass itself is session.c's.
 */
#include <headgate/batch.h>

#include "check.h"
#include "config.h"
#include "params.h"
#include "session_state.h"

#include <stdlib.h>
#include <string.h>

uint32_t hg_batch_room(hg_model *model, const hg_session_params *theirs, uint32_t tokens)
{
    hg_session_params params;
    const hg_limits *limits;
    uint64_t row_floats, free_bytes;

    if (!model || !theirs)
        return 0;
    hg_struct_in(&params, sizeof(params), theirs);
    limits = &model->engine->plan.limits;
    free_bytes = hg_engine_free_bytes(model->engine) / 2;
    for (tokens = tokens < INT32_MAX ? tokens : INT32_MAX; tokens > 0; tokens -= (tokens + 7) / 8) {
        const uint64_t bytes = hg_session_bytes(model, &params, tokens, &row_floats);
        const uint64_t row_bytes = row_floats * 4 * tokens;

        if (row_bytes <= limits->binding_bytes && row_bytes <= limits->alloc_bytes &&
            bytes <= free_bytes)
            break;
    }
    return tokens;
}

/* Takes sequences while there is room: starts and *count. */
static hg_result take(hg_session *s, const int32_t *ids, const uint32_t *counts, uint32_t sequences,
                      uint32_t *starts, uint32_t *count)
{
    uint32_t total = 0, n = 0;

    for (; n < sequences && n < s->sequence_room && counts[n] <= s->max_tokens - total; n++) {
        if (counts[n] == 0)
            return hg_fail(&s->log, HG_ERR_TEXT, "sequence %u has no tokens: expected at least one",
                           n);
        for (uint32_t i = 0; i < counts[n]; i++)
            if (!hg_session_knows(s, ids[total + i]))
                return hg_fail(&s->log, HG_ERR_TEXT,
                               "sequence %u: token id %d at place %u: the model's ids are 0 to %u",
                               n, ids[total + i], i, s->model->config.vocab - 1);
        starts[n] = total;
        total += counts[n];
    }
    starts[n] = total;
    *count = n;
    if (n == 0)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "a sequence of %u tokens is asked for, the session has room for %u",
                       counts[0], s->max_tokens);
    return HG_OK;
}

hg_result hg_batch_eval(hg_session *session, const int32_t *ids, const uint32_t *counts,
                        uint32_t sequences, uint32_t *taken)
{
    hg_session *s = session;
    uint32_t *starts = NULL, count = 0;
    hg_result res = HG_OK;

    if (taken)
        *taken = 0;
    if (!s || !ids || !counts || sequences == 0 || hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    starts = calloc((size_t)s->sequence_room + 1, sizeof(*starts));
    if (!starts)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for %u sequences", s->sequence_room);
    HG_TRY(take(s, ids, counts, sequences, starts, &count));
    if (!taken && count < sequences) {
        res = hg_fail(&s->log, HG_ERR_ARGUMENT,
                      "the session has room for %u of %u sequences: %u at a time, %u tokens", count,
                      sequences, s->sequence_room, s->max_tokens);
        goto out;
    }
    hg_session_reset(s);
    memcpy(s->starts, starts, ((size_t)count + 1) * sizeof(*starts));
    s->sequences = count;
    if (!hg_rope_depends_on_length(&s->model->config))
        hg_rope_frequencies(&s->model->config, 1, s->inv_freq, &s->rope_scaling);
    res = hg_session_keep_rows(s);
    if (res == HG_OK)
        res = hg_session_run(s, ids, 0, starts[count]);
    if (res == HG_OK)
        res = hg_batch_select(s, 0);
    if (res != HG_OK)
        hg_session_reset(s);
    else if (taken)
        *taken = count;
out:
    free(starts);
    return res;
}

uint32_t hg_batch_sequences(const hg_session *session)
{
    return session ? session->sequences : 0;
}

hg_result hg_batch_select(hg_session *session, uint32_t sequence)
{
    hg_session *s = session;

    if (!s || hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (sequence >= s->sequences)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "sequence %u is asked for, the session holds %u (counted from 0)", sequence,
                       s->sequences);
    s->selected = sequence;
    s->first = s->starts[sequence];
    s->tokens = s->starts[sequence + 1] - s->first;
    s->logits_first = s->params.logits == HG_LOGITS_LAST ? s->tokens - 1 : 0;
    s->logits_end = s->params.logits == HG_LOGITS_NONE ? 0 : s->tokens;
    s->logits_row = s->params.logits == HG_LOGITS_LAST ? sequence : s->first;
    return HG_OK;
}

static hg_result need_batch(const hg_session *s)
{
    if (hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (s->sequences)
        return HG_OK;
    return hg_fail(&s->log, HG_ERR_ARGUMENT, "the session holds no batch: hg_batch_eval makes one");
}

hg_result hg_batch_metrics(hg_session *session, uint32_t layer, hg_layer_metrics *out,
                           double *head_shares)
{
    hg_session *s = session;
    hg_result res = HG_OK;

    if (!s || !out)
        return HG_ERR_ARGUMENT;
    HG_TRY(need_batch(s));
    HG_TRY(hg_session_measure(s, layer, s->starts, s->sequences, out, head_shares));
out:
    return res;
}

hg_result hg_batch_gates(hg_session *session, uint32_t layer, float *out)
{
    hg_session *s = session;
    const uint32_t selected = s ? s->selected : 0;
    hg_result res = HG_OK;

    if (!s || !out)
        return HG_ERR_ARGUMENT;
    HG_TRY(need_batch(s));
    s->first = 0; /* as one sequence of all tokens: rows are rows */
    s->tokens = s->starts[s->sequences];
    res = hg_capture_gates(s, layer, out);
    s->first = s->starts[selected];
    s->tokens = s->starts[selected + 1] - s->first;
out:
    return res;
}

/* Sequences [begin, end) whose maps come from one rectangle: as wide as the longest of them. */
typedef struct band {
    uint32_t begin, end, longest;
} band;

/* A rectangle is no larger than this unless one sequence is, and beyond the second not half empty:
 * a call costs more than the zeros of a small one. */
enum { BAND_CELLS_MAX = 1 << 20, BAND_CELLS_FREE = 1 << 16 };

static band next_band(const hg_session *s, uint32_t begin, uint32_t maps)
{
    band b = {begin, begin, 0};
    uint64_t useful = 0;

    for (; b.end < s->sequences; b.end++) {
        const uint64_t rows = s->starts[b.end + 1] - s->starts[begin];
        const uint32_t tokens = s->starts[b.end + 1] - s->starts[b.end];
        const uint32_t longest = tokens > b.longest ? tokens : b.longest;
        const uint64_t cells = rows * longest * maps;

        useful += (uint64_t)tokens * tokens;
        if (b.end > begin &&
            (cells > BAND_CELLS_MAX || (cells > BAND_CELLS_FREE && rows * longest > 2 * useful)))
            break;
        b.longest = longest;
    }
    return b;
}

/* The maps of a band, cut out of its rectangle [maps, rows, longest]. Returns floats written. */
static uint64_t cut_band(const hg_session *s, const band *b, uint32_t maps, const float *cells,
                         float *out)
{
    const size_t rows = s->starts[b->end] - s->starts[b->begin];
    float *to = out;

    for (uint32_t i = b->begin; i < b->end; i++) {
        const size_t tokens = s->starts[i + 1] - s->starts[i];
        const size_t row = s->starts[i] - s->starts[b->begin];

        for (uint32_t m = 0; m < maps; m++)
            for (size_t t = 0; t < tokens; t++, to += tokens)
                memcpy(to, cells + ((m * rows + row + t) * b->longest), tokens * sizeof(*to));
    }
    return (uint64_t)(to - out);
}

static hg_result read_band(hg_session *s, const hg_map_params *settled, const band *b, float *cells,
                           float **out)
{
    hg_map_params p = *settled;
    uint32_t shape[3];
    const int alone = b->end - b->begin == 1;
    hg_result res = HG_OK;

    p.query_count = s->starts[b->end] - s->starts[b->begin];
    p.key_count = b->longest;
    hg_capture_shape(&p, shape);
    HG_TRY(hg_capture_cells(s, &p, s->starts[b->begin], alone ? *out : cells));
    *out +=
        alone ? (uint64_t)shape[0] * shape[1] * shape[2] : cut_band(s, b, shape[0], cells, *out);
out:
    return res;
}

hg_result hg_batch_maps(hg_session *session, const hg_map_params *params, float *out)
{
    hg_session *s = session;
    hg_map_params p = {0};
    float *cells = NULL;
    uint32_t maps;
    hg_result res = HG_OK;

    if (!s || !params || !out)
        return HG_ERR_ARGUMENT;
    HG_TRY(need_batch(s));
    hg_struct_in(&p, sizeof(p), params);
    if (p.query_first || p.query_count || p.key_first || p.key_count)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "maps of a batch are whole: expected 0 for the ranges of queries and keys");
    HG_TRY(hg_capture_settle(s, params, &p));
    maps = p.head_mean ? 1 : p.head_count;
    cells = malloc(BAND_CELLS_MAX * sizeof(*cells));
    if (!cells)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for maps of layer %u", p.layer + 1);
    for (band b = {0}; b.begin < s->sequences; b.begin = b.end) {
        b = next_band(s, b.begin, maps);
        if (p.pool_queries > 1 || p.pool_keys > 1) { /* a cell has tokens of one sequence alone */
            b.end = b.begin + 1;
            b.longest = s->starts[b.end] - s->starts[b.begin];
        }
        HG_TRY(read_band(s, &p, &b, cells, &out));
    }
out:
    free(cells);
    return res;
}
