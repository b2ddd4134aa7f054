/* SPDX-License-Identifier: MIT */
/* Many prompts through a model in passes that fit the device, with progress over all of them. */
#ifndef HG_TOOLS_PASSES_H
#define HG_TOOLS_PASSES_H

#include "evaluate.h"
#include "prompts.h"

typedef struct hg_passes {
    hg_app *app;
    const hg_prompts *prompts;
    hg_evaluation evaluation; /* its session holds the pass as a batch */
    uint32_t first, count;    /* prompts of the pass: [first, first + count) */
    int32_t *ids;             /* of one pass */
    uint32_t *counts;         /* [prompts] */
    uint64_t done_tokens;     /* of passes before this one */
    uint32_t room;            /* tokens of a pass */
} hg_passes;

/* Loads the model. Everything in the arguments must live until hg_passes_free; not to be moved. */
hg_result hg_passes_open(hg_app *app, const hg_machine *machine, const hg_source *source,
                         const hg_prompts *prompts, const hg_wish *wish, hg_passes *out);
/* The next pass; count is 0 when all prompts are through. HG_CANCELLED between passes, too. */
hg_result hg_passes_next(hg_passes *passes);
void hg_passes_free(hg_passes *passes);

#endif
