/* SPDX-License-Identifier: MIT */
/*
 * Asks a physical device everything once. Structs of later versions and of extensions are chained
 * only where the device has them, so a driver never sees one that it does not know. Concludes
 * nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"

static const struct {
    const char *name;
    uint32_t bit;
} extension_rows[] = {
    {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, HG_VK_HAS_PUSH_DESCRIPTOR},
    {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, HG_VK_HAS_TIMELINE},
    {VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, HG_VK_HAS_FLOAT_CONTROLS},
    {VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, HG_VK_HAS_FLOAT16},
    {VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, HG_VK_HAS_MEMORY_MODEL},
    {"VK_KHR_cooperative_matrix", HG_VK_HAS_COOPMAT},
    {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, HG_VK_HAS_BUDGET},
    {"VK_KHR_portability_subset", HG_VK_HAS_PORTABILITY},
    {VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, HG_VK_HAS_DRIVER_PROPERTIES},
    {VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, HG_VK_HAS_SUBGROUP_SIZE},
    {VK_KHR_MAINTENANCE_4_EXTENSION_NAME, HG_VK_HAS_MAINTENANCE4},
    {VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, HG_VK_HAS_NV_SM},
    {VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME, HG_VK_HAS_AMD_CORES},
    {"VK_KHR_shader_bfloat16", HG_VK_HAS_BFLOAT16},
};

/* Puts a struct in front of a pNext chain. */
static void chain(void **head, void *structure)
{
    ((VkBaseOutStructure *)structure)->pNext = *head;
    *head = structure;
}

static VkResult read_extensions(const hg_vk_instance *instance, VkPhysicalDevice physical,
                                uint32_t *bits)
{
    VkExtensionProperties *list = NULL;
    uint32_t count = 0;
    VkResult result;

    *bits = 0;
    do {
        free(list);
        list = NULL;
        result = instance->fn.vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
        if (result != VK_SUCCESS || count == 0)
            return result;
        list = calloc(count, sizeof(*list));
        if (!list)
            return HG_VK_OWN_MEMORY;
        result = instance->fn.vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list);
    } while (result == VK_INCOMPLETE);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        for (size_t k = 0; k < sizeof(extension_rows) / sizeof(extension_rows[0]); k++)
            if (strcmp(list[i].extensionName, extension_rows[k].name) == 0)
                *bits |= extension_rows[k].bit;
    free(list);
    return result;
}

static void read_properties(const hg_vk_instance *instance, VkPhysicalDevice physical,
                            hg_vk_facts *facts)
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties m3 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceMaintenance4Properties m4 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties size = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDevicePushDescriptorPropertiesKHR push = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceShaderCoreProperties2AMD cores = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    int core12 = facts->version >= VK_API_VERSION_1_2,
        core13 = facts->version >= VK_API_VERSION_1_3;

    chain(&all.pNext, &id);
    chain(&all.pNext, &m3);
    chain(&all.pNext, &subgroup);
    if (core13 || facts->extensions & HG_VK_HAS_MAINTENANCE4)
        chain(&all.pNext, &m4);
    if (core13 || facts->extensions & HG_VK_HAS_SUBGROUP_SIZE)
        chain(&all.pNext, &size);
    if (core12 || facts->extensions & HG_VK_HAS_DRIVER_PROPERTIES)
        chain(&all.pNext, &driver);
    if (core12 || facts->extensions & HG_VK_HAS_FLOAT_CONTROLS)
        chain(&all.pNext, &floats);
    if (facts->extensions & HG_VK_HAS_PUSH_DESCRIPTOR)
        chain(&all.pNext, &push);
    if (facts->extensions & HG_VK_HAS_NV_SM)
        chain(&all.pNext, &sm);
    if (facts->extensions & HG_VK_HAS_AMD_CORES)
        chain(&all.pNext, &cores);
    instance->fn.vkGetPhysicalDeviceProperties2(physical, &all);

    memcpy(facts->device_uuid, id.deviceUUID, VK_UUID_SIZE);
    memcpy(facts->driver_uuid, id.driverUUID, VK_UUID_SIZE);
    facts->allocation_bytes = m3.maxMemoryAllocationSize;
    facts->buffer_bytes = m4.maxBufferSize;
    facts->subgroup_size = subgroup.subgroupSize;
    facts->subgroup_stages = subgroup.supportedStages;
    facts->subgroup_operations = subgroup.supportedOperations;
    facts->subgroup_min = size.minSubgroupSize ? size.minSubgroupSize : subgroup.subgroupSize;
    facts->subgroup_max = size.maxSubgroupSize ? size.maxSubgroupSize : subgroup.subgroupSize;
    if (size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT)
        facts->subgroup_control = 1; /* and the features, below */
    facts->rte32 = floats.shaderRoundingModeRTEFloat32 == VK_TRUE;
    facts->push_descriptors = push.maxPushDescriptors;
    facts->compute_units = sm.shaderSMCount ? sm.shaderSMCount : cores.activeComputeUnitCount;
    snprintf(facts->driver, sizeof(facts->driver), "%s", driver.driverName);
    snprintf(facts->driver_info, sizeof(facts->driver_info), "%s", driver.driverInfo);
}

