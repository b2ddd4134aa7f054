/* SPDX-License-Identifier: MIT */
/*
 * One function per kernel, so that the page reads like sentences: each fills the params struct,
 * lists the bindings in the order of kernels.def, and appends one operation (a matrix in several
 * row blocks: one per block).
 */
#ifndef HG_HOST_OPS_H
#define HG_HOST_OPS_H

#include "session_state.h"

/* Where operations go and what they belong to. */
typedef struct hg_pen {
    hg_session *session;
    uint32_t past, tokens;
    int32_t layer; /* -1: outside the layers */
} hg_pen;

void hg_op_embed_rows(const hg_pen *pen, hg_bind y, const char *stage);
void hg_op_rms_norm(const hg_pen *pen, uint32_t rows, hg_bind x, hg_vector w, hg_bind y,
                    const char *stage);
/* y = x w^T + bias. y rows are w->rows apart; the first is y_row rows into y. */
void hg_op_matmul(const hg_pen *pen, uint32_t rows, hg_bind x, const hg_matrix *w, hg_vector bias,
                  hg_bind y, uint32_t y_row, const char *stage);
/* The same, added to what y holds: a residual. */
void hg_op_matmul_add(const hg_pen *pen, uint32_t rows, hg_bind x, const hg_matrix *w,
                      hg_vector bias, hg_bind y, const char *stage);
/* Several matrices on one x, their products side by side in the rows of y; one operation where the
 * matrices are joined. */
typedef struct hg_joined {
    const hg_matrix *whole;
    hg_vector bias;
    const hg_matrix *parts[3];
    hg_vector part_bias[3];
    uint32_t part_count;
} hg_joined;
void hg_op_matmul_joined(const hg_pen *pen, hg_bind x, const hg_joined *w, hg_bind y,
                         const char *stage);
/* Queries and gates, keys and values out of such rows: norm, rope, and into the cache. */
void hg_op_rope_queries(const hg_pen *pen, hg_bind qkv, uint32_t qkv_stride, hg_vector w, hg_bind q,
                        hg_bind z);
void hg_op_rope_keys(const hg_pen *pen, hg_bind qkv, uint32_t qkv_stride, hg_vector w,
                     hg_bind k_cache, hg_bind v_cache);
void hg_op_split_q_gate(const hg_pen *pen, hg_bind qg, hg_bind q, hg_bind z);
void hg_op_norm_rope(const hg_pen *pen, uint32_t heads, hg_bind x, hg_vector w, hg_bind y,
                     uint32_t y_row, const char *stage);
/* gated 0: what attention gives before the gate, also in a model that has one. */
void hg_op_attention(const hg_pen *pen, int gated, const char *stage);
void hg_op_silu_mul(const hg_pen *pen, hg_bind a, hg_bind b, hg_bind y, const char *stage);
/* The same from rows [gate | up]. */
void hg_op_silu_mul_rows(const hg_pen *pen, hg_bind gate_up, hg_bind y, const char *stage);
void hg_op_add(const hg_pen *pen, hg_bind a, hg_bind b, hg_bind y, const char *stage);
/* count f32 values, from element to element. */
void hg_op_copy(const hg_pen *pen, hg_bind dst, uint64_t dst_first, hg_bind src, uint64_t src_first,
                uint64_t count, const char *stage);

#endif
