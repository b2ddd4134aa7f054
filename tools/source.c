/* SPDX-License-Identifier: MIT */
/* Finding and opening a model's files. */
#include "source.h"

#include "interrupt.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether two paths lead to the same file, links followed. */
static int same_file(const char *a, const struct stat *b)
{
    struct stat status;

    return stat(a, &status) == 0 && status.st_dev == b->st_dev && status.st_ino == b->st_ino;
}

hg_result hg_source_spare(const hg_source *source, const char *prompt_file, const char *target)
{
    static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                        "model.safetensors.index.json",
                                        "pytorch_model.bin.index.json"};
    struct stat status;
    const char *file;
    int found = 0;

    if (strcmp(target, "-") == 0 || stat(target, &status) != 0 || !S_ISREG(status.st_mode))
        return HG_OK;
    for (uint32_t i = 0; !found && source->checkpoint &&
                         (file = hg_checkpoint_file(source->checkpoint, i, NULL)) != NULL;
         i++)
        found = same_file(file, &status);
    for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
        char path[HG_PATH_SIZE + 64];

        snprintf(path, sizeof(path), "%s/%s", source->path, names[i]);
        found = same_file(path, &status);
    }
    if (!found && prompt_file && strcmp(prompt_file, "-") != 0)
        found = same_file(prompt_file, &status);
    if (!found)
        return HG_OK;
    return hg_message_fail(HG_ERR_ARGUMENT,
                           "%s is read by this command and would be replaced: name another output",
                           target);
}

const char *hg_gate_name(hg_gate_kind gate)
{
    switch (gate) {
    case HG_GATE_NONE:
        return "none";
    case HG_GATE_HEADWISE:
        return "headwise";
    case HG_GATE_ELEMENTWISE:
        return "elementwise";
    }
    return "unknown";
}

/* The last part of a path or of owner/name[@revision][:folder], without what a file name should not
 * hold. */
static void make_name(const char *spelling, int is_folder, char out[HG_NAME_SIZE])
{
    const char *ends = is_folder ? "/" : "/:";
    size_t end = strlen(spelling), begin;
    char *at = out;

    while (end > 1 && spelling[end - 1] == '/')
        end--;
    begin = end;
    while (begin > 0 && !strchr(ends, spelling[begin - 1]))
        begin--;
    for (size_t i = begin; i < end && at < out + HG_NAME_SIZE - 64; i++) {
        char c = spelling[i];

        if (!is_folder && c == '@')
            break;
        if ((unsigned char)c < 0x20 || c == 0x7f || c == '/')
            c = '_';
        *at++ = c;
    }
    *at = '\0';
    hg_message_defuse(out);
    if (out[0] == '\0')
        snprintf(out, HG_NAME_SIZE, "model");
}

hg_result hg_source_find(hg_app *app, const char *spelling, hg_source *out)
{
    struct stat status;
    int is_folder = stat(spelling, &status) == 0 && S_ISDIR(status.st_mode);
    char *real = is_folder ? realpath(spelling, NULL) : NULL;
    hg_result res;

    memset(out, 0, sizeof(*out));
    out->spelling = spelling;
    make_name(real ? real : spelling, is_folder, out->name); /* "." has the name of the folder */
    free(real);
    res = hg_model_resolve(&app->log, spelling, app->hub_dir[0] ? app->hub_dir : NULL, out->path,
                           sizeof(out->path));
    return res;
}

hg_result hg_source_open(hg_app *app, const char *spelling, hg_source *out)
{
    hg_checkpoint_params params = {.struct_size = sizeof(params), .log = app->log};
    hg_result res;

    res = hg_source_find(app, spelling, out);
    if (res != HG_OK)
        return res;
    params.path = out->path;
    res = hg_checkpoint_open(&params, &out->checkpoint);
    if (res != HG_OK)
        return res;
    out->info.struct_size = sizeof(out->info);
    hg_checkpoint_describe(out->checkpoint, &out->info);
    return hg_interrupt_check();
}

void hg_source_close(hg_source *source)
{
    hg_tokenizer_close(&source->tokenizer);
    hg_checkpoint_close(&source->checkpoint);
}

hg_result hg_source_tokenizer(hg_app *app, hg_source *source, int required)
{
    hg_tokenizer_params params = {.struct_size = sizeof(params)};
    char file[HG_PATH_SIZE + 16];
    struct stat status;
    hg_result res;

    if (source->tokenizer)
        return HG_OK;
    snprintf(file, sizeof(file), "%s/tokenizer.json", source->path);
    /* Whatever else is wrong with it (a link that leads nowhere, a folder) opening it tells. */
    if (lstat(file, &status) != 0 && errno == ENOENT) {
        if (!required)
            return HG_OK;
        return hg_message_fail(
            HG_ERR_FILE, "%s has no tokenizer.json, which a text needs; --ids works without it",
            source->path);
    }
    params.path = file;
    params.vocab_limit = source->checkpoint ? source->info.vocab : 0;
    params.log = required ? app->log : hg_message_log_lenient();
    res = hg_tokenizer_open(&params, &source->tokenizer);
    if (res != HG_OK && !required && res != HG_ERR_HOST_MEMORY)
        return HG_OK;
    return res;
}