static void read_features(const hg_vk_instance *instance, VkPhysicalDevice physical,
                          hg_vk_facts *facts)
{
    VkPhysicalDevice16BitStorageFeatures storage16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceShaderFloat16Int8Features float16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceVulkanMemoryModelFeatures model = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures size = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    hg_vk_coopmat_features coopmat = {.sType = (VkStructureType)HG_VK_COOPMAT_FEATURES};
    hg_vk_bfloat16_features bfloat16 = {.sType = (VkStructureType)HG_VK_BFLOAT16_FEATURES};
    VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    int core12 = facts->version >= VK_API_VERSION_1_2;

    chain(&all.pNext, &storage16);
    if (core12 || facts->extensions & HG_VK_HAS_TIMELINE)
        chain(&all.pNext, &timeline);
    if (core12 || facts->extensions & HG_VK_HAS_FLOAT16)
        chain(&all.pNext, &float16);
    if (core12 || facts->extensions & HG_VK_HAS_MEMORY_MODEL)
        chain(&all.pNext, &model);
    if (facts->extensions & HG_VK_HAS_COOPMAT)
        chain(&all.pNext, &coopmat);
    if (facts->extensions & HG_VK_HAS_BFLOAT16)
        chain(&all.pNext, &bfloat16);
    if (facts->version >= VK_API_VERSION_1_3 || facts->extensions & HG_VK_HAS_SUBGROUP_SIZE)
        chain(&all.pNext, &size);
    instance->fn.vkGetPhysicalDeviceFeatures2(physical, &all);

    facts->storage16 = storage16.storageBuffer16BitAccess == VK_TRUE;
    facts->timeline = timeline.timelineSemaphore == VK_TRUE;
    facts->int64 = all.features.shaderInt64 == VK_TRUE;
    facts->float16 = float16.shaderFloat16 == VK_TRUE;
    facts->memory_model = model.vulkanMemoryModel == VK_TRUE;
    facts->coopmat = coopmat.cooperativeMatrix == VK_TRUE;
    facts->bfloat16 = bfloat16.coopmat == VK_TRUE;
    facts->subgroup_control = facts->subgroup_control && size.subgroupSizeControl == VK_TRUE &&
                              size.computeFullSubgroups == VK_TRUE;
}

/* 0: none that matters here. */
static uint8_t matrix_type(int component)
{
    switch (component) {
    case HG_VK_COMPONENT_F16:
        return HG_MATRIX_F16;
    case HG_VK_COMPONENT_BF16:
        return HG_MATRIX_BF16;
    case HG_VK_COMPONENT_F32:
        return HG_MATRIX_F32;
    default:
        return 0;
    }
}

/* Of a subgroup, on floats, both operands of one type. */
static void keep_shape(hg_vk_facts *facts, const hg_vk_coopmat_shape *shape)
{
    const uint8_t operands = matrix_type(shape->a), sums = matrix_type(shape->c);

    if (shape->scope != HG_VK_SCOPE_SUBGROUP || shape->a != shape->b || shape->c != shape->result ||
        !operands || !sums || shape->m > UINT16_MAX || shape->n > UINT16_MAX ||
        shape->k > UINT16_MAX || facts->matrix_count == HG_MATRIX_SHAPES_MAX)
        return;
    if (operands == HG_MATRIX_BF16 && !facts->bfloat16)
        return;
    facts->matrix[facts->matrix_count++] = (hg_matrix_shape){(uint16_t)shape->m, (uint16_t)shape->n,
                                                             (uint16_t)shape->k, operands, sums};
}

