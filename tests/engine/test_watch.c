/* SPDX-License-Identifier: MIT */
/* Times of operations, what ran, and what a device can do at most: on the reference, by structure;
 * no test waits for a certain speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"
#include "params.h"

enum { ROW_BYTES = 512, MANY = 5000 };

typedef struct log_of_times {
    uint32_t count;
    uint64_t ns;
    double flops, bytes;
    char kernel[4][16], tier[4][8], shape[4][64];
    int32_t layer[4];
    uint32_t groups[4];
} log_of_times;

static void take(void *user, const hg_op_time *time)
{
    log_of_times *log = user;

    if (log->count < 4) {
        strncpy(log->kernel[log->count], time->kernel, sizeof(log->kernel[0]) - 1);
        strncpy(log->tier[log->count], time->tier, sizeof(log->tier[0]) - 1);
        strncpy(log->shape[log->count], time->shape, sizeof(log->shape[0]) - 1);
        log->layer[log->count] = time->layer;
        log->groups[log->count] = time->groups;
    }
    log->count++;
    log->ns += time->ns;
    log->flops += time->flops;
    log->bytes += time->memory_bytes;
}

static void open_rig(hg_engine **engine, hg_mem **mem)
{
    *engine = NULL;
    *mem = NULL;
    assert_int_equal(hg_engine_create(&(hg_engine_params){.selector = "ref", .threads = 2}, engine),
                     HG_OK);
    assert_int_equal(hg_buffer_create(*engine, HG_MEM_SCRATCH, 64 * ROW_BYTES, "rows", mem), HG_OK);
}

static void append_copy(hg_oplist *list, hg_mem *mem, uint32_t from, uint32_t to)
{
    const struct hg_ceiling_copy_params params = {.rows = 1, .turns = 1};
    hg_op *op = hg_oplist_append(list, HG_OP_DISPATCH);

    assert_non_null(op);
    op->kernel = HG_KERNEL_ceiling_copy;
    op->layer = 3;
    memcpy(op->words, &params, sizeof(params));
    op->bind_count = 2;
    op->bind[0] = (hg_bind){mem, from * ROW_BYTES, ROW_BYTES};
    op->bind[1] = (hg_bind){mem, to * ROW_BYTES, ROW_BYTES};
}

static void append_mac(hg_oplist *list, hg_mem *mem)
{
    const struct hg_ceiling_mac_params params = {.rows = 4, .turns = 2, .a = 0.5f, .b = 1.0f};
    hg_op *op = hg_oplist_append(list, HG_OP_DISPATCH);

    assert_non_null(op);
    op->kernel = HG_KERNEL_ceiling_mac;
    memcpy(op->words, &params, sizeof(params));
    op->bind_count = 2;
    op->bind[0] = (hg_bind){mem, 0, 4 * ROW_BYTES};
    op->bind[1] = (hg_bind){mem, 8 * ROW_BYTES, 4 * ROW_BYTES};
}

/* A fill, a kernel, a copy and a kernel are told in order, with sizes, and as the counters count.
 */
static void tells_every_operation(void **state)
{
    hg_engine_counters before = {.struct_size = sizeof(before)}, after = before;
    log_of_times log = {0};
    hg_oplist list = {0};
    hg_engine *engine;
    hg_mem *mem;
    hg_op *op;

    (void)state;
    open_rig(&engine, &mem);
    op = hg_oplist_append(&list, HG_OP_FILL);
    assert_non_null(op);
    op->bind_count = 1;
    op->bind[0] = (hg_bind){mem, 0, 64 * ROW_BYTES};
    append_copy(&list, mem, 0, 1);
    op = hg_oplist_append(&list, HG_OP_COPY);
    assert_non_null(op);
    op->bind_count = 2;
    op->bind[0] = (hg_bind){mem, 2 * ROW_BYTES, ROW_BYTES};
    op->bind[1] = (hg_bind){mem, 0, ROW_BYTES};
    append_mac(&list, mem);
    assert_int_equal(hg_engine_watch(engine, take, &log), HG_OK);
    hg_engine_count(engine, &before);
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    hg_engine_count(engine, &after);
    assert_int_equal(log.count, 4);
    assert_string_equal(log.kernel[0], "fill");
    assert_string_equal(log.shape[0], "bytes=32768");
    assert_string_equal(log.tier[0], "");
    assert_string_equal(log.kernel[1], "ceiling_copy");
    assert_string_equal(log.shape[1], "rows=1 turns=1");
    assert_int_equal(log.tier[1][0], 'T');
    assert_int_equal(log.layer[1], 3);
    assert_true(log.groups[1] > 0);
    assert_string_equal(log.kernel[2], "copy");
    assert_int_equal(log.layer[2], -1);
    assert_string_equal(log.kernel[3], "ceiling_mac");
    assert_string_equal(log.shape[3], "rows=4 turns=2");
    assert_true(log.flops == 1024.0 * 4 * 2);
    assert_true(log.flops == after.flops - before.flops);
    assert_true(log.bytes == after.memory_bytes - before.memory_bytes);
    /* Nobody watches any more. */
    assert_int_equal(hg_engine_watch(engine, NULL, NULL), HG_OK);
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    assert_int_equal(log.count, 4);
    hg_oplist_free(&list);
    hg_buffer_free(engine, &mem);
    hg_engine_destroy(&engine);
}

