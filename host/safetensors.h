/* SPDX-License-Identifier: MIT */
/* The safetensors format: u64 header length, JSON header, data. */
#ifndef HG_HOST_SAFETENSORS_H
#define HG_HOST_SAFETENSORS_H

#include "file.h"
#include "tensor.h"

/* 1 when the first bytes look like a safetensors file (a length, then an object), sound or not. */
int hg_safetensors_is(const uint8_t *data, uint64_t bytes);

/* Appends all tensors of a mapped file, with this file index. The data stay in the mapping. */
hg_result hg_safetensors_read(const hg_log *log, const char *path, const hg_file *file,
                              uint32_t file_index, hg_tensor_table *table);

#endif
