/* SPDX-License-Identifier: MIT */
/* Finds, maps and reads the weight files of a folder, and unrolls strided views. */
#include "weight_files.h"

#include "check.h"
#include "safetensors.h"
#include "torch_file.h"
#include "weight_index.h"

#include <stdlib.h>
#include <string.h>

static hg_result say_memory(const hg_log *log)
{
    return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for the list of weight files");
}

/* Files that are none of the formats we read, but that people have. */
static hg_result judge_format(const hg_log *log, const char *path, const hg_file *file)
{
    const uint8_t *d = file->data;

    if (file->bytes >= 4 && memcmp(d, "GGUF", 4) == 0)
        return hg_fail(log, HG_ERR_FILE,
                       "%s: this is a GGUF file; expected safetensors or pytorch_model.bin", path);
    if (file->bytes >= 2 && d[0] == 0x80 && d[1] >= 2 && d[1] <= 5)
        return hg_fail(log, HG_ERR_FILE,
                       "%s: this is the format that torch wrote before version 1.6; load it with "
                       "torch and save "
                       "it again with torch.save or safetensors",
                       path);
    return hg_fail(log, HG_ERR_FILE,
                   "%s: neither a zip archive of torch.save nor a safetensors file; is it whole?",
                   path);
}

static int ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a >= b && strcmp(text + a - b, end) == 0;
}

static hg_result read_file(const hg_log *log, hg_weight_files *files, uint32_t index)
{
    const char *path = files->paths[index];
    const hg_file *file = &files->files[index];
    hg_result res = hg_file_judge(log, path, file);

    if (res != HG_OK)
        return res;
    if (hg_torch_is(file->data, file->bytes))
        return hg_torch_read(log, path, file, index, &files->table);
    if (hg_safetensors_is(file->data, file->bytes) || ends_with(path, ".safetensors"))
        return hg_safetensors_read(log, path, file, index, &files->table);
    return judge_format(log, path, file);
}

/* Maps and reads folder/name. */
static hg_result add_file(const hg_log *log, hg_weight_files *files, const char *folder,
                          const char *name)
{
    uint32_t index = files->count;
    hg_result res;

    if (files->count == files->room) {
        uint32_t room = files->room ? files->room * 2 : 8;
        char **paths = realloc(files->paths, room * sizeof(*paths));
        hg_file *mapped;

        if (!paths)
            return say_memory(log);
        files->paths = paths;
        mapped = realloc(files->files, room * sizeof(*mapped));
        if (!mapped)
            return say_memory(log);
        files->files = mapped;
        files->room = room;
    }
    files->paths[index] = hg_path_join(folder, name);
    if (!files->paths[index])
        return say_memory(log);
    files->files[index] = (hg_file){NULL, 0};
    files->count++;
    HG_TRY(hg_file_map(log, files->paths[index], 0, &files->files[index]));
    res = read_file(log, files, index);
out:
    return res;
}

static hg_result say_twice(const hg_log *log, const hg_weight_files *files, uint32_t a, uint32_t b)
{
    const hg_tensor *x = &files->table.items[a], *y = &files->table.items[b];

    if (x->file == y->file)
        return hg_fail(log, HG_ERR_FILE, "%s: tensor %.200s is there twice", files->paths[x->file],
                       x->name);
    return hg_fail(log, HG_ERR_FILE,
                   "tensor %.200s is both in %s and in %s; which one counts cannot be told",
                   x->name, files->paths[x->file], files->paths[y->file]);
}

