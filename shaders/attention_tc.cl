/* SPDX-License-Identifier: MIT */
/*
 * One work-item owns the heads of one KV group for a few tokens, at most ROWS rows of queries at a time. Keys come in
 * blocks of 64 from position 0, as in attention.comp; a block is turned on its side once (keys side by side) and used
 * by every row. Scores have the bits of attention.comp's (product and sum rounded apart), so that attn_probs meets
 * the statistics that are left here. Online softmax; the running output is kept in y.
 */
#include "page.h"
#include "vector.h"
#define KEYS 64u
#define NV (64 / V)
/* Rows of a tile: 4 x 4 sums fit 32 registers, 2 x 4 fit 16. */
#define QR (V / 4)

typedef struct block_rows {
    uint count;
    uint item[ROWS];             /* token * heads + head */
    uint low[ROWS], limit[ROWS]; /* keys that the row sees */
    uint begin[ROWS], end[ROWS]; /* the same inside the block */
    float top[ROWS], mass[ROWS], fade[ROWS];
    float score[ROWS][KEYS];
} block_rows;

#if V == 16
#define LACE(a, b, p)                                                                              \
    (float16)(a.p.s0, b.p.s0, a.p.s1, b.p.s1, a.p.s2, b.p.s2, a.p.s3, b.p.s3, a.p.s4, b.p.s4,      \
              a.p.s5, b.p.s5, a.p.s6, b.p.s6, a.p.s7, b.p.s7)
#define ROUNDS 4
#else
#define LACE(a, b, p) (float8)(a.p.s0, b.p.s0, a.p.s1, b.p.s1, a.p.s2, b.p.s2, a.p.s3, b.p.s3)
#define ROUNDS 3
#endif

/* V keys x V elements turned: lacing row i with row i + V / 2, log2(V) times. */
static void turn_tile(__global const float *k, const uint *from, uint d, float (*turned)[KEYS],
                      uint j)
{
    VF a[V], b[V];

    UNROLL_CL for (uint i = 0u; i < V; i++)
        a[i] = VLOAD(0, k + from[i] + d);
    UNROLL_CL for (uint round = 0u; round < ROUNDS; round++) {
        UNROLL_CL for (uint i = 0u; i < V / 2; i++) {
            b[2u * i] = LACE(a[i], a[i + V / 2], lo);
            b[2u * i + 1u] = LACE(a[i], a[i + V / 2], hi);
        }
        UNROLL_CL for (uint i = 0u; i < V; i++)
            a[i] = b[i];
    }
    UNROLL_CL for (uint i = 0u; i < V; i++)
        VSTORE(a[i], 0, &turned[i][j]);
}

/* Elements [d, d + count) of the block's keys, keys side by side. Keys past the last repeat it. */
static void turn_block(__global const float *k, uint first, uint stride, uint keys, uint d,
                       uint count, float (*turned)[KEYS])
{
    for (uint j = 0u; j < KEYS; j += V) {
        uint from[V];
        uint i = 0u;

        for (uint c = 0u; c < V; c++)
            from[c] = first + min(j + c, keys - 1u) * stride;
        for (; i + V <= count; i += V)
            turn_tile(k, from, d + i, turned + i, j);
        for (; i < count; i++) {
            for (uint c = 0u; c < V; c++)
                turned[i][j + c] = k[from[c] + d + i];
        }
    }
}

/* score[row][key] += q . k over the elements of the turned block, in the order of D1. */
static void score_turned(__global const float *q, uint head_dim, uint d, uint count,
                         const float (*turned)[KEYS], block_rows *b)
{
    for (uint row = 0u; row < b->count; row += QR) {
        for (uint c = 0u; c < NV; c += 4u) {
            __global const float *from[QR];
            VF acc[QR][4];

            UNROLL_CL for (uint r = 0u; r < QR; r++) {
                from[r] = q + b->item[min(row + r, b->count - 1u)] * head_dim + d;
                UNROLL_CL for (uint n = 0u; n < 4u; n++)
                    acc[r][n] = 0.0f;
            }
            for (uint i = 0u; i < count; i++) {
                VF key[4];

                UNROLL_CL for (uint n = 0u; n < 4u; n++)
                    key[n] = VLOAD(c + n, turned[i]);
                UNROLL_CL for (uint r = 0u; r < QR; r++) {
                    float value = from[r][i];

                    UNROLL_CL for (uint n = 0u; n < 4u; n++)
                        acc[r][n] = acc[r][n] + value * key[n];
                }
            }
            UNROLL_CL for (uint r = 0u; r < QR; r++) {
                if (row + r < b->count) {
                    float *to = b->score[row + r];

                    UNROLL_CL for (uint n = 0u; n < 4u; n++)
                        VSTORE(d ? VLOAD(c + n, to) + acc[r][n] : acc[r][n], c + n, to);
                }
            }
        }
    }
}