/* The function is asked for here and not in vk_functions.def, whose types come from the headers. A
 * driver that does not answer has no shapes. */
static hg_result read_shapes(const hg_vk_instance *instance, VkPhysicalDevice physical,
                             hg_vk_facts *facts)
{
    const hg_vk_coopmat_shapes ask = (hg_vk_coopmat_shapes)instance->get(
        instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    hg_vk_coopmat_properties properties = {.sType = (VkStructureType)HG_VK_COOPMAT_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &properties};
    hg_vk_coopmat_shape *list;
    uint32_t count = 0;

    if (!facts->coopmat || !ask)
        return HG_OK;
    instance->fn.vkGetPhysicalDeviceProperties2(physical, &all);
    if (!(properties.stages & VK_SHADER_STAGE_COMPUTE_BIT) ||
        ask(physical, &count, NULL) != VK_SUCCESS || count == 0)
        return HG_OK;
    list = calloc(count, sizeof(*list));
    if (!list)
        return HG_ERR_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        list[i].sType = (VkStructureType)HG_VK_COOPMAT_SHAPE;
    if (ask(physical, &count, list) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            keep_shape(facts, &list[i]);
    free(list);
    return HG_OK;
}

static void read_memory(const hg_vk_instance *instance, VkPhysicalDevice physical,
                        hg_vk_facts *facts)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};

    if (facts->extensions & HG_VK_HAS_BUDGET)
        chain(&all.pNext, &budget);
    instance->fn.vkGetPhysicalDeviceMemoryProperties2(physical, &all);
    facts->memory = all.memoryProperties;
    for (uint32_t i = 0; i < VK_MAX_MEMORY_HEAPS; i++)
        facts->heap_free_bytes[i] = budget.heapBudget[i] > budget.heapUsage[i]
                                        ? budget.heapBudget[i] - budget.heapUsage[i]
                                        : 0;
}

/* Memory of the machine in bytes, 0 where the system does not tell it this way. */
static void read_machine(uint64_t *total_bytes, uint64_t *free_bytes)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[160];

    *total_bytes = *free_bytes = 0;
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "MemTotal:", 9) == 0)
            *total_bytes = strtoull(line + 9, NULL, 10) * 1024;
        else if (strncmp(line, "MemAvailable:", 13) == 0)
            *free_bytes = strtoull(line + 13, NULL, 10) * 1024;
    }
    fclose(file);
}

hg_result hg_vk_facts_read(const hg_vk_instance *instance, VkPhysicalDevice physical,
                           hg_vk_facts *out)
{
    VkResult result;

    *out = (hg_vk_facts){0};
    instance->fn.vkGetPhysicalDeviceProperties(physical, &out->properties);
    out->version = out->properties.apiVersion < instance->version ? out->properties.apiVersion
                                                                  : instance->version;
    out->family_count = HG_VK_FAMILIES_MAX;
    instance->fn.vkGetPhysicalDeviceQueueFamilyProperties(physical, &out->family_count,
                                                          out->family);
    /* The questions below are Vulkan 1.1; an older device is listed as unusable without them. */
    if (out->version < VK_API_VERSION_1_1)
        return HG_OK;
    result = read_extensions(instance, physical, &out->extensions);
    if (result == HG_VK_OWN_MEMORY)
        return HG_ERR_HOST_MEMORY;
    if (result != VK_SUCCESS) /* whatever it is, this device does not answer */
        return HG_ERR_NO_DEVICE;
    read_properties(instance, physical, out);
    read_features(instance, physical, out);
    read_memory(instance, physical, out);
    if (read_shapes(instance, physical, out) != HG_OK)
        return HG_ERR_HOST_MEMORY;
    if (out->properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        read_machine(&out->machine_total_bytes, &out->machine_free_bytes);
    return HG_OK;
}
