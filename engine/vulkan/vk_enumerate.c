/* SPDX-License-Identifier: MIT */
/*
 * Lists what is there. A driver that fails costs its own devices, never the list: the reason goes
 * to the log at INFO and the call succeeds with fewer devices.
 */
#include <stdlib.h>

#include "vk.h"

hg_result hg_vk_physical_list(hg_vk_instance *instance, hg_log_level severity,
                              VkPhysicalDevice **out, uint32_t *count)
{
    VkPhysicalDevice *list = NULL;
    VkResult result;

    *out = NULL;
    *count = 0;
    do {
        free(list);
        list = NULL;
        result = instance->fn.vkEnumeratePhysicalDevices(instance->handle, count, NULL);
        if (result != VK_SUCCESS || *count == 0)
            break;
        list = calloc(*count, sizeof(VkPhysicalDevice));
        if (!list)
            return hg_fail(&instance->log, HG_ERR_HOST_MEMORY, "Vulkan: out of memory");
        result = instance->fn.vkEnumeratePhysicalDevices(instance->handle, count, list);
    } while (result == VK_INCOMPLETE);
    if (result != VK_SUCCESS) {
        hg_say(&instance->log, severity, "Vulkan: vkEnumeratePhysicalDevices failed: %s",
               hg_vk_result_name(result));
        free(list);
        *count = 0;
        return HG_ERR_NO_DEVICE;
    }
    *out = list;
    return HG_OK;
}

hg_result hg_vk_enumerate(const hg_log *log, PFN_vkGetInstanceProcAddr get, hg_snapshot *out,
                          uint32_t *count)
{
    hg_vk_instance_desc desc = {.get = get, .severity = HG_LOG_INFO};
    uint32_t room = *count, devices = 0, found = 0;
    VkPhysicalDevice *list = NULL;
    hg_vk_instance *instance = NULL;
    hg_vk_facts *facts = NULL;
    hg_result res = HG_OK;

    *count = 0;
    if (log)
        desc.log = *log;
    HG_TRY(hg_vk_instance_create(&desc, &instance));
    HG_TRY(hg_vk_physical_list(instance, HG_LOG_INFO, &list, &devices));
    facts = calloc(1, sizeof(*facts));
    if (!facts) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "Vulkan: out of memory");
        goto out;
    }
    for (uint32_t i = 0; list && i < devices && found < room; i++) {
        res = hg_vk_facts_read(instance, list[i], facts);
        if (res == HG_ERR_HOST_MEMORY) {
            hg_fail(log, res, "Vulkan: out of memory");
            goto out;
        }
        if (res != HG_OK) {
            hg_say(log, HG_LOG_INFO, "Vulkan: device %u did not describe itself; left out", i);
            continue;
        }
        hg_vk_snapshot_make(facts, &out[found]);
        out[found++].backend_index = i;
    }
    res = HG_OK;
out:
    free(facts);
    free(list);
    hg_vk_instance_destroy(&instance);
    *count = res == HG_ERR_HOST_MEMORY ? 0 : found;
    return res == HG_ERR_HOST_MEMORY ? res : HG_OK;
}
