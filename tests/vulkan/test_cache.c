/* SPDX-License-Identifier: MIT */
/*
 * Compiled pipelines on disk: written once, read again, and never believed when they are damaged,
 * cut, of another driver, or no file at all. Several processes may write at once.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

enum { HEADER_BYTES = 24, UUID_AT = HEADER_BYTES + 16 };

static const hg_backend *const vk = &hg_backend_vulkan;
static const char *program;

/* Opens with this folder, compiles one kernel, closes. Returns whether a file was believed. */
static int use_cache(const char *dir, test_log *log)
{
    fixture f = {0};
    int believed;

    test_log_init(&f.log);
    f.plan = fixture_plan(&f);
    f.plan.validate = 0;
    f.plan.cache_dir = dir;
    assert_int_equal(vk->open(&f.plan, NULL, &f.dev), HG_OK);
    believed = ((hg_vk_dev *)f.dev)->cache_checksum != 0;
    make_pipe(&f, &affine_variant, 1);
    vk->close(&f.dev);
    assert_int_equal(f.log.lines[HG_LOG_ERROR], 0);
    *log = f.log;
    return believed;
}

/* The one file in dir, or "" when there is none; more than one is a failure. */
static void find_file(const char *dir, char *out, size_t size)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;

    out[0] = '\0';
    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        assert_string_equal(out, "");
        snprintf(out, size, "%s/%s", dir, entry->d_name);
    }
    closedir(folder);
}

static size_t read_bytes(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t count;

    assert_non_null(file);
    count = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(count < room);
    return count;
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void clear(const char *dir)
{
    char path[512];

    find_file(dir, path, sizeof(path));
    if (path[0])
        assert_int_equal(remove(path), 0);
}

static void writes_once_and_reads_again(void **state)
{
    struct stat first, second;
    char path[512];
    test_log log;

    (void)state;
    clear("pipelines");
    assert_false(use_cache("pipelines", &log));
    find_file("pipelines", path, sizeof(path));
    assert_string_not_equal(path, "");
    assert_int_equal(stat(path, &first), 0);
    assert_true(use_cache("pipelines", &log));
    assert_int_equal(log.lines[HG_LOG_INFO], 0);
    find_file("pipelines", path, sizeof(path));
    assert_int_equal(stat(path, &second), 0);
    assert_true(second.st_size >= first.st_size);
}

static void expect_ignored(const char *path, const uint8_t *bytes, size_t count)
{
    test_log log;

    write_bytes(path, bytes, count);
    assert_false(use_cache("pipelines", &log));
    assert_int_equal(log.lines[HG_LOG_INFO], 1);
    assert_non_null(strstr(log.last[HG_LOG_INFO], "ignored"));
    assert_true(use_cache("pipelines", &log)); /* a good one has taken its place */
}

static uint64_t checksum(const uint8_t *bytes, size_t count)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void ignores_what_is_damaged(void **state)
{
    static uint8_t good[1 << 22], bad[1 << 22];
    char path[512];
    uint64_t sum;
    size_t count;
    test_log log;

    (void)state;
    use_cache("pipelines", &log);
    find_file("pipelines", path, sizeof(path));
    count = read_bytes(path, good, sizeof(good));
    assert_true(count >= HEADER_BYTES + 32);
    expect_ignored(path, good, 0);
    expect_ignored(path, good, HEADER_BYTES);
    expect_ignored(path, good, count - 1);
    memset(bad, 0, count);
    expect_ignored(path, bad, count);
    for (size_t at = 0; at < HEADER_BYTES + 32; at += 5) {
        memcpy(bad, good, count);
        bad[at] ^= 0x20;
        expect_ignored(path, bad, count);
    }
    memcpy(bad, good, count); /* sound, but another driver's */
    bad[UUID_AT] ^= 1;
    sum = checksum(bad + HEADER_BYTES, count - HEADER_BYTES);
    memcpy(bad + 16, &sum, sizeof(sum));
    expect_ignored(path, bad, count);
}

static void goes_on_without_a_folder(void **state)
{
    static const uint8_t byte[1] = {0};
    char path[512];
    test_log log;

    (void)state;
    write_bytes("not-a-folder", byte, 1);
    assert_false(use_cache("not-a-folder", &log));
    assert_true(log.lines[HG_LOG_INFO] > 0);
    assert_non_null(strstr(log.last[HG_LOG_INFO], "not kept"));
    assert_false(use_cache("/proc", &log)); /* cannot be written, whoever runs this */
    assert_int_equal(log.lines[HG_LOG_INFO], 1);
    assert_false(use_cache("", &log));
    assert_int_equal(log.lines[HG_LOG_INFO], 0);
    clear("pipelines"); /* a folder where the file should be */
    use_cache("pipelines", &log);
    find_file("pipelines", path, sizeof(path));
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(use_cache("pipelines", &log));
    assert_int_equal(log.lines[HG_LOG_INFO], 2); /* not read, not written */
    find_file("pipelines", path, sizeof(path));  /* and nothing temporary beside it */
    assert_int_equal(rmdir(path), 0);
}

static void serves_processes_at_once(void **state)
{
    enum { PROCESSES = 4 };
    pid_t child[PROCESSES];
    char path[512];
    test_log log;

    (void)state;
    clear("pipelines");
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            execl(program, program, "--once", (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    find_file("pipelines", path, sizeof(path));
    assert_string_not_equal(path, "");
    assert_true(use_cache("pipelines", &log));
}

static void once(void **state)
{
    test_log log;

    (void)state;
    for (int i = 0; i < 5; i++)
        use_cache("pipelines", &log);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_once_and_reads_again),
        cmocka_unit_test(ignores_what_is_damaged),
        cmocka_unit_test(goes_on_without_a_folder),
        cmocka_unit_test(serves_processes_at_once),
    };
    const struct CMUnitTest one[] = {cmocka_unit_test(once)};
    int options;

    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--once") == 0)
        return cmocka_run_group_tests(one, NULL, NULL);
    options = fixture_options(argc, argv);
    return options ? options : cmocka_run_group_tests(tests, NULL, NULL);
}
