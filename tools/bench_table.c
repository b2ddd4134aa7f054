/* SPDX-License-Identifier: MIT */
/* What headgate bench found, as tables for people (Markdown, 100 columns) and for programs (CSV).
 * Failures of the output stay in it. */
#include "bench.h"

#include "columns.h"
#include "paragraph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, INDENT = 4, LINE_SIZE = 512 };

#define COUNT(names) ((uint32_t)(sizeof(names) / sizeof((names)[0])))

static int has_matrix_units(const hg_bench *bench)
{
    for (uint32_t i = 0; i < bench->machine_count; i++)
        if (bench->machine[i].ceiling.matrix_flops_per_s > 0)
            return 1;
    return 0;
}

/* "vk:0@fp32", "vk:0/T0@exact": what --device takes. */
static const char *machine_name(const hg_bench_machine *m, char text[HG_NAME_SIZE + 32])
{
    snprintf(text, HG_NAME_SIZE + 32, "%s%s%s@%s", m->machine.device.selector,
             m->choice.tier[0] ? "/" : "", m->choice.tier, hg_precision_name(m->machine.precision));
    return text;
}

static void paragraph(hg_output *output, const char *text)
{
    (void)hg_paragraph_print(output, WIDTH, INDENT, 0, text);
}

/* ---- what was measured, where ---- */

static void about_model(const hg_bench *bench, hg_output *output)
{
    const hg_model_info *info = &bench->source.info;
    char weights[32];

    (void)hg_output_format(output, "%s: %.4g M parameters, %s, %s of weights; %u run%s each\n",
                           bench->source.name, (double)info->parameters / 1e6, info->weight_types,
                           hg_show_bytes(info->weight_bytes, weights), bench->repeat,
                           bench->repeat == 1 ? "" : "s");
}

static void about_machines(const hg_bench *bench, hg_output *output)
{
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        const hg_bench_machine *m = &bench->machine[i];
        char name[HG_NAME_SIZE + 32], driver[640], text[HG_NAME_SIZE + 2048];

        snprintf(text, sizeof(text), "%s: %s (%s)", machine_name(m, name), m->machine.device.name,
                 hg_driver_label(&m->machine.device, driver));
        paragraph(output, text);
    }
    (void)hg_output_text(output, "\n");
}

static void csv_machine(hg_columns *c, const hg_bench_machine *m)
{
    char driver[640];

    hg_columns_text(c, m->machine.device.selector);
    hg_columns_text(c, m->machine.device.name);
    hg_columns_text(c, hg_driver_label(&m->machine.device, driver));
    hg_columns_text(c, hg_precision_name(m->machine.precision));
}

/* ---- ceilings ---- */

static hg_result ceilings(const hg_bench *bench, int csv, hg_output *output)
{
    static const char *const md[] = {"device", "read GB/s", "copy GB/s",   "fp32 GFLOP/s",
                                     "exact",  "matrix",    "dispatch us", "submit us"};
    static const char *const names[] = {"selector",
                                        "device",
                                        "driver",
                                        "precision",
                                        "buffer_bytes",
                                        "read_gbytes_per_s",
                                        "copy_gbytes_per_s",
                                        "fp32_gflops_per_s",
                                        "exact_gflops_per_s",
                                        "matrix_gflops_per_s",
                                        "dispatch_us",
                                        "submit_us"};
    hg_columns c = {0};

    hg_columns_start(&c, csv, csv ? names : md, csv ? COUNT(names) : COUNT(md), csv ? 4 : 1);
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        const hg_bench_machine *m = &bench->machine[i];
        const hg_ceiling *ceiling = &m->ceiling;
        const double matrix = ceiling->matrix_flops_per_s;
        char name[HG_NAME_SIZE + 32];

        if (csv) {
            csv_machine(&c, m);
            hg_columns_count(&c, ceiling->buffer_bytes);
        } else {
            hg_columns_text(&c, machine_name(m, name));
        }
        hg_columns_figure(&c, ceiling->read_bytes_per_s / 1e9);
        hg_columns_figure(&c, ceiling->copy_bytes_per_s / 1e9);
        hg_columns_figure(&c, ceiling->flops_per_s / 1e9);
        hg_columns_figure(&c, ceiling->exact_flops_per_s / 1e9);
        hg_columns_figure(&c, matrix > 0 ? matrix / 1e9 : (double)NAN);
        hg_columns_figure(&c, ceiling->dispatch_ns / 1e3);
        hg_columns_figure(&c, ceiling->submit_ns / 1e3);
    }
    return hg_columns_print(&c, output);
}

