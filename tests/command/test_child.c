/* SPDX-License-Identifier: MIT */
/* Children that do what drivers do: finish, fail, crash, hang, write rubbish. */
#include "child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG = 3 << 20 };

static int finish(void *user, int fd)
{
    char *text = user;
    static char big[LONG];

    memset(big, 'x', LONG);
    if (hg_frame_write(fd, "TEXT", text, strlen(text)) != HG_OK ||
        hg_frame_write2(fd, "MANY", "ab", 2, big, LONG) != HG_OK ||
        hg_frame_write(fd, "DONE", NULL, 0) != HG_OK)
        return 7;
    return 3;
}

static int crash(void *user, int fd)
{
    (void)user;
    (void)hg_frame_write(fd, "TEXT", "a", 1);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int hang(void *user, int fd)
{
    (void)user;
    (void)fd;
    while (pause() != 0) { /* every signal */
    }
    return 0;
}

static int rubbish(void *user, int fd)
{
    (void)user;
    return write(fd, "Segfault? Abort!", 16) == 16 ? 0 : 1;
}

static void frames_come_whole(void **state)
{
    char text[] = "one";
    hg_child child;
    hg_frame frame;
    char found[8] = {0};

    (void)state;
    assert_int_equal(hg_child_start(&child, finish, text), HG_OK);
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_OK);
    assert_string_equal(frame.tag, "TEXT");
    assert_int_equal(frame.bytes, 3);
    assert_int_equal(hg_child_read(&child, 10, found, 3), HG_OK);
    assert_string_equal(found, "one");
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_OK);
    assert_string_equal(frame.tag, "MANY");
    assert_int_equal(frame.bytes, LONG + 2);
    assert_int_equal(hg_child_read(&child, 10, found, 3), HG_OK);
    assert_memory_equal(found, "abx", 3);
    assert_int_equal(hg_child_skip(&child, 10, LONG - 1), HG_OK);
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_OK);
    assert_string_equal(frame.tag, "DONE");
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_ERR_FILE);
    assert_string_equal(frame.tag, "");
    assert_int_equal(hg_child_stop(&child, 10), 3);
    assert_int_equal(child.pid, 0);
}

static void a_crash_is_told(void **state)
{
    hg_child child;
    hg_frame frame;
    char text[128];

    (void)state;
    assert_int_equal(hg_child_start(&child, crash, NULL), HG_OK);
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_OK);
    assert_int_equal(hg_child_skip(&child, 10, frame.bytes), HG_OK);
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_ERR_FILE);
    hg_child_describe(hg_child_stop(&child, 10), text);
    assert_non_null(strstr(text, "signal 11"));
}

static void a_hang_ends(void **state)
{
    hg_child child;
    hg_frame frame;

    (void)state;
    assert_int_equal(hg_child_start(&child, hang, NULL), HG_OK);
    assert_int_equal(hg_child_next(&child, 1, &frame), HG_TIMEOUT);
    assert_int_equal(hg_child_stop(&child, 0), 256 + SIGKILL);
}

static void rubbish_is_no_frame(void **state)
{
    hg_child child;
    hg_frame frame;

    (void)state;
    assert_int_equal(hg_child_start(&child, rubbish, NULL), HG_OK);
    assert_int_equal(hg_child_next(&child, 10, &frame), HG_ERR_FILE);
    assert_string_equal(frame.tag, "????");
    assert_int_equal(hg_child_stop(&child, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_whole),
        cmocka_unit_test(a_crash_is_told),
        cmocka_unit_test(a_hang_ends),
        cmocka_unit_test(rubbish_is_no_frame),
    };

    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
