/* SPDX-License-Identifier: MIT */
/* Reference of the kernels that treat elements one by one: embed_rows, split_q_gate, silu_mul, add.
 */
#include "reference.h"

#include <math.h>

uint32_t hg_ref_items_embed_rows(const void *params)
{
    const struct hg_embed_rows_params *p = params;

    return p->tokens;
}

void hg_ref_embed_rows(const hg_ref_call *call)
{
    const struct hg_embed_rows_params *p = call->params;
    const uint32_t *ids = call->bind[0];
    float *y = call->bind[2];

    for (uint64_t t = call->begin; t < call->end; t++) {
        const uint64_t row = (uint64_t)ids[t] - p->row_first;

        if (ids[t] < p->row_first || row >= p->row_count)
            continue;
        for (uint64_t i = 0; i < p->hidden; i++) {
            double value;

            hg_ref_row(call->bind[1], call->w, p->w_offset, p->hidden, row, i, 1, &value);
            y[t * p->hidden + i] = (float)value;
            if (call->magnitude)
                call->magnitude[t * p->hidden + i] = fabs(value);
        }
    }
}

uint32_t hg_ref_items_split_q_gate(const void *params)
{
    const struct hg_split_q_gate_params *p = params;

    return p->tokens;
}

void hg_ref_split_q_gate(const hg_ref_call *call)
{
    const struct hg_split_q_gate_params *p = call->params;
    const uint64_t width = (uint64_t)p->heads * (p->head_dim + p->gate_dim);
    const uint32_t share = p->heads / p->kv_heads;

    for (uint64_t t = call->begin; t < call->end; t++) {
        const float *row = (const float *)call->bind[0] + t * width;
        float *q = (float *)call->bind[1] + t * p->heads * p->head_dim;
        float *z = (float *)call->bind[2] + t * p->heads * p->gate_dim;

        for (uint64_t h = 0; h < p->heads; h++) {
            const uint64_t group = h / share;
            const uint64_t member = h % share;
            /* Where this head's queries and gates start in the row. */
            uint64_t queries = h * (p->head_dim + p->gate_dim);
            uint64_t gates = queries + p->head_dim;

            if (p->gate_layout == 0) {
                const uint64_t start = group * share * (p->head_dim + p->gate_dim);

                queries = start + member * p->head_dim;
                gates = start + (uint64_t)share * p->head_dim + member * p->gate_dim;
            }
            for (uint64_t i = 0; i < p->head_dim; i++) {
                q[h * p->head_dim + i] = row[queries + i];
                if (call->magnitude)
                    call->magnitude[(t * p->heads + h) * p->head_dim + i] = fabsf(row[queries + i]);
            }
            for (uint64_t i = 0; i < p->gate_dim; i++)
                z[h * p->gate_dim + i] = row[gates + i];
        }
    }
}

uint32_t hg_ref_items_silu_mul(const void *params)
{
    const struct hg_silu_mul_params *p = params;

    return p->rows;
}

void hg_ref_silu_mul(const hg_ref_call *call)
{
    const struct hg_silu_mul_params *p = call->params;

    for (uint64_t r = call->begin; r < call->end; r++) {
        const float *a = (const float *)call->bind[0] + r * p->stride;
        const float *b = (const float *)call->bind[1] + r * p->stride + p->b_offset;
        float *y = (float *)call->bind[2] + r * p->cols;

        for (uint64_t i = 0; i < p->cols; i++) {
            const double value = a[i] / (1 + exp(-(double)a[i])) * b[i];

            y[i] = (float)value;
            if (call->magnitude)
                call->magnitude[r * p->cols + i] = fabs(value);
        }
    }
}

uint32_t hg_ref_items_add(const void *params)
{
    const struct hg_add_params *p = params;

    return p->count;
}

void hg_ref_add(const hg_ref_call *call)
{
    const float *a = call->bind[0];
    const float *b = call->bind[1];
    float *y = call->bind[2];

    for (uint64_t i = call->begin; i < call->end; i++) {
        const double size = fabs((double)a[i]) + fabs((double)b[i]);

        y[i] = (float)((double)a[i] + b[i]);
        if (call->magnitude)
            call->magnitude[i] = size;
    }
}
