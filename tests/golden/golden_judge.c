/* SPDX-License-Identifier: MIT */
/*
 * The rules of tests/reference/README.md. Every comparison is written so that a NaN fails it.
 */
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    double error;
    size_t row, column;
} place;

/* Largest |a - b| of all elements. skip: a column that does not count, UINT32_MAX for none. */
static place worst_absolute(const float *a, const double *b, size_t rows, size_t columns,
                            uint32_t skip)
{
    place worst = {0};
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++) {
            double error = fabs((double)a[row * columns + column] - b[row * columns + column]);
            error = isnan(error) ? HUGE_VAL : error; /* no later value may take its place */
            if (column != skip && error > worst.error) {
                worst = (place){error, row, column};
            }
        }
    }
    return worst;
}

/* Largest over the rows of max |a - b| / max |b|. A row of zeros must be zeros. */
static place worst_of_rows(const float *a, const double *b, size_t rows, size_t columns)
{
    place worst = {0};
    for (size_t row = 0; row < rows; row++) {
        const double *want = b + row * columns;
        const place here = worst_absolute(a + row * columns, want, 1, columns, UINT32_MAX);
        double scale = 0;
        double error = here.error;
        for (size_t column = 0; column < columns; column++) {
            scale = fabs(want[column]) > scale ? fabs(want[column]) : scale;
        }
        if (scale > 0) {
            error /= scale;
        } else if (error > 0) {
            error = HUGE_VAL;
        }
        if (error > worst.error) {
            worst = (place){error, row, here.column};
        }
    }
    return worst;
}

static int within(char why[HG_GOLDEN_TEXT], const char *what, place worst, double tolerance)
{
    if (worst.error <= tolerance) {
        return 1;
    }
    (void)snprintf(why, HG_GOLDEN_TEXT, "%s: off by %.3g at row %zu, column %zu; allowed is %.3g",
                   what, worst.error, worst.row, worst.column, tolerance);
    return 0;
}

enum { RULE_ABSOLUTE, RULE_ROW };

/* One tensor of a file against values [rows, columns]. A tensor that is missing is a failure, not a
 * pass. */
static int judge_tensor(char why[HG_GOLDEN_TEXT], const hg_test_tensors *tensors, const char *name,
                        const float *values, size_t rows, size_t columns, int rule,
                        double tolerance)
{
    int good = 0;
    double *want = hg_test_tensors_f64(tensors, name);
    if (!want || !values || hg_test_tensors_count(tensors, name, NULL) != rows * columns) {
        (void)snprintf(why, HG_GOLDEN_TEXT,
                       "%s: expected %zu x %zu values, the reference has %zu, the engine %s", name,
                       rows, columns, hg_test_tensors_count(tensors, name, NULL),
                       values ? "gave them" : "none");
    } else if (rule == RULE_ROW) {
        good = within(why, name, worst_of_rows(values, want, rows, columns), tolerance);
    } else {
        good =
            within(why, name, worst_absolute(values, want, rows, columns, UINT32_MAX), tolerance);
    }
    free(want);
    return good;
}

static int judge_other_channels(char why[HG_GOLDEN_TEXT], const hg_golden_case *golden,
                                const hg_test_tensors *tensors, const char *name,
                                const float *values, const hg_golden_outputs *o)
{
    const double absolute = 2e-6;
    char what[96];
    int good = 1;
    double *want = golden->blind_channel == UINT32_MAX ? NULL : hg_test_tensors_f64(tensors, name);
    if (want) {
        (void)snprintf(what, sizeof what, "%s without channel %u", name, golden->blind_channel);
        good = within(why, what,
                      worst_absolute(values, want, o->tokens, o->hidden, golden->blind_channel),
                      absolute);
    }
    free(want);
    return good;
}

