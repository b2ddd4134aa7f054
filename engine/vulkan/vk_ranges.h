/* SPDX-License-Identifier: MIT */
/*
 * Which bytes of a block are free: sorted ranges, best fit, merged when given back. Pure: knows no
 * Vulkan. Not thread-safe; the device's lock covers it.
 */
#ifndef HG_VULKAN_VK_RANGES_H
#define HG_VULKAN_VK_RANGES_H

#include <headgate/base.h>

typedef struct hg_vk_range {
    uint64_t offset, size;
} hg_vk_range;

typedef struct hg_vk_ranges {
    hg_vk_range *free; /* [count], ascending, never touching each other */
    uint32_t count, room;
    uint32_t live; /* ranges taken and not given back */
} hg_vk_ranges;

/* HG_ERR_HOST_MEMORY, or one free range of size. */
hg_result hg_vk_ranges_init(hg_vk_ranges *ranges, uint64_t size);
void hg_vk_ranges_destroy(hg_vk_ranges *ranges);

/* The size of the free range that take would use; 0: none is large enough. */
uint64_t hg_vk_ranges_fit(const hg_vk_ranges *ranges, uint64_t size);

/* HG_ERR_DEVICE_MEMORY when no free range is large enough. size > 0. */
hg_result hg_vk_ranges_take(hg_vk_ranges *ranges, uint64_t size, uint64_t *offset);

/* Cannot fail: take has made room for it. */
void hg_vk_ranges_give(hg_vk_ranges *ranges, uint64_t offset, uint64_t size);

#endif
