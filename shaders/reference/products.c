/* SPDX-License-Identifier: MIT */
/*
 * Reference of matmul and matvec. An item is a column, so that its weights are expanded once for
 * many rows; eight sums side by side only let the processor overlap additions.
 */
#include "reference.h"

#include <math.h>

enum { CHUNK = 256, ROWS = 16, SUMS = 8 };

typedef struct product {
    uint32_t rows, k, w_offset, y_stride, y_offset, flags;
} product;

/* sum of x[i] * w[i], i < n, added to *sum; the same of absolute values to *size where that is
 * asked for. */
static void dot(const float *x, const double *w, uint32_t n, double *sum, double *size)
{
    double part[SUMS] = {0};
    uint32_t i = 0;

    for (; i + SUMS <= n; i += SUMS) {
        for (uint32_t j = 0; j < SUMS; j++)
            part[j] += x[i + j] * w[i + j];
    }
    for (; i < n; i++)
        part[0] += x[i] * w[i];
    for (uint32_t j = 0; j < SUMS; j++)
        *sum += part[j];
    for (i = 0; size && i < n; i++)
        *size += fabs(x[i] * w[i]);
}

static void column(const hg_ref_call *call, const product *p, uint64_t col)
{
    const float *bias = call->bind[2];
    float *y = call->bind[3];

    for (uint64_t r0 = 0; r0 < p->rows; r0 += ROWS) {
        const uint64_t count = p->rows - r0 < ROWS ? p->rows - r0 : ROWS;
        double sum[ROWS] = {0};
        double size[ROWS] = {0};

        for (uint32_t k = 0; k < p->k; k += CHUNK) {
            const uint32_t n = p->k - k < CHUNK ? p->k - k : CHUNK;
            double w[CHUNK];

            hg_ref_row(call->bind[1], call->w, p->w_offset, p->k, col, k, n, w);
            for (uint64_t r = 0; r < count; r++)
                dot((const float *)call->bind[0] + (r0 + r) * p->k + k, w, n, &sum[r],
                    call->magnitude ? &size[r] : NULL);
        }
        for (uint64_t r = 0; r < count; r++) {
            const uint64_t to = (r0 + r) * p->y_stride + p->y_offset + col;
            const double add = p->flags & 1u ? bias[col] : 0;
            const double held = p->flags & 2u ? y[to] : 0;

            y[to] = (float)(sum[r] + add); /* a residual is added to what is rounded */
            if (p->flags & 2u)
                y[to] = (float)((double)y[to] + held);
            if (call->magnitude)
                call->magnitude[to] = size[r] + fabs(add) + fabs(held);
        }
    }
}

uint32_t hg_ref_items_matmul(const void *params)
{
    const struct hg_matmul_params *p = params;

    return p->cols;
}

void hg_ref_matmul(const hg_ref_call *call)
{
    const struct hg_matmul_params *p = call->params;
    const product shape = {p->rows, p->k, p->w_offset, p->y_stride, p->y_offset, p->flags};

    for (uint64_t c = call->begin; c < call->end; c++)
        column(call, &shape, c);
}

uint32_t hg_ref_items_matvec(const void *params)
{
    const struct hg_matvec_params *p = params;

    return p->cols;
}

void hg_ref_matvec(const hg_ref_call *call)
{
    const struct hg_matvec_params *p = call->params;
    const product shape = {p->rows, p->k, p->w_offset, p->y_stride, p->y_offset, p->flags};

    for (uint64_t c = call->begin; c < call->end; c++)
        column(call, &shape, c);
}
