/* SPDX-License-Identifier: MIT */
/*
 * Which of a device's matrix shapes tier T2 uses, with what numbers, and where the tier is left
 * out. Pure: a plan in, numbers or a reason out.
 */
#ifndef HG_ENGINE_MATRIX_H
#define HG_ENGINE_MATRIX_H

#include "backend.h"

/* Numbers of the parts that float32 activations go in as, by precision (docs/DECISIONS.md D38). */
enum { HG_MATRIX_PARTS_FP32 = 2, HG_MATRIX_PARTS_FAST = 1 };

/* NULL: tier T2 is there and is to be used; else why not, in words. Knows what is broken or slow
 * unless the tier was asked for by name. */
const char *hg_matrix_lacks(const hg_plan *plan);

/* The numbers of a T2 variant on this device; the table's where it has none for it. */
void hg_matrix_spec(const hg_plan *plan, const hg_variant *variant, uint32_t spec[HG_SPEC_MAX]);

/* The device's matrix shape number i of those that the kernel can be made of, into the numbers of a
 * T2 variant; 0: there are no more. */
int hg_matrix_other(const hg_plan *plan, const hg_variant *variant, uint32_t i,
                    uint32_t spec[HG_SPEC_MAX]);

/* 1: these numbers give one part, 11 bits of an activation. */
int hg_matrix_is_fast(const hg_variant *variant, const uint32_t *spec);

#endif
