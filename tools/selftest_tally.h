/* SPDX-License-Identifier: MIT */
/* Rows of hg_selftest gathered by variant, and what they say of a device: good for exact, for fp32
 * alone, or for nothing. */
#ifndef HG_TOOLS_SELFTEST_TALLY_H
#define HG_TOOLS_SELFTEST_TALLY_H

#include <headgate/diagnose.h>

enum { HG_SELFTEST_LINES_MAX = 256 };

typedef enum hg_selftest_state {
    HG_SELFTEST_PASS = 0,
    HG_SELFTEST_UNUSED = 1,
    HG_SELFTEST_OTHER_BITS = 2, /* good enough for fp32 */
    HG_SELFTEST_WRONG = 3
} hg_selftest_state;

/* One variant over its shapes. */
typedef struct hg_selftest_line {
    char kernel[32], tier[8], dtype[8]; /* dtype "-": without weights */
    uint32_t passed, shapes, replays;
    hg_selftest_state state;
    int within_bound; /* of HG_SELFTEST_OTHER_BITS: all were */
    int exact_only;
    char first[328]; /* the first failure of this state with its shape, or why it is never used */
} hg_selftest_line;

typedef struct hg_selftest_tally {
    hg_selftest_line lines[HG_SELFTEST_LINES_MAX];
    uint32_t count;
} hg_selftest_tally;

/* 0: more variants than there is room for. */
int hg_selftest_tally_add(hg_selftest_tally *tally, const hg_selftest_row *row);

typedef struct hg_selftest_sum {
    uint32_t used;           /* lines */
    uint32_t other, wrong;   /* of them, by state */
    int for_fp32, for_exact; /* for every kernel there is a variant that is good for it */
    const char *first_wrong; /* a kernel; NULL: none */
} hg_selftest_sum;

hg_selftest_sum hg_selftest_tally_sum(const hg_selftest_tally *tally);
/* "1 kernel wrong (rms_norm), not usable"; is_exact: the engine's precision was exact. */
const char *hg_selftest_words(const hg_selftest_sum *sum, int is_exact, char text[160]);
/* "WRONG", "other bits, within its bound": the state in words. */
const char *hg_selftest_state_name(const hg_selftest_line *line);

#endif
