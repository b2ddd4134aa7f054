/* SPDX-License-Identifier: MIT */
/*
 * pytorch_model.bin as torch.save(model.state_dict()) lays it out: a zip of stored members
 * (data.pkl, byteorder, data/KEY, version), sizes only in the central directory, payloads at
 * multiples of 64 bytes, zip64 records at the end; the pickle is of protocol 2 and shares the
 * storage of tied weights.
 */
#include "random_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 16, ALIGN = 64, STORED_WITH_DESCRIPTOR = 0x0808, ZIP64_VERSION = 45 };

typedef struct buffer {
    unsigned char *bytes;
    size_t used, room;
    int failed;
} buffer;

static void put(buffer *b, const void *bytes, size_t count)
{
    if (b->used + count > b->room) {
        const size_t room = 2 * b->room + count + 4096;
        unsigned char *more = realloc(b->bytes, room);
        if (!more) {
            b->failed = 1;
            return;
        }
        b->bytes = more;
        b->room = room;
    }
    memcpy(b->bytes + b->used, bytes, count);
    b->used += count;
}

static void put_number(buffer *b, uint64_t value, uint32_t bytes)
{
    for (uint32_t byte = 0; byte < bytes; byte++) {
        const unsigned char low = (unsigned char)(value >> (8 * byte));
        put(b, &low, 1);
    }
}

static void put_text(buffer *b, const char *text)
{
    put(b, text, strlen(text));
}

/* --- pickle
 * -------------------------------------------------------------------------------------------------------
 */

enum { MEMO_ORDERED_DICT, MEMO_REBUILD, MEMO_STORAGE, MEMO_WORD_STORAGE, MEMO_WORD_CPU };

static void put_memo(buffer *b, char opcode, unsigned char slot)
{
    put(b, &opcode, 1);
    put(b, &slot, 1);
}

static void put_unicode(buffer *b, const char *text)
{
    put_text(b, "X");
    put_number(b, strlen(text), 4);
    put_text(b, text);
}

static void put_int(buffer *b, uint64_t value)
{
    if (value < 256) {
        put_text(b, "K");
        put_number(b, value, 1);
    } else if (value < 65536) {
        put_text(b, "M");
        put_number(b, value, 2);
    } else if (value < INT32_MAX) {
        put_text(b, "J");
        put_number(b, value, 4);
    } else {
        put_text(b, "\x8a\x08"); /* LONG1 of eight bytes */
        put_number(b, value, 8);
    }
}

/* First use: spelt out and memoized; later: from the memo. */
static void put_once(buffer *b, uint32_t *seen, unsigned char slot, const char *text)
{
    if (*seen & (1u << slot)) {
        put_memo(b, 'h', slot);
        return;
    }
    *seen |= 1u << slot;
    if (text[0] == 'c') { /* GLOBAL module NL name NL */
        put_text(b, text);
    } else {
        put_unicode(b, text + 1);
    }
    put_memo(b, 'q', slot);
}

static void put_tensor(buffer *b, uint32_t *seen, const hg_bench_tensor *tensor,
                       const char *storage, uint32_t key)
{
    char key_text[16];
    (void)snprintf(key_text, sizeof key_text, "%" PRIu32, key);
    put_unicode(b, tensor->name);
    put_once(b, seen, MEMO_REBUILD, "ctorch._utils\n_rebuild_tensor_v2\n");
    put_text(b, "((");
    put_once(b, seen, MEMO_WORD_STORAGE, "Xstorage");
    put_once(b, seen, MEMO_STORAGE, storage);
    put_unicode(b, key_text);
    put_once(b, seen, MEMO_WORD_CPU, "Xcpu");
    put_int(b, tensor->count);
    put_text(b, "tQ"); /* TUPLE BINPERSID */
    put_int(b, 0);     /* offset into the storage */
    put_int(b, tensor->shape[0]);
    if (tensor->rank == 2) {
        put_int(b, tensor->shape[1]);
        put_text(b, "\x86"); /* TUPLE2 */
        put_int(b, tensor->shape[1]);
        put_int(b, 1);
        put_text(b, "\x86");
    } else {
        put_text(b, "\x85"); /* TUPLE1 */
        put_int(b, 1);
        put_text(b, "\x85");
    }
    put_text(b, "\x89"); /* NEWFALSE: requires_grad */
    put_once(b, seen, MEMO_ORDERED_DICT, "ccollections\nOrderedDict\n");
    put_text(b, ")RtR"); /* OrderedDict() as hooks, TUPLE, REDUCE: the tensor */
}

