/* SPDX-License-Identifier: MIT */
/* The commands, in the order of `headgate --help`. A new command is a file cmd_NAME.c and a line in
 * each of the two lists here and in commands.c. */
#ifndef HG_TOOLS_COMMANDS_H
#define HG_TOOLS_COMMANDS_H

#include "app.h"

extern const hg_command hg_command_devices;
extern const hg_command hg_command_demo;
extern const hg_command hg_command_map;
extern const hg_command hg_command_logits;
extern const hg_command hg_command_tokenize;
extern const hg_command hg_command_detokenize;
extern const hg_command hg_command_inspect;
extern const hg_command hg_command_metrics;
extern const hg_command hg_command_bench;
extern const hg_command hg_command_compare;
extern const hg_command hg_command_exact_hash;
extern const hg_command hg_command_selftest;
extern const hg_command hg_command_doctor;

const hg_command *const *hg_commands(uint32_t *count);

#endif
