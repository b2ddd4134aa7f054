/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint opened and checked: the config, and for every slot of the model the bytes in a
 * mapped file. Leaves uploading to model.c. Tensor data may start at any byte address.
 */
#ifndef HG_HOST_CHECKPOINT_H
#define HG_HOST_CHECKPOINT_H

#include "config.h"
#include "kernel.h"

/* A matrix or vector of the model, as stored. data NULL: not there (a bias, a norm that the model
 * lacks). */
typedef struct hg_weight {
    const uint8_t *data; /* rows * cols contiguous elements of dtype, in a mapping (or a copy made
                            for a strided storage) */
    hg_dtype dtype;
    uint32_t rows, cols; /* vectors: rows 1 */
} hg_weight;

typedef struct hg_layer_weights {
    hg_weight attn_norm, q_gate, k, v, o, q_norm, k_norm, q_bias, k_bias, v_bias, o_bias;
    hg_weight mlp_norm, mlp_gate, mlp_up, mlp_down;
} hg_layer_weights;

struct hg_checkpoint {
    char *path;
    hg_log log;
    hg_config config;
    hg_gate_kind gate;
    hg_gate_layout gate_layout;
    uint32_t gate_dim;                 /* 0, 1 or head_dim */
    uint32_t qk_norm;                  /* q_norm and k_norm are used */
    hg_weight embed, final_norm, head; /* head.data NULL when tied */
    hg_layer_weights *layers;          /* [config.layers] */
    struct hg_weight_files *files;     /* mappings, names; private to checkpoint.c */
    hg_model_info info;
};

/* Tells the kernel that these bytes of a mapping are not needed again (a model being uploaded must
 * not stay resident twice). Harmless for memory that is no mapping. */
void hg_checkpoint_release_pages(const hg_checkpoint *checkpoint, const void *data, uint64_t bytes);
/* They are needed soon: the system reads them while the caller does something else. */
void hg_checkpoint_read_ahead(const hg_checkpoint *checkpoint, const void *data, uint64_t bytes);

#endif
