/* SPDX-License-Identifier: MIT */
/*
 * Measured choices: what is found is kept and read again, a file that is not whole is not believed,
 * off leaves everything alone, exact bytes do not depend on it, and it can be stopped.
 * test_tune --device SEL
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <headgate/headgate.h>

#include "given_device.h"

enum { TOKENS = 9, VOCAB_MOST = 4096 };

static const char *selector;

typedef struct run {
    hg_tune tune;
    hg_precision precision;
    const char *cache_dir;
    uint32_t stop_at; /* the step of measuring at which it is stopped; 0: never */
    hg_result expected;
    /* out */
    uint32_t steps;
    float logits[VOCAB_MOST];
    uint32_t vocab;
} run;

static int on_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    run *r = user;

    assert_true(done <= total);
    if (strcmp(what, "tune") != 0)
        return 0;
    r->steps++;
    return r->stop_at && r->steps >= r->stop_at;
}

/* A prompt and a token after it, so that matmul and matvec are both used. */
static void go(run *r)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = selector,
                                     .precision = r->precision,
                                     .cache_dir = r->cache_dir,
                                     .tune = r->tune};
    const hg_session_params wish = {.struct_size = sizeof(wish),
                                    .max_tokens = TOKENS,
                                    .logits = HG_LOGITS_LAST,
                                    .progress = {on_step, r}};
    hg_model_info info = {.struct_size = sizeof(info)};
    hg_checkpoint *checkpoint = NULL;
    hg_session *session = NULL;
    hg_engine *engine = NULL;
    hg_model *model = NULL;
    int32_t ids[TOKENS];
    hg_result res;

    r->steps = 0;
    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    assert_int_equal(
        hg_checkpoint_open(&(hg_checkpoint_params){.path = HG_TEST_SAMPLES_DIR "/gate_headwise"},
                           &checkpoint),
        HG_OK);
    assert_int_equal(hg_model_load(engine, checkpoint, NULL, &model), HG_OK);
    hg_model_describe(model, &info);
    r->vocab = info.vocab;
    assert_true(info.vocab <= VOCAB_MOST);
    for (uint32_t i = 0; i < TOKENS; i++)
        ids[i] = (int32_t)((i * 977u + 3u) % info.vocab);
    assert_int_equal(hg_session_create(model, &wish, &session), HG_OK);
    res = hg_session_eval(session, ids, TOKENS - 1);
    if (res == HG_OK)
        res = hg_session_eval(session, ids + TOKENS - 1, 1);
    assert_int_equal(res, r->expected);
    if (res == HG_OK)
        assert_int_equal(hg_session_logits(session, TOKENS - 1, r->logits), HG_OK);
    hg_session_free(&session);
    hg_model_free(&model);
    hg_checkpoint_close(&checkpoint);
    hg_engine_destroy(&engine);
}

static void make_folder(char folder[64])
{
    (void)snprintf(folder, 64, "tune-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* "FOLDER/numbers-....txt"; 0: there is none. */
static int find_file(const char *folder, char path[512])
{
    DIR *dir = opendir(folder);
    int found = 0;

    assert_non_null(dir);
    for (struct dirent *row = readdir(dir); row; row = readdir(dir)) {
        if (strncmp(row->d_name, "numbers-", 8) == 0) {
            (void)snprintf(path, 512, "%s/%s", folder, row->d_name);
            found++;
        }
    }
    closedir(dir);
    return found;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 65536);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    (void)fclose(file);
    return text;
}

static void expect_near(const run *a, const run *b)
{
    for (uint32_t i = 0; i < a->vocab; i++)
        assert_true(fabsf(a->logits[i] - b->logits[i]) < 1e-4f);
}

/* Runs until nothing is measured any more: what there was no time for is left to the next. */
static uint32_t settle(run *r)
{
    for (uint32_t turns = 1; turns < 12; turns++) {
        go(r);
        if (r->steps == 0)
            return turns;
    }
    fail_msg("%s", "still measuring after a dozen runs");
    return 0;
}

static void kept_and_read_again(void **state)
{
    char folder[64], path[512];
    run off = {.tune = HG_TUNE_OFF}, quick = {.tune = HG_TUNE_QUICK, .cache_dir = folder};
    char *text;

    (void)state;
    make_folder(folder);
    off.cache_dir = folder;
    go(&off);
    assert_int_equal(off.steps, 0);
    assert_int_equal(find_file(folder, path), 0);
    assert_true(settle(&quick) >= 2);
    assert_int_equal(find_file(folder, path), 1);
    expect_near(&off, &quick);
    text = read_all(path);
    assert_non_null(strstr(text, "\nmatmul "));
    assert_non_null(strstr(text, "\nmatvec "));
    free(text);
}

static void half_a_file_says_nothing(void **state)
{
    char folder[64], path[512];
    run quick = {.tune = HG_TUNE_QUICK, .cache_dir = folder};
    char *text;
    FILE *file;

    (void)state;
    make_folder(folder);
    settle(&quick);
    assert_int_equal(find_file(folder, path), 1);
    text = read_all(path);
    for (int kind = 0; kind < 3; kind++) {
        char *line = strstr(text, "\nmatmul ");
        const size_t bytes = strlen(text);

        assert_non_null(line);
        file = fopen(path, "wb");
        assert_non_null(file);
        if (kind == 1)
            line[2]++; /* the checksum knows */
        assert_true(fwrite(text, 1, kind == 0 ? bytes / 2 : kind == 1 ? bytes : 0, file) <= bytes);
        (void)fclose(file);
        if (kind == 1)
            line[2]--;
        go(&quick);
        assert_true(quick.steps > 0);
    }
    free(text);
}

static void exact_bytes_stay(void **state)
{
    char folder[64];
    run off = {.tune = HG_TUNE_OFF, .precision = HG_PRECISION_EXACT};
    run quick = {.tune = HG_TUNE_QUICK, .precision = HG_PRECISION_EXACT, .cache_dir = folder};

    (void)state;
    make_folder(folder);
    go(&off);
    settle(&quick);
    assert_memory_equal(off.logits, quick.logits, off.vocab * sizeof(float));
}

static void can_be_stopped(void **state)
{
    char folder[64], path[512];
    run quick = {
        .tune = HG_TUNE_QUICK, .cache_dir = folder, .stop_at = 1, .expected = HG_CANCELLED};

    (void)state;
    make_folder(folder);
    go(&quick);
    assert_int_equal(quick.steps, 1);
    assert_int_equal(find_file(folder, path), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_read_again), cmocka_unit_test(half_a_file_says_nothing),
        cmocka_unit_test(exact_bytes_stay), cmocka_unit_test(can_be_stopped)};
    int found;

    selector = hg_test_device(argc, argv, &found);
    return found ? cmocka_run_group_tests(tests, NULL, NULL) : HG_TEST_SKIP;
}
