/* SPDX-License-Identifier: MIT */
/* What headgate bench found, as JSON (docs/json.md). */
#include "bench.h"

#include "json_writer.h"

#include <math.h>

static void put_machine(const hg_bench *bench, uint32_t machine, hg_put *put)
{
    const hg_machine *m = &bench->machine[machine].machine;
    char driver[640];

    hg_put_text(put, "selector", m->device.selector);
    hg_put_text(put, "device", m->device.name);
    hg_put_text(put, "driver", hg_driver_label(&m->device, driver));
    hg_put_text(put, "precision", hg_precision_name(m->precision));
}

static void put_test(const hg_bench_test *test, hg_put *put)
{
    char name[48];

    hg_put_text(put, "test", hg_bench_name(test, name));
    hg_put_text(put, "phase", test->decodes ? "decode" : "prefill");
    hg_put_unsigned(put, "tokens", test->tokens);
    hg_put_unsigned(put, "depth", test->depth);
    hg_put_boolean(put, "maps", test->maps);
}

static void put_times(const char *key, const uint64_t *times_ns, uint64_t count, hg_put *put)
{
    hg_put_row(put, key);
    for (uint64_t i = 0; i < count; i++)
        hg_put_unsigned(put, NULL, times_ns[i]);
    hg_put_end(put);
}

/* What was moved and computed, and how that compares with what can be. */
static void put_rates(const hg_bench_machine *m, double bytes_per_s, double flops_per_s,
                      hg_put *put)
{
    hg_put_number(put, "gbytes_per_s", bytes_per_s / 1e9);
    hg_put_number(put, "gflops_per_s", flops_per_s / 1e9);
    hg_put_number(put, "share_of_read", hg_bench_share_of_read(m, bytes_per_s));
    hg_put_number(put, "share_of_fp32", hg_bench_share_of_fp32(m, flops_per_s));
}

/* NaN, so null, where there is nothing to compare with. */
static void put_ratio(const hg_bench_row *row, hg_put *put)
{
    const double none = (double)NAN;

    hg_put_number(put, "maps_ratio", row->test.maps ? row->ratio.median : none);
    hg_put_number(put, "min_maps_ratio", row->test.maps ? row->ratio.min : none);
    hg_put_number(put, "max_maps_ratio", row->test.maps ? row->ratio.max : none);
}

static void put_row(const hg_bench *bench, const hg_bench_row *row, hg_put *put)
{
    const hg_bench_speed speed = hg_bench_speed_of(bench, row);

    hg_put_object(put, NULL);
    put_test(&row->test, put);
    put_machine(bench, row->machine, put);
    hg_put_number(put, "median_tokens_per_s", speed.median);
    hg_put_number(put, "min_tokens_per_s", speed.slowest);
    hg_put_number(put, "max_tokens_per_s", speed.fastest);
    hg_put_number(put, "memory_bytes", row->memory_bytes);
    hg_put_number(put, "flops", row->flops);
    put_rates(&bench->machine[row->machine], speed.bytes_per_s, speed.flops_per_s, put);
    hg_put_number(put, "share_of_matrix",
                  hg_bench_share_of_matrix(&bench->machine[row->machine], speed.flops_per_s));
    put_ratio(row, put);
    hg_put_unsigned(put, "device_bytes", row->device_bytes);
    hg_put_unsigned(put, "planned_bytes", row->planned_bytes);
    put_times("times_ns", row->times_ns, bench->repeat, put);
    hg_put_end(put);
}

static void put_kernel(const hg_bench *bench, const hg_bench_pass *pass, const hg_bench_kernel *k,
                       hg_put *put)
{
    const hg_bench_machine *m = &bench->machine[pass->machine];
    const hg_bench_share share = hg_bench_share_of(m, pass, k);

    hg_put_object(put, NULL);
    hg_put_text(put, "kernel", k->kernel);
    hg_put_text(put, "tier", k->tier[0] ? k->tier : NULL);
    hg_put_text(put, "type", k->type[0] ? k->type : NULL);
    hg_put_text(put, "tiles", k->tiles);
    hg_put_text(put, "shape", k->shape);
    hg_put_unsigned(put, "calls", k->calls / bench->repeat);
    hg_put_number(put, "median_ns", hg_bench_median(k->times_ns, k->calls));
    hg_put_unsigned(put, "min_ns", k->times_ns[0]);
    hg_put_unsigned(put, "max_ns", k->times_ns[k->calls - 1]);
    hg_put_number(put, "memory_bytes", k->memory_bytes / bench->repeat);
    hg_put_number(put, "flops", k->flops / bench->repeat);
    put_rates(m, share.bytes_per_s, share.flops_per_s, put);
    hg_put_number(put, "share_of_matrix", share.of_matrix);
    hg_put_number(put, "share_of_pass", share.of_pass);
    hg_put_end(put);
}

