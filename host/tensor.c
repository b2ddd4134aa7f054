/* SPDX-License-Identifier: MIT */
/* A growing array of tensors, looking names up in it, and unrolling views. */
#include "tensor.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hg_multiply_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return 0;
    *out = a * b;
    return 1;
}

int hg_shape_elements(const uint64_t *shape, uint32_t rank, uint64_t *elements)
{
    uint64_t product = 1;
    uint32_t i;

    /* A 0 after an overflow would hide it, so it is looked for first. */
    *elements = 0;
    for (i = 0; i < rank; i++)
        if (shape[i] == 0)
            return 1;
    for (i = 0; i < rank; i++)
        if (!hg_multiply_u64(product, shape[i], &product))
            return 0;
    *elements = product;
    return 1;
}

const char *hg_shape_show(const uint64_t *shape, uint32_t rank, char *buffer, size_t size)
{
    size_t used = 0;
    uint32_t i;

    buffer[0] = 0;
    for (i = 0; i < rank && used + 1 < size; i++) {
        int n = snprintf(buffer + used, size - used, "%s%llu", i ? ", " : "[",
                         (unsigned long long)shape[i]);

        used += n > 0 ? (size_t)n : 0;
    }
    if (used + 1 < size)
        snprintf(buffer + used, size - used, rank ? "]" : "[]");
    return buffer;
}

/* The indices count like an odometer; `at` is where they point. */
uint64_t hg_tensor_unroll(const hg_tensor *tensor, uint8_t *out)
{
    uint64_t element_bytes = tensor->elements ? tensor->bytes / tensor->elements : 0;
    uint64_t index[HG_TENSOR_RANK_MAX] = {0}, at = 0, i;

    for (i = 0; i < tensor->elements && out; i++) {
        uint32_t d = tensor->rank;

        memcpy(out + i * element_bytes, tensor->data + at * element_bytes, (size_t)element_bytes);
        while (d > 0) {
            d--;
            at += tensor->stride[d];
            if (++index[d] < tensor->shape[d])
                break;
            at -= tensor->stride[d] * tensor->shape[d];
            index[d] = 0;
        }
    }
    return tensor->elements * element_bytes;
}

hg_result hg_tensor_table_append(const hg_log *log, hg_tensor_table *table, const hg_tensor *tensor)
{
    if (table->count == table->room) {
        uint32_t room = table->room ? table->room * 2 : 64;
        hg_tensor *items = NULL;

        if (table->room < UINT32_MAX / 4)
            items = realloc(table->items, room * sizeof(*items));
        if (!items) {
            free(tensor->name);
            return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for a list of %u tensors", room);
        }
        table->items = items;
        table->room = room;
    }
    table->items[table->count++] = *tensor;
    return HG_OK;
}

typedef struct sort_row {
    const char *name;
    uint32_t index;
} sort_row;

static int order_rows(const void *a, const void *b)
{
    const sort_row *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order)
        return order;
    return x->index < y->index ? -1 : 1;
}

hg_result hg_tensor_table_sort(const hg_log *log, hg_tensor_table *table)
{
    size_t count = table->count ? table->count : 1;
    sort_row *rows = malloc(count * sizeof(*rows));
    uint32_t i;

    free(table->sorted);
    table->sorted = malloc(count * sizeof(*table->sorted));
    if (!rows || !table->sorted) {
        free(rows);
        return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for a list of %u tensors",
                       table->count);
    }
    for (i = 0; i < table->count; i++)
        rows[i] = (sort_row){table->items[i].name, i};
    qsort(rows, table->count, sizeof(*rows), order_rows);
    for (i = 0; i < table->count; i++)
        table->sorted[i] = rows[i].index;
    free(rows);
    return HG_OK;
}

hg_tensor *hg_tensor_table_find(const hg_tensor_table *table, const char *name, uint32_t *count)
{
    uint32_t begin = 0, end = table->count, i;

    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;

        if (strcmp(table->items[table->sorted[middle]].name, name) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    for (i = begin; i < table->count; i++)
        if (strcmp(table->items[table->sorted[i]].name, name) != 0)
            break;
    if (count)
        *count = i - begin;
    return i > begin ? &table->items[table->sorted[begin]] : NULL;
}

void hg_tensor_table_free(hg_tensor_table *table)
{
    uint32_t i;

    for (i = 0; i < table->count; i++)
        free(table->items[i].name);
    free(table->items);
    free(table->sorted);
    *table = (hg_tensor_table){NULL, 0, 0, NULL};
}
