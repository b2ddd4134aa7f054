/* SPDX-License-Identifier: MIT */
/*
 * Every broken or hostile checkpoint of tests/reference/bad, as its case.json says: an error is
 * HG_ERR_FILE with one sentence, nothing is run, nothing is allocated by a number that only stands
 * in the file. The tokenizer-* cases are the tokenizer's.
 */
#include "allocations.h"
#include "checkpoint.h"
#include "json.h"
#include "support.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define BAD HG_TEST_REFERENCE_DIR "/bad"

typedef struct outcome {
    hg_result result;
    test_log log;
    uint64_t digest, file_bytes;
    uint64_t not_finite;
} outcome;

static void open_case(const char *folder, outcome *out)
{
    hg_checkpoint *checkpoint = NULL;
    hg_scan scan = {.struct_size = sizeof(scan)};

    memset(out, 0, sizeof(*out));
    test_log_init(&out->log);
    test_allocations_watch(0);
    out->result = test_open(&out->log, folder, &checkpoint);
    if (out->result != HG_OK) {
        assert_null(checkpoint);
        return;
    }
    out->digest = test_checkpoint_digest(checkpoint);
    assert_int_equal(hg_checkpoint_scan(checkpoint, NULL, &scan), HG_OK);
    out->not_finite = scan.nan_count + scan.inf_count;
    hg_checkpoint_close(&checkpoint);
}

/* What the outcome has to be; NULL, or what is wrong with it. */
static const char *judge(const char *expect, int like_base, const outcome *got,
                         uint64_t base_digest)
{
    if (got->result == HG_OK) {
        if (strcmp(expect, "error") == 0)
            return "it opened";
        if (got->log.errors)
            return "it opened, and said an error";
        if (like_base && got->digest != base_digest)
            return "it opened with other weights than base";
        return NULL;
    }
    if (strcmp(expect, "error") != 0 && strcmp(expect, "either") != 0)
        return "it did not open";
    if (got->result != HG_ERR_FILE)
        return "the error is not HG_ERR_FILE";
    if (got->log.errors != 1)
        return "the error was not said once";
    if (strlen(got->log.error) < 20)
        return "the error is no sentence";
    return NULL;
}

static uint64_t folder_bytes(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    uint64_t bytes = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        char path[1536];
        struct stat status;

        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size;
    }
    closedir(dir);
    return bytes;
}

/* What is allocated follows from bytes that are there, not from numbers that they spell. */
static const char *judge_allocations(const char *folder)
{
    uint64_t bytes = folder_bytes(folder);

    if (test_allocations_largest() > 64 * bytes + 65536)
        return "one allocation was larger than 64 times the files";
    if (test_allocations_bytes() > 256 * bytes + 65536)
        return "allocations were larger than 256 times the files";
    return NULL;
}

static int has_file(const char *folder, const char *name)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int check_case(const char *name, uint64_t base_digest)
{
    char folder[512], path[1024];
    const cJSON *like;
    const char *expect, *wrong;
    cJSON *about;
    outcome got;
    double begin;

    snprintf(folder, sizeof(folder), BAD "/%s", name);
    snprintf(path, sizeof(path), "%s/case.json", folder);
    assert_int_equal(hg_json_read(NULL, path, NULL, &about), HG_OK);
    expect = hg_json_find(about, "expect")->valuestring;
    like = hg_json_find(about, "if_loaded");
    /* The checkpoint of index-outside is a folder deeper. */
    snprintf(path, sizeof(path), "%s%s", folder, has_file(folder, "model") ? "/model" : "");
    begin = now();
    open_case(path, &got);
    wrong = judge(expect, like != NULL, &got, base_digest);
    if (!wrong)
        wrong = judge_allocations(path);
    if (!wrong && now() - begin > 5)
        wrong = "it took longer than 5 seconds";
    if (!wrong && (has_file(folder, "PWNED") || has_file(".", "PWNED")))
        wrong = "a file PWNED is there";
    printf("%-6s %-32s %s\n", got.result == HG_OK ? "opened" : "error", name,
           got.result == HG_OK ? got.log.warning : got.log.error);
    if (wrong)
        print_error("%s: expected %s, but %s\n", name, expect, wrong);
    cJSON_Delete(about);
    return wrong != NULL;
}

