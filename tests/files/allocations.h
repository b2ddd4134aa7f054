/* SPDX-License-Identifier: MIT */
/*
 * Watches malloc, calloc and realloc of the library under test (linked with --wrap): the largest
 * single request, and requests that fail on purpose.
 */
#ifndef HG_TEST_FILES_ALLOCATIONS_H
#define HG_TEST_FILES_ALLOCATIONS_H

#include <stddef.h>
#include <stdint.h>

/* Forgets what was; fail_at 0: none fails, n: the n-th from now on fails (alone). */
void test_allocations_watch(uint64_t fail_at);
/* Stops failing. */
void test_allocations_end(void);
uint64_t test_allocations_count(void);
size_t test_allocations_largest(void);
/* Asked for in all, what was freed since included. */
uint64_t test_allocations_bytes(void);

#endif
