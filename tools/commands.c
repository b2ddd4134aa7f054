/* SPDX-License-Identifier: MIT */
/* The list of commands. */
#include "commands.h"

static const hg_command *const list[] = {
    &hg_command_devices,  &hg_command_demo,       &hg_command_map,        &hg_command_logits,
    &hg_command_tokenize, &hg_command_detokenize, &hg_command_inspect,    &hg_command_metrics,
    &hg_command_bench,    &hg_command_compare,    &hg_command_exact_hash, &hg_command_selftest,
    &hg_command_doctor,
};

const hg_command *const *hg_commands(uint32_t *count)
{
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}
