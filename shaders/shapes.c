/* SPDX-License-Identifier: MIT */
/*
 * The calls: sizes that are multiples of nothing, single rows, every gate and layout, windows,
 * pieces, pools, and values at the edges of the number format.
 */
#include "shape.h"

#include <math.h>
#include <string.h>

#include "panel.h"
#include "reference/reference.h"

#define ROW(k, n, f, ...)                                                                          \
    .name = #k " " n, .kernel = HG_KERNEL_##k, .fill = HG_FILL_##f, .params.k = {__VA_ARGS__}

/* clang-format off: one row each. */
/* 1 / dim as the host rounds it. */
#define OF(n) .dim = (n), .inv_dim = 1.0f / (float)(n)
#define HEAD(n) .head_dim = (n), .inv_dim = 1.0f / (float)(n)
#define HEADS(h, kv, d) .heads = (h), .kv_heads = (kv), .head_dim = (d)

const hg_shape hg_shapes[] = {
    {ROW(embed_rows, "one", NORMAL, .tokens = 1, .hidden = 1, .row_first = 0, .row_count = 5)},
    {ROW(embed_rows, "block", NORMAL, .tokens = 19, .hidden = 75, .row_first = 4, .row_count = 7),
     .quick = 1},
    {ROW(embed_rows, "odd offset", NASTY, .tokens = 9, .hidden = 33, .row_count = 11,
         .w_offset = 7),
     .quick = 1},

    {ROW(rms_norm, "one", NORMAL, .rows = 1, OF(1), .eps = 1e-6f)},
    {ROW(rms_norm, "odd", NORMAL, .rows = 7, OF(75), .eps = 1e-6f), .quick = 1},
    {ROW(rms_norm, "272", NORMAL, .rows = 21, OF(272), .eps = 1e-5f)},
    {ROW(rms_norm, "nasty", NASTY, .rows = 17, OF(130), .eps = 1e-6f), .quick = 1},
    {ROW(rms_norm, "huge rows", HUGE, .rows = 23, OF(67), .eps = 1e-6f), .quick = 1},
    {ROW(rms_norm, "edge", EDGE, .rows = 3, OF(64), .eps = 1e-6f)},
    {ROW(rms_norm, "edge, no eps", EDGE, .rows = 3, OF(65), .eps = 0.0f)},
    {ROW(rms_norm, "zero, no eps", ZERO, .rows = 2, OF(9), .eps = 0.0f), .quick = 1},
    {ROW(rms_norm, "equal, big eps", EQUAL, .rows = 2, OF(128), .eps = 1e-2f)},
    {ROW(rms_norm, "many groups", NORMAL, .rows = 65535 * 16 + 21, OF(1), .eps = 1e-6f),
     .large = 1},

    {ROW(matmul, "one", NORMAL, .rows = 1, .k = 1, .cols = 1, .y_stride = 1)},
    {ROW(matmul, "7x75x33", NORMAL, .rows = 7, .k = 75, .cols = 33, .y_stride = 33)},
    {ROW(matmul, "17x61x33", NORMAL, .rows = 17, .k = 61, .cols = 33, .y_stride = 40,
         .y_offset = 5)},
    {ROW(matmul, "16x64x64", NORMAL, .rows = 16, .k = 64, .cols = 64, .y_stride = 64)},
    {ROW(matmul, "65x130x67, bias", NORMAL, .rows = 65, .k = 130, .cols = 67, .y_stride = 67,
         .flags = 1),
     .quick = 1},
    {ROW(matmul, "33x272x72", NORMAL, .rows = 33, .k = 272, .cols = 72, .y_stride = 72)},
    {ROW(matmul, "odd offset", NORMAL, .rows = 5, .k = 66, .cols = 9, .w_offset = 13,
         .y_stride = 9)},
    {ROW(matmul, "nasty", NASTY, .rows = 9, .k = 129, .cols = 31, .y_stride = 31, .flags = 1),
     .quick = 1},
    {ROW(matmul, "large", LARGE, .rows = 3, .k = 200, .cols = 20, .y_stride = 20)},
    {ROW(matmul, "edge", EDGE, .rows = 4, .k = 191, .cols = 10, .y_stride = 10)},
    {ROW(matmul, "zero", ZERO, .rows = 2, .k = 65, .cols = 8, .y_stride = 8)},

    {ROW(matvec, "one", NORMAL, .rows = 1, .k = 1, .cols = 1, .y_stride = 1)},
    {ROW(matvec, "75x33", NORMAL, .rows = 1, .k = 75, .cols = 33, .y_stride = 33)},
    {ROW(matvec, "3x272x37, bias", NORMAL, .rows = 3, .k = 272, .cols = 37, .y_stride = 41,
         .y_offset = 3, .flags = 1),
     .quick = 1},
    {ROW(matvec, "1024x256", NORMAL, .rows = 1, .k = 1024, .cols = 256, .y_stride = 256)},
    {ROW(matvec, "odd offset", NORMAL, .rows = 2, .k = 64, .cols = 11, .w_offset = 1,
         .y_stride = 11)},
    {ROW(matvec, "nasty", NASTY, .rows = 2, .k = 131, .cols = 30, .y_stride = 30), .quick = 1},
    {ROW(matvec, "edge", EDGE, .rows = 1, .k = 128, .cols = 17, .y_stride = 17)},

    {ROW(split_q_gate, "baseline", NORMAL, .tokens = 3, HEADS(4, 2, 10))},
    {ROW(split_q_gate, "headwise by group", NORMAL, .tokens = 5, HEADS(6, 2, 10), .gate_dim = 1),
     .quick = 1},
    {ROW(split_q_gate, "headwise by head", NORMAL, .tokens = 5, HEADS(6, 2, 10), .gate_dim = 1,
         .gate_layout = 1)},
    {ROW(split_q_gate, "elementwise by group", NORMAL, .tokens = 3, HEADS(10, 2, 16),
         .gate_dim = 16)},
    {ROW(split_q_gate, "elementwise by head", NASTY, .tokens = 3, HEADS(4, 1, 16), .gate_dim = 16,
         .gate_layout = 1),
     .quick = 1},
    {ROW(split_q_gate, "one group", NORMAL, .tokens = 1, HEADS(3, 3, 20), .gate_dim = 20)},

    {ROW(norm_rope, "rope", NORMAL, .tokens = 7, .heads = 4, HEAD(16), .eps = 1e-6f)},
    {ROW(norm_rope, "rope, head 10", NORMAL, .tokens = 5, .heads = 3, HEAD(10), .eps = 1e-6f)},
    {ROW(norm_rope, "norm, cache row", NORMAL, .tokens = 5, .heads = 2, HEAD(80), .y_row = 9,
         .eps = 1e-6f, .flags = 1),
     .quick = 1},
    {ROW(norm_rope, "norm, head 256", NORMAL, .tokens = 2, .heads = 3, HEAD(256), .eps = 1e-5f,
         .flags = 1)},
    {ROW(norm_rope, "norm in place", NORMAL, .tokens = 6, .heads = 5, HEAD(20), .eps = 1e-6f,
         .flags = 1),
     .in_place = 1},
    {ROW(norm_rope, "rope in place", NORMAL, .tokens = 4, .heads = 2, HEAD(128), .eps = 1e-6f),
     .in_place = 1},
    {ROW(norm_rope, "norm, nasty", NASTY, .tokens = 9, .heads = 3, HEAD(64), .eps = 1e-6f,
         .flags = 1),
     .quick = 1},
    {ROW(norm_rope, "norm, huge", HUGE, .tokens = 9, .heads = 3, HEAD(32), .eps = 1e-6f,
         .flags = 1)},
    {ROW(norm_rope, "rope, large", LARGE, .tokens = 2, .heads = 2, HEAD(12), .eps = 1e-6f)},

    {ROW(attention, "one", NORMAL, .tokens = 1, HEADS(1, 1, 10), .scale = 0.3f)},
    {ROW(attention, "no gate", NORMAL, .tokens = 17, HEADS(4, 2, 16), .scale = 0.25f)},
    {ROW(attention, "headwise", NORMAL, .tokens = 21, HEADS(4, 1, 20), .gate_dim = 1,
         .scale = 0.22f, .gate = 1, .flags = 1),
     .quick = 1},
    {ROW(attention, "elementwise", NORMAL, .tokens = 9, HEADS(5, 1, 80), .gate_dim = 80,
         .scale = 0.11f, .gate = 1, .flags = 1)},
    {ROW(attention, "130 tokens", NORMAL, .tokens = 130, HEADS(2, 2, 16), .gate_dim = 1,
         .scale = 0.25f, .gate = 1)},
    {ROW(attention, "a later piece", NORMAL, .tokens = 9, HEADS(3, 1, 32), .scale = 0.18f),
     .start = 77},
    {ROW(attention, "one token late", NORMAL, .tokens = 1, HEADS(6, 2, 128), .gate_dim = 1,
         .scale = 0.088f, .gate = 1),
     .start = 200},
    {ROW(attention, "head 256", NORMAL, .tokens = 4, HEADS(2, 1, 256), .gate_dim = 256,
         .scale = 0.0625f, .gate = 1),
     .start = 62},
    {ROW(attention, "window 3", NORMAL, .tokens = 12, HEADS(2, 1, 16), .window = 3,
         .scale = 0.25f)},
    {ROW(attention, "window 70, late", NORMAL, .tokens = 8, HEADS(2, 1, 16), .window = 70,
         .scale = 0.25f),
     .start = 190},
    {ROW(attention, "window 1", NORMAL, .tokens = 5, HEADS(2, 2, 10), .window = 1, .scale = 0.3f)},
    {ROW(attention, "batch", NORMAL, .tokens = 14, HEADS(4, 2, 16), .gate_dim = 16, .scale = 0.25f,
         .gate = 1),
     .rows = HG_ROWS_MANY},
    {ROW(attention, "fully masked rows", NORMAL, .tokens = 7, HEADS(2, 1, 16), .gate_dim = 1,
         .scale = 0.25f, .gate = 1, .flags = 1),
     .quick = 1, .rows = HG_ROWS_MASKED},
    {ROW(attention, "constant gate", NORMAL, .tokens = 5, HEADS(4, 2, 16), .gate_dim = 1,
         .scale = 0.25f, .gate = 2, .gate_const = 0.37f, .flags = 1)},
    {ROW(attention, "gates written, not used", NORMAL, .tokens = 5, HEADS(2, 2, 16), .gate_dim = 1,
         .scale = 0.25f, .flags = 1)},
    {ROW(attention, "masked heads", NORMAL, .tokens = 2, HEADS(130, 2, 10), .gate_dim = 1,
         .scale = 0.3f, .gate = 1, .head_mask0 = 0x80000001u, .head_mask1 = 2u, .head_mask2 = 4u,
         .head_mask3 = 0x80000001u)},
    {ROW(attention, "scores of 1e4", LARGE, .tokens = 70, HEADS(2, 1, 10), .gate_dim = 1,
         .scale = 1e-5f, .gate = 1)},
    {ROW(attention, "ties", EQUAL, .tokens = 67, HEADS(2, 1, 16), .gate_dim = 1, .scale = 0.25f,
         .gate = 1),
     .quick = 1},
    {ROW(attention, "nasty", NASTY, .tokens = 70, HEADS(3, 1, 16), .gate_dim = 16, .scale = 1e-3f,
         .gate = 1, .flags = 1),
     .quick = 1},
    {ROW(attention, "edge", EDGE, .tokens = 70, HEADS(2, 1, 16), .gate_dim = 1, .scale = 0.25f,
         .gate = 1)},
    {ROW(attention, "edge, tiny scale", EDGE, .tokens = 5, HEADS(2, 1, 16), .scale = 0x1p-40f)},
    {ROW(attention, "zero", ZERO, .tokens = 66, HEADS(2, 1, 16), .scale = 0.25f)},

    {ROW(attn_probs, "whole", NORMAL, HEADS(2, 1, 16), .scale = 0.25f, .q_count = 17, .k_count = 17,
         .h_count = 2, .pool_q = 1, .pool_k = 1, .inv_heads = 0.5f, .dst_stride = 17,
         .dst_head_stride = 289)},
    {ROW(attn_probs, "one", NORMAL, HEADS(1, 1, 10), .scale = 0.3f, .q_count = 1, .k_count = 1,
         .h_count = 1, .pool = 1, .pool_q = 1, .pool_k = 1, .inv_heads = 1.0f, .dst_stride = 1)},
    {ROW(attn_probs, "rectangle", NORMAL, HEADS(4, 2, 20), .scale = 0.22f, .q_first = 5,
         .q_count = 9, .k_first = 3, .k_count = 14, .h_first = 1, .h_count = 2, .pool_q = 1,
         .pool_k = 1, .inv_heads = 0.5f, .dst_stride = 16, .dst_head_stride = 150, .dst_offset = 7),
     .quick = 1},
    {ROW(attn_probs, "mean of heads", NORMAL, HEADS(3, 1, 80), .scale = 0.11f, .q_count = 13,
         .k_count = 13, .h_count = 3, .reduce = 1, .pool_q = 1, .pool_k = 1,
         .inv_heads = 1.0f / 3.0f, .dst_stride = 13)},
    {ROW(attn_probs, "largest of cells", NORMAL, HEADS(2, 2, 16), .scale = 0.25f, .q_count = 67,
         .k_count = 67, .h_count = 2, .pool_q = 8, .pool_k = 5, .inv_heads = 0.5f, .dst_stride = 14,
         .dst_head_stride = 126)},
    {ROW(attn_probs, "mean of cells", NORMAL, HEADS(2, 1, 16), .scale = 0.25f, .q_count = 67,
         .k_count = 67, .h_count = 2, .pool = 1, .pool_q = 7, .pool_k = 9, .inv_heads = 0.5f,
         .dst_stride = 8, .dst_head_stride = 80)},
    {ROW(attn_probs, "mean of cells and heads", NORMAL, HEADS(4, 2, 16), .scale = 0.25f,
         .q_count = 30, .k_count = 30, .h_count = 4, .reduce = 1, .pool = 1, .pool_q = 4,
         .pool_k = 4, .inv_heads = 0.25f, .dst_stride = 8),
     .quick = 1},
    {ROW(attn_probs, "window, late", NORMAL, HEADS(2, 1, 16), .window = 70, .scale = 0.25f,
         .q_first = 2, .q_count = 6, .k_first = 100, .k_count = 140, .h_count = 2, .pool_q = 1,
         .pool_k = 3, .inv_heads = 0.5f, .dst_stride = 47, .dst_head_stride = 282),
     .start = 190},
    {ROW(attn_probs, "batch", NORMAL, HEADS(2, 2, 16), .scale = 0.25f, .q_count = 14, .k_count = 6,
         .h_count = 2, .pool_q = 1, .pool_k = 1, .inv_heads = 0.5f, .dst_stride = 6,
         .dst_head_stride = 84),
     .rows = HG_ROWS_MANY},
    {ROW(attn_probs, "masked rows", NORMAL, HEADS(2, 1, 16), .scale = 0.25f, .q_count = 7,
         .k_count = 9, .h_count = 2, .pool = 1, .pool_q = 2, .pool_k = 2, .inv_heads = 0.5f,
         .dst_stride = 5, .dst_head_stride = 20),
     .rows = HG_ROWS_MASKED},
    {ROW(attn_probs, "ties", EQUAL, HEADS(1, 1, 16), .scale = 0.25f, .q_count = 40, .k_count = 40,
         .h_count = 1, .pool_q = 1, .pool_k = 1, .inv_heads = 1.0f, .dst_stride = 40)},
    {ROW(attn_probs, "scores of 1e4", LARGE, HEADS(2, 1, 10), .scale = 1e-5f, .q_count = 20,
         .k_count = 20, .h_count = 2, .pool_q = 1, .pool_k = 1, .inv_heads = 0.5f, .dst_stride = 20,
         .dst_head_stride = 400),
     .quick = 1},

    {ROW(silu_mul, "one", NORMAL, .rows = 1, .cols = 1, .stride = 1)},
    {ROW(silu_mul, "1027", NORMAL, .rows = 1, .cols = 1027, .stride = 1027), .quick = 1},
    {ROW(silu_mul, "nasty", NASTY, .rows = 1, .cols = 2049, .stride = 2049), .quick = 1},
    {ROW(silu_mul, "large", LARGE, .rows = 1, .cols = 130, .stride = 130)},
    {ROW(silu_mul, "edge", EDGE, .rows = 1, .cols = 129, .stride = 129)},
    {ROW(silu_mul, "zero", ZERO, .rows = 1, .cols = 65, .stride = 65)},

    {ROW(add, "one", NORMAL, .count = 1)},
    {ROW(add, "1000", NORMAL, .count = 1000), .quick = 1},
    {ROW(add, "in place", NASTY, .count = 333), .quick = 1, .in_place = 1},
    {ROW(add, "edge", EDGE, .count = 200)},
    {ROW(add, "many groups", NORMAL, .count = 65535 * 64 + 130), .in_place = 1, .large = 1},

    {ROW(reduce_rows, "one", NORMAL, .rows = 1, .cols = 1, .stride = 1)},
    {ROW(reduce_rows, "odd", NORMAL, .rows = 9, .cols = 75, .stride = 80, .below = 0.1f),
     .quick = 1},
    {ROW(reduce_rows, "part of a row", NORMAL, .rows = 5, .cols = 3, .stride = 130,
         .below = -0.5f)},
    {ROW(reduce_rows, "ties", EQUAL, .rows = 3, .cols = 130, .stride = 130, .below = 1.0f)},
    {ROW(reduce_rows, "nasty", NASTY, .rows = 7, .cols = 272, .stride = 272, .below = 1e-12f),
     .quick = 1},
    {ROW(reduce_rows, "zero", ZERO, .rows = 2, .cols = 65, .stride = 65)},

    {ROW(probe, "operations", NASTY, .count = 83, .rounds = 4), .quick = 1},
    {ROW(probe, "one", NASTY, .count = 1, .rounds = 3)},

    {ROW(attn_probs, "nasty", NASTY, HEADS(3, 1, 16), .scale = 1e-3f, .q_count = 37, .k_count = 37,
         .h_count = 3, .pool = 1, .pool_q = 3, .pool_k = 2, .inv_heads = 1.0f / 3.0f,
         .dst_stride = 19, .dst_head_stride = 250),
     .quick = 1},

    {ROW(ceiling_read, "one", NORMAL, .rows = 1, .turns = 1)},
    {ROW(ceiling_read, "odd", NORMAL, .rows = 21, .turns = 7), .quick = 1},
    {ROW(ceiling_read, "nasty", NASTY, .rows = 3, .turns = 5), .quick = 1},
    {ROW(ceiling_copy, "one", NORMAL, .rows = 1, .turns = 1)},
    {ROW(ceiling_copy, "odd", NORMAL, .rows = 7, .turns = 3), .quick = 1},
    {ROW(ceiling_copy, "nasty", NASTY, .rows = 5, .turns = 2), .quick = 1},
    {ROW(ceiling_mac, "one", NORMAL, .rows = 1, .turns = 1, .a = -0.5f, .b = 1.0f)},
    {ROW(ceiling_mac, "fused", NORMAL, .rows = 9, .turns = 3, .fused = 1, .a = -0.5f, .b = 0.7f),
     .quick = 1},
    {ROW(ceiling_mac, "nasty", NASTY, .rows = 6, .turns = 2, .a = -0.5f, .b = -3.0f), .quick = 1},
    {ROW(ceiling_mac, "fused, nasty", NASTY, .rows = 5, .turns = 4, .fused = 1, .a = 0.5f,
         .b = 1.3f)},
    /* New ones here: the numbers of a shape come from its place. */
    {ROW(silu_mul, "gate and up in one row", NORMAL, .rows = 7, .cols = 33, .stride = 70,
         .b_offset = 35),
     .quick = 1},
    {ROW(matmul, "added to y", NORMAL, .rows = 13, .k = 70, .cols = 45, .y_stride = 45, .flags = 2),
     .quick = 1},
    {ROW(matmul, "bias, added to y, nasty", NASTY, .rows = 9, .k = 129, .cols = 31, .y_stride = 40,
         .y_offset = 3, .flags = 3)},
    {ROW(matvec, "added to y", NORMAL, .rows = 2, .k = 140, .cols = 70, .y_stride = 70, .flags = 2),
     .quick = 1},
    {ROW(matvec, "bias, added to y, edge", EDGE, .rows = 1, .k = 65, .cols = 33, .y_stride = 33,
         .flags = 3)},
    {ROW(rope_heads, "queries, no gate", NORMAL, .tokens = 5, .heads = 3, HEAD(10), .eps = 1e-6f,
         .flags = 1, .x_stride = 51, .x_offset = 2, .group_heads = 1, .group_stride = 10)},
    {ROW(rope_heads, "queries and gates by group", NORMAL, .tokens = 5, .heads = 6, HEAD(20),
         .eps = 1e-6f, .flags = 1, .x_stride = 131, .group_heads = 3, .group_stride = 63,
         .copy_dim = 1, .copy_offset = 60),
     .quick = 1},
    {ROW(rope_heads, "queries and gates by head", NASTY, .tokens = 3, .heads = 4, HEAD(16),
         .eps = 1e-6f, .x_stride = 128, .group_heads = 1, .group_stride = 32, .copy_dim = 16,
         .copy_offset = 16),
     .quick = 1},
    {ROW(rope_heads, "keys and values", NORMAL, .tokens = 4, .heads = 2, HEAD(64), .y_row = 3,
         .eps = 1e-6f, .flags = 1, .x_stride = 300, .x_offset = 40, .group_heads = 2,
         .copy_dim = 64, .copy_offset = 128, .copy_row = 3),
     .quick = 1},
    {ROW(rope_heads, "huge rows", HUGE, .tokens = 3, .heads = 2, HEAD(32), .eps = 1e-6f, .flags = 1,
         .x_stride = 64, .group_heads = 1, .group_stride = 32)},
    {ROW(matmul, "behind other rows", NORMAL, .rows = 11, .k = 70, .cols = 100, .w_offset = 64 * 70,
         .y_stride = 100)},
    {ROW(matvec, "behind other rows", NORMAL, .rows = 1, .k = 600, .cols = 170,
         .w_offset = 32 * 600, .y_stride = 170),
     .quick = 1},
    {ROW(matmul, "long rows", NORMAL, .rows = 20, .k = 1100, .cols = 70, .y_stride = 70)},
    {ROW(attention_slice, "one", NORMAL, .tokens = 1, HEADS(1, 1, 10), .scale = 0.3f, .slices = 1)},
    {ROW(attention_slice, "one token late", NORMAL, .tokens = 1, HEADS(6, 2, 128), .scale = 0.088f,
         .slices = 4),
     .start = 200, .quick = 1},
    {ROW(attention_slice, "some of the tokens", NORMAL, .tokens = 3, HEADS(4, 2, 80),
         .scale = 0.11f, .slices = 2, .token_first = 2),
     .start = 62},
    {ROW(attention_slice, "head 256, window 70", NORMAL, .tokens = 2, HEADS(2, 1, 256),
         .window = 70, .scale = 0.0625f, .slices = 4),
     .start = 190},
    {ROW(attention_slice, "head 30", NORMAL, .tokens = 5, HEADS(3, 1, 30), .scale = 0.18f,
         .slices = 2),
     .start = 77},
    {ROW(attention_slice, "batch", NORMAL, .tokens = 14, HEADS(4, 2, 16), .scale = 0.25f,
         .slices = 1),
     .rows = HG_ROWS_MANY},
    {ROW(attention_slice, "fully masked rows", NORMAL, .tokens = 7, HEADS(2, 1, 16), .scale = 0.25f,
         .slices = 3),
     .quick = 1, .rows = HG_ROWS_MASKED},
    {ROW(attention_slice, "scores of 1e4", LARGE, .tokens = 4, HEADS(2, 1, 10), .scale = 1e-5f,
         .slices = 2),
     .start = 70},
    {ROW(attention_slice, "nasty", NASTY, .tokens = 9, HEADS(3, 1, 16), .scale = 1e-3f,
         .slices = 2),
     .start = 61, .quick = 1},
    {ROW(attention_slice, "edge", EDGE, .tokens = 3, HEADS(2, 1, 16), .scale = 0.25f, .slices = 2),
     .start = 67},
    {ROW(attention_slice, "ties", EQUAL, .tokens = 3, HEADS(2, 1, 16), .scale = 0.25f, .slices = 2),
     .start = 67},
    {ROW(attention_merge, "one", NORMAL, .tokens = 1, .heads = 1, .head_dim = 10, .slices = 1)},
    {ROW(attention_merge, "many slices", NORMAL, .tokens = 2, .heads = 4, .head_dim = 128,
         .gate_dim = 128, .slices = 67, .gate = 1, .flags = 1),
     .quick = 1},
    {ROW(attention_merge, "headwise, some of the tokens", NORMAL, .tokens = 3, .heads = 5,
         .head_dim = 20, .gate_dim = 1, .slices = 5, .token_first = 4, .gate = 1, .flags = 1),
     .quick = 1},
    {ROW(attention_merge, "constant gate", NORMAL, .tokens = 2, .heads = 2, .head_dim = 16,
         .gate_dim = 1, .slices = 3, .gate = 2, .gate_const = 0.37f, .flags = 1)},
    {ROW(attention_merge, "masked heads", NORMAL, .tokens = 2, .heads = 130, .head_dim = 10,
         .gate_dim = 1, .slices = 2, .gate = 1, .head_mask0 = 0x80000001u, .head_mask1 = 2u,
         .head_mask2 = 4u, .head_mask3 = 0x80000001u)},
    {ROW(attention_merge, "nasty", NASTY, .tokens = 3, .heads = 3, .head_dim = 16, .slices = 9),
     .quick = 1},
    {ROW(attention_merge, "edge", EDGE, .tokens = 3, .heads = 2, .head_dim = 16, .slices = 4)},
    {ROW(attention, "a long batch", NORMAL, .tokens = 77, HEADS(4, 2, 72), .gate_dim = 72,
         .window = 90, .scale = 0.12f, .gate = 1, .flags = 1),
     .rows = HG_ROWS_MANY, .start = 100},
    /* Rows that are read in words of several elements, halves that are denormal among them. */
    {ROW(matmul, "nasty, K of 144", NASTY, .rows = 3, .k = 144, .cols = 11, .y_stride = 11),
     .quick = 1},
    {ROW(matvec, "nasty, K of 144", NASTY, .rows = 1, .k = 144, .cols = 11, .y_stride = 11),
     .quick = 1},
};
/* clang-format on */

