/* SPDX-License-Identifier: MIT */
/*
 * matmul with cooperative matrices (tier T2), in charge of keeping float32's fidelity with operands of 16 bits.
 * A work-group computes ROWS x COLS outputs. Per 32 elements of K it puts both operands into shared memory as
 * float16: a row of x as PARTS numbers that add up to it (1: 11 bits, 2: 22, 3: all 24), each row and each bfloat16 row
 * of w lifted by a power of two so that its largest value so far is about 2^12. Then neither the range of float16
 * nor its denormals matter: what is lost is below 2^-36 of the largest value. When a larger value comes, the sums
 * so far are brought to the new power. Sums over 256 elements of K are added up outside of the matrix units, some
 * of which truncate. Elements past an edge are zeros and are never read.
 *
 * ROWS, COLS, M, N, K (of one matrix product), WIDTH (of a subgroup) and PARTS are specialization constants:
 * engine/plan.c sets them, and refuses those that do not divide each other. Vulkan alone; see README.md for the words.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require

#include "page.h"
#include "weight.h"

layout(constant_id = 0) const uint ROWS = 64;
layout(constant_id = 1) const uint COLS = 64;
layout(constant_id = 2) const uint M = 16;
layout(constant_id = 3) const uint N = 16;
layout(constant_id = 4) const uint K = 16;
layout(constant_id = 5) const uint WIDTH = 32;
layout(constant_id = 6) const uint PARTS = 2;

const uint STEP = 32u;       /* of K, in shared memory at a time */
const uint PAIRS = STEP / 2u;
const uint PITCH = PAIRS + 4u; /* of a row, in pairs: rows start in different banks, at multiples of 16 bytes */
const uint LINES = THREADS / PAIRS; /* rows that the work-group reads at a time */
const uint FOLD = 256u;
const uint SUBGROUPS = THREADS / WIDTH;
const uint SUB_ROWS = SUBGROUPS >= 16u ? 4u : (SUBGROUPS >= 4u ? 2u : 1u);
const uint SUB_COLS = SUBGROUPS / SUB_ROWS;
const uint DOWN = ROWS / M / SUB_ROWS; /* matrices of a subgroup */
const uint ACROSS = COLS / N / SUB_COLS;

shared f16vec2 x_parts[PARTS * ROWS * PITCH];
shared f16vec2 w_part[COLS * PITCH];
shared float box[SUBGROUPS * M * N]; /* one matrix per subgroup, element by element */
/* Per row of x, then per row of w. Bits of floats: the largest |value| that fits, the largest seen, the power. */
shared uint room[ROWS + COLS];
shared uint peak[ROWS + COLS];
shared uint lift[ROWS + COLS];
shared uint change[ROWS + COLS]; /* new power / old power */
shared uint grown;

#define ONE 0x3f800000u
#define SUM coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

/* To 11 bits, to the nearest, ties to even. Nothing where float16 would have fewer (below 2^-14) and another part
 * follows: that has them. So converting to float16 rounds the last part alone, and only there. */
FN top_part(float value, bool is_last)
{
    uint bits = AU(value);
    uint rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;

    return AF(is_last || (bits & 0x7fffffffu) >= 0x38800000u ? rounded : 0u);
}

uint size_bits(vec2 pair)
{
    return hg_max(AU(pair.x) & 0x7fffffffu, AU(pair.y) & 0x7fffffffu);
}

/* Asks for another power where a row has a value that does not fit. */
void note_size(uint line, vec2 pair)
{
    uint bits = size_bits(pair);

    if (bits > room[line]) {
        atomicMax(peak[line], bits);
        atomicOr(grown, 1u);
    }
}

void choose_power(uint line)
{
    uint bits = peak[line];
    uint before = lift[line];

    change[line] = ONE;
    if (bits <= room[line])
        return;
    uint exponent = hg_min(hg_max(bits >> 23, 67u), 254u);
    uint after = (266u - exponent) << 23; /* 2^12 / 2^(exponent - 127) */
    uint fall = before - after;           /* powers only go down once there is something to change */
    change[line] = fall < (126u << 23) ? ONE - fall : 0u;
    lift[line] = after;
    room[line] = exponent >= 252u ? 0x7fffffffu : ((exponent + 2u) << 23) | 0x7fffffu;
}

