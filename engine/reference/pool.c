/* SPDX-License-Identifier: MIT */
/* A handful of pthreads that sleep between runs and take slices from one counter. */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    SLICES_PER_THREAD = 8
}; /* rows of a causal map differ in cost: more slices than threads even it out */

struct hg_pool_threads {
    pthread_t *threads;
    uint32_t count; /* started, without the caller */
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    uint64_t generation;
    uint32_t busy;
    int stop;
    hg_pool_work work;
    void *user;
    uint32_t items, slice;
    _Atomic uint32_t next;
};

static void take_slices(hg_pool_threads *p)
{
    for (;;) {
        const uint32_t begin = atomic_fetch_add(&p->next, p->slice);

        if (begin >= p->items)
            return;
        p->work(p->user, begin, p->items - begin < p->slice ? p->items : begin + p->slice);
    }
}

static void *worker(void *argument)
{
    hg_pool_threads *p = argument;
    uint64_t seen = 0;

    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->generation == seen && !p->stop)
            pthread_cond_wait(&p->wake, &p->lock);
        if (p->stop)
            break;
        seen = p->generation;
        pthread_mutex_unlock(&p->lock);
        take_slices(p);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0)
            pthread_cond_signal(&p->finished);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

hg_pool_threads *hg_pool_create(uint32_t threads)
{
    hg_pool_threads *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->threads = calloc(threads ? threads : 1, sizeof(*p->threads));
    if (!p->threads) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->finished, NULL);
    /* Fewer threads than asked for is slower, not wrong. */
    while (p->count + 1 < threads && pthread_create(&p->threads[p->count], NULL, worker, p) == 0)
        p->count++;
    return p;
}

void hg_pool_free(hg_pool_threads **pool)
{
    hg_pool_threads *p = *pool;

    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->count; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->finished);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
    *pool = NULL;
}

void hg_pool_run(hg_pool_threads *pool, uint32_t items, hg_pool_work work, void *user)
{
    const uint64_t slices = (uint64_t)(pool->count + 1) * SLICES_PER_THREAD;

    if (items == 0)
        return;
    if (pool->count == 0 || items == 1) {
        work(user, 0, items);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->user = user;
    pool->items = items;
    pool->slice = (uint32_t)((items + slices - 1) / slices);
    atomic_store(&pool->next, 0);
    pool->busy = pool->count;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    take_slices(pool);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
