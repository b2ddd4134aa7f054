/* SPDX-License-Identifier: MIT */
/*
 * Conclusions from facts: the snapshot that the engine plans with, what opening will ask for, which
 * memory a kind of buffer lives in. Pure functions: no driver is asked here.
 */
#include <stdio.h>
#include <string.h>

#include "vk_facts.h"

/* What the project needs to run at all (D20); every one is a minimum that Vulkan 1.1 grants or
 * nearly so. */
enum {
    NEED_STORAGE_BUFFERS = 8,
    NEED_INVOCATIONS = 128,
    NEED_SHARED_BYTES = 16384,
    NEED_PUSH_BYTES = 128,
    NEED_BINDING_BYTES = 128 << 20
};

/* What Vulkan grants where a driver reports 0 ("not told"). */
#define GRANTED_ALLOCATION_BYTES (UINT64_C(1) << 30)

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint64_t hg_vk_facts_alloc_bytes(const hg_vk_facts *facts)
{
    uint64_t bytes = facts->allocation_bytes ? facts->allocation_bytes : GRANTED_ALLOCATION_BYTES;

    if (facts->buffer_bytes && facts->buffer_bytes < bytes)
        bytes = facts->buffer_bytes;
    return bytes & ~UINT64_C(255);
}

static uint32_t largest_heap(const VkPhysicalDeviceMemoryProperties *memory)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < memory->memoryHeapCount; i++)
        if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            (best == UINT32_MAX || memory->memoryHeaps[i].size > memory->memoryHeaps[best].size))
            best = i;
    return best;
}

void hg_vk_facts_memory(const hg_vk_facts *facts, uint64_t *free_bytes, uint64_t *total_bytes)
{
    uint32_t heap = largest_heap(&facts->memory);

    *free_bytes = *total_bytes = 0;
    if (facts->machine_total_bytes) {
        *total_bytes = facts->machine_total_bytes;
        *free_bytes = facts->machine_free_bytes;
    } else if (heap != UINT32_MAX) {
        *total_bytes = facts->memory.memoryHeaps[heap].size;
        *free_bytes =
            facts->extensions & HG_VK_HAS_BUDGET ? facts->heap_free_bytes[heap] : *total_bytes;
    }
}

/* A family without graphics does not queue behind a display; UINT32_MAX: nothing computes. */
static uint32_t pick_family(const hg_vk_facts *facts)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < facts->family_count; i++) {
        VkQueueFlags flags = facts->family[i].queueFlags;

        if (!(flags & VK_QUEUE_COMPUTE_BIT) || facts->family[i].queueCount == 0)
            continue;
        if (!(flags & VK_QUEUE_GRAPHICS_BIT))
            return i;
        if (best == UINT32_MAX)
            best = i;
    }
    return best;
}

/* The host can map the memory that weights would lie in anyway: software, integrated, resizable
 * BAR. */
static int has_unified_memory(const VkPhysicalDeviceMemoryProperties *memory)
{
    const VkMemoryPropertyFlags both =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    uint32_t heap = largest_heap(memory);

    for (uint32_t i = 0; i < memory->memoryTypeCount && heap != UINT32_MAX; i++)
        if ((memory->memoryTypes[i].propertyFlags & both) == both &&
            memory->memoryHeaps[memory->memoryTypes[i].heapIndex].size ==
                memory->memoryHeaps[heap].size)
            return 1;
    return 0;
}

static uint32_t find_features(const hg_vk_facts *facts)
{
    uint32_t features = 0, family = pick_family(facts);

    if (facts->timeline)
        features |= HG_FEATURE_TIMELINE;
    if (facts->extensions & HG_VK_HAS_PUSH_DESCRIPTOR && facts->push_descriptors >= HG_BINDS_MAX)
        features |= HG_FEATURE_PUSH_DESCRIPTOR;
    if (facts->float16)
        features |= HG_FEATURE_FP16;
    if (facts->storage16)
        features |= HG_FEATURE_STORAGE16;
    if (facts->int64)
        features |= HG_FEATURE_INT64;
    if (facts->rte32)
        features |= HG_FEATURE_RTE32;
    if (facts->subgroup_size > 1 && facts->subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT &&
        facts->subgroup_operations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)
        features |= HG_FEATURE_SUBGROUP_ARITHMETIC;
    if (family != UINT32_MAX && facts->family[family].timestampValidBits > 0 &&
        facts->properties.limits.timestampPeriod > 0.0f)
        features |= HG_FEATURE_TIMESTAMPS;
    if (has_unified_memory(&facts->memory))
        features |= HG_FEATURE_UNIFIED_MEMORY;
    if (facts->coopmat && facts->memory_model)
        features |= HG_FEATURE_COOPMAT;
    if (facts->subgroup_control && facts->subgroup_size > 1)
        features |= HG_FEATURE_SUBGROUP_SIZE;
    if (facts->extensions & HG_VK_HAS_BUDGET)
        features |= HG_FEATURE_BUDGET;
    if (facts->extensions & HG_VK_HAS_PORTABILITY)
        features |= HG_FEATURE_PORTABILITY;
    return features;
}

