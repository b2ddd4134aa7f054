/* SPDX-License-Identifier: MIT */
/*
 * The reference column: what each kernel means, in double and with libm, as plainly as possible.
 * Nothing is flushed, nothing is ordered. What a magnitude is: the sum of the absolute terms of an
 * element, times how much their errors are amplified (a score's error inside exp), so that a bound
 * is u x c x magnitude (docs/DECISIONS.md D8).
 */
#ifndef HG_SHADERS_REFERENCE_H
#define HG_SHADERS_REFERENCE_H

#include "kernel.h"

#define KERNEL(kernel, binds, flops, bytes)                                                        \
    uint32_t hg_ref_items_##kernel(const void *params);                                            \
    void hg_ref_##kernel(const hg_ref_call *call);
#include "kernels.def"

/* Element i of a matrix of this type; every value of the type, denormals too. */
double hg_ref_weight(const void *w, hg_dtype type, uint64_t i);

/* Elements [first, first + count) of a row of a matrix [.., k] that begins at element offset; also
 * of one in panels. */
void hg_ref_row(const void *w, hg_dtype type, uint64_t offset, uint64_t k, uint64_t row,
                uint64_t first, uint64_t count, double *out);

/* The norm's factor 1 / sqrt(mean(x^2) + eps); 0 for a zero row without eps. */
double hg_ref_norm(const float *x, uint32_t dim, double eps);

/* Which keys a token sees: cache rows first + [low, limit). */
typedef struct hg_ref_keys {
    uint64_t first, low, limit;
} hg_ref_keys;

hg_ref_keys hg_ref_visible(const uint32_t *rows, uint64_t token, uint32_t window);

/* Those of slice s alone: [64 s, 64 s + 64). */
hg_ref_keys hg_ref_slice(hg_ref_keys keys, uint64_t s);

/* scale * q . k over n, and scale * the sum of |q k| in *size. */
double hg_ref_score(const float *q, const float *k, uint32_t n, double scale, double *size);

#endif
