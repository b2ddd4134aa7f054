/* SPDX-License-Identifier: MIT */
/*
 * All that is known about a physical device, as data (vk_facts.c asks the driver once), and what is
 * concluded from it (vk_choice.c: pure, so tests feed it devices made out of thin air). Opening our
 * own device, and one day a foreign one, goes through the same conclusions.
 */
#ifndef HG_VULKAN_VK_FACTS_H
#define HG_VULKAN_VK_FACTS_H

#include "backend.h"

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

enum { HG_VK_FAMILIES_MAX = 16, HG_VK_ENABLED_MAX = 16 };

/* Device extensions that matter, as bits of hg_vk_facts.extensions. */
enum {
    HG_VK_HAS_PUSH_DESCRIPTOR = 1u << 0,
    HG_VK_HAS_TIMELINE = 1u << 1,
    HG_VK_HAS_FLOAT_CONTROLS = 1u << 2,
    HG_VK_HAS_FLOAT16 = 1u << 3,
    HG_VK_HAS_MEMORY_MODEL = 1u << 4,
    HG_VK_HAS_COOPMAT = 1u << 5,
    HG_VK_HAS_BUDGET = 1u << 6,
    HG_VK_HAS_PORTABILITY = 1u << 7,
    HG_VK_HAS_DRIVER_PROPERTIES = 1u << 8,
    HG_VK_HAS_SUBGROUP_SIZE = 1u << 9,
    HG_VK_HAS_MAINTENANCE4 = 1u << 10,
    HG_VK_HAS_NV_SM = 1u << 11,
    HG_VK_HAS_AMD_CORES = 1u << 12,
    HG_VK_HAS_BFLOAT16 = 1u << 13
};

typedef struct hg_vk_facts {
    uint32_t version; /* of the device, never above what the instance was made for */
    uint32_t extensions;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t heap_free_bytes[VK_MAX_MEMORY_HEAPS]; /* only with HG_VK_HAS_BUDGET */
    VkQueueFamilyProperties family[HG_VK_FAMILIES_MAX];
    uint32_t family_count;
    uint32_t timeline, storage16, float16, int64, coopmat, memory_model; /* features: 1 or 0 */
    uint32_t subgroup_control; /* 1: full subgroups of a given width, in compute shaders */
    uint32_t bfloat16;         /* 1: matrices of it */
    uint32_t matrix_count;
    hg_matrix_shape matrix[HG_MATRIX_SHAPES_MAX];
    uint32_t rte32;
    uint32_t subgroup_size, subgroup_min, subgroup_max;
    VkSubgroupFeatureFlags subgroup_operations;
    VkShaderStageFlags subgroup_stages;
    uint32_t push_descriptors;
    uint32_t compute_units;
    uint64_t allocation_bytes, buffer_bytes; /* largest; 0: not told */
    uint64_t machine_total_bytes, machine_free_bytes;
    char driver[VK_MAX_DRIVER_NAME_SIZE], driver_info[VK_MAX_DRIVER_INFO_SIZE];
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE];
} hg_vk_facts;

/* What opening the device will ask for. */
typedef struct hg_vk_choice {
    uint32_t features; /* HG_FEATURE_* in use */
    uint32_t queue_family;
    uint32_t timestamp_bits;                /* of that family; 0: no timestamps in use */
    const char *enabled[HG_VK_ENABLED_MAX]; /* extensions */
    uint32_t enabled_count;
} hg_vk_choice;

/* Memory types in the order of preference for a kind of buffer. */
typedef struct hg_vk_memory_order {
    uint32_t type[VK_MAX_MEMORY_TYPES];
    uint32_t count;
} hg_vk_memory_order;

/* Largest buffer that can be made and backed, a multiple of 256. */
uint64_t hg_vk_facts_alloc_bytes(const hg_vk_facts *facts);

/* Bytes of the largest device-local heap, and free ones (total where the driver does not tell);
 * those of the machine for CPU types (D21). */
void hg_vk_facts_memory(const hg_vk_facts *facts, uint64_t *free_bytes, uint64_t *total_bytes);

/* Fills all but index, backend_index and selector. */
void hg_vk_snapshot_make(const hg_vk_facts *facts, hg_snapshot *out);

/* wanted: HG_FEATURE_* of the plan. The device must be usable. */
void hg_vk_choice_make(const hg_vk_facts *facts, uint32_t wanted, hg_vk_choice *out);

/* allowed: memoryTypeBits of the buffer. unified: weights may be mapped where they lie. */
void hg_vk_memory_order_make(const VkPhysicalDeviceMemoryProperties *memory, hg_mem_kind kind,
                             uint32_t unified, uint32_t allowed, hg_vk_memory_order *out);

#endif