#include "row.def"
{
    uint thread = gl_LocalInvocationID.x;
    uint subgroup = gl_SubgroupID;
    uint lane = gl_SubgroupInvocationID;
    uint row_tiles = (P.rows + ROWS - 1u) / ROWS;
    uint tile = INVOCATION / THREADS;
    uint row_first = tile % row_tiles * ROWS;
    uint col_first = tile / row_tiles * COLS;
    if (col_first >= P.cols)
        return;
    uint sub_row = subgroup / SUB_COLS * DOWN * M; /* of this subgroup's outputs, in the tile */
    uint sub_col = subgroup % SUB_COLS * ACROSS * N;
    uint pair = thread % PAIRS;
    uint line_first = thread / PAIRS;
    uint own_box = subgroup * M * N;
    bool by_words = ((P.k | P.w_offset) & 1u) == 0u;
    vec2 held_x[ROWS / LINES];
#ifdef HG_W_BF16
    vec2 held_w[COLS / LINES];
#else
    uint held_w[COLS / LINES];
#endif
    SUM total[DOWN * ACROSS];
    SUM part[DOWN * ACROSS];

    [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
        total[i] = SUM(0.0);
        part[i] = SUM(0.0);
    }
    for (uint i = thread; i < ROWS + COLS; i += THREADS) {
        room[i] = 0u;
        peak[i] = 0u;
        lift[i] = ONE;
    }
    if (thread == 0u)
        grown = 0u;
    barrier();

    for (uint first = 0u; first < P.k; first += STEP) {
        uint k = first + pair * 2u;
        bool has_low = k < P.k;
        bool has_high = k + 1u < P.k;
        uint low = hg_min(k, P.k - 1u);
        uint high = hg_min(k + 1u, P.k - 1u);

        [[unroll]] for (uint i = 0u; i < ROWS / LINES; i++) {
            uint line = line_first + i * LINES;
            uint row = row_first + line;
            uint from = hg_min(row, P.rows - 1u) * P.k;
            vec2 value = vec2(x[from + low], x[from + high]);

            value.x = row < P.rows && has_low ? value.x : 0.0;
            value.y = row < P.rows && has_high ? value.y : 0.0;
            held_x[i] = value;
            note_size(line, value);
        }
        [[unroll]] for (uint i = 0u; i < COLS / LINES; i++) {
            uint line = line_first + i * LINES;
            uint col = col_first + line;
            uint from = P.w_offset + hg_min(col, P.cols - 1u) * P.k;
            uint word;

            if (by_words) {
                word = w[(from + low) >> 1];
            } else {
                uint i0 = from + low;
                uint i1 = from + high;
                word = (w[i0 >> 1] >> ((i0 & 1u) << 4)) & 0xffffu;
                word |= (w[i1 >> 1] >> ((i1 & 1u) << 4)) << 16;
            }
            word = col < P.cols && has_low ? word : 0u;
            word = has_high ? word : word & 0xffffu;
#ifdef HG_W_BF16
            held_w[i] = vec2(HALF_LOW(word), HALF_HIGH(word));
            note_size(ROWS + line, held_w[i]);
#else
            held_w[i] = word;
#endif
        }
        barrier();

        if (grown != 0u) {
            for (uint i = thread; i < ROWS + COLS; i += THREADS)
                choose_power(i);
            barrier();
            if (thread == 0u)
                grown = 0u;
            if (first > 0u) {
                [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
                    for (uint e = lane; e < M * N; e += WIDTH) {
                        uint line = sub_row + i / ACROSS * M + e / N;
                        uint column = ROWS + sub_col + i % ACROSS * N + e % N;
                        box[own_box + e] = AF(change[line]) * AF(change[column]);
                    }
                    barrier();
                    SUM by;
                    coopMatLoad(by, box, own_box, N, gl_CooperativeMatrixLayoutRowMajor);
                    total[i] = total[i] * by;
                    part[i] = part[i] * by;
                    barrier();
                }
            }
        }

        [[unroll]] for (uint i = 0u; i < ROWS / LINES; i++) {
            uint line = line_first + i * LINES;
            F power = AF(lift[line]);
            vec2 value = held_x[i] * power;

            [[unroll]] for (uint p = 0u; p < PARTS; p++) {
                bool is_last = p + 1u == PARTS;
                vec2 top = vec2(top_part(value.x, is_last), top_part(value.y, is_last));

                x_parts[(p * ROWS + line) * PITCH + pair] = f16vec2(top);
                value = value - top; /* exact */
            }
        }
        [[unroll]] for (uint i = 0u; i < COLS / LINES; i++) {
            uint line = line_first + i * LINES;
#ifdef HG_W_BF16
            F power = AF(lift[ROWS + line]);
            w_part[line * PITCH + pair] = f16vec2(held_w[i] * power);
#else
            w_part[line * PITCH + pair] = unpackFloat2x16(held_w[i]);
#endif
        }
        barrier();

        [[unroll]] for (uint step = 0u; step < STEP; step += K) {
            coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> b[ACROSS];
            coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> a;

            [[unroll]] for (uint c = 0u; c < ACROSS; c++)
                coopMatLoad(b[c], w_part, (sub_col + c * N) * PITCH + step / 2u, PITCH,
                            gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint r = 0u; r < DOWN; r++) {
                [[unroll]] for (uint p = 0u; p < PARTS; p++) {
                    coopMatLoad(a, x_parts, (p * ROWS + sub_row + r * M) * PITCH + step / 2u, PITCH,
                                gl_CooperativeMatrixLayoutRowMajor);
                    [[unroll]] for (uint c = 0u; c < ACROSS; c++)
                        part[r * ACROSS + c] = coopMatMulAdd(a, b[c], part[r * ACROSS + c]);
                }
            }
        }
        if ((first + STEP) % FOLD == 0u) {
            [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
                total[i] = total[i] + part[i];
                part[i] = SUM(0.0);
            }
        }
    }

    [[unroll]] for (uint i = 0u; i < DOWN * ACROSS; i++) {
        total[i] = total[i] + part[i];
        barrier();
        coopMatStore(total[i], box, own_box, N, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        for (uint e = lane; e < M * N; e += WIDTH) {
            uint line = sub_row + i / ACROSS * M + e / N;
            uint column = sub_col + i % ACROSS * N + e % N;
            uint row = row_first + line;
            uint col = col_first + column;

            if (row < P.rows && col < P.cols) {
                uint to = row * P.y_stride + P.y_offset + col;
                F sum = box[own_box + e];

                sum = sum * AF((254u << 23) - lift[line]); /* 1 / power */
                sum = sum * AF((254u << 23) - lift[ROWS + column]);
                if ((P.flags & 1u) != 0u)
                    sum = sum + bias[col];
                sum = ST(sum);
                if ((P.flags & 2u) != 0u) {
                    sum = sum + y[to];
                    sum = ST(sum);
                }
                y[to] = sum;
            }
        }
    }
}
