/* SPDX-License-Identifier: MIT */
/* The kernels of headgate bench --kernels as tables. */
#include "bench.h"

#include "columns.h"
#include "paragraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 100, INDENT = 4, SHAPE_SIZE = 128, LEGEND_SIZE = 2048 };

#define COUNT(names) ((uint32_t)(sizeof(names) / sizeof((names)[0])))

/* Sizes and their names, "32x1024" and "rows x k" of "rows=32 k=1024". */
static void split_shape(const char *shape, char sizes[SHAPE_SIZE], char names[SHAPE_SIZE])
{
    size_t s = 0, n = 0;

    sizes[0] = names[0] = '\0';
    while (*shape) {
        const size_t name = strcspn(shape, "="), word = strcspn(shape, " ");

        if (name >= word || s + word + 2 >= SHAPE_SIZE || n + name + 4 >= SHAPE_SIZE)
            return;
        s += (size_t)snprintf(sizes + s, SHAPE_SIZE - s, "%s%.*s", s ? "x" : "",
                              (int)(word - name - 1), shape + name + 1);
        n +=
            (size_t)snprintf(names + n, SHAPE_SIZE - n, "%s%.*s", n ? " x " : "", (int)name, shape);
        shape += word + (shape[word] == ' ');
    }
}

/* "matmul TC bf16p" */
static const char *way_of(const hg_bench_kernel *k, char text[64])
{
    const int has_type = k->type[0] && strcmp(k->type, "none") != 0;

    snprintf(text, 64, "%s%s%s%s%s", k->kernel, k->tier[0] ? " " : "", k->tier, has_type ? " " : "",
             has_type ? k->type : "");
    return text;
}

/* The ceiling that is nearest, "62.1 % fp32"; "-" where none was measured. */
static const char *nearest(const hg_bench_share *share, char text[32])
{
    if (isfinite(share->largest))
        snprintf(text, 32, "%.1f %% %s", share->largest * 100, share->of);
    else
        snprintf(text, 32, "-");
    return text;
}

static void md_line(const hg_bench *bench, const hg_bench_pass *pass, const hg_bench_kernel *k,
                    hg_columns *c)
{
    const hg_bench_share share = hg_bench_share_of(&bench->machine[pass->machine], pass, k);
    char way[64], sizes[SHAPE_SIZE], names[SHAPE_SIZE], text[32];

    split_shape(k->shape, sizes, names);
    hg_columns_text(c, way_of(k, way));
    hg_columns_text(c, sizes);
    if (bench->ceiling)
        hg_columns_text(c, nearest(&share, text));
    hg_columns_count(c, k->calls / bench->repeat);
    hg_columns_figure(c, hg_bench_median(k->times_ns, k->calls) / 1e3);
    hg_columns_figure(c, share.bytes_per_s / 1e9);
    hg_columns_figure(c, share.flops_per_s / 1e9);
    hg_columns_share(c, share.of_pass);
}

/* What the sizes are, once for each kernel: "shapes: matmul rows x k x cols; ..." */
static void legend(const hg_bench_pass *pass, hg_output *output)
{
    char line[LEGEND_SIZE] = "shapes:", entry[SHAPE_SIZE + 48];
    size_t at = strlen(line);

    for (uint32_t i = 0; i < pass->count; i++) {
        char sizes[SHAPE_SIZE], names[SHAPE_SIZE];

        split_shape(pass->row[i].shape, sizes, names);
        snprintf(entry, sizeof(entry), " %s %s;", pass->row[i].kernel, names);
        if (!strstr(line, entry) && at + sizeof(entry) < sizeof(line))
            at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", entry);
    }
    line[at - 1] = pass->count ? '\0' : ':';
    (void)hg_paragraph_print(output, WIDTH, INDENT, 0, line);
}

