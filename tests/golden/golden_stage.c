/* SPDX-License-Identifier: MIT */
/*
 * When a case fails: which stage was the first to leave the reference. Both run with every stage
 * tapped; stages are paired by name, layer and order.
 */
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept_stage {
    char name[48], kernel[48];
    int32_t layer;
    size_t rows, columns;
    float *values;
    struct kept_stage *next;
} kept_stage;

typedef struct stage_list {
    kept_stage *first;
    kept_stage **tail;
} stage_list;

static void keep(void *user, const hg_stage *stage)
{
    stage_list *list = user;
    size_t count = 1;
    kept_stage *kept = calloc(1, sizeof *kept);
    for (uint32_t axis = 0; axis < stage->rank && axis < 4; axis++) {
        count *= stage->shape[axis];
    }
    if (!kept || stage->rank == 0 || count == 0) {
        free(kept);
        return;
    }
    (void)snprintf(kept->name, sizeof kept->name, "%s", stage->name);
    (void)snprintf(kept->kernel, sizeof kept->kernel, "%s", stage->kernel);
    kept->layer = stage->layer;
    kept->columns = stage->shape[stage->rank - 1];
    kept->rows = count / kept->columns;
    kept->values = malloc(count * sizeof *kept->values);
    if (kept->values) {
        memcpy(kept->values, stage->values, count * sizeof *kept->values);
    }
    *list->tail = kept;
    list->tail = &kept->next;
}

static void drop(stage_list *list)
{
    while (list->first) {
        kept_stage *next = list->first->next;
        free(list->first->values);
        free(list->first);
        list->first = next;
    }
}

/* Largest difference of a row over the largest value of that row in b; the row goes to *at. */
static double row_distance(const kept_stage *a, const kept_stage *b, size_t *at)
{
    double worst = 0;
    for (size_t row = 0; row < b->rows; row++) {
        double error = 0;
        double scale = 0;
        for (size_t column = 0; column < b->columns; column++) {
            const double got = (double)a->values[row * a->columns + column];
            const double want = (double)b->values[row * b->columns + column];
            const double distance = isnan(got - want) ? HUGE_VAL : fabs(got - want);
            error = distance > error ? distance : error;
            scale = fabs(want) > scale ? fabs(want) : scale;
        }
        error = error == 0 ? 0 : error / (scale > 0 ? scale : 0x1p-50);
        if (error > worst) {
            worst = error;
            *at = row;
        }
    }
    return worst;
}

static void name_first(const stage_list *got, const stage_list *want, double bound,
                       char why[HG_GOLDEN_TEXT])
{
    const kept_stage *a = got->first;
    for (const kept_stage *b = want->first; b; b = b->next, a = a->next) {
        size_t row = 0;
        if (!a || strcmp(a->name, b->name) != 0 || a->layer != b->layer || a->rows != b->rows ||
            a->columns != b->columns) {
            (void)snprintf(why, HG_GOLDEN_TEXT,
                           "the reference's stage %s of layer %d has no counterpart", b->name,
                           (int)b->layer);
            return;
        }
        const double distance = a->values && b->values ? row_distance(a, b, &row) : 0;
        if (!(distance <= bound)) {
            (void)snprintf(why, HG_GOLDEN_TEXT,
                           "first stage that differs from the reference: %s of layer %d (kernel "
                           "%s), %.3g of row %zu of [%zu, %zu]",
                           b->name, (int)b->layer, b->kernel, distance, row, b->rows, b->columns);
            return;
        }
    }
    (void)snprintf(why, HG_GOLDEN_TEXT,
                   "no stage differs from the reference by more than %.3g of its row: what is read "
                   "back is wrong, or the reference is",
                   bound);
}

void hg_golden_first_stage(hg_engine *engine, const hg_golden_case *golden, double bound,
                           char why[HG_GOLDEN_TEXT])
{
    const hg_golden_device device = {.selector = "ref", .precision = HG_PRECISION_FP32};
    const hg_golden_cut whole = {0};
    hg_engine *reference = NULL;
    hg_golden_outputs *outputs = NULL;
    stage_list got = {.tail = &got.first};
    stage_list want = {.tail = &want.first};
    (void)snprintf(why, HG_GOLDEN_TEXT, "stages could not be compared");
    if (hg_golden_engine(&device, &reference) == HG_OK) {
        if (hg_golden_run(reference, golden, whole, keep, &want, &outputs) == HG_OK) {
            hg_golden_outputs_free(&outputs);
            if (hg_golden_run(engine, golden, whole, keep, &got, &outputs) == HG_OK) {
                name_first(&got, &want, bound, why);
            }
        }
    }
    hg_golden_outputs_free(&outputs);
    hg_engine_destroy(&reference);
    drop(&got);
    drop(&want);
}
