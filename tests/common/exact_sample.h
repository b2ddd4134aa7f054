/* SPDX-License-Identifier: MIT */
/* A sample model through an engine in exact mode, as `headgate exact-hash` does it, and what ships
 * for it. */
#ifndef HG_TEST_EXACT_SAMPLE_H
#define HG_TEST_EXACT_SAMPLE_H

#include "exact_hash.h"

enum { EXACT_SAMPLES = 3, EXACT_IDS_MAX = 256 };

extern const char *const exact_sample_names[EXACT_SAMPLES];

typedef struct exact_sample {
    const char *name;
    int32_t ids[EXACT_IDS_MAX];
    uint32_t count;
    char all[HG_SHA256_TEXT]; /* "" when nothing ships for these ids */
} exact_sample;

/* The line of tools/samples/exact-hashes.txt; 0: there is none. */
int exact_sample_read(const char *name, exact_sample *out);

/* piece: hg_session_params.piece_tokens; step: tokens of each eval, 0 is all at once. */
hg_result exact_sample_hash(hg_engine *engine, const exact_sample *sample, uint32_t piece,
                            uint32_t step, char all[HG_SHA256_TEXT]);

#endif
