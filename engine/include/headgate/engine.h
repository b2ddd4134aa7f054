/* SPDX-License-Identifier: MIT */
/*
 * Devices, and an engine: one device, opened. Knows nothing of models.
 *
 * hg_engine: thread-safety: several threads may use one engine; calls are serialised inside.
 */
#ifndef HEADGATE_ENGINE_H
#define HEADGATE_ENGINE_H

#include <headgate/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hg_backend_kind {
    HG_BACKEND_VULKAN = 0,
    HG_BACKEND_OPENCL = 1,
    HG_BACKEND_REFERENCE = 2
} hg_backend_kind;

typedef enum hg_device_type {
    HG_DEVICE_DISCRETE = 0,
    HG_DEVICE_INTEGRATED = 1,
    HG_DEVICE_VIRTUAL = 2,
    HG_DEVICE_OTHER = 3, /* accelerators */
    HG_DEVICE_CPU = 4    /* software: a driver that runs on the processor, or the reference */
} hg_device_type;

/* How results are promised (docs/DECISIONS.md D15). */
typedef enum hg_precision {
    HG_PRECISION_FP32 = 0,  /* default: within the golden tolerances on every tier */
    HG_PRECISION_EXACT = 1, /* the same bytes on every device */
    HG_PRECISION_FAST = 2   /* opt-in: products of 11-bit numbers where T2 has matrix units; without
                               them the engine is opened with fp32 and a warning */
} hg_precision;

/* Features that matter here, as bits of hg_device_info.features. */
enum {
    HG_FEATURE_TIMELINE = 1u << 0,        /* timeline semaphores (else fences) */
    HG_FEATURE_PUSH_DESCRIPTOR = 1u << 1, /* VK_KHR_push_descriptor (else pools) */
    HG_FEATURE_FP16 = 1u << 2,            /* fp16 arithmetic */
    HG_FEATURE_STORAGE16 = 1u << 3,       /* 16-bit storage buffers */
    HG_FEATURE_RTE32 = 1u << 4,           /* round-to-nearest-even can be declared for fp32 */
    HG_FEATURE_SUBGROUP_ARITHMETIC = 1u << 5,
    HG_FEATURE_TIMESTAMPS = 1u << 6,
    HG_FEATURE_UNIFIED_MEMORY = 1u << 7, /* the host can map device-local memory */
    HG_FEATURE_COOPMAT = 1u << 8,        /* VK_KHR_cooperative_matrix */
    HG_FEATURE_BUDGET = 1u << 9,         /* the driver reports a memory budget */
    HG_FEATURE_PORTABILITY = 1u << 10,   /* a layered driver (VK_KHR_portability_subset) */
    HG_FEATURE_SUBGROUP_SIZE = 1u << 11, /* full subgroups of a width that the program asks for */
    HG_FEATURE_INT64 = 1u << 12          /* 64-bit integers in Vulkan's shaders */
};

/* Numbers that cooperative matrices are made of. */
typedef enum hg_matrix_type {
    HG_MATRIX_F16 = 1,
    HG_MATRIX_BF16 = 2,
    HG_MATRIX_F32 = 3
} hg_matrix_type;

enum { HG_MATRIX_SHAPES_MAX = 16 };

/* One product that a subgroup does at once: [m, k] times [k, n], added to sums [m, n]. */
typedef struct hg_matrix_shape {
    uint16_t m, n, k;
    uint8_t operands, sums; /* hg_matrix_type */
} hg_matrix_shape;

/* Limits that matter here; a --limits override has been applied where it is the engine's own. */
typedef struct hg_limits {
    uint32_t group_invocations; /* work-items per work-group */
    uint32_t group_size[3];
    uint32_t group_count[3]; /* work-groups per dimension of one dispatch */
    uint32_t shared_bytes;
    uint32_t push_bytes;                 /* push constants; OpenCL: bytes of kernel arguments */
    uint32_t storage_buffers;            /* per stage; OpenCL: as many as arguments allow */
    uint32_t bind_align_bytes;           /* offsets of a binding are multiples of this (<= 512) */
    uint32_t subgroup_min, subgroup_max; /* 0: no subgroups */
    uint64_t binding_bytes;              /* largest range of one binding */
    uint64_t alloc_bytes;                /* largest single allocation */
} hg_limits;

