/* SPDX-License-Identifier: MIT */
/*
 * Runs a case through the public API and copies every output out of the session.
 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_error[HG_GOLDEN_TEXT];

const char *hg_golden_last_error(void)
{
    return last_error;
}

static void keep_error(void *user, hg_log_level level, const char *line)
{
    (void)user;
    if (level == HG_LOG_ERROR) {
        (void)snprintf(last_error, sizeof last_error, "%s", line);
    }
}

static hg_log golden_log(void)
{
    return (hg_log){.write = keep_error, .level = HG_LOG_WARNING};
}

hg_result hg_golden_engine(const hg_golden_device *device, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof params,
                                     .selector = device->selector,
                                     .precision = device->precision,
                                     .limits = device->limits,
                                     .tier = device->tier,
                                     .threads = 2,
                                     .validate = 1,
                                     .log = golden_log()};
    last_error[0] = '\0';
    return hg_engine_create(&params, out);
}

void hg_golden_outputs_free(hg_golden_outputs **outputs)
{
    hg_golden_outputs *o = *outputs;
    if (!o) {
        return;
    }
    for (uint32_t layer = 0; layer < o->layers; layer++) {
        free(o->attentions ? o->attentions[layer] : NULL);
        free(o->gates ? o->gates[layer] : NULL);
        free(o->stats ? o->stats[layer] : NULL);
    }
    for (uint32_t index = 0; o->states && index < o->layers + 2; index++) {
        free(o->states[index]);
    }
    free(o->attentions);
    free(o->gates);
    free(o->stats);
    free(o->states);
    free(o->shares);
    free(o->logits);
    free(o);
    *outputs = NULL;
}

static hg_golden_outputs *outputs_create(const hg_model_info *info, uint32_t tokens)
{
    hg_golden_outputs *o = calloc(1, sizeof *o);
    if (!o) {
        return NULL;
    }
    *o = (hg_golden_outputs){.tokens = tokens,
                             .layers = info->layers,
                             .hidden = info->hidden,
                             .heads = info->heads,
                             .vocab = info->vocab,
                             .gate_dim = info->gate_dim};
    o->logits = calloc((size_t)tokens * info->vocab, sizeof(float));
    o->attentions = calloc(info->layers, sizeof *o->attentions);
    o->gates = calloc(info->layers, sizeof *o->gates);
    o->stats = calloc(info->layers, sizeof *o->stats);
    o->states = calloc((size_t)info->layers + 2, sizeof *o->states);
    o->shares = calloc((size_t)info->layers * info->heads, sizeof *o->shares);
    return o;
}

static hg_result collect_layer(hg_session *session, hg_golden_outputs *o, uint32_t layer)
{
    const hg_map_params map = {.struct_size = sizeof map, .layer = layer};
    const size_t rows = (size_t)o->tokens * o->heads;
    hg_layer_metrics metrics;
    hg_result result = HG_OK;
    double *shares = calloc((size_t)2 * o->heads, sizeof *shares);
    o->attentions[layer] = calloc(rows * o->tokens, sizeof(float));
    o->stats[layer] = calloc(rows * 2, sizeof(float));
    result = hg_capture_map(session, &map, o->attentions[layer]);
    if (result == HG_OK) {
        result = hg_capture_stats(session, layer, o->stats[layer]);
    }
    if (result == HG_OK && o->gate_dim) {
        o->gates[layer] = calloc(rows * o->gate_dim, sizeof(float));
        result = hg_capture_gates(session, layer, o->gates[layer]);
    }
    if (result == HG_OK) {
        result = hg_capture_metrics(session, layer, &metrics, shares);
    }
    if (result == HG_OK) {
        memcpy(o->shares + (size_t)layer * o->heads, shares, o->heads * sizeof *shares);
    }
    free(shares);
    return result;
}

static hg_result collect(hg_session *session, hg_golden_outputs *o)
{
    hg_result result = HG_OK;
    for (uint32_t token = 0; result == HG_OK && token < o->tokens; token++) {
        result = hg_session_logits(session, token, o->logits + (size_t)token * o->vocab);
    }
    for (uint32_t index = 0; result == HG_OK && index < o->layers + 2; index++) {
        o->states[index] = calloc((size_t)o->tokens * o->hidden, sizeof(float));
        result = hg_capture_hidden(session, index, o->states[index]);
    }
    for (uint32_t layer = 0; result == HG_OK && layer < o->layers; layer++) {
        result = collect_layer(session, o, layer);
    }
    return result;
}

static hg_result open_model(hg_engine *engine, const char *path, hg_model **model)
{
    hg_checkpoint *checkpoint = NULL;
    const hg_checkpoint_params files = {
        .struct_size = sizeof files, .path = path, .log = golden_log()};
    const hg_model_params params = {.struct_size = sizeof params, .log = golden_log()};
    hg_result result = hg_checkpoint_open(&files, &checkpoint);
    if (result == HG_OK) {
        result = hg_model_load(engine, checkpoint, &params, model);
    }
    hg_checkpoint_close(&checkpoint);
    return result;
}

hg_result hg_golden_run(hg_engine *engine, const hg_golden_case *golden, hg_golden_cut cut,
                        void (*tap)(void *, const hg_stage *), void *tap_user,
                        hg_golden_outputs **out)
{
    hg_model *model = NULL;
    hg_session *session = NULL;
    hg_model_info info = {.struct_size = sizeof info};
    const uint32_t step = cut.eval ? cut.eval : golden->tokens;
    const hg_session_params params = {.struct_size = sizeof params,
                                      .max_tokens = golden->tokens,
                                      .rope_tokens = golden->tokens,
                                      .piece_tokens = cut.piece,
                                      .capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES |
                                                 HG_CAPTURE_HIDDEN,
                                      .logits = HG_LOGITS_ALL,
                                      .tap = tap,
                                      .tap_user = tap_user,
                                      .log = golden_log()};
    hg_result result = open_model(engine, golden->path, &model);
    *out = NULL;
    last_error[0] = '\0';
    if (result == HG_OK) {
        hg_model_describe(model, &info);
        result = hg_session_create(model, &params, &session);
    }
    for (uint32_t first = 0; result == HG_OK && first < golden->tokens; first += step) {
        const uint32_t left = golden->tokens - first;
        result = hg_session_eval(session, golden->ids + first, left < step ? left : step);
    }
    if (result == HG_OK) {
        *out = outputs_create(&info, golden->tokens);
        result = *out ? collect(session, *out) : HG_ERR_HOST_MEMORY;
    }
    if (result != HG_OK) {
        hg_golden_outputs_free(out);
    }
    hg_session_free(&session);
    hg_model_free(&model);
    return result;
}

static int32_t largest(const float *logits, uint32_t vocab)
{
    uint32_t best = 0;
    for (uint32_t id = 1; id < vocab; id++) {
        if (logits[id] > logits[best]) {
            best = id;
        }
    }
    return (int32_t)best;
}

hg_result hg_golden_generate(hg_engine *engine, const hg_golden_case *golden, uint32_t vocab,
                             int32_t *ids, float *step_logits)
{
    hg_model *model = NULL;
    hg_session *session = NULL;
    const hg_session_params params = {.struct_size = sizeof params,
                                      .max_tokens = golden->tokens + golden->steps,
                                      .rope_tokens = golden->tokens + golden->steps,
                                      .logits = HG_LOGITS_LAST,
                                      .log = golden_log()};
    hg_result result = open_model(engine, golden->path, &model);
    if (result == HG_OK) {
        result = hg_session_create(model, &params, &session);
    }
    if (result == HG_OK) {
        result = hg_session_eval(session, golden->ids, golden->tokens);
    }
    for (uint32_t step = 0; result == HG_OK && step < golden->steps; step++) {
        float *logits = step_logits + (size_t)step * vocab;
        result = hg_session_logits(session, golden->tokens + step - 1, logits);
        ids[step] = largest(logits, vocab);
        if (result == HG_OK) {
            result = hg_session_eval(session, ids + step, 1);
        }
    }
    hg_session_free(&session);
    hg_model_free(&model);
    return result;
}
