/* SPDX-License-Identifier: MIT */
/*
 * The seam: all that the engine asks of a backend. Knows no model. Three backends implement it:
 * vulkan/, opencl/, reference/. Flat on purpose: a dispatch is kernel + params + list of ranges.
 *
 * Each backend embeds struct hg_dev / hg_mem / hg_pipe / hg_list as the first member of its own.
 * Calls on one list are single-threaded. prepare and submit of one device are serialised by the
 * engine's lock. Points are uint64, ascending per device from 1 (timeline semaphore, or fences
 * behind the same number).
 */
#ifndef HG_ENGINE_BACKEND_H
#define HG_ENGINE_BACKEND_H

#include <headgate/engine.h>

#include "kernel.h"

typedef struct hg_backend hg_backend;
typedef struct hg_plan hg_plan;

/* Everything that a choice rests on, as data; made by enumerate, or by a test out of thin air. */
typedef hg_device_info hg_snapshot;

/* A choice among variants and tile numbers that was measured (tune.c). */
typedef struct hg_tuned {
    uint32_t is_set;
    hg_tier tier;
    uint32_t spec[HG_SPEC_MAX];
} hg_tuned;

/* What was decided before the device is opened; backends obey it. Pure function of a snapshot and
 * options (plan.c). */
struct hg_plan {
    hg_snapshot device;
    hg_limits limits;  /* of the device, lowered by the override */
    uint32_t features; /* HG_FEATURE_* in use: of the device, less those turned off */
    hg_precision precision;
    uint32_t tier_given; /* 1: only this tier, and T0 where it has no row */
    hg_tier tier;
    /* Variants that failed their check on this device (trust.c), a bit per hg_dtype. */
    uint8_t demoted[HG_KERNEL_COUNT][HG_TIER_COUNT];
    hg_tuned tuned[HG_KERNEL_COUNT][HG_DTYPE_COUNT];
    uint32_t loop_rounds;    /* of all loops of an invocation, after which the device leaves them
                              * (rounds.h); 0: it never does */
    uint32_t reference_text; /* reference backend: 1 = column `text`, 0 = column `ref` */
    uint32_t threads;
    uint32_t validate;
    const char *cache_dir; /* NULL: none; valid while the device is open */
    hg_log log;
};

/* Kernels may bind every kind, read or write. */
typedef enum hg_mem_kind {
    HG_MEM_WEIGHT,  /* written once through a staging copy or a map, then read by kernels */
    HG_MEM_SCRATCH, /* kernels only */
    HG_MEM_KV,      /* kernels, and copies */
    HG_MEM_UPLOAD,  /* host writes, device reads: always mappable */
    HG_MEM_READBACK /* device writes, host reads: always mappable */
} hg_mem_kind;

typedef struct hg_mem_desc {
    uint64_t size_bytes;
    hg_mem_kind kind;
    const char *name; /* by role: "kv.layer07.k"; copied */
} hg_mem_desc;

typedef struct hg_dev {
    const hg_backend *backend;
    hg_plan plan;
    uint64_t allocated_bytes, peak_bytes;
    uint32_t validation_messages;
    double *magnitude; /* reference in double: where the next dispatch puts the magnitudes of its
                          output binding (hg_ref_call); NULL: nowhere */
} hg_dev;

typedef struct hg_mem {
    hg_dev *dev;
    uint64_t size_bytes;
    hg_mem_kind kind;
    uint32_t mappable;   /* 1: map works on it */
    uint32_t is_wrapped; /* 1: the host's own pages, no allocation */
} hg_mem;

typedef struct hg_pipe {
    hg_dev *dev;
    const hg_variant *variant;
    uint32_t spec[HG_SPEC_MAX];
} hg_pipe;

typedef struct hg_list {
    hg_dev *dev;
} hg_list;

/* A range of a buffer. offset is a multiple of 512; anything finer is an element offset in the
 * params. A binding a kernel does not use with these params (bias without flag) may be any small
 * valid range. */
typedef struct hg_bind {
    hg_mem *mem;
    uint64_t offset_bytes;
    uint64_t size_bytes;
} hg_bind;

/* One range that the next command must wait for: computed by record.c from the access column. */
typedef struct hg_hazard {
    hg_bind range;
    uint32_t before, after; /* HG_ACCESS_* of the earlier and the later command */
} hg_hazard;

typedef enum hg_map_access { HG_MAP_READ = 1, HG_MAP_WRITE = 2 } hg_map_access;