/* ---- rows ---- */

static void md_row(const hg_bench *bench, const hg_bench_row *row, hg_columns *c)
{
    const hg_bench_machine *m = &bench->machine[row->machine];
    const hg_bench_speed speed = hg_bench_speed_of(bench, row);
    char name[HG_NAME_SIZE + 32], test[48];

    hg_columns_text(c, machine_name(m, name));
    hg_columns_text(c, hg_bench_name(&row->test, test));
    hg_columns_figure(c, speed.median);
    hg_columns_figure(c, speed.slowest);
    hg_columns_figure(c, speed.fastest);
    hg_columns_figure(c, speed.bytes_per_s / 1e9);
    hg_columns_figure(c, speed.flops_per_s / 1e9);
    if (!bench->ceiling)
        return;
    hg_columns_share(c, hg_bench_share_of_read(m, speed.bytes_per_s));
    hg_columns_share(c, hg_bench_share_of_fp32(m, speed.flops_per_s));
    if (has_matrix_units(bench))
        hg_columns_share(c, hg_bench_share_of_matrix(m, speed.flops_per_s));
}

static hg_result md_rows(const hg_bench *bench, hg_output *output)
{
    static const char *const names[] = {"device", "test",    "tokens/s", "min",    "max",
                                        "GB/s",   "GFLOP/s", "read %",   "fp32 %", "matrix %"};
    const uint32_t width = COUNT(names) - (!bench->ceiling ? 3 : has_matrix_units(bench) ? 0 : 1);
    hg_columns c = {0};

    hg_columns_start(&c, 0, names, width, 2);
    for (uint32_t i = 0; i < bench->row_count; i++)
        md_row(bench, &bench->row[i], &c);
    return hg_columns_print(&c, output);
}

static hg_result csv_rows(const hg_bench *bench, hg_output *output)
{
    static const char *const names[] = {"model",
                                        "selector",
                                        "device",
                                        "driver",
                                        "precision",
                                        "test",
                                        "median_tokens_per_s",
                                        "min_tokens_per_s",
                                        "max_tokens_per_s",
                                        "runs",
                                        "gbytes_per_s",
                                        "gflops_per_s",
                                        "share_of_read",
                                        "share_of_fp32",
                                        "share_of_matrix",
                                        "maps_ratio",
                                        "device_bytes",
                                        "planned_bytes"};
    hg_columns c = {0};

    hg_columns_start(&c, 1, names, COUNT(names), 6);
    for (uint32_t i = 0; i < bench->row_count; i++) {
        const hg_bench_row *row = &bench->row[i];
        const hg_bench_machine *m = &bench->machine[row->machine];
        const hg_bench_speed speed = hg_bench_speed_of(bench, row);
        char test[48];

        hg_columns_text(&c, bench->source.name);
        csv_machine(&c, m);
        hg_columns_text(&c, hg_bench_name(&row->test, test));
        hg_columns_figure(&c, speed.median);
        hg_columns_figure(&c, speed.slowest);
        hg_columns_figure(&c, speed.fastest);
        hg_columns_count(&c, bench->repeat);
        hg_columns_figure(&c, speed.bytes_per_s / 1e9);
        hg_columns_figure(&c, speed.flops_per_s / 1e9);
        hg_columns_share(&c, hg_bench_share_of_read(m, speed.bytes_per_s));
        hg_columns_share(&c, hg_bench_share_of_fp32(m, speed.flops_per_s));
        hg_columns_share(&c, hg_bench_share_of_matrix(m, speed.flops_per_s));
        hg_columns_number(&c, 4, row->test.maps ? row->ratio.median : (double)NAN);
        hg_columns_count(&c, row->device_bytes);
        hg_columns_count(&c, row->planned_bytes);
    }
    return hg_columns_print(&c, output);
}

