/* SPDX-License-Identifier: MIT */
/* headgate tokenize and detokenize: text to token ids and back. */
#include "commands.h"

#include "json_writer.h"
#include "message.h"
#include "prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hg_result print_ids(hg_output *output, const int32_t *ids, uint32_t count)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < count && res == HG_OK; i++)
        res = hg_output_format(output, "%s%d", i ? "," : "", (int)ids[i]);
    return res == HG_OK ? hg_output_text(output, "\n") : res;
}

static hg_result print_table(hg_output *output, const hg_prompt *prompt)
{
    const hg_encoding *encoding = prompt->encoding;
    hg_result res = hg_output_text(output, "POSITION      ID       BYTES  TOKEN\n");

    for (uint32_t i = 0; i < prompt->count && res == HG_OK; i++) {
        char range[32] = "";

        if (encoding)
            snprintf(range, sizeof(range), "%u-%u", encoding->byte_begin[i], encoding->byte_end[i]);
        res = hg_output_format(output, "%8u %7d %11s  %s\n", i, (int)prompt->ids[i], range,
                               prompt->labels->text[i]);
    }
    return res;
}

static void put_tokens(const hg_source *source, const hg_prompt *prompt, hg_put *put)
{
    hg_put_ids(put, "ids", prompt->ids, prompt->count);
    hg_put_row(put, "tokens");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL, hg_tokenizer_token(source->tokenizer, prompt->ids[i]));
    hg_put_end(put);
    hg_put_row(put, "labels");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_text(put, NULL, prompt->labels->text[i]);
    hg_put_end(put);
    if (!prompt->encoding)
        return;
    hg_put_row(put, "byte_begin");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_unsigned(put, NULL, prompt->encoding->byte_begin[i]);
    hg_put_end(put);
    hg_put_row(put, "byte_end");
    for (uint32_t i = 0; i < prompt->count; i++)
        hg_put_unsigned(put, NULL, prompt->encoding->byte_end[i]);
    hg_put_end(put);
}

static hg_result tokenize(hg_app *app, hg_source *source, hg_prompt *prompt, hg_output *output)
{
    static const char *const parts[] = {"ids"};
    const hg_args *args = app->args;
    const char *text = args->operand_count > 1 ? args->operands[1] : NULL;
    uint32_t only = 1;
    hg_put put;
    hg_result res;

    HG_TRY(hg_args_choice(args, HG_OPTION_ONLY, parts, 1, &only));
    if (only == 0 && hg_args_count(args, HG_OPTION_JSON)) {
        res = hg_message_fail(HG_ERR_ARGUMENT, "--only ids and --json contradict each other");
        goto out;
    }
    HG_TRY(hg_source_find(app, args->operands[0], source));
    HG_TRY(hg_prompt_read(app, source, text, prompt));
    if (hg_args_count(args, HG_OPTION_JSON)) {
        hg_put_start(&put, output, "tokenize");
        hg_put_text(&put, "model", source->name);
        hg_put_bytes(&put, "text", prompt->text, prompt->bytes);
        put_tokens(source, prompt, &put);
        hg_put_finish(&put);
    } else if (only == 0) {
        HG_TRY(print_ids(output, prompt->ids, prompt->count));
    } else {
        HG_TRY(print_table(output, prompt));
    }
out:
    return res;
}

static hg_result detokenize(hg_app *app, hg_source *source, hg_prompt *prompt, hg_output *output)
{
    uint32_t flags = hg_args_count(app->args, HG_OPTION_NO_SPECIAL) ? HG_DECODE_SKIP_SPECIAL : 0;
    char *text = NULL;
    size_t bytes = 0;
    hg_put put;
    hg_result res;

    HG_TRY(hg_source_find(app, app->args->operands[0], source));
    HG_TRY(hg_source_tokenizer(app, source, 1));
    HG_TRY(hg_prompt_read(app, source, NULL, prompt));
    HG_TRY(
        hg_tokenizer_decode(source->tokenizer, prompt->ids, prompt->count, flags, &text, &bytes));
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        hg_put_start(&put, output, "detokenize");
        hg_put_text(&put, "model", source->name);
        hg_put_bytes(&put, "text", text, bytes);
        put_tokens(source, prompt, &put);
        hg_put_finish(&put);
    } else {
        HG_TRY(hg_output_write(output, text, bytes));
        if (isatty(STDOUT_FILENO))
            HG_TRY(hg_output_text(
                output, "\n")); /* for the shell's next line; in a pipe the text is exact */
    }
out:
    hg_text_free(&text);
    return res;
}

static int run_with(hg_app *app, hg_result (*work)(hg_app *, hg_source *, hg_prompt *, hg_output *))
{
    hg_source *source = calloc(1, sizeof(*source));
    hg_prompt prompt;
    hg_output *output = NULL;
    hg_result res;

    if (!source)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    memset(&prompt, 0, sizeof(prompt));
    res = hg_output_open("-", &output);
    if (res == HG_OK)
        res = work(app, source, &prompt, output);
    if (res == HG_OK)
        res = hg_output_commit(&output);
    hg_output_discard(&output);
    hg_prompt_free(&prompt);
    hg_source_close(source);
    free(source);
    return hg_exit_code(res);
}

static int run_tokenize(hg_app *app)
{
    return run_with(app, tokenize);
}

static int run_detokenize(hg_app *app)
{
    return run_with(app, detokenize);
}

static const hg_option_id tokenize_options[] = {
    HG_OPTION_PROMPT, HG_OPTION_PROMPT_FILE, HG_OPTION_NO_SPECIAL,
    HG_OPTION_ONLY,   HG_OPTION_JSON,        HG_OPTION_END,
};

const hg_command hg_command_tokenize = {
    .name = "tokenize",
    .operands = "MODEL [TEXT|-]",
    .summary = "a text as token ids, tokens and byte ranges",
    .about = "Prints the tokens of a text with their ids and the bytes that they stand for. - "
             "reads standard input, byte "
             "for byte.",
    .examples = "headgate tokenize MODEL 'Hello, world'\n"
                "headgate tokenize MODEL - --only ids <text.txt",
    .operands_min = 1,
    .operands_max = 2,
    .options = tokenize_options,
    .run = run_tokenize,
};

static const hg_option_id detokenize_options[] = {
    HG_OPTION_IDS,
    HG_OPTION_NO_SPECIAL,
    HG_OPTION_JSON,
    HG_OPTION_END,
};

const hg_command hg_command_detokenize = {
    .name = "detokenize",
    .operands = "MODEL",
    .summary = "token ids as text",
    .about = "Prints the text that token ids stand for (bytes that are no UTF-8 as U+FFFD), "
             "without a newline after it when "
             "standard output is no "
             "terminal. --no-special leaves special tokens out.",
    .examples = "headgate detokenize MODEL --ids 1,2,3\n"
                "headgate tokenize MODEL - --only ids <text.txt | headgate detokenize MODEL --ids "
                "- --no-special",
    .operands_min = 1,
    .operands_max = 1,
    .options = detokenize_options,
    .run = run_detokenize,
};
