/* SPDX-License-Identifier: MIT */
/* pytorch_model.bin: a zip archive with a pickle and one member per storage. */
#ifndef HG_HOST_TORCH_FILE_H
#define HG_HOST_TORCH_FILE_H

#include "file.h"
#include "tensor.h"

/* 1 when the first bytes are those of a zip archive. */
int hg_torch_is(const uint8_t *data, uint64_t bytes);

/* Appends all tensors of a mapped file, with this file index. The data stay in the mapping. */
hg_result hg_torch_read(const hg_log *log, const char *path, const hg_file *file,
                        uint32_t file_index, hg_tensor_table *table);

#endif
