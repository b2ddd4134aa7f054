/* SPDX-License-Identifier: MIT */
/* Figures from times: speeds, and shares of what the device can do at most. */
#include "bench.h"

#include <math.h>
#include <string.h>

static double per_second(double amount, double ns)
{
    return amount * 1e9 / (ns > 0 ? ns : 1);
}

hg_bench_speed hg_bench_speed_of(const hg_bench *bench, const hg_bench_row *row)
{
    const double median = hg_bench_median(row->times_ns, bench->repeat);

    return (hg_bench_speed){
        .median = per_second(row->test.tokens, median),
        .slowest = per_second(row->test.tokens, (double)row->times_ns[bench->repeat - 1]),
        .fastest = per_second(row->test.tokens, (double)row->times_ns[0]),
        .flops_per_s = per_second(row->flops, median),
        .bytes_per_s = per_second(row->memory_bytes, median)};
}

static double share(int is_known, double of, double figure)
{
    return is_known && of > 0 ? figure / of : (double)NAN;
}

double hg_bench_share_of_read(const hg_bench_machine *machine, double bytes_per_s)
{
    return share(machine->has_ceiling, machine->ceiling.read_bytes_per_s, bytes_per_s);
}

double hg_bench_share_of_fp32(const hg_bench_machine *machine, double flops_per_s)
{
    return share(machine->has_ceiling,
                 machine->machine.precision == HG_PRECISION_EXACT
                     ? machine->ceiling.exact_flops_per_s
                     : machine->ceiling.flops_per_s,
                 flops_per_s);
}

double hg_bench_share_of_matrix(const hg_bench_machine *machine, double flops_per_s)
{
    return share(machine->has_ceiling, machine->ceiling.matrix_flops_per_s, flops_per_s);
}

hg_bench_share hg_bench_share_of(const hg_bench_machine *machine, const hg_bench_pass *pass,
                                 const hg_bench_kernel *kernel)
{
    hg_bench_share s = {
        .bytes_per_s = per_second(kernel->memory_bytes, (double)kernel->total_ns),
        .flops_per_s = per_second(kernel->flops, (double)kernel->total_ns),
        .of_pass = share(1, (double)pass->kernels_ns, (double)kernel->total_ns),
        .of_matrix = (double)NAN,
        .of = "read",
    };

    s.of_read = hg_bench_share_of_read(machine, s.bytes_per_s);
    s.of_fp32 = hg_bench_share_of_fp32(machine, s.flops_per_s);
    if (strcmp(kernel->tier, "T2") == 0)
        s.of_matrix = hg_bench_share_of_matrix(machine, s.flops_per_s);
    s.largest = s.of_read;
    if (isfinite(s.of_matrix) ? s.of_matrix > s.largest : s.of_fp32 > s.largest) {
        s.largest = isfinite(s.of_matrix) ? s.of_matrix : s.of_fp32;
        s.of = isfinite(s.of_matrix) ? "matrix" : "fp32";
    }
    return s;
}
