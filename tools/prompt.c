/* SPDX-License-Identifier: MIT */
/* Reading a prompt. */
#include "prompt.h"

#include "interrupt.h"
#include "message.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Far more text than a session can hold; keeps a mistaken file (weights, a device) from filling the
 * memory. */
enum { TEXT_MAX_MIB = 64, TEXT_MAX_BYTES = TEXT_MAX_MIB << 20, READ_BYTES = 65536 };

static hg_result read_all(int fd, const char *name, char **text, size_t *bytes)
{
    size_t room = 0, used = 0;
    char *data = NULL;
    hg_result res = HG_OK;

    for (;;) {
        ssize_t count;

        if (room - used < READ_BYTES) {
            char *grown;

            room = room ? room * 2 : 2 * READ_BYTES;
            grown = realloc(data, room + 1);
            if (!grown) {
                res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory while reading %s", name);
                break;
            }
            data = grown;
        }
        count = read(fd, data + used, READ_BYTES);
        if (count < 0 && errno == EINTR && !hg_interrupt_pending())
            continue;
        res = hg_interrupt_check();
        if (res != HG_OK)
            break;
        if (count < 0) {
            res = hg_message_fail(HG_ERR_FILE, "cannot read %s: %s", name, strerror(errno));
            break;
        }
        used += (size_t)count;
        if (used > TEXT_MAX_BYTES) {
            res = hg_message_fail(HG_ERR_TEXT, "%s is larger than %d MiB, the most a prompt may be",
                                  name, TEXT_MAX_MIB);
            break;
        }
        if (count == 0)
            break;
    }
    if (res != HG_OK) {
        free(data);
        return res;
    }
    data[used] = '\0';
    *text = data;
    *bytes = used;
    return HG_OK;
}

hg_result hg_prompt_slurp(const char *path, char **text, size_t *bytes)
{
    int standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    hg_result res;

    *text = NULL;
    *bytes = 0;
    if (fd < 0 && errno == EINTR && hg_interrupt_pending())
        return HG_CANCELLED;
    if (fd < 0)
        return hg_message_fail(HG_ERR_FILE, "cannot read %s: %s", path, strerror(errno));
    if (standard && isatty(STDIN_FILENO))
        hg_message_note("reading from the terminal; end with Ctrl-D");
    res = read_all(fd, standard ? "standard input" : path, text, bytes);
    if (!standard)
        close(fd);
    return res;
}

hg_result hg_prompt_ids(const char *value, int32_t **ids, uint32_t *count)
{
    const char *reason, *from = value;
    char *text = NULL;
    size_t bytes = strlen(value);
    hg_result res;

    *ids = NULL;
    *count = 0;
    if (strcmp(value, "-") == 0) {
        res = hg_prompt_slurp("-", &text, &bytes);
        if (res != HG_OK)
            return res;
        from = text;
    }
    res = hg_ids_parse(from, bytes, ids, count, &reason);
    if (res != HG_OK) {
        res = hg_message_fail(res, "--ids: %s", reason);
    } else if (*count == 0) {
        free(*ids);
        *ids = NULL;
        res = hg_message_fail(HG_ERR_TEXT,
                              "--ids: there is no id in it; expected token ids such as 1,2,3");
    }
    free(text);
    return res;
}

static hg_result check_ids(const hg_source *source, const int32_t *ids, uint32_t count)
{
    if (!source->checkpoint)
        return HG_OK;
    for (uint32_t i = 0; i < count; i++) {
        if ((uint32_t)ids[i] >= source->info.vocab)
            return hg_message_fail(HG_ERR_TEXT,
                                   "the token at position %u has the id %d; the vocabulary of %s "
                                   "ends at %u",
                                   i, (int)ids[i], source->name, source->info.vocab - 1);
    }
    return HG_OK;
}

hg_result hg_prompt_encode(hg_app *app, hg_source *source, int no_special, hg_prompt *out)
{
    uint32_t flags =
        no_special || hg_args_count(app->args, HG_OPTION_NO_SPECIAL) ? HG_ENCODE_NO_SPECIAL : 0;
    hg_result res;

    res = hg_source_tokenizer(app, source, 1);
    if (res != HG_OK)
        return res;
    res = hg_tokenizer_encode(source->tokenizer, out->text, out->bytes, flags, &out->encoding);
    if (res != HG_OK)
        return res;
    out->ids = out->encoding->ids;
    out->count = out->encoding->count;
    return HG_OK;
}

