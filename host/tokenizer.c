/* SPDX-License-Identifier: MIT */
/* An open tokenizer: from path to handle and back to nothing, and questions about single ids. */
#include "tokenizer_parts.h"

#include "check.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>

static hg_result find_file(const hg_log *log, const char *path, char **out)
{
    if (hg_file_look(path) == HG_FILE_FOLDER) {
        *out = hg_path_join(path, "tokenizer.json");
    } else {
        *out = malloc(strlen(path) + 1);
        if (*out)
            memcpy(*out, path, strlen(path) + 1);
    }
    return *out ? HG_OK : hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory", path);
}

hg_result hg_tokenizer_open(const hg_tokenizer_params *params, hg_tokenizer **out)
{
    hg_tokenizer *tokenizer = NULL;
    uint32_t rows;
    hg_result res;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    if (!params || !params->path)
        return HG_ERR_ARGUMENT;
    tokenizer = calloc(1, sizeof(*tokenizer));
    if (!tokenizer)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "%s: out of memory", params->path);
    tokenizer->log = params->log;
    tokenizer->vocab_limit = params->vocab_limit;
    HG_TRY(find_file(&params->log, params->path, &tokenizer->label));
    HG_TRY(hg_tokenizer_read(tokenizer));
    rows = params->vocab_limit;
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
    return tokenizer->vocab.id_count;
}

const char *hg_tokenizer_token(const hg_tokenizer *tokenizer, int32_t id)
{
    return id < 0 ? NULL : hg_vocab_token(&tokenizer->vocab, (uint32_t)id);
}

int hg_tokenizer_is_special(const hg_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (hg_added_flags(&tokenizer->added, (uint32_t)id) & HG_ADDED_SPECIAL) != 0;
}