const uint32_t hg_shape_count = sizeof(hg_shapes) / sizeof(hg_shapes[0]);

/* ---- sizes ---- */

static uint32_t tokens_of(const hg_shape *shape)
{
    const hg_params *p = &shape->params;

    switch (shape->kernel) {
    case HG_KERNEL_attention:
        return p->attention.tokens;
    case HG_KERNEL_attention_slice:
        return p->attention_slice.token_first + p->attention_slice.tokens;
    default:
        return p->attn_probs.q_first + p->attn_probs.q_count;
    }
}

/* Cache rows in front of the first key, so that a forgotten kv_begin shows. */
enum { ROWS_BEFORE = 3, SEQUENCES = 3 };

static uint32_t keys_of_sequence(const hg_shape *shape)
{
    const uint32_t tokens = tokens_of(shape);

    return shape->start +
           (shape->rows == HG_ROWS_MANY ? (tokens + SEQUENCES - 1) / SEQUENCES : tokens);
}

static uint64_t cache_rows(const hg_shape *shape)
{
    const uint32_t sequences = shape->rows == HG_ROWS_MANY ? SEQUENCES : 1;

    return ROWS_BEFORE + (uint64_t)sequences * (keys_of_sequence(shape) + 1);
}

static uint64_t at_least_one(uint64_t count)
{
    return count ? count : 1;
}

