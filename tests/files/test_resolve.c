/* SPDX-License-Identifier: MIT */
/* MODEL as users write it, in a made-up Hugging Face cache. */
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COMMIT "aad415c45ec6b4fa727ef3ff3f4e9f62f958d49b"
#define OTHER "0123456789012345678901234567890123456789"

static char hub[64];

static void make_folder(const char *path)
{
    char whole[512], *slash;

    snprintf(whole, sizeof(whole), "%s/%s", hub, path);
    for (slash = strchr(whole, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(whole, 0755);
        *slash = '/';
    }
    assert_int_equal(mkdir(whole, 0755), 0);
}

/* One repository with three models in sub-folders, one with a single snapshot, one with two, one
 * empty, one whose ref leads nowhere. */
static int make_hub(void **state)
{
    (void)state;
    test_folder_make(hub);
    make_folder("models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_baseline");
    make_folder("models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_gate_headwise");
    make_folder("models--QwQZh--gated_attention/snapshots/" COMMIT "/figs");
    make_folder("models--QwQZh--gated_attention/refs/pr");
    make_folder("models--QwQZh--gated_attention/blobs");
    test_text_write(hub, "models--QwQZh--gated_attention/blobs/abc", "{}");
    test_text_write(hub, "models--QwQZh--gated_attention/refs/main", COMMIT);
    test_text_write(hub, "models--QwQZh--gated_attention/refs/pr/1", COMMIT "\n");
    test_text_write(hub, "models--QwQZh--gated_attention/refs/broken", "../../../etc");
    test_text_write(hub, "models--QwQZh--gated_attention/refs/gone", OTHER);
    test_text_write(
        hub, "models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_baseline/config.json", "{}");
    make_folder("models--one--model/snapshots/" COMMIT);
    test_text_write(hub, "models--one--model/snapshots/" COMMIT "/config.json", "{}");
    make_folder("models--two--model/snapshots/" COMMIT);
    make_folder("models--two--model/snapshots/" OTHER);
    make_folder("models--no--model/snapshots");
    return 0;
}

static int remove_hub(void **state)
{
    (void)state;
    test_folder_remove(hub);
    return 0;
}

static hg_result resolve(const char *model, test_log *log, char path[512])
{
    test_log_init(log);
    return hg_model_resolve(&log->log, model, hub, path, 512);
}

static void link_config(void)
{
    char path[512];

    snprintf(path, sizeof(path),
             "%s/models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_gate_headwise/config.json",
             hub);
    assert_int_equal(symlink("../../../blobs/abc", path), 0);
}

static void ids_lead_to_snapshots(void **state)
{
    static const struct {
        const char *model, *path;
    } cases[] = {
        {"QwQZh/gated_attention:1B_baseline",
         "models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_baseline"},
        {"QwQZh/gated_attention@main:1B_gate_headwise",
         "models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_gate_headwise"},
        {"QwQZh/gated_attention@refs/../x", NULL},
        {"QwQZh/gated_attention@pr/1:1B_baseline",
         "models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_baseline"},
        {"QwQZh/gated_attention@" COMMIT ":1B_baseline",
         "models--QwQZh--gated_attention/snapshots/" COMMIT "/1B_baseline"},
        {"one/model", "models--one--model/snapshots/" COMMIT},
    };
    size_t i;

    (void)state;
    link_config();
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[512], expected[512];
        test_log log;
        hg_result res = resolve(cases[i].model, &log, path);

        if (!cases[i].path) {
            assert_int_equal(res, HG_ERR_FILE);
            continue;
        }
        if (res != HG_OK)
            fail_msg("%s: %s", cases[i].model, log.error);
        snprintf(expected, sizeof(expected), "%s/%s", hub, cases[i].path);
        assert_string_equal(path, expected);
        assert_int_equal(log.lines, strcmp(cases[i].model, "one/model") == 0);
    }
}