static void put_pass(const hg_bench *bench, const hg_bench_pass *pass, hg_put *put)
{
    hg_put_object(put, NULL);
    put_test(&pass->test, put);
    put_machine(bench, pass->machine, put);
    put_times("times_ns", pass->times_ns, bench->repeat, put);
    hg_put_number(put, "kernels_ns", (double)pass->kernels_ns / bench->repeat);
    hg_put_array(put, "kernels");
    for (uint32_t i = 0; i < pass->count; i++)
        put_kernel(bench, pass, &pass->row[i], put);
    hg_put_end(put);
    hg_put_end(put);
}

static void put_ceiling(const hg_bench *bench, uint32_t machine, hg_put *put)
{
    const hg_ceiling *c = &bench->machine[machine].ceiling;

    hg_put_object(put, NULL);
    put_machine(bench, machine, put);
    hg_put_unsigned(put, "buffer_bytes", c->buffer_bytes);
    hg_put_number(put, "read_bytes_per_s", c->read_bytes_per_s);
    hg_put_number(put, "copy_bytes_per_s", c->copy_bytes_per_s);
    hg_put_number(put, "flops_per_s", c->flops_per_s);
    hg_put_number(put, "exact_flops_per_s", c->exact_flops_per_s);
    hg_put_number(put, "matrix_flops_per_s",
                  c->matrix_flops_per_s > 0 ? c->matrix_flops_per_s : (double)NAN);
    hg_put_number(put, "dispatch_ns", c->dispatch_ns);
    hg_put_number(put, "submit_ns", c->submit_ns);
    hg_put_end(put);
}

static void put_variants(const hg_bench *bench, hg_put *put)
{
    hg_put_array(put, "variants");
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        for (uint32_t u = 0; u < bench->machine[i].used_count; u++) {
            const hg_used_info *used = &bench->machine[i].used[u];

            hg_put_object(put, NULL);
            hg_put_text(put, "selector", bench->machine[i].machine.device.selector);
            hg_put_text(put, "precision", hg_precision_name(bench->machine[i].machine.precision));
            hg_put_text(put, "kernel", used->kernel);
            hg_put_text(put, "tier", used->tier);
            hg_put_text(put, "type", used->dtype);
            hg_put_text(put, "tiles", used->tiles);
            hg_put_unsigned(put, "threads", used->threads);
            hg_put_unsigned(put, "dispatches", used->dispatches);
            hg_put_end(put);
        }
    }
    hg_put_end(put);
}

/* Under --kernels there are no rows, so nothing was counted. */
static void put_memory(const hg_bench *bench, hg_put *put)
{
    hg_put_array(put, "memory");
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        const hg_bench_row *row = hg_bench_largest(bench, i);
        char name[48];

        if (!row)
            continue;
        hg_put_object(put, NULL);
        hg_put_text(put, "selector", bench->machine[i].machine.device.selector);
        hg_put_text(put, "precision", hg_precision_name(bench->machine[i].machine.precision));
        hg_put_text(put, "test", hg_bench_name(&row->test, name));
        hg_put_unsigned(put, "device_bytes", row->device_bytes);
        hg_put_unsigned(put, "planned_bytes", row->planned_bytes);
        hg_put_unsigned(put, "process_bytes", hg_bench_growth(&bench->machine[i]));
        hg_put_end(put);
    }
    hg_put_end(put);
}

static void put_model(const hg_bench *bench, hg_put *put)
{
    hg_put_text(put, "model", bench->source.name);
    hg_put_unsigned(put, "parameters", bench->source.info.parameters);
    hg_put_unsigned(put, "weight_bytes", bench->source.info.weight_bytes);
    hg_put_text(put, "weight_types", bench->source.info.weight_types);
    hg_put_unsigned(put, "seed", bench->seed);
    hg_put_array(put, "rows");
    for (uint32_t i = 0; i < bench->row_count; i++)
        put_row(bench, &bench->row[i], put);
    hg_put_end(put);
    hg_put_array(put, "passes");
    for (uint32_t i = 0; i < bench->pass_count; i++)
        put_pass(bench, &bench->pass[i], put);
    hg_put_end(put);
    put_memory(bench, put);
    put_variants(bench, put);
}

void hg_bench_json(const hg_bench *bench, hg_output *output)
{
    hg_put put;

    hg_put_start(&put, output, "bench");
    if (bench->has_model)
        put_model(bench, &put);
    hg_put_array(&put, "ceilings");
    for (uint32_t i = 0; i < bench->machine_count; i++)
        if (bench->machine[i].has_ceiling)
            put_ceiling(bench, i, &put);
    hg_put_end(&put);
    if (bench->has_model)
        hg_provenance_put(&bench->machine[0].provenance, &put);
    hg_put_finish(&put);
}