static uint64_t product_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_matmul_params *p = &shape->params.matmul; /* matvec has the same fields */

    switch (bind) {
    case 0:
        return (uint64_t)p->rows * p->k;
    case 1:
        return p->w_offset + (uint64_t)p->cols * p->k;
    case 2:
        return p->flags & 1u ? p->cols : 1;
    default:
        return (uint64_t)p->rows * p->y_stride + p->y_offset;
    }
}

static uint64_t attention_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_attention_params *p = &shape->params.attention;
    const uint64_t heads = (uint64_t)p->tokens * p->heads;

    switch (bind) {
    case 1:
    case 2:
        return cache_rows(shape) * p->kv_heads * p->head_dim;
    case 3:
    case 7:
        return at_least_one(heads * p->gate_dim);
    case 4:
        return (uint64_t)p->tokens * 4;
    case 6:
        return heads * 2;
    default:
        return heads * p->head_dim;
    }
}

static uint64_t attention_slice_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_attention_slice_params *p = &shape->params.attention_slice;
    const uint64_t items = (uint64_t)p->slices * p->tokens * p->heads;

    switch (bind) {
    case 0:
        return (uint64_t)tokens_of(shape) * p->heads * p->head_dim;
    case 1:
    case 2:
        return cache_rows(shape) * p->kv_heads * p->head_dim;
    case 3:
        return (uint64_t)tokens_of(shape) * 4;
    case 4:
        return items * p->head_dim;
    default:
        return items * 2;
    }
}