static void put_pickle(buffer *b, const hg_bench_shape *shape)
{
    static const char *const storages[] = {"ctorch\nFloatStorage\n", "ctorch\nHalfStorage\n",
                                           "ctorch\nBFloat16Storage\n"};
    hg_bench_tensor tensor;
    uint32_t seen = 0;
    put(b, "\x80\x02", 2); /* PROTO 2 */
    put_once(b, &seen, MEMO_ORDERED_DICT, "ccollections\nOrderedDict\n");
    put_text(b, ")R("); /* EMPTY_TUPLE REDUCE MARK */
    for (uint32_t index = 0; hg_bench_tensor_at(shape, index, &tensor); index++) {
        put_tensor(b, &seen, &tensor, storages[shape->dtype], tensor.alias ? 0 : index);
    }
    put_text(b, "u."); /* SETITEMS STOP */
}

/* --- zip
 * ----------------------------------------------------------------------------------------------------------
 */

typedef struct archive {
    FILE *file;
    uint64_t at; /* bytes written */
    buffer directory;
    uint64_t members;
    /* the member that is open */
    char name[64];
    uint64_t header_at, size;
    uLong crc;
} archive;

static int emit(archive *a, const void *bytes, size_t count)
{
    a->at += count;
    return fwrite(bytes, 1, count, a->file) == count;
}

static int member_begin(archive *a, const char *name)
{
    buffer b = {0};
    int good = 0;
    (void)snprintf(a->name, sizeof a->name, "pytorch_model/%s", name);
    const size_t name_bytes = strlen(a->name);
    const size_t unpadded = (size_t)(a->at % ALIGN) + 30 + name_bytes + 4;
    const size_t padding = (ALIGN - unpadded % ALIGN) % ALIGN;
    a->header_at = a->at;
    a->size = 0;
    a->crc = crc32(0, NULL, 0);
    put_number(&b, 0x04034b50, 4);
    put_number(&b, 0, 2); /* version */
    put_number(&b, STORED_WITH_DESCRIPTOR, 2);
    put_number(&b, 0, 2); /* stored */
    put_number(&b, 0, 4); /* time and date */
    put_number(&b, 0, 4); /* crc, sizes: in the descriptor and the directory */
    put_number(&b, 0, 8);
    put_number(&b, name_bytes, 2);
    put_number(&b, padding + 4, 2);
    put_text(&b, a->name);
    put_text(&b, "FB"); /* an extra field that pads */
    put_number(&b, padding, 2);
    for (size_t byte = 0; byte < padding; byte++) {
        put_text(&b, "Z");
    }
    good = !b.failed && emit(a, b.bytes, b.used);
    free(b.bytes);
    return good;
}

static int member_write(archive *a, const void *bytes, size_t count)
{
    a->crc = crc32(a->crc, bytes, (uInt)count);
    a->size += count;
    return emit(a, bytes, count);
}

