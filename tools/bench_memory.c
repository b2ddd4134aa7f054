/* SPDX-License-Identifier: MIT */
/* What a benchmark takes of memory: on the device, and as a process. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The resident set of this process; 0 where the system does not tell. */
static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    const long page = sysconf(_SC_PAGESIZE);
    uint64_t all = 0, resident = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &all, &resident) != 2 || page <= 0)
        resident = 0;
    (void)fclose(file);
    return resident * (uint64_t)page;
}

void hg_bench_memory_start(hg_bench_machine *m)
{
    m->resident_start = resident_bytes();
    m->resident_most = m->resident_start;
}

void hg_bench_memory_note(hg_bench_machine *m)
{
    const uint64_t now = resident_bytes();

    m->resident_most = now > m->resident_most ? now : m->resident_most;
}

uint64_t hg_bench_growth(const hg_bench_machine *m)
{
    return m->resident_most - m->resident_start;
}

const hg_bench_row *hg_bench_largest(const hg_bench *bench, uint32_t machine)
{
    const hg_bench_row *largest = NULL;

    for (uint32_t i = 0; i < bench->row_count; i++) {
        const hg_bench_row *row = &bench->row[i];

        if (row->machine == machine && (!largest || row->device_bytes > largest->device_bytes))
            largest = row;
    }
    return largest;
}
