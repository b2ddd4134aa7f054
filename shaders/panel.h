/* SPDX-License-Identifier: MIT */
/*
 * Weights in panels: the layout that the kernels for processors (TC) like best. 32 rows of a matrix
 * [rows, k] lie side by side: for each k one line of 32 elements, panels one after the other, the
 * last one filled up with zeros. bf16: word j of a line holds rows j (low half) and j + 16 (high
 * half), so that a vector of words is two vectors of rows after a shift and a mask. f32 and f16:
 * row j in place j, since there are instructions that expand a vector of halves. Pure; no state.
 */
#ifndef HG_SHADERS_PANEL_H
#define HG_SHADERS_PANEL_H

#include "kernel.h"

enum { HG_PANEL_ROWS = 32 };

/* The type of the elements: BF16 for BF16P, itself for one that is in rows. */
hg_dtype hg_dtype_element(hg_dtype dtype);
/* The same elements in panels; NONE stays NONE. */
hg_dtype hg_dtype_panel(hg_dtype dtype);
int hg_dtype_is_panel(hg_dtype dtype);
/* Bytes of an element: 4 or 2. */
uint32_t hg_dtype_bytes(hg_dtype dtype);

/* Elements that `rows` rows of k take, padding included; of a type in rows: rows * k. */
uint64_t hg_panel_elements(hg_dtype dtype, uint64_t rows, uint64_t k);

/* Where element [row, i] of a matrix [.., k] is, in elements. */
uint64_t hg_panel_index(hg_dtype dtype, uint64_t k, uint64_t row, uint64_t i);

/* Panels [first, first + count) of a matrix [rows, k] in rows, at any address, into `to`, the place
 * of panel `first`. 16-bit types are copied as bits. */
void hg_panel_pack(hg_dtype dtype, const void *from, uint64_t rows, uint64_t k, uint64_t first,
                   uint64_t count, void *to);

#endif
