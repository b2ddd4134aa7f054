/* SPDX-License-Identifier: MIT */
/*
 * Every seeded fault, on the first, a middle and the last layer of a model in which it matters:
 * compare has to say `different` and name the kernel and the layer. And the same wrapper without a
 * fault: same within rounding.
 */
#include "compare.h"
#include "faults.h"
#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FIXTURES = 8, TOKENS_MAX = 256 };

static struct {
    char folder[FIXTURES][64];
    const hg_fault *fault;
    int32_t layer;
    int is_short; /* the first layer alone */
} self;

static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = side ? HG_PRECISION_EXACT : HG_PRECISION_FP32,
                                     .threads = 1,
                                     .log = *log};
    const hg_result res = hg_engine_create(&params, out);

    (void)user;
    if (res == HG_OK && side)
        hg_fault_install(*out, self.fault, self.layer);
    return res;
}

static void compare(uint32_t fixture, uint32_t runs, hg_comparison *out)
{
    static const char *const labels[] = {"ref", "faulty"};
    const hg_checkpoint_params params = {
        .struct_size = sizeof(params), .path = self.folder[fixture], .log = hg_message_log()};
    hg_checkpoint *checkpoint = NULL;
    int32_t ids[TOKENS_MAX];

    hg_fixture_ids(&hg_fault_fixtures[fixture], ids);
    assert_int_equal(hg_checkpoint_open(&params, &checkpoint), HG_OK);
    assert_int_equal(hg_compare_run(&(hg_compare_params){.checkpoint = checkpoint,
                                                         .ids = ids,
                                                         .count = hg_fault_fixtures[fixture].tokens,
                                                         .labels = labels,
                                                         .side_count = 2,
                                                         .open = open_side,
                                                         .runs = runs,
                                                         .timeout_s = 60,
                                                         .threads = 1},
                                    out),
                     HG_OK);
    hg_checkpoint_close(&checkpoint);
}

/* How far beyond its bound the fault has to be, so that no rounding of the kernel's own explains
 * it. */
#define CLEARLY 3

static void judge(const hg_fault *fault, int32_t layer, const hg_comparison *c)
{
    const hg_compare_side *side = &c->sides[1];
    const hg_stage_row *row;

    print_message("%s, layer %d: %s: %s\n", fault->name, layer + 1, hg_verdict_name(side->verdict),
                  side->reason);
    assert_int_equal(side->verdict, HG_VERDICT_DIFFERENT);
    assert_int_equal(c->verdict, HG_VERDICT_DIFFERENT);
    assert_int_equal(c->sides[0].verdict, HG_VERDICT_SAME_BITS);
    if (!fault->kernel) {
        assert_true(side->untapped_differ > 0);
        return;
    }
    assert_true(side->decisive < side->row_count);
    row = &side->rows[side->decisive];
    assert_string_equal(row->head.kernel, fault->kernel);
    if (!fault->is_once)
        assert_int_equal(row->head.layer, layer);
    if (fault->runs)
        assert_true(side->runs_differ > 0);
    else
        assert_true(row->excess.worst > CLEARLY);
}

static void test_fault(void **state)
{
    const hg_fault *fault = *state;
    const uint32_t layers = hg_fault_fixtures[fault->fixture].layers;

    self.fault = fault;
    for (uint32_t i = 0; i < (fault->is_once || self.is_short ? 1 : layers); i++) {
        hg_comparison c;

        self.layer = (int32_t)i;
        compare(fault->fixture, fault->runs ? fault->runs : 1, &c);
        judge(fault, self.layer, &c);
        hg_comparison_free(&c);
    }
}

static void test_no_fault(void **state)
{
    (void)state;
    self.fault = NULL;
    for (uint32_t f = 0; f < hg_fault_fixture_count; f++) {
        hg_comparison c;

        compare(f, 2, &c);
        print_message("no fault, model %u: %s: %s\n", f, hg_verdict_name(c.sides[1].verdict),
                      c.sides[1].reason);
        assert_int_equal(c.sides[1].verdict, HG_VERDICT_ROUNDING);
        assert_true(c.sides[1].worst_isolated < 1);
        hg_comparison_free(&c);
    }
}

static int make_fixtures(void)
{
    for (uint32_t f = 0; f < hg_fault_fixture_count; f++) {
        (void)snprintf(self.folder[f], sizeof(self.folder[f]), "model-%u", f);
        (void)mkdir(self.folder[f], 0777);
        if (!hg_fixture_write(&hg_fault_fixtures[f], self.folder[f]))
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[64];
    const char *match = argc > 2 && strcmp(argv[1], "--match") == 0 ? argv[2] : "";
    size_t count = 0;

    self.is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    hg_message_setup(HG_LOG_WARNING);
    if (!make_fixtures()) {
        (void)fprintf(stderr, "the models of this test cannot be written here\n");
        return 1;
    }
    if (!*match)
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_no_fault);
    for (uint32_t i = 0; i < hg_fault_count && count < 64; i++)
        if (strstr(hg_faults[i].name, match))
            tests[count++] = (struct CMUnitTest){.name = hg_faults[i].name,
                                                 .test_func = test_fault,
                                                 .initial_state = (void *)&hg_faults[i]};
    return _cmocka_run_group_tests("faults", tests, count, NULL, NULL);
}