static uint64_t attention_merge_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_attention_merge_params *p = &shape->params.attention_merge;
    const uint64_t items = (uint64_t)p->slices * p->tokens * p->heads;
    /* A token more than is written. */
    const uint64_t rows = ((uint64_t)p->token_first + p->tokens + 1) * p->heads;

    switch (bind) {
    case 0:
        return items * p->head_dim;
    case 1:
        return items * 2;
    case 3:
        return rows * p->head_dim;
    case 4:
        return rows * 2;
    default:
        return at_least_one(rows * p->gate_dim);
    }
}

static uint64_t attn_probs_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_attn_probs_params *p = &shape->params.attn_probs;
    const uint64_t tokens = tokens_of(shape);
    const uint64_t lines = (p->q_count + p->pool_q - 1) / p->pool_q;
    const uint64_t maps = p->reduce ? 1 : p->h_count;

    switch (bind) {
    case 0:
        return tokens * p->heads * p->head_dim;
    case 1:
        return cache_rows(shape) * p->kv_heads * p->head_dim;
    case 2:
        return tokens * p->heads * 2;
    case 3:
        return tokens * 4;
    default:
        return p->dst_offset + (maps - 1) * p->dst_head_stride + lines * p->dst_stride + 3;
    }
}

static uint64_t norm_rope_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_norm_rope_params *p = &shape->params.norm_rope;
    const uint64_t row = (uint64_t)p->heads * p->head_dim;

    switch (bind) {
    case 1:
        return p->head_dim;
    case 2:
        return (uint64_t)p->tokens * p->head_dim;
    case 3:
        return shape->in_place ? p->tokens * row : ((uint64_t)p->y_row + p->tokens + 1) * row;
    default:
        return p->tokens * row;
    }
}

