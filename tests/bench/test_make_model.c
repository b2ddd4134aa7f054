/* SPDX-License-Identifier: MIT */
/*
 * test_make_model PROGRAM: what make_model writes is read back by the library, in every dtype, gate
 * and file form; the two forms hold the same numbers, and a full disk leaves no file under its
 * final name.
 */
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

static const char *program;

static int run(const char *folder, const char *options)
{
    char line[1024];
    (void)snprintf(line, sizeof line, "rm -rf '%s' && '%s' '%s' %s", folder, program, folder,
                   options);
    return system(line); /* NOLINT(bugprone-command-processor): the line is ours */
}

static void scan(const char *folder, hg_model_info *info, hg_scan *found)
{
    hg_checkpoint *checkpoint = NULL;
    const hg_checkpoint_params params = {.struct_size = sizeof params, .path = folder};
    assert_int_equal(hg_checkpoint_open(&params, &checkpoint), HG_OK);
    *info = (hg_model_info){.struct_size = sizeof *info};
    *found = (hg_scan){.struct_size = sizeof *found};
    hg_checkpoint_describe(checkpoint, info);
    assert_int_equal(hg_checkpoint_scan(checkpoint, NULL, found), HG_OK);
    hg_checkpoint_close(&checkpoint);
}

static void forms_agree(void **state)
{
    static const char *const gates[] = {"none", "headwise", "elementwise"};
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    (void)state;
    for (int index = 0; index < 9; index++) {
        char options[256];
        hg_model_info info[2] = {{0}};
        hg_scan found[2] = {{0}};
        for (int form = 0; form < 2; form++) {
            (void)snprintf(options, sizeof options,
                           "--layers 2 --vocab 1001 %s --gate %s --dtype %s --format %s",
                           index == 4 ? "--untied" : "", gates[index / 3], dtypes[index % 3],
                           form ? "bin" : "safetensors");
            assert_int_equal(run("made", options), 0);
            scan("made", &info[form], &found[form]);
            assert_int_equal(info[form].gate, index / 3);
            assert_int_equal(info[form].vocab, 1001);
            assert_int_equal(info[form].tied, index != 4);
            assert_int_equal(info[form].warning_count, 0);
            assert_string_equal(info[form].weight_types, dtypes[index % 3]);
            assert_int_equal(found[form].nan_count + found[form].inf_count, 0);
            assert_true(found[form].abs_max == 1.0F); /* the norms */
        }
        assert_int_equal(info[0].parameters, info[1].parameters);
        assert_int_equal(info[0].weight_bytes, info[1].weight_bytes);
    }
}

/* 28 layers of the published shape, but a small vocabulary and width, so that it is quick;
 * parameters by the formula. */
static void shape_is_as_asked(void **state)
{
    hg_model_info info = {0};
    hg_scan found = {0};
    (void)state;
    assert_int_equal(run("made", "--preset 1.7b --gate headwise --hidden 64 --vocab 512 --ffn 96"),
                     0);
    scan("made", &info, &found);
    const uint64_t q = UINT64_C(16) * 128;
    const uint64_t layer =
        64 * (q + 16) + 2 * 64 * (8 * 128) + q * 64 + UINT64_C(3) * 64 * 96 + 2 * 64 + 2 * 128;
    assert_int_equal(info.parameters, UINT64_C(512) * 64 + 28 * layer + 64);
    assert_int_equal(info.layers, 28);
}

static void full_disk_leaves_nothing(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    /* The temporary name is a device that is always full. */
    assert_int_equal(
        system("rm -rf made && mkdir made && ln -s /dev/full made/model.safetensors.part"),
        0); /* NOLINT(bugprone-command-processor) */
    char line[1024];
    (void)snprintf(line, sizeof line, "'%s' made 2>/dev/null", program);
    assert_int_not_equal(system(line), 0); /* NOLINT(bugprone-command-processor) */
    assert_int_not_equal(access("made/model.safetensors", F_OK), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_agree),
        cmocka_unit_test(shape_is_as_asked),
        cmocka_unit_test(full_disk_leaves_nothing),
    };
    if (argc != 2) {
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
