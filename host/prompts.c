/* SPDX-License-Identifier: MIT */
/* Lists of prompts, a JSON value a line: what a line may say, and sentences that name the line. */
#include <headgate/prompts.h>

#include "check.h"
#include "json.h"
#include "params.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 1 << 20, LABEL_BYTES = 512, KEYS_BYTES = 160 };

typedef struct entry {
    uint64_t line, text_bytes;
    char *name, *text;
    int32_t *ids;
    uint32_t id_count, no_special;
} entry;

struct hg_prompt_list {
    entry *entries;
    uint32_t count, room;
};

/* Where a line is read to. */
typedef struct reader {
    const hg_log *log;
    const char *label; /* "prompts.jsonl: line 3" */
    entry *to;
} reader;

static hg_result no_memory(const reader *r)
{
    return hg_fail(r->log, HG_ERR_HOST_MEMORY, "%s: out of memory", r->label);
}

static hg_result copy_text(const reader *r, const char *text, char **out)
{
    const size_t bytes = strlen(text);

    *out = malloc(bytes + 1);
    if (!*out)
        return no_memory(r);
    memcpy(*out, text, bytes + 1);
    return HG_OK;
}

static hg_result read_ids(const reader *r, const cJSON *array)
{
    const cJSON *value;
    uint32_t count = 0;
    int64_t id;

    for (value = array->child; value; value = value->next)
        count++;
    if (count == 0)
        return hg_fail(r->log, HG_ERR_FILE, "%s: expected at least one token id, found []",
                       r->label);
    r->to->ids = malloc((size_t)count * sizeof(*r->to->ids));
    if (!r->to->ids)
        return no_memory(r);
    for (value = array->child; value; value = value->next) {
        char found[96];

        if (!hg_json_to_integer(value, 0, INT32_MAX, &id))
            return hg_fail(r->log, HG_ERR_FILE,
                           "%s: ids: expected a token id (a whole number from 0) at place %u, "
                           "found %s",
                           r->label, r->to->id_count, hg_json_show(value, found, sizeof(found)));
        r->to->ids[r->to->id_count++] = (int32_t)id;
    }
    return HG_OK;
}

static hg_result read_text(const reader *r, const char *text)
{
    const hg_result res = copy_text(r, text, &r->to->text);

    r->to->text_bytes = res == HG_OK ? strlen(text) : 0;
    return res;
}

/* "name", else "id", which data sets number, too. */
static hg_result read_name(const reader *r, const hg_json_from *from)
{
    const cJSON *number = hg_json_find(from->object, "id");
    const char *name = NULL;
    char digits[32];
    int64_t id;
    hg_result res = HG_OK;

    if (hg_json_find(from->object, "name")) {
        HG_TRY(hg_json_string(from, "name", NULL, &name));
    } else if (hg_json_to_integer(number, INT64_MIN, INT64_MAX, &id)) {
        snprintf(digits, sizeof(digits), "%lld", (long long)id);
        name = digits;
    } else if (cJSON_IsString(number)) {
        name = number->valuestring;
    } else if (number) {
        return hg_fail(r->log, HG_ERR_FILE, "%s: id: expected a string or a whole number, found %s",
                       r->label, hg_json_show(number, digits, sizeof(digits)));
    }
    if (name && *name)
        res = copy_text(r, name, &r->to->name);
out:
    return res;
}

/* The keys of an object that has none of ours: mostly a misspelt one. */
static const char *show_keys(const cJSON *object, char *keys, size_t size)
{
    size_t used = 0;

    snprintf(keys, size, "no key");
    for (const cJSON *child = object->child; child && used < size; child = child->next)
        used += (size_t)snprintf(keys + used, size - used, "%s\"%.40s\"", used ? ", " : "",
                                 child->string);
    return keys;
}

static hg_result read_object(const reader *r, const cJSON *object)
{
    static const int yes = 1;
    const hg_json_from from = {r->log, r->label, object};
    const int prompt = hg_json_find(object, "prompt") != NULL;
    const int text = hg_json_find(object, "text") != NULL;
    const int ids = hg_json_find(object, "ids") != NULL;
    const cJSON *array;
    const char *value;
    char keys[KEYS_BYTES];
    int special;
    hg_result res = HG_OK;

    if (prompt + text + ids != 1)
        return hg_fail(r->log, HG_ERR_FILE,
                       "%s: expected one of the keys \"prompt\" (a text) and \"ids\" (a list of "
                       "token ids), found %s",
                       r->label, show_keys(object, keys, sizeof(keys)));
    HG_TRY(read_name(r, &from));
    HG_TRY(hg_json_bool(&from, "special", &yes, &special));
    r->to->no_special = special ? 0 : 1;
    if (ids) {
        HG_TRY(hg_json_array(&from, "ids", &array));
        HG_TRY(read_ids(r, array));
    } else {
        HG_TRY(hg_json_string(&from, prompt ? "prompt" : "text", NULL, &value));
        HG_TRY(read_text(r, value));
    }
out:
    return res;
}

/* A value that goes on in the next line is an array or an object over several lines: another file
 * form, and a sentence about its first line would not say so. */
