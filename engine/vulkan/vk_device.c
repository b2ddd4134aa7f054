/* SPDX-License-Identifier: MIT */
/*
 * Opens a device: finds the one of the plan again, concludes what to ask for (vk_choice.c), asks
 * for it. Closes it. And the table that is the seam. Buffers, pipelines and lists have their own
 * files.
 */
#include <stdlib.h>
#include <string.h>

#include "vk.h"

static void chain(const void **head, void *structure)
{
    ((VkBaseInStructure *)structure)->pNext = *head;
    *head = structure;
}

static VkResult create_handle(hg_vk_dev *dev)
{
    VkPhysicalDevice16BitStorageFeatures storage16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
        .storageBuffer16BitAccess = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceShaderFloat16Int8Features float16 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        .shaderFloat16 = VK_TRUE};
    VkPhysicalDeviceVulkanMemoryModelFeatures model = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
        .vulkanMemoryModel = VK_TRUE};
    hg_vk_coopmat_features coopmat = {.sType = (VkStructureType)HG_VK_COOPMAT_FEATURES,
                                      .cooperativeMatrix = VK_TRUE};
    VkPhysicalDeviceFeatures core = {.shaderInt64 = (dev->choice.features & HG_FEATURE_INT64) != 0};
    VkPhysicalDeviceSubgroupSizeControlFeatures size = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        .subgroupSizeControl = VK_TRUE,
        .computeFullSubgroups = VK_TRUE};
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = dev->choice.queue_family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = dev->choice.enabled_count,
        .ppEnabledExtensionNames = dev->choice.enabled,
        .pEnabledFeatures = &core,
    };
    VkResult result;

    if (dev->choice.features & HG_FEATURE_STORAGE16)
        chain(&info.pNext, &storage16);
    if (dev->choice.features & HG_FEATURE_TIMELINE)
        chain(&info.pNext, &timeline);
    if (dev->choice.features & HG_FEATURE_FP16)
        chain(&info.pNext, &float16);
    if (dev->choice.features & HG_FEATURE_SUBGROUP_SIZE)
        chain(&info.pNext, &size);
    if (dev->choice.features & HG_FEATURE_COOPMAT) {
        chain(&info.pNext, &model);
        chain(&info.pNext, &coopmat);
    }
    result = dev->instance->fn.vkCreateDevice(dev->physical, &info, NULL, &dev->handle);
    if (result != VK_SUCCESS)
        dev->handle = VK_NULL_HANDLE;
    return result;
}

/* The plan names the device by its place in the loader's list; drivers may have come or gone since.
 */
static hg_result find_physical(hg_vk_dev *dev)
{
    const hg_snapshot *wanted = &dev->base.plan.device;
    VkPhysicalDevice *list = NULL;
    hg_snapshot found = {0};
    uint32_t count = 0;
    hg_result res = hg_vk_physical_list(dev->instance, HG_LOG_ERROR, &list, &count);

    if (res != HG_OK)
        return res;
    if (wanted->backend_index >= count) {
        res = hg_fail(&dev->base.plan.log, HG_ERR_NO_DEVICE,
                      "%s: expected as Vulkan device %u, but only %u are there now; list again",
                      wanted->name, wanted->backend_index, count);
        goto out;
    }
    dev->physical = list[wanted->backend_index];
    res = hg_vk_facts_read(dev->instance, dev->physical, &dev->facts);
    if (res != HG_OK) {
        hg_fail(&dev->base.plan.log, res, "%s: the driver does not describe the device",
                wanted->name);
        goto out;
    }
    hg_vk_snapshot_make(&dev->facts, &found);
    if (strcmp(found.name, wanted->name) != 0 ||
        memcmp(found.device_uuid, wanted->device_uuid, sizeof(found.device_uuid)) != 0 ||
        memcmp(found.driver_uuid, wanted->driver_uuid, sizeof(found.driver_uuid)) != 0)
        res = hg_fail(&dev->base.plan.log, HG_ERR_NO_DEVICE,
                      "%s: expected as Vulkan device %u, but found %s there; list again",
                      wanted->name, wanted->backend_index, found.name);
    else if (found.unusable[0])
        res =
            hg_fail(&dev->base.plan.log, HG_ERR_UNSUPPORTED, "%s: %s", found.name, found.unusable);
out:
    free(list);
    return res;
}

static hg_result create_timeline(hg_vk_dev *dev)
{
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkResult result;

    if (!(dev->choice.features & HG_FEATURE_TIMELINE))
        return HG_OK;
    result = dev->fn.vkCreateSemaphore(dev->handle, &info, NULL, &dev->timeline);
    if (result != VK_SUCCESS)
        dev->timeline = VK_NULL_HANDLE;
    return hg_vk_fail(dev, result, "vkCreateSemaphore");
}

