/* SPDX-License-Identifier: MIT */
/*
 * A vkGetInstanceProcAddr that stands between the backend and the loader: counts objects, makes the
 * n-th call fail, and can make the device look older or its memory less convenient. The allocator
 * of the backend is wrapped by the linker for the same end.
 */
#ifndef HG_TESTS_VULKAN_HOOK_H
#define HG_TESTS_VULKAN_HOOK_H

#include "vulkan/vk.h"

typedef struct hook_state {
    uint32_t calls;        /* of functions that can fail, since hook_arm */
    uint32_t fail_at;      /* the call that fails, from 1; 0: none */
    const char *fail_name; /* only calls of this function count and fail; NULL: of any */
    int for_ever;          /* all later calls of the same function fail too */
    VkResult error;
    const char *failed; /* name of the function that failed, NULL: none did */
    uint32_t mallocs, fail_malloc_at;
    int malloc_failed;
    int32_t objects, allocations; /* alive */
    int counting;
    uint32_t version; /* not 0: the device says it is of this version */
    int incoherent;   /* no memory is coherent */
    uint32_t flushes, invalidates;
} hook_state;

extern hook_state hook;

/* Opens the loader; 0 when there is none. */
int hook_init(void);
PFN_vkVoidFunction VKAPI_CALL hook_get(VkInstance instance, const char *name);

#endif
