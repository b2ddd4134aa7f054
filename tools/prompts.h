/* SPDX-License-Identifier: MIT */
/* --prompts: all prompts of a file in JSON Lines, read, tokenized and checked before any work. */
#ifndef HG_TOOLS_PROMPTS_H
#define HG_TOOLS_PROMPTS_H

#include "prompt.h"

typedef struct hg_prompts_row {
    uint64_t line;
    char *name;       /* as in the file, or the prompt's number: "07" of 64 */
    int named;        /* in the file */
    hg_prompt prompt; /* without labels */
} hg_prompts_row;

typedef struct hg_prompts {
    const char *file;     /* for sentences */
    hg_prompts_row *rows; /* [count], in the order of the file */
    uint32_t count, longest;
    uint64_t tokens;
} hg_prompts;

/* Sentences name the line. There is at least one prompt, and none without a token. */
hg_result hg_prompts_read(hg_app *app, hg_source *source, hg_prompts *out);
void hg_prompts_free(hg_prompts *prompts);

#endif
