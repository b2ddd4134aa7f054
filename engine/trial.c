/* SPDX-License-Identifier: MIT */
/* Layout, inputs, oracles and judge of a trial. */
#include "trial.h"

#include "bound.h"
#include "matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = HG_BIND_ALIGN_BYTES, GUARD_BYTES = HG_BIND_ALIGN_BYTES };

static const uint32_t poison = 0x7fedbeefu; /* a NaN: whoever reads it shows it */

int hg_trial_make_sizes(hg_trial *trial, const hg_variant *variant, const hg_params *params,
                        const uint64_t *size_bytes)
{
    uint64_t at = GUARD_BYTES;

    memset(trial, 0, sizeof(*trial));
    trial->variant = variant;
    trial->kernel = &hg_kernels[variant->kernel];
    trial->params = *params;
    for (uint32_t i = 0; i < variant->spec_count; i++)
        trial->spec[i] = variant->spec_default[i];
    for (uint32_t b = 0; b < trial->kernel->bind_count; b++) {
        trial->offset_bytes[b] = at;
        trial->size_bytes[b] = size_bytes[b];
        at += size_bytes[b] + GUARD_BYTES;
        at = (at + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    }
    trial->block_bytes = (size_t)at;
    trial->before = malloc(trial->block_bytes);
    if (!trial->before)
        return 0;
    for (size_t i = 0; i < trial->block_bytes; i += 4)
        memcpy(trial->before + i, &poison, 4);
    variant->grid(&trial->params, trial->spec, variant->threads, trial->groups);
    return 1;
}

float *hg_trial_bind(const hg_trial *trial, uint32_t bind)
{
    return (float *)(void *)(trial->before + trial->offset_bytes[bind]);
}

void hg_trial_inputs_done(hg_trial *trial, const uint64_t *elements)
{
    const hg_bind_row *rows = trial->kernel->bind;

    for (uint32_t b = 0; b < trial->kernel->bind_count; b++) {
        const hg_dtype dtype = rows[b].type == HG_BIND_w ? trial->variant->dtype : HG_DTYPE_F32;

        trial->elements[b] = elements[b];
        if (rows[b].access != HG_ACCESS_R || rows[b].type == HG_BIND_u32)
            continue;
        if (trial->variant->kernel != HG_KERNEL_probe) /* whose inputs are any bits */
            hg_shape_flush(dtype, hg_trial_bind(trial, b), elements[b]);
    }
}

int hg_trial_make(hg_trial *trial, const hg_variant *variant, const hg_shape *shape,
                  const uint32_t *spec)
{
    const hg_kernel *kernel = &hg_kernels[variant->kernel];
    uint64_t size_bytes[HG_BINDS_MAX] = {0};
    uint64_t elements[HG_BINDS_MAX] = {0};
    void *bind[HG_BINDS_MAX] = {NULL};

    for (uint32_t b = 0; b < kernel->bind_count; b++) {
        elements[b] = hg_shape_bind_elements(shape, b);
        size_bytes[b] = hg_shape_bytes(shape, b, variant->dtype);
    }
    if (!hg_trial_make_sizes(trial, variant, &shape->params, size_bytes))
        return 0;
    for (uint32_t i = 0; spec && i < variant->spec_count; i++)
        trial->spec[i] = spec[i];
    variant->grid(&trial->params, trial->spec, variant->threads, trial->groups);
    if (shape->in_place)
        trial->offset_bytes[kernel->output] = trial->offset_bytes[0];
    for (uint32_t b = 0; b < kernel->bind_count; b++) {
        bind[b] = hg_trial_bind(trial, b);
        if (hg_shape_is_input(shape, b))
            hg_shape_fill(shape, b, variant->dtype, bind[b]);
        if (hg_shape_is_input(shape, b) && kernel->bind[b].access != HG_ACCESS_R)
            hg_shape_flush(HG_DTYPE_F32, bind[b], elements[b]);
    }
    hg_trial_inputs_done(trial, elements);
    hg_shape_finish(shape, bind);
    hg_trial_inputs_done(trial, elements);
    return 1;
}

uint64_t hg_trial_bytes(const hg_variant *variant, const hg_shape *shape)
{
    uint64_t bytes = GUARD_BYTES;

    for (uint32_t b = 0; b < hg_kernels[variant->kernel].bind_count; b++)
        bytes += hg_shape_bytes(shape, b, variant->dtype) + GUARD_BYTES + ALIGN_BYTES;
    return bytes;
}

void hg_trial_free(hg_trial *trial)
{
    free(trial->before);
    trial->before = NULL;
}

uint64_t hg_trial_output_elements(const hg_trial *trial)
{
    return trial->size_bytes[trial->kernel->output] / 4;
}

static void binds_of(const hg_trial *trial, uint8_t *block, void **bind)
{
    memcpy(block, trial->before, trial->block_bytes);
    for (uint32_t b = 0; b < trial->kernel->bind_count; b++)
        bind[b] = block + trial->offset_bytes[b];
}

static void run_text(const hg_trial *trial, const hg_variant *variant, const uint32_t *spec,
                     uint8_t *block)
{
    void *bind[HG_BINDS_MAX] = {NULL};
    hg_text_call text = {.params = &trial->params, .bind = bind, .spec = spec};

    variant->grid(&trial->params, spec, variant->threads, text.groups);
    text.group_end = text.groups[0];
    binds_of(trial, block, bind);
    variant->text(&text);
}

void hg_trial_oracle(const hg_trial *trial, uint8_t *block)
{
    const hg_variant *variant = hg_variant_t0(trial->variant->kernel, trial->variant->dtype);
    uint32_t spec[HG_SPEC_MAX] = {0};

    for (uint32_t i = 0; i < variant->spec_count; i++)
        spec[i] = variant->spec_default[i];
    run_text(trial, variant, spec, block);
}

void hg_trial_text(const hg_trial *trial, uint8_t *block)
{
    run_text(trial, trial->variant, trial->spec, block);
}

void hg_trial_ref(const hg_trial *trial, uint8_t *block, double *magnitude)
{
    void *bind[HG_BINDS_MAX] = {NULL};
    const hg_ref_call ref = {.params = &trial->params,
                             .bind = bind,
                             .w = trial->variant->dtype,
                             .end = trial->kernel->ref_items(&trial->params),
                             .magnitude = magnitude};

    binds_of(trial, block, bind);
    if (magnitude)
        memset(magnitude, 0, (size_t)hg_trial_output_elements(trial) * sizeof(*magnitude));
    trial->kernel->ref(&ref);
}

static uint32_t word_at(const uint8_t *block, uint64_t at)
{
    uint32_t word;

    memcpy(&word, block + at, sizeof(word));
    return word;
}

static double value_at(const uint8_t *block, uint64_t at)
{
    float value;

    memcpy(&value, block + at, sizeof(value));
    return value;
}

int hg_trial_difference(const hg_trial *trial, const uint8_t *expected, const uint8_t *found,
                        uint32_t *bind, uint64_t *element)
{
    uint64_t at = 0;

    if (memcmp(expected, found, trial->block_bytes) == 0)
        return 0;
    while (word_at(expected, at) == word_at(found, at))
        at += 4;
    *bind = trial->kernel->bind_count;
    *element = at / 4;
    for (uint32_t b = 0; b < trial->kernel->bind_count; b++) {
        if (at >= trial->offset_bytes[b] && at < trial->offset_bytes[b] + trial->size_bytes[b]) {
            *bind = b;
            *element = (at - trial->offset_bytes[b]) / 4;
        }
    }
    return 1;
}

int hg_trial_same(const hg_trial *trial, const uint8_t *expected, const uint8_t *found, char *why,
                  size_t why_bytes)
{
    uint32_t bind;
    uint64_t element, at;
    int is_guard;

    if (!hg_trial_difference(trial, expected, found, &bind, &element))
        return 1;
    is_guard = bind == trial->kernel->bind_count;
    at = element * 4 + (is_guard ? 0 : trial->offset_bytes[bind]);
    (void)snprintf(why, why_bytes, "%s[%llu]: expected %08x (%.9g), found %08x (%.9g)",
                   is_guard ? "the guard" : trial->kernel->bind[bind].name,
                   (unsigned long long)element, word_at(expected, at), value_at(expected, at),
                   word_at(found, at), value_at(found, at));
    return 0;
}

static int close_bind(const hg_trial *trial, uint32_t bind, const uint8_t *ref,
                      const uint8_t *found, const double *allowed, double floor, double *spent,
                      char *why, size_t why_bytes)
{
    const double units = hg_bound_units(trial->variant->kernel);

    for (uint64_t i = 0; i < trial->size_bytes[bind] / 4; i++) {
        const uint64_t at = trial->offset_bytes[bind] + i * 4;
        const double expected = value_at(ref, at);
        const double actual = value_at(found, at);
        const double error = fabs(expected - actual) - floor;
        double units_spent;

        if (word_at(ref, at) == word_at(found, at))
            continue;
        if (!hg_bound_holds(expected, actual, allowed[i])) {
            (void)snprintf(why, why_bytes, "%s[%llu]: expected %.9g, found %.9g, allowed %.3g",
                           trial->kernel->bind[bind].name, (unsigned long long)i, expected, actual,
                           allowed[i]);
            return 0;
        }
        units_spent = error > 0 && allowed[i] > floor ? error / (allowed[i] - floor) * units : 0;
        if (spent && isfinite(units_spent) && units_spent > *spent)
            *spent = units_spent;
    }
    return 1;
}

int hg_trial_whole(const hg_trial *trial, const uint8_t *found, char *why, size_t why_bytes)
{
    uint64_t from = 0;

    /* Bindings stand in the block in order. */
    for (uint32_t b = 0; b <= trial->kernel->bind_count; b++) {
        const int is_end = b == trial->kernel->bind_count;
        const int is_written = !is_end && trial->kernel->bind[b].access != HG_ACCESS_R;
        const uint64_t to = is_end ? trial->block_bytes : trial->offset_bytes[b];

        if (!is_end && !is_written)
            continue;
        if (memcmp(trial->before + from, found + from, (size_t)(to - from)) != 0) {
            (void)snprintf(why, why_bytes, "writes outside the bindings that it may write");
            return 0;
        }
        from = is_end ? to : trial->offset_bytes[b] + trial->size_bytes[b];
    }
    return 1;
}

static void loosen(const hg_trial *trial, uint32_t bind, double floor, double *allowed)
{
    const hg_kernel_id kernel = trial->variant->kernel;
    const double factor = hg_bound_units_fast(kernel) / hg_bound_units(kernel);

    for (uint64_t i = 0; i < trial->elements[bind]; i++)
        allowed[i] = floor + (allowed[i] - floor) * factor;
}

int hg_trial_close(const hg_trial *trial, uint8_t *ref, const uint8_t *found,
                   const double *magnitude, double *spent, char *why, size_t why_bytes)
{
    const hg_kernel_id kernel = trial->variant->kernel;
    void *bind[HG_BINDS_MAX] = {NULL};
    double *allowed = malloc(trial->block_bytes * 2);
    int good = allowed != NULL;
    double floor;

    for (uint32_t b = 0; b < trial->kernel->bind_count; b++)
        bind[b] = ref + trial->offset_bytes[b];
    if (!good)
        (void)snprintf(why, why_bytes, "no memory for the bounds");
    floor = hg_bound_floor(kernel, &trial->params, bind, trial->elements);
    for (uint32_t b = 0; good && b < trial->kernel->bind_count; b++) {
        if (trial->kernel->bind[b].access == HG_ACCESS_R)
            continue;
        hg_bound_allowed(kernel, &trial->params, bind, trial->elements, trial->variant->dtype, b,
                         magnitude, allowed);
        if (hg_matrix_is_fast(trial->variant, trial->spec))
            loosen(trial, b, floor, allowed);
        good = close_bind(trial, b, ref, found, allowed, floor, spent, why, why_bytes);
    }
    free(allowed);
    return good;
}
