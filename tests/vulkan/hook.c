/* SPDX-License-Identifier: MIT */
/* See hook.h. One thread only. */
#include "hook.h"

#include <stdlib.h>
#include <string.h>

hook_state hook;

static PFN_vkGetInstanceProcAddr real_get;
static PFN_vkGetDeviceProcAddr real_get_device;
static PFN_vkGetPhysicalDeviceProperties real_properties;
static PFN_vkGetPhysicalDeviceMemoryProperties2 real_memory;

static struct {
#define FAILS(name, parameters, arguments, made) PFN_##name name;
#define DESTROYS(name, parameters, arguments, handle) PFN_##name name;
#include "faults.def"
} real;

static VkResult fault(const char *name)
{
    if (strcmp(name, "vkFlushMappedMemoryRanges") == 0)
        hook.flushes++;
    if (strcmp(name, "vkInvalidateMappedMemoryRanges") == 0)
        hook.invalidates++;
    if (hook.failed && hook.for_ever && strcmp(hook.failed, name) == 0)
        return hook.error;
    if (hook.failed || (hook.fail_name && strcmp(hook.fail_name, name) != 0))
        return VK_SUCCESS;
    if (++hook.calls != hook.fail_at)
        return VK_SUCCESS;
    hook.failed = name;
    return hook.error;
}

#define FAILS(name, parameters, arguments, made)                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL fake_##name parameters                                   \
    {                                                                                              \
        VkResult result = fault(#name);                                                            \
                                                                                                   \
        if (result != VK_SUCCESS)                                                                  \
            return result;                                                                         \
        result = real.name arguments;                                                              \
        if (result == VK_SUCCESS)                                                                  \
            hook.objects += (made);                                                                \
        return result;                                                                             \
    }
#define DESTROYS(name, parameters, arguments, handle)                                              \
    static VKAPI_ATTR void VKAPI_CALL fake_##name parameters                                       \
    {                                                                                              \
        if (handle)                                                                                \
            hook.objects--;                                                                        \
        real.name arguments;                                                                       \
    }
#include "faults.def"

static VKAPI_ATTR void VKAPI_CALL fake_properties(VkPhysicalDevice device,
                                                  VkPhysicalDeviceProperties *out)
{
    real_properties(device, out);
    if (hook.version)
        out->apiVersion = hook.version;
}

static VKAPI_ATTR void VKAPI_CALL fake_memory(VkPhysicalDevice device,
                                              VkPhysicalDeviceMemoryProperties2 *out)
{
    VkPhysicalDeviceMemoryProperties *memory = &out->memoryProperties;

    real_memory(device, out);
    for (uint32_t i = 0; i < memory->memoryTypeCount && hook.incoherent; i++)
        memory->memoryTypes[i].propertyFlags &=
            ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}

/* The stand-in for a name, with the real one remembered, or the real one. A name that ends in KHR
 * stands for the same function. */
static PFN_vkVoidFunction stand_in(const char *name, PFN_vkVoidFunction function)
{
    size_t length = strlen(name);

    length -= length > 3 && strcmp(name + length - 3, "KHR") == 0 ? 3 : 0;
    if (!function)
        return NULL;
#define FAILS(row, parameters, arguments, made)                                                    \
    if (strlen(#row) == length && strncmp(name, #row, length) == 0) {                              \
        real.row = (PFN_##row)function;                                                            \
        return (PFN_vkVoidFunction)fake_##row;                                                     \
    }
#define DESTROYS(row, parameters, arguments, handle) FAILS(row, , , )
#include "faults.def"
    return function;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name)
{
    return stand_in(name, real_get_device(device, name));
}

PFN_vkVoidFunction VKAPI_CALL hook_get(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction function = real_get(instance, name);

    if (function && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_get_device = (PFN_vkGetDeviceProcAddr)function;
        return (PFN_vkVoidFunction)get_device;
    }
    if (function && strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
        real_properties = (PFN_vkGetPhysicalDeviceProperties)function;
        return (PFN_vkVoidFunction)fake_properties;
    }
    if (function && strcmp(name, "vkGetPhysicalDeviceMemoryProperties2") == 0) {
        real_memory = (PFN_vkGetPhysicalDeviceMemoryProperties2)function;
        return (PFN_vkVoidFunction)fake_memory;
    }
    return stand_in(name, function);
}

int hook_init(void)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", NULL};

    return hg_vk_library_open(names, &real_get) != NULL; /* stays open: the process ends with it */
}

/* The linker sends the allocator calls of everything in this program here (--wrap); drivers keep
 * their own. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);

static int denied(void)
{
    if (!hook.counting || ++hook.mallocs != hook.fail_malloc_at)
        return 0;
    hook.malloc_failed = 1;
    return 1;
}

static void *counted(void *memory)
{
    if (hook.counting && memory)
        hook.allocations++;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return denied() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return denied() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (denied())
        return NULL;
    return old ? __real_realloc(old, size) : counted(__real_realloc(old, size));
}

void __wrap_free(void *memory)
{
    if (hook.counting && memory)
        hook.allocations--;
    __real_free(memory);
}
/* NOLINTEND(bugprone-reserved-identifier) */
