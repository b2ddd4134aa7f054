/* SPDX-License-Identifier: MIT */
/* What a model is asked to read: --prompt, --prompt-file or --ids as token ids with labels. */
#ifndef HG_TOOLS_PROMPT_H
#define HG_TOOLS_PROMPT_H

#include "source.h"

typedef struct hg_prompt {
    char *text; /* NULL with --ids */
    size_t bytes;
    hg_encoding *encoding; /* NULL with --ids */
    const int32_t *ids;    /* [count] */
    uint32_t count;
    hg_labels *labels;
    int32_t *own_ids; /* behind ids with --ids */
} hg_prompt;

/* text: a text that is no option (an operand, "-" is standard input; the demo's default), or NULL.
 * One source must be given, and only one. Ids are checked against the vocabulary when the source
 * has a checkpoint. */
hg_result hg_prompt_read(hg_app *app, hg_source *source, const char *text, hg_prompt *out);
/* Ids that are there already, copied; checked as above. */
hg_result hg_prompt_take(hg_source *source, const int32_t *ids, uint32_t count, hg_prompt *out);
/* The ids of out->text; tokens that are added around a text are left out with no_special, or
 * --no-special. */
hg_result hg_prompt_encode(hg_app *app, hg_source *source, int no_special, hg_prompt *out);
void hg_prompt_free(hg_prompt *prompt);

/* The whole of a file, or of standard input for "-"; NUL-terminated, freed by the caller. */
hg_result hg_prompt_slurp(const char *path, char **text, size_t *bytes);
/* The value of --ids, or of standard input for "-". */
hg_result hg_prompt_ids(const char *value, int32_t **ids, uint32_t *count);

#endif
