/* SPDX-License-Identifier: MIT */
/*
 * Brings the archive and the pickle together: every tensor becomes a range of a member, checked so
 * that no element of its view lies outside its storage. Views are not copied here; most of them are
 * plain.
 */
#include "torch_file.h"

#include "check.h"
#include "pickle.h"
#include "zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 512 };

typedef struct reader {
    const hg_log *log;
    const char *path;
    uint32_t file_index;
    hg_tensor_table *table;
    hg_zip zip;
    const hg_zip_member *pickle;
    const char *prefix; /* of every member: what stands before data.pkl */
    uint32_t prefix_bytes;
} reader;

int hg_torch_is(const uint8_t *data, uint64_t bytes)
{
    return bytes >= 4 && data[0] == 'P' && data[1] == 'K' &&
           ((data[2] == 3 && data[3] == 4) || (data[2] == 5 && data[3] == 6));
}

/* prefix + a + b as the name of a member. */
static const hg_zip_member *find_member(const reader *r, const char *a, const char *b,
                                        uint32_t b_bytes)
{
    char name[NAME_BYTES_MAX];
    uint64_t used = r->prefix_bytes;

    if (used + strlen(a) + b_bytes > sizeof(name))
        return NULL;
    memcpy(name, r->prefix, r->prefix_bytes);
    for (; *a; a++)
        name[used++] = *a;
    memcpy(name + used, b, b_bytes);
    return hg_zip_find(&r->zip, name, used + b_bytes);
}

static hg_result find_pickle(reader *r)
{
    static const char wanted[] = "data.pkl";
    const uint32_t bytes = sizeof(wanted) - 1;
    uint32_t i;

    for (i = 0; i < r->zip.count; i++) {
        const hg_zip_member *m = &r->zip.members[i];
        uint32_t before = m->name_bytes >= bytes ? m->name_bytes - bytes : 0;

        if (m->name_bytes < bytes || memcmp(m->name + before, wanted, bytes) != 0 ||
            (before && m->name[before - 1] != '/'))
            continue;
        if (r->pickle)
            return hg_fail(r->log, HG_ERR_FILE, "%s: the archive has more than one data.pkl",
                           r->path);
        r->pickle = m;
        r->prefix = m->name;
        r->prefix_bytes = before;
    }
    if (!r->pickle)
        return hg_fail(r->log, HG_ERR_FILE,
                       "%s: this zip archive was not written by torch.save: it has no data.pkl",
                       r->path);
    return HG_OK;
}

static hg_result check_byte_order(const reader *r)
{
    const hg_zip_member *member = find_member(r, "byteorder", "", 0);
    const uint8_t *data;
    hg_result res;

    if (!member)
        return HG_OK;
    res = hg_zip_data(r->log, &r->zip, member, &data);
    if (res == HG_OK && (member->bytes != 6 || memcmp(data, "little", 6) != 0))
        res = hg_fail(
            r->log, HG_ERR_FILE,
            "%s: its byteorder record does not say \"little\"; other byte orders are not supported",
            r->path);
    return res;
}

static hg_result say_tensor(const reader *r, const hg_pickle_tensor *t, const char *what)
{
    int bytes = t->name_bytes < 200 ? (int)t->name_bytes : 200;

    return hg_fail(r->log, HG_ERR_FILE, "%s: tensor %.*s: %s", r->path, bytes, t->name, what);
}

/* The bytes of a storage, exactly as many as its elements need. */
static hg_result find_storage(const reader *r, const hg_pickle_tensor *t, uint32_t element_bytes,
                              const uint8_t **data)
{
    const hg_zip_member *member = NULL;
    uint64_t bytes;

    if (!memchr(t->key, '/', t->key_bytes))
        member = find_member(r, "data/", t->key, t->key_bytes);
    if (!member)
        return say_tensor(r, t, "its storage is not in the archive");
    if (!hg_multiply_u64(t->storage_elements, element_bytes, &bytes) || bytes != member->bytes) {
        char what[160];

        snprintf(what, sizeof(what),
                 "its storage is said to have %llu elements of %u bytes, but has %llu bytes",
                 (unsigned long long)t->storage_elements, element_bytes,
                 (unsigned long long)member->bytes);
        return say_tensor(r, t, what);
    }
    return hg_zip_data(r->log, &r->zip, member, data);
}

