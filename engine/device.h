/* SPDX-License-Identifier: MIT */
/*
 * What host/ sees of the engine beside the public header: buffers, uploads, and lists of operations
 * run in order. Knows no model.
 */
#ifndef HG_ENGINE_DEVICE_H
#define HG_ENGINE_DEVICE_H

#include <headgate/diagnose.h>
#include <headgate/engine.h>

#include "oplist.h"
#include "plan.h"
#include "reference/pool.h"
#include "used.h"

#include <pthread.h>

struct hg_engine {
    const hg_backend *backend;
    hg_dev *dev;
    hg_plan plan;
    hg_log log;
    pthread_mutex_t lock; /* serialises everything below and every call of the backend */
    char *cache_dir;
    uint64_t memory_limit_bytes;
    uint64_t now_bytes, peak_bytes;
    hg_engine_counters counters;
    double submit_flops;        /* work per submit, learnt from measured time; 0: not yet */
    struct hg_tracker *tracker; /* hazards since the last barrier, across submits */
    hg_mem *spare;              /* zero bytes for bindings that a kernel does not use */
    hg_mem *stage[2];           /* upload and readback staging, made on first use */
    uint64_t stage_point[2]; /* until which the device reads a half of the upload's; 0: does not */
    uint32_t stage_half;     /* to be filled next */
    hg_pool_threads *pool;   /* for uploads and compiling, made on first use */
    uint8_t prepared[HG_KERNEL_COUNT]; /* compiled ahead, a bit per hg_dtype */
    uint64_t surroundings;             /* hash of hg_engine_params.surroundings; 0: none */
    struct hg_tuner *tuner;            /* NULL: nothing is measured */
    struct hg_trust *trust;            /* NULL: every kernel is trusted; has a lock of its own */
    hg_used used;                      /* what ran */
    hg_op_callback watcher;            /* NULL: operations are not timed */
    void *watcher_user;
};

/* Memory by role. HG_ERR_UNSUPPORTED above the device's largest allocation, HG_ERR_DEVICE_MEMORY
 * above the budget: both name needed and free. size 0 is rounded up to one word. */
hg_result hg_buffer_create(hg_engine *engine, hg_mem_kind kind, uint64_t size_bytes,
                           const char *name, hg_mem **out);
/* Bytes of the host that kernels read where they are, from the page on in which they begin: there
 * are *lead_bytes before them in the buffer. They stay until the buffer is freed. Only where
 * hg_plan_wraps. */
hg_result hg_buffer_wrap(hg_engine *engine, const void *host, uint64_t size_bytes, const char *name,
                         hg_mem **out, uint64_t *lead_bytes);
void hg_buffer_free(hg_engine *engine, hg_mem **mem);

/* Free bytes as far as known: the driver's budget, the machine's memory on CPU types, the caller's
 * limit. */
uint64_t hg_engine_free_bytes(hg_engine *engine);

/* Largest row block of a matrix: what one binding and one allocation can hold. */
uint64_t hg_engine_block_bytes(const hg_engine *engine);

/* What the upload pass saw (docs/DECISIONS.md D9). */
typedef struct hg_upload_counts {
    uint64_t nan_count, inf_count, tiny_count;
    uint64_t huge_count; /* finite, 2^100 and above: sums of their products may overflow */
} hg_upload_counts;

/*
 * The one pass over a weight: copies `elements` of a type into mem at offset (a multiple of 4),
 * flushes |w| < 2^-50 to +0 (the storage invariant of the exact kernels), counts what is not
 * finite. The source may be at any byte address. Pads the last word with zeros.
 */
hg_result hg_upload_weight(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes,
                           const void *source, hg_dtype dtype, uint64_t elements,
                           hg_upload_counts *counts);
/* The same for a matrix of `rows` rows of k elements that goes into panels (panel.h): dtype is a
 * panel type, the source in rows; offset is where its first panel begins. */
hg_result hg_upload_panels(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes,
                           const void *source, hg_dtype dtype, uint64_t rows, uint64_t k,
                           hg_upload_counts *counts);
/* Plain bytes, in multiples of 4. */
hg_result hg_upload_bytes(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes, const void *source,
                          uint64_t bytes);
hg_result hg_readback_bytes(hg_engine *engine, hg_mem *mem, uint64_t offset_bytes, void *out,
                            uint64_t bytes);

/* For memory.c, upload.c and run.c, with the lock held: one copy, waited for. */
hg_result hg_engine_copy(hg_engine *engine, hg_bind dst, hg_bind src);
/* Half of the upload staging, free to be filled; and its beginning on the way to dst, which is not
 * waited for, so that one half is filled while the other is copied. */
hg_result hg_engine_stage_half(hg_engine *engine, hg_bind *out);
hg_result hg_engine_stage_send(hg_engine *engine, hg_bind dst, hg_bind half);

/* A finished stage, shown to a tap. values may be changed: then the return value is 1, and what
 * stands there goes back into the buffer before the next operation. */
typedef struct hg_tapped {
    const hg_op *op;
    const hg_op_stage *stage;
    const hg_variant *variant; /* NULL: a copy */
    uint64_t count;
    float *values;         /* [count], valid during the call */
    const double *allowed; /* [count], the error that an element may have; NULL: not asked, or not
                              the reference in double */
} hg_tapped;

typedef int (*hg_tap)(void *user, const hg_tapped *tapped);

typedef struct hg_run_params {
    hg_progress progress; /* asked between submits */
    const char *what;
    hg_tap tap; /* NULL: none. With a tap every op is a submit of its own. */
    void *tap_user;
    int bounds; /* 1: hg_tapped.allowed where the engine is the reference in double */
} hg_run_params;

/* Runs a list to its end and waits. Serialised with other threads' runs on this engine. */
hg_result hg_engine_run(hg_engine *engine, const hg_oplist *list, const hg_run_params *params);

#endif
