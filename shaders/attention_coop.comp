/* SPDX-License-Identifier: MIT */
/*
 * attention for many tokens, its second product with cooperative matrices (tier T2). A work-group owns ROWS tokens of
 * one head and goes through their keys in blocks of 64. Scores are computed by each invocation for 4 x 4 pairs in T0's
 * order, with T0's bits: attn_probs computes them again, and where they are in the hundreds no other sum goes with
 * its own. Probabilities and v are float16 in two parts, v lifted by a power of two per column of a block; the second part
 * is 2048 times what the first leaves, since a value of v may be far below those of keys that the row does not see. The
 * product of two second parts is left out: float32 would not keep it. The running output stays in y, added to by the
 * invocation that owns the element, so no size of head is too large. Tokens of a tile may belong to several sequences:
 * their keys are gone through one sequence after the other, and rows of other sequences stay as they are.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require

#include "page.h"
#include "function.h"

layout(constant_id = 0) const uint ROWS = 32;
layout(constant_id = 1) const uint M = 16;
layout(constant_id = 2) const uint N = 16;
layout(constant_id = 3) const uint K = 16;
layout(constant_id = 4) const uint WIDTH = 32;

const uint PARTS = 2u;
const uint KEYS = 64u;  /* of a block */
const uint DIMS = 64u;  /* of the output at a time */
const uint STRIP = 16u; /* elements of q and k in shared memory at a time */
const uint STEP = 32u;  /* rows of v likewise */
const uint PITCH = KEYS / 2u + 4u;        /* in pairs, of probabilities and v: rows start at multiples of 16 bytes */
const uint Q_PITCH = ROWS + 1u;           /* of an element of q and k in all rows */
const uint K_PITCH = KEYS + 1u;
const uint SIDE = 16u;                    /* invocations side by side along the keys of a tile of scores */
const uint DOWN_SHARE = ROWS / (THREADS / SIDE);
const uint ACROSS_SHARE = KEYS / SIDE;
const uint SUBGROUPS = THREADS / WIDTH;
const uint DOWN = ROWS / M;
const uint SHARE = DOWN * (DIMS / N) / SUBGROUPS; /* matrices of a subgroup */
const uint LANES = THREADS / ROWS;                /* invocations that share a row's softmax */

shared f16vec2 p_parts[PARTS * ROWS * PITCH];
shared f16vec2 v_parts[PARTS * STEP * PITCH];
shared float box[ROWS * KEYS]; /* strips of q and k, then scores, then sums of the product */
shared uint peak[DIMS];
shared uint lift[DIMS];
shared uint from[ROWS], low[ROWS], limit[ROWS]; /* first row of the cache, keys low <= j < limit */
shared uint seen[ROWS];                         /* 1: y holds something */
shared float fade[ROWS];
shared float inverse[ROWS];
shared float reduced[THREADS];

#define SUM coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>
#define LEFT coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>
#define RIGHT coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB>

/* As in matmul_coop.comp: to 11 bits, to the nearest, ties to even; nothing where float16 would have fewer (below 2^-14)
 * and another part follows, which has them. */
FN top_part(float value, bool is_last)
{
    uint bits = AU(value);
    uint rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;

    return AF(is_last || (bits & 0x7fffffffu) >= 0x38800000u ? rounded : 0u);
}

/* The power of two that brings a value of these bits to 2^14 and more, below 2^15, as bits; 1 / power of such bits. */
uint power_bits(uint bits)
{
    return (268u - hg_min(hg_max(bits >> 23, 67u), 254u)) << 23;
}

float one_by(uint power)
{
    return AF((254u << 23) - power);
}

uint size_bits(float value)
{
    return AU(value) & 0x7fffffffu;
}

/* Two values of a row as pairs of both parts, `apart` from one to the other. */
#define PUT_PARTS(array, at, apart, pair)                                                                \
    {                                                                                                    \
        vec2 rest_ = (pair);                                                                             \
        vec2 top_ = vec2(top_part(rest_.x, false), top_part(rest_.y, false));                            \
        array[at] = f16vec2(top_);                                                                       \
        rest_ = (rest_ - top_) * 2048.0; /* exact */                                                     \
        array[(apart) + (at)] = f16vec2(vec2(top_part(rest_.x, true), top_part(rest_.y, true)));         \
    }

