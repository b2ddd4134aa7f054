/* SPDX-License-Identifier: MIT */
/* Linux: /proc/meminfo, the control group, the clock. Elsewhere sysconf, or zeros. */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    char text[64];
    uint64_t value = UINT64_MAX;

    if (!file)
        return UINT64_MAX;
    if (fgets(text, sizeof(text), file) && text[0] >= '0' && text[0] <= '9')
        value = strtoull(text, NULL, 10);
    fclose(file);
    return value;
}

static void read_meminfo(uint64_t *available, uint64_t *total)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib;

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1) // NOLINT(cert-err34-c): a kernel file
            *total = (uint64_t)kib << 10;
        else if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) // NOLINT(cert-err34-c)
            *available = (uint64_t)kib << 10;
    }
    fclose(file);
}

static void lower(uint64_t *value, uint64_t to)
{
    if (*value > to)
        *value = to;
}

void hg_os_memory(uint64_t *available_bytes, uint64_t *total_bytes)
{
    struct rlimit space;
    uint64_t group_most, group_now;

    *available_bytes = *total_bytes = 0;
    read_meminfo(available_bytes, total_bytes);
    /* A container is told its own limit here; the file says "max" (no number) without one. */
    group_most = read_number("/sys/fs/cgroup/memory.max");
    group_now = read_number("/sys/fs/cgroup/memory.current");
    if (group_most != UINT64_MAX) {
        lower(total_bytes, group_most);
        if (group_now != UINT64_MAX)
            lower(available_bytes, group_most > group_now ? group_most - group_now : 0);
    }
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        lower(available_bytes, (uint64_t)space.rlim_cur);
}

FILE *hg_os_open_regular(const char *path)
{
    struct stat status;
    FILE *file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return NULL;
    file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "rb") : NULL;
    if (!file) {
        close(fd);
        errno = EINVAL; /* there is something, but nothing to read */
    }
    return file;
}

uint64_t hg_os_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint32_t hg_os_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 && n < 4096 ? (uint32_t)n : 1;
}
