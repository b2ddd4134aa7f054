/* SPDX-License-Identifier: MIT */
/* The few things asked of the operating system: memory, clock, processors. */
#ifndef HG_ENGINE_OS_H
#define HG_ENGINE_OS_H

#include <stdint.h>
#include <stdio.h>

/* What the machine has, and what a new allocation could get without swapping (MemAvailable, and the
 * limits of the control group and of the address space where they are lower). 0, 0 where it cannot
 * be told. */
void hg_os_memory(uint64_t *available_bytes, uint64_t *total_bytes);
/* For reading; NULL (errno ENOENT: there is none) unless it is a regular file: a pipe in a cache
 * folder would wait for ever. */
FILE *hg_os_open_regular(const char *path);
uint64_t hg_os_clock_ns(void);   /* monotonic */
uint32_t hg_os_processors(void); /* that this process may use; at least 1 */

#endif