static uint64_t rope_heads_elements(const hg_shape *shape, uint32_t bind)
{
    const struct hg_rope_heads_params *p = &shape->params.rope_heads;
    const uint64_t row = (uint64_t)p->heads * p->head_dim;

    switch (bind) {
    case 0:
        return (uint64_t)p->tokens * p->x_stride + p->x_offset;
    case 1:
        return p->head_dim;
    case 2:
        return (uint64_t)p->tokens * p->head_dim;
    case 3:
        return ((uint64_t)p->y_row + p->tokens + 1) * row;
    default:
        return at_least_one(((uint64_t)p->copy_row + p->tokens + 1) * p->heads * p->copy_dim);
    }
}

uint64_t hg_shape_bind_elements(const hg_shape *shape, uint32_t bind)
{
    const hg_params *p = &shape->params;

    switch (shape->kernel) {
    case HG_KERNEL_embed_rows:
        return bind == 0   ? p->embed_rows.tokens
               : bind == 1 ? p->embed_rows.w_offset +
                                 (uint64_t)p->embed_rows.row_count * p->embed_rows.hidden
                           : (uint64_t)p->embed_rows.tokens * p->embed_rows.hidden;
    case HG_KERNEL_rms_norm:
        return bind == 1 ? p->rms_norm.dim : (uint64_t)p->rms_norm.rows * p->rms_norm.dim;
    case HG_KERNEL_matmul:
    case HG_KERNEL_matvec:
        return product_elements(shape, bind);
    case HG_KERNEL_split_q_gate: {
        const uint64_t heads = (uint64_t)p->split_q_gate.tokens * p->split_q_gate.heads;
        const uint64_t q = heads * p->split_q_gate.head_dim;
        const uint64_t z = heads * p->split_q_gate.gate_dim;

        return bind == 0 ? q + z : bind == 1 ? q : at_least_one(z);
    }
    case HG_KERNEL_norm_rope:
        return norm_rope_elements(shape, bind);
    case HG_KERNEL_rope_heads:
        return rope_heads_elements(shape, bind);
    case HG_KERNEL_attention:
        return attention_elements(shape, bind);
    case HG_KERNEL_attention_slice:
        return attention_slice_elements(shape, bind);
    case HG_KERNEL_attention_merge:
        return attention_merge_elements(shape, bind);
    case HG_KERNEL_attn_probs:
        return attn_probs_elements(shape, bind);
    case HG_KERNEL_silu_mul:
        return bind == 2 ? (uint64_t)p->silu_mul.rows * p->silu_mul.cols
                         : (uint64_t)p->silu_mul.rows * p->silu_mul.stride + p->silu_mul.b_offset;
    case HG_KERNEL_add:
        return p->add.count;
    case HG_KERNEL_reduce_rows:
        return (uint64_t)p->reduce_rows.rows * (bind == 0 ? p->reduce_rows.stride : 4);
    case HG_KERNEL_probe: {
        static const uint32_t per_row[] = {8, 2, 29, 2};

        return (uint64_t)p->probe.count * per_row[bind];
    }
    case HG_KERNEL_ceiling_read:
        return (uint64_t)p->ceiling_read.rows * (bind == 0 ? p->ceiling_read.turns : 1) * 128;
    case HG_KERNEL_ceiling_copy:
        return (uint64_t)p->ceiling_copy.rows * p->ceiling_copy.turns * 128;
    case HG_KERNEL_ceiling_mac:
        return (uint64_t)p->ceiling_mac.rows * 128;
    case HG_KERNEL_COUNT:
        break;
    }
    return 0;
}

