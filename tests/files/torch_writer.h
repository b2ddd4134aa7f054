/* SPDX-License-Identifier: MIT */
/* Writes what torch.save writes, for tests that need bytes no reference file has: views, ZIP64, odd
 * opcodes. */
#ifndef HG_TEST_TORCH_WRITER_H
#define HG_TEST_TORCH_WRITER_H

#include <stddef.h>
#include <stdint.h>

typedef struct test_bytes {
    uint8_t *data;
    size_t count, room;
} test_bytes;

void test_bytes_free(test_bytes *bytes);
void test_put(test_bytes *to, const void *data, size_t count);
void test_put_text(test_bytes *to, const char *text);
void test_put_number(test_bytes *to, uint64_t number, int bytes);

/* Opcodes; the pickle begins with test_pickle_begin and ends with test_pickle_end. */
void test_pickle_begin(test_bytes *to); /* PROTO 2, an empty dict, MARK */
void test_pickle_string(test_bytes *to, const char *text);
void test_pickle_integer(test_bytes *to, int64_t number);
void test_pickle_integers(test_bytes *to, const int64_t *numbers, size_t count); /* a tuple */
/* name: a view of storage `key` ("FloatStorage", ...) of `elements`. */
void test_pickle_tensor(test_bytes *to, const char *name, const char *class, const char *key,
                        int64_t elements, int64_t offset, const int64_t *shape,
                        const int64_t *stride, size_t rank);
void test_pickle_end(test_bytes *to); /* SETITEMS, STOP */

/* A stored archive. Members first, then test_zip_end. */
typedef struct test_zip {
    test_bytes file, directory;
    uint32_t count;
    int wide; /* 1: all sizes, offsets and counts stand in zip64 fields alone */
} test_zip;

void test_zip_add(test_zip *zip, const char *name, const void *data, size_t bytes);
/* file is complete then; the caller frees both with test_bytes_free. */
void test_zip_end(test_zip *zip, const char *comment);

#endif
