/* SPDX-License-Identifier: MIT */
/*
 * The command line: one table of options (spelling, value, help), the commands that take them, and
 * parsing. All help is printed from these tables; nothing else spells an option (docs/DECISIONS.md
 * D29).
 */
#ifndef HG_TOOLS_ARGS_H
#define HG_TOOLS_ARGS_H

#include "output.h"

#include <stdint.h>

/* Two rows may share a spelling when commands mean different values by it (-o FILE, -o DIR). */
typedef enum hg_option_id {
    HG_OPTION_END = 0, /* ends a command's list */
    HG_OPTION_PROMPT,
    HG_OPTION_PROMPT_FILE,
    HG_OPTION_IDS,
    HG_OPTION_PROMPTS,
    HG_OPTION_NO_SPECIAL,
    HG_OPTION_LAYERS,
    HG_OPTION_HEADS,
    HG_OPTION_OUTPUT,
    HG_OPTION_OUTPUT_MAP, /* a file, or with --prompts a folder or pattern */
    HG_OPTION_OUTPUT_FOLDER,
    HG_OPTION_FORMAT_FIGURE,
    HG_OPTION_FORMAT_TABLE,
    HG_OPTION_SCALE,
    HG_OPTION_DUMP,
    HG_OPTION_WHAT,
    HG_OPTION_TOP,
    HG_OPTION_ONLY,
    HG_OPTION_SCAN,
    HG_OPTION_CHECK,
    HG_OPTION_PREFILL,
    HG_OPTION_DECODE,
    HG_OPTION_DEPTH,
    HG_OPTION_REPEAT,
    HG_OPTION_SEED,
    HG_OPTION_MAPS,
    HG_OPTION_CEILING,
    HG_OPTION_KERNELS,
    HG_OPTION_SAMPLES,
    HG_OPTION_DEVICE,
    HG_OPTION_DEVICES, /* may be given several times, or be "all" */
    HG_OPTION_DEVICES_EXACT,
    HG_OPTION_REPLAY,
    HG_OPTION_RUNS, /* --replay of selftest */
    HG_OPTION_QUICK,
    HG_OPTION_FULL,
    HG_OPTION_SAVE,
    HG_OPTION_VALUES,
    HG_OPTION_LOAD,
    HG_OPTION_OUTPUT_PAGE,
    HG_OPTION_TIMEOUT,
    HG_OPTION_PRECISION,
    HG_OPTION_PRECISION_EXACT,
    HG_OPTION_EXACT,
    HG_OPTION_LIMITS,
    HG_OPTION_REPACK,
    HG_OPTION_TUNE,
    HG_OPTION_THREADS,
    HG_OPTION_VALIDATE,
    HG_OPTION_JSON,
    HG_OPTION_QUIET, /* from here on: options of every command */
    HG_OPTION_VERBOSE,
    HG_OPTION_HELP,
    HG_OPTION_VERSION,
    HG_OPTION_COUNT
} hg_option_id;

typedef struct hg_option {
    const char *name;  /* without dashes */
    const char *value; /* "FILE"; NULL: a switch */
    const char *help;  /* one sentence or two; lines are broken when printed */
    char letter;       /* 0: none */
} hg_option;

struct hg_app;

typedef struct hg_command {
    const char *name;
    const char *operands; /* "MODEL TEXT|-", or "" */
    const char *summary;  /* one line for the list of commands */
    const char *about;    /* a paragraph or two, or NULL */
    const char *examples; /* one per line, or NULL */
    uint32_t operands_min, operands_max;
    const hg_option_id *options;    /* ended by HG_OPTION_END */
    int (*run)(struct hg_app *app); /* exit code */
} hg_command;

typedef struct hg_given {
    hg_option_id id;
    const char *value; /* NULL for a switch */
} hg_given;

typedef struct hg_args {
    const hg_command *command; /* NULL: none was named */
    hg_given *given;           /* in the order of the command line */
    uint32_t given_count;
    const char **operands;
    uint32_t operand_count;
} hg_args;

/* HG_ERR_ARGUMENT with the sentence said. */
hg_result hg_args_parse(const hg_command *const *commands, uint32_t command_count, int argc,
                        char **argv, hg_args *out);
void hg_args_free(hg_args *args);

int hg_args_takes(const hg_command *command, hg_option_id id);
/* How often an option was given; its last value, or the one of place n; NULL when it was not. */
uint32_t hg_args_count(const hg_args *args, hg_option_id id);
const char *hg_args_value(const hg_args *args, hg_option_id id);
const char *hg_args_value_at(const hg_args *args, hg_option_id id, uint32_t n);
/* The value as a number; *out keeps its default when the option was not given. */
hg_result hg_args_number(const hg_args *args, hg_option_id id, uint32_t min, uint32_t max,
                         uint32_t *out);
/* The place of the value in names[0..count), *out keeps its default when the option was not given.
 */
hg_result hg_args_choice(const hg_args *args, hg_option_id id, const char *const *names,
                         uint32_t count, uint32_t *out);

const hg_option *hg_option_row(hg_option_id id);
/* The nearest of names, or NULL when none is near enough to be meant. */
const char *hg_nearest(const char *word, const char *const *names, uint32_t count);

hg_result hg_help_all(hg_output *output, const hg_command *const *commands, uint32_t command_count);
hg_result hg_help_command(hg_output *output, const hg_command *command);

#endif