static int member_end(archive *a)
{
    buffer b = {0};
    int good = 0;
    const int wide = a->size >= UINT32_MAX;
    put_number(&b, 0x08074b50, 4);
    put_number(&b, a->crc, 4);
    put_number(&b, a->size, wide ? 8 : 4);
    put_number(&b, a->size, wide ? 8 : 4);
    good = !b.failed && emit(a, b.bytes, b.used);
    free(b.bytes);

    const int far = a->header_at >= UINT32_MAX;
    const uint32_t extra = (wide ? 16u : 0u) + (far ? 8u : 0u);
    buffer *d = &a->directory;
    put_number(d, 0x02014b50, 4);
    put_number(d, 0, 2);
    put_number(d, wide || far ? ZIP64_VERSION : 0, 2);
    put_number(d, STORED_WITH_DESCRIPTOR, 2);
    put_number(d, 0, 2);
    put_number(d, 0, 4);
    put_number(d, a->crc, 4);
    put_number(d, wide ? UINT32_MAX : a->size, 4);
    put_number(d, wide ? UINT32_MAX : a->size, 4);
    put_number(d, strlen(a->name), 2);
    put_number(d, extra ? extra + 4 : 0, 2);
    put_number(d, 0, 2); /* comment */
    put_number(d, 0, 2); /* disk */
    put_number(d, 0, 2);
    put_number(d, 0, 4);
    put_number(d, far ? UINT32_MAX : a->header_at, 4);
    put_text(d, a->name);
    if (extra) {
        put_number(d, 1, 2);
        put_number(d, extra, 2);
        if (wide) {
            put_number(d, a->size, 8);
            put_number(d, a->size, 8);
        }
        if (far) {
            put_number(d, a->header_at, 8);
        }
    }
    a->members++;
    return good && !d->failed;
}

static int archive_end(archive *a)
{
    const uint64_t directory_at = a->at;
    const uint64_t directory_bytes = a->directory.used;
    buffer *d = &a->directory;
    const uint64_t record_at = directory_at + directory_bytes;
    put_number(d, 0x06064b50, 4); /* zip64 end of directory */
    put_number(d, 44, 8);
    put_number(d, ZIP64_VERSION, 2);
    put_number(d, ZIP64_VERSION, 2);
    put_number(d, 0, 8); /* disks */
    put_number(d, a->members, 8);
    put_number(d, a->members, 8);
    put_number(d, directory_bytes, 8);
    put_number(d, directory_at, 8);
    put_number(d, 0x07064b50, 4); /* its locator */
    put_number(d, 0, 4);
    put_number(d, record_at, 8);
    put_number(d, 1, 4);
    put_number(d, 0x06054b50, 4); /* the old end of directory */
    put_number(d, 0, 4);
    put_number(d, a->members, 2);
    put_number(d, a->members, 2);
    put_number(d, directory_bytes, 4);
    put_number(d, directory_at >= UINT32_MAX ? UINT32_MAX : directory_at, 4);
    put_number(d, 0, 2);
    return !d->failed && emit(a, d->bytes, d->used);
}

static int small_member(archive *a, const char *name, const void *bytes, size_t count)
{
    return member_begin(a, name) && member_write(a, bytes, count) && member_end(a);
}

int hg_bench_write_torch(FILE *file, const hg_bench_shape *shape)
{
    const uint32_t item_bytes = hg_bench_dtype_bytes(shape->dtype);
    archive a = {.file = file};
    buffer pickle = {0};
    hg_bench_tensor tensor;
    char name[32];
    int good = 0;
    unsigned char *piece = malloc((size_t)PIECE * item_bytes);
    put_pickle(&pickle, shape);
    if (!piece || pickle.failed || !small_member(&a, "data.pkl", pickle.bytes, pickle.used) ||
        !small_member(&a, "byteorder", "little", 6)) {
        goto out;
    }
    for (uint32_t index = 0; hg_bench_tensor_at(shape, index, &tensor); index++) {
        if (tensor.alias) {
            continue;
        }
        (void)snprintf(name, sizeof name, "data/%" PRIu32, index);
        if (!member_begin(&a, name)) {
            goto out;
        }
        for (uint64_t first = 0; first < tensor.count; first += PIECE) {
            const size_t count =
                tensor.count - first < PIECE ? (size_t)(tensor.count - first) : PIECE;
            hg_bench_values(shape, &tensor, first, count, piece);
            if (!member_write(&a, piece, count * item_bytes)) {
                goto out;
            }
        }
        if (!member_end(&a)) {
            goto out;
        }
    }
    good = small_member(&a, "version", "3\n", 2) && archive_end(&a);
out:
    free(piece);
    free(pickle.bytes);
    free(a.directory.bytes);
    return good;
}
