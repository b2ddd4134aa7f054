/* SPDX-License-Identifier: MIT */
/*
 * Reads the safetensors files of tests/reference: trusted, little, little-endian, read whole.
 * The library's own reader is what is under test elsewhere, so this one shares no code with it.
 */
#ifndef HG_TEST_TENSORS_H
#define HG_TEST_TENSORS_H

#include <stddef.h>
#include <stdint.h>

typedef struct hg_test_tensors hg_test_tensors;

/* NULL when the file is not there or is no safetensors file; a line on stderr says which. */
hg_test_tensors *hg_test_tensors_read(const char *path);
void hg_test_tensors_free(hg_test_tensors *tensors);

/* Elements of a tensor; 0 when there is none of that name. shape: NULL or room for 4, unused ones
 * become 1. */
size_t hg_test_tensors_count(const hg_test_tensors *tensors, const char *name, uint32_t *shape);

/* The values converted to what is asked for; freed by the caller. NULL: no tensor of that name or
 * of a type that does not convert (F32 and F64 to f32 and f64, I64 to i32). */
float *hg_test_tensors_f32(const hg_test_tensors *tensors, const char *name);
double *hg_test_tensors_f64(const hg_test_tensors *tensors, const char *name);
int32_t *hg_test_tensors_i32(const hg_test_tensors *tensors, const char *name);

/* Start of a tensor's bytes if its type is `dtype` and all of them are in the file; else NULL. */
const char *hg_test_tensors_bytes(const hg_test_tensors *tensors, const char *name,
                                  const char *dtype, size_t item_bytes);

/* A whole file with a NUL after it; NULL on failure. size may be NULL. Freed by the caller. */
char *hg_test_file_read(const char *path, size_t *size_bytes);

#endif
