/* SPDX-License-Identifier: MIT */
/* Reading --prompts. */
#include "prompts.h"

#include "interrupt.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hg_result fail_memory(void)
{
    return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
}

static char *copy_bytes(const char *text, size_t bytes)
{
    char *copy = malloc(bytes + 1);

    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

/* Numbers of one length, so that file names sort. */
static int digits_of(uint32_t count)
{
    char text[16];

    return snprintf(text, sizeof(text), "%u", count);
}

static hg_result take_name(const hg_prompt_entry *entry, uint32_t number, uint32_t count,
                           hg_prompts_row *row)
{
    char text[16];

    snprintf(text, sizeof(text), "%0*u", digits_of(count), number);
    row->named = entry->name != NULL;
    row->name =
        row->named ? copy_bytes(entry->name, strlen(entry->name)) : copy_bytes(text, strlen(text));
    return row->name ? HG_OK : fail_memory();
}

static hg_result take_ids(const hg_prompts *prompts, const hg_source *source,
                          const hg_prompt_entry *entry, hg_prompt *out)
{
    for (uint32_t i = 0; i < entry->id_count; i++)
        if ((uint32_t)entry->ids[i] >= source->info.vocab)
            return hg_message_fail(HG_ERR_TEXT,
                                   "%s: line %llu: expected token ids from 0 to %u, the vocabulary "
                                   "of %s; found %d at place %u",
                                   prompts->file, (unsigned long long)entry->line,
                                   source->info.vocab - 1, source->name, (int)entry->ids[i], i);
    out->own_ids = malloc((size_t)entry->id_count * sizeof(*out->own_ids));
    if (!out->own_ids)
        return fail_memory();
    memcpy(out->own_ids, entry->ids, entry->id_count * sizeof(*out->own_ids));
    out->ids = out->own_ids;
    out->count = entry->id_count;
    return HG_OK;
}

static hg_result take_text(hg_app *app, hg_source *source, const hg_prompts *prompts,
                           const hg_prompt_entry *entry, hg_prompt *out)
{
    hg_result res;

    out->bytes = (size_t)entry->text_bytes;
    out->text = copy_bytes(entry->text, out->bytes);
    if (!out->text)
        return fail_memory();
    res = hg_prompt_encode(app, source, entry->no_special != 0, out);
    if (res == HG_ERR_TEXT || (res == HG_ERR_FILE && source->tokenizer))
        hg_message(HG_LOG_ERROR, "%s: line %llu: that was its text", prompts->file,
                   (unsigned long long)entry->line);
    if (res == HG_OK && out->count == 0)
        return hg_message_fail(HG_ERR_TEXT,
                               "%s: line %llu: the prompt is empty: it has no token at all",
                               prompts->file, (unsigned long long)entry->line);
    return res;
}

/* One sentence about all prompts that are longer than the model was made for. */
static void warn_lengths(const hg_source *source, const hg_prompts *prompts)
{
    const hg_prompts_row *first = NULL;
    uint32_t longer = 0;

    for (uint32_t i = 0; i < prompts->count; i++) {
        if (prompts->rows[i].prompt.count <= source->info.max_positions)
            continue;
        first = first ? first : &prompts->rows[i];
        longer++;
    }
    if (first)
        hg_message(HG_LOG_WARNING,
                   "%s: line %llu has %u tokens; %s was made for %u (prompts that are longer: %u)",
                   prompts->file, (unsigned long long)first->line, first->prompt.count,
                   source->name, source->info.max_positions, longer);
}

static hg_result take_rows(hg_app *app, hg_source *source, const hg_prompt_list *list,
                           hg_prompts *out)
{
    const uint32_t count = hg_prompt_list_count(list);
    hg_result res = HG_OK;

    out->rows = calloc(count, sizeof(*out->rows));
    if (!out->rows)
        return fail_memory();
    for (uint32_t i = 0; i < count && res == HG_OK; i++) {
        hg_prompts_row *row = &out->rows[i];
        hg_prompt_entry entry = {.struct_size = sizeof(entry)};

        out->count = i + 1;
        (void)hg_prompt_list_at(list, i, &entry); /* i is below its count */
        row->line = entry.line;
        res = take_name(&entry, i + 1, count, row);
        if (res == HG_OK)
            res = entry.ids ? take_ids(out, source, &entry, &row->prompt)
                            : take_text(app, source, out, &entry, &row->prompt);
        out->tokens += row->prompt.count;
        out->longest = row->prompt.count > out->longest ? row->prompt.count : out->longest;
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    return res;
}

hg_result hg_prompts_read(hg_app *app, hg_source *source, hg_prompts *out)
{
    const char *file = hg_args_value(app->args, HG_OPTION_PROMPTS);
    hg_prompt_list_params params = {.struct_size = sizeof(params), .log = app->log};
    hg_prompt_list *list = NULL;
    char *text = NULL;
    size_t bytes = 0;
    hg_result res;

    memset(out, 0, sizeof(*out));
    if (hg_args_count(app->args, HG_OPTION_PROMPT) ||
        hg_args_count(app->args, HG_OPTION_PROMPT_FILE) || hg_args_count(app->args, HG_OPTION_IDS))
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "%s needs only one of --prompts FILE and --prompt TEXT, "
                               "--prompt-file FILE or --ids LIST",
                               app->args->command->name);
    out->file = strcmp(file, "-") == 0 ? "standard input" : file;
    params.label = out->file;
    HG_TRY(hg_prompt_slurp(file, &text, &bytes));
    HG_TRY(hg_prompt_list_parse(&params, text, bytes, &list));
    HG_TRY(hg_source_tokenizer(app, source, 0)); /* for labels; a text asks for it in earnest */
    HG_TRY(take_rows(app, source, list, out));
    warn_lengths(source, out);
out:
    hg_prompt_list_free(&list);
    free(text);
    if (res != HG_OK)
        hg_prompts_free(out);
    return res;
}

void hg_prompts_free(hg_prompts *prompts)
{
    for (uint32_t i = 0; i < prompts->count; i++) {
        free(prompts->rows[i].name);
        hg_prompt_free(&prompts->rows[i].prompt);
    }
    free(prompts->rows);
    memset(prompts, 0, sizeof(*prompts));
}