static void fill_limits(const hg_vk_facts *facts, hg_limits *out)
{
    const VkPhysicalDeviceLimits *limits = &facts->properties.limits;

    out->group_invocations = limits->maxComputeWorkGroupInvocations;
    for (int i = 0; i < 3; i++) {
        out->group_size[i] = limits->maxComputeWorkGroupSize[i];
        out->group_count[i] = limits->maxComputeWorkGroupCount[i];
    }
    out->shared_bytes = limits->maxComputeSharedMemorySize;
    out->push_bytes = limits->maxPushConstantsSize;
    out->storage_buffers =
        min_u32(limits->maxPerStageDescriptorStorageBuffers,
                min_u32(limits->maxDescriptorSetStorageBuffers, limits->maxPerStageResources));
    out->bind_align_bytes = (uint32_t)limits->minStorageBufferOffsetAlignment;
    out->subgroup_min = facts->subgroup_min;
    out->subgroup_max = facts->subgroup_max;
    out->binding_bytes = limits->maxStorageBufferRange;
    out->alloc_bytes = hg_vk_facts_alloc_bytes(facts);
}

/* The first thing that is missing, in words; nothing written when nothing is. */
static void say_unusable(const hg_vk_facts *facts, const hg_limits *limits, char *out, size_t size)
{
    const struct {
        const char *what;
        uint64_t need, found;
    } rows[] = {
        {"storage buffers per shader stage", NEED_STORAGE_BUFFERS, limits->storage_buffers},
        {"invocations per work-group", NEED_INVOCATIONS, limits->group_invocations},
        {"invocations along x of a work-group", NEED_INVOCATIONS, limits->group_size[0]},
        {"bytes of shared memory", NEED_SHARED_BYTES, limits->shared_bytes},
        {"bytes of push constants", NEED_PUSH_BYTES, limits->push_bytes},
        {"bytes in one buffer binding", NEED_BINDING_BYTES, limits->binding_bytes},
    };

    if (facts->version < VK_API_VERSION_1_1) {
        snprintf(out, size, "needs Vulkan 1.1; the driver offers %u.%u",
                 VK_API_VERSION_MAJOR(facts->properties.apiVersion),
                 VK_API_VERSION_MINOR(facts->properties.apiVersion));
        return;
    }
    if (pick_family(facts) == UINT32_MAX) {
        snprintf(out, size, "needs a queue that computes; the driver offers none");
        return;
    }
    if (limits->bind_align_bytes > 256) {
        snprintf(out, size, "needs bindings aligned to 256 bytes at most; the driver wants %u",
                 limits->bind_align_bytes);
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].found < rows[i].need) {
            snprintf(out, size, "needs %llu %s; the driver offers %llu",
                     (unsigned long long)rows[i].need, rows[i].what,
                     (unsigned long long)rows[i].found);
            return;
        }
}

static hg_device_type map_type(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return HG_DEVICE_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return HG_DEVICE_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return HG_DEVICE_VIRTUAL;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return HG_DEVICE_CPU;
    default:
        return HG_DEVICE_OTHER;
    }
}

/* driverInfo where there is one ("Mesa 22.3.6 (LLVM 15.0.6)"), else the number as its vendor packs
 * it. */
static void say_driver_version(const hg_vk_facts *facts, char *out, size_t size)
{
    uint32_t v = facts->properties.driverVersion;

    if (facts->driver_info[0])
        snprintf(out, size, "%s", facts->driver_info);
    else if (facts->properties.vendorID == 0x10de)
        snprintf(out, size, "%u.%u.%u", v >> 22, (v >> 14) & 0xff, (v >> 6) & 0xff);
    else
        snprintf(out, size, "%u.%u.%u", VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v),
                 VK_API_VERSION_PATCH(v));
}

