/* SPDX-License-Identifier: MIT */
/*
 * A file that is there whole or not at all: written without a name in the target's folder (where
 * the file system cannot do that, under a temporary one), fsync, name, rename (docs/DECISIONS.md
 * D30).
 * "-" and the file that standard output goes to are standard output; a target that is no regular
 * file (a pipe, /dev/null) is written in place. Every failure is HG_ERR_OUTPUT, said once.
 */
#ifndef HG_TOOLS_OUTPUT_H
#define HG_TOOLS_OUTPUT_H

#include <headgate/base.h>

typedef struct hg_output hg_output;

/* Opens early: a folder that cannot be written is told before the work, not after. */
hg_result hg_output_open(const char *path, hg_output **out);
/* A buffer instead of a file. */
hg_result hg_output_open_memory(hg_output **out);
/* What was written to it, freed by the caller; frees the output. */
hg_result hg_output_take(hg_output **output, char **data, size_t *bytes);
hg_result hg_output_write(hg_output *output, const void *data, size_t bytes);
hg_result hg_output_text(hg_output *output, const char *text);
hg_result hg_output_format(hg_output *output, const char *format, ...) HG_PRINTF(2, 3);
/* Makes it real; HG_CANCELLED instead when a signal is pending. Frees in every case. */
hg_result hg_output_commit(hg_output **output);
/* Leaves nothing behind. NULL inside is fine. */
void hg_output_discard(hg_output **output);

/* Creates a folder and its parents (0777 and the umask); there already: fine. */
hg_result hg_output_make_folder(const char *path);

#endif