/* Scores to weights: p = exp(s - top), 0 where the row does not look. */
static void soften(block_rows *b, uint r, uint block, float scale)
{
    float *score = b->score[r];
    VF peaks = -1.0e30f, sums = 0.0f;
    float peak;

    b->begin[r] = min(max(b->low[r], block) - block, KEYS);
    b->end[r] = min(max(b->limit[r], block) - block, KEYS);
    b->fade[r] = 1.0f;
    if (b->begin[r] >= b->end[r])
        return;
    for (uint j = 0u; j < b->begin[r]; j++)
        score[j] = -INFINITY;
    for (uint j = b->end[r]; j < KEYS; j++)
        score[j] = -INFINITY;
    UNROLL_CL for (uint c = 0u; c < NV; c++)
        peaks = fmax(peaks, VLOAD(c, score) * scale);
    peak = fmax(b->top[r], hg_lanes_max(peaks));
    UNROLL_CL for (uint c = 0u; c < NV; c++) {
        VF e = exp(VLOAD(c, score) * scale - peak);

        sums += e;
        VSTORE(e, c, score);
    }
    b->fade[r] = exp(b->top[r] - peak);
    b->mass[r] = b->mass[r] * b->fade[r] + hg_lanes_sum(sums);
    b->top[r] = peak;
}

/* y rows [row, row + n): faded, and the values of keys [begin, end) by weight, over COUNT vectors. */
#define ADD_VALUES(name, N, COUNT)                                                                 \
    static void name(__global const float *v, __global float *y, uint stride, uint head_dim,       \
                     uint d, const uint *item, const float (*weight)[KEYS], const float *fade,     \
                     uint begin, uint end)                                                         \
    {                                                                                              \
        VF acc[N][COUNT];                                                                          \
                                                                                                   \
        UNROLL_CL for (uint r = 0u; r < N; r++) {                                                  \
            UNROLL_CL for (uint n = 0u; n < COUNT; n++)                                            \
                acc[r][n] = VLOAD(n, y + item[r] * head_dim + d) * fade[r];                        \
        }                                                                                          \
        for (uint j = begin; j < end; j++) {                                                       \
            VF value[COUNT];                                                                       \
                                                                                                   \
            UNROLL_CL for (uint n = 0u; n < COUNT; n++)                                            \
                value[n] = VLOAD(n, v + j * stride + d);                                           \
            UNROLL_CL for (uint r = 0u; r < N; r++) {                                              \
                float p = weight[r][j];                                                            \
                                                                                                   \
                UNROLL_CL for (uint n = 0u; n < COUNT; n++)                                        \
                    acc[r][n] = fma((VF)(p), value[n], acc[r][n]);                                 \
            }                                                                                      \
        }                                                                                          \
        UNROLL_CL for (uint r = 0u; r < N; r++) {                                                  \
            UNROLL_CL for (uint n = 0u; n < COUNT; n++)                                            \
                VSTORE(acc[r][n], n, y + item[r] * head_dim + d);                                  \
        }                                                                                          \
    }
ADD_VALUES(add_tile, QR, 4)
ADD_VALUES(add_column, QR, 1)
ADD_VALUES(add_row_tile, 1, 4)
ADD_VALUES(add_row, 1, 1)

static void add_rest(__global const float *v, __global float *y, uint stride, uint head_dim, uint d,
                     uint item, const float *weight, float fade, uint begin, uint end)
{
    for (; d < head_dim; d++) {
        float sum = y[item * head_dim + d] * fade;

        for (uint j = begin; j < end; j++)
            sum = fma(weight[j], v[j * stride + d], sum);
        y[item * head_dim + d] = sum;
    }
}

static void add_one(__global const float *v, __global float *y, uint stride, uint head_dim,
                    const block_rows *b, uint r, float fade, uint begin, uint end)
{
    uint d = 0u;

    if (begin >= end && fade == 1.0f)
        return;
    for (; d + 4u * V <= head_dim; d += 4u * V)
        add_row_tile(v, y, stride, head_dim, d, b->item + r, b->score + r, &fade, begin, end);
    for (; d + V <= head_dim; d += V)
        add_row(v, y, stride, head_dim, d, b->item + r, b->score + r, &fade, begin, end);
    add_rest(v, y, stride, head_dim, d, b->item[r], b->score[r], fade, begin, end);
}

/* Keys that all rows of a tile see are added together; the few others row by row, since a value that a
 * row does not see may be anything. */