/* Rows and row length of the w binding; 0 rows: the kernel has none. */
static uint64_t weight_rows(const hg_shape *shape, uint64_t *k)
{
    const hg_params *p = &shape->params;

    *k = 1;
    switch (shape->kernel) {
    case HG_KERNEL_embed_rows:
        *k = p->embed_rows.hidden;
        return p->embed_rows.w_offset / *k + p->embed_rows.row_count;
    case HG_KERNEL_matmul:
        *k = p->matmul.k;
        return p->matmul.w_offset / *k + p->matmul.cols;
    case HG_KERNEL_matvec:
        *k = p->matvec.k;
        return p->matvec.w_offset / *k + p->matvec.cols;
    default:
        return 0;
    }
}

static uint64_t weight_offset(const hg_shape *shape)
{
    switch (shape->kernel) {
    case HG_KERNEL_embed_rows:
        return shape->params.embed_rows.w_offset;
    case HG_KERNEL_matmul:
        return shape->params.matmul.w_offset;
    case HG_KERNEL_matvec:
        return shape->params.matvec.w_offset;
    default:
        return 0;
    }
}

static int is_weight(const hg_shape *shape, uint32_t bind)
{
    return hg_kernels[shape->kernel].bind[bind].type == HG_BIND_w;
}

int hg_shape_is_input(const hg_shape *shape, uint32_t bind)
{
    if (hg_kernels[shape->kernel].bind[bind].access == HG_ACCESS_R)
        return 1;
    return bind == 3 && ((shape->kernel == HG_KERNEL_matmul && (shape->params.matmul.flags & 2u)) ||
                         (shape->kernel == HG_KERNEL_matvec && (shape->params.matvec.flags & 2u)));
}

int hg_shape_applies(const hg_shape *shape, hg_dtype dtype)
{
    uint64_t k;
    const uint64_t rows = weight_rows(shape, &k);

    /* A matrix in panels begins with a panel. */
    return !hg_dtype_is_panel(dtype) ||
           (hg_shape_bind_elements(shape, 1) == rows * k && weight_offset(shape) % (32 * k) == 0);
}

uint64_t hg_shape_bytes(const hg_shape *shape, uint32_t bind, hg_dtype dtype)
{
    uint64_t count = hg_shape_bind_elements(shape, bind);
    uint64_t k;

    if (!is_weight(shape, bind))
        return count * 4;
    if (hg_dtype_is_panel(dtype)) {
        const uint64_t rows = weight_rows(shape, &k);

        count = hg_panel_elements(dtype, rows, k);
    }
    return (count * hg_dtype_bytes(dtype) + 3) / 4 * 4;
}

/* ---- values ---- */

/* splitmix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* In [-1, 1). */
static double uniform(uint64_t *state)
{
    return (double)(next(state) >> 11) * 0x1p-52 - 1.0;
}

/* Near enough to a Gaussian of deviation 1. */
static double normal(uint64_t *state)
{
    double sum = 0;

    for (int i = 0; i < 6; i++)
        sum += uniform(state);
    return sum * 0.70710678118654752;
}

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float nasty(uint64_t *state)
{
    static const float values[] = {
        0.0f,   -0.0f, 0x1p-50f, -0x1p-50f, 0x1.fffffep-51f, 1e-40f,    -1e-45f,  1e-12f,
        6e4f,   -6e4f, 1.0f,     1.0f,      -1.0f,           120.0f,    -120.0f,  -88.8f,
        -34.0f, 34.0f, 1e-30f,   1e4f,      -1e-7f,          0x1p-126f, 0x1p-64f, 0.5f};
    const uint64_t pick = next(state);

    if (pick % 3 == 0)
        return values[(pick >> 8) % (sizeof(values) / sizeof(values[0]))];
    return (float)normal(state);
}

