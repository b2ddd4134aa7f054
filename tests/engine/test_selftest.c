/* SPDX-License-Identifier: MIT */
/*
 * Self tests and checks before first use, on a driver that is wrong on purpose: the reference's
 * column text behind a backend that spoils what one kernel wrote, now and then or always. Also the
 * file that verdicts are kept in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"
#include "operation.h"
#include "trust.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANY_TIER = -1 };

/* Which dispatches are spoilt: every n-th of a kernel, in a tier or in all. */
static struct {
    int kernel, tier, every; /* every 0: none */
    uint32_t matching, dispatches, probes;
} fault;

static char said[4096];
static char folder[] = "checks-XXXXXX";

static void spoil(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                  uint32_t bind_count, const uint32_t groups[3])
{
    const hg_variant *v = pipe->variant;

    if (v->kernel == HG_KERNEL_probe)
        fault.probes++; /* made by every program anew */
    else
        fault.dispatches++;
    hg_backend_reference.dispatch(list, pipe, params, binds, bind_count, groups);
    if (!fault.every || (int)v->kernel != fault.kernel ||
        (fault.tier != ANY_TIER && (int)v->tier != fault.tier))
        return;
    if (++fault.matching % (uint32_t)fault.every == 0) {
        hg_bind first = binds[hg_kernels[v->kernel].output];

        first.size_bytes = 4;
        hg_backend_reference.fill(list, first, 0x3f9d70a4u);
    }
}

static void keep_line(void *user, hg_log_level level, const char *line)
{
    const size_t at = strlen(said);

    (void)user;
    (void)level;
    (void)snprintf(said + at, sizeof(said) - at, "%s\n", line);
}

static void set_fault(int kernel, int tier, int every)
{
    fault.kernel = kernel;
    fault.tier = tier;
    fault.every = every;
    fault.matching = fault.dispatches = fault.probes = 0;
    said[0] = '\0';
}

/* An engine that takes itself for an OpenCL driver of this version. */
static hg_engine *open_engine(const char *version, int exact)
{
    static hg_backend wrapped;
    const hg_engine_params params = {.selector = "ref",
                                     .precision = HG_PRECISION_EXACT,
                                     .threads = 1,
                                     .cache_dir = folder,
                                     .log = {.write = keep_line, .level = HG_LOG_INFO}};
    hg_engine *e = NULL;

    assert_int_equal(hg_engine_create(&params, &e), HG_OK);
    assert_null(e->trust); /* the reference is trusted */
    wrapped = hg_backend_reference;
    wrapped.dispatch = spoil;
    e->backend = &wrapped;
    e->plan.device.backend = HG_BACKEND_OPENCL;
    (void)snprintf(e->plan.device.driver, sizeof(e->plan.device.driver), "made-up driver");
    (void)snprintf(e->plan.device.driver_version, sizeof(e->plan.device.driver_version), "%s",
                   version);
    e->plan.tier_given = 1; /* it runs texts, of which vectors have none */
    e->plan.tier = HG_TIER_T0C;
    if (!exact)
        e->plan.precision = HG_PRECISION_FP32;
    assert_int_equal(hg_trust_create(e, &e->trust), HG_OK);
    return e;
}

/* 2 x 3 by matmul; *y is what came out. */
static hg_result multiply(hg_engine *engine, float *y)
{
    static const float values[3] = {2.0f, 3.0f, 0.0f};
    hg_oplist list = {0};
    hg_mem *mem[4] = {NULL};
    hg_op *op = hg_oplist_append(&list, HG_OP_DISPATCH);
    hg_params params = {.matmul = {.rows = 1, .k = 1, .cols = 1, .y_stride = 1}};
    hg_result res;

    assert_non_null(op);
    op->kernel = HG_KERNEL_matmul;
    op->dtype = HG_DTYPE_F32;
    memcpy(op->words, params.words, sizeof(op->words));
    op->bind_count = 4;
    for (int b = 0; b < 4; b++) {
        assert_int_equal(hg_buffer_create(engine, HG_MEM_KV, 256, "m", &mem[b]), HG_OK);
        if (b < 3)
            assert_int_equal(hg_upload_bytes(engine, mem[b], 0, &values[b], 4), HG_OK);
        op->bind[b] = (hg_bind){mem[b], 0, 256};
    }
    res = hg_engine_run(engine, &list, NULL);
    assert_int_equal(hg_readback_bytes(engine, mem[3], 0, y, 4), HG_OK);
    for (int b = 0; b < 4; b++)
        hg_buffer_free(engine, &mem[b]);
    hg_oplist_free(&list);
    return res;
}