/* ---- under the rows ---- */

/* "cl:0@fp32 pp128+maps: 1.08 x the time of pp128 (1.02 to 1.15, turn by turn)" */
static void ratios(const hg_bench *bench, hg_output *output)
{
    for (uint32_t i = 0; i < bench->row_count; i++) {
        const hg_bench_row *row = &bench->row[i];
        hg_bench_test without = row->test;
        char name[HG_NAME_SIZE + 32], test[48], other[48];

        if (!row->test.maps)
            continue;
        without.maps = 0;
        (void)hg_output_format(
            output, "%s %s: %.2f x the time of %s (%.2f to %.2f, turn by turn)\n",
            machine_name(&bench->machine[row->machine], name), hg_bench_name(&row->test, test),
            row->ratio.median, hg_bench_name(&without, other), row->ratio.min, row->ratio.max);
    }
}

/* "memory of cl:0@fp32: 13.2 MB allocated, 12.9 MB planned (pp128+maps); the process grew by 41 MB"
 */
static void memory(const hg_bench *bench, hg_output *output)
{
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        const hg_bench_row *row = hg_bench_largest(bench, i);
        char name[HG_NAME_SIZE + 32], test[48], device[32], planned[32], grown[32];
        char line[LINE_SIZE];

        if (!row)
            continue;
        snprintf(line, sizeof(line),
                 "memory of %s: %s allocated, %s planned (%s); the process grew by %s",
                 machine_name(&bench->machine[i], name), hg_show_bytes(row->device_bytes, device),
                 hg_show_bytes(row->planned_bytes, planned), hg_bench_name(&row->test, test),
                 hg_show_bytes(hg_bench_growth(&bench->machine[i]), grown));
        paragraph(output, line);
    }
}

/* "cl:0@fp32 ran matmul T0C bf16 (ROWS=64 COLS=32), ..." */
void hg_bench_used(const hg_bench *bench, hg_output *output)
{
    for (uint32_t i = 0; i < bench->machine_count; i++) {
        const hg_bench_machine *m = &bench->machine[i];
        char line[LINE_SIZE * 16], name[HG_NAME_SIZE + 32];
        size_t at = (size_t)snprintf(line, sizeof(line), "%s ran", machine_name(m, name));

        for (uint32_t u = 0; u < m->used_count && at + LINE_SIZE < sizeof(line); u++) {
            const hg_used_info *info = &m->used[u];
            const int has_type = strcmp(info->dtype, "none") != 0;

            at += (size_t)snprintf(line + at, LINE_SIZE, "%s %s %s%s%s%s%s%s", u > 0 ? "," : "",
                                   info->kernel, info->tier, has_type ? " " : "",
                                   has_type ? info->dtype : "", info->tiles[0] ? " (" : "",
                                   info->tiles, info->tiles[0] ? ")" : "");
        }
        paragraph(output, line);
    }
}

/* ---- all of it ---- */

hg_result hg_bench_table(const hg_bench *bench, hg_output *output)
{
    const int csv = bench->form == HG_BENCH_CSV;
    hg_result res = HG_OK;

    if (!csv && bench->has_model)
        about_model(bench, output);
    if (!csv)
        about_machines(bench, output);
    if (bench->ceiling && (!csv || !bench->has_model)) {
        res = ceilings(bench, csv, output);
        if (bench->has_model)
            (void)hg_output_text(output, "\n");
    }
    if (!bench->has_model || res != HG_OK)
        return res;
    if (bench->kernels)
        return hg_bench_kernel_table(bench, output);
    res = csv ? csv_rows(bench, output) : md_rows(bench, output);
    if (csv || res != HG_OK)
        return res;
    (void)hg_output_text(output, "\n");
    ratios(bench, output);
    memory(bench, output);
    hg_bench_used(bench, output);
    return HG_OK;
}
