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

/* column: [heads, tokens], p(query, first key). shares: [2, heads]. */
static void share_heads(const float *column, uint32_t heads, uint32_t tokens, double *shares)
{
    for (uint32_t h = 0; h < heads; h++) {
        double later = 0;

        for (uint32_t t = 1; t < tokens; t++)
            later += (double)column[(size_t)h * tokens + t];
        shares[h] = ((double)column[(size_t)h * tokens] + later) / tokens;
        shares[heads + h] = tokens > 1 ? later / (tokens - 1) : (double)NAN;
    }
}

static hg_result first_token(hg_session *s, uint32_t layer, hg_layer_metrics *out,
                             double *head_shares)
{
    const uint32_t heads = s->model->config.heads;
    const hg_map_params column = {.layer = layer, .key_count = 1};
    float *values = malloc((size_t)heads * s->tokens * sizeof(*values));
    double *shares = malloc((size_t)heads * 2 * sizeof(*shares));
    hg_result res = HG_OK;

    if (!values || !shares) {
        res = hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the measures of layer %u",
                      layer + 1);
        goto out;
    }
    HG_TRY(hg_capture_map(s, &column, values));
    share_heads(values, heads, s->tokens, shares);
    out->first_token_share = out->first_token_share_later = 0;
    for (uint32_t h = 0; h < heads; h++) {
        out->first_token_share += shares[h] / heads;
        out->first_token_share_later += shares[heads + h] / heads;
    }
    if (head_shares)
        memcpy(head_shares, shares, (size_t)heads * 2 * sizeof(*shares));
out:
    free(values);
    free(shares);
    return res;
}

static hg_result gates(hg_session *s, uint32_t layer, hg_layer_metrics *out)
{
    const size_t count = (size_t)s->tokens * s->model->config.heads * s->model->gate_dim;
    float *values = malloc(count * sizeof(*values));
    double sum = 0;
    size_t closed = 0;
    hg_result res = HG_OK;

    if (!values)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the gates of layer %u",
                       layer + 1);
    HG_TRY(hg_capture_gates(s, layer, values));
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
        closed += (double)values[i] < GATE_CLOSED;
    }
    out->gate_mean = sum / (double)count;
    out->gate_below_tenth = (double)closed / (double)count;
out:
    free(values);
    return res;
}

/* Largest |x| of a hidden state: rows reduced on the device, their maxima compared here. */
static hg_result hidden_max(hg_session *s, uint32_t index, double *out)
{
    const hg_config *c = &s->model->config;
    const struct hg_reduce_rows_params words = {
        .rows = s->tokens, .cols = c->hidden, .stride = c->hidden};
    hg_mem *sums = NULL;
    float *values = malloc((size_t)s->tokens * 4 * sizeof(*values));
    hg_op *op;
    hg_result res = HG_OK;

    if (!values)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the rows of hidden state %u",
                       index);
    HG_TRY(
        hg_buffer_create(s->engine, HG_MEM_READBACK, (uint64_t)s->tokens * 16, "row sums", &sums));
    hg_oplist_clear(&s->ops);
    op = hg_oplist_append(&s->ops, HG_OP_DISPATCH);
    if (op) {
        op->kernel = HG_KERNEL_reduce_rows;
        op->bind_count = 2;
        memcpy(op->words, &words, sizeof(words));
        op->bind[0] = hg_bind_all(s->hidden[index]);
        op->bind[1] = hg_bind_all(sums);
    }
    HG_TRY(hg_engine_run(s->engine, &s->ops, NULL));
    HG_TRY(hg_readback_bytes(s->engine, sums, 0, values, (uint64_t)s->tokens * 16));
    *out = 0;
    for (uint32_t t = 0; t < s->tokens; t++)
        if ((double)values[(size_t)t * 4] > *out)
            *out = (double)values[(size_t)t * 4];
out:
    hg_buffer_free(s->engine, &sums);
    free(values);
    return res;
}

hg_result hg_capture_metrics(hg_session *session, uint32_t layer, hg_layer_metrics *out,
                             double *head_shares)
{
    hg_session *s = session;
    hg_result res = HG_OK;

    if (!s || !out)
        return HG_ERR_ARGUMENT;
    *out = (hg_layer_metrics){.first_token_share = (double)NAN,
                              .first_token_share_later = (double)NAN,
                              .gate_mean = (double)NAN,
                              .gate_below_tenth = (double)NAN,
                              .hidden_abs_max = (double)NAN};
    if (hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (layer >= s->model->config.layers)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "layer %u is asked for, the model has %u",
                       layer + 1, s->model->config.layers);
    if (s->tokens == 0)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "no tokens have been evaluated");
    if (s->kept[layer].q) {
        HG_TRY(first_token(s, layer, out, head_shares));
        out->captured = 1;
    }
    if (s->kept[layer].gates)
        HG_TRY(gates(s, layer, out));
    if (s->hidden) /* the last layer's output is kept before the final norm, one further on */
        HG_TRY(hidden_max(s, layer + 1 < s->model->config.layers ? layer + 1 : layer + 2,
                          &out->hidden_abs_max));
out:
    return res;
}
