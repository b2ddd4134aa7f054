/* SPDX-License-Identifier: MIT */
/*
 * How far a kernel's float32 may be from the reference column on the same inputs (docs/DECISIONS.md
 * D8, D14): u x c x magnitude, and what flushing takes. Pure, constant data; one home of the bounds
 * for tests, self-checks of a device and comparisons.
 */
#ifndef HG_SHADERS_BOUND_H
#define HG_SHADERS_BOUND_H

#include "kernel.h"

/* c of the bound u c magnitude, u = 2^-24. 0: nothing is rounded. */
double hg_bound_units(hg_kernel_id kernel);

/* What c becomes under precision fast, where activations go into products with 11 bits. */
double hg_bound_units_fast(hg_kernel_id kernel);

/* What flushing may take of any element, whatever its magnitude. bind, bind_elements: as below. */
double hg_bound_floor(hg_kernel_id kernel, const void *params, void *const *bind,
                      const uint64_t *bind_elements);

/*
 * The error that each element of written binding `which` may have, after the reference column ran
 * on these bindings. bind: as in hg_ref_call, its results in place; bind_elements: elements of each
 * (of a w binding: of type w). magnitude: as hg_ref_call delivered it for kernel->output; zeros
 * where the call writes nothing. allowed has bind_elements[which] elements.
 */
void hg_bound_allowed(hg_kernel_id kernel, const void *params, void *const *bind,
                      const uint64_t *bind_elements, hg_dtype w, uint32_t which,
                      const double *magnitude, double *allowed);

/* 1: found will do. An expected infinity (beyond float32) is met by any number, a NaN by a NaN. */
int hg_bound_holds(double expected, double found, double allowed);

#endif
