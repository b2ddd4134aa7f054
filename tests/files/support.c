/* SPDX-License-Identifier: MIT */
#include "support.h"

#include "checkpoint.h"
#include "slots.h"
#include "tensors.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void remember(void *user, hg_log_level level, const char *line)
{
    test_log *log = user;

    log->lines++;
    assert_null(strchr(line, '\n'));
    assert_true(line[0] != 0);
    if (level == HG_LOG_ERROR) {
        log->errors++;
        snprintf(log->error, sizeof(log->error), "%s", line);
    }
    if (level == HG_LOG_WARNING) {
        log->warnings++;
        snprintf(log->warning, sizeof(log->warning), "%s", line);
    }
}

void test_log_init(test_log *log)
{
    memset(log, 0, sizeof(*log));
    log->log = (hg_log){remember, log, HG_LOG_DEBUG};
}

void test_folder_make(char path[64])
{
    snprintf(path, 64, "files-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void test_folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char inner[1024];
        struct stat status;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (lstat(inner, &status) == 0 && S_ISDIR(status.st_mode))
            test_folder_remove(inner);
        else
            assert_int_equal(unlink(inner), 0);
    }
    closedir(dir);
    assert_int_equal(rmdir(path), 0);
}

void test_file_write(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

void test_text_write(const char *folder, const char *name, const char *text)
{
    test_file_write(folder, name, text, strlen(text));
}

void test_file_copy(const char *from_folder, const char *name, const char *to_folder)
{
    char path[1024];
    size_t bytes;
    char *data;

    snprintf(path, sizeof(path), "%s/%s", from_folder, name);
    data = hg_test_file_read(path, &bytes);
    assert_non_null(data);
    test_file_write(to_folder, name, data, bytes);
    free(data);
}

static int order_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **test_folders(const char *path)
{
    char **names = calloc(1024, sizeof(*names));
    DIR *dir = opendir(path);
    struct dirent *entry;
    size_t count = 0;

    assert_non_null(names);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char inner[1024];
        struct stat status;

        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || stat(inner, &status) != 0 || !S_ISDIR(status.st_mode))
            continue;
        assert_true(count < 1023);
        names[count] = malloc(strlen(entry->d_name) + 1);
        assert_non_null(names[count]);
        memcpy(names[count], entry->d_name, strlen(entry->d_name) + 1);
        count++;
    }
    closedir(dir);
    qsort(names, count, sizeof(*names), order_names);
    return names;
}

void test_names_free(char **names)
{
    size_t i;

    for (i = 0; names[i]; i++)
        free(names[i]);
    free(names);
}

hg_result test_open(test_log *log, const char *path, hg_checkpoint **out)
{
    hg_checkpoint_params params = {.struct_size = sizeof(params), .path = path, .log = log->log};

    return hg_checkpoint_open(&params, out);
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    size_t i;

    for (i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static hg_result add_weight(void *user, const char *name, const hg_weight *weight, int is_vector)
{
    uint64_t *hash = user;
    uint64_t bytes =
        (uint64_t)weight->rows * weight->cols * (weight->dtype == HG_DTYPE_F32 ? 4 : 2);

    *hash = mix(*hash, &is_vector, sizeof(is_vector));
    *hash = mix(*hash, name, strlen(name));
    *hash = mix(*hash, &weight->dtype, sizeof(weight->dtype));
    *hash = mix(*hash, &weight->rows, sizeof(weight->rows));
    *hash = mix(*hash, &weight->cols, sizeof(weight->cols));
    *hash = mix(*hash, weight->data, bytes);
    return HG_OK;
}

uint64_t test_checkpoint_digest(const hg_checkpoint *checkpoint)
{
    uint64_t hash = 14695981039346656037u;

    assert_int_equal(hg_slots_visit(checkpoint, add_weight, &hash), HG_OK);
    return hash;
}
