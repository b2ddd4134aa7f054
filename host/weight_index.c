/* SPDX-License-Identifier: MIT */
/*
 * The index of a sharded checkpoint. A shard is a file beside the index and nothing else: a name
 * with a folder in it would let a checkpoint read files of the machine that opens it.
 */
#include "weight_index.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

static int is_plain_name(const char *name)
{
    size_t length = strlen(name), i;

    if (length == 0 || length > 255 || name[0] == '.')
        return 0;
    for (i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == ':')
            return 0;
    }
    return 1;
}

static int order_places(const void *a, const void *b)
{
    return strcmp(((const hg_weight_place *)a)->tensor, ((const hg_weight_place *)b)->tensor);
}

static int order_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hg_result read_places(const hg_log *log, const char *path, const cJSON *map,
                             hg_weight_index *out)
{
    const cJSON *entry;

    for (entry = map->child; entry; entry = entry->next) {
        char found[96];

        if (!cJSON_IsString(entry))
            return hg_fail(log, HG_ERR_FILE,
                           "%s: weight_map: %.200s: expected the name of a file, found %s", path,
                           entry->string, hg_json_show(entry, found, sizeof(found)));
        if (!is_plain_name(entry->valuestring))
            return hg_fail(log, HG_ERR_FILE,
                           "%s: weight_map: %.200s: expected a file beside the index, found %s; "
                           "files elsewhere "
                           "are never read",
                           path, entry->string, hg_json_show(entry, found, sizeof(found)));
        out->shards[out->count] = entry->valuestring;
        out->places[out->count++] = (hg_weight_place){entry->string, entry->valuestring};
    }
    return HG_OK;
}

static void sort_places(hg_weight_index *index)
{
    uint32_t i, kept = 1;

    qsort(index->places, index->count, sizeof(*index->places), order_places);
    qsort(index->shards, index->count, sizeof(*index->shards), order_strings);
    for (i = 1; i < index->count; i++)
        if (strcmp(index->shards[i], index->shards[kept - 1]) != 0)
            index->shards[kept++] = index->shards[i];
    index->shard_count = kept;
}

hg_result hg_weight_index_read(const hg_log *log, const char *path, hg_weight_index *out)
{
    const hg_json_limits limits = {.bytes_max = (uint64_t)64 << 20};
    hg_json_from from = {log, path, NULL};
    const cJSON *map, *entry;
    size_t count = 0;
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(hg_json_read(log, path, &limits, &out->root));
    from.object = out->root;
    HG_TRY(hg_json_object(&from, "weight_map", &map));
    for (entry = map->child; entry; entry = entry->next)
        count++;
    if (count == 0) {
        res = hg_fail(log, HG_ERR_FILE,
                      "%s: weight_map is empty; expected the shard of every tensor", path);
        goto out;
    }
    out->places = malloc(count * sizeof(*out->places));
    out->shards = malloc(count * sizeof(*out->shards));
    if (!out->places || !out->shards) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory for %zu names", path, count);
        goto out;
    }
    HG_TRY(read_places(log, path, map, out));
    sort_places(out);
out:
    if (res != HG_OK)
        hg_weight_index_free(out);
    return res;
}

void hg_weight_index_free(hg_weight_index *index)
{
    cJSON_Delete(index->root);
    free(index->places);
    free(index->shards);
    memset(index, 0, sizeof(*index));
}
