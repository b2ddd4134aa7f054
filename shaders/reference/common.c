/* SPDX-License-Identifier: MIT */
/* What several reference kernels share: weights of three types, the norm's factor, the visible
 * keys. */
#include "reference.h"

#include "panel.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double half_value(uint32_t bits)
{
    const double sign = bits & 0x8000u ? -1.0 : 1.0;
    const int exponent = (int)(bits >> 10 & 31u);
    const double mantissa = (double)(bits & 0x3ffu);

    if (exponent == 31)
        return mantissa > 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, -24);
    return sign * ldexp(mantissa + 1024.0, exponent - 25);
}

double hg_ref_weight(const void *w, hg_dtype type, uint64_t i)
{
    const uint8_t *bytes = w;
    uint16_t half;
    uint32_t word;
    float value;

    if (type == HG_DTYPE_F32) {
        memcpy(&value, bytes + i * 4, sizeof(value));
        return value;
    }
    assert(type == HG_DTYPE_F16 || type == HG_DTYPE_BF16); /* panels: hg_ref_row */
    memcpy(&half, bytes + i * 2, sizeof(half));
    if (type == HG_DTYPE_F16)
        return half_value(half);
    word = (uint32_t)half << 16;
    memcpy(&value, &word, sizeof(value));
    return value;
}

void hg_ref_row(const void *w, hg_dtype type, uint64_t offset, uint64_t k, uint64_t row,
                uint64_t first, uint64_t count, double *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = hg_ref_weight(w, hg_dtype_element(type),
                               offset + hg_panel_index(type, k, row, first + i));
}

double hg_ref_norm(const float *x, uint32_t dim, double eps)
{
    double sum = 0;
    double root;

    for (uint32_t i = 0; i < dim; i++)
        sum += (double)x[i] * x[i];
    root = sqrt(sum / dim + eps);
    return root > 0 ? 1 / root : 0;
}

hg_ref_keys hg_ref_visible(const uint32_t *rows, uint64_t token, uint32_t window)
{
    const uint64_t position = rows[token * 4];
    const uint64_t begin = rows[token * 4 + 2];
    const uint64_t end = rows[token * 4 + 3];
    hg_ref_keys keys = {.first = begin};

    keys.limit = end > begin ? end - begin : 0;
    if (keys.limit > position + 1)
        keys.limit = position + 1;
    if (window > 0 && position + 1 > window)
        keys.low = position + 1 - window;
    if (keys.low > keys.limit)
        keys.low = keys.limit;
    return keys;
}

hg_ref_keys hg_ref_slice(hg_ref_keys keys, uint64_t s)
{
    if (keys.low < 64 * s)
        keys.low = 64 * s;
    if (keys.limit > 64 * s + 64)
        keys.limit = 64 * s + 64;
    if (keys.low > keys.limit)
        keys.low = keys.limit;
    return keys;
}

double hg_ref_score(const float *q, const float *k, uint32_t n, double scale, double *size)
{
    double sum = 0;
    double absolute = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double term = (double)q[i] * k[i];

        sum += term;
        absolute += fabs(term);
    }
    *size = fabs(scale) * absolute;
    return scale * sum;
}
