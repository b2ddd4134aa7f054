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

uint32_t hg_ref_items_norm_rope(const void *params)
{
    const struct hg_norm_rope_params *p = params;

    return p->tokens;
}

void hg_ref_norm_rope(const hg_ref_call *call)
{
    const struct hg_norm_rope_params *p = call->params;
    const uint32_t half = p->head_dim / 2;
    const float *w = call->bind[1];

    for (uint64_t t = call->begin; t < call->end; t++) {
        const float *table = (const float *)call->bind[2] + t * half * 2;

        for (uint64_t h = 0; h < p->heads; h++) {
            const uint64_t to = ((p->y_row + t) * p->heads + h) * p->head_dim;
            const float *x = (const float *)call->bind[0] + (t * p->heads + h) * p->head_dim;
            float *y = (float *)call->bind[3] + to;
            const double factor = p->flags & 1u ? hg_ref_norm(x, p->head_dim, p->eps) : 1;

            for (uint32_t i = 0; i < half; i++) {
                const double a = x[i] * factor * (p->flags & 1u ? w[i] : 1);
                const double b = x[half + i] * factor * (p->flags & 1u ? w[half + i] : 1);
                const double c = table[i * 2];
                const double s = table[i * 2 + 1];

                y[i] = (float)(a * c - b * s);
                y[half + i] = (float)(b * c + a * s);
                if (call->magnitude) {
                    call->magnitude[to + i] = fabs(a * c) + fabs(b * s);
                    call->magnitude[to + half + i] = fabs(b * c) + fabs(a * s);
                }
            }
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