/* width: elements of a row, for rows of very different scale. */
static float value(hg_fill fill, uint64_t i, uint64_t width, uint64_t *state)
{
    switch (fill) {
    case HG_FILL_NORMAL:
        return (float)normal(state);
    case HG_FILL_NASTY:
        return nasty(state);
    case HG_FILL_LARGE:
        return (float)(uniform(state) * 6e4);
    case HG_FILL_HUGE:
        return (float)ldexp(normal(state), 6 * (int)(i / width % 23) - 66);
    case HG_FILL_EDGE: /* 2^-50 and a little more, either sign */
        return of_bits(0x26800000u + (uint32_t)(next(state) >> 42) % 0x1800000u +
                       ((uint32_t)(next(state) >> 32) & 0x80000000u));
    case HG_FILL_EQUAL:
        return 1.0f;
    case HG_FILL_ZERO:
        break;
    }
    return 0.0f;
}

static void fill_weights(const hg_shape *shape, hg_dtype type, uint64_t count, uint64_t *state,
                         void *out)
{
    const hg_dtype dtype = hg_dtype_element(type);
    uint8_t *bytes = out;
    uint64_t k;

    (void)weight_rows(shape, &k);
    if (hg_dtype_is_panel(type))
        memset(out, 0, (size_t)hg_shape_bytes(shape, 1, type));
    for (uint64_t n = 0; n < count; n++) {
        const float x = value(shape->fill, n, 1, state);
        const uint64_t pick = next(state);
        const uint64_t i = hg_dtype_is_panel(type) ? hg_panel_index(type, k, n / k, n % k) : n;
        uint32_t bits;
        uint16_t half;

        memcpy(&bits, &x, sizeof(bits));
        if (dtype == HG_DTYPE_F32) {
            memcpy(bytes + i * 4, &bits, sizeof(bits));
            continue;
        }
        half = (uint16_t)(bits >> 16); /* bf16 */
        if (dtype == HG_DTYPE_F16) {
            /* A random half: about 1, or anything finite, denormals too. */
            const uint32_t exponent = shape->fill == HG_FILL_NORMAL
                                          ? 11 + (uint32_t)(pick >> 20) % 5
                                          : (uint32_t)(pick >> 20) % 31;

            half = (uint16_t)((pick & 0x83ffu) | exponent << 10);
            if (shape->fill == HG_FILL_ZERO || shape->fill == HG_FILL_EQUAL)
                half = shape->fill == HG_FILL_ZERO ? 0 : 0x3c00;
        }
        memcpy(bytes + i * 2, &half, sizeof(half));
    }
}

static void fill_ids(const hg_shape *shape, uint64_t *state, uint32_t *ids)
{
    const struct hg_embed_rows_params *p = &shape->params.embed_rows;

    /* Below, inside and above the block; the ends for sure. */
    for (uint32_t t = 0; t < p->tokens; t++)
        ids[t] = (uint32_t)(next(state) >> 32) % (p->row_first + p->row_count + 3);
    ids[0] = p->row_first + p->row_count - 1;
    if (p->tokens > 2) {
        ids[1] = p->row_first;
        ids[2] = p->row_first + p->row_count;
    }
}

static void fill_rows(const hg_shape *shape, uint32_t *rows)
{
    const uint32_t keys = keys_of_sequence(shape);

    for (uint32_t t = 0; t < tokens_of(shape); t++) {
        const uint32_t sequence = shape->rows == HG_ROWS_MANY ? t % SEQUENCES : 0;
        const uint32_t begin = ROWS_BEFORE + sequence * (keys + 1);

        rows[t * 4] = shape->start + (shape->rows == HG_ROWS_MANY ? t / SEQUENCES : t);
        rows[t * 4 + 1] = sequence;
        rows[t * 4 + 2] = begin;
        rows[t * 4 + 3] = shape->rows == HG_ROWS_MASKED && t % 3 == 1 ? begin : begin + keys;
    }
}

/* Pairs of cos and sin of any angles. */
static void fill_table(uint64_t pairs, uint64_t *state, float *table)
{
    for (uint64_t i = 0; i < pairs; i++) {
        const double c = uniform(state);

        table[i * 2] = (float)c;
        table[i * 2 + 1] = (float)(sqrt(1 - c * c) * (next(state) & 1 ? 1 : -1));
    }
}

/* Operands of probe: a b c d that show a tie, a fused product or a merged sum, then any; none whose
 * result could be denormal. */
static void fill_operands(uint64_t count, uint64_t *state, uint32_t *x)
{
    static const float shown[][4] = {
        {1.0f, 0x1p-24f, 0.75f, 7.5f},
        {0x1.000002p0f, 0x1p-24f, 1.0f, -7.5f},
        {-1.0f, -0x1p-24f, 3.0f, 16777215.0f},
        {-0x1.000002p0f, -0x1p-24f, -1.0f, -16777215.0f},
        {1.0f, -0x1p-25f, 0.3f, 0.99999994f},
        {0x1.fffffep-1f, -0x1p-25f, 5.0f, -0.99999994f},
        {16777218.0f, 1.0f, -16777218.0f, 8388607.5f},
        {-16777218.0f, -1.0f, -16777218.0f, -8388607.5f},
        {0x1.001p0f, 0x1.001p0f, -0x1.002p0f, 1.5f},
        {0x1.001p0f, 0x1.003p0f, -0x1.004002p0f, 2.5f},
        {-0x1.001p0f, 0x1.003p0f, 0x1.004p0f, 3.5f},
        {0x1.000002p0f, 0x1.fffffep-1f, -1.0f, 4.5f},
        {3.0f, 0x1.555556p-2f, -1.0f, 5.5f},
        {10.0f, 0x1.99999ap-4f, -1.0f, 6.5f},
        {0x1.921fb6p1f, 0x1.5bf0a8p1f, -0x1.114586p3f, 7.25f},
        {0.1f, 0.2f, -0.02f, 0.3f},
    };
    const uint64_t rows = sizeof(shown) / sizeof(shown[0]);

    for (uint64_t r = 0; r < count; r++) {
        float values[7];
        int exponent;
        uint32_t n;

        for (int i = 0; i < 4; i++)
            values[i] = r < rows ? shown[r][i] : (float)normal(state);
        values[4] = (float)(22.0 + uniform(state) * 55.5);
        exponent = (int)((next(state) >> 32) % 119) - 59; /* first: arguments have no order */
        values[5] = (float)ldexp(1.5 + uniform(state) * 0.499, exponent);
        values[6] = (float)(uniform(state) * 33.5);
        if (r % 3 == 1) /* near 0, where log and exp cancel */
            values[4] = values[4] * 0x1p-12f;
        if (r % 3 == 1)
            values[5] = 1.0f + (float)(uniform(state) * 0x1p-9);
        memcpy(x + r * 8, values, sizeof(values));
        n = (uint32_t)(next(state) >> 32);
        x[r * 8 + 7] = r == 0 ? 0x80000001u : r == 1 ? UINT32_MAX : n;
    }
}

