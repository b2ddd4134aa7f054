/* SPDX-License-Identifier: MIT */
/* The seeded faults that live in a kernel's text: the self test finds every one of them, in the
 * kernel that has it, and nothing in a healthy device. */
#include "faults.h"

#include <headgate/diagnose.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct tally {
    const hg_fault *fault;
    uint32_t passed, failed_there, failed_elsewhere;
    char first[256];
} tally;

static void count(void *user, const hg_selftest_row *row)
{
    tally *t = user;

    if (row->verdict == HG_SELFTEST_PASSED) {
        t->passed++;
    } else if (row->verdict == HG_SELFTEST_FAILED) {
        if (t->fault && strcmp(row->kernel, t->fault->kernel) == 0) {
            if (t->failed_there++ == 0)
                (void)snprintf(t->first, sizeof(t->first), "%s: %s", row->shape, row->detail);
        } else {
            t->failed_elsewhere++;
            print_message("%s %s: %s\n", row->kernel, row->shape, row->detail);
        }
    }
}

static void run(const hg_fault *fault, tally *out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = HG_PRECISION_EXACT,
                                     .threads = 1};
    const hg_selftest_params full = {.struct_size = sizeof(full), .level = HG_SELFTEST_FULL};
    hg_engine *engine = NULL;

    memset(out, 0, sizeof(*out));
    out->fault = fault;
    assert_int_equal(hg_engine_create(&params, &engine), HG_OK);
    hg_fault_install(engine, fault, -1);
    assert_int_equal(hg_selftest(engine, &full, count, out), HG_OK);
    hg_engine_destroy(&engine);
}

static void test_fault(void **state)
{
    const hg_fault *fault = *state;
    tally t;

    run(fault, &t);
    print_message("%s: %u rows of %s fail, first %s\n", fault->name, t.failed_there, fault->kernel,
                  t.first);
    assert_true(t.failed_there > 0);
    assert_int_equal(t.failed_elsewhere, 0);
}

static void test_healthy(void **state)
{
    tally t;

    (void)state;
    run(NULL, &t);
    assert_true(t.passed > 100);
    assert_int_equal(t.failed_elsewhere, 0);
}

int main(void)
{
    static struct CMUnitTest tests[64];
    size_t test_count = 0;

    tests[test_count++] = (struct CMUnitTest)cmocka_unit_test(test_healthy);
    for (uint32_t i = 0; i < hg_fault_count && test_count < 64; i++)
        if (hg_faults[i].in_kernel)
            tests[test_count++] = (struct CMUnitTest){.name = hg_faults[i].name,
                                                      .test_func = test_fault,
                                                      .initial_state = (void *)&hg_faults[i]};
    return _cmocka_run_group_tests("kernel faults", tests, test_count, NULL, NULL);
}
