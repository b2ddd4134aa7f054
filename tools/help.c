/* SPDX-License-Identifier: MIT */
/* All help, printed from the tables of options and commands. */
#include "args.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, SPELLING = 26 };

/* Breaks text at spaces into lines of WIDTH; the first starts at column `at`, the others at
 * `indent`. */
static hg_result print_wrapped(hg_output *output, const char *text, size_t at, size_t indent)
{
    hg_result res = HG_OK;

    while (*text && res == HG_OK) {
        size_t word = strcspn(text, " \n");

        if (at > indent && at + 1 + word > WIDTH) {
            res = hg_output_format(output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            res = hg_output_text(output, " ");
            at++;
        }
        if (res == HG_OK)
            res = hg_output_write(output, text, word);
        at += word;
        text += word;
        if (*text == '\n') {
            res = hg_output_format(output, "\n%*s", (int)indent, "");
            at = indent;
        }
        if (*text)
            text++;
    }
    return res == HG_OK ? hg_output_text(output, "\n") : res;
}

/* "  -o, --output FILE       where ..." */
static hg_result print_option(hg_output *output, hg_option_id id)
{
    const hg_option *row = hg_option_row(id);
    char spelling[80], letter[8] = "    ";
    hg_result res;
    size_t length;

    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    snprintf(spelling, sizeof(spelling), "  %s--%s%s%s", letter, row->name, row->value ? " " : "",
             row->value ? row->value : "");
    length = strlen(spelling);
    res = hg_output_text(output, spelling);
    if (res == HG_OK && length + 2 > SPELLING)
        res = hg_output_format(output, "\n%*s", SPELLING, "");
    else if (res == HG_OK)
        res = hg_output_format(output, "%*s", (int)(SPELLING - length), "");
    return res == HG_OK ? print_wrapped(output, row->help, SPELLING, SPELLING) : res;
}

static hg_result print_general(hg_output *output)
{
    hg_result res = HG_OK;

    for (hg_option_id id = HG_OPTION_QUIET; id < HG_OPTION_COUNT && res == HG_OK; id++)
        res = print_option(output, id);
    return res;
}

/* Newlines of examples are kept, each line indented. */
static hg_result print_examples(hg_output *output, const char *examples)
{
    hg_result res = hg_output_text(output, "\nExamples:\n");

    while (*examples && res == HG_OK) {
        size_t line = strcspn(examples, "\n");

        res = hg_output_format(output, "  %.*s\n", (int)line, examples);
        examples += line + (examples[line] == '\n');
    }
    return res;
}

hg_result hg_help_command(hg_output *output, const hg_command *command)
{
    hg_result res;

    res = hg_output_format(output, "Usage: headgate %s%s%s [options]\n\n", command->name,
                           *command->operands ? " " : "", command->operands);
    if (res == HG_OK)
        res = print_wrapped(output, command->about ? command->about : command->summary, 0, 0);
    if (res == HG_OK)
        res = hg_output_text(output, "\nOptions:\n");
    for (const hg_option_id *id = command->options; *id != HG_OPTION_END && res == HG_OK; id++)
        res = print_option(output, *id);
    if (res == HG_OK)
        res = print_general(output);
    if (res == HG_OK && command->examples)
        res = print_examples(output, command->examples);
    return res;
}

hg_result hg_help_all(hg_output *output, const hg_command *const *commands, uint32_t command_count)
{
    hg_result res;

    res = hg_output_text(output, "Usage: headgate COMMAND ...\n\n"
                                 "Runs gated-attention language models on any GPU with Vulkan or "
                                 "OpenCL, or on the processor,\n"
                                 "and shows what the heads look at.\n\n"
                                 "Commands:\n");
    for (uint32_t i = 0; i < command_count && res == HG_OK; i++) {
        res = hg_output_format(output, "  %-12s", commands[i]->name);
        if (res == HG_OK)
            res = print_wrapped(output, commands[i]->summary, 14, 14);
    }
    if (res == HG_OK)
        res = hg_output_text(output, "\nOptions of every command:\n");
    if (res == HG_OK)
        res = print_general(output);
    if (res != HG_OK)
        return res;
    return hg_output_text(
        output,
        "\n'headgate COMMAND --help' has the options of a command.\n\n"
        "MODEL is a folder with config.json, weights and tokenizer.json, or "
        "owner/name[@revision][:folder]\n"
        "in the Hugging Face cache, which is only read.\n\n"
        "Environment: HG_DEVICE (default of --device), XDG_CACHE_HOME, HF_HUB_CACHE, HF_HOME, "
        "NO_COLOR.\n"
        "Exit codes: 0 done; 1 different, or a check failed; 2 usage, bad prompt or id; 3 no "
        "usable device;\n"
        "4 input file missing, broken or unsupported; 5 out of memory; 6 device lost or driver "
        "error;\n"
        "7 output cannot be written; 130, 143 stopped by a signal.\n\n"
        "First steps:\n"
        "  headgate devices\n"
        "  headgate demo -o demo\n"
        "  headgate map MODEL --prompt 'Sparse gating mechanism mitigates attention sink.'\n");
}