/* Attention that may not be seen is exactly 0, and each row sums to 1. */
static int judge_map_shape(char why[HG_GOLDEN_TEXT], const hg_golden_outputs *o, uint32_t layer,
                           const double *want)
{
    for (uint32_t head = 0; head < o->heads; head++) {
        for (uint32_t query = 0; query < o->tokens; query++) {
            const size_t row = ((size_t)head * o->tokens + query) * o->tokens;
            double sum = 0;
            for (uint32_t key = 0; key < o->tokens; key++) {
                const float value = o->attentions[layer][row + key];
                sum += (double)value;
                if (want[row + key] == 0 && key > query && value != 0.0F) {
                    (void)snprintf(why, HG_GOLDEN_TEXT,
                                   "attentions.%u: head %u, query %u sees the later key %u (%g)",
                                   layer, head, query, key, (double)value);
                    return 0;
                }
            }
            if (!(fabs(sum - 1) <= 1e-5)) {
                (void)snprintf(why, HG_GOLDEN_TEXT, "attentions.%u: head %u, query %u sums to %.8f",
                               layer, head, query, sum);
                return 0;
            }
        }
    }
    return 1;
}

/* The first-token share of each head is the mean over queries of its first column. */
static int judge_shares(char why[HG_GOLDEN_TEXT], const hg_golden_outputs *o, uint32_t layer,
                        const double *want, double tolerance)
{
    for (uint32_t head = 0; head < o->heads; head++) {
        double share = 0;
        const double *map = want + (size_t)head * o->tokens * o->tokens;
        for (uint32_t query = 0; query < o->tokens; query++) {
            share += map[(size_t)query * o->tokens] / o->tokens;
        }
        const double error = fabs(share - o->shares[(size_t)layer * o->heads + head]);
        if (!(error <= tolerance)) {
            (void)snprintf(why, HG_GOLDEN_TEXT,
                           "first-token share of layer %u, head %u: %.8f, expected %.8f", layer,
                           head, o->shares[(size_t)layer * o->heads + head], share);
            return 0;
        }
    }
    return 1;
}

static int judge_layer(const hg_golden_case *golden, const hg_golden_outputs *o,
                       const hg_test_tensors *tensors, uint32_t layer, char why[HG_GOLDEN_TEXT])
{
    char name[40];
    double *map = NULL;
    int good = 0;
    const size_t rows = (size_t)o->heads * o->tokens;
    (void)snprintf(name, sizeof name, "attentions.%u", layer);
    if (!judge_tensor(why, tensors, name, o->attentions[layer], rows, o->tokens, RULE_ABSOLUTE,
                      golden->tolerance.attentions)) {
        return 0;
    }
    map = hg_test_tensors_f64(tensors, name);
    good = map && judge_map_shape(why, o, layer, map) &&
           judge_shares(why, o, layer, map, golden->tolerance.attentions);
    free(map);
    (void)snprintf(name, sizeof name, "gate_scores.%u", layer);
    if (good && (o->gate_dim || hg_test_tensors_count(tensors, name, NULL))) {
        good = judge_tensor(why, tensors, name, o->gates[layer], (size_t)o->tokens * o->heads,
                            o->gate_dim, RULE_ABSOLUTE, golden->tolerance.gates);
    }
    return good;
}

/* In the order in which the forward pass makes them, so that the first complaint is the earliest.
 */
static int judge_against(const hg_golden_case *golden, const hg_golden_outputs *o,
                         const hg_test_tensors *tensors, int closed, char why[HG_GOLDEN_TEXT])
{
    char name[40];
    for (uint32_t layer = 0; layer <= o->layers; layer++) {
        const int last = layer == o->layers;
        if (last && !judge_tensor(why, tensors, "final_residual", o->states[o->layers + 1],
                                  o->tokens, o->hidden, RULE_ROW, golden->tolerance.residual)) {
            return 0;
        }
        if (last && !judge_other_channels(why, golden, tensors, "final_residual",
                                          o->states[o->layers + 1], o)) {
            return 0;
        }
        (void)snprintf(name, sizeof name, "hidden_states.%u", layer);
        if (!closed || hg_test_tensors_count(tensors, name, NULL)) {
            if (!judge_tensor(why, tensors, name, o->states[layer], o->tokens, o->hidden, RULE_ROW,
                              golden->tolerance.hidden) ||
                !judge_other_channels(why, golden, tensors, name, o->states[layer], o)) {
                return 0;
            }
        }
        if (!last && !judge_layer(golden, o, tensors, layer, why)) {
            return 0;
        }
    }
    return closed || judge_tensor(why, tensors, "logits", o->logits, o->tokens, o->vocab, RULE_ROW,
                                  golden->tolerance.logits);
}

