/* SPDX-License-Identifier: MIT */
/* The bytes of the exact order by kernel and shape, as a file of hashes (exact-1.txt): lines
 * "kernel shape|dtype|hash". */
#ifndef HG_TEST_KERNELS_HASHES_H
#define HG_TEST_KERNELS_HASHES_H

#include "trial.h"

/* FNV-1a of what the outputs hold afterwards. */
uint64_t hg_hash_outputs(const hg_trial *trial, const uint8_t *block);

/* The hash of a line; 0: there is no such line. */
int hg_hash_find(const char *path, const char *shape, hg_dtype dtype, uint64_t *hash);

#endif