/* Bits that pass through a device: zeros, denormals, the limits of both flushes and around them. */
static void fill_raw(uint64_t count, uint64_t *state, void *out)
{
    static const uint32_t bits[] = {
        0x00000000u, 0x80000000u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x807fffffu, 0x00800000u,
        0x26800000u, 0x267fffffu, 0xa6800000u, 0xa67fffffu, 0x0d800000u, 0x0d7fffffu, 0x8d7fffffu,
        0x8d800000u, 0x3f800000u, 0x7f7fffffu, 0xff7fffffu, 0x00400000u, 0x80012345u};
    uint8_t *to = out;

    for (uint64_t i = 0; i < count; i++) {
        const uint32_t known = sizeof(bits) / sizeof(bits[0]);
        /* Denormals of all sizes behind the known ones. */
        const uint32_t word = i / 2 < known ? bits[(i / 2 + i % 2 * 7) % known]
                                            : (uint32_t)(next(state) >> 32) & 0x807fffffu;

        memcpy(to + i * 4, &word, sizeof(word));
    }
}

void hg_shape_fill(const hg_shape *shape, uint32_t bind, hg_dtype dtype, void *out)
{
    const uint64_t count = hg_shape_bind_elements(shape, bind);
    const hg_bind_row *row = &hg_kernels[shape->kernel].bind[bind];
    uint64_t state = (uint64_t)(shape - hg_shapes) * 64 + bind;
    uint64_t width = 1;
    hg_fill fill = shape->fill;
    float *values = out;

    if (row->type == HG_BIND_w) {
        fill_weights(shape, dtype, count, &state, out);
        return;
    }
    if (shape->kernel == HG_KERNEL_probe) {
        if (bind == 0)
            fill_operands(shape->params.probe.count, &state, out);
        else
            fill_raw(count, &state, out);
        return;
    }
    if (row->type == HG_BIND_u32) {
        if (shape->kernel == HG_KERNEL_embed_rows)
            fill_ids(shape, &state, out);
        else
            fill_rows(shape, out);
        return;
    }
    if ((shape->kernel == HG_KERNEL_norm_rope || shape->kernel == HG_KERNEL_rope_heads) &&
        bind == 2) {
        fill_table(count / 2, &state, values);
        return;
    }
    if (shape->kernel == HG_KERNEL_rms_norm)
        width = shape->params.rms_norm.dim;
    if (shape->kernel == HG_KERNEL_norm_rope)
        width = shape->params.norm_rope.head_dim;
    if (shape->kernel == HG_KERNEL_rope_heads)
        width = shape->params.rope_heads.head_dim;
    if (fill == HG_FILL_HUGE && bind != 0)
        fill = HG_FILL_NORMAL;
    for (uint64_t i = 0; i < count; i++)
        values[i] = value(fill, i, width, &state);
}

/* Marks as attention_slice makes them: no sum below 1, every fifth slice without a key, of one item
 * all. */
static void finish_marks(const struct hg_attention_merge_params *p, float *part, float *marks)
{
    const uint64_t count = (uint64_t)p->tokens * p->heads;

    for (uint64_t i = 0; i < count * p->slices; i++) {
        marks[i * 2 + 1] = fabsf(marks[i * 2 + 1]);
        if (i % 5 != 3 && i % count != 1)
            continue;
        marks[i * 2] = -1e30f;
        marks[i * 2 + 1] = 0.0f;
        memset(part + i * p->head_dim, 0, p->head_dim * sizeof(*part));
    }
}

void hg_shape_finish(const hg_shape *shape, void *const *bind)
{
    const struct hg_attn_probs_params *p = &shape->params.attn_probs;
    const uint64_t stride = (uint64_t)p->kv_heads * p->head_dim;
    float *stats = bind[2];

    if (shape->kernel == HG_KERNEL_attention_merge)
        finish_marks(&shape->params.attention_merge, bind[0], bind[1]);
    if (shape->kernel != HG_KERNEL_attn_probs)
        return;
    for (uint64_t item = 0; item < (uint64_t)tokens_of(shape) * p->heads; item++) {
        const uint64_t head = item % p->heads;
        const hg_ref_keys keys = hg_ref_visible(bind[3], item / p->heads, p->window);
        const float *q = (const float *)bind[0] + item * p->head_dim;
        const float *k = (const float *)bind[1] + keys.first * stride +
                         head / (p->heads / p->kv_heads) * p->head_dim;
        double top = -1e30;
        double mass = 0;
        double size;

        for (uint64_t j = keys.low; j < keys.limit; j++)
            top = fmax(top, hg_ref_score(q, k + j * stride, p->head_dim, p->scale, &size));
        for (uint64_t j = keys.low; j < keys.limit; j++)
            mass += exp(hg_ref_score(q, k + j * stride, p->head_dim, p->scale, &size) - top);
        stats[item * 2] = (float)top;
        stats[item * 2 + 1] = mass > 0 ? (float)log(mass) : 0.0f;
    }
}

void hg_shape_flush(hg_dtype type, void *values, uint64_t count)
{
    const hg_dtype dtype = hg_dtype_element(type);
    uint8_t *bytes = values;

    for (uint64_t i = 0; i < count; i++) {
        uint32_t word = 0;
        uint16_t half = 0;

        if (dtype == HG_DTYPE_F32) {
            memcpy(&word, bytes + i * 4, sizeof(word));
            if ((word & 0x7fffffffu) < 0x26800000u)
                memset(bytes + i * 4, 0, sizeof(word));
            continue;
        }
        memcpy(&half, bytes + i * 2, sizeof(half));
        /* The smallest half is 2^-24: only its -0 is not +0. */
        if ((half & 0x7fffu) < (dtype == HG_DTYPE_BF16 ? 0x2680u : 1u))
            memset(bytes + i * 2, 0, sizeof(half));
    }
}
