/* SPDX-License-Identifier: MIT */
/*
 * The paper's measures (arXiv 2505.06708): how much attention the first token gets, how open the
 * gates are, how large the residual stream grows. Sums in double on the host, over rows reduced on
 * the device.
 */
#include <headgate/capture.h>

#include "check.h"
#include "session_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The paper's figures of sparse gates count those below this. */
#define GATE_CLOSED 0.1

double hg_uniform_share(uint32_t tokens, uint32_t later)
{
    double harmonic = 0;

    for (uint32_t i = tokens; i > 0; i--) /* small terms first */
        harmonic += 1.0 / i;
    if (!later)
        return tokens ? harmonic / tokens : (double)NAN;
    return tokens > 1 ? (harmonic - 1.0) / (tokens - 1) : (double)NAN;
}

/* column: p(query, first key) of the tokens of one sequence, heads `stride` apart. shares: [2,
 * heads].
 */
static void share_heads(const float *column, uint32_t stride, uint32_t heads, uint32_t tokens,
                        double *shares)
{
    for (uint32_t h = 0; h < heads; h++) {
        double later = 0;

        for (uint32_t t = 1; t < tokens; t++)
            later += (double)column[(size_t)h * stride + t];
        shares[h] = ((double)column[(size_t)h * stride] + later) / tokens;
        shares[heads + h] = tokens > 1 ? later / (tokens - 1) : (double)NAN;
    }
}

/* Some sequences of a session, one behind the other. */
typedef struct range {
    hg_session *session;
    uint32_t layer;
    const uint32_t *starts; /* [sequences + 1] */
    uint32_t sequences, rows;
} range;

/* Keys count from each query's own sequence on, so that column 0 is the first token of all of them.
 */
static hg_result first_tokens(const range *r, hg_layer_metrics *out, double *head_shares)
{
    hg_session *s = r->session;
    const uint32_t heads = s->model->config.heads;
    const hg_map_params column = {.layer = r->layer,
                                  .head_count = heads,
                                  .query_count = r->rows,
                                  .key_count = 1,
                                  .pool_queries = 1,
                                  .pool_keys = 1};
    float *values = malloc((size_t)heads * r->rows * sizeof(*values));
    double *shares = malloc((size_t)heads * 2 * sizeof(*shares));
    hg_result res = HG_OK;

    if (!values || !shares) {
        res = hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the measures of layer %u",
                      r->layer + 1);
        goto out;
    }
    HG_TRY(hg_capture_cells(s, &column, r->starts[0], values));
    for (uint32_t i = 0; i < r->sequences; i++) {
        share_heads(values + (r->starts[i] - r->starts[0]), r->rows, heads,
                    r->starts[i + 1] - r->starts[i], shares);
        out[i].first_token_share = out[i].first_token_share_later = 0;
        for (uint32_t h = 0; h < heads; h++) {
            out[i].first_token_share += shares[h] / heads;
            out[i].first_token_share_later += shares[heads + h] / heads;
        }
        out[i].captured = 1;
        if (head_shares)
            memcpy(head_shares + (size_t)i * heads * 2, shares,
                   (size_t)heads * 2 * sizeof(*shares));
    }
out:
    free(values);
    free(shares);
    return res;
}

static hg_result gates(const range *r, hg_layer_metrics *out)
{
    hg_session *s = r->session;
    const size_t width = (size_t)s->model->config.heads * s->model->gate_dim;
    float *values = malloc(r->rows * width * sizeof(*values)), *at = values;
    hg_result res = HG_OK;

    if (!values)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the gates of layer %u",
                       r->layer + 1);
    HG_TRY(hg_readback_bytes(s->engine, s->kept[r->layer].gates, r->starts[0] * width * 4, values,
                             r->rows * width * 4));
    for (uint32_t i = 0; i < r->sequences; i++) {
        const size_t count = (r->starts[i + 1] - r->starts[i]) * width;
        double sum = 0;
        size_t closed = 0;

        for (size_t j = 0; j < count; j++) {
            sum += (double)at[j];
            closed += (double)at[j] < GATE_CLOSED;
        }
        out[i].gate_mean = sum / (double)count;
        out[i].gate_below_tenth = (double)closed / (double)count;
        at += count;
    }
