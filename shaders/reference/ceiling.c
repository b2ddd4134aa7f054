/* SPDX-License-Identifier: MIT */
/* Reference of the kernels that measure a device: ceiling_read, ceiling_copy, ceiling_mac. */
#include "reference.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 128 };

uint32_t hg_ref_items_ceiling_read(const void *params)
{
    const struct hg_ceiling_read_params *p = params;

    return p->rows;
}

void hg_ref_ceiling_read(const hg_ref_call *call)
{
    const struct hg_ceiling_read_params *p = call->params;

    for (uint64_t row = call->begin; row < call->end; row++) {
        const float *x = (const float *)call->bind[0] + row * p->turns * COLUMNS;
        float *y = (float *)call->bind[1] + row * COLUMNS;
        uint32_t bits[COLUMNS] = {0};

        for (uint64_t i = 0; i < (uint64_t)p->turns * COLUMNS; i++) {
            uint32_t word;

            memcpy(&word, &x[i], sizeof(word));
            bits[i % COLUMNS] ^= word;
        }
        for (uint64_t c = 0; c < COLUMNS; c++) {
            const uint32_t word = (bits[c] & 0x7fffffu) | 0x3f800000u;

            memcpy(&y[c], &word, sizeof(word));
            if (call->magnitude)
                call->magnitude[row * COLUMNS + c] = y[c];
        }
    }
}

uint32_t hg_ref_items_ceiling_copy(const void *params)
{
    const struct hg_ceiling_copy_params *p = params;

    return p->rows;
}

void hg_ref_ceiling_copy(const hg_ref_call *call)
{
    const struct hg_ceiling_copy_params *p = call->params;
    const uint64_t width = (uint64_t)p->turns * COLUMNS;
    const float *x = call->bind[0];
    float *y = call->bind[1];

    for (uint64_t i = call->begin * width; i < call->end * width; i++) {
        y[i] = x[i];
        if (call->magnitude)
            call->magnitude[i] = fabsf(x[i]);
    }
}

uint32_t hg_ref_items_ceiling_mac(const void *params)
{
    const struct hg_ceiling_mac_params *p = params;

    return p->rows;
}

void hg_ref_ceiling_mac(const hg_ref_call *call)
{
    const struct hg_ceiling_mac_params *p = call->params;
    const float *x = call->bind[0];
    float *y = call->bind[1];

    for (uint64_t i = (uint64_t)call->begin * COLUMNS; i < (uint64_t)call->end * COLUMNS; i++) {
        double sum = x[i];
        double size = fabs(sum);

        for (uint64_t step = 0; step < 4 * (uint64_t)p->turns; step++) {
            sum = sum * p->a + p->b;
            size = fmax(size, fabs(sum));
        }
        y[i] = (float)sum;
        if (call->magnitude)
            call->magnitude[i] = size;
    }
}
