/* SPDX-License-Identifier: MIT */
/*
 * Ids to text: the bytes of the tokens one after the other, and U+FFFD where they are no UTF-8 (one
 * for each maximal subpart, as the Unicode standard recommends).
 */
#include "tokenizer_parts.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static hg_result gather_bytes(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                              uint32_t flags, hg_bytes *out)
{
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (!hg_tokenizer_token(tokenizer, ids[i]))
            return hg_fail(&tokenizer->log, HG_ERR_TEXT,
                           "%s: expected ids of tokens (below %u), found %d, which is none",
                           tokenizer->label, hg_tokenizer_size(tokenizer), (int)ids[i]);
        if ((flags & HG_DECODE_SKIP_SPECIAL) && hg_tokenizer_is_special(tokenizer, ids[i]))
            continue;
        if (!hg_vocab_bytes(&tokenizer->vocab, (uint32_t)ids[i], out))
            return hg_fail(&tokenizer->log, HG_ERR_HOST_MEMORY, "%s: out of memory while decoding",
                           tokenizer->label);
    }
    return HG_OK;
}

/* 0: out of memory */
static int repair(const hg_bytes *in, hg_bytes *out)
{
    size_t at = 0;

    while (at < in->count) {
        size_t valid = hg_utf8_check(in->data + at, in->count - at);
        uint32_t code;
        if (!hg_bytes_append(out, in->data + at, valid))
            return 0;
        at += valid;
        if (at == in->count)
            break;
        at += hg_utf8_next(in->data + at, in->count - at, &code);
        if (!hg_bytes_append(out, "\xEF\xBF\xBD", 3))
            return 0;
    }
    return hg_bytes_append(out, "", 1);
}

hg_result hg_tokenizer_decode(const hg_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                              uint32_t flags, char **text, size_t *bytes)
{
    hg_bytes raw = {0}, repaired = {0};
    hg_result res;

    if (!text || !bytes)
        return HG_ERR_ARGUMENT;
    *text = NULL;
    *bytes = 0;
    if (!tokenizer || (!ids && count) || (flags & ~(uint32_t)HG_DECODE_SKIP_SPECIAL))
        return HG_ERR_ARGUMENT;
    HG_TRY(gather_bytes(tokenizer, ids, count, flags, &raw));
    if (!repair(&raw, &repaired)) {
        res = hg_fail(&tokenizer->log, HG_ERR_HOST_MEMORY, "%s: out of memory while decoding",
                      tokenizer->label);
        goto out;
    }
    *text = repaired.data;
    *bytes = repaired.count - 1;
    repaired.data = NULL;
out:
    free(raw.data);
    free(repaired.data);
    return res;
}

void hg_text_free(char **text)
{
    if (!text)
        return;
    free(*text);
    *text = NULL;
}
