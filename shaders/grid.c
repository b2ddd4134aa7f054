/* SPDX-License-Identifier: MIT */
/*
 * How many work-groups a dispatch has, by kernel: named in the grid column of kernels.def.
 * One-dimensional; the engine folds a count that a device cannot take. Saturates at UINT32_MAX,
 * which no device can take.
 */
#include "grid.h"

static uint64_t divide_up(uint64_t count, uint64_t by)
{
    return (count + by - 1) / by;
}

static void flat(uint64_t items, uint32_t threads, uint32_t groups[3])
{
    uint64_t count = divide_up(items, threads);

    groups[0] = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
    groups[1] = 1;
    groups[2] = 1;
}

/* name: what one invocation stands for; items: how many there are. */
#define GRID(name, kernel, items)                                                                  \
    void hg_grid_##name(const void *params, const uint32_t *spec, uint32_t threads,                \
                        uint32_t groups[3])                                                        \
    {                                                                                              \
        const struct hg_##kernel##_params *p = params;                                             \
        (void)spec;                                                                                \
        flat(items, threads, groups);                                                              \
    }

/* groups: how many, where a whole one has a task. */
#define GROUPS(name, kernel, count)                                                                \
    void hg_grid_##name(const void *params, const uint32_t *spec, uint32_t threads,                \
                        uint32_t groups[3])                                                        \
    {                                                                                              \
        const struct hg_##kernel##_params *p = params;                                             \
        (void)spec;                                                                                \
        (void)threads;                                                                             \
        flat(count, 1, groups);                                                                    \
    }

GRID(elements_embed_rows, embed_rows, (uint64_t)p->tokens * p->hidden)
GRID(rows_rms_norm, rms_norm, p->rows)
GRID(tiles_matmul, matmul, divide_up(p->rows, spec[0]) * divide_up(p->cols, spec[1]))
/* A work-group for each tile. */
GRID(groups_matmul, matmul, divide_up(p->rows, spec[0]) * divide_up(p->cols, spec[1]) * threads)
GRID(columns_matvec, matvec, divide_up(p->cols, spec[1] * spec[3]))
GRID(columns_matmul, matmul, divide_up(p->cols, spec[1] * spec[3]))
GRID(panels_matvec, matvec, p->rows *divide_up(divide_up(p->cols, 32), spec[0]))
GRID(panels_matmul, matmul,
     divide_up(p->rows, spec[0]) * divide_up(divide_up(p->cols, 32), spec[2]))
GRID(tiles_matvec, matvec, p->rows *divide_up(p->cols, spec[0]))
GRID(elements_split_q_gate, split_q_gate,
     (uint64_t)p->tokens * p->heads * ((uint64_t)p->head_dim + p->gate_dim))
GRID(rows_norm_rope, norm_rope, (uint64_t)p->tokens * p->heads)
GRID(rows_rope_heads, rope_heads, (uint64_t)p->tokens * p->heads)
GRID(tiles_attention, attention, divide_up(p->tokens, spec[0]) * p->heads * threads)
GRID(rows_attention, attention, (uint64_t)p->tokens * p->heads)
GRID(slices_attention_slice, attention_slice, (uint64_t)p->slices * p->tokens * p->heads)
GRID(tiles_attention_slice, attention_slice,
     (uint64_t)p->slices * p->tokens * p->kv_heads * divide_up(p->heads / p->kv_heads, spec[0]))
GRID(eights_attention_merge, attention_merge,
     (uint64_t)p->tokens * p->heads * divide_up(p->head_dim, 8))
GRID(elements_attention_merge, attention_merge, (uint64_t)p->tokens * p->heads * p->head_dim)
GRID(cells_attn_probs, attn_probs,
     (p->reduce ? 1 : p->h_count) * divide_up(p->q_count, p->pool_q) *
         divide_up(divide_up(p->k_count, p->pool_k), spec[0]))
GRID(row_tiles_rms_norm, rms_norm, divide_up(p->rows, spec[0]))
GRID(head_tiles_norm_rope, norm_rope, divide_up((uint64_t)p->tokens * p->heads, spec[0]))
GRID(head_tiles_rope_heads, rope_heads, divide_up((uint64_t)p->tokens * p->heads, spec[0]))
GRID(row_parts_silu_mul, silu_mul, (uint64_t)p->rows *divide_up(p->cols, spec[0]))
GRID(groups_attention, attention,
     p->kv_heads *divide_up(p->tokens, p->heads / p->kv_heads >= spec[0]
                                           ? 1
                                           : spec[0] / (p->heads / p->kv_heads)))
GRID(elements_silu_mul, silu_mul, (uint64_t)p->rows * p->cols)
GRID(elements_add, add, p->count)
GRID(rows_reduce_rows, reduce_rows, p->rows)
GRID(rows_probe, probe, p->count)
GRID(columns_ceiling_read, ceiling_read, p->rows *divide_up(128, spec[0]))
GRID(columns_ceiling_copy, ceiling_copy, p->rows *divide_up(128, spec[0]))
GRID(columns_ceiling_mac, ceiling_mac, p->rows *divide_up(128, spec[0]))
GROUPS(groups_rms_norm, rms_norm, divide_up(p->rows, spec[0]))
GROUPS(groups_matvec, matvec, p->rows *divide_up(p->cols, spec[0]))
GROUPS(groups_norm_rope, norm_rope, divide_up((uint64_t)p->tokens * p->heads, spec[0]))
GROUPS(groups_rope_heads, rope_heads, divide_up((uint64_t)p->tokens * p->heads, spec[0]))
GROUPS(groups_reduce_rows, reduce_rows, divide_up(p->rows, spec[0]))
GROUPS(groups_attention_slice, attention_slice, (uint64_t)p->slices * p->tokens * p->heads)
