/* SPDX-License-Identifier: MIT */
/*
 * One call of a kernel, laid out in one block of memory: bindings at multiples of 256, guard words
 * between them, outputs poisoned. A device gets a copy of the block and its result is compared as a
 * whole, so that a stray write anywhere shows.
 */
#ifndef HG_TEST_KERNELS_CALL_H
#define HG_TEST_KERNELS_CALL_H

#include "kernel.h"
#include "shape.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct hg_call {
    const hg_variant *variant;
    const hg_kernel *kernel;
    uint32_t spec[HG_SPEC_MAX];
    hg_params params;
    uint32_t groups[3]; /* flat */
    uint64_t offset_bytes[HG_BINDS_MAX], size_bytes[HG_BINDS_MAX];
    uint8_t *before; /* block_bytes: inputs in place, the rest poison */
    size_t block_bytes;
    uint64_t elements[HG_BINDS_MAX];
} hg_call;

/* spec NULL: the defaults. false: no memory. */
bool hg_call_make(hg_call *call, const hg_variant *variant, const hg_shape *shape,
                  const uint32_t *spec);
void hg_call_free(hg_call *call);

/* An empty call of these sizes, for inputs from elsewhere; finish by hg_call_inputs_done. */
bool hg_call_make_sizes(hg_call *call, const hg_variant *variant, const hg_params *params,
                        const uint64_t *size_bytes);
float *hg_call_bind(const hg_call *call, uint32_t bind);
void hg_call_inputs_done(hg_call *call, const uint64_t *elements);

/* The oracles, on a block of their own. oracle: the text of T0 as the table has it, whatever the
 * call's variant and tile numbers; text: the variant's own. magnitude: as many as output elements.
 */
void hg_call_oracle(const hg_call *call, uint8_t *block);
void hg_call_text(const hg_call *call, uint8_t *block);
void hg_call_ref(const hg_call *call, uint8_t *block, double *magnitude);

#endif
