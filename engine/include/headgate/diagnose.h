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

/* Counters of an engine since it was created. */
typedef struct hg_engine_counters {
    uint32_t struct_size;
    uint64_t dispatches, submits, barriers, copies, pipelines;
    uint64_t upload_bytes, readback_bytes;
} hg_engine_counters;
HG_API void hg_engine_count(const hg_engine *engine, hg_engine_counters *out);

#ifdef __cplusplus
}
#endif
#endif