out:
    free(values);
    return res;
}

/* [rows, 4] sums of the rows [from, from + rows) of a hidden state, reduced on the device. */
static hg_result reduce_hidden(hg_session *s, uint32_t index, uint32_t from, uint32_t rows,
                               float *values)
{
    const uint64_t hidden = s->model->config.hidden;
    const struct hg_reduce_rows_params words = {
        .rows = rows, .cols = (uint32_t)hidden, .stride = (uint32_t)hidden};
    hg_mem *sums = NULL;
    hg_op *op;
    hg_result res = HG_OK;

    HG_TRY(hg_buffer_create(s->engine, HG_MEM_READBACK, (uint64_t)rows * 16, "row sums", &sums));
    hg_oplist_clear(&s->ops);
    op = hg_oplist_append(&s->ops, HG_OP_DISPATCH);
    if (op) {
        op->kernel = HG_KERNEL_reduce_rows;
        op->bind_count = 2;
        memcpy(op->words, &words, sizeof(words));
        op->bind[0] = (hg_bind){s->hidden[index], from * hidden * 4, rows * hidden * 4};
        op->bind[1] = hg_bind_all(sums);
    }
    HG_TRY(hg_engine_run(s->engine, &s->ops, NULL));
    HG_TRY(hg_readback_bytes(s->engine, sums, 0, values, (uint64_t)rows * 16));
out:
    hg_buffer_free(s->engine, &sums);
    return res;
}

/* Largest |x| of a hidden state: rows reduced on the device, their maxima compared here. */
static hg_result hidden_max(const range *r, uint32_t index, hg_layer_metrics *out)
{
    hg_session *s = r->session;
    uint32_t from = r->starts[0], rows;
    float *values;
    hg_result res = HG_OK;

    /* The binding begins at a row whose place is aligned, if need be one of an earlier sequence. */
    while ((uint64_t)from * s->model->config.hidden * 4 % HG_BIND_ALIGN_BYTES)
        from--;
    rows = r->starts[0] + r->rows - from;
    values = malloc((size_t)rows * 4 * sizeof(*values));
    if (!values)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the rows of hidden state %u",
                       index);
    HG_TRY(reduce_hidden(s, index, from, rows, values));
    for (uint32_t i = 0; i < r->sequences; i++) {
        out[i].hidden_abs_max = 0;
        for (uint32_t t = r->starts[i] - from; t < r->starts[i + 1] - from; t++)
            if ((double)values[(size_t)t * 4] > out[i].hidden_abs_max)
                out[i].hidden_abs_max = (double)values[(size_t)t * 4];
    }
out:
    free(values);
    return res;
}

hg_result hg_session_measure(hg_session *s, uint32_t layer, const uint32_t *starts,
                             uint32_t sequences, hg_layer_metrics *out, double *head_shares)
{
    const range r = {s, layer, starts, sequences, starts[sequences] - starts[0]};
    hg_result res = HG_OK;

    if (hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (layer >= s->model->config.layers)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "layer %llu is asked for, the model has %u",
                       (unsigned long long)layer + 1, s->model->config.layers);
    if (r.rows == 0)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "no tokens have been evaluated");
    for (uint32_t i = 0; i < sequences; i++)
        out[i] = (hg_layer_metrics){.first_token_share = (double)NAN,
                                    .first_token_share_later = (double)NAN,
                                    .gate_mean = (double)NAN,
                                    .gate_below_tenth = (double)NAN,
                                    .hidden_abs_max = (double)NAN};
    if (s->kept[layer].q)
        HG_TRY(first_tokens(&r, out, head_shares));
    if (s->kept[layer].gates)
        HG_TRY(gates(&r, out));
    if (s->hidden) /* the last layer's output is kept before the final norm, one further on */
        HG_TRY(hidden_max(&r, layer + 1 < s->model->config.layers ? layer + 1 : layer + 2, out));
out:
    return res;
}

hg_result hg_capture_metrics(hg_session *session, uint32_t layer, hg_layer_metrics *out,
                             double *head_shares)
{
    if (!session || !out)
        return HG_ERR_ARGUMENT;
    return hg_session_measure(session, layer,
                              (const uint32_t[2]){session->first, session->first + session->tokens},
                              1, out, head_shares);
}