typedef struct hg_device_info {
    uint32_t struct_size;
    uint32_t index; /* place in our own stable order, what --device N means */
    hg_backend_kind backend;
    uint32_t backend_index; /* the loader's own number; ours is in selector */
    hg_device_type type;
    char selector[16]; /* "vk:0", "cl:1", "ref": what picks exactly this one */
    char name[256];
    char driver[256];                         /* "llvmpipe", "Portable Computing Language" */
    char driver_version[256];                 /* as the driver words it */
    char api_version[64];                     /* "Vulkan 1.3.230", "OpenCL 3.0" */
    char unusable[256];                       /* empty, or in words why headgate cannot run here */
    uint8_t device_uuid[16], driver_uuid[16]; /* zero when the driver has none */
    uint32_t vendor_id, device_id;
    uint32_t features;      /* HG_FEATURE_* */
    uint32_t compute_units; /* 0: not told */
    uint64_t
        memory_total_bytes; /* CPU types: the machine's memory (D21), never the driver's heap */
    uint64_t memory_free_bytes;
    hg_limits limits;
    uint32_t subgroup_size; /* the driver's own choice; 0: no subgroups, or not told */
    uint32_t matrix_count;  /* shapes that work on floats, as the driver lists them */
    hg_matrix_shape matrix[HG_MATRIX_SHAPES_MAX];
    uint32_t vector_floats; /* floats in a register, as OpenCL tells; 0: not told */
} hg_device_info;

typedef struct hg_devices_params {
    uint32_t struct_size;
    hg_log log;
} hg_devices_params;

/*
 * Every Vulkan device, every OpenCL device and the reference, in our order: discrete, integrated,
 * virtual, other, CPU, the reference last; then Vulkan before OpenCL; then name, driver, uuid.
 * Two calls: out NULL writes the number to *count; else *count is the room on entry and the number
 * written on return; out[0].struct_size is the size of the elements. A loader that is missing is
 * not an error: there are then fewer devices.
 */
HG_API hg_result hg_devices(const hg_devices_params *params, hg_device_info *out, uint32_t *count);

/*
 * A selector among devices[0..count): N | vk:N | cl:N | ref | uuid:HEX (or 8 or more hex digits) |
 * name:PART | "" or NULL for the default: the best hardware device, else the fastest software one
 * (an OpenCL CPU device before a Vulkan one before the reference).
 * HG_ERR_NO_DEVICE with the candidates in the log when nothing or more than one thing fits, or when
 * the device that fits is unusable. Pure: asks no driver. *found is an index into devices.
 */
HG_API hg_result hg_device_select(const hg_log *log, const hg_device_info *devices, uint32_t count,
                                  const char *selector, uint32_t *found);

typedef struct hg_engine hg_engine;

/* Whether ways to compute matmul and matvec (tiers, tile numbers) are measured at the model's
 * shapes before first use, within 2 s for all; the choice is kept in cache_dir by device, driver
 * and version. OFF: the table's choice. AUTO: as QUICK, but OFF on processors, where the table's
 * numbers were found. Results of precision exact do not depend on it; others stay within their
 * bounds. */
typedef enum hg_tune { HG_TUNE_AUTO = 0, HG_TUNE_OFF = 1, HG_TUNE_QUICK = 2 } hg_tune;

typedef struct hg_engine_params {
    uint32_t struct_size;
    const char *selector; /* as above; NULL: default device */
    hg_precision precision;
    /* A lesser device to pretend to be: "spec-minimum", or
     * "shared=16384,invocations=128,range=BYTES,
     * alloc=BYTES,push=128,buffers=8,subgroup=0,fp16=0,timeline=0,push-descriptor=0". NULL: none.
     */
    const char *limits;
    uint64_t memory_limit_bytes; /* 0: what the device has free */
    const char *cache_dir;       /* pipelines and programs; NULL: no cache on disk */
    uint32_t threads;            /* worker threads of the reference; 0: as many as processors */
    uint32_t validate; /* 1: Khronos validation (core and synchronization), messages to log */
    hg_log log;
    /* "T0", "T0C": kernels of this tier where the table has them for the device, else T0 (rows of
     * hg_kernel_describe). NULL: the best there is. */
    const char *tier;
    /* Before a kernel is first used on a driver it is tried on a few small shapes: within its
     * bound, under exact byte for byte and after a probe of the device's arithmetic; the answers
     * are kept in cache_dir. What fails is replaced by a lower tier, with a warning, or is
     * HG_ERR_DRIVER. 1: nothing is tried. */
    uint32_t trust;
    /* Whatever else changes what the driver does, such as variables of its compiler: answers are
     * kept for these alone. NULL: nothing. */
    const char *surroundings;
    hg_tune tune;
} hg_engine_params;

/* params NULL: all defaults. */
HG_API hg_result hg_engine_create(const hg_engine_params *params, hg_engine **out);
HG_API void hg_engine_destroy(hg_engine **engine); /* sessions and models must be gone before */

/* The device as this engine uses it (limits lowered by the override). */
HG_API hg_result hg_engine_describe(const hg_engine *engine, hg_device_info *out);
HG_API hg_precision hg_engine_precision(const hg_engine *engine);

/* Bytes allocated on the device now and at the highest. */
HG_API void hg_engine_memory(const hg_engine *engine, uint64_t *now_bytes, uint64_t *peak_bytes);

/* Messages of the validation layers so far (errors and warnings); 0 where they are off. */
HG_API uint32_t hg_engine_validation_messages(const hg_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