/* ---- the self test ---- */

static struct {
    uint32_t passed, failed, skipped, others, within, named;
    const char *kernel; /* that may fail */
    char detail[256];
} seen;

static void take_row(void *user, const hg_selftest_row *row)
{
    assert_ptr_equal(user, &seen);
    seen.passed += row->verdict == HG_SELFTEST_PASSED;
    seen.skipped += row->verdict == HG_SELFTEST_SKIPPED;
    if (row->verdict != HG_SELFTEST_FAILED)
        return;
    seen.failed++;
    seen.within += row->within_bound;
    seen.named +=
        strncmp(row->detail, HG_SELFTEST_WITHIN ": ", strlen(HG_SELFTEST_WITHIN) + 2) == 0;
    assert_int_equal(row->exact_only, strcmp(row->kernel, "probe") == 0);
    seen.others += strcmp(row->kernel, seen.kernel) != 0;
    (void)snprintf(seen.detail, sizeof(seen.detail), "%s", row->detail);
}

static void self_test(hg_selftest_level level, uint32_t replays, const char *kernel)
{
    const hg_selftest_params params = {
        .struct_size = sizeof(params), .level = level, .replays = replays};
    hg_engine *e = open_engine("1", 1);

    memset(&seen, 0, sizeof(seen));
    seen.kernel = kernel;
    assert_int_equal(hg_selftest(e, &params, take_row, &seen), HG_OK);
    hg_engine_destroy(&e);
}

/* Variants that this device is not asked for: those without a text. */
static uint32_t without_text(void)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < hg_variant_count; v++)
        count += !hg_variants[v].text;
    return count;
}

static void a_good_device_passes(void **state)
{
    uint32_t all;

    (void)state;
    set_fault(0, 0, 0);
    self_test(HG_SELFTEST_FULL, 0, "");
    assert_int_equal(seen.failed, 0);
    assert_int_equal(seen.skipped, without_text());
    all = (uint32_t)seen.passed;
    assert_true(all >= 100);
    self_test(HG_SELFTEST_QUICK, 0, "");
    assert_int_equal(seen.failed, 0);
    assert_true(seen.passed >= 24 && seen.passed < all);
}

static void a_wrong_kernel_is_found_and_named(void **state)
{
    (void)state;
    for (int k = 0; k < HG_KERNEL_COUNT; k++) {
        set_fault(k, ANY_TIER, 1);
        self_test(HG_SELFTEST_QUICK, 0, hg_kernels[k].name);
        assert_true(seen.failed > 0);
        assert_int_equal(seen.others, 0);
        assert_int_equal(seen.within, 0);
        assert_non_null(strstr(seen.detail, k == HG_KERNEL_probe ? "operation \"a + b\": expected "
                                                                 : "[0]: expected "));
    }
}

/* The double column has other bits than the text, and is as right as can be. */
static void other_bits_are_told_from_wrong_ones(void **state)
{
    const hg_selftest_params params = {.struct_size = sizeof(params), .level = HG_SELFTEST_FULL};

    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        hg_engine *e;

        set_fault(0, ANY_TIER, 0);
        e = open_engine("1", exact);
        e->dev->plan.reference_text = 0;
        memset(&seen, 0, sizeof(seen));
        seen.kernel = "";
        assert_int_equal(hg_selftest(e, &params, take_row, &seen), HG_OK);
        assert_true(exact ? seen.failed > 20 : seen.failed == 0);
        assert_int_equal(seen.within, seen.failed);
        assert_int_equal(seen.named, seen.failed);
        /* The probe has nothing to say of fp32. */
        assert_int_equal(seen.skipped, without_text() + !exact);
        hg_engine_destroy(&e);
    }
}

static void operations_have_names(void **state)
{
    (void)state;
    for (uint64_t place = 0; place < 2 * HG_OPERATION_COUNT; place++) {
        const hg_operation *operation = hg_operation_at(place);

        assert_true(operation->name && operation->name[0] && operation->cause);
        for (uint64_t other = 0; other < place % HG_OPERATION_COUNT; other++)
            assert_string_not_equal(operation->name, hg_operation_at(other)->name);
    }
    assert_string_equal(hg_operation_at(2 * HG_OPERATION_COUNT + 11)->name,
                        "a*b + a*a must not be factored");
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        if (hg_shapes[s].kernel == HG_KERNEL_probe)
            assert_int_equal(hg_shape_bind_elements(&hg_shapes[s], 2),
                             hg_shapes[s].params.probe.count * HG_OPERATION_COUNT);
    }
}