void hg_vk_snapshot_make(const hg_vk_facts *facts, hg_snapshot *out)
{
    const VkPhysicalDeviceProperties *properties = &facts->properties;

    *out = (hg_snapshot){0};
    out->struct_size = sizeof(*out);
    out->backend = HG_BACKEND_VULKAN;
    out->type = map_type(properties->deviceType);
    snprintf(out->name, sizeof(out->name), "%s", properties->deviceName);
    snprintf(out->driver, sizeof(out->driver), "%s", facts->driver);
    say_driver_version(facts, out->driver_version, sizeof(out->driver_version));
    snprintf(out->api_version, sizeof(out->api_version), "Vulkan %u.%u.%u",
             VK_API_VERSION_MAJOR(properties->apiVersion),
             VK_API_VERSION_MINOR(properties->apiVersion),
             VK_API_VERSION_PATCH(properties->apiVersion));
    memcpy(out->device_uuid, facts->device_uuid, sizeof(out->device_uuid));
    memcpy(out->driver_uuid, facts->driver_uuid, sizeof(out->driver_uuid));
    out->vendor_id = properties->vendorID;
    out->device_id = properties->deviceID;
    out->compute_units = facts->compute_units;
    out->features = find_features(facts);
    hg_vk_facts_memory(facts, &out->memory_free_bytes, &out->memory_total_bytes);
    fill_limits(facts, &out->limits);
    out->subgroup_size = facts->subgroup_size;
    out->matrix_count = facts->matrix_count;
    memcpy(out->matrix, facts->matrix, sizeof(out->matrix));
    say_unusable(facts, &out->limits, out->unusable, sizeof(out->unusable));
}

void hg_vk_choice_make(const hg_vk_facts *facts, uint32_t wanted, hg_vk_choice *out)
{
    /* Enabled when the feature is in use and the version of the device does not include it. */
    static const struct {
        const char *name;
        uint32_t feature, core_version;
    } rows[] = {
        {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, HG_FEATURE_PUSH_DESCRIPTOR, UINT32_MAX},
        {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, HG_FEATURE_TIMELINE, VK_API_VERSION_1_2},
        {VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, HG_FEATURE_RTE32, VK_API_VERSION_1_2},
        {VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, HG_FEATURE_FP16, VK_API_VERSION_1_2},
        {VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, HG_FEATURE_COOPMAT, VK_API_VERSION_1_2},
        {"VK_KHR_cooperative_matrix", HG_FEATURE_COOPMAT, UINT32_MAX},
        {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, HG_FEATURE_SUBGROUP_SIZE, VK_API_VERSION_1_3},
        {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, HG_FEATURE_BUDGET, UINT32_MAX},
    };

    *out = (hg_vk_choice){0};
    out->features = find_features(facts) & wanted;
    out->queue_family = pick_family(facts);
    if (out->features & HG_FEATURE_TIMESTAMPS)
        out->timestamp_bits = facts->family[out->queue_family].timestampValidBits;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (out->features & rows[i].feature && facts->version < rows[i].core_version)
            out->enabled[out->enabled_count++] = rows[i].name;
    /* Not a choice: a device that has it must have it enabled. */
    if (facts->extensions & HG_VK_HAS_PORTABILITY)
        out->enabled[out->enabled_count++] = "VK_KHR_portability_subset";
}

/* Higher is better; 0: not for this kind. */
static uint32_t rate_type(VkMemoryPropertyFlags flags, hg_mem_kind kind, uint32_t unified)
{
    const VkMemoryPropertyFlags known =
        VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
        VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    uint32_t local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    uint32_t visible = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
    uint32_t coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    uint32_t cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    uint32_t mapped_as_wanted = visible == (unified != 0);

    if (flags & ~known) /* protected, lazily allocated, uncached by vendor extension */
        return 0;
    switch (kind) {
    case HG_MEM_WEIGHT:
        /* Never memory of the other side of a bus: that would be slow in silence. */
        return local ? 1 + 4 * mapped_as_wanted + coherent : 0;
    case HG_MEM_SCRATCH:
    case HG_MEM_KV:
        return local ? 2 - visible : 0;
    case HG_MEM_UPLOAD:
        return visible ? 4 + 4 * coherent - 2 * local - cached : 0;
    case HG_MEM_READBACK:
        return visible ? 2 + 4 * cached + 2 * coherent - local : 0;
    }
    return 0;
}

void hg_vk_memory_order_make(const VkPhysicalDeviceMemoryProperties *memory, hg_mem_kind kind,
                             uint32_t unified, uint32_t allowed, hg_vk_memory_order *out)
{
    uint32_t rate[VK_MAX_MEMORY_TYPES];

    out->count = 0;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        uint32_t rated =
            allowed >> i & 1 ? rate_type(memory->memoryTypes[i].propertyFlags, kind, unified) : 0;
        uint32_t at = out->count;

        if (rated == 0)
            continue;
        /* Insertion keeps the driver's own order, which is its preference, among equals. */
        for (; at > 0 && rate[at - 1] < rated; at--) {
            rate[at] = rate[at - 1];
            out->type[at] = out->type[at - 1];
        }
        rate[at] = rated;
        out->type[at] = i;
        out->count++;
    }
}
