/* SPDX-License-Identifier: MIT */
/*
 * tokenizer.json: which parts it has, in which order they are read, and which kinds of tokenizer
 * are left to others. The parts themselves are read by the sources that use them.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <string.h>

const char *hg_tokenizer_kind(const cJSON *node)
{
    const cJSON *type = hg_json_find(node, "type");

    if (cJSON_IsString(type))
        return type->valuestring;
    if (!node || cJSON_IsNull(node))
        return "null";
    return cJSON_IsObject(node) ? "an object without type" : "something else than an object";
}

static hg_result read_normalizer(const hg_log *log, const char *label, const cJSON *node,
                                 uint32_t *nfc)
{
    const char *kind = hg_tokenizer_kind(node);
    const cJSON *part;

    if (!node || cJSON_IsNull(node))
        return HG_OK;
    if (strcmp(kind, "NFC") == 0) {
        *nfc = 1;
        return HG_OK;
    }
    if (strcmp(kind, "Sequence") == 0 && cJSON_IsArray(hg_json_find(node, "normalizers"))) {
        for (part = hg_json_find(node, "normalizers")->child; part; part = part->next) {
            kind = hg_tokenizer_kind(part);
            if (strcmp(kind, "NFC") != 0)
                break;
            *nfc = 1;
        }
        if (!part)
            return HG_OK;
    }
    return hg_fail(log, HG_ERR_FILE, "%s: normalizer: %.60s is not supported, only NFC", label,
                   kind);
}

static hg_result check_decoder(const hg_log *log, const char *label, const cJSON *node)
{
    const char *kind = hg_tokenizer_kind(node);
    const cJSON *part;

    if (!node || cJSON_IsNull(node) || strcmp(kind, "ByteLevel") == 0)
        return HG_OK;
    if (strcmp(kind, "Sequence") == 0 && cJSON_IsArray(hg_json_find(node, "decoders"))) {
        for (part = hg_json_find(node, "decoders")->child; part; part = part->next) {
            kind = hg_tokenizer_kind(part);
            if (strcmp(kind, "ByteLevel") != 0)
                break;
        }
        if (!part)
            return HG_OK;
    }
    return hg_fail(log, HG_ERR_FILE, "%s: decoder: %.60s is not supported, only ByteLevel", label,
                   kind);
}

/* The model's object, of the one kind that is supported. Files of the first years lack its type. */
static hg_result find_model(const hg_log *log, const char *label, const cJSON *root,
                            const cJSON **out)
{
    const cJSON *model = hg_json_find(root, "model");
    const cJSON *type = hg_json_find(model, "type");

    if (!cJSON_IsObject(model))
        return hg_fail(log, HG_ERR_FILE, "%s: expected an object \"model\", found none", label);
    if (type ? strcmp(hg_tokenizer_kind(model), "BPE") != 0 : !hg_json_find(model, "merges"))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: the tokenizer is of the kind %.60s; only byte-level BPE is supported",
                       label, hg_tokenizer_kind(model));
    *out = model;
    return HG_OK;
}

static hg_result read_parts(hg_tokenizer *tokenizer, const cJSON *root)
{
    const hg_log *log = &tokenizer->log;
    const char *label = tokenizer->label;
    const cJSON *model = NULL, *entries = NULL;
    hg_json_from from = {log, label, NULL};
    hg_result res;

    HG_TRY(find_model(log, label, root, &model));
    from.object = model;
    HG_TRY(hg_json_object(&from, "vocab", &entries));
    HG_TRY(hg_vocab_read(log, label, entries, &tokenizer->vocab));
    HG_TRY(hg_bpe_read(log, label, model, &tokenizer->vocab, &tokenizer->bpe));
    HG_TRY(read_normalizer(log, label, hg_json_find(root, "normalizer"), &tokenizer->nfc));
    HG_TRY(hg_splitter_read(log, label, hg_json_find(root, "pre_tokenizer"), &tokenizer->splitter));
    HG_TRY(check_decoder(log, label, hg_json_find(root, "decoder")));
    HG_TRY(hg_added_read(log, label, hg_json_find(root, "added_tokens"), tokenizer->nfc != 0,
                         &tokenizer->vocab, &tokenizer->added));
    HG_TRY(hg_template_read(log, label, hg_json_find(root, "post_processor"), &tokenizer->vocab,
                            &tokenizer->frame));
out:
    return res;
}

hg_result hg_tokenizer_read(hg_tokenizer *tokenizer, const void *text, uint64_t bytes)
{
    cJSON *root;
    hg_result res = hg_json_parse(&tokenizer->log, tokenizer->label, text, bytes, NULL, &root);

    if (res == HG_OK)
        res = read_parts(tokenizer, root);
    cJSON_Delete(root);
    return res;
}
