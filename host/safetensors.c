/* SPDX-License-Identifier: MIT */
/*
 * Reads the header of a safetensors file and checks it as strictly as the format's own library:
 * ranges inside the file, no overlap, no hole, bytes equal to shape x type. Data may lie at odd
 * addresses; nothing is copied.
 */
#include "safetensors.h"

#include "check.h"
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cap that the format's own library has. */
#define HEADER_BYTES_MAX 100000000u

static const struct {
    const char *name;
    uint32_t bits;
    hg_dtype dtype;
} types[] = {
    {"BF16", 16, HG_DTYPE_BF16},   {"F16", 16, HG_DTYPE_F16},     {"F32", 32, HG_DTYPE_F32},
    {"F64", 64, HG_DTYPE_NONE},    {"I64", 64, HG_DTYPE_NONE},    {"I32", 32, HG_DTYPE_NONE},
    {"I16", 16, HG_DTYPE_NONE},    {"I8", 8, HG_DTYPE_NONE},      {"U64", 64, HG_DTYPE_NONE},
    {"U32", 32, HG_DTYPE_NONE},    {"U16", 16, HG_DTYPE_NONE},    {"U8", 8, HG_DTYPE_NONE},
    {"BOOL", 8, HG_DTYPE_NONE},    {"C64", 64, HG_DTYPE_NONE},    {"F8_E4M3", 8, HG_DTYPE_NONE},
    {"F8_E5M2", 8, HG_DTYPE_NONE}, {"F8_E8M0", 8, HG_DTYPE_NONE}, {"F6_E2M3", 6, HG_DTYPE_NONE},
    {"F6_E3M2", 6, HG_DTYPE_NONE}, {"F4", 4, HG_DTYPE_NONE},
};

typedef struct reader {
    const hg_log *log;
    const char *path;
    const uint8_t *data; /* after the header */
    uint64_t bytes;
    uint32_t file_index;
    hg_tensor_table *table;
} reader;

static uint64_t read_u64(const uint8_t *p)
{
    uint64_t value = 0;
    int i;

    for (i = 7; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

int hg_safetensors_is(const uint8_t *data, uint64_t bytes)
{
    return bytes >= 10 && data[8] == '{' && read_u64(data) <= HEADER_BYTES_MAX;
}

static hg_result say_tensor(const reader *r, const char *name, const char *what)
{
    return hg_fail(r->log, HG_ERR_FILE,
                   "%s: tensor %.200s: %s; the file is damaged, fetch it again", r->path, name,
                   what);
}

static hg_result read_type(const reader *r, const cJSON *entry, hg_tensor *tensor, uint32_t *bits)
{
    const cJSON *type = hg_json_find(entry, "dtype");
    size_t i;

    if (!cJSON_IsString(type))
        return say_tensor(r, entry->string, "its dtype is missing or no string");
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, type->valuestring) == 0) {
            tensor->dtype = types[i].dtype;
            *bits = types[i].bits;
            snprintf(tensor->type, sizeof(tensor->type), "%s", types[i].name);
            return HG_OK;
        }
    }
    return hg_fail(r->log, HG_ERR_FILE,
                   "%s: tensor %.200s: the dtype \"%.40s\" is none of safetensors", r->path,
                   entry->string, type->valuestring);
}

/* Integers that JSON numbers can hold exactly; larger ones are errors (D27). */
#define INTEGER_MAX (((int64_t)1 << 53) - 1)

static hg_result read_shape(const reader *r, const cJSON *entry, hg_tensor *tensor)
{
    const cJSON *shape = hg_json_find(entry, "shape"), *size;
    int64_t number;
    uint32_t i;

    if (!cJSON_IsArray(shape))
        return say_tensor(r, entry->string, "its shape is missing or no list");
    for (size = shape->child; size; size = size->next) {
        if (tensor->rank == HG_TENSOR_RANK_MAX)
            return say_tensor(r, entry->string, "its shape has more than 8 dimensions");
        if (!hg_json_to_integer(size, 0, INTEGER_MAX, &number))
            return say_tensor(r, entry->string, "its shape has an entry that is no size");
        tensor->shape[tensor->rank++] = (uint64_t)number;
    }
    if (!hg_shape_elements(tensor->shape, tensor->rank, &tensor->elements))
        return say_tensor(r, entry->string, "its shape has more elements than 64 bits can count");
    for (i = tensor->rank; i > 0; i--)
        tensor->stride[i - 1] =
            i == tensor->rank ? 1 : tensor->stride[i] * (tensor->shape[i] ? tensor->shape[i] : 1);
    return HG_OK;
}