static void flicker_is_found_by_replays(void **state)
{
    (void)state;
    /* add has two quick shapes: the fourth call is the second run of the second. */
    set_fault(HG_KERNEL_add, ANY_TIER, 4);
    self_test(HG_SELFTEST_QUICK, 2, "add");
    assert_int_equal(seen.failed, 1);
    assert_non_null(strstr(seen.detail, "run 2 differs from the first: y[0]"));
    set_fault(HG_KERNEL_add, ANY_TIER, 4);
    self_test(HG_SELFTEST_QUICK, 1, "add");
    assert_int_equal(seen.failed, 0);
    set_fault(HG_KERNEL_add, ANY_TIER, 10);
    self_test(HG_SELFTEST_FULL, 10, "add");
    assert_true(seen.failed > 0 && seen.others == 0);
}

static void wrong_calls_are_told(void **state)
{
    const hg_selftest_params level = {.struct_size = sizeof(level), .level = (hg_selftest_level)7};
    hg_engine *e = open_engine("1", 1);

    (void)state;
    assert_int_equal(hg_selftest(NULL, NULL, take_row, &seen), HG_ERR_ARGUMENT);
    assert_int_equal(hg_selftest(e, NULL, NULL, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_selftest(e, &level, take_row, &seen), HG_ERR_ARGUMENT);
    hg_engine_destroy(&e);
}

/* ---- before first use ---- */

static void remove_files(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[512];

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (remove(path) != 0)
            fail_msg("%s cannot be removed", path);
    }
    (void)closedir(dir);
}

/* The one file; counts those whose names are temporary, too. */
static int find_file(char path[512])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int files = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, 512, "%s/%s", folder, entry->d_name);
        files++;
    }
    (void)closedir(dir);
    return files;
}

static void a_wrong_tier_is_replaced_by_the_next(void **state)
{
    hg_engine *e;
    float y = 0;

    (void)state;
    remove_files();
    set_fault(HG_KERNEL_matmul, HG_TIER_T0C, 1);
    e = open_engine("1", 0);
    assert_int_equal(hg_plan_variant(&e->plan, HG_KERNEL_matmul, HG_DTYPE_F32)->tier, HG_TIER_T0C);
    assert_int_equal(multiply(e, &y), HG_OK);
    assert_true(y == 6.0f);
    assert_int_equal(hg_plan_variant(&e->plan, HG_KERNEL_matmul, HG_DTYPE_F32)->tier, HG_TIER_T0);
    /* Another type of the same kernel has not been tried. */
    assert_int_equal(hg_plan_variant(&e->plan, HG_KERNEL_matmul, HG_DTYPE_F16)->tier, HG_TIER_T0C);
    assert_non_null(strstr(said, "kernel matmul (T0C f32) is wrong on ref"));
    assert_non_null(strstr(said, "made-up driver 1"));
    assert_non_null(strstr(said, "tier T0 is"));
    assert_non_null(strstr(said, "y[0]: expected"));
    said[0] = '\0';
    assert_int_equal(multiply(e, &y), HG_OK);
    assert_string_equal(said, ""); /* once */
    hg_engine_destroy(&e);
}

static void nothing_lower_is_an_error(void **state)
{
    hg_engine *e;
    float y = 0;

    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        remove_files();
        set_fault(HG_KERNEL_matmul, ANY_TIER, 1);
        e = open_engine("1", exact);
        for (int again = 0; again < 2; again++) {
            said[0] = '\0';
            assert_int_equal(multiply(e, &y), HG_ERR_DRIVER);
            assert_non_null(strstr(said, "kernel matmul (T0 f32) is wrong on ref"));
            assert_non_null(strstr(said, "y[0]: expected"));
            assert_non_null(strstr(said, "use another device, or the reference (ref)"));
            assert_int_equal(strstr(said, "precision exact cannot be had") != NULL, exact);
        }
        hg_engine_destroy(&e);
    }
}

