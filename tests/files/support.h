/* SPDX-License-Identifier: MIT */
/* For the tests of files: a log that remembers, folders that go away again, and the folders of
 * tests/reference. */
#ifndef HG_TEST_FILES_SUPPORT_H
#define HG_TEST_FILES_SUPPORT_H

#include <headgate/model.h>

typedef struct test_log {
    hg_log log;
    uint32_t errors, warnings, lines;
    char error[2048]; /* the last */
    char warning[2048];
} test_log;

/* log->log.user points into log: do not copy it. */
void test_log_init(test_log *log);

/* A new empty folder below the current one. */
void test_folder_make(char path[64]);
/* With everything in it. */
void test_folder_remove(const char *path);
/* folder/name, made of these bytes. */
void test_file_write(const char *folder, const char *name, const void *data, size_t bytes);
void test_text_write(const char *folder, const char *name, const char *text);
void test_file_copy(const char *from_folder, const char *name, const char *to_folder);

/* Names of the folders in a folder, sorted; ends with NULL. Freed with test_names_free. */
char **test_folders(const char *path);
void test_names_free(char **names);

/* Opens a folder; the result of hg_checkpoint_open. */
hg_result test_open(test_log *log, const char *path, hg_checkpoint **out);

/* The bytes of every weight of the model in order, with their types and shapes: equal for equal
 * models. */
uint64_t test_checkpoint_digest(const hg_checkpoint *checkpoint);

#endif
