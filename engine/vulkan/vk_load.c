/* SPDX-License-Identifier: MIT */
/*
 * From nothing to an instance with its functions: opens the loader library at run time, fills the
 * tables by name (volk's own loading goes through globals), makes the instance with the layers and
 * extensions that are there. Which device to use is decided elsewhere.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

/* VK_EXT_layer_settings is younger than the oldest headers supported; these are its structs. */
#define LAYER_SETTINGS_EXTENSION "VK_EXT_layer_settings"
enum { LAYER_SETTINGS_STRUCTURE = 1000496000, LAYER_SETTING_BOOL32 = 0 };

typedef struct layer_setting {
    const char *layer, *name;
    int32_t type;
    uint32_t count;
    const void *values;
} layer_setting;

typedef struct layer_settings {
    VkStructureType type;
    const void *next;
    uint32_t count;
    const layer_setting *settings;
} layer_settings;

/* What the loader and the validation layer offer. */
typedef struct instance_offer {
    uint32_t portability, debug_utils, layer, layer_settings;
} instance_offer;

void *hg_vk_library_open(const char *const *names, PFN_vkGetInstanceProcAddr *get)
{
    *get = NULL;
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;

        if (symbol) {
            memcpy(get, &symbol, sizeof(symbol));
            return library;
        }
        if (library)
            dlclose(library);
    }
    return NULL;
}