/* The double column has other bits than the text, and is as right as can be. */
static void other_rounding_is_good_enough_for_fp32(void **state)
{
    hg_engine *e;
    float y = 0;

    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        remove_files();
        set_fault(0, ANY_TIER, 0);
        e = open_engine("1", exact);
        e->dev->plan.reference_text = 0;
        assert_int_equal(multiply(e, &y), exact ? HG_ERR_DRIVER : HG_OK);
        if (!exact) {
            assert_true(y == 6.0f);
            assert_null(strstr(said, "is wrong"));
        }
        hg_engine_destroy(&e);
    }
}

static void exact_needs_the_probe(void **state)
{
    hg_engine *e;
    float y = 0;

    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        remove_files();
        set_fault(HG_KERNEL_probe, ANY_TIER, 1);
        e = open_engine("1", exact);
        assert_int_equal(multiply(e, &y), exact ? HG_ERR_DRIVER : HG_OK);
        assert_int_equal(strstr(said, "precision exact cannot be had: kernel probe") != NULL,
                         exact);
        hg_engine_destroy(&e);
    }
}

static int stop_now(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)what;
    (void)done;
    (void)total;
    return 1;
}

static void checks_can_be_cancelled(void **state)
{
    const hg_run_params params = {.progress = {.step = stop_now}, .what = "run"};
    hg_oplist list = {0};
    hg_engine *e;
    hg_op *op = hg_oplist_append(&list, HG_OP_DISPATCH);

    (void)state;
    remove_files();
    set_fault(0, 0, 0);
    e = open_engine("1", 0);
    op->kernel = HG_KERNEL_add; /* of nothing */
    assert_int_equal(hg_engine_run(e, &list, &params), HG_CANCELLED);
    hg_oplist_free(&list);
    hg_engine_destroy(&e); /* and nothing is left behind: the sanitizers look */
}

/* ---- the file ---- */

/* A run of a good device; how many dispatches it took beside its own. */
static uint32_t checks_made(const char *version)
{
    hg_engine *e;
    float y = 0;

    set_fault(0, 0, 0);
    e = open_engine(version, 1);
    assert_int_equal(multiply(e, &y), HG_OK);
    assert_true(y == 6.0f);
    hg_engine_destroy(&e);
    return fault.dispatches - 1;
}

static void verdicts_are_kept(void **state)
{
    char path[512];
    hg_engine *e;
    float y = 0;

    (void)state;
    remove_files();
    assert_true(checks_made("1") > 0);
    assert_int_equal(find_file(path), 1);
    assert_int_equal(checks_made("1"), 0);
    assert_true(fault.probes > 0);
    assert_true(checks_made("2") > 0); /* another version of the driver */
    assert_int_equal(find_file(path), 2);
    /* A failure stays one as long as nothing changed. */
    remove_files();
    set_fault(HG_KERNEL_matmul, HG_TIER_T0C, 1);
    e = open_engine("1", 1);
    assert_int_equal(multiply(e, &y), HG_OK);
    hg_engine_destroy(&e);
    assert_int_equal(checks_made("1"), 0);
    assert_non_null(strstr(said, "kernel matmul (T0C f32) is wrong on ref"));
    assert_true(checks_made("2") > 0);
    assert_null(strstr(said, "is wrong"));
    /* Other settings of the driver are another question. */
    set_fault(0, 0, 0);
    e = open_engine("2", 1);
    e->surroundings = 7;
    assert_int_equal(multiply(e, &y), HG_OK);
    assert_true(fault.dispatches > 1);
    hg_engine_destroy(&e);
}

/* What was wrong once, and has nothing below it, is tried again. */
static void nobody_is_refused_for_the_past(void **state)
{
    hg_engine *e;
    float y = 0;

    (void)state;
    remove_files();
    set_fault(HG_KERNEL_matmul, ANY_TIER, 1);
    e = open_engine("1", 1);
    assert_int_equal(multiply(e, &y), HG_ERR_DRIVER);
    hg_engine_destroy(&e);
    assert_true(checks_made("1") > 0);
    assert_int_equal(checks_made("1"), 0);
}

