/* SPDX-License-Identifier: MIT */
/*
 * Drivers that crash, hang, leave, or write rubbish where a report belongs: that device did not
 * run, in words that say why, and the others are judged all the same.
 */
#include "child.h"
#include "compare.h"
#include "faults.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TOKENS = 5 };

static hg_checkpoint *checkpoint;
static const int32_t ids[TOKENS] = {5, 300, 17, 1024, 2};

/* One way to misbehave. */
typedef struct trouble {
    const char *name;
    hg_result (*open)(const hg_log *log, hg_engine **out);
    const char *words; /* of the reason */
} trouble;

/* The pipe to the parent: the only one that a child can write to. */
static int report(void)
{
    for (int fd = 3; fd < 256; fd++) {
        const int flags = fcntl(fd, F_GETFL);
        struct stat status;

        if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY && fstat(fd, &status) == 0 &&
            S_ISFIFO(status.st_mode))
            return fd;
    }
    abort();
}

static hg_result healthy(const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = HG_PRECISION_EXACT,
                                     .threads = 1,
                                     .log = *log};

    return hg_engine_create(&params, out);
}

static hg_result crash(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    /* A sanitizer would report it in its own way. */
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
    return HG_ERR_DRIVER;
}

static hg_result give_up(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static hg_result leave(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    _exit(0);
}

static hg_result leave_with_code(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    _exit(3);
}

static hg_result hang(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    (void)signal(SIGTERM, SIG_IGN);
    while (pause() != 0)
        ;
    return HG_ERR_DRIVER;
}

/* A helper process of the driver keeps the pipe open. */
static hg_result crash_with_a_helper(const hg_log *log, hg_engine **out)
{
    if (fork() == 0) {
        (void)sleep(20);
        _exit(0);
    }
    return crash(log, out);
}

static hg_result refuse(const hg_log *log, hg_engine **out)
{
    (void)out;
    log->write(log->user, HG_LOG_ERROR, "the device is \033[31mred");
    return HG_ERR_NO_DEVICE;
}

static hg_result close_report(const hg_log *log, hg_engine **out)
{
    (void)close(report());
    return healthy(log, out);
}

static void put(const char *tag, const void *payload, uint64_t bytes)
{
    (void)hg_frame_write(report(), tag, payload, bytes);
}

static hg_result write_noise(const hg_log *log, hg_engine **out)
{
    uint8_t noise[4096];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(i * 167 + (i >> 3));
    (void)hg_write_all(report(), noise, sizeof(noise));
    return healthy(log, out);
}

static hg_result write_half(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    (void)hg_write_all(report(), "STAG", 4);
    _exit(0);
}

static hg_result write_broken_stage(const hg_log *log, hg_engine **out)
{
    uint8_t head[HG_STAGE_HEAD_BYTES];

    memset(head, 'a', sizeof(head));
    put("STAG", head, sizeof(head));
    return healthy(log, out);
}

/* A stage of 2^33 values that is none of this model's. */
static hg_result write_huge_stage(const hg_log *log, hg_engine **out)
{
    hg_stage_head head = {.name = "embedding",
                          .kernel = "matmul",
                          .layer = -1,
                          .rank = 2,
                          .shape = {1u << 20, 1u << 13},
                          .has_values = 1,
                          .count = UINT64_C(1) << 33};
    uint8_t bytes[HG_FRAME_HEAD_BYTES + HG_STAGE_HEAD_BYTES] = {'S', 'T', 'A', 'G'};

    hg_put_u64(bytes + 8, hg_stage_frame_bytes(&head));
    hg_stage_head_encode(&head, bytes + HG_FRAME_HEAD_BYTES);
    (void)hg_write_all(report(), bytes, sizeof(bytes));
    return healthy(log, out);
}

static hg_result write_long_description(const hg_log *log, hg_engine **out)
{
    static char text[70000];

    memset(text, 'x', sizeof(text));
    put("META", text, sizeof(text));
    return healthy(log, out);
}

static hg_result write_no_description(const hg_log *log, hg_engine **out)
{
    put("META", "format 1\nids 1,x\n", 17);
    return healthy(log, out);
}

static hg_result end_early(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    put("DONE", "\0\0\0\0", 4);
    _exit(0);
}

static hg_result fail_without_words(const hg_log *log, hg_engine **out)
{
    (void)log;
    (void)out;
    put("FAIL", "", 0);
    _exit(1);
}

static hg_result tell_of_a_run(const hg_log *log, hg_engine **out)
{
    put("DIFF", "\7\0\0\0\0\0\0\0", 8);
    return healthy(log, out);
}

static hg_result write_unknown(const hg_log *log, hg_engine **out)
{
    static const uint8_t note[64];

    put("NOTE", note, sizeof(note));
    return healthy(log, out);
}

static void crash_in_kernel(const hg_text_call *call, void (*truth)(const hg_text_call *call))
{
    (void)call;
    (void)truth;
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

static hg_result crash_halfway(const hg_log *log, hg_engine **out)
{
    static const hg_fault fault = {
        .name = "a crash", .stage = "mlp_down", .kernel = "matmul", .run = crash_in_kernel};
    const hg_result res = healthy(log, out);

    if (res == HG_OK)
        hg_fault_install(*out, &fault, 2);
    return res;
}

static const trouble troubles[] = {
    {"crashes", crash, "the driver crashed: its process was ended by signal 11"},
    {"aborts", give_up, "the driver crashed: its process was ended by signal 6"},
    {"crashes halfway", crash_halfway, "the driver crashed: its process was ended by signal 11"},
    {"crashes, and a helper lives on", crash_with_a_helper, "the driver crashed"},
    {"leaves", leave, "its process ended early: exit code 0"},
    {"leaves with a code", leave_with_code, "its process ended early: exit code 3"},
    {"hangs", hang, "the driver hung: no sign of life for 5 s"},
    {"refuses", refuse, "the device is ?[31mred"},
    {"closes the pipe", close_report, "its process ended early"},
    {"writes noise", write_noise, "wrote what is no report: no frame"},
    {"writes half a frame", write_half, "its process ended early: exit code 0"},
    {"writes a broken stage", write_broken_stage, "no report: a stage with a broken head"},
    {"writes a huge stage", write_huge_stage, "no report: a stage that the reference does not"},
    {"writes a long description", write_long_description, "no report: a description of no size"},
    {"writes no description", write_no_description, "no report: a description that is none"},
    {"says that it is done", end_early, "no report: an end before all stages were there"},
    {"fails without words", fail_without_words, "no report: a failure of no size"},
    {"tells of a run nobody asked for", tell_of_a_run, "no report: a run that was not asked for"},
    {"writes a note that is none", write_unknown, "no report: a note of no size"},
};

enum { TROUBLES = sizeof(troubles) / sizeof(troubles[0]) };

static struct {
    const trouble *trouble;
    uint32_t side; /* that has it */
} self;

static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    (void)user;
    return side == self.side ? self.trouble->open(log, out) : healthy(log, out);
}

static void compare(uint32_t side, hg_comparison *out)
{
    static const char *const labels[] = {"one", "two", "three"};
    const hg_compare_params params = {.checkpoint = checkpoint,
                                      .ids = ids,
                                      .count = TOKENS,
                                      .labels = labels,
                                      .side_count = 3,
                                      .open = open_side,
                                      .runs = 1,
                                      .timeout_s = 5,
                                      .threads = 1};

    self.side = side;
    assert_int_equal(hg_compare_run(&params, out), HG_OK);
}

static void judge(const hg_comparison *c, uint32_t side)
{
    const hg_compare_side *s = &c->sides[side];

    print_message("%s: %s\n", self.trouble->name, s->reason);
    assert_int_equal(s->verdict, HG_VERDICT_NOT_RUN);
    assert_non_null(strstr(s->reason, self.trouble->words));
    assert_null(strpbrk(s->reason, "\033\n\t"));
    assert_int_equal(c->verdict, HG_VERDICT_NOT_RUN);
    for (uint32_t i = 0; i < 3; i++) {
        if (i == side)
            continue;
        if (c->sides[i].verdict > HG_VERDICT_ROUNDING)
            print_message("the healthy one: %s\n", c->sides[i].reason);
        assert_true(c->sides[i].verdict <= HG_VERDICT_ROUNDING);
        assert_true(c->sides[i].row_count > 80);
    }
}

static void test_trouble(void **state)
{
    hg_comparison c;
    struct timespec from, to;

    self.trouble = *state;
    clock_gettime(CLOCK_MONOTONIC, &from);
    compare(1, &c);
    clock_gettime(CLOCK_MONOTONIC, &to);
    judge(&c, 1);
    /* Both were judged by the same bits; nobody waits for a process that is gone. */
    assert_int_equal(c.sides[2].verdict, HG_VERDICT_SAME_BITS);
    assert_true(to.tv_sec - from.tv_sec < 30);
    hg_comparison_free(&c);
    /* No child is left. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* The baseline is lost: the others are measured against the reference. */
static void test_lost_baseline(void **state)
{
    hg_comparison c;

    (void)state;
    self.trouble = &troubles[0];
    compare(0, &c);
    judge(&c, 0);
    assert_int_equal(c.is_lost, 1);
    assert_int_equal(c.sides[1].verdict, HG_VERDICT_ROUNDING);
    hg_comparison_free(&c);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[TROUBLES + 1];
    const char *match = argc > 1 ? argv[1] : "";
    const hg_checkpoint_params params = {.struct_size = sizeof(params),
                                         .path = HG_TEST_SAMPLES_DIR "/gate_headwise",
                                         .log = hg_message_log()};
    size_t count = 0;
    int failed;

    hg_message_setup(HG_LOG_WARNING);
    if (hg_checkpoint_open(&params, &checkpoint) != HG_OK)
        return 1;
    if (!*match)
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_lost_baseline);
    for (uint32_t i = 0; i < TROUBLES; i++)
        if (strstr(troubles[i].name, match))
            tests[count++] = (struct CMUnitTest){.name = troubles[i].name,
                                                 .test_func = test_trouble,
                                                 .initial_state = (void *)&troubles[i]};
    failed = _cmocka_run_group_tests("children", tests, count, NULL, NULL);
    hg_checkpoint_close(&checkpoint);
    return failed;
}