static hg_result md_pass(const hg_bench *bench, const hg_bench_pass *pass, hg_output *output)
{
    static const char *const with[] = {"kernel", "shape", "of ceiling", "calls",
                                       "us",     "GB/s",  "GFLOP/s",    "pass %"};
    static const char *const without[] = {"kernel", "shape",   "calls", "us",
                                          "GB/s",   "GFLOP/s", "pass %"};
    const hg_machine *m = &bench->machine[pass->machine].machine;
    hg_columns c = {0};
    char name[48];
    hg_result res;

    (void)hg_output_format(
        output, "%s@%s %s: %.3f ms by the host (median), %.3f ms in these kernels (mean)\n\n",
        m->device.selector, hg_precision_name(m->precision), hg_bench_name(&pass->test, name),
        hg_bench_median(pass->times_ns, bench->repeat) / 1e6,
        (double)pass->kernels_ns / bench->repeat / 1e6);
    if (bench->ceiling)
        hg_columns_start(&c, 0, with, COUNT(with), 3);
    else
        hg_columns_start(&c, 0, without, COUNT(without), 2);
    for (uint32_t k = 0; k < pass->count; k++)
        md_line(bench, pass, &pass->row[k], &c);
    res = hg_columns_print(&c, output);
    if (res == HG_OK) {
        (void)hg_output_text(output, "\n");
        legend(pass, output);
        (void)hg_output_text(output, "\n");
    }
    return res;
}

static void csv_line(const hg_bench *bench, const hg_bench_pass *pass, const hg_bench_kernel *k,
                     hg_columns *c)
{
    const hg_bench_machine *m = &bench->machine[pass->machine];
    const hg_bench_share share = hg_bench_share_of(m, pass, k);
    char test[48], driver[640];

    hg_columns_text(c, bench->source.name);
    hg_columns_text(c, m->machine.device.selector);
    hg_columns_text(c, m->machine.device.name);
    hg_columns_text(c, hg_driver_label(&m->machine.device, driver));
    hg_columns_text(c, hg_precision_name(m->machine.precision));
    hg_columns_text(c, hg_bench_name(&pass->test, test));
    hg_columns_text(c, k->kernel);
    hg_columns_text(c, k->tier);
    hg_columns_text(c, k->type);
    hg_columns_text(c, k->tiles);
    hg_columns_text(c, k->shape);
    hg_columns_count(c, k->calls / bench->repeat);
    hg_columns_number(c, 3, hg_bench_median(k->times_ns, k->calls) / 1e3);
    hg_columns_number(c, 3, (double)k->times_ns[0] / 1e3);
    hg_columns_number(c, 3, (double)k->times_ns[k->calls - 1] / 1e3);
    hg_columns_figure(c, share.bytes_per_s / 1e9);
    hg_columns_figure(c, share.flops_per_s / 1e9);
    hg_columns_share(c, share.of_pass);
    hg_columns_share(c, share.of_read);
    hg_columns_share(c, share.of_fp32);
    hg_columns_share(c, share.of_matrix);
}

static hg_result csv_passes(const hg_bench *bench, hg_output *output)
{
    static const char *const names[] = {
        "model",          "selector",     "device",        "driver",        "precision",
        "test",           "kernel",       "tier",          "type",          "tiles",
        "shape",          "calls",        "median_us",     "min_us",        "max_us",
        "gbytes_per_s",   "gflops_per_s", "share_of_pass", "share_of_read", "share_of_fp32",
        "share_of_matrix"};
    hg_columns c = {0};

    hg_columns_start(&c, 1, names, COUNT(names), 11);
    for (uint32_t i = 0; i < bench->pass_count; i++)
        for (uint32_t k = 0; k < bench->pass[i].count; k++)
            csv_line(bench, &bench->pass[i], &bench->pass[i].row[k], &c);
    return hg_columns_print(&c, output);
}

hg_result hg_bench_kernel_table(const hg_bench *bench, hg_output *output)
{
    hg_result res = HG_OK;

    if (bench->form == HG_BENCH_CSV)
        return csv_passes(bench, output);
    for (uint32_t i = 0; i < bench->pass_count && res == HG_OK; i++)
        res = md_pass(bench, &bench->pass[i], output);
    if (res == HG_OK)
        hg_bench_used(bench, output);
    return res;
}