static size_t read_file(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t bytes;

    assert_non_null(file);
    bytes = fread(text, 1, room, file);
    (void)fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void damaged_files_say_nothing(void **state)
{
    static char good[1 << 16], bad[1 << 18], after[1 << 16];
    char path[512];
    size_t bytes;

    (void)state;
    remove_files();
    assert_true(checks_made("1") > 0);
    assert_int_equal(find_file(path), 1);
    bytes = read_file(path, good, sizeof(good));
    assert_true(bytes > 100);
    for (size_t cut = 0; cut < bytes; cut += cut < 24 ? 1 : 67) { /* cut short */
        write_file(path, good, cut);
        assert_true(checks_made("1") > 0);
        assert_int_equal(read_file(path, after, sizeof(after)), bytes);
        assert_memory_equal(after, good, bytes); /* and made whole again */
    }
    for (size_t at = 0; at < bytes; at += 29) { /* one bit over */
        memcpy(bad, good, bytes);
        bad[at] = (char)(bad[at] ^ 4);
        write_file(path, bad, bytes);
        assert_true(checks_made("1") > 0);
    }
    memset(bad, 0, sizeof(bad));
    write_file(path, bad, sizeof(bad)); /* zeros, and too long */
    assert_true(checks_made("1") > 0);
    memset(bad, 'a', sizeof(bad));
    memcpy(bad, good, bytes);
    write_file(path, bad, sizeof(bad));
    assert_true(checks_made("1") > 0);
    assert_int_equal(checks_made("1"), 0);
}

static void only_regular_files_are_read(void **state)
{
    char path[512];
    char target[560];

    (void)state;
    remove_files();
    assert_true(checks_made("1") > 0);
    assert_int_equal(find_file(path), 1);
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(checks_made("1") > 0);
    assert_int_equal(checks_made("1"), 0); /* a file has taken its place */
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(checks_made("1") > 0);
    assert_true(checks_made("1") > 0);
    assert_non_null(strstr(said, "cannot be kept there"));
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(target, sizeof(target), "%s/nothing", folder);
    assert_int_equal(symlink(target, path), 0); /* to nowhere */
    assert_true(checks_made("1") > 0);
    assert_int_equal(checks_made("1"), 0);
    assert_int_equal(find_file(path), 1); /* no temporary name is left */
}

static void programs_at_once_leave_a_whole_file(void **state)
{
    enum { CHILDREN = 4, ROUNDS = 25 };
    hg_trust_entry *entries = calloc(hg_variant_count, sizeof(*entries));
    hg_engine *e;
    char path[512];
    int status;

    (void)state;
    assert_non_null(entries);
    remove_files();
    set_fault(0, 0, 0);
    e = open_engine("1", 1);
    for (uint32_t c = 0; c < CHILDREN; c++) {
        const pid_t child = fork();

        assert_true(child >= 0);
        if (child > 0)
            continue;
        for (uint32_t i = 0; i < ROUNDS; i++) {
            memset(entries, 0, hg_variant_count * sizeof(*entries));
            entries[(c * ROUNDS + i) % hg_variant_count].state = HG_TRUST_PASSED;
            hg_trust_file_write(e, entries);
        }
        _exit(strstr(said, "not used") ? 1 : 0); /* nobody ever saw half a file */
    }
    for (int c = 0; c < CHILDREN; c++) {
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(find_file(path), 1);
    hg_trust_file_read(e, entries);
    status = 0;
    for (uint32_t v = 0; v < hg_variant_count; v++)
        status += entries[v].state == HG_TRUST_PASSED;
    assert_true(status > 0);
    assert_null(strstr(said, "not used"));
    free(entries);
    hg_engine_destroy(&e);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_files();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_device_passes),
        cmocka_unit_test(a_wrong_kernel_is_found_and_named),
        cmocka_unit_test(other_bits_are_told_from_wrong_ones),
        cmocka_unit_test(operations_have_names),
        cmocka_unit_test(flicker_is_found_by_replays),
        cmocka_unit_test(wrong_calls_are_told),
        cmocka_unit_test(a_wrong_tier_is_replaced_by_the_next),
        cmocka_unit_test(nothing_lower_is_an_error),
        cmocka_unit_test(other_rounding_is_good_enough_for_fp32),
        cmocka_unit_test(exact_needs_the_probe),
        cmocka_unit_test(checks_can_be_cancelled),
        cmocka_unit_test(verdicts_are_kept),
        cmocka_unit_test(nobody_is_refused_for_the_past),
        cmocka_unit_test(damaged_files_say_nothing),
        cmocka_unit_test(only_regular_files_are_read),
        cmocka_unit_test(programs_at_once_leave_a_whole_file),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
