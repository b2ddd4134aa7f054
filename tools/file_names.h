/* SPDX-License-Identifier: MIT */
/*
 * Names of many files from one -o: a folder, or a name with {name} or {number} in its last part.
 * What is put in comes from a stranger's file and stays in the folder: no slash, no control
 * character, no dot or dash in front, no more than a file's name may have.
 */
#ifndef HG_TOOLS_FILE_NAMES_H
#define HG_TOOLS_FILE_NAMES_H

#include "prompts.h"

typedef struct hg_file_names {
    char folder[HG_PATH_SIZE];  /* that is made; "" is here */
    char pattern[HG_PATH_SIZE]; /* of the whole path */
} hg_file_names;

/* Whether -o names many files by a pattern. */
int hg_file_names_are_pattern(const char *target);
/* target: -o of the command. ending ("png"): of the files in a folder; a pattern has its own. */
hg_result hg_file_names_choose(const char *target, const char *ending, const hg_prompts *prompts,
                               hg_file_names *out);
/* The file of prompt `index`. */
void hg_file_names_at(const hg_file_names *names, const hg_prompts *prompts, uint32_t index,
                      char path[HG_PATH_SIZE]);
/* HG_ERR_ARGUMENT when two prompts would go to the same file, with their lines. */
hg_result hg_file_names_check(const hg_file_names *names, const hg_prompts *prompts);

#endif
