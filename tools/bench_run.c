/* SPDX-License-Identifier: MIT */
/* Tokens per second of every test on one device. */
#include "bench.h"

#include "interrupt.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>

/* SplitMix64: the same ids everywhere. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Tokens in the cache before the measured part: the first token of a text is not decoding. */
static uint32_t before(const hg_bench_test *test)
{
    return test->decodes && test->depth == 0 ? 1 : test->depth;
}

/* A prompt with everything captured stands behind the same without. */
static void list_tests(hg_bench *bench)
{
    for (uint32_t d = 0; d < bench->depth_count; d++) {
        for (uint32_t i = 0; i < bench->prefill_count * (bench->maps ? 2u : 1u); i++)
            bench->test[bench->test_count++] =
                (hg_bench_test){.tokens = bench->prefill[bench->maps ? i / 2 : i],
                                .depth = bench->depth[d],
                                .maps = bench->maps && i % 2};
        for (uint32_t i = 0; i < bench->decode_count; i++)
            bench->test[bench->test_count++] =
                (hg_bench_test){.tokens = bench->decode[i], .depth = bench->depth[d], .decodes = 1};
    }
}

hg_result hg_bench_prepare(hg_bench *bench)
{
    const size_t tests =
        (size_t)bench->depth_count * (2 * (size_t)bench->prefill_count + bench->decode_count);
    uint64_t state = bench->seed;
    uint32_t most = 1;

    bench->test = calloc(tests + 1, sizeof(*bench->test));
    bench->row = calloc(tests * bench->machine_count + 1, sizeof(*bench->row));
    bench->pass = calloc(tests * bench->machine_count + 1, sizeof(*bench->pass));
    bench->logits = malloc(((size_t)bench->source.info.vocab + 1) * sizeof(*bench->logits));
    if (!bench->test || !bench->row || !bench->pass || !bench->logits)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    list_tests(bench);
    for (uint32_t i = 0; i < bench->test_count; i++) {
        const uint32_t ids = before(&bench->test[i]) + bench->test[i].tokens;

        most = ids > most ? ids : most;
    }
    bench->ids = malloc((size_t)most * sizeof(*bench->ids));
    if (!bench->ids)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < most; i++)
        bench->ids[i] = (int32_t)(next_random(&state) % bench->source.info.vocab);
    return HG_OK;
}

uint32_t hg_bench_work(const hg_bench *bench)
{
    uint64_t tokens = 0;

    for (uint32_t i = 0; i < bench->test_count; i++)
        tokens += before(&bench->test[i]) + ((uint64_t)bench->repeat + 1) * bench->test[i].tokens;
    return tokens < UINT32_MAX ? (uint32_t)tokens : UINT32_MAX;
}

hg_result hg_bench_session(hg_app *app, hg_bench *bench, hg_model *model, const hg_bench_test *test,
                           hg_session **out)
{
    hg_session_params params = {.struct_size = sizeof(params)};
    hg_result res;

    params.max_tokens = before(test) + test->tokens;
    params.logits = HG_LOGITS_LAST;
    params.capture = test->maps ? HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES : 0;
    params.progress = app->progress;
    params.log = app->log;
    HG_TRY(hg_session_create(model, &params, out));
    if (before(test) > 0)
        HG_TRY(hg_session_eval(*out, bench->ids, before(test)));
out:
    if (res != HG_OK)
        hg_session_free(out);
    return res;
}