int hg_golden_judge(const hg_golden_case *golden, const hg_golden_outputs *outputs,
                    char why[HG_GOLDEN_TEXT])
{
    char reason[HG_GOLDEN_TEXT - 32];
    char inner[HG_GOLDEN_TEXT];
    why[0] = '\0';
    if (outputs->layers != golden->layers) {
        (void)snprintf(why, HG_GOLDEN_TEXT, "the model has %u layers, the reference %u",
                       outputs->layers, golden->layers);
        return 0;
    }
    if (!judge_against(golden, outputs, golden->expected, 0, why)) {
        return 0;
    }
    if (golden->closed_form && !judge_against(golden, outputs, golden->closed_form, 1, inner)) {
        (void)snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, inner);
        (void)snprintf(why, HG_GOLDEN_TEXT, "against the closed form: %s", reason);
        return 0;
    }
    return 1;
}

int hg_golden_judge_steps(const hg_golden_case *golden, uint32_t vocab, const int32_t *ids,
                          const float *step_logits, char why[HG_GOLDEN_TEXT])
{
    for (uint32_t step = 0; step < golden->steps; step++) {
        if (ids[step] != golden->generated[step]) {
            (void)snprintf(why, HG_GOLDEN_TEXT, "step %u gives token %d, expected %d", step,
                           (int)ids[step], (int)golden->generated[step]);
            return 0;
        }
    }
    return judge_tensor(why, golden->expected, "step_logits", step_logits, golden->steps, vocab,
                        RULE_ROW, golden->tolerance.step_logits);
}

static int same_bytes(char why[HG_GOLDEN_TEXT], const char *what, uint32_t layer, const float *a,
                      const float *b, size_t count)
{
    if (!a && !b) {
        return 1;
    }
    if (a && b && memcmp(a, b, count * sizeof *a) == 0) {
        return 1;
    }
    for (size_t item = 0; a && b && item < count; item++) {
        if (memcmp(a + item, b + item, sizeof *a) != 0) {
            (void)snprintf(why, HG_GOLDEN_TEXT,
                           "%s %u: element %zu of %zu is %a in one and %a in the other", what,
                           layer, item, count, (double)a[item], (double)b[item]);
            return 0;
        }
    }
    (void)snprintf(why, HG_GOLDEN_TEXT, "%s %u: only one of the two has it", what, layer);
    return 0;
}

int hg_golden_same(const hg_golden_outputs *a, const hg_golden_outputs *b, char why[HG_GOLDEN_TEXT])
{
    const size_t rows = (size_t)a->tokens * a->heads;
    const size_t state = (size_t)a->tokens * a->hidden;
    if (a->tokens != b->tokens || a->layers != b->layers || a->vocab != b->vocab ||
        a->gate_dim != b->gate_dim) {
        (void)snprintf(why, HG_GOLDEN_TEXT, "the two have different shapes");
        return 0;
    }
    for (uint32_t layer = 0; layer < a->layers; layer++) {
        if (!same_bytes(why, "hidden state", layer, a->states[layer], b->states[layer], state) ||
            !same_bytes(why, "row statistics of layer", layer, a->stats[layer], b->stats[layer],
                        rows * 2) ||
            !same_bytes(why, "attention of layer", layer, a->attentions[layer],
                        b->attentions[layer], rows * a->tokens) ||
            !same_bytes(why, "gate of layer", layer, a->gates[layer], b->gates[layer],
                        rows * a->gate_dim)) {
            return 0;
        }
    }
    return same_bytes(why, "final residual, hidden state", a->layers + 1, a->states[a->layers + 1],
                      b->states[a->layers + 1], state) &&
           same_bytes(why, "final norm, hidden state", a->layers, a->states[a->layers],
                      b->states[a->layers], state) &&
           same_bytes(why, "logits", 0, a->logits, b->logits, (size_t)a->tokens * a->vocab);
}