/* Index of the last element that the view reaches, or 0 return on overflow. The view is not empty.
 */
static int last_element(const hg_pickle_tensor *t, uint64_t *last)
{
    uint64_t sum = t->offset, step;
    uint32_t i;

    for (i = 0; i < t->rank; i++) {
        if (!hg_multiply_u64(t->shape[i] - 1, t->stride[i], &step) || step > UINT64_MAX - sum)
            return 0;
        sum += step;
    }
    *last = sum;
    return 1;
}

/* Row-major without gaps; the stride of a dimension of size 1 means nothing. */
static int is_contiguous(const hg_pickle_tensor *t)
{
    uint64_t expected = 1;
    uint32_t i;

    for (i = t->rank; i > 0; i--) {
        if (t->shape[i - 1] != 1 && t->stride[i - 1] != expected)
            return 0;
        expected *= t->shape[i - 1];
    }
    return 1;
}

static hg_result read_view(const reader *r, const hg_pickle_tensor *t, hg_tensor *tensor)
{
    uint32_t element_bytes = t->dtype == HG_DTYPE_F32 ? 4 : 2;
    uint64_t last;
    hg_result res;

    if (!hg_shape_elements(t->shape, t->rank, &tensor->elements) ||
        !hg_multiply_u64(tensor->elements, element_bytes, &tensor->bytes))
        return say_tensor(r, t, "its shape has more elements than 64 bits can count");
    HG_TRY(find_storage(r, t, element_bytes, &tensor->data));
    tensor->rank = t->rank;
    memcpy(tensor->shape, t->shape, sizeof(tensor->shape));
    memcpy(tensor->stride, t->stride, sizeof(tensor->stride));
    if (tensor->elements == 0)
        return HG_OK;
    if (!last_element(t, &last) || last >= t->storage_elements)
        return say_tensor(r, t, "its view reaches beyond its storage");
    tensor->data += t->offset * element_bytes;
    tensor->strided = !is_contiguous(t);
out:
    return res;
}

static hg_result read_tensor(const reader *r, const hg_pickle_tensor *t)
{
    static const char *const types[] = {"", "F32", "F16", "BF16"};
    hg_tensor tensor = {.dtype = t->dtype, .file = r->file_index};
    hg_result res;

    HG_TRY(read_view(r, t, &tensor));
    snprintf(tensor.type, sizeof(tensor.type), "%s", types[t->dtype]);
    tensor.name = malloc((size_t)t->name_bytes + 1);
    if (!tensor.name)
        return hg_fail(r->log, HG_ERR_HOST_MEMORY, "%s: out of memory for tensor names", r->path);
    memcpy(tensor.name, t->name, t->name_bytes);
    tensor.name[t->name_bytes] = 0;
    res = hg_tensor_table_append(r->log, r->table, &tensor);
out:
    return res;
}

hg_result hg_torch_read(const hg_log *log, const char *path, const hg_file *file,
                        uint32_t file_index, hg_tensor_table *table)
{
    reader r = {.log = log, .path = path, .file_index = file_index, .table = table};
    hg_pickle pickle = {NULL, 0};
    const uint8_t *data;
    char label[1024];
    uint32_t i;
    hg_result res;

    snprintf(label, sizeof(label), "%.900s: data.pkl", path);
    HG_TRY(hg_zip_open(log, path, file, &r.zip));
    HG_TRY(find_pickle(&r));
    HG_TRY(check_byte_order(&r));
    HG_TRY(hg_zip_data(log, &r.zip, r.pickle, &data));
    HG_TRY(hg_pickle_read(log, label, data, r.pickle->bytes, &pickle));
    for (i = 0; i < pickle.count; i++)
        HG_TRY(read_tensor(&r, &pickle.tensors[i]));
out:
    hg_pickle_free(&pickle);
    hg_zip_close(&r.zip);
    return res;
}