static const hg_weight_place *find_place(const hg_weight_index *index, const char *tensor)
{
    uint32_t begin = 0, end = index ? index->count : 0;

    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        int order = strcmp(index->places[middle].tensor, tensor);

        if (order == 0)
            return &index->places[middle];
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* Of a name that several shards hold, the one that the index names comes first; without such a one
 * it is an error. */
static hg_result settle_repeats(const hg_log *log, hg_weight_files *files,
                                const hg_weight_index *index)
{
    hg_tensor_table *table = &files->table;
    uint32_t i, first = 0;

    for (i = 1; i < table->count; i++) {
        const hg_tensor *kept = &table->items[table->sorted[first]];
        const hg_tensor *next = &table->items[table->sorted[i]];
        const hg_weight_place *place;

        if (strcmp(kept->name, next->name) != 0) {
            first = i;
            continue;
        }
        place = find_place(index, kept->name);
        if (!place || kept->file == next->file)
            return say_twice(log, files, table->sorted[first], table->sorted[i]);
        if (strcmp(strrchr(files->paths[next->file], '/') + 1, place->shard) == 0) {
            uint32_t swap = table->sorted[first];

            table->sorted[first] = table->sorted[i];
            table->sorted[i] = swap;
        }
    }
    return HG_OK;
}

static hg_result check_index(const hg_log *log, const hg_weight_files *files,
                             const hg_weight_index *index)
{
    uint32_t i;

    for (i = 0; i < index->count; i++)
        if (!hg_tensor_table_find(&files->table, index->places[i].tensor, NULL))
            return hg_fail(
                log, HG_ERR_FILE,
                "tensor %.200s is in the index, but in none of the %u shards; fetch %.200s again",
                index->places[i].tensor, index->shard_count, index->places[i].shard);
    return HG_OK;
}

static hg_result open_shards(const hg_log *log, const char *folder, const char *name,
                             hg_weight_files *files)
{
    char *path = hg_path_join(folder, name);
    hg_weight_index index = {0};
    uint32_t i;
    hg_result res;

    if (!path)
        return say_memory(log);
    HG_TRY(hg_weight_index_read(log, path, &index));
    for (i = 0; i < index.shard_count; i++)
        HG_TRY(add_file(log, files, folder, index.shards[i]));
    HG_TRY(hg_tensor_table_sort(log, &files->table));
    HG_TRY(settle_repeats(log, files, &index));
    res = check_index(log, files, &index);
out:
    hg_weight_index_free(&index);
    free(path);
    return res;
}

/* The first of these names that is in the folder; count when none is. */
static hg_result find_first(const hg_log *log, const char *folder, const char *const *names,
                            size_t count, size_t *found)
{
    for (*found = 0; *found < count; ++*found) {
        char *path = hg_path_join(folder, names[*found]);
        hg_file_kind kind;

        if (!path)
            return say_memory(log);
        kind = hg_file_look(path);
        free(path);
        if (kind != HG_FILE_MISSING)
            break;
    }
    return HG_OK;
}

hg_result hg_weight_files_open(const hg_log *log, const char *folder, hg_weight_files *out)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    size_t i;
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(find_first(log, folder, names, count, &i));
    if (i == count)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: no weights: expected model.safetensors, pytorch_model.bin, or an index "
            "(model.safetensors.index.json, pytorch_model.bin.index.json), found none of them",
            folder);
    if (i % 2) {
        HG_TRY(open_shards(log, folder, names[i], out));
    } else {
        HG_TRY(add_file(log, out, folder, names[i]));
        HG_TRY(hg_tensor_table_sort(log, &out->table));
        HG_TRY(settle_repeats(log, out, NULL));
    }
out:
    if (res != HG_OK)
        hg_weight_files_close(out);
    return res;
}

void hg_weight_files_close(hg_weight_files *files)
{
    uint32_t i;

    for (i = 0; i < files->count; i++) {
        free(files->paths[i]);
        hg_file_unmap(&files->files[i]);
    }
    for (i = 0; i < files->copy_count; i++)
        free(files->copies[i]);
    free(files->paths);
    free(files->files);
    free(files->copies);
    hg_tensor_table_free(&files->table);
    memset(files, 0, sizeof(*files));
}

hg_weight_files *hg_weight_files_share(hg_weight_files *files)
{
    atomic_fetch_add(&files->users, 1);
    return files;
}

void hg_weight_files_leave(hg_weight_files **files)
{
    hg_weight_files *f = *files;

    *files = NULL;
    if (!f || atomic_fetch_sub(&f->users, 1) != 0)
        return;
    hg_weight_files_close(f);
    free(f);
}

uint64_t hg_weight_files_bytes(const hg_weight_files *files)
{
    uint64_t bytes = 0;
    uint32_t i;

    for (i = 0; i < files->count; i++)
        bytes += files->files[i].bytes;
    return bytes;
}

hg_result hg_weight_files_contiguous(const hg_log *log, hg_weight_files *files,
                                     const hg_tensor *tensor, const uint8_t **data)
{
    uint8_t **copies, *copy;

    *data = tensor->data;
    if (!tensor->strided)
        return HG_OK;
    if (tensor->bytes > hg_weight_files_bytes(files) - files->copy_bytes)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: tensor %.200s is a view that would unroll to %llu bytes, more than the files hold",
            files->paths[tensor->file], tensor->name, (unsigned long long)tensor->bytes);
    copies = realloc(files->copies, (files->copy_count + 1) * sizeof(*copies));
    if (!copies)
        return say_memory(log);
    files->copies = copies;
    copy = malloc((size_t)tensor->bytes);
    if (!copy)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for tensor %.200s (%llu bytes)",
                       tensor->name, (unsigned long long)tensor->bytes);
    copies[files->copy_count++] = copy;
    files->copy_bytes += tensor->bytes;
    (void)hg_tensor_unroll(tensor, copy);
    *data = copy;
    return HG_OK;
}