/* "--prompt TEXT, --prompt-file FILE or --ids LIST", as far as the command takes them. */
static hg_result fail_prompt(const hg_args *args, int given)
{
    static const hg_option_id ids[] = {HG_OPTION_PROMPT, HG_OPTION_PROMPT_FILE, HG_OPTION_IDS,
                                       HG_OPTION_PROMPTS};
    const char *gap = "";
    char ways[128] = "";
    size_t length = 0;

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const hg_option *row = hg_option_row(ids[i]);

        if (!hg_args_takes(args->command, ids[i]))
            continue;
        length += (size_t)snprintf(ways + length, sizeof(ways) - length, "%s--%s %s", gap,
                                   row->name, row->value);
        gap = " or ";
    }
    return hg_message_fail(HG_ERR_ARGUMENT, "%s needs %s: %s", args->command->name,
                           given ? "only one prompt" : "a prompt", ways);
}

/* The one source among operand, --prompt, --prompt-file and --ids. */
static hg_result find_text(hg_app *app, const char *operand, hg_prompt *out)
{
    const char *prompt = hg_args_value(app->args, HG_OPTION_PROMPT);
    const char *file = hg_args_value(app->args, HG_OPTION_PROMPT_FILE);
    const char *ids = hg_args_value(app->args, HG_OPTION_IDS);
    int given = (operand != NULL) + (prompt != NULL) + (file != NULL) + (ids != NULL);

    if (given != 1 || hg_args_count(app->args, HG_OPTION_PROMPTS))
        return fail_prompt(app->args, given);
    if (ids) {
        hg_result res = hg_prompt_ids(ids, &out->own_ids, &out->count);

        out->ids = out->own_ids;
        return res;
    }
    if (file || (operand && strcmp(operand, "-") == 0))
        return hg_prompt_slurp(file ? file : "-", &out->text, &out->bytes);
    if (!prompt)
        prompt = operand;
    out->bytes = strlen(prompt);
    out->text = malloc(out->bytes + 1);
    if (!out->text)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    memcpy(out->text, prompt, out->bytes + 1);
    return HG_OK;
}

hg_result hg_prompt_read(hg_app *app, hg_source *source, const char *text, hg_prompt *out)
{
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(find_text(app, text, out));
    if (out->own_ids)
        HG_TRY(hg_source_tokenizer(app, source, 0)); /* for labels alone */
    else
        HG_TRY(hg_prompt_encode(app, source, 0, out));
    if (out->count == 0 && source->checkpoint) {
        res = hg_message_fail(HG_ERR_TEXT, "the prompt is empty: it has no token at all");
        goto out;
    }
    HG_TRY(check_ids(source, out->ids, out->count));
    if (source->checkpoint && out->count > source->info.max_positions)
        hg_message(HG_LOG_WARNING, "the prompt has %u tokens; %s was made for %u", out->count,
                   source->name, source->info.max_positions);
    HG_TRY(hg_labels_create(source->tokenizer, out->ids, out->count, &out->labels));
out:
    if (res != HG_OK)
        hg_prompt_free(out);
    return res;
}

hg_result hg_prompt_take(hg_source *source, const int32_t *ids, uint32_t count, hg_prompt *out)
{
    hg_result res;

    memset(out, 0, sizeof(*out));
    out->own_ids = malloc(((size_t)count + 1) * sizeof(*ids));
    if (!out->own_ids)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for %u ids", count);
    memcpy(out->own_ids, ids, count * sizeof(*ids));
    out->ids = out->own_ids;
    out->count = count;
    HG_TRY(check_ids(source, out->ids, count));
    HG_TRY(hg_labels_create(source->tokenizer, out->ids, count, &out->labels));
out:
    if (res != HG_OK)
        hg_prompt_free(out);
    return res;
}

void hg_prompt_free(hg_prompt *prompt)
{
    hg_labels_free(&prompt->labels);
    hg_encoding_free(&prompt->encoding);
    free(prompt->own_ids);
    free(prompt->text);
    memset(prompt, 0, sizeof(*prompt));
}
