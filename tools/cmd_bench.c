/* SPDX-License-Identifier: MIT */
/* headgate bench: tokens per second, reading a prompt and decoding, on one device or several; what
 * the devices can do at most; where the time goes. */
#include "commands.h"

#include "bench.h"
#include "message.h"

#include <stdlib.h>

/* What ran since the engine was opened, but for what measures the device. */
static hg_result keep_used(hg_bench_machine *m)
{
    hg_used_info info = {.struct_size = sizeof(info)};
    uint32_t count = 0;

    while (hg_engine_used(m->machine.engine, count, &info) == HG_OK)
        count++;
    m->used = calloc((size_t)count + 1, sizeof(*m->used));
    if (!m->used)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        hg_used_info *used = &m->used[m->used_count];

        used->struct_size = sizeof(*used);
        if (hg_engine_used(m->machine.engine, i, used) == HG_OK && i >= m->used_by_ceiling)
            m->used_count++;
    }
    return HG_OK;
}

static hg_result measure_ceiling(hg_app *app, hg_bench_machine *m)
{
    hg_used_info info = {.struct_size = sizeof(info)};
    hg_result res;

    m->ceiling.struct_size = sizeof(m->ceiling);
    app->meter.title = m->machine.device.selector;
    res = hg_engine_ceiling(m->machine.engine, &app->progress, &m->ceiling);
    app->meter.title = NULL;
    hg_meter_stop(&app->meter);
    m->has_ceiling = res == HG_OK;
    while (hg_engine_used(m->machine.engine, m->used_by_ceiling, &info) == HG_OK)
        m->used_by_ceiling++;
    return res;
}

static hg_result bench_machine(hg_app *app, hg_bench *bench, uint32_t machine)
{
    hg_model_params params = {.struct_size = sizeof(params),
                              .progress = app->progress,
                              .log = app->log,
                              .repack = bench->how.repack,
                              .expected_tokens = hg_bench_work(bench)};
    hg_bench_machine *m = &bench->machine[machine];
    hg_model *model = NULL;
    hg_result res;

    HG_TRY(hg_machine_open(app, &m->choice, &m->machine));
    if (bench->digest) /* hashing beside a measurement would slow it: it is waited for */
        HG_TRY(hg_provenance_fill(app, &bench->source, &m->machine, NULL, bench->digest,
                                  &m->provenance));
    if (bench->ceiling)
        HG_TRY(measure_ceiling(app, m));
    if (bench->has_model) {
        hg_bench_memory_start(m);
        HG_TRY(hg_model_load(m->machine.engine, bench->source.checkpoint, &params, &model));
        HG_TRY(bench->kernels ? hg_bench_kernels(app, bench, model, machine)
                              : hg_bench_run(app, bench, model, machine));
        HG_TRY(keep_used(m));
    }
    bench->complained |= hg_machine_complained(&m->machine);
out:
    hg_model_free(&model);
    hg_machine_close(&m->machine);
    return res;
}

static hg_result make(hg_app *app, hg_bench *bench)
{
    hg_output *output = NULL;
    hg_result res;

    HG_TRY(hg_bench_options(app, bench));
    if (bench->has_model) {
        HG_TRY(hg_source_open(app, app->args->operands[0], &bench->source));
        HG_TRY(hg_bench_prepare(bench));
    }
    HG_TRY(hg_output_open("-", &output));
    if (bench->has_model && bench->form == HG_BENCH_JSON)
        HG_TRY(hg_weights_digest_start(app, bench->source.checkpoint, &bench->digest));
    for (uint32_t i = 0; i < bench->machine_count; i++)
        HG_TRY(bench_machine(app, bench, i));
    if (bench->form == HG_BENCH_JSON)
        hg_bench_json(bench, output);
    else
        HG_TRY(hg_bench_table(bench, output));
    HG_TRY(hg_output_commit(&output));
out:
    hg_output_discard(&output);
    return res;
}

static void free_bench(hg_bench *bench)
{
    hg_weights_digest_free(&bench->digest);
    for (uint32_t i = 0; i < bench->row_count; i++)
        free(bench->row[i].times_ns);
    for (uint32_t i = 0; i < bench->pass_count; i++)
        hg_bench_pass_free(&bench->pass[i]);
    for (uint32_t i = 0; i < bench->machine_count; i++)
        free(bench->machine[i].used);
    free(bench->row);
    free(bench->pass);
    free(bench->test);
    free(bench->logits);
    free(bench->ids);
    free(bench->depth);
    free(bench->decode);
    free(bench->prefill);
    hg_source_close(&bench->source);
    free(bench);
}

static int run(hg_app *app)
{
    hg_bench *bench = calloc(1, sizeof(*bench));
    int code;

    if (!bench)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    code = hg_exit_code(make(app, bench));
    if (code == 0 && bench->complained)
        code = 1;
    free_bench(bench);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PREFILL,      HG_OPTION_DECODE,   HG_OPTION_DEPTH,   HG_OPTION_REPEAT,
    HG_OPTION_SEED,         HG_OPTION_MAPS,     HG_OPTION_KERNELS, HG_OPTION_CEILING,
    HG_OPTION_FORMAT_TABLE, HG_OPTION_JSON,     HG_OPTION_DEVICE,  HG_OPTION_PRECISION,
    HG_OPTION_EXACT,        HG_OPTION_LIMITS,   HG_OPTION_REPACK,  HG_OPTION_TUNE,
    HG_OPTION_THREADS,      HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_bench = {
    .name = "bench",
    .operands = "[MODEL]",
    .summary = "tokens per second, and the share of what the device can do",
    .about =
        "Measures random token ids of a fixed seed: ppN reads N tokens in one go, tgN decodes N "
        "tokens one by one; @ dD: with D tokens in the cache before, which take no part in the "
        "time; +maps: with queries, keys, row statistics and gates of all layers captured, turn by "
        "turn with the same without. Each time ends when the last logits are on the host. Median, "
        "slowest and fastest of the runs. --device may be given several times.\n"
        "GFLOP/s counts the arithmetic that the operations of the pass ask for, GB/s what they "
        "have to read and write: the weights and the cache that attention sees once for each pass "
        "(decoding: for each token), other operands once for each operation.\n"
        "--ceiling first measures what the device can do at most: its fastest read and copy of "
        "memory larger than caches, multiply and add, products by matrix units where they are "
        "used, and the cost of a dispatch and a submit. Rows then tell their share: of the bytes "
        "read (above 100 % where a small model lives in a cache), and of float32 arithmetic, under "
        "precision exact of that with product and sum apart. --kernels times every operation by "
        "the device's own clock instead; of ceiling is the larger share.\n"
        "Below the table: what capturing costs, memory allocated on the device beside what "
        "'headgate inspect' would plan and by how much the process grew, and which variant of each "
        "kernel ran.",
    .examples = "headgate bench MODEL -p 32,128 -n 16\n"
                "headgate bench MODEL -p 512 -n 32 -d 0,4096 --maps\n"
                "headgate bench --ceiling --device vk:0\n"
                "headgate bench MODEL --kernels --ceiling -p 128 -n 8\n"
                "headgate bench MODEL --device vk:0 --device cl:0 --format csv >bench.csv",
    .operands_min = 0,
    .operands_max = 1,
    .options = options,
    .run = run,
};
