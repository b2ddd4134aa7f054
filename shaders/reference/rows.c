/* SPDX-License-Identifier: MIT */
/* Reference of the kernels that treat a row at a time: rms_norm, norm_rope, reduce_rows. */
#include "reference.h"

#include <math.h>

uint32_t hg_ref_items_rms_norm(const void *params)
{
    const struct hg_rms_norm_params *p = params;

    return p->rows;
}

void hg_ref_rms_norm(const hg_ref_call *call)
{
    const struct hg_rms_norm_params *p = call->params;
    const float *w = call->bind[1];

    for (uint64_t r = call->begin; r < call->end; r++) {
        const float *x = (const float *)call->bind[0] + r * p->dim;
        float *y = (float *)call->bind[2] + r * p->dim;
        const double factor = hg_ref_norm(x, p->dim, p->eps);

        for (uint32_t i = 0; i < p->dim; i++) {
            const double value = x[i] * factor * w[i];

            y[i] = (float)value;
            if (call->magnitude)
                call->magnitude[r * p->dim + i] = fabs(value);
        }
    }
}

/* What one head of one token becomes. w: NULL without a norm. magnitude: NULL, or y's. */
static void turn(const float *x, const float *w, const float *table, uint32_t head_dim, double eps,
                 float *y, double *magnitude)
{
    const uint32_t half = head_dim / 2;
    const double factor = w ? hg_ref_norm(x, head_dim, eps) : 1;

    for (uint32_t i = 0; i < half; i++) {
        const double a = x[i] * factor * (w ? w[i] : 1);
        const double b = x[half + i] * factor * (w ? w[half + i] : 1);
        const double c = table[i * 2];
        const double s = table[i * 2 + 1];

        y[i] = (float)(a * c - b * s);
        y[half + i] = (float)(b * c + a * s);
        if (magnitude) {
            magnitude[i] = fabs(a * c) + fabs(b * s);
            magnitude[half + i] = fabs(b * c) + fabs(a * s);
        }
    }
}

uint32_t hg_ref_items_norm_rope(const void *params)
{
    const struct hg_norm_rope_params *p = params;

    return p->tokens;
}

void hg_ref_norm_rope(const hg_ref_call *call)
{
    const struct hg_norm_rope_params *p = call->params;

    for (uint64_t t = call->begin; t < call->end; t++) {
        const float *table = (const float *)call->bind[2] + t * (p->head_dim / 2) * 2;

        for (uint64_t h = 0; h < p->heads; h++) {
            const uint64_t to = ((p->y_row + t) * p->heads + h) * p->head_dim;

            turn((const float *)call->bind[0] + (t * p->heads + h) * p->head_dim,
                 p->flags & 1u ? call->bind[1] : NULL, table, p->head_dim, p->eps,
                 (float *)call->bind[3] + to, call->magnitude ? call->magnitude + to : NULL);
        }
    }
}

uint32_t hg_ref_items_rope_heads(const void *params)
{
    const struct hg_rope_heads_params *p = params;

    return p->tokens;
}

void hg_ref_rope_heads(const hg_ref_call *call)
{
    const struct hg_rope_heads_params *p = call->params;

    for (uint64_t t = call->begin; t < call->end; t++) {
        const float *table = (const float *)call->bind[2] + t * (p->head_dim / 2) * 2;
        const float *row = (const float *)call->bind[0] + t * p->x_stride + p->x_offset;

        for (uint64_t h = 0; h < p->heads; h++) {
            const float *group = row + h / p->group_heads * p->group_stride;
            const uint64_t member = h % p->group_heads;
            const uint64_t to = ((p->y_row + t) * p->heads + h) * p->head_dim;
            float *copied =
                (float *)call->bind[4] + ((p->copy_row + t) * p->heads + h) * p->copy_dim;

            turn(group + member * p->head_dim, p->flags & 1u ? call->bind[1] : NULL, table,
                 p->head_dim, p->eps, (float *)call->bind[3] + to,
                 call->magnitude ? call->magnitude + to : NULL);
            for (uint64_t i = 0; i < p->copy_dim; i++)
                copied[i] = group[p->copy_offset + member * p->copy_dim + i];
        }
    }
}

uint32_t hg_ref_items_reduce_rows(const void *params)
{
    const struct hg_reduce_rows_params *p = params;

    return p->rows;
}

void hg_ref_reduce_rows(const hg_ref_call *call)
{
    const struct hg_reduce_rows_params *p = call->params;

    for (uint64_t r = call->begin; r < call->end; r++) {
        const float *x = (const float *)call->bind[0] + r * p->stride;
        float *y = (float *)call->bind[1] + r * 4;
        double top = 0;
        double sum = 0;
        double size = 0;
        uint32_t where = 0;
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->cols; i++) {
            if (fabs((double)x[i]) > top) {
                top = fabs((double)x[i]);
                where = i;
            }
            sum += x[i];
            size += fabs((double)x[i]);
            count += x[i] < p->below;
        }
        y[0] = (float)top;
        y[1] = (float)sum;
        y[2] = (float)where;
        y[3] = (float)count;
        if (call->magnitude) {
            call->magnitude[r * 4] = 0;
            call->magnitude[r * 4 + 1] = size;
            call->magnitude[r * 4 + 2] = 0;
            call->magnitude[r * 4 + 3] = 0;
        }
    }
}
