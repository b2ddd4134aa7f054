/* SPDX-License-Identifier: MIT */
#include "allocations.h"

#include <stdlib.h>

/* Names that the linker makes of --wrap. NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static struct {
    uint64_t count, fail_at, bytes;
    size_t largest;
} watch;

static int may(size_t bytes)
{
    watch.count++;
    watch.bytes += bytes;
    if (bytes > watch.largest)
        watch.largest = bytes;
    return watch.count != watch.fail_at;
}

void *__wrap_malloc(size_t bytes)
{
    return may(bytes) ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return may(count * bytes) ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return may(bytes) ? __real_realloc(old, bytes) : NULL;
}
/* NOLINTEND(bugprone-reserved-identifier) */

void test_allocations_watch(uint64_t fail_at)
{
    watch.count = 0;
    watch.bytes = 0;
    watch.largest = 0;
    watch.fail_at = fail_at;
}

void test_allocations_end(void)
{
    watch.fail_at = 0;
}

uint64_t test_allocations_count(void)
{
    return watch.count;
}

size_t test_allocations_largest(void)
{
    return watch.largest;
}

uint64_t test_allocations_bytes(void)
{
    return watch.bytes;
}