static hg_result load_global(hg_vk_instance *instance, hg_log_level severity)
{
#define GLOBAL(name) instance->fn.name = (PFN_##name)instance->get(NULL, #name);
#include "vk_functions.def"
    /* A loader of Vulkan 1.0 lacks vkEnumerateInstanceVersion; then so do we all else we need. */
#define GLOBAL(name)                                                                               \
    if (!instance->fn.name) {                                                                      \
        hg_say(&instance->log, severity,                                                           \
               "Vulkan: the loader lacks " #name ": Vulkan 1.1 or newer is needed");               \
        return HG_ERR_NO_DEVICE;                                                                   \
    }
#include "vk_functions.def"
    return HG_OK;
}

static hg_result load_instance(hg_vk_instance *instance, hg_log_level severity)
{
    const char *missing = NULL;

#define INSTANCE(name)                                                                             \
    instance->fn.name = (PFN_##name)instance->get(instance->handle, #name);                        \
    if (!instance->fn.name)                                                                        \
        missing = #name;
#include "vk_functions.def"
    if (missing) {
        hg_say(&instance->log, severity, "Vulkan: the loader does not know %s", missing);
        return HG_ERR_DRIVER;
    }
    if (!instance->debug_utils)
        return HG_OK;
#define DEBUG(name)                                                                                \
    instance->fn.name = (PFN_##name)instance->get(instance->handle, #name);                        \
    if (!instance->fn.name)                                                                        \
        instance->debug_utils = 0;
#include "vk_functions.def"
    return HG_OK;
}

hg_result hg_vk_device_load(hg_vk_dev *dev)
{
    PFN_vkGetDeviceProcAddr get = dev->instance->fn.vkGetDeviceProcAddr;
    int core12 = dev->facts.version >= VK_API_VERSION_1_2;
    const char *missing = NULL;

#define DEVICE(name)                                                                               \
    dev->fn.name = (PFN_##name)get(dev->handle, #name);                                            \
    if (!dev->fn.name)                                                                             \
        missing = #name;
#define TIMELINE(name)                                                                             \
    if (dev->choice.features & HG_FEATURE_TIMELINE) {                                              \
        dev->fn.name = (PFN_##name)get(dev->handle, core12 ? #name : #name "KHR");                 \
        if (!dev->fn.name)                                                                         \
            missing = #name;                                                                       \
    }
#define PUSH(name)                                                                                 \
    if (dev->choice.features & HG_FEATURE_PUSH_DESCRIPTOR) {                                       \
        dev->fn.name = (PFN_##name)get(dev->handle, #name);                                        \
        if (!dev->fn.name)                                                                         \
            missing = #name;                                                                       \
    }
#include "vk_functions.def"
    if (missing)
        return hg_fail(&dev->base.plan.log, HG_ERR_DRIVER,
                       "%s: the driver lists a feature but not its function %s; try a newer driver",
                       dev->base.plan.device.name, missing);
    return HG_OK;
}

/* Extensions of the loader and its drivers (layer NULL) or of one layer; asks again while the list
 * grows. */
static VkResult list_extensions(const hg_vk_instance *instance, const char *layer,
                                VkExtensionProperties **out, uint32_t *count)
{
    VkResult result;

    *out = NULL;
    do {
        free(*out);
        *out = NULL;
        *count = 0;
        result = instance->fn.vkEnumerateInstanceExtensionProperties(layer, count, NULL);
        if (result != VK_SUCCESS || *count == 0)
            return result;
        *out = calloc(*count, sizeof(**out));
        if (!*out)
            return HG_VK_OWN_MEMORY;
        result = instance->fn.vkEnumerateInstanceExtensionProperties(layer, count, *out);
    } while (result == VK_INCOMPLETE);
    return result;
}

static VkResult find_layer(const hg_vk_instance *instance, uint32_t *found)
{
    VkLayerProperties *layers = NULL;
    uint32_t count = 0;
    VkResult result;

    do {
        free(layers);
        layers = NULL;
        result = instance->fn.vkEnumerateInstanceLayerProperties(&count, NULL);
        if (result != VK_SUCCESS || count == 0)
            return result;
        layers = calloc(count, sizeof(*layers));
        if (!layers)
            return HG_VK_OWN_MEMORY;
        result = instance->fn.vkEnumerateInstanceLayerProperties(&count, layers);
    } while (result == VK_INCOMPLETE);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        if (strcmp(layers[i].layerName, VALIDATION_LAYER) == 0)
            *found = 1;
    free(layers);
    return result;
}

static VkResult read_offer(const hg_vk_instance *instance, const char *layer, instance_offer *offer)
{
    VkExtensionProperties *list;
    uint32_t count;
    VkResult result = list_extensions(instance, layer, &list, &count);

    for (uint32_t i = 0; i < count && list && result == VK_SUCCESS; i++) {
        const char *name = list[i].extensionName;

        if (strcmp(name, "VK_KHR_portability_enumeration") == 0)
            offer->portability = 1;
        else if (strcmp(name, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0)
            offer->debug_utils = 1;
        else if (strcmp(name, LAYER_SETTINGS_EXTENSION) == 0 && layer)
            offer->layer_settings = 1;
    }
    free(list);
    return result;
}

static VkResult read_offers(const hg_vk_instance *instance, uint32_t validate,
                            instance_offer *offer)
{
    VkResult result;

    *offer = (instance_offer){0};
    result = read_offer(instance, NULL, offer);
    if (result != VK_SUCCESS || !validate)
        return result;
    result = find_layer(instance, &offer->layer);
    if (result != VK_SUCCESS || !offer->layer)
        return result;
    return read_offer(instance, VALIDATION_LAYER, offer);
}

static VkResult create_handle(hg_vk_instance *instance, const instance_offer *offer)
{
    static const VkBool32 on = VK_TRUE;
    static const layer_setting settings[] = {
        {VALIDATION_LAYER, "validate_sync", LAYER_SETTING_BOOL32, 1, &on},
        /* Without it newer layers overlook hazards between shader accesses. */
        {VALIDATION_LAYER, "syncval_shader_accesses_heuristic", LAYER_SETTING_BOOL32, 1, &on},
    };
    static const VkValidationFeatureEnableEXT sync =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const char *layers[] = {VALIDATION_LAYER}, *extensions[3];
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    layer_settings chosen = {(VkStructureType)LAYER_SETTINGS_STRUCTURE, &messenger, 2, settings};
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &sync,
    };
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "headgate",
        .pEngineName = "headgate",
        .engineVersion = hg_version(),
        .apiVersion = instance->version,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .ppEnabledLayerNames = layers,
        .ppEnabledExtensionNames = extensions,
    };
    VkResult result;

    if (offer->portability) {
        extensions[info.enabledExtensionCount++] = "VK_KHR_portability_enumeration";
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    if (offer->debug_utils)
        extensions[info.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    if (offer->layer) {
        hg_vk_messenger_desc(instance, &messenger);
        info.enabledLayerCount = 1;
        info.pNext = &features;
    }
    if (offer->layer_settings) {
        extensions[info.enabledExtensionCount++] = LAYER_SETTINGS_EXTENSION;
        info.pNext = &chosen;
    }
    result = instance->fn.vkCreateInstance(&info, NULL, &instance->handle);
    if (result != VK_SUCCESS)
        instance->handle = VK_NULL_HANDLE;
    return result;
}

/* HG_OK, or the reason said at the severity that was asked for. Loaders say "out of host memory" of
 * a driver file that they cannot parse, so that is a missing device; our own malloc is told apart.
 */
static hg_result refuse(const hg_vk_instance_desc *desc, VkResult result, const char *what)
{
    const char *hint = "";

    if (result == VK_SUCCESS)
        return HG_OK;
    if (result == HG_VK_OWN_MEMORY)
        return hg_fail(&desc->log, HG_ERR_HOST_MEMORY, "Vulkan: out of memory");
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        hint = " (no Vulkan driver starts here)";
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
        hint = " (or a driver file of the loader is broken)";
    hg_say(&desc->log, desc->severity, "Vulkan: %s failed: %s%s", what, hg_vk_result_name(result),
           hint);
    return result == VK_ERROR_OUT_OF_HOST_MEMORY ? HG_ERR_NO_DEVICE : hg_vk_result_map(result);
}

static hg_result refuse_validation(const hg_vk_instance_desc *desc)
{
    return hg_fail(&desc->log, HG_ERR_UNSUPPORTED,
                   "Vulkan: validation was asked for, but the layer " VALIDATION_LAYER
                   " is not installed: install vulkan-validationlayers, or switch it off");
}

static hg_result create_messenger(hg_vk_instance *instance, const hg_vk_instance_desc *desc)
{
    VkDebugUtilsMessengerCreateInfoEXT info;
    VkResult result;

    hg_vk_messenger_desc(instance, &info);
    result = instance->fn.vkCreateDebugUtilsMessengerEXT(instance->handle, &info, NULL,
                                                         &instance->messenger);
    if (result != VK_SUCCESS)
        instance->messenger = VK_NULL_HANDLE;
    return refuse(desc, result, "vkCreateDebugUtilsMessengerEXT");
}

static hg_result read_version(hg_vk_instance *instance, const hg_vk_instance_desc *desc)
{
    uint32_t version = 0;
    VkResult result = instance->fn.vkEnumerateInstanceVersion(&version);

    if (result != VK_SUCCESS)
        return refuse(desc, result, "vkEnumerateInstanceVersion");
    /* Nothing of 1.4 is used; the patch number says nothing to a driver. */
    version =
        VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version), 0);
    instance->version = version < VK_API_VERSION_1_3 ? version : VK_API_VERSION_1_3;
    if (version >= VK_API_VERSION_1_1)
        return HG_OK;
    hg_say(&desc->log, desc->severity, "Vulkan: the loader is of version 1.0; 1.1 is needed");
    return HG_ERR_NO_DEVICE;
}

static hg_result open_library(hg_vk_instance *instance, const hg_vk_instance_desc *desc)
{
#if defined(__APPLE__)
    static const char *const names[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib",
                                        NULL};
#else
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", NULL};
#endif

    instance->library = hg_vk_library_open(names, &instance->get);
    if (instance->library)
        return HG_OK;
    hg_say(&desc->log, desc->severity,
           "Vulkan: no loader library (%s) on this machine, so no Vulkan devices", names[0]);
    return HG_ERR_NO_DEVICE;
}

hg_result hg_vk_instance_create(const hg_vk_instance_desc *desc, hg_vk_instance **out)
{
    hg_vk_instance *instance = calloc(1, sizeof(*instance));
    instance_offer offer;
    VkResult result;
    hg_result res = HG_OK;

    *out = NULL;
    if (!instance)
        return hg_fail(&desc->log, HG_ERR_HOST_MEMORY, "Vulkan: out of memory");
    instance->log = desc->log;
    instance->message_count = desc->message_count;
    instance->get = desc->get;
    pthread_mutex_init(&instance->message_lock, NULL);
    if (!instance->get)
        HG_TRY(open_library(instance, desc));
    HG_TRY(load_global(instance, desc->severity));
    HG_TRY(read_version(instance, desc));
    HG_TRY(refuse(desc, read_offers(instance, desc->validate, &offer), "listing layers"));
    if (desc->validate && !(offer.layer && offer.debug_utils)) {
        res = refuse_validation(desc);
        goto out;
    }
    instance->debug_utils = offer.debug_utils;
    result = create_handle(instance, &offer);
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT && offer.layer_settings) {
        offer.layer_settings = 0;
        hg_say(&desc->log, HG_LOG_INFO,
               "Vulkan: the loader is older than its validation layer, which may overlook hazards "
               "between shaders; use those of one release");
        result = create_handle(instance, &offer);
    }
    HG_TRY(refuse(desc, result, "vkCreateInstance"));
    HG_TRY(load_instance(instance, desc->severity));
    if (desc->validate && !instance->debug_utils) {
        res = refuse_validation(desc);
        goto out;
    }
    if (desc->validate)
        HG_TRY(create_messenger(instance, desc));
out:
    if (res != HG_OK)
        hg_vk_instance_destroy(&instance);
    *out = instance;
    return res;
}

void hg_vk_instance_destroy(hg_vk_instance **handle)
{
    hg_vk_instance *instance = *handle;

    *handle = NULL;
    if (!instance)
        return;
    if (instance->messenger)
        instance->fn.vkDestroyDebugUtilsMessengerEXT(instance->handle, instance->messenger, NULL);
    if (instance->handle && instance->fn.vkDestroyInstance)
        instance->fn.vkDestroyInstance(instance->handle, NULL);
    pthread_mutex_destroy(&instance->message_lock);
    if (instance->library)
        dlclose(instance->library);
    free(instance);
}
