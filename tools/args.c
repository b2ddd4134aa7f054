/* SPDX-License-Identifier: MIT */
/* Parsing by the option table. Leaves printing help to help.c and lists of numbers to numbers.c. */
#include "args.h"

#include "message.h"
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 32, NAMES_MAX = 64 };

/* Edits (insert, delete, replace, swap neighbours) from a to b; words longer than WORD_MAX are far
 * from all. */
static uint32_t distance(const char *a, const char *b)
{
    size_t rows = strlen(a), cols = strlen(b);
    uint32_t d[WORD_MAX + 1][WORD_MAX + 1];

    if (rows > WORD_MAX || cols > WORD_MAX)
        return UINT32_MAX;
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = (uint32_t)i;
    for (size_t j = 0; j <= cols; j++)
        d[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= cols; j++) {
            uint32_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[rows][cols];
}

const char *hg_nearest(const char *word, const char *const *names, uint32_t count)
{
    const char *found = NULL;
    uint32_t best = 0;

    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        uint32_t edits = distance(word, names[i]);

        /* A word cut short ("prom") is meant however much is missing. */
        if (strlen(word) >= 3 && strncmp(names[i], word, strlen(word)) == 0)
            edits = 1;
        if (edits > 1 + length / 4)
            continue;
        if (!found || edits < best) {
            found = names[i];
            best = edits;
        }
    }
    return found;
}

int hg_args_takes(const hg_command *command, hg_option_id id)
{
    if (id >= HG_OPTION_QUIET)
        return 1;
    for (const hg_option_id *o = command ? command->options : NULL; o && *o != HG_OPTION_END; o++) {
        if (*o == id)
            return 1;
    }
    return 0;
}

static hg_option_id find_name(const hg_command *command, const char *name, size_t length)
{
    for (hg_option_id id = HG_OPTION_PROMPT; id < HG_OPTION_COUNT; id++) {
        const hg_option *row = hg_option_row(id);

        if (hg_args_takes(command, id) && strlen(row->name) == length &&
            strncmp(row->name, name, length) == 0)
            return id;
    }
    return HG_OPTION_END;
}

static hg_option_id find_letter(const hg_command *command, char letter)
{
    for (hg_option_id id = HG_OPTION_PROMPT; id < HG_OPTION_COUNT; id++) {
        if (hg_args_takes(command, id) && hg_option_row(id)->letter == letter)
            return id;
    }
    return HG_OPTION_END;
}

/* While parsing; words[at] is the next word. */
typedef struct parser {
    const hg_command *const *commands;
    uint32_t command_count;
    char **words;
    int count, at;
    hg_args *args;
} parser;

static const char *command_name(const parser *p)
{
    return p->args->command ? p->args->command->name : "headgate";
}

/* For "'headgate%s%s --help'". */
static const char *command_gap(const parser *p)
{
    return p->args->command ? " " : "";
}

static const char *command_word(const parser *p)
{
    return p->args->command ? p->args->command->name : "";
}

