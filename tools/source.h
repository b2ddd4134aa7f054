/* SPDX-License-Identifier: MIT */
/* MODEL as a user names it: the checkpoint, its tokenizer, and a name for figures and files. */
#ifndef HG_TOOLS_SOURCE_H
#define HG_TOOLS_SOURCE_H

#include "app.h"

typedef struct hg_source {
    char path[HG_PATH_SIZE];
    char name[HG_NAME_SIZE]; /* "gate_headwise": fit for a file name */
    const char *spelling;    /* as on the command line */
    hg_checkpoint *checkpoint;
    hg_model_info info;
    hg_tokenizer *tokenizer; /* NULL until hg_source_tokenizer */
} hg_source;

/* Only finds the folder. */
hg_result hg_source_find(hg_app *app, const char *spelling, hg_source *out);
/* Finds it and opens the checkpoint. */
hg_result hg_source_open(hg_app *app, const char *spelling, hg_source *out);
void hg_source_close(hg_source *source);

/* The tokenizer of the folder. Not required: a missing one is fine and leaves NULL, a broken one
 * warns. */
hg_result hg_source_tokenizer(hg_app *app, hg_source *source, int required);

/* HG_ERR_ARGUMENT when `target` is a file that this run reads: a part of the checkpoint, or
 * `prompt_file` (NULL: none). */
hg_result hg_source_spare(const hg_source *source, const char *prompt_file, const char *target);

const char *hg_gate_name(hg_gate_kind gate);

#endif