static void what_is_missing_is_said(void **state)
{
    static const struct {
        const char *model, *words;
    } cases[] = {
        {"some/thing", "hf download some/thing"},
        {"some/thing@v1", "hf download some/thing --revision v1"},
        {"some/thing:sub", "hf download some/thing --include \"sub/*\""},
        {"QwQZh/gated_attention", "QwQZh/gated_attention:1B_baseline"},
        {"QwQZh/gated_attention@v9:1B_baseline", "revision"},
        {"QwQZh/gated_attention@gone", "no snapshot"},
        {"QwQZh/gated_attention@broken", "damaged"},
        {"QwQZh/gated_attention:1B_gate_elementwise", "--include \"1B_gate_elementwise/*\""},
        {"two/model", "2 snapshots"},
        {"no/model", "no snapshot in it"},
        {"nothing", "no id"},
        {"a/b/c", "no id"},
        {"../headgate-no-such-name", "no id"},
        {"a/..", "no id"},
        {"a/b:../../x", "no id"},
        {"a/b:/etc", "no id"},
        {"a/b:", "no id"},
        {"a/b@", "no id"},
        {"a/b@../../x", "no id"},
        {"a/b\nc", "no id"},
        {"/no/such/folder", "no id"},
    };
    size_t i;
    uint32_t failed = 0;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[512];
        test_log log;

        if (resolve(cases[i].model, &log, path) != HG_ERR_FILE || log.errors != 1 ||
            !strstr(log.error, cases[i].words)) {
            print_error("%s: expected an error with \"%s\", found: %s\n", cases[i].model,
                        cases[i].words, log.error);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

static void folders_are_taken_as_they_are(void **state)
{
    char path[512], small[8], model[256];
    test_log log;
    hg_checkpoint *checkpoint;

    (void)state;
    snprintf(model, sizeof(model), "%s/models--one--model/snapshots/" COMMIT, hub);
    assert_int_equal(resolve(model, &log, path), HG_OK);
    assert_string_equal(path, model);
    assert_int_equal(hg_model_resolve(&log.log, model, NULL, small, sizeof(small)),
                     HG_ERR_ARGUMENT);
    /* No model in it, and none inside: someone else says what is missing. */
    snprintf(model, sizeof(model), "%s/models--two--model/snapshots", hub);
    assert_int_equal(resolve(model, &log, path), HG_OK);
    /* Models inside: they are named, also when it is opened. */
    snprintf(model, sizeof(model), "%s/models--QwQZh--gated_attention/snapshots/" COMMIT, hub);
    assert_int_equal(resolve(model, &log, path), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "/1B_baseline, "));
    assert_null(strstr(log.error, "figs"));
    test_log_init(&log);
    assert_int_equal(test_open(&log, model, &checkpoint), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "/1B_gate_headwise"));
    snprintf(model, sizeof(model), "%s/models--QwQZh--gated_attention/blobs/abc", hub);
    assert_int_equal(resolve(model, &log, path), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "found a file"));
    assert_int_equal(test_open(&log, model, &checkpoint), HG_ERR_FILE);
}

static void calls_without_meaning_are_refused(void **state)
{
    char path[512];
    test_log log;

    (void)state;
    test_log_init(&log);
    assert_int_equal(hg_model_resolve(&log.log, "", hub, path, 512), HG_ERR_ARGUMENT);
    assert_int_equal(hg_model_resolve(&log.log, NULL, hub, path, 512), HG_ERR_ARGUMENT);
    assert_int_equal(hg_model_resolve(&log.log, "a/b", hub, NULL, 0), HG_ERR_ARGUMENT);
    assert_int_equal(hg_model_resolve(&log.log, "a/b", NULL, path, 512), HG_ERR_FILE);
    assert_non_null(strstr(log.error, "hf download a/b"));
    assert_int_equal(log.errors, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_lead_to_snapshots),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(folders_are_taken_as_they_are),
        cmocka_unit_test(calls_without_meaning_are_refused),
    };

    return cmocka_run_group_tests(tests, make_hub, remove_hub);
}