static void every_bad_case_is_as_it_says(void **state)
{
    char **names = test_folders(BAD);
    uint32_t i, checked = 0, failed = 0;
    outcome base;

    (void)state;
    open_case(BAD "/base", &base);
    assert_int_equal(base.result, HG_OK);
    for (i = 0; names[i]; i++) {
        if (strncmp(names[i], "tokenizer-", 10) == 0)
            continue;
        checked++;
        failed += (uint32_t)check_case(names[i], base.digest);
    }
    test_names_free(names);
    assert_int_equal(failed, 0);
    assert_int_equal(checked, 169);
}

static void values_are_reported(void **state)
{
    outcome got;

    (void)state;
    open_case(BAD "/values-nan", &got);
    assert_int_equal(got.result, HG_OK);
    assert_true(got.not_finite > 0 && got.log.warnings == 1);
    open_case(BAD "/values-inf", &got);
    assert_int_equal(got.result, HG_OK);
    assert_true(got.not_finite > 0 && got.log.warnings == 1);
    open_case(BAD "/values-huge", &got);
    assert_int_equal(got.result, HG_OK);
    assert_true(got.not_finite == 0 && got.log.warnings == 0);
    open_case(BAD "/values-all-zero", &got);
    assert_int_equal(got.result, HG_OK);
    assert_true(got.not_finite == 0 && got.log.warnings == 0);
}

/* A few sentences that are to help. */
static void sentences_say_what_to_do(void **state)
{
    static const struct {
        const char *name, *words;
    } cases[] = {
        {"lfs-pointer-st", "git lfs pull"},      {"lfs-pointer-bin", "git lfs pull"},
        {"html-as-weights", "web page"},         {"bin-legacy", "save it again"},
        {"pickle-os-system", "\"system\""},      {"names-with-prefix", "module."},
        {"config-act-gelu", "hidden_act"},       {"config-rope-unknown", "spiral"},
        {"config-missing", "config.json"},       {"weights-none", "no weights"},
        {"weights-directory", "folder"},         {"zip-deflate", "compressed"},
        {"pickle-nested-state", "state_dict()"}, {"gate-flag-without-rows", "rows"},
        {"storage-class-long", "LongStorage"},   {"tensor-missing", "k_proj"},
        {"q-proj-transposed", "expected"},       {"index-outside", "beside the index"},
        {"config-bom", "byte order mark"},       {"config-utf16", "UTF-16"},
    };
    size_t i;
    uint32_t failed = 0;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char folder[512];
        outcome got;

        snprintf(folder, sizeof(folder), BAD "/%s%s", cases[i].name,
                 strcmp(cases[i].name, "index-outside") == 0 ? "/model" : "");
        open_case(folder, &got);
        if (!strstr(got.log.error, cases[i].words)) {
            print_error("%s: \"%s\" is not in: %s\n", cases[i].name, cases[i].words, got.log.error);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* Every allocation of an open fails once. */
static void memory_may_run_out_anywhere(void **state)
{
    static const char *const folders[] = {BAD "/base", BAD "/shard-lacks-tensor",
                                          HG_TEST_REFERENCE_DIR "/models/file-bin-views"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        uint64_t count, n;
        outcome got;

        open_case(folders[i], &got);
        assert_int_equal(got.result, HG_OK);
        count = test_allocations_count();
        assert_true(count > 20);
        for (n = 1; n <= count; n++) {
            hg_checkpoint *checkpoint = NULL;
            test_log log;

            test_log_init(&log);
            test_allocations_watch(n);
            assert_int_equal(test_open(&log, folders[i], &checkpoint), HG_ERR_HOST_MEMORY);
            test_allocations_end();
            assert_null(checkpoint);
            assert_int_equal(log.errors, 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_case_is_as_it_says),
        cmocka_unit_test(values_are_reported),
        cmocka_unit_test(sentences_say_what_to_do),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
