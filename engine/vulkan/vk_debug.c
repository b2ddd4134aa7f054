/* SPDX-License-Identifier: MIT */
/*
 * What people read: results in words, object names, validation messages on the log. The one place
 * where a VkResult becomes an hg_result and where a lost device is remembered.
 */
#include <stdio.h>
#include <string.h>

#include "vk.h"

const char *hg_vk_result_name(VkResult result)
{
    switch (result) {
#define NAME(value)                                                                                \
    case value:                                                                                    \
        return #value;
        NAME(VK_SUCCESS)
        NAME(VK_NOT_READY)
        NAME(VK_TIMEOUT)
        NAME(VK_INCOMPLETE)
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        NAME(VK_ERROR_INITIALIZATION_FAILED)
        NAME(VK_ERROR_DEVICE_LOST)
        NAME(VK_ERROR_MEMORY_MAP_FAILED)
        NAME(VK_ERROR_LAYER_NOT_PRESENT)
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        NAME(VK_ERROR_TOO_MANY_OBJECTS)
        NAME(VK_ERROR_FRAGMENTED_POOL)
        NAME(VK_ERROR_UNKNOWN)
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        NAME(VK_ERROR_FRAGMENTATION)
        NAME(VK_ERROR_INVALID_SHADER_NV)
#undef NAME
    default:
        return "a VkResult that Vulkan does not list for this call";
    }
}

hg_result hg_vk_result_map(VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return HG_OK;
    case VK_NOT_READY:
    case VK_TIMEOUT:
        return HG_TIMEOUT;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return HG_ERR_HOST_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
        return HG_ERR_DEVICE_MEMORY;
    case VK_ERROR_DEVICE_LOST:
        return HG_ERR_DEVICE_LOST;
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_INITIALIZATION_FAILED:
        return HG_ERR_NO_DEVICE;
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return HG_ERR_UNSUPPORTED;
    default:
        return HG_ERR_DRIVER;
    }
}

hg_result hg_vk_fail(hg_vk_dev *dev, VkResult result, const char *what)
{
    if (result == VK_SUCCESS)
        return HG_OK;
    if (result == VK_ERROR_DEVICE_LOST)
        atomic_store(&dev->lost, 1);
    return hg_fail(&dev->base.plan.log, hg_vk_result_map(result), "%s: %s: %s%s",
                   dev->base.plan.device.name, what, hg_vk_result_name(result),
                   result == VK_ERROR_DEVICE_LOST
                       ? ": the driver gave the device up (a fault, a reset or a time limit); "
                         "close it and open it again, or use another device"
                       : "");
}

/* Layers write paragraphs; the log takes one line. Newer ones leave the name of the rule out of it.
 */
static void say_message(hg_vk_instance *instance, hg_log_level level, const char *name,
                        const char *text)
{
    int named = name && !strstr(text, name);
    char line[1800];
    size_t used = 0;

    for (; *text && used + 1 < sizeof(line); text++)
        line[used++] = (char)(*text == '\n' || *text == '\r' || *text == '\t' ? ' ' : *text);
    line[used] = '\0';
    hg_say(&instance->log, level, "Vulkan validation: %s%s%s", named ? name : "", named ? ": " : "",
           line);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    hg_vk_instance *instance = user;
    int error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;

    (void)types;
    pthread_mutex_lock(&instance->message_lock);
    if (instance->message_count)
        ++*instance->message_count;
    say_message(instance, error ? HG_LOG_ERROR : HG_LOG_WARNING, data->pMessageIdName,
                data->pMessage ? data->pMessage : "a message without text");
    pthread_mutex_unlock(&instance->message_lock);
    return VK_FALSE;
}

void hg_vk_messenger_desc(hg_vk_instance *instance, VkDebugUtilsMessengerCreateInfoEXT *out)
{
    *out = (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        /* General messages are the loader's, about other people's drivers. */
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = instance,
    };
}

void hg_vk_name(hg_vk_dev *dev, VkObjectType type, uint64_t handle, const char *name)
{
    VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = name,
    };

    if (dev->instance->debug_utils && name)
        dev->instance->fn.vkSetDebugUtilsObjectNameEXT(dev->handle, &info); /* a name may fail */
}