static hg_result read_range(const reader *r, const cJSON *entry, uint32_t bits, hg_tensor *tensor)
{
    const cJSON *range = hg_json_find(entry, "data_offsets");
    int64_t begin, end;
    uint64_t total_bits;
    char what[200];

    if (!cJSON_IsArray(range) || cJSON_GetArraySize(range) != 2)
        return say_tensor(r, entry->string, "its data_offsets are missing or no pair");
    if (!hg_json_to_integer(range->child, 0, INTEGER_MAX, &begin) ||
        !hg_json_to_integer(range->child->next, 0, INTEGER_MAX, &end))
        return say_tensor(r, entry->string, "its data_offsets are no integers from 0 to 2^53");
    if (begin > end || (uint64_t)end > r->bytes) {
        snprintf(what, sizeof(what),
                 "its data_offsets are [%lld, %lld], but the data have %llu bytes",
                 (long long)begin, (long long)end, (unsigned long long)r->bytes);
        return say_tensor(r, entry->string, what);
    }
    if (!hg_multiply_u64(tensor->elements, bits, &total_bits))
        return say_tensor(r, entry->string, "its shape has more bytes than 64 bits can count");
    tensor->bytes = (uint64_t)(end - begin);
    if (total_bits % 8 || tensor->bytes != total_bits / 8) {
        snprintf(what, sizeof(what),
                 "its shape and dtype need %llu bytes, its data_offsets cover %llu",
                 (unsigned long long)(total_bits / 8), (unsigned long long)tensor->bytes);
        return say_tensor(r, entry->string, what);
    }
    tensor->data = r->data + begin;
    return HG_OK;
}

static hg_result read_entry(const reader *r, const cJSON *entry)
{
    hg_tensor tensor = {0};
    uint32_t bits = 0;
    hg_result res;

    if (!cJSON_IsObject(entry))
        return say_tensor(r, entry->string, "its entry in the header is no object");
    HG_TRY(read_type(r, entry, &tensor, &bits));
    HG_TRY(read_shape(r, entry, &tensor));
    HG_TRY(read_range(r, entry, bits, &tensor));
    tensor.file = r->file_index;
    tensor.name = malloc(strlen(entry->string) + 1);
    if (!tensor.name)
        return hg_fail(r->log, HG_ERR_HOST_MEMORY, "%s: out of memory for tensor names", r->path);
    memcpy(tensor.name, entry->string, strlen(entry->string) + 1);
    res = hg_tensor_table_append(r->log, r->table, &tensor);
out:
    return res;
}

typedef struct range {
    uint64_t begin, end;
    const char *name;
} range;

static int order_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The tensors must tile the data: where they do not, some number in the header is wrong. */
static hg_result check_tiling(const reader *r, uint32_t first)
{
    uint32_t count = r->table->count - first, i;
    range *ranges = malloc((count ? count : 1) * sizeof(*ranges));
    uint64_t end = 0;
    hg_result res = HG_OK;

    if (!ranges)
        return hg_fail(r->log, HG_ERR_HOST_MEMORY, "%s: out of memory for %u tensors", r->path,
                       count);
    for (i = 0; i < count; i++) {
        const hg_tensor *tensor = &r->table->items[first + i];

        ranges[i].begin = (uint64_t)(tensor->data - r->data);
        ranges[i].end = ranges[i].begin + tensor->bytes;
        ranges[i].name = tensor->name;
    }
    qsort(ranges, count, sizeof(*ranges), order_ranges);
    for (i = 0; i < count && res == HG_OK; i++) {
        if (ranges[i].begin < end)
            res = say_tensor(r, ranges[i].name, "its data overlap those of another tensor");
        else if (ranges[i].begin > end)
            res = say_tensor(r, ranges[i].name,
                             "there are bytes before its data that belong to no tensor");
        end = ranges[i].end;
    }
    if (res == HG_OK && end != r->bytes)
        res = hg_fail(
            r->log, HG_ERR_FILE,
            "%s: %llu bytes at the end belong to no tensor; the file is damaged, fetch it again",
            r->path, (unsigned long long)(r->bytes - end));
    free(ranges);
    return res;
}

static hg_result read_entries(const reader *r, const cJSON *header)
{
    uint32_t first = r->table->count;
    const cJSON *entry;
    hg_result res = HG_OK;

    for (entry = header->child; entry && res == HG_OK; entry = entry->next) {
        if (strcmp(entry->string, "__metadata__") != 0)
            res = read_entry(r, entry);
        else if (!cJSON_IsObject(entry))
            res = hg_fail(r->log, HG_ERR_FILE, "%s: __metadata__ in the header is no object",
                          r->path);
    }
    return res == HG_OK ? check_tiling(r, first) : res;
}

hg_result hg_safetensors_read(const hg_log *log, const char *path, const hg_file *file,
                              uint32_t file_index, hg_tensor_table *table)
{
    const hg_json_limits limits = {.bytes_max = HEADER_BYTES_MAX, .depth_max = 8};
    reader r = {.log = log, .path = path, .file_index = file_index, .table = table};
    cJSON *header = NULL;
    char label[1024];
    uint64_t length;
    hg_result res;

    if (file->bytes < 8)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: a safetensors file begins with 8 bytes of length, this one has %llu bytes in all",
            path, (unsigned long long)file->bytes);
    length = read_u64(file->data);
    if (length > HEADER_BYTES_MAX || length > file->bytes - 8)
        return hg_fail(
            log, HG_ERR_FILE,
            "%s: the header is said to have %llu bytes, the file has %llu; it is cut short or no "
            "safetensors file",
            path, (unsigned long long)length, (unsigned long long)file->bytes);
    snprintf(label, sizeof(label), "%.900s: header", path);
    HG_TRY(hg_json_parse(log, label, file->data + 8, length, &limits, &header));
    if (!cJSON_IsObject(header)) {
        res = hg_fail(log, HG_ERR_FILE, "%s: expected a JSON object", label);
        goto out;
    }
    r.data = file->data + 8 + length;
    r.bytes = file->bytes - 8 - length;
    res = read_entries(&r, header);
out:
    cJSON_Delete(header);
    return res;
}
