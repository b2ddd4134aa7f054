/* SPDX-License-Identifier: MIT */
/* Every kernel of the forward pass at the model's shapes, by the device's own clock. */
#include "bench.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct collector {
    hg_bench_pass *pass;
    int failed; /* no memory */
} collector;

static int is_same(const hg_bench_kernel *row, const hg_op_time *time)
{
    return strcmp(row->kernel, time->kernel) == 0 && strcmp(row->shape, time->shape) == 0 &&
           strcmp(row->tier, time->tier) == 0 && strcmp(row->type, time->dtype) == 0 &&
           strcmp(row->tiles, time->tiles) == 0;
}

/* NULL: no memory. */
static hg_bench_kernel *row_of(hg_bench_pass *pass, const hg_op_time *time)
{
    hg_bench_kernel *row;

    for (uint32_t i = 0; i < pass->count; i++)
        if (is_same(&pass->row[i], time))
            return &pass->row[i];
    if (pass->count == pass->room) {
        const uint32_t room = pass->room ? pass->room * 2 : 32;
        hg_bench_kernel *grown = realloc(pass->row, room * sizeof(*grown));

        if (!grown)
            return NULL;
        pass->row = grown;
        pass->room = room;
    }
    row = &pass->row[pass->count++];
    *row = (hg_bench_kernel){0};
    snprintf(row->kernel, sizeof(row->kernel), "%s", time->kernel);
    snprintf(row->tier, sizeof(row->tier), "%s", time->tier);
    snprintf(row->type, sizeof(row->type), "%s", time->dtype);
    snprintf(row->tiles, sizeof(row->tiles), "%s", time->tiles);
    snprintf(row->shape, sizeof(row->shape), "%s", time->shape);
    return row;
}

static void take(void *user, const hg_op_time *time)
{
    collector *c = user;
    hg_bench_kernel *row = c->failed ? NULL : row_of(c->pass, time);

    if (row && row->calls == row->room) {
        const uint64_t room = row->room ? row->room * 2 : 64;
        uint64_t *grown = realloc(row->times_ns, (size_t)room * sizeof(*grown));

        if (grown) {
            row->times_ns = grown;
            row->room = room;
        } else {
            row = NULL;
        }
    }
    if (!row) {
        c->failed = 1;
        return;
    }
    row->times_ns[row->calls++] = time->ns;
    row->total_ns += time->ns;
    row->flops += time->flops;
    row->memory_bytes += time->memory_bytes;
    c->pass->kernels_ns += time->ns;
}

static int compare_rows(const void *a, const void *b)
{
    const hg_bench_kernel *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->kernel, y->kernel);
}

static hg_result watch(hg_app *app, hg_bench *bench, hg_model *model, hg_bench_pass *pass)
{
    hg_engine *engine = bench->machine[pass->machine].machine.engine;
    collector c = {.pass = pass};
    hg_session *session = NULL;
    uint64_t ignored;
    hg_result res;

    HG_TRY(hg_bench_session(app, bench, model, &pass->test, &session));
    HG_TRY(hg_bench_once(bench, session, &pass->test, &ignored));
    HG_TRY(hg_engine_watch(engine, take, &c));
    for (uint32_t i = 0; i < bench->repeat; i++)
        HG_TRY(hg_bench_once(bench, session, &pass->test, &pass->times_ns[i]));
    if (c.failed)
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
out:
    (void)hg_engine_watch(engine, NULL, NULL);
    hg_session_free(&session);
    return res;
}

hg_result hg_bench_kernels(hg_app *app, hg_bench *bench, hg_model *model, uint32_t machine)
{
    char title[80], name[48];
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < bench->test_count; i++) {
        hg_bench_pass *pass = &bench->pass[bench->pass_count++];

        pass->machine = machine;
        pass->test = bench->test[i];
        pass->times_ns = calloc(bench->repeat, sizeof(*pass->times_ns));
        if (!pass->times_ns)
            return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        snprintf(title, sizeof(title), "%s kernels of %s",
                 bench->machine[machine].machine.device.selector, hg_bench_name(&pass->test, name));
        app->meter.title = title;
        res = watch(app, bench, model, pass);
        app->meter.title = NULL;
        hg_meter_stop(&app->meter);
        HG_TRY(res);
        hg_bench_sort(pass->times_ns, bench->repeat);
        for (uint32_t k = 0; k < pass->count; k++)
            hg_bench_sort(pass->row[k].times_ns, pass->row[k].calls);
        if (pass->count > 0)
            qsort(pass->row, pass->count, sizeof(*pass->row), compare_rows);
    }
out:
    return res;
}

void hg_bench_pass_free(hg_bench_pass *pass)
{
    for (uint32_t i = 0; i < pass->count; i++)
        free(pass->row[i].times_ns);
    free(pass->row);
    free(pass->times_ns);
}
