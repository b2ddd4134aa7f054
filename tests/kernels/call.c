/* SPDX-License-Identifier: MIT */
/* Layout, inputs and oracles of a call. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 256, GUARD_BYTES = 256 };

static const uint32_t poison = 0x7fedbeefu; /* a NaN: whoever reads it shows it */

bool hg_call_make_sizes(hg_call *call, const hg_variant *variant, const hg_params *params,
                        const uint64_t *size_bytes)
{
    uint64_t at = GUARD_BYTES;

    memset(call, 0, sizeof(*call));
    call->variant = variant;
    call->kernel = &hg_kernels[variant->kernel];
    call->params = *params;
    for (uint32_t i = 0; i < variant->spec_count; i++)
        call->spec[i] = variant->spec_default[i];
    for (uint32_t b = 0; b < call->kernel->bind_count; b++) {
        call->offset_bytes[b] = at;
        call->size_bytes[b] = size_bytes[b];
        at += size_bytes[b] + GUARD_BYTES;
        at = (at + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    }
    call->block_bytes = (size_t)at;
    call->before = malloc(call->block_bytes);
    if (!call->before)
        return false;
    for (size_t i = 0; i < call->block_bytes; i += 4)
        memcpy(call->before + i, &poison, 4);
    variant->grid(&call->params, call->spec, variant->threads, call->groups);
    return true;
}

float *hg_call_bind(const hg_call *call, uint32_t bind)
{
    return (float *)(void *)(call->before + call->offset_bytes[bind]);
}

void hg_call_inputs_done(hg_call *call, const uint64_t *elements)
{
    const hg_bind_row *rows = call->kernel->bind;

    for (uint32_t b = 0; b < call->kernel->bind_count; b++) {
        const hg_dtype dtype = rows[b].type == HG_BIND_w ? call->variant->dtype : HG_DTYPE_F32;

        call->elements[b] = elements[b];
        if (rows[b].access != HG_ACCESS_R || rows[b].type == HG_BIND_u32)
            continue;
        hg_shape_flush(dtype, hg_call_bind(call, b), elements[b]);
    }
}

bool hg_call_make(hg_call *call, const hg_variant *variant, const hg_shape *shape,
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
    if (!hg_call_make_sizes(call, variant, &shape->params, size_bytes))
        return false;
    for (uint32_t i = 0; spec && i < variant->spec_count; i++)
        call->spec[i] = spec[i];
    variant->grid(&call->params, call->spec, variant->threads, call->groups);
    if (shape->in_place)
        call->offset_bytes[kernel->output] = call->offset_bytes[0];
    for (uint32_t b = 0; b < kernel->bind_count; b++) {
        bind[b] = hg_call_bind(call, b);
        if (kernel->bind[b].access == HG_ACCESS_R)
            hg_shape_fill(shape, b, variant->dtype, bind[b]);
    }
    hg_call_inputs_done(call, elements);
    hg_shape_finish(shape, bind);
    hg_call_inputs_done(call, elements);
    return true;
}

void hg_call_free(hg_call *call)
{
    free(call->before);
    call->before = NULL;
}

static void binds_of(const hg_call *call, uint8_t *block, void **bind)
{
    memcpy(block, call->before, call->block_bytes);
    for (uint32_t b = 0; b < call->kernel->bind_count; b++)
        bind[b] = block + call->offset_bytes[b];
}

static void run_text(const hg_call *call, const hg_variant *variant, const uint32_t *spec,
                     uint8_t *block)
{
    void *bind[HG_BINDS_MAX] = {NULL};
    hg_text_call text = {.params = &call->params, .bind = bind, .spec = spec};

    variant->grid(&call->params, spec, variant->threads, text.groups);
    text.group_end = text.groups[0];
    binds_of(call, block, bind);
    variant->text(&text);
}

void hg_call_oracle(const hg_call *call, uint8_t *block)
{
    const hg_variant *variant = hg_variant_t0(call->variant->kernel, call->variant->dtype);
    uint32_t spec[HG_SPEC_MAX] = {0};

    for (uint32_t i = 0; i < variant->spec_count; i++)
        spec[i] = variant->spec_default[i];
    run_text(call, variant, spec, block);
}

void hg_call_text(const hg_call *call, uint8_t *block)
{
    run_text(call, call->variant, call->spec, block);
}

void hg_call_ref(const hg_call *call, uint8_t *block, double *magnitude)
{
    void *bind[HG_BINDS_MAX] = {NULL};
    const hg_ref_call ref = {.params = &call->params,
                             .bind = bind,
                             .w = call->variant->dtype,
                             .end = call->kernel->ref_items(&call->params),
                             .magnitude = magnitude};

    binds_of(call, block, bind);
    call->kernel->ref(&ref);
}