static void add_values(__global const float *v, __global float *y, uint stride, uint head_dim,
                       const block_rows *b)
{
    uint row = 0u;

    for (; row + QR <= b->count; row += QR) {
        uint begin = 0u, end = KEYS, d = 0u;

        for (uint r = row; r < row + QR; r++) {
            begin = max(begin, b->begin[r]);
            end = min(end, b->end[r]);
        }
        if (begin >= end) {
            for (uint r = row; r < row + QR; r++)
                add_one(v, y, stride, head_dim, b, r, b->fade[r], b->begin[r], b->end[r]);
            continue;
        }
        for (; d + 4u * V <= head_dim; d += 4u * V)
            add_tile(v, y, stride, head_dim, d, b->item + row, b->score + row, b->fade + row, begin,
                     end);
        for (; d + V <= head_dim; d += V)
            add_column(v, y, stride, head_dim, d, b->item + row, b->score + row, b->fade + row,
                       begin, end);
        for (uint r = row; r < row + QR; r++) {
            add_rest(v, y, stride, head_dim, d, b->item[r], b->score[r], b->fade[r], begin, end);
            add_one(v, y, stride, head_dim, b, r, 1.0f, b->begin[r], begin);
            add_one(v, y, stride, head_dim, b, r, 1.0f, end, b->end[r]);
        }
    }
    for (; row < b->count; row++)
        add_one(v, y, stride, head_dim, b, row, b->fade[row], b->begin[row], b->end[row]);
}

#include "row.def"
{
    uint share = P.heads / P.kv_heads;
    uint tokens = share >= ROWS ? 1u : ROWS / share;
    uint group = INVOCATION % P.kv_heads;
    uint token_first = INVOCATION / P.kv_heads * tokens;
    uint token_end = min(token_first + tokens, P.tokens);
    uint stride = P.kv_heads * P.head_dim;
    float turned[KEYS][KEYS];
    block_rows b;

    for (uint token = token_first; token < token_end;) {
        uint first_row = rows[token * 4u + 2u];
        uint next = token + 1u;

        /* Tokens of one sequence have the same keys. */
        while (next < token_end && rows[next * 4u + 2u] == first_row)
            next++;
        for (uint done = 0u; done < (next - token) * share; done += ROWS) {
            uint from = first_row * stride + group * P.head_dim;
            uint low = 0xffffffffu, limit = 0u;

            b.count = min((uint)ROWS, (next - token) * share - done);
            for (uint r = 0u; r < b.count; r++) {
                uint t = token + (done + r) / share;
                uint seen = rows[t * 4u] + 1u;
                uint held = max(rows[t * 4u + 3u], first_row) - first_row;

                b.item[r] = t * P.heads + group * share + (done + r) % share;
                b.limit[r] = min(seen, held);
                b.low[r] = P.window != 0u && seen > P.window ? seen - P.window : 0u;
                b.top[r] = -1.0e30f;
                b.mass[r] = 0.0f;
                if (b.low[r] < b.limit[r]) {
                    low = min(low, b.low[r]);
                    limit = max(limit, b.limit[r]);
                }
                for (uint i = 0u; i < P.head_dim; i++)
                    y[b.item[r] * P.head_dim + i] = 0.0f;
            }
            for (uint block = low & ~63u; block < limit; block += KEYS) {
                uint keys = min(KEYS, limit - block);
                uint at = from + block * stride;

                for (uint d = 0u; d < P.head_dim; d += KEYS) {
                    uint count = min(KEYS, P.head_dim - d);

                    turn_block(k, at, stride, keys, d, count, turned);
                    score_turned(q, P.head_dim, d, count, turned, &b);
                }
                for (uint r = 0u; r < b.count; r++)
                    soften(&b, r, block, P.scale);
                add_values(v + at, y, stride, P.head_dim, &b);
            }
            for (uint r = 0u; r < b.count; r++) {
                uint head = b.item[r] % P.heads;
                uint mask = head < 32u ? P.head_mask0 : (head < 64u ? P.head_mask1 : (head < 96u ? P.head_mask2 : P.head_mask3));
                bool dark = head < 128u && ((mask >> (head & 31u)) & 1u) != 0u;
                float inverse = b.low[r] < b.limit[r] ? 1.0f / b.mass[r] : 0.0f;
                float lse = b.low[r] < b.limit[r] ? log(b.mass[r]) : 0.0f;
                float open = P.gate == 2u ? P.gate_const : 1.0f;
                __global float *out = y + b.item[r] * P.head_dim;

                stats[b.item[r] * 2u] = ST(b.top[r]);
                stats[b.item[r] * 2u + 1u] = ST(lse);
                if (dark)
                    inverse = 0.0f;
                for (uint i = 0u; i < P.head_dim; i++) {
                    if (i < P.gate_dim && (P.gate == 1u || (P.flags & 1u) != 0u)) {
                        float gate = 1.0f / (1.0f + exp(-z[b.item[r] * P.gate_dim + i]));

                        gate = ST(gate);
                        if ((P.flags & 1u) != 0u)
                            gates[b.item[r] * P.gate_dim + i] = gate;
                        if (P.gate == 1u)
                            open = gate;
                    }
                    float value = out[i] * inverse * open;

                    out[i] = dark ? 0.0f : ST(value);
                }
            }
        }
        token = next;
    }
}