/* Imported or own synchronisation; used by the embedding API. NULL lists are the rule today. */
typedef struct hg_sync hg_sync;
typedef struct hg_sync_desc hg_sync_desc;
/* Pages of the host that kernels read where they are: at least the device's alignment of pages,
 * there until the buffer is released. */
typedef struct hg_wrap_desc {
    const void *host;
    uint64_t size_bytes;
    const char *name;
} hg_wrap_desc;
typedef struct hg_handover hg_handover;

struct hg_backend {
    const char *name; /* "vk" "cl" "ref" */
    hg_backend_kind kind;

    /* Pure data about every device: limits, features, why not. out has room for *count; *count
     * becomes the number found (never more than room). A missing loader or a driver that fails to
     * start: fewer devices, with a HG_LOG_INFO line. selector, index are filled by the engine. */
    hg_result (*enumerate)(const hg_log *log, hg_snapshot *out, uint32_t *count);

    /* Opens plan->device (found again by backend_index). import NULL: our own device. */
    hg_result (*open)(const hg_plan *plan, const void *import, hg_dev **out);
    void (*close)(hg_dev **dev); /* waits for all work first */

    /* Free and total bytes as far as the driver tells (budget extension); CPU types: the engine
     * asks the OS. */
    hg_result (*budget)(hg_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes);

    /* HG_ERR_DEVICE_MEMORY when it does not fit. Contents are undefined. Size 0 is a broken
     * promise. */
    hg_result (*alloc)(hg_dev *dev, const hg_mem_desc *desc, hg_mem **out);
    hg_result (*wrap)(hg_dev *dev, const hg_wrap_desc *desc,
                      hg_mem **out); /* may be NULL: not offered */
    void (*release)(hg_mem **mem);   /* deferred until its last point has passed (D24) */

    /* Host view of [offset, offset + size). Read: the caller has waited for the writer's point.
     * unmap flushes what was mapped for writing. Only where mem->mappable. */
    hg_result (*map)(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes, hg_map_access access,
                     void **out);
    void (*unmap)(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes);

    /* Compiles (or finds in its cache) a variant with these constants. Pipes belong to the device
     * and live until close; the same key gives the same pipe. spec has HG_SPEC_MAX words. Several
     * threads may prepare at once, with the engine's lock held by one of them. */
    hg_result (*prepare)(hg_dev *dev, const hg_variant *variant, const uint32_t *spec,
                         hg_pipe **out);

    /* A list is recorded once, submitted once; submit or discard ends its life. foreign_cmd NULL:
     * our own. */
    hg_result (*begin)(hg_dev *dev, void *foreign_cmd, hg_list **out);
    /* Errors of recording are kept in the list and returned by submit. groups are already folded.
     */
    void (*dispatch)(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                     uint32_t bind_count, const uint32_t groups[3]);
    void (*barrier)(hg_list *list, const hg_hazard *hazards, uint32_t count);
    void (*copy)(hg_list *list, hg_bind dst,
                 hg_bind src); /* same size; offsets and size in multiples of 4, not of 512 */
    void (*fill)(hg_list *list, hg_bind dst, uint32_t word);
    void (*transfer)(hg_list *list, hg_mem *mem,
                     const hg_handover *handover); /* may be NULL: not offered */
    /* Debug label (NULL: none) and a device timestamp into slot (UINT32_MAX: none; slots < 4096).
     */
    void (*mark)(hg_list *list, const char *label, uint32_t timestamp_slot);
    hg_result (*submit)(hg_list **list, const hg_sync *wait, uint32_t wait_count,
                        const hg_sync *signal, uint32_t signal_count, uint64_t *point);
    void (*discard)(hg_list **list);

    /* timeout 0 polls: HG_TIMEOUT is a status. HG_ERR_DEVICE_LOST once lost, for ever. */
    hg_result (*wait)(hg_dev *dev, uint64_t point, uint64_t timeout_ns);
    /* Timestamps of the submit with this point, in ns from an arbitrary origin; slots not marked
     * become 0. */
    hg_result (*times)(hg_dev *dev, uint64_t point, uint64_t *ns, uint32_t count);
    hg_result (*sync)(hg_dev *dev, const hg_sync_desc *desc,
                      hg_sync **out); /* may be NULL: not offered */
};

extern const hg_backend hg_backend_vulkan;
extern const hg_backend hg_backend_opencl;
extern const hg_backend hg_backend_reference;

#endif
