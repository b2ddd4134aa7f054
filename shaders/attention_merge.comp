/* SPDX-License-Identifier: MIT */
/* One invocation writes one element of y; the first ones of a head its statistics and gates, too. */
#include "page.h"
#include "function.h"
#include "row.def"
{
    uint n = INVOCATION;
    uint count = P.tokens * P.heads;
    if (n >= count * P.head_dim)
        return;
    uint item = n / P.head_dim;
    uint i = n % P.head_dim;
    uint head = item % P.heads;
    uint row = P.token_first * P.heads + item;
    F top = -1.0e30f;
    F most = -1.0e30f;

    for (uint s = 0u; s < P.slices; s++) {
        F m = marks[(s * count + item) * 2u];
        F lse = marks[(s * count + item) * 2u + 1u];
        lse = m + lse;
        top = m > top ? m : top;
        most = lse > most ? lse : most;
    }
    F mass = 0.0f;
    F value = 0.0f;
    for (uint s = 0u; s < P.slices; s++) {
        F m = marks[(s * count + item) * 2u];
        F lse = marks[(s * count + item) * 2u + 1u];
        lse = m + lse;
        lse = lse - most;
        F e = hg_exp(lse);
        mass = mass + e;
        MAC(value, e, part[(s * count + item) * P.head_dim + i])
    }
    F inverse = hg_rcp(mass);
    value = value * inverse;
    value = ST(value);
    if (i == 0u) {
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
    if (P.gate_dim != 0u && (P.gate == 1u || (P.flags & 1u) != 0u)) {
        uint at = row * P.gate_dim + hg_min(i, P.gate_dim - 1u);
        F gate = z[at];
        gate = hg_sigmoid(gate);
        if ((P.flags & 1u) != 0u && i < P.gate_dim)
            gates[at] = ST(gate);
        if (P.gate == 1u)
            open = gate;
    }
    value = value * open;
    if (dark)
        value = 0.0f;
    y[row * P.head_dim + i] = ST(value);
}
