/* SPDX-License-Identifier: MIT */
/*
 * For people who judge devices: the kernel table by name, and running one kernel by hand.
 * Stage taps are in session.h (hg_session_params.tap), the limits override in engine.h.
 * Not covered by the promise of a stable interface.
 */
#ifndef HEADGATE_DIAGNOSE_H
#define HEADGATE_DIAGNOSE_H

#include <headgate/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_kernel_info {
    uint32_t struct_size;
    const char *kernel; /* "rms_norm" */
    const char *tier;   /* "T0" */
    const char *dtype;  /* "bf16", "none" */
    uint32_t threads;
    uint32_t exact; /* 1: promises the bytes of the exact order */
} hg_kernel_info;

/* Rows of the table, in order; HG_ERR_ARGUMENT past the end. */
HG_API hg_result hg_kernel_describe(uint32_t index, hg_kernel_info *out);

/*
 * The kernel tests of the library itself: every variant of the table on small and ragged shapes
 * with values at the edges of the number format. Every tier is judged against the reference in
 * double within its bound, and every run of a shape must give the bytes of the first; on an engine
 * of precision exact T0 and T0C also byte for byte against the kernel's own text compiled as C.
 */
typedef enum hg_selftest_level {
    HG_SELFTEST_QUICK = 0, /* a few shapes of each kernel: what is tried before a first use */
    HG_SELFTEST_FULL = 1   /* every shape */
} hg_selftest_level;

typedef struct hg_selftest_params {
    uint32_t struct_size;
    hg_selftest_level level;
    uint32_t replays; /* runs of each shape; 0: 2 quick, 5 full */
    hg_progress progress;
} hg_selftest_params;

typedef enum hg_selftest_verdict {
    HG_SELFTEST_PASSED = 0,
    HG_SELFTEST_FAILED = 1,
    HG_SELFTEST_SKIPPED = 2 /* a variant that is never used on this device: detail says why */
} hg_selftest_verdict;

/* One variant on one shape; valid during the call. */
typedef struct hg_selftest_row {
    uint32_t struct_size;
    const char *kernel, *tier, *dtype; /* as in hg_kernel_info */
    const char *shape;                 /* "matmul nasty"; "" of a skipped variant */
    hg_selftest_verdict verdict;
    uint32_t replays;
    const char *detail; /* "", or the first wrong element, in words */
    /* Of a failed row. within_bound: under exact, bytes other than expected that are good enough
     * for fp32; detail then begins with HG_SELFTEST_WITHIN. exact_only: no model uses this kernel
     * (the probe), it tells what a driver does to arithmetic. */
    uint32_t within_bound, exact_only;
} hg_selftest_row;

#define HG_SELFTEST_WITHIN "other bits, within its bound"
#define HG_SELFTEST_BITS "other bits" /* of the probe, where an operation is another one */

typedef void (*hg_selftest_callback)(void *user, const hg_selftest_row *row);

/* HG_OK when every row could be told, whatever the verdicts. params NULL: quick. */
HG_API hg_result hg_selftest(hg_engine *engine, const hg_selftest_params *params,
                             hg_selftest_callback callback, void *user);

/* Counters of an engine since it was created. */
typedef struct hg_engine_counters {
    uint32_t struct_size;
    uint64_t dispatches, submits, barriers, copies, pipelines;
    uint64_t upload_bytes, readback_bytes;
    /* Of everything that ran: arithmetic, and bytes of memory with every operand of an operation
     * counted once. */
    double flops, memory_bytes;
} hg_engine_counters;
HG_API void hg_engine_count(const hg_engine *engine, hg_engine_counters *out);

/* A way in which a kernel has run. */
typedef struct hg_used_info {
    uint32_t struct_size;
    const char *kernel, *tier, *dtype; /* as in hg_kernel_info */
    char tiles[96];                    /* tile numbers: "ROWS=8 COLS=8", or "" */
    uint32_t threads;                  /* per work-group */
    uint64_t dispatches;               /* since the engine was created */
} hg_used_info;

/* In the order of first use; HG_ERR_ARGUMENT past the end. Checks before a first use do not count.
 */
HG_API hg_result hg_engine_used(hg_engine *engine, uint32_t index, hg_used_info *out);

/* One operation that has run; valid during the call. */
typedef struct hg_op_time {
    uint32_t struct_size;
    const char *kernel;         /* "matmul"; "copy", "fill" */
    const char *tier, *dtype;   /* of the variant; "" of a copy or fill */
    const char *tiles;          /* as in hg_used_info */
    const char *shape;          /* its sizes: "rows=32 k=1024 cols=3072"; of a copy "bytes=4096" */
    uint32_t threads, groups;   /* groups: work-groups altogether */
    int32_t layer;              /* -1: outside the layers */
    uint64_t ns;                /* since the operation before it was done, by the device's clock */
    double flops, memory_bytes; /* as in hg_engine_counters */
} hg_op_time;

typedef void (*hg_op_callback)(void *user, const hg_op_time *time);

/*
 * From now on tells the time of every operation that runs on the engine, in order, some time after
 * it has run and before the call that ran it returns. Timestamps stand between operations; they
 * run as they would without. callback NULL: no longer. HG_ERR_UNSUPPORTED: the device has no
 * timestamps.
 */
HG_API hg_result hg_engine_watch(hg_engine *engine, hg_op_callback callback, void *user);

/* What a device can do at most, measured by kernels that do nothing else (ceiling_* of the table;
 * matrix units: a large product); the best of several runs. */
typedef struct hg_ceiling {
    uint32_t struct_size;
    uint64_t buffer_bytes;     /* what was read: larger than caches where memory allows */
    double read_bytes_per_s;   /* each byte read once */
    double copy_bytes_per_s;   /* bytes read and bytes written, both counted */
    double flops_per_s;        /* float32, product and sum in one operation where that is faster */
    double exact_flops_per_s;  /* product and sum apart, as the exact order has them */
    double matrix_flops_per_s; /* the fastest product by matrix units (T2, float16 weights), counted
                                  as float32 arithmetic of the same product; 0: none are used */
    double dispatch_ns;        /* of an operation that waits for the one before it */
    double submit_ns;          /* from the host and back */
} hg_ceiling;

/* About a second, and the buffer's memory. progress NULL: none. */
HG_API hg_result hg_engine_ceiling(hg_engine *engine, const hg_progress *progress, hg_ceiling *out);

#ifdef __cplusplus
}
#endif
#endif