static void close_device(hg_dev **handle)
{
    hg_vk_dev *dev = (hg_vk_dev *)*handle;

    *handle = NULL;
    if (!dev)
        return;
    /* The queue is fetched once every function is there: without it nothing else was made. */
    if (dev->handle && dev->queue) {
        hg_vk_submit_close(dev);
        hg_vk_cache_close(dev);
        hg_vk_pipeline_close(dev);
        hg_vk_memory_close(dev);
        if (dev->timeline)
            dev->fn.vkDestroySemaphore(dev->handle, dev->timeline, NULL);
    }
    if (dev->handle && dev->fn.vkDestroyDevice)
        dev->fn.vkDestroyDevice(dev->handle, NULL);
    hg_vk_instance_destroy(&dev->instance);
    pthread_mutex_destroy(&dev->lock);
    pthread_mutex_destroy(&dev->pipe_lock);
    free(dev);
}

hg_result hg_vk_open(const hg_plan *plan, PFN_vkGetInstanceProcAddr get, hg_dev **out)
{
    hg_vk_dev *dev = calloc(1, sizeof(*dev));
    hg_dev *base = (hg_dev *)dev;
    hg_vk_instance_desc desc = {
        .get = get, .log = plan->log, .severity = HG_LOG_ERROR, .validate = plan->validate};
    hg_result res = HG_OK;

    *out = NULL;
    if (!dev)
        return hg_fail(&plan->log, HG_ERR_HOST_MEMORY, "%s: out of memory", plan->device.name);
    pthread_mutex_init(&dev->lock, NULL);
    pthread_mutex_init(&dev->pipe_lock, NULL);
    atomic_init(&dev->lost, 0);
    dev->base.backend = &hg_backend_vulkan;
    dev->base.plan = *plan;
    desc.message_count = &dev->base.validation_messages;
    HG_TRY(hg_vk_instance_create(&desc, &dev->instance));
    HG_TRY(find_physical(dev));
    hg_vk_choice_make(&dev->facts, plan->features, &dev->choice);
    HG_TRY(hg_vk_fail(dev, create_handle(dev), "vkCreateDevice"));
    HG_TRY(hg_vk_device_load(dev));
    dev->fn.vkGetDeviceQueue(dev->handle, dev->choice.queue_family, 0, &dev->queue);
    HG_TRY(create_timeline(dev));
    HG_TRY(hg_vk_cache_open(dev));
out:
    if (res != HG_OK)
        close_device(&base);
    *out = base;
    return res;
}

static hg_result open_device(const hg_plan *plan, const void *import, hg_dev **out)
{
    *out = NULL;
    if (import)
        return hg_fail(&plan->log, HG_ERR_UNSUPPORTED,
                       "%s: running on a VkDevice of the caller is not offered by this version; "
                       "open the engine without an import",
                       plan->device.name);
    return hg_vk_open(plan, NULL, out);
}

static hg_result enumerate(const hg_log *log, hg_snapshot *out, uint32_t *count)
{
    return hg_vk_enumerate(log, NULL, out, count);
}

static hg_result budget(hg_dev *base, uint64_t *free_bytes, uint64_t *total_bytes)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    hg_vk_facts now;
    hg_result res;

    *free_bytes = *total_bytes = 0;
    res = hg_vk_facts_read(dev->instance, dev->physical, &now);
    if (res != HG_OK)
        return hg_fail(&base->plan.log, res, "%s: the driver does not tell its memory",
                       base->plan.device.name);
    hg_vk_facts_memory(&now, free_bytes, total_bytes);
    if (!now.machine_total_bytes && !(now.extensions & HG_VK_HAS_BUDGET))
        *free_bytes -= base->allocated_bytes < *free_bytes ? base->allocated_bytes : *free_bytes;
    return HG_OK;
}

const hg_backend hg_backend_vulkan = {
    .name = "vk",
    .kind = HG_BACKEND_VULKAN,
    .enumerate = enumerate,
    .open = open_device,
    .close = close_device,
    .budget = budget,
    .alloc = hg_vk_alloc,
    .release = hg_vk_release,
    .map = hg_vk_map,
    .unmap = hg_vk_unmap,
    .prepare = hg_vk_prepare,
    .begin = hg_vk_begin,
    .dispatch = hg_vk_dispatch,
    .barrier = hg_vk_barrier,
    .copy = hg_vk_copy,
    .fill = hg_vk_fill,
    .mark = hg_vk_mark,
    .submit = hg_vk_submit,
    .discard = hg_vk_discard,
    .wait = hg_vk_wait,
    .times = hg_vk_times_get,
};