#include "row.def"
{
    uint thread = gl_LocalInvocationID.x;
    uint subgroup = gl_SubgroupID;
    uint group = INVOCATION / THREADS;
    uint head = group % P.heads;
    uint first = group / P.heads * ROWS;
    if (first >= P.tokens)
        return;
    uint stride = P.kv_heads * P.head_dim;
    uint kv_head = head / (P.heads / P.kv_heads) * P.head_dim;
    uint own_row = thread / LANES; /* in the softmax */
    uint own_lane = thread % LANES;
    uint score_row = thread / SIDE * DOWN_SHARE; /* of this invocation's scores */
    uint score_key = thread % SIDE;              /* and every SIDE keys */
    F top = -1.0e30f;
    F mass = 0.0f;
    SUM sums[SHARE];
    SUM small[SHARE]; /* of products with a second part */

    for (uint r = thread; r < ROWS; r += THREADS) {
        uint token = hg_min(first + r, P.tokens - 1u);
        uint past = rows[token * 4u] + 1u;
        uint begin = rows[token * 4u + 2u];

        from[r] = begin;
        limit[r] = first + r < P.tokens ? hg_min(past, hg_max(rows[token * 4u + 3u], begin) - begin) : 0u;
        low[r] = P.window != 0u && past > P.window ? past - P.window : 0u;
        seen[r] = 0u;
        inverse[r] = 0.0f;
    }
    barrier();

    /* One sequence after the other; every invocation counts alike. */
    uint done = 0u;
    while (done < ROWS) {
        uint base = from[done];
        uint least = 0xffffffffu;
        uint most = 0u;
        bool known = false;

        for (uint r = 0u; r < done; r++)
            known = known || from[r] == base;
        for (uint r = done; r < ROWS && !known; r++) {
            if (from[r] == base && low[r] < limit[r]) {
                least = hg_min(least, low[r]);
                most = hg_max(most, limit[r]);
            }
        }
        done++;
        if (known || least >= most)
            continue;
        uint from_kv = base * stride + kv_head;
        for (uint block = least & ~63u; block < most; block += KEYS) {
            uint last = most - 1u; /* what is past it is never read */

            F total[DOWN_SHARE][ACROSS_SHARE];
            F part_sum[DOWN_SHARE][ACROSS_SHARE];
            [[unroll]] for (uint r = 0u; r < DOWN_SHARE; r++) {
                [[unroll]] for (uint c = 0u; c < ACROSS_SHARE; c++) {
                    total[r][c] = 0.0f;
                    part_sum[r][c] = 0.0f;
                }
            }
            for (uint dim = 0u; dim < P.head_dim; dim += STRIP) {
                barrier();
                for (uint e = thread; e < ROWS * STRIP; e += THREADS) {
                    uint d = dim + e % STRIP;
                    uint at = (hg_min(first + e / STRIP, P.tokens - 1u) * P.heads + head) * P.head_dim;
                    float value = q[at + hg_min(d, P.head_dim - 1u)];

                    box[e % STRIP * Q_PITCH + e / STRIP] = d < P.head_dim ? value : 0.0;
                }
                for (uint e = thread; e < KEYS * STRIP; e += THREADS) {
                    uint d = dim + e % STRIP;
                    uint at = from_kv + hg_min(block + e / STRIP, last) * stride;
                    float value = k[at + hg_min(d, P.head_dim - 1u)];

                    box[STRIP * Q_PITCH + e % STRIP * K_PITCH + e / STRIP] = d < P.head_dim ? value : 0.0;
                }
                barrier();
                for (uint d = 0u; d < STRIP; d++) {
                    F q_value[DOWN_SHARE];
                    F k_value[ACROSS_SHARE];

                    [[unroll]] for (uint r = 0u; r < DOWN_SHARE; r++)
                        q_value[r] = box[d * Q_PITCH + score_row + r];
                    [[unroll]] for (uint c = 0u; c < ACROSS_SHARE; c++)
                        k_value[c] = box[STRIP * Q_PITCH + d * K_PITCH + score_key + c * SIDE];
                    [[unroll]] for (uint r = 0u; r < DOWN_SHARE; r++) {
                        [[unroll]] for (uint c = 0u; c < ACROSS_SHARE; c++)
                            MAC(part_sum[r][c], q_value[r], k_value[c])
                    }
                }
                if ((dim + STRIP) % 64u == 0u || dim + STRIP >= P.head_dim) {
                    [[unroll]] for (uint r = 0u; r < DOWN_SHARE; r++) {
                        [[unroll]] for (uint c = 0u; c < ACROSS_SHARE; c++) {
                            total[r][c] = total[r][c] + part_sum[r][c];
                            part_sum[r][c] = 0.0f;
                        }
                    }
                }
            }
            barrier();
            [[unroll]] for (uint r = 0u; r < DOWN_SHARE; r++) {
                [[unroll]] for (uint c = 0u; c < ACROSS_SHARE; c++) {
                    F s = total[r][c] * P.scale;
                    box[(score_row + r) * KEYS + score_key + c * SIDE] = FLP(s);
                }
            }
            barrier();

            /* The softmax: LANES invocations a row, neighbours take neighbouring keys. */
            bool mine = from[own_row] == base;
            uint begin = hg_max(low[own_row], block);
            uint end = mine ? hg_min(limit[own_row], block + KEYS) : 0u;
            F peak_score = top;
            for (uint j = own_lane; j < KEYS; j += LANES) {
                F s = box[own_row * KEYS + j];
                if (block + j >= begin && block + j < end)
                    peak_score = s > peak_score ? s : peak_score;
            }
            reduced[thread] = peak_score;
            barrier();
            for (uint i = 0u; i < LANES; i++) {
                F other = reduced[own_row * LANES + i];
                peak_score = other > peak_score ? other : peak_score;
            }
            barrier();
            F part = 0.0f;
            for (uint j = own_lane * 2u; j < KEYS; j += LANES * 2u) {
                vec2 value = vec2(0.0);
                for (uint c = 0u; c < 2u; c++) {
                    if (block + j + c >= begin && block + j + c < end) {
                        F e = box[own_row * KEYS + j + c] - peak_score;
                        e = hg_exp(e);
                        part = part + e;
                        value[c] = e;
                    }
                }
                PUT_PARTS(p_parts, own_row * PITCH + j / 2u, ROWS * PITCH, value * 16384.0)
            }
            reduced[thread] = part;
            F past = top - peak_score;
            past = hg_exp(past);
            mass = mass * past;
            top = peak_score;
            if (own_lane == 0u)
                fade[own_row] = past;
            barrier();
            part = 0.0f;
            for (uint i = 0u; i < LANES; i++)
                part = part + reduced[own_row * LANES + i];
            mass = mass + part;

            /* The output, DIMS of it at a time. */
            for (uint dim = 0u; dim < P.head_dim; dim += DIMS) {
                barrier();
                for (uint d = thread; d < DIMS; d += THREADS)
                    peak[d] = 0u;
                barrier();
                for (uint e = thread; e < KEYS * DIMS; e += THREADS) {
                    uint d = dim + e % DIMS;
                    uint at = from_kv + hg_min(block + e / DIMS, last) * stride;

                    if (d < P.head_dim)
                        atomicMax(peak[e % DIMS], size_bits(v[at + d]));
                }
                barrier();
                for (uint d = thread; d < DIMS; d += THREADS)
                    lift[d] = power_bits(peak[d]);
                [[unroll]] for (uint i = 0u; i < SHARE; i++) {
                    sums[i] = SUM(0.0);
                    small[i] = SUM(0.0);
                }
                [[unroll]] for (uint half_block = 0u; half_block < KEYS; half_block += STEP) {
                    barrier();
                    for (uint e = thread; e < STEP * DIMS / 2u; e += THREADS) {
                        uint column = e % (DIMS / 2u);
                        uint j = e / (DIMS / 2u);
                        uint d = dim + column * 2u;
                        uint at = from_kv + hg_min(block + half_block + j, last) * stride;
                        vec2 value = vec2(v[at + hg_min(d, P.head_dim - 1u)], v[at + hg_min(d + 1u, P.head_dim - 1u)]);

                        value.x = d < P.head_dim ? value.x * AF(lift[column * 2u]) : 0.0;
                        value.y = d + 1u < P.head_dim ? value.y * AF(lift[column * 2u + 1u]) : 0.0;
                        PUT_PARTS(v_parts, j * PITCH + column, STEP * PITCH, value)
                    }
                    barrier();
                    [[unroll]] for (uint step = 0u; step < STEP; step += K) {
                        [[unroll]] for (uint i = 0u; i < SHARE; i++) {
                            uint matrix = subgroup * SHARE + i;
                            uint row = matrix % DOWN * M;
                            uint column = matrix / DOWN * N;

                            [[unroll]] for (uint a = 0u; a < PARTS; a++) {
                                LEFT x;
                                coopMatLoad(x, p_parts, (a * ROWS + row) * PITCH + (half_block + step) / 2u, PITCH,
                                            gl_CooperativeMatrixLayoutRowMajor);
                                [[unroll]] for (uint b = 0u; b < PARTS - a; b++) {
                                    RIGHT w;
                                    coopMatLoad(w, v_parts, (b * STEP + step) * PITCH + column / 2u, PITCH,
                                                gl_CooperativeMatrixLayoutRowMajor);
                                    if (a + b == 0u)
                                        sums[i] = coopMatMulAdd(x, w, sums[i]);
                                    else
                                        small[i] = coopMatMulAdd(x, w, small[i]);
                                }
                            }
                        }
                    }
                }
                [[unroll]] for (uint i = 0u; i < SHARE; i++) {
                    uint matrix = subgroup * SHARE + i;

                    sums[i] = sums[i] + small[i] * (1.0 / 2048.0);
                    coopMatStore(sums[i], box, matrix % DOWN * M * KEYS + matrix / DOWN * N, KEYS,
                                 gl_CooperativeMatrixLayoutRowMajor);
                }
                barrier();
                for (uint e = thread; e < ROWS * DIMS; e += THREADS) {
                    uint r = e / DIMS;
                    uint d = dim + e % DIMS;
                    bool has_keys = from[r] == base && hg_max(low[r], block) < hg_min(limit[r], block + KEYS);

                    if (has_keys && d < P.head_dim) {
                        uint at = ((first + r) * P.heads + head) * P.head_dim + d;
                        F sum = box[e] * 0.00006103515625f; /* 2^-14 */
                        sum = sum * one_by(lift[e % DIMS]);
                        /* Infinity or no number, perhaps of a key that this row does not see: 0 times it is none. */
                        if (peak[e % DIMS] >= 0x7f800000u) {
                            uint stop = hg_min(limit[r], block + KEYS);

                            sum = 0.0f;
                            for (uint j = hg_max(low[r], block); j < stop; j++) {
                                uint pair = r * PITCH + (j - block) / 2u;
                                F p = float(p_parts[ROWS * PITCH + pair][j & 1u]) * (1.0 / 2048.0);

                                p = float(p_parts[pair][j & 1u]) + p;
                                p = p * 0.00006103515625f;
                                MAC(sum, p, v[from_kv + j * stride + d])
                            }
                        }
                        if (seen[r] != 0u) {
                            F before = y[at] * fade[r];
                            sum = before + sum;
                        }
                        y[at] = ST(sum);
                    }
                }
            }
            barrier();
            if (own_lane == 0u && begin < end)
                seen[own_row] = 1u;
        }
    }

    /* The epilogue: 1 / mass, the gate, ablations. */
    if (own_lane == 0u) {
        bool any = low[own_row] < limit[own_row];
        F lse = 0.0f;
        if (any) {
            inverse[own_row] = hg_rcp(mass);
            lse = hg_log(mass);
        }
        if (first + own_row < P.tokens) {
            uint item = (first + own_row) * P.heads + head;
            stats[item * 2u] = ST(top);
            stats[item * 2u + 1u] = ST(lse);
        }
    }
    barrier();
    uint mask = head < 32u ? P.head_mask0 : (head < 64u ? P.head_mask1 : (head < 96u ? P.head_mask2 : P.head_mask3));
    bool dark = head < 128u && ((mask >> (head & 31u)) & 1u) != 0u;
    /* The same invocation as above owns an element. */
    for (uint dim = 0u; dim < P.head_dim; dim += DIMS) {
        for (uint e = thread; e < ROWS * DIMS; e += THREADS) {
            uint r = e / DIMS;
            uint d = dim + e % DIMS;
            uint item = (first + r) * P.heads + head;
            F open = P.gate == 2u ? P.gate_const : 1.0f;

            if (first + r >= P.tokens || d >= P.head_dim)
                continue;
            if (P.gate_dim != 0u && (P.gate == 1u || (P.flags & 1u) != 0u)) {
                uint of = hg_min(d, P.gate_dim - 1u);
                F gate = z[item * P.gate_dim + of];
                gate = hg_sigmoid(gate);
                if ((P.flags & 1u) != 0u && d < P.gate_dim)
                    gates[item * P.gate_dim + d] = ST(gate);
                if (P.gate == 1u)
                    open = gate;
            }
            F value = 0.0f;
            if (!dark && seen[r] != 0u) {
                value = y[item * P.head_dim + d];
                value = value * inverse[r];
                value = ST(value);
                value = value * open;
            }
            y[item * P.head_dim + d] = ST(value);
        }
    }
}
