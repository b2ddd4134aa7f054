/* SPDX-License-Identifier: MIT */
/*
 * The post-processor as the ids it puts before and after the text. Knows TemplateProcessing for one
 * text, ByteLevel (which moves offsets only) and a Sequence of these.
 */
#include "tokenizer_parts.h"

#include "check.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { TEMPLATE_IDS_MAX = 1024 };

typedef struct id_list {
    uint32_t *ids;
    size_t count, capacity;
} id_list;

typedef struct template_reader {
    const hg_log *log;
    const char *label;
    const hg_vocab *vocab;
    const cJSON *special; /* special_tokens of the template */
    id_list before, after;
} template_reader;

static hg_result push_id(template_reader *reader, id_list *list, uint32_t id)
{
    if (list->count == TEMPLATE_IDS_MAX)
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: post_processor: expected at most %d special tokens, found more",
                       reader->label, TEMPLATE_IDS_MAX);
    if (!hg_array_reserve(&list->ids, &list->capacity, list->count + 1, sizeof(*list->ids)))
        return hg_fail(reader->log, HG_ERR_HOST_MEMORY, "%s: out of memory for the post_processor",
                       reader->label);
    list->ids[list->count++] = id;
    return HG_OK;
}

static hg_result read_special(template_reader *reader, const cJSON *token, id_list *list)
{
    const hg_json_from from = {reader->log, reader->label, token};
    const cJSON *ids, *entry;
    const char *name;
    hg_result res;

    HG_TRY(hg_json_string(&from, "id", NULL, &name));
    ids = hg_json_find(hg_json_find(reader->special, name), "ids");
    if (!cJSON_IsArray(ids))
        return hg_fail(reader->log, HG_ERR_FILE,
                       "%s: post_processor: the template names \"%.100s\"; expected its ids in "
                       "special_tokens, "
                       "found none",
                       reader->label, name);
    for (entry = ids->child; entry; entry = entry->next) {
        int64_t id;
        if (!hg_json_to_integer(entry, 0, HG_TOKEN_ID_MAX, &id) ||
            !hg_vocab_token(reader->vocab, (uint32_t)id))
            return hg_fail(reader->log, HG_ERR_FILE,
                           "%s: post_processor: expected ids of tokens for \"%.100s\", found one "
                           "that is no token",
                           reader->label, name);
        HG_TRY(push_id(reader, list, (uint32_t)id));
    }
out:
    return res;
}

/* New tokens go outside those of an earlier processor. */
static hg_result wrap(template_reader *reader, const id_list *before, const id_list *after)
{
    id_list joined = {NULL, 0, 0};
    hg_result res = HG_OK;
    size_t i;

    for (i = 0; i < before->count; i++)
        HG_TRY(push_id(reader, &joined, before->ids[i]));
    for (i = 0; i < reader->before.count; i++)
        HG_TRY(push_id(reader, &joined, reader->before.ids[i]));
    for (i = 0; i < after->count; i++)
        HG_TRY(push_id(reader, &reader->after, after->ids[i]));
    free(reader->before.ids);
    reader->before = joined;
    joined = (id_list){NULL, 0, 0};
out:
    free(joined.ids);
    return res;
}

static hg_result read_template(template_reader *reader, const cJSON *node)
{
    const hg_json_from from = {reader->log, reader->label, node};
    id_list before = {NULL, 0, 0}, after = {NULL, 0, 0};
    const cJSON *single, *entry;
    uint32_t texts = 0;
    hg_result res;

    HG_TRY(hg_json_array(&from, "single", &single));
    reader->special = hg_json_find(node, "special_tokens");
    for (entry = single->child; entry; entry = entry->next) {
        const cJSON *token = hg_json_find(entry, "SpecialToken");
        const cJSON *name = hg_json_find(hg_json_find(entry, "Sequence"), "id");
        if (token) {
            HG_TRY(read_special(reader, token, texts ? &after : &before));
        } else if (cJSON_IsString(name) && strcmp(name->valuestring, "A") == 0) {
            texts++;
        } else {
            texts = 2;
        }
    }
    if (texts != 1) {
        res = hg_fail(
            reader->log, HG_ERR_FILE,
            "%s: post_processor: expected special tokens and the sequence A once in single, found "
            "something else",
            reader->label);
        goto out;
    }
    res = wrap(reader, &before, &after);
out:
    free(before.ids);
    free(after.ids);
    return res;
}

static hg_result read_processor(template_reader *reader, const cJSON *node)
{
    const char *kind = hg_tokenizer_kind(node);

    if (strcmp(kind, "ByteLevel") == 0)
        return HG_OK;
    if (strcmp(kind, "TemplateProcessing") == 0)
        return read_template(reader, node);
    return hg_fail(
        reader->log, HG_ERR_FILE,
        "%s: post_processor: %.60s is not supported, only TemplateProcessing and ByteLevel",
        reader->label, kind);
}

hg_result hg_template_read(const hg_log *log, const char *label, const cJSON *node,
                           const hg_vocab *vocab, hg_template *out)
{
    template_reader reader = {log, label, vocab, NULL, {NULL, 0, 0}, {NULL, 0, 0}};
    const cJSON *part;
    hg_result res = HG_OK;

    if (!node || cJSON_IsNull(node))
        return HG_OK;
    if (strcmp(hg_tokenizer_kind(node), "Sequence") == 0) {
        const hg_json_from from = {log, label, node};
        const cJSON *list;
        HG_TRY(hg_json_array(&from, "processors", &list));
        for (part = list->child; part; part = part->next)
            HG_TRY(read_processor(&reader, part));
    } else {
        HG_TRY(read_processor(&reader, node));
    }
out:
    out->before = reader.before.ids;
    out->before_count = (uint32_t)reader.before.count;
    out->after = reader.after.ids;
    out->after_count = (uint32_t)reader.after.count;
    return res;
}

void hg_template_release(hg_template *frame)
{
    free(frame->before);
    free(frame->after);
    *frame = (hg_template){0};
}
