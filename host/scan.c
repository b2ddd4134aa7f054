/* SPDX-License-Identifier: MIT */
/*
 * hg_checkpoint_scan: every weight of the model read once, by its bits, so that the three types and
 * the promise about tiny values (D9) need no arithmetic. A tied head counts once.
 */
#include "check.h"
#include "checkpoint.h"
#include "params.h"
#include "slots.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* elements between two questions whether to go on */

typedef struct scanner {
    const hg_checkpoint *checkpoint;
    const hg_progress *progress;
    uint64_t done_bytes, total_bytes;
    uint32_t abs_max_bits; /* of a float: positive floats are ordered as their bits */
    hg_scan scan;
} scanner;

typedef struct counts {
    uint64_t nan, inf, tiny;
    uint32_t abs_max; /* bits of the largest finite |value| in its own type */
} counts;

/* infinity and tiny: bits of the infinity and of 2^-50 in the type, without sign. */
static counts count_bits32(const uint8_t *data, uint64_t elements)
{
    counts c = {0, 0, 0, 0};
    uint64_t i;

    for (i = 0; i < elements; i++) {
        uint32_t bits;

        memcpy(&bits, data + i * 4, sizeof(bits));
        bits &= 0x7FFFFFFF;
        c.nan += bits > 0x7F800000;
        c.inf += bits == 0x7F800000;
        c.tiny += bits != 0 && bits < (uint32_t)(127 - 50) << 23;
        if (bits > c.abs_max && bits < 0x7F800000)
            c.abs_max = bits;
    }
    return c;
}

static counts count_bits16(const uint8_t *data, uint64_t elements, uint32_t infinity, uint32_t tiny)
{
    counts c = {0, 0, 0, 0};
    uint64_t i;

    for (i = 0; i < elements; i++) {
        uint16_t half;
        uint32_t bits;

        memcpy(&half, data + i * 2, sizeof(half));
        bits = half & 0x7FFF;
        c.nan += bits > infinity;
        c.inf += bits == infinity;
        c.tiny += bits != 0 && bits < tiny;
        if (bits > c.abs_max && bits < infinity)
            c.abs_max = bits;
    }
    return c;
}

/* A positive finite f16 as the bits of the same float. */
static uint32_t widen_half(uint32_t half)
{
    uint32_t exponent = half >> 10, mantissa = half & 0x3FF;
    float value;
    uint32_t bits;

    if (exponent)
        return (exponent + 127 - 15) << 23 | mantissa << 13;
    value = (float)mantissa * 0x1p-24f;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static counts count_piece(const hg_weight *weight, const uint8_t *data, uint64_t elements)
{
    counts c;

    if (weight->dtype == HG_DTYPE_F16) { /* its smallest value is 2^-24 */
        c = count_bits16(data, elements, 0x7C00, 0);
        c.abs_max = widen_half(c.abs_max);
        return c;
    }
    if (weight->dtype == HG_DTYPE_BF16) {
        c = count_bits16(data, elements, 0x7F80, (127 - 50) << 7);
        c.abs_max <<= 16;
        return c;
    }
    return count_bits32(data, elements);
}

static hg_result scan_weight(void *user, const char *name, const hg_weight *weight, int is_vector)
{
    scanner *s = user;
    uint32_t element_bytes = weight->dtype == HG_DTYPE_F32 ? 4 : 2;
    uint64_t elements = (uint64_t)weight->rows * weight->cols, at, piece;

    (void)is_vector;
    for (at = 0; at < elements; at += piece) {
        const uint8_t *data = weight->data + at * element_bytes;
        counts c;

        piece = elements - at < PIECE ? elements - at : PIECE;
        if (s->progress && s->progress->step &&
            s->progress->step(s->progress->user, "scan", s->done_bytes, s->total_bytes))
            return HG_CANCELLED;
        c = count_piece(weight, data, piece);
        s->scan.values += piece;
        s->scan.nan_count += c.nan;
        s->scan.inf_count += c.inf;
        s->scan.tiny_count += c.tiny;
        if (c.abs_max > s->abs_max_bits)
            s->abs_max_bits = c.abs_max;
        if (c.nan + c.inf && !s->scan.first_bad[0])
            snprintf(s->scan.first_bad, sizeof(s->scan.first_bad), "%s", name);
        s->done_bytes += piece * element_bytes;
        hg_checkpoint_release_pages(s->checkpoint, data, piece * element_bytes);
    }
    return HG_OK;
}

static hg_result add_bytes(void *user, const char *name, const hg_weight *weight, int is_vector)
{
    uint64_t *total = user;

    (void)name;
    (void)is_vector;
    *total += (uint64_t)weight->rows * weight->cols * (weight->dtype == HG_DTYPE_F32 ? 4 : 2);
    return HG_OK;
}

hg_result hg_checkpoint_scan(const hg_checkpoint *checkpoint, const hg_progress *progress,
                             hg_scan *out)
{
    scanner s = {.checkpoint = checkpoint, .progress = progress};
    hg_result res;

    if (!checkpoint || !out)
        return HG_ERR_ARGUMENT;
    (void)hg_slots_visit(checkpoint, add_bytes, &s.total_bytes);
    HG_TRY(hg_slots_visit(checkpoint, scan_weight, &s));
    memcpy(&s.scan.abs_max, &s.abs_max_bits, sizeof(s.scan.abs_max));
    if (s.scan.nan_count + s.scan.inf_count)
        hg_say(&checkpoint->log, HG_LOG_WARNING,
               "%s: %llu weights are NaN and %llu infinite (the first in %s); results will be, too",
               checkpoint->path, (unsigned long long)s.scan.nan_count,
               (unsigned long long)s.scan.inf_count, s.scan.first_bad);
    hg_struct_out(out, &s.scan, sizeof(s.scan));
out:
    return res;
}
