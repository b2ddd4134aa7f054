/* SPDX-License-Identifier: MIT */
/* Compiled programs in files: found again, and never trusted when anything about them is wrong. */
#include "fake.h"
#include "tiny.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct world {
    hg_cl cl;
    hg_tiny_log log;
    char dir[64];
} world;

static int setup(void **state)
{
    world *w = calloc(1, sizeof(*w));

    if (!w)
        return -1;
    strcpy(w->dir, "opencl-cache-XXXXXX");
    if (!mkdtemp(w->dir)) {
        free(w);
        return -1;
    }
    hg_fake_start(&w->cl);
    *state = w;
    return 0;
}

/* The one file that a test with one program leaves, or an empty text. */
static void find_file(const world *w, char path[512])
{
    DIR *dir = opendir(w->dir);
    struct dirent *entry;
    int files = 0;

    path[0] = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        files++;
        snprintf(path, 512, "%s/%s", w->dir, entry->d_name);
    }
    closedir(dir);
    assert_true(files <= 1); /* no temporary file is left either */
}

static int teardown(void **state)
{
    world *w = *state;
    char path[512];

    find_file(w, path);
    if (path[0])
        unlink(path);
    rmdir(w->dir);
    free(w);
    return 0;
}

/* Opens, prepares, computes, closes; says how often a program was built from source. */
static uint32_t run(world *w, const char *dir)
{
    const uint32_t before = hg_fake_state.builds;
    const float one = 1;
    float result = 0;
    hg_plan plan;
    hg_dev *dev;
    hg_mem *mem;
    hg_list *list;

    hg_tiny_log_start(&w->log);
    assert_int_equal(hg_tiny_plan(&w->cl, 0, &w->log.log, &plan), HG_OK);
    plan.cache_dir = dir;
    dev = hg_tiny_open(&w->cl, &plan);
    mem = hg_tiny_alloc(dev, HG_MEM_UPLOAD, 64);
    hg_tiny_write(mem, 0, &one, sizeof(one));
    list = hg_tiny_begin(dev);
    hg_tiny_scale_record(list, hg_tiny_prepare(dev, 2), hg_tiny_all(mem), hg_tiny_all(mem), 5, 1);
    hg_tiny_finish(list);
    hg_tiny_read(mem, 0, &result, sizeof(result));
    assert_true(result == 7);
    hg_backend_opencl.release(&mem);
    hg_backend_opencl.close(&dev);
    assert_int_equal(w->log.errors, 0);
    return hg_fake_state.builds - before;
}

static void test_found_again(void **state)
{
    world *w = *state;
    char path[512], kept[80];

    assert_int_equal(run(w, NULL), 1);
    find_file(w, path);
    assert_string_equal(path, "");
    assert_int_equal(run(w, w->dir), 1);
    find_file(w, path);
    assert_string_not_equal(path, "");
    assert_int_equal(run(w, w->dir), 0);
    assert_int_equal(w->log.infos, 0);
    /* Another driver is another program: the old file is not even looked at. */
    hg_fake_state.device.driver_version = "7.2";
    assert_int_equal(run(w, w->dir), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run(w, w->dir), 0);
    /* Under another's name, with a key of the same length: not trusted. */
    find_file(w, path);
    snprintf(kept, sizeof(kept), "%s-kept", w->dir);
    assert_int_equal(rename(path, kept), 0);
    hg_fake_state.device.driver_version = "7.3";
    assert_int_equal(run(w, w->dir), 1);
    find_file(w, path);
    assert_int_equal(rename(kept, path), 0);
    assert_int_equal(run(w, w->dir), 1);
    assert_non_null(strstr(w->log.text, "belongs to another program"));
    assert_int_equal(run(w, w->dir), 0);
}

static void test_driver_refuses(void **state)
{
    world *w = *state;

    assert_int_equal(run(w, w->dir), 1);
    hg_fake_state.refuse_binaries = 1;
    assert_int_equal(run(w, w->dir), 1);
    assert_int_equal(w->log.infos, 1);
    assert_non_null(strstr(w->log.text, "CL_INVALID_BINARY"));
}

static long file_size(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return (long)info.st_size;
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    int byte;

    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x20, file), byte ^ 0x20);
    assert_int_equal(fclose(file), 0);
}

/* Every byte flipped in turn, every length: an INFO line, a build, and a good file again. */
static void test_damaged(void **state)
{
    world *w = *state;
    char path[512];
    long size;

    run(w, w->dir);
    find_file(w, path);
    size = file_size(path);
    for (long at = 0; at < size; at++) {
        flip(path, at);
        assert_int_equal(run(w, w->dir), 1);
        assert_int_equal(w->log.infos, 1);
        assert_int_equal(run(w, w->dir), 0);
    }
    for (long length = 0; length < size; length += 7) {
        assert_int_equal(truncate(path, length), 0);
        assert_int_equal(run(w, w->dir), 1);
        assert_int_equal(w->log.infos, 1);
        assert_int_equal(file_size(path), size);
    }
    assert_int_equal(truncate(path, size + 1), 0);
    assert_int_equal(run(w, w->dir), 1);
}

/* A folder that is not there is made; one that cannot be made costs a line, said once. */
static void test_folder(void **state)
{
    world *w = *state;
    char path[512], inside[600];

    snprintf(path, sizeof(path), "%s/new", w->dir);
    assert_int_equal(run(w, path), 1);
    assert_int_equal(run(w, path), 0);
    {
        world in = *w;

        snprintf(in.dir, sizeof(in.dir), "%.32s/new", w->dir);
        find_file(&in, inside);
        assert_int_equal(unlink(inside), 0);
        assert_int_equal(rmdir(in.dir), 0);
    }
    run(w, w->dir);
    find_file(w, path);
    snprintf(inside, sizeof(inside), "%s/below-a-file", path);
    assert_int_equal(run(w, inside), 1);
    assert_int_equal(w->log.infos, 2); /* cannot be read, cannot be kept */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_driver_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