/* More operations than a submit has timestamps: none is lost, and the result is as without. */
static void tells_more_than_a_submit_holds(void **state)
{
    log_of_times log = {0};
    hg_oplist list = {0};
    hg_engine *engine;
    hg_mem *mem;
    uint32_t words[2][ROW_BYTES / 4];

    (void)state;
    open_rig(&engine, &mem);
    for (uint32_t i = 0; i < ROW_BYTES / 4; i++)
        words[0][i] = 0x3f800000u + i;
    assert_int_equal(hg_upload_bytes(engine, mem, 0, words[0], ROW_BYTES), HG_OK);
    for (uint32_t i = 0; i < MANY; i++)
        append_copy(&list, mem, i % 63, i % 63 + 1);
    engine->submit_flops = 1e18; /* as much as there is in one submit */
    assert_int_equal(hg_engine_watch(engine, take, &log), HG_OK);
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    assert_int_equal(log.count, MANY);
    assert_true(log.ns > 0);
    assert_int_equal(hg_readback_bytes(engine, mem, 63 * ROW_BYTES, words[1], ROW_BYTES), HG_OK);
    assert_memory_equal(words[0], words[1], ROW_BYTES);
    hg_oplist_free(&list);
    hg_buffer_free(engine, &mem);
    hg_engine_destroy(&engine);
}

static void tells_what_ran(void **state)
{
    hg_used_info used = {.struct_size = sizeof(used)};
    hg_oplist list = {0};
    hg_engine *engine;
    hg_mem *mem;

    (void)state;
    open_rig(&engine, &mem);
    assert_int_equal(hg_engine_used(engine, 0, &used), HG_ERR_ARGUMENT);
    append_copy(&list, mem, 0, 1);
    append_mac(&list, mem);
    append_copy(&list, mem, 1, 2);
    assert_int_equal(hg_engine_run(engine, &list, NULL), HG_OK);
    assert_int_equal(hg_engine_used(engine, 0, &used), HG_OK);
    assert_string_equal(used.kernel, "ceiling_copy");
    assert_string_equal(used.dtype, "none");
    assert_int_equal(used.dispatches, 2);
    assert_int_equal(strncmp(used.tiles, "WORDS=", 6), 0);
    assert_int_equal(hg_engine_used(engine, 1, &used), HG_OK);
    assert_string_equal(used.kernel, "ceiling_mac");
    assert_int_equal(used.dispatches, 1);
    assert_int_equal(hg_engine_used(engine, 2, &used), HG_ERR_ARGUMENT);
    assert_int_equal(hg_engine_used(NULL, 0, &used), HG_ERR_ARGUMENT);
    assert_int_equal(hg_engine_watch(NULL, take, NULL), HG_ERR_ARGUMENT);
    hg_oplist_free(&list);
    hg_buffer_free(engine, &mem);
    hg_engine_destroy(&engine);
}

static int stop_now(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    return ++*(int *)user > 3;
}

static void measures_a_ceiling(void **state)
{
    hg_ceiling ceiling = {.struct_size = sizeof(ceiling)};
    uint64_t before, now, peak;
    double submit_flops;
    int calls = 0;
    const hg_progress impatient = {stop_now, &calls};
    hg_engine *engine;
    hg_mem *mem;

    (void)state;
    open_rig(&engine, &mem);
    submit_flops = engine->submit_flops;
    hg_engine_memory(engine, &before, &peak);
    assert_int_equal(hg_engine_ceiling(engine, NULL, &ceiling), HG_OK);
    assert_true(ceiling.buffer_bytes >= 1 << 20);
    assert_true(ceiling.read_bytes_per_s > 0);
    assert_true(ceiling.copy_bytes_per_s > 0);
    assert_true(ceiling.exact_flops_per_s > 0);
    assert_true(ceiling.flops_per_s >= ceiling.exact_flops_per_s);
    assert_true(ceiling.matrix_flops_per_s == 0); /* plain C has no matrix units */
    assert_true(ceiling.submit_ns > 0);
    assert_true(ceiling.dispatch_ns >= 0);
    hg_engine_memory(engine, &now, &peak);
    assert_int_equal(now, before); /* the large buffers are gone */
    assert_true(engine->submit_flops == submit_flops);
    assert_int_equal(hg_engine_ceiling(engine, &impatient, &ceiling), HG_CANCELLED);
    hg_engine_memory(engine, &now, &peak);
    assert_int_equal(now, before);
    assert_int_equal(hg_engine_ceiling(engine, NULL, NULL), HG_ERR_ARGUMENT);
    hg_buffer_free(engine, &mem);
    hg_engine_destroy(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_every_operation),
        cmocka_unit_test(tells_more_than_a_submit_holds),
        cmocka_unit_test(tells_what_ran),
        cmocka_unit_test(measures_a_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