static int is_opening(const char *text, uint64_t bytes)
{
    while (bytes && (*text == ' ' || *text == '\t')) {
        text++;
        bytes--;
    }
    while (bytes && (text[bytes - 1] == ' ' || text[bytes - 1] == '\t' || text[bytes - 1] == '\r'))
        bytes--;
    return bytes == 1 && (*text == '[' || *text == '{');
}

static hg_result read_line(const reader *r, const char *text, uint64_t bytes)
{
    const hg_json_limits limits = {.one_line = 1};
    cJSON *value = NULL;
    char found[96];
    hg_result res = HG_OK;

    if (is_opening(text, bytes))
        return hg_fail(r->log, HG_ERR_FILE,
                       "%s: expected a whole JSON value on each line (JSON Lines), found one that "
                       "goes on in the next; `jq -c '.[]'` makes lines of a list",
                       r->label);
    HG_TRY(hg_json_parse(r->log, r->label, text, bytes, &limits, &value));
    if (cJSON_IsObject(value))
        res = read_object(r, value);
    else if (cJSON_IsArray(value))
        res = read_ids(r, value);
    else if (cJSON_IsString(value))
        res = read_text(r, value->valuestring);
    else
        res = hg_fail(r->log, HG_ERR_FILE,
                      "%s: expected {\"prompt\": \"...\"} or {\"ids\": [...]}, found %s", r->label,
                      hg_json_show(value, found, sizeof(found)));
out:
    cJSON_Delete(value);
    return res;
}

/* A new entry at the end, zeroed. NULL: no memory. */
static entry *append(hg_prompt_list *list)
{
    if (list->count == list->room) {
        const uint32_t room = list->room ? list->room * 2 : 64;
        entry *grown = realloc(list->entries, (size_t)room * sizeof(*grown));

        if (!grown)
            return NULL;
        list->entries = grown;
        list->room = room;
    }
    memset(&list->entries[list->count], 0, sizeof(*list->entries));
    return &list->entries[list->count++];
}

static int is_blank(const char *text, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return 0;
    return 1;
}

static hg_result read_lines(const hg_prompt_list_params *params, const char *name, const char *text,
                            uint64_t bytes, hg_prompt_list *list)
{
    uint64_t line = 0;
    hg_result res = HG_OK;

    while (bytes > 0 && res == HG_OK) {
        const char *end = memchr(text, '\n', (size_t)bytes);
        const uint64_t length = end ? (uint64_t)(end - text) : bytes;
        char label[LABEL_BYTES];
        reader r = {&params->log, label, NULL};

        snprintf(label, sizeof(label), "%.400s: line %llu", name, (unsigned long long)++line);
        if (!is_blank(text, length)) {
            if (list->count == ENTRIES_MAX)
                return hg_fail(&params->log, HG_ERR_FILE,
                               "%s: expected at most %d prompts, found more", label, ENTRIES_MAX);
            r.to = append(list);
            if (!r.to)
                return no_memory(&r);
            r.to->line = line;
            res = read_line(&r, text, length);
        }
        text += end ? length + 1 : length;
        bytes -= end ? length + 1 : length;
    }
    return res;
}

hg_result hg_prompt_list_parse(const hg_prompt_list_params *theirs, const void *text,
                               uint64_t bytes, hg_prompt_list **out)
{
    hg_prompt_list_params params;
    const char *from = text, *name;
    hg_prompt_list *list = NULL;
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    hg_struct_in(&params, sizeof(params), theirs);
    if (!text && bytes)
        return HG_ERR_ARGUMENT;
    name = params.label ? params.label : "prompts";
    list = calloc(1, sizeof(*list));
    if (!list)
        return hg_fail(&params.log, HG_ERR_HOST_MEMORY, "%s: out of memory", name);
    if (bytes >= 3 &&
        memcmp(from, "\xEF\xBB\xBF", 3) == 0) { /* editors of one system put it there */
        from += 3;
        bytes -= 3;
    }
    HG_TRY(read_lines(&params, name, from, bytes, list));
    if (list->count == 0) {
        res =
            hg_fail(&params.log, HG_ERR_FILE,
                    "%.400s: expected prompts, one a line such as {\"prompt\": \"a text\"}; found "
                    "none",
                    name);
        goto out;
    }
    *out = list;
    list = NULL;
out:
    hg_prompt_list_free(&list);
    return res;
}

void hg_prompt_list_free(hg_prompt_list **list)
{
    hg_prompt_list *l = list ? *list : NULL;

    if (!l)
        return;
    for (uint32_t i = 0; i < l->count; i++) {
        free(l->entries[i].name);
        free(l->entries[i].text);
        free(l->entries[i].ids);
    }
    free(l->entries);
    free(l);
    *list = NULL;
}

uint32_t hg_prompt_list_count(const hg_prompt_list *list)
{
    return list ? list->count : 0;
}

hg_result hg_prompt_list_at(const hg_prompt_list *list, uint32_t index, hg_prompt_entry *out)
{
    hg_prompt_entry own = {0};
    const entry *e;

    if (!list || !out || index >= list->count)
        return HG_ERR_ARGUMENT;
    e = &list->entries[index];
    own = (hg_prompt_entry){.line = e->line,
                            .name = e->name,
                            .text = e->text,
                            .text_bytes = e->text_bytes,
                            .ids = e->ids,
                            .id_count = e->id_count,
                            .no_special = e->no_special};
    hg_struct_out(out, &own, sizeof(own));
    return HG_OK;
}
