/* SPDX-License-Identifier: MIT */
/* pytorch_model.bin: views with known values, aliases, archives of several shapes, and pickles that
 * are none. */
#include "file.h"
#include "pickle.h"
#include "support.h"
#include "torch_file.h"
#include "torch_writer.h"
#include "weight_files.h"
#include "zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ELEMENTS = 24 };

/* An archive with one storage 0, 1, 2, ... and this pickle. */
static void make_archive(test_zip *zip, const test_bytes *pickle, const char *comment)
{
    float values[ELEMENTS];
    int i;

    for (i = 0; i < ELEMENTS; i++)
        values[i] = (float)i;
    test_zip_add(zip, "archive/data.pkl", pickle->data, pickle->count);
    test_zip_add(zip, "archive/byteorder", "little", 6);
    test_zip_add(zip, "archive/data/7", values, sizeof(values));
    test_zip_add(zip, "archive/version", "3\n", 2);
    test_zip_end(zip, comment);
}

/* Opens what is in the folder. */
static hg_result open_bin(const test_zip *zip, test_log *log, hg_weight_files *files)
{
    char folder[64];
    hg_result res;

    test_folder_make(folder);
    test_file_write(folder, "pytorch_model.bin", zip->file.data, zip->file.count);
    test_log_init(log);
    res = hg_weight_files_open(&log->log, folder, files);
    test_folder_remove(folder);
    return res;
}

static void free_all(test_zip *zip, test_bytes *pickle)
{
    test_bytes_free(&zip->file);
    test_bytes_free(&zip->directory);
    test_bytes_free(pickle);
}

static void check_values(hg_weight_files *files, const char *name, const float *expected,
                         size_t count)
{
    hg_tensor *tensor = hg_tensor_table_find(&files->table, name, NULL);
    test_log log;
    const uint8_t *data;

    test_log_init(&log);
    assert_non_null(tensor);
    assert_int_equal(tensor->bytes, count * sizeof(float));
    assert_int_equal(hg_weight_files_contiguous(&log.log, files, tensor, &data), HG_OK);
    assert_memory_equal(data, expected, count * sizeof(float));
}

static void views_have_their_values(void **state)
{
    static const int64_t plain_shape[] = {2, 3}, plain_stride[] = {3, 1};
    static const int64_t turned_shape[] = {3, 2}, turned_stride[] = {1, 3};
    static const int64_t second_shape[] = {2, 3}, second_stride[] = {6, 1};
    static const int64_t same_shape[] = {4}, same_stride[] = {0};
    static const int64_t cube_shape[] = {2, 2, 2}, cube_stride[] = {1, 4, 2};
    static const int64_t one_shape[] = {1, 3}, one_stride[] = {77, 1};
    static const int64_t empty_shape[] = {0, 3}, empty_stride[] = {99, 99};
    static const float plain[] = {4, 5, 6, 7, 8, 9}, turned[] = {0, 3, 1, 4, 2, 5};
    static const float second[] = {1, 2, 3, 7, 8, 9}, same[] = {23, 23, 23, 23},
                       one[] = {21, 22, 23};
    static const float cube[] = {8, 10, 12, 14, 9, 11, 13, 15};
    test_bytes pickle = {0};
    hg_weight_files files;
    test_log log;
    int wide;

    (void)state;
    test_pickle_begin(&pickle);
    test_pickle_tensor(&pickle, "plain", "FloatStorage", "7", ELEMENTS, 4, plain_shape,
                       plain_stride, 2);
    test_pickle_tensor(&pickle, "turned", "FloatStorage", "7", ELEMENTS, 0, turned_shape,
                       turned_stride, 2);
    test_pickle_tensor(&pickle, "second", "FloatStorage", "7", ELEMENTS, 1, second_shape,
                       second_stride, 2);
    test_pickle_tensor(&pickle, "same", "FloatStorage", "7", ELEMENTS, 23, same_shape, same_stride,
                       1);
    test_pickle_tensor(&pickle, "cube", "FloatStorage", "7", ELEMENTS, 8, cube_shape, cube_stride,
                       3);
    test_pickle_tensor(&pickle, "one", "FloatStorage", "7", ELEMENTS, 21, one_shape, one_stride, 2);
    test_pickle_tensor(&pickle, "empty", "FloatStorage", "7", ELEMENTS, 0, empty_shape,
                       empty_stride, 2);
    test_pickle_tensor(&pickle, "scalar", "FloatStorage", "7", ELEMENTS, 5, NULL, NULL, 0);
    test_pickle_end(&pickle);
    for (wide = 0; wide < 2; wide++) {
        test_zip zip = {.wide = wide};

        make_archive(&zip, &pickle, wide ? "" : "a comment with PK\5\6 in it");
        if (open_bin(&zip, &log, &files) != HG_OK)
            fail_msg("%s", log.error);
        assert_int_equal(files.table.count, 8);
        check_values(&files, "plain", plain, 6);
        check_values(&files, "turned", turned, 6);
        check_values(&files, "second", second, 6);
        check_values(&files, "same", same, 4);
        check_values(&files, "cube", cube, 8);
        check_values(&files, "one", one, 3);
        check_values(&files, "scalar", &plain[1], 1);
        check_values(&files, "empty", NULL, 0);
        assert_int_equal(files.copy_count, 4);
        hg_weight_files_close(&files);
        test_bytes_free(&zip.file);
        test_bytes_free(&zip.directory);
    }
    test_bytes_free(&pickle);
}

