/* SPDX-License-Identifier: MIT */
/* An open tokenizer: from path to handle and back to nothing, and questions about single ids. */
#include "tokenizer_parts.h"

#include "check.h"
#include "file.h"
#include "params.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);

    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

hg_result hg_tokenizer_open_text(const hg_tokenizer_params *params, const void *text,
                                 uint64_t bytes, hg_tokenizer **out)
{
    hg_tokenizer *tokenizer = calloc(1, sizeof(*tokenizer));
    uint32_t rows = params->vocab_limit;
    hg_result res;

    *out = NULL;
    if (tokenizer)
        tokenizer->label = copy_text(params->path);
    if (!tokenizer || !tokenizer->label) {
        res = hg_fail(&params->log, HG_ERR_HOST_MEMORY, "%s: out of memory", params->path);
        goto out;
    }
    tokenizer->log = params->log;
    tokenizer->vocab_limit = rows;
    HG_TRY(hg_tokenizer_read(tokenizer, text, bytes));
    if (rows && hg_tokenizer_size(tokenizer) > rows)
        hg_say(&params->log, HG_LOG_WARNING,
               "%s: expected ids below %u, the rows of the model's embedding, found ids up to %u; "
               "a text that "
               "needs one of those is refused",
               tokenizer->label, rows, hg_tokenizer_size(tokenizer) - 1);
    *out = tokenizer;
    tokenizer = NULL;
out:
    hg_tokenizer_close(&tokenizer);
    return res;
}

hg_result hg_tokenizer_open(const hg_tokenizer_params *theirs, hg_tokenizer **out)
{
    hg_tokenizer_params named, *const params = &named;
    const char *given;
    hg_file file = {NULL, 0};
    char *path = NULL;
    hg_result res;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    hg_struct_in(&named, sizeof(named), theirs);
    if (!theirs || !params->path)
        return hg_fail(&named.log, HG_ERR_ARGUMENT,
                       "hg_tokenizer_open: expected a path, found none");
    given = params->path;
    path = hg_file_look(given) == HG_FILE_FOLDER ? hg_path_join(given, "tokenizer.json")
                                                 : copy_text(given);
    if (!path)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "%s: out of memory", given);
    named.path = path;
    HG_TRY(hg_file_map(&params->log, path, 0, &file));
    HG_TRY(hg_tokenizer_open_text(&named, file.data, file.bytes, out));
out:
    hg_file_unmap(&file);
    free(path);
    return res;
}

void hg_tokenizer_close(hg_tokenizer **tokenizer)
{
    hg_tokenizer *it;

    if (!tokenizer || !*tokenizer)
        return;
    it = *tokenizer;
    *tokenizer = NULL;
    hg_vocab_release(&it->vocab);
    hg_bpe_release(&it->bpe);
    hg_added_release(&it->added);
    hg_splitter_release(&it->splitter);
    hg_template_release(&it->frame);
    free(it->label);
    free(it);
}

uint32_t hg_tokenizer_size(const hg_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocab.id_count : 0;
}

const char *hg_tokenizer_token(const hg_tokenizer *tokenizer, int32_t id)
{
    return !tokenizer || id < 0 ? NULL : hg_vocab_token(&tokenizer->vocab, (uint32_t)id);
}

int hg_tokenizer_is_special(const hg_tokenizer *tokenizer, int32_t id)
{
    return tokenizer && id >= 0 &&
           (hg_added_flags(&tokenizer->added, (uint32_t)id) & HG_ADDED_SPECIAL) != 0;
}
