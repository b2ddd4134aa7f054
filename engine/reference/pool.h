/* SPDX-License-Identifier: MIT */
/* Threads that share a range of independent items. */
#ifndef HG_ENGINE_REFERENCE_POOL_H
#define HG_ENGINE_REFERENCE_POOL_H

#include <stdint.h>

typedef struct hg_pool_threads hg_pool_threads;
typedef void (*hg_pool_work)(void *user, uint32_t begin, uint32_t end);

/* threads counts the caller's own, so 1 starts none. NULL: no memory or no thread. */
hg_pool_threads *hg_pool_create(uint32_t threads);
void hg_pool_free(hg_pool_threads **pool);
/* Runs work over [0, items) in slices, on all threads, and returns when all are done. One caller at
 * a time. */
void hg_pool_run(hg_pool_threads *pool, uint32_t items, hg_pool_work work, void *user);

#endif