static void a_view_must_not_unroll_beyond_the_files(void **state)
{
    static const int64_t shape[] = {1 << 20, 16}, stride[] = {0, 1};
    test_bytes pickle = {0};
    test_zip zip = {.wide = 0};
    hg_weight_files files;
    const uint8_t *data;
    test_log log;

    (void)state;
    test_pickle_begin(&pickle);
    test_pickle_tensor(&pickle, "wide", "FloatStorage", "7", ELEMENTS, 0, shape, stride, 2);
    test_pickle_end(&pickle);
    make_archive(&zip, &pickle, "");
    assert_int_equal(open_bin(&zip, &log, &files), HG_OK);
    assert_int_equal(hg_weight_files_contiguous(&log.log, &files, &files.table.items[0], &data),
                     HG_ERR_FILE);
    assert_int_equal(log.errors, 1);
    hg_weight_files_close(&files);
    free_all(&zip, &pickle);
}

static void views_outside_their_storage_are_refused(void **state)
{
    static const struct {
        const char *class, *key;
        int64_t elements, offset, shape[2], stride[2];
    } cases[] = {
        {"FloatStorage", "7", ELEMENTS, 19, {2, 3}, {3, 1}},
        {"FloatStorage", "7", ELEMENTS, 0, {2, 3}, {22, 1}},
        {"FloatStorage", "7", ELEMENTS, 0, {2, 3}, {INT64_MAX, 1}},
        {"FloatStorage", "7", ELEMENTS, INT64_MAX, {2, 3}, {INT64_MAX, INT64_MAX}},
        {"FloatStorage", "7", ELEMENTS, 0, {INT64_MAX, INT64_MAX}, {0, 0}},
        {"FloatStorage", "7", ELEMENTS, -1, {2, 3}, {3, 1}},
        {"FloatStorage", "7", ELEMENTS + 1, 0, {2, 3}, {3, 1}},
        {"FloatStorage", "7", INT64_MAX, 0, {2, 3}, {3, 1}},
        {"HalfStorage", "7", ELEMENTS, 0, {2, 3}, {3, 1}},
        {"FloatStorage", "8", ELEMENTS, 0, {2, 3}, {3, 1}},
        {"FloatStorage", "../data/7", ELEMENTS, 0, {2, 3}, {3, 1}},
        {"FloatStorage", "", ELEMENTS, 0, {2, 3}, {3, 1}},
        {"DoubleStorage", "7", ELEMENTS, 0, {2, 3}, {3, 1}},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_bytes pickle = {0};
        test_zip zip = {.wide = 0};
        hg_weight_files files;
        test_log log;

        test_pickle_begin(&pickle);
        test_pickle_tensor(&pickle, "t", cases[i].class, cases[i].key, cases[i].elements,
                           cases[i].offset, cases[i].shape, cases[i].stride, 2);
        test_pickle_end(&pickle);
        make_archive(&zip, &pickle, "");
        if (open_bin(&zip, &log, &files) != HG_ERR_FILE || log.errors != 1)
            fail_msg("view %zu was taken", i);
        free_all(&zip, &pickle);
    }
}