static hg_result fail_unknown(const parser *p, const char *word, size_t length)
{
    const char *names[NAMES_MAX], *nearest;
    char name[WORD_MAX + 1];
    uint32_t count = 0;

    snprintf(name, sizeof(name), "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX), word);
    for (uint32_t i = 0; i < p->command_count && p->args->command; i++) {
        if (find_name(p->commands[i], word, length) != HG_OPTION_END)
            return hg_message_fail(HG_ERR_ARGUMENT,
                                   "%s has no option --%s (%s has); see 'headgate %s --help'",
                                   command_name(p), name, p->commands[i]->name, command_name(p));
    }
    for (hg_option_id id = HG_OPTION_PROMPT; id < HG_OPTION_COUNT && count < NAMES_MAX; id++) {
        if (hg_args_takes(p->args->command, id))
            names[count++] = hg_option_row(id)->name;
    }
    nearest = hg_nearest(name, names, count);
    if (nearest)
        return hg_message_fail(HG_ERR_ARGUMENT, "%s has no option --%s; did you mean --%s?",
                               command_name(p), name, nearest);
    return hg_message_fail(HG_ERR_ARGUMENT, "%s has no option --%s; see 'headgate%s%s --help'",
                           command_name(p), name, command_gap(p), command_word(p));
}

static hg_result fail_command(const parser *p, const char *word)
{
    const char *names[NAMES_MAX], *nearest;

    for (uint32_t i = 0; i < p->command_count && i < NAMES_MAX; i++)
        names[i] = p->commands[i]->name;
    nearest = hg_nearest(word, names, p->command_count < NAMES_MAX ? p->command_count : NAMES_MAX);
    if (nearest)
        return hg_message_fail(HG_ERR_ARGUMENT, "there is no command '%s'; did you mean '%s'?",
                               word, nearest);
    return hg_message_fail(HG_ERR_ARGUMENT,
                           "there is no command '%s'; 'headgate --help' lists them", word);
}

static void keep(parser *p, hg_option_id id, const char *value)
{
    p->args->given[p->args->given_count++] = (hg_given){id, value};
}

static hg_result parse_long(parser *p, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    hg_option_id id = find_name(p->args->command, word, length);
    const hg_option *row;

    if (id == HG_OPTION_END)
        return fail_unknown(p, word, length);
    row = hg_option_row(id);
    if (!row->value) {
        if (equals)
            return hg_message_fail(HG_ERR_ARGUMENT, "--%s takes no value", row->name);
        keep(p, id, NULL);
        return HG_OK;
    }
    if (!equals && p->at >= p->count)
        return hg_message_fail(HG_ERR_ARGUMENT, "--%s needs a value: --%s %s", row->name, row->name,
                               row->value);
    keep(p, id, equals ? equals + 1 : p->words[p->at++]);
    return HG_OK;
}

/* -qv, -o FILE, -oFILE */
static hg_result parse_letters(parser *p, const char *word)
{
    for (; *word; word++) {
        hg_option_id id = find_letter(p->args->command, *word);
        const hg_option *row;

        if (id == HG_OPTION_END)
            return hg_message_fail(HG_ERR_ARGUMENT,
                                   "%s has no option -%c; see 'headgate%s%s --help'",
                                   command_name(p), *word, command_gap(p), command_word(p));
        row = hg_option_row(id);
        if (!row->value) {
            keep(p, id, NULL);
            continue;
        }
        if (word[1] == '\0' && p->at >= p->count)
            return hg_message_fail(HG_ERR_ARGUMENT, "-%c needs a value: -%c %s", *word, *word,
                                   row->value);
        keep(p, id, word[1] ? word + 1 : p->words[p->at++]);
        return HG_OK;
    }
    return HG_OK;
}

static const hg_command *find_command(const parser *p, const char *name)
{
    for (uint32_t i = 0; i < p->command_count; i++) {
        if (strcmp(p->commands[i]->name, name) == 0)
            return p->commands[i];
    }
    return NULL;
}

/* "help map" is "map --help". */
static hg_result parse_command(parser *p, const char *word)
{
    if (strcmp(word, "help") == 0) {
        keep(p, HG_OPTION_HELP, NULL);
        if (p->at >= p->count)
            return HG_OK;
        word = p->words[p->at++];
    }
    p->args->command = find_command(p, word);
    return p->args->command ? HG_OK : fail_command(p, word);
}

static hg_result parse_words(parser *p)
{
    int only_operands = 0;
    hg_result res = HG_OK;

    while (res == HG_OK && p->at < p->count) {
        const char *word = p->words[p->at++];

        if (!only_operands && strcmp(word, "--") == 0)
            only_operands = 1;
        else if (!only_operands && word[0] == '-' && word[1] == '-')
            res = parse_long(p, word + 2);
        else if (!only_operands && word[0] == '-' && word[1] != '\0')
            res = parse_letters(p, word + 1);
        else if (!p->args->command)
            res = parse_command(p, word);
        else
            p->args->operands[p->args->operand_count++] = word;
    }
    return res;
}

static hg_result check_operands(const hg_args *args)
{
    const hg_command *command = args->command;

    if (args->operand_count < command->operands_min)
        return hg_message_fail(HG_ERR_ARGUMENT, "%s needs %s; see 'headgate %s --help'",
                               command->name, command->operands, command->name);
    if (args->operand_count > command->operands_max)
        return hg_message_fail(
            HG_ERR_ARGUMENT, "%s does not know what to do with '%s': headgate %s %s", command->name,
            args->operands[command->operands_max], command->name, command->operands);
    return HG_OK;
}

hg_result hg_args_parse(const hg_command *const *commands, uint32_t command_count, int argc,
                        char **argv, hg_args *out)
{
    parser p = {commands, command_count, argv, argc, 1, out};
    size_t room = (size_t)argc + 1;
    hg_result res;

    memset(out, 0, sizeof(*out));
    for (int i = 1; i < argc; i++)
        room += strlen(argv[i]); /* letters may be joined: -qvv */
    out->given = calloc(room, sizeof(*out->given));
    out->operands = calloc((size_t)argc + 1, sizeof(*out->operands));
    if (!out->given || !out->operands) {
        hg_args_free(out);
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    }
    res = parse_words(&p);
    if (res == HG_OK && out->command && !hg_args_count(out, HG_OPTION_HELP) &&
        !hg_args_count(out, HG_OPTION_VERSION))
        res = check_operands(out);
    if (res != HG_OK)
        hg_args_free(out);
    return res;
}

void hg_args_free(hg_args *args)
{
    free(args->given);
    free(args->operands);
    memset(args, 0, sizeof(*args));
}

uint32_t hg_args_count(const hg_args *args, hg_option_id id)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < args->given_count; i++)
        count += args->given[i].id == id;
    return count;
}

const char *hg_args_value_at(const hg_args *args, hg_option_id id, uint32_t n)
{
    for (uint32_t i = 0; i < args->given_count; i++) {
        if (args->given[i].id == id && n-- == 0)
            return args->given[i].value;
    }
    return NULL;
}

const char *hg_args_value(const hg_args *args, hg_option_id id)
{
    uint32_t count = hg_args_count(args, id);

    return count ? hg_args_value_at(args, id, count - 1) : NULL;
}

hg_result hg_args_number(const hg_args *args, hg_option_id id, uint32_t min, uint32_t max,
                         uint32_t *out)
{
    const char *value = hg_args_value(args, id);
    uint32_t number;

    if (!value)
        return HG_OK;
    if (!hg_number_parse(value, &number) || number < min || number > max)
        return hg_message_fail(HG_ERR_ARGUMENT, "--%s %s: expected a whole number from %u to %u",
                               hg_option_row(id)->name, value, min, max);
    *out = number;
    return HG_OK;
}

hg_result hg_args_choice(const hg_args *args, hg_option_id id, const char *const *names,
                         uint32_t count, uint32_t *out)
{
    const char *value = hg_args_value(args, id), *nearest;

    if (!value)
        return HG_OK;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(value, names[i]) == 0) {
            *out = i;
            return HG_OK;
        }
    }
    nearest = hg_nearest(value, names, count);
    if (nearest)
        return hg_message_fail(HG_ERR_ARGUMENT, "--%s %s: did you mean %s?",
                               hg_option_row(id)->name, value, nearest);
    return hg_message_fail(HG_ERR_ARGUMENT, "--%s %s: expected one of %s", hg_option_row(id)->name,
                           value, hg_option_row(id)->value);
}
