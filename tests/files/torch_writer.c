/* SPDX-License-Identifier: MIT */
#include "torch_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void test_bytes_free(test_bytes *bytes)
{
    free(bytes->data);
    *bytes = (test_bytes){NULL, 0, 0};
}

void test_put(test_bytes *to, const void *data, size_t count)
{
    if (to->count + count > to->room) {
        to->room = (to->count + count) * 2 + 64;
        to->data = realloc(to->data, to->room);
        assert_non_null(to->data);
    }
    if (count)
        memcpy(to->data + to->count, data, count);
    to->count += count;
}

void test_put_text(test_bytes *to, const char *text)
{
    test_put(to, text, strlen(text));
}

void test_put_number(test_bytes *to, uint64_t number, int bytes)
{
    uint8_t little[16] = {0};
    int i;

    for (i = 0; i < bytes && i < 8; i++)
        little[i] = (uint8_t)(number >> (8 * i));
    test_put(to, little, (size_t)bytes);
}

void test_pickle_begin(test_bytes *to)
{
    test_put(to, "\x80\x02}(", 4);
}

void test_pickle_string(test_bytes *to, const char *text)
{
    test_put_text(to, "X");
    test_put_number(to, strlen(text), 4);
    test_put_text(to, text);
}

void test_pickle_integer(test_bytes *to, int64_t number)
{
    test_put(to, "\x8a\x08", 2);
    test_put_number(to, (uint64_t)number, 8);
}

void test_pickle_integers(test_bytes *to, const int64_t *numbers, size_t count)
{
    size_t i;

    test_put_text(to, "(");
    for (i = 0; i < count; i++)
        test_pickle_integer(to, numbers[i]);
    test_put_text(to, "t");
}

void test_pickle_tensor(test_bytes *to, const char *name, const char *class, const char *key,
                        int64_t elements, int64_t offset, const int64_t *shape,
                        const int64_t *stride, size_t rank)
{
    test_pickle_string(to, name);
    test_put_text(to, "ctorch._utils\n_rebuild_tensor_v2\n((");
    test_pickle_string(to, "storage");
    test_put_text(to, "ctorch\n");
    test_put_text(to, class);
    test_put_text(to, "\n");
    test_pickle_string(to, key);
    test_pickle_string(to, "cpu");
    test_pickle_integer(to, elements);
    test_put_text(to, "tQ");
    test_pickle_integer(to, offset);
    test_pickle_integers(to, shape, rank);
    test_pickle_integers(to, stride, rank);
    test_put(to, "\x89", 1); /* False */
    test_put_text(to, "ccollections\nOrderedDict\n)RtR");
}

void test_pickle_end(test_bytes *to)
{
    test_put_text(to, "u.");
}

static void put_wide(test_bytes *to, const uint64_t *numbers, int count)
{
    int i;

    test_put_number(to, 1, 2);
    test_put_number(to, (uint64_t)count * 8, 2);
    for (i = 0; i < count; i++)
        test_put_number(to, numbers[i], 8);
}

void test_zip_add(test_zip *zip, const char *name, const void *data, size_t bytes)
{
    uint64_t wide[3] = {bytes, bytes, zip->file.count};
    uint64_t shown = zip->wide ? 0xFFFFFFFF : bytes;
    test_bytes *file = &zip->file, *directory = &zip->directory;

    /* As torch writes it: the local header has no sizes. */
    test_put(directory, "PK\1\2\0\0\0\0\10\0\0\0", 12);
    test_put_number(directory, 0, 4); /* time */
    test_put_number(directory, 0, 4); /* crc */
    test_put_number(directory, shown, 4);
    test_put_number(directory, shown, 4);
    test_put_number(directory, strlen(name), 2);
    test_put_number(directory, zip->wide ? 28 : 0, 2);
    test_put_number(directory, 0, 2 + 2 + 2 + 4);
    test_put_number(directory, zip->wide ? 0xFFFFFFFF : file->count, 4);
    test_put_text(directory, name);
    if (zip->wide)
        put_wide(directory, wide, 3);
    test_put(file, "PK\3\4\0\0\10\0\0\0", 10);
    test_put_number(file, 0, 8);
    test_put_number(file, 0, 8);
    test_put_number(file, strlen(name), 2);
    test_put_number(file, 3, 2);
    test_put_text(file, name);
    test_put_text(file, "pad");
    test_put(file, data, bytes);
    zip->count++;
}

void test_zip_end(test_zip *zip, const char *comment)
{
    uint64_t offset = zip->file.count, bytes = zip->directory.count, end;
    test_bytes *file = &zip->file;

    test_put(file, zip->directory.data, zip->directory.count);
    end = file->count;
    if (zip->wide) {
        test_put(file, "PK\6\6", 4);
        test_put_number(file, 44, 8);
        test_put_number(file, 0, 4);
        test_put_number(file, 0, 8);
        test_put_number(file, zip->count, 8);
        test_put_number(file, zip->count, 8);
        test_put_number(file, bytes, 8);
        test_put_number(file, offset, 8);
        test_put(file, "PK\6\7\0\0\0\0", 8);
        test_put_number(file, end, 8);
        test_put_number(file, 1, 4);
    }
    test_put(file, "PK\5\6\0\0\0\0", 8);
    test_put_number(file, zip->wide ? 0xFFFF : zip->count, 2);
    test_put_number(file, zip->wide ? 0xFFFF : zip->count, 2);
    test_put_number(file, zip->wide ? 0xFFFFFFFF : bytes, 4);
    test_put_number(file, zip->wide ? 0xFFFFFFFF : offset, 4);
    test_put_number(file, strlen(comment), 2);
    test_put_text(file, comment);
}
