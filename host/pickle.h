/* SPDX-License-Identifier: MIT */
/*
 * The pickle of a state dict, read as data: a machine with the opcodes that torch.save writes and
 * five names that it may refer to. There is nothing in it that could call anything; every other
 * name is an error that shows it.
 */
#ifndef HG_HOST_PICKLE_H
#define HG_HOST_PICKLE_H

#include "kernel.h"
#include "tensor.h"

#include <headgate/base.h>

/* One entry of the state dict: a view of a storage. Numbers are as in the file, not negative, else
 * unchecked. */
typedef struct hg_pickle_tensor {
    const char *name; /* in the pickle's bytes, UTF-8 without NUL, not NUL-terminated */
    uint32_t name_bytes;
    const char *key; /* of the storage, likewise */
    uint32_t key_bytes;
    hg_dtype dtype;
    uint64_t storage_elements;
    uint64_t offset;
    uint32_t rank;
    uint64_t shape[HG_TENSOR_RANK_MAX];
    uint64_t stride[HG_TENSOR_RANK_MAX];
} hg_pickle_tensor;

typedef struct hg_pickle {
    hg_pickle_tensor *tensors; /* [count] */
    uint32_t count;
} hg_pickle;

/* label begins every sentence. data must outlive the result. */
hg_result hg_pickle_read(const hg_log *log, const char *label, const uint8_t *data, uint64_t bytes,
                         hg_pickle *out);
void hg_pickle_free(hg_pickle *pickle);

#endif
