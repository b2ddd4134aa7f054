/* SPDX-License-Identifier: MIT */
/* model.safetensors.index.json and pytorch_model.bin.index.json: which shards there are, and what
 * is where. */
#ifndef HG_HOST_WEIGHT_INDEX_H
#define HG_HOST_WEIGHT_INDEX_H

#include "json.h"

typedef struct hg_weight_place {
    const char *tensor;
    const char *shard; /* a plain file name */
} hg_weight_place;

typedef struct hg_weight_index {
    cJSON *root;             /* owns the strings */
    hg_weight_place *places; /* [count], sorted by tensor */
    const char **shards;     /* [shard_count], sorted, each once */
    uint32_t count, shard_count;
} hg_weight_index;

hg_result hg_weight_index_read(const hg_log *log, const char *path, hg_weight_index *out);
void hg_weight_index_free(hg_weight_index *index);

#endif