hg_result hg_bench_once(hg_bench *bench, hg_session *session, const hg_bench_test *test,
                        uint64_t *time_ns)
{
    const uint32_t first = before(test);
    uint64_t start;
    hg_result res;

    HG_TRY(hg_session_truncate(session, first));
    start = hg_clock_ns();
    if (test->decodes) {
        for (uint32_t i = first; i < first + test->tokens; i++) {
            HG_TRY(hg_session_eval(session, bench->ids + i, 1));
            HG_TRY(hg_session_logits(session, i, bench->logits));
        }
    } else {
        HG_TRY(hg_session_eval(session, bench->ids + first, test->tokens));
        HG_TRY(hg_session_logits(session, first + test->tokens - 1, bench->logits));
    }
    *time_ns = hg_clock_ns() - start;
out:
    return res;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int compare_ratios(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void hg_bench_sort(uint64_t *times_ns, uint64_t count)
{
    if (count > 0)
        qsort(times_ns, (size_t)count, sizeof(*times_ns), compare_times);
}

double hg_bench_median(const uint64_t *times_ns, uint64_t count)
{
    const uint64_t half = count / 2;

    if (count == 0)
        return 0;
    if (count % 2)
        return (double)times_ns[half];
    return ((double)times_ns[half - 1] + (double)times_ns[half]) / 2;
}

static uint64_t allocated(const hg_engine *engine)
{
    uint64_t now, peak;

    hg_engine_memory(engine, &now, &peak);
    return now;
}

/* A session, the run that is not measured, and what both cost. */
static hg_result warm_up(hg_app *app, hg_bench *bench, hg_model *model, hg_bench_row *row,
                         hg_session **out)
{
    hg_bench_machine *m = &bench->machine[row->machine];
    hg_engine *engine = m->machine.engine;
    hg_engine_counters start = {.struct_size = sizeof(start)}, end = start;
    const uint64_t before_bytes = allocated(engine);
    uint64_t ignored;
    hg_result res;

    HG_TRY(hg_bench_session(app, bench, model, &row->test, out));
    hg_engine_count(engine, &start);
    HG_TRY(hg_bench_once(bench, *out, &row->test, &ignored));
    hg_engine_count(engine, &end);
    row->flops = end.flops - start.flops;
    row->memory_bytes = end.memory_bytes - start.memory_bytes;
    row->device_bytes = m->model_bytes + allocated(engine) - before_bytes;
    row->planned_bytes =
        hg_model_device_bytes(&bench->source.info, before(&row->test) + row->test.tokens,
                              row->test.maps ? bench->source.info.layers : 0);
    hg_bench_memory_note(m);
out:
    return res;
}

/* One token: what the engine keeps for moving bytes is made on first use, and belongs to no test.
 */
static hg_result touch(hg_app *app, hg_bench *bench, hg_model *model, hg_bench_machine *m)
{
    const hg_bench_test test = {.tokens = 1};
    hg_session *session = NULL;
    uint64_t ignored;
    hg_result res;

    HG_TRY(hg_bench_session(app, bench, model, &test, &session));
    HG_TRY(hg_bench_once(bench, session, &test, &ignored));
out:
    hg_session_free(&session);
    m->model_bytes = allocated(m->machine.engine);
    return res;
}

/* Of turns, both in the order in which they were measured. */
static hg_result compare_turns(const hg_bench *bench, const hg_bench_row *without,
                               hg_bench_row *row)
{
    double *ratios = calloc(bench->repeat, sizeof(*ratios));
    const uint32_t half = bench->repeat / 2;

    if (!ratios)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < bench->repeat; i++)
        ratios[i] =
            (double)row->times_ns[i] / (double)(without->times_ns[i] ? without->times_ns[i] : 1);
    qsort(ratios, bench->repeat, sizeof(*ratios), compare_ratios);
    row->ratio.median = bench->repeat % 2 ? ratios[half] : (ratios[half - 1] + ratios[half]) / 2;
    row->ratio.min = ratios[0];
    row->ratio.max = ratios[bench->repeat - 1];
    free(ratios);
    return HG_OK;
}

/* Rows that are to be compared are measured turn by turn. */
static hg_result measure(hg_app *app, hg_bench *bench, hg_model *model, hg_bench_row *row,
                         uint32_t count)
{
    const hg_machine *machine = &bench->machine[row->machine].machine;
    hg_session *session[2] = {NULL, NULL};
    char title[64], name[48];
    hg_result res = HG_OK;

    for (uint32_t r = 0; r < count; r++) {
        snprintf(title, sizeof(title), "%s %s", machine->device.selector,
                 hg_bench_name(&row[r].test, name));
        app->meter.title = title;
        row[r].times_ns = calloc(bench->repeat, sizeof(*row[r].times_ns));
        if (!row[r].times_ns) {
            res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
            goto out;
        }
        HG_TRY(warm_up(app, bench, model, &row[r], &session[r]));
    }
    for (uint32_t i = 0; i < bench->repeat; i++)
        for (uint32_t r = 0; r < count; r++)
            HG_TRY(hg_bench_once(bench, session[r], &row[r].test, &row[r].times_ns[i]));
    if (count == 2)
        HG_TRY(compare_turns(bench, &row[0], &row[1]));
    for (uint32_t r = 0; r < count; r++)
        hg_bench_sort(row[r].times_ns, bench->repeat);
out:
    app->meter.title = NULL;
    hg_meter_stop(&app->meter);
    hg_session_free(&session[0]);
    hg_session_free(&session[1]);
    return res;
}

hg_result hg_bench_run(hg_app *app, hg_bench *bench, hg_model *model, uint32_t machine)
{
    hg_result res;

    HG_TRY(touch(app, bench, model, &bench->machine[machine]));
    for (uint32_t i = 0; i < bench->test_count;) {
        const uint32_t count = i + 1 < bench->test_count && bench->test[i + 1].maps ? 2 : 1;
        hg_bench_row *row = &bench->row[bench->row_count];

        for (uint32_t r = 0; r < count; r++)
            row[r] = (hg_bench_row){.machine = machine, .test = bench->test[i + r]};
        bench->row_count += count;
        HG_TRY(measure(app, bench, model, row, count));
        i += count;
    }
out:
    return res;
}

const char *hg_bench_name(const hg_bench_test *test, char text[48])
{
    const int length = snprintf(text, 48, "%s%u%s", test->decodes ? "tg" : "pp", test->tokens,
                                test->maps ? "+maps" : "");

    if (test->depth > 0)
        snprintf(text + length, 48 - (size_t)length, " @ d%u", test->depth);
    return text;
}
