/* SPDX-License-Identifier: MIT */
/*
 * attention_merge with wide loads, for Vulkan on a processor: one invocation writes eight elements of y, and looks at the
 * marks of a slice once for all of them. The order of every sum is T0's.
 */
#include "page.h"
#include "wide.h"
WIDE_VIEW(part, u64vec4)
WIDE_VIEW(marks, uint64_t)
#include "function.h"
#include "row.def"
{
    uint n = INVOCATION;
    uint count = P.tokens * P.heads;
    uint eights = (P.head_dim + 7u) >> 3;
    if (n >= count * eights)
        return;
    uint item = n / eights;
    uint first = n % eights * 8u;
    uint head = item % P.heads;
    uint row = P.token_first * P.heads + item;
    bool is_wide = (P.head_dim & 7u) == 0u;
    F top = -1.0e30f;
    F most = -1.0e30f;

    for (uint s = 0u; s < P.slices; s++) {
        uvec2 mark = unpack32(wide_marks[s * count + item]);
        F m = AF(mark.x);
        F lse = AF(mark.y);
        lse = m + lse;
        top = m > top ? m : top;
        most = lse > most ? lse : most;
    }
    F mass = 0.0f;
    F value[8];
    F other[8];
    FOR(c, 8, value[c] = 0.0f;)
    for (uint s = 0u; s < P.slices; s++) {
        uvec2 mark = unpack32(wide_marks[s * count + item]);
        uint from = (s * count + item) * P.head_dim;
        F m = AF(mark.x);
        F lse = AF(mark.y);
        lse = m + lse;
        lse = lse - most;
        F e = hg_exp(lse);
        mass = mass + e;
        if (is_wide) {
            WIDE_8(other, part, from + first)
        } else {
            FOR(c, 8, other[c] = part[from + hg_min(first + c, P.head_dim - 1u)];)
        }
        FOR(c, 8, MAC(value[c], e, other[c]))
    }
    F inverse = hg_rcp(mass);
    if (first == 0u) {
        F lse = 0.0f;
        if (top > -1.0e30f) {
            lse = most - top;
            F rest = hg_log(mass);
            lse = lse + rest;
        }
        stats[row * 2u] = ST(top);
        stats[row * 2u + 1u] = ST(lse);
    }

    uint mask = head < 32u ? P.head_mask0
                           : (head < 64u ? P.head_mask1 : (head < 96u ? P.head_mask2 : P.head_mask3));
    bool dark = head < 128u && ((mask >> (head & 31u)) & 1u) != 0u;
    F open = 1.0f;
    if (P.gate == 2u)
        open = P.gate_const;
    for (uint i = first; i < hg_min(first + 8u, P.head_dim); i++) {
        if (P.gate_dim != 0u && (P.gate == 1u || (P.flags & 1u) != 0u)) {
            uint at = row * P.gate_dim + hg_min(i, P.gate_dim - 1u);
            F gate = z[at];
            gate = hg_sigmoid(gate);
            if ((P.flags & 1u) != 0u && i < P.gate_dim)
                gates[at] = ST(gate);
            if (P.gate == 1u)
                open = gate;
        }
        F one = value[i - first] * inverse;
        one = ST(one);
        one = one * open;
        if (dark)
            one = 0.0f;
        y[row * P.head_dim + i] = ST(one);
    }
}
