/* SPDX-License-Identifier: MIT */
/*
 * A model's weights as they lie on a device: matrices in the file's own type, in row blocks that
 * one binding can hold; vectors as f32 (docs/DECISIONS.md D4). Private to host/.
 */
#ifndef HG_HOST_MODEL_WEIGHTS_H
#define HG_HOST_MODEL_WEIGHTS_H

#include "checkpoint.h"
#include "device.h"
#include "weight_files.h"

typedef struct hg_block {
    hg_mem *mem;
    uint64_t bytes;
    uint32_t row_first, row_count;
    uint32_t lead;    /* elements before the first: above 0 where it is a mapped file */
    uint32_t mem_row; /* where row_first stands in mem: above 0 in a part of a joined matrix */
} hg_block;

typedef struct hg_matrix {
    hg_dtype dtype;
    uint32_t rows, cols; /* [rows, cols]; y = x w^T has `rows` columns */
    uint32_t block_count;
    hg_block *blocks; /* NULL: the model has no such matrix */
    int is_part;      /* the buffer belongs to the joined matrix */
} hg_matrix;

/* [count] f32 inside hg_model.vectors. count 0: the model has none. */
typedef struct hg_vector {
    uint64_t offset_bytes;
    uint32_t count;
} hg_vector;

typedef struct hg_layer {
    hg_vector attn_norm, q_norm, k_norm, mlp_norm;
    hg_vector q_bias, k_bias, v_bias, o_bias;
    hg_matrix q_gate; /* [heads * (head_dim + gate_dim), hidden], rows in the layout of the file */
    hg_matrix k, v;   /* [kv_heads * head_dim, hidden] */
    hg_matrix o;      /* [hidden, heads * head_dim] */
    hg_matrix mlp_gate, mlp_up; /* [ffn, hidden] */
    hg_matrix mlp_down;         /* [hidden, ffn] */
    /* The same weights once more as one matrix, where they can stand side by side in one buffer:
     * q_gate, k and v; mlp_gate and mlp_up. blocks NULL: they cannot. */
    hg_matrix qkv, gate_up;
    hg_vector qkv_bias; /* count 0: none */
} hg_layer;

struct hg_model {
    hg_engine *engine;
    hg_log log;
    hg_config config;
    hg_gate_kind gate;
    hg_gate_layout gate_layout;
    uint32_t gate_dim;
    uint32_t qk_norm;
    hg_model_info info;
    int wraps;              /* matrices are read where they lie in the files, where they can be */
    hg_weight_files *files; /* NULL: no weight is read where it lies in them */
    hg_mem *vectors;
    hg_vector final_norm;
    hg_matrix embed; /* [vocab, hidden] */
    hg_matrix head;  /* [vocab, hidden]; blocks NULL when tied */
    hg_layer *layers;
};

#endif