/* Whole pickles, as bytes; sizeof counts the NUL at the end. */
#define PICKLE(text)                                                                               \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static void pickles_that_are_no_state_dict_are_refused(void **state)
{
    static const struct {
        const char *data;
        size_t bytes;
    } cases[] = {
        PICKLE(""),
        PICKLE("."),
        PICKLE("\x80\x02}."),                              /* empty */
        PICKLE("\x80\x04}."),                              /* protocol */
        PICKLE("\x80"),                                    /* cut in an argument */
        PICKLE("\x80\x02]."),                              /* a list */
        PICKLE("\x80\x02}X\1\0\0\0aNs."),                  /* None as a tensor */
        PICKLE("\x80\x02}X\1\0\0\0a}s."),                  /* a dict as a tensor */
        PICKLE("\x80\x02}q\0X\1\0\0\0ah\0s."),             /* itself */
        PICKLE("\x80\x02}X\2\0\0\0a\0Ns."),                /* NUL in a name */
        PICKLE("\x80\x02}X\1\0\0\0\xffNs."),               /* no UTF-8 */
        PICKLE("\x80\x02}X\xff\xff\xff\xffx"),             /* a long string */
        PICKLE("\x80\x02}NNs."),                           /* a key that is None */
        PICKLE("\x80\x02}(Nu."),                           /* a key alone */
        PICKLE("\x80\x02N(u."),                            /* items of None */
        PICKLE("\x80\x02}Nb."),                            /* state that is None */
        PICKLE("\x80\x02(b."),                             /* a mark as state */
        PICKLE("\x80\x02(h\0."),                           /* never remembered */
        PICKLE("\x80\x02(q\0h\0."),                        /* a mark, recalled */
        PICKLE("\x80\x02q\0"),                             /* remembers nothing */
        PICKLE("\x80\x02Nr\xff\xff\xff\xff."),             /* far too large */
        PICKLE("\x80\x02Nj\xff\xff\xff\xff."),             /* far too large */
        PICKLE("\x80\x02)R."),                             /* calls nothing */
        PICKLE("\x80\x02))R."),                            /* calls a tuple */
        PICKLE("\x80\x02\x85."),                           /* a tuple of nothing */
        PICKLE("\x80\x02(\x85."),                          /* a tuple of a mark */
        PICKLE("\x80\x02t."),                              /* a tuple without mark */
        PICKLE("\x80\x02NNa."),                            /* appends to None */
        PICKLE("\x80\x02N(Ne."),                           /* appends to None */
        PICKLE("\x80\x02NQ."),                             /* a persistent id that is None */
        PICKLE("\x80\x02\x8a\x09\1\2\3\4\5\6\7\x08\x09."), /* 72 bits */
        PICKLE("\x80\x02ios\nsystem\n(X\1\0\0\0aR."),      /* INST */
        PICKLE("\x80\x02"
               "cos\nsystem\n."),
        PICKLE("\x80\x02"
               "cos\n"),
        PICKLE("\x80\x02"
               "ccollections\nOrderedDict\n(NtR."),
        PICKLE("\x80\x02"
               "ctorch._utils\n_rebuild_tensor_v2\n)R."),
        PICKLE("\x80\x02"
               "ctorch._utils\n_rebuild_tensor_v2\n(NK\0))\x89}tR."),
        PICKLE("\x80\x02"
               "ctorch\nFloatStorage\n."),
        PICKLE("\x80\x02}}."), /* two values left */
        PICKLE("P\n"),
        PICKLE("\x93"),
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* A copy of exactly this size, so that a sanitizer sees a byte too far. */
        uint8_t *copy = malloc(cases[i].bytes ? cases[i].bytes : 1);
        hg_pickle pickle;
        test_log log;

        assert_non_null(copy);
        memcpy(copy, cases[i].data, cases[i].bytes);
        test_log_init(&log);
        if (hg_pickle_read(&log.log, "pickle", copy, cases[i].bytes, &pickle) != HG_ERR_FILE ||
            log.errors != 1)
            fail_msg("pickle %zu was taken, or not refused in one sentence", i);
        assert_null(pickle.tensors);
        free(copy);
    }
}

/* A growing pickle of one byte per value must end at a limit, not at the end of memory, and in
 * linear time. */
static void long_pickles_end(void **state)
{
    static const char ops[] = "}(N)]";
    const size_t bytes = (size_t)8 << 20;
    uint8_t *data = malloc(bytes);
    size_t i;

    (void)state;
    assert_non_null(data);
    for (i = 0; i < sizeof(ops) - 1; i++) {
        hg_pickle pickle;
        test_log log;

        test_log_init(&log);
        memset(data, ops[i], bytes);
        assert_int_equal(hg_pickle_read(&log.log, "pickle", data, bytes, &pickle), HG_ERR_FILE);
        assert_non_null(strstr(log.error, "more values"));
    }
    free(data);
}

/* Every byte of a small archive, changed in three ways: opened or refused, nothing else. */
static void changed_bytes_do_no_harm(void **state)
{
    static const int64_t shape[] = {2, 3}, stride[] = {1, 2};
    static const uint8_t changes[] = {0xFF, 0x01, 0x80};
    test_bytes pickle = {0};
    test_zip zip = {.wide = 1};
    size_t i, c, refused = 0;

    (void)state;
    test_pickle_begin(&pickle);
    test_pickle_tensor(&pickle, "t", "FloatStorage", "7", ELEMENTS, 0, shape, stride, 2);
    test_pickle_end(&pickle);
    make_archive(&zip, &pickle, "");
    for (i = 0; i < zip.file.count; i++) {
        for (c = 0; c < sizeof(changes); c++) {
            uint8_t *copy = malloc(zip.file.count);
            hg_tensor_table table = {NULL, 0, 0, NULL};
            hg_file file = {copy, zip.file.count};
            test_log log;
            hg_result res;

            assert_non_null(copy);
            memcpy(copy, zip.file.data, zip.file.count);
            copy[i] ^= changes[c];
            test_log_init(&log);
            res = hg_torch_read(&log.log, "changed", &file, 0, &table);
            assert_true(res == HG_OK ? log.errors == 0 : res == HG_ERR_FILE && log.errors == 1);
            refused += res != HG_OK;
            hg_tensor_table_free(&table);
            free(copy);
        }
    }
    /* Most of the archive is structure, not values. */
    assert_true(refused > zip.file.count);
    free_all(&zip, &pickle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_have_their_values),
        cmocka_unit_test(a_view_must_not_unroll_beyond_the_files),
        cmocka_unit_test(views_outside_their_storage_are_refused),
        cmocka_unit_test(pickles_that_are_no_state_dict_are_refused),
        cmocka_unit_test(long_pickles_end),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
