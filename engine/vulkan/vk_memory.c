/* SPDX-License-Identifier: MIT */
/*
 * Buffers as ranges of blocks. A block is one VkDeviceMemory under one VkBuffer; allocating and
 * releasing move numbers only. Vulkan objects are freed rarely and only on an idle queue:
 * Mesa 22.3.6 corrupts its heap when buffers are freed between submissions (D24), and it is cheaper
 * everywhere. Blocks that the host can see stay mapped.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"

#define MIB (UINT64_C(1) << 20)
/* Small models need little, so the first block of a kind is small; each next one is twice as large.
 */
#define BLOCK_FIRST_BYTES (8 * MIB)
#define BLOCK_BYTES (64 * MIB)
#define DEDICATED_BYTES (32 * MIB)
/* Empty blocks kept for reuse: a session that comes and goes does not allocate anew each time. */
#define KEEP_BYTES (256 * MIB)

static const char *kind_name(hg_mem_kind kind)
{
    switch (kind) {
    case HG_MEM_WEIGHT:
        return "headgate weights";
    case HG_MEM_SCRATCH:
        return "headgate scratch";
    case HG_MEM_KV:
        return "headgate kv";
    case HG_MEM_UPLOAD:
        return "headgate upload";
    case HG_MEM_READBACK:
        return "headgate readback";
    }
    return "headgate";
}

static void destroy_block(hg_vk_dev *dev, hg_vk_block *block)
{
    /* Freeing memory unmaps it. */
    if (block->buffer)
        dev->fn.vkDestroyBuffer(dev->handle, block->buffer, NULL);
    if (block->memory) {
        dev->fn.vkFreeMemory(dev->handle, block->memory, NULL);
        dev->block_count--;
    }
    hg_vk_ranges_destroy(&block->ranges);
    free(block);
}

/* Frees empty blocks beyond what is kept; keep_bytes 0: all of them. Only where the queue is idle.
 */
static void trim(hg_vk_dev *dev, uint64_t keep_bytes)
{
    hg_vk_block **link = &dev->blocks;
    uint64_t kept = 0;
    int waited = 0;

    if (dev->completed != dev->submitted || atomic_load(&dev->lost))
        return;
    while (*link) {
        hg_vk_block *block = *link;

        if (block->ranges.live > 0 || kept + block->size_bytes <= keep_bytes) {
            kept += block->ranges.live > 0 ? 0 : block->size_bytes;
            link = &block->next;
            continue;
        }
        /* A passed point is not enough for every driver: its thread may still be cleaning up. */
        if (!waited && dev->fn.vkQueueWaitIdle(dev->queue) != VK_SUCCESS)
            return;
        waited = 1;
        *link = block->next;
        destroy_block(dev, block);
    }
}

static VkResult back_block(hg_vk_dev *dev, hg_vk_block *block, const VkMemoryRequirements *needs)
{
    const VkPhysicalDeviceMemoryProperties *memory = &dev->facts.memory;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    hg_vk_memory_order order;

    hg_vk_memory_order_make(memory, block->kind, dev->choice.features & HG_FEATURE_UNIFIED_MEMORY,
                            needs->memoryTypeBits, &order);
    for (uint32_t i = 0; i < order.count; i++) {
        VkMemoryAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
            .allocationSize = needs->size,
            .memoryTypeIndex = order.type[i],
        };

        result = dev->fn.vkAllocateMemory(dev->handle, &info, NULL, &block->memory);
        if (result == VK_SUCCESS) {
            block->flags = memory->memoryTypes[order.type[i]].propertyFlags;
            dev->block_count++;
            break;
        }
        block->memory = VK_NULL_HANDLE;
        if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
            break;
    }
    return result;
}

static int wants_map(const hg_vk_dev *dev, const hg_vk_block *block)
{
    if (!(block->flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        return 0;
    return block->kind == HG_MEM_UPLOAD || block->kind == HG_MEM_READBACK ||
           (block->kind == HG_MEM_WEIGHT && dev->choice.features & HG_FEATURE_UNIFIED_MEMORY);
}

/* A block of exactly size_bytes; the caller puts it into the list. */
static VkResult create_block(hg_vk_dev *dev, hg_mem_kind kind, uint64_t size_bytes,
                             hg_vk_block **out)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size_bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    hg_vk_block *block = calloc(1, sizeof(*block));
    VkMemoryRequirements needs;
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    void *map = NULL;

    *out = NULL;
    if (!block)
        return result;
    block->kind = kind;
    block->size_bytes = size_bytes;
    if (hg_vk_ranges_init(&block->ranges, size_bytes) != HG_OK)
        goto out;
    result = dev->fn.vkCreateBuffer(dev->handle, &info, NULL, &block->buffer);
    if (result != VK_SUCCESS) {
        block->buffer = VK_NULL_HANDLE;
        goto out;
    }
    dev->fn.vkGetBufferMemoryRequirements(dev->handle, block->buffer, &needs);
    result = back_block(dev, block, &needs);
    if (result != VK_SUCCESS)
        goto out;
    result = dev->fn.vkBindBufferMemory(dev->handle, block->buffer, block->memory, 0);
    if (result == VK_SUCCESS && wants_map(dev, block)) {
        result = dev->fn.vkMapMemory(dev->handle, block->memory, 0, VK_WHOLE_SIZE, 0, &map);
        block->map = result == VK_SUCCESS ? map : NULL;
    }
out:
    if (result != VK_SUCCESS)
        destroy_block(dev, block);
    else
        *out = block;
    return result;
}

static uint64_t next_block_bytes(const hg_vk_dev *dev, hg_mem_kind kind, uint64_t limit)
{
    uint64_t bytes = BLOCK_FIRST_BYTES;

    for (const hg_vk_block *block = dev->blocks; block; block = block->next)
        if (block->kind == kind && !block->dedicated && bytes < BLOCK_BYTES)
            bytes *= 2;
    return bytes < limit ? bytes : limit;
}

/* Grows by a block that holds size_bytes; tries again smaller, and after giving back what is empty.
 */
static VkResult grow(hg_vk_dev *dev, const hg_mem_desc *desc, uint64_t size_bytes)
{
    uint64_t limit = hg_vk_facts_alloc_bytes(&dev->facts);
    uint64_t bytes = size_bytes;
    hg_vk_block *block = NULL;
    VkResult result;

    if (dev->block_count >= dev->facts.properties.limits.maxMemoryAllocationCount)
        return VK_ERROR_TOO_MANY_OBJECTS;
    if (size_bytes < DEDICATED_BYTES) {
        bytes = next_block_bytes(dev, desc->kind, limit);
        bytes = bytes < size_bytes ? size_bytes : bytes;
    }
    result = create_block(dev, desc->kind, bytes, &block);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY && bytes > size_bytes)
        result = create_block(dev, desc->kind, bytes = size_bytes, &block);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        trim(dev, 0);
        result = create_block(dev, desc->kind, bytes, &block);
    }
    if (result != VK_SUCCESS)
        return result;
    block->dedicated = size_bytes >= DEDICATED_BYTES;
    hg_vk_name(dev, VK_OBJECT_TYPE_BUFFER, (uint64_t)block->buffer,
               block->dedicated && desc->name ? desc->name : kind_name(desc->kind));
    block->next = dev->blocks;
    dev->blocks = block;
    return VK_SUCCESS;
}

/* HG_ERR_DEVICE_MEMORY: no block has room. The tightest range of all blocks is taken: with the
 * first that fits, small matrices settle in the newest block and the holes that large ones left in
 * older blocks stay empty for ever (31 % of a 1.7B model, resident on drivers that clear their
 * memory). */
static hg_result take_range(hg_vk_dev *dev, hg_vk_mem *mem)
{
    hg_vk_block *best = NULL;
    uint64_t least = UINT64_MAX;

    for (hg_vk_block *block = dev->blocks; block; block = block->next) {
        uint64_t fit;

        if (block->kind != mem->base.kind)
            continue;
        /* A small buffer must not pin a large block that waits for its like. */
        if (block->dedicated && mem->reserved_bytes < block->size_bytes / 4 * 3)
            continue;
        fit = hg_vk_ranges_fit(&block->ranges, mem->reserved_bytes);
        if (fit && fit < least) {
            least = fit;
            best = block;
        }
    }
    if (!best)
        return HG_ERR_DEVICE_MEMORY;
    mem->block = best;
    return hg_vk_ranges_take(&best->ranges, mem->reserved_bytes, &mem->offset_bytes);
}

static hg_result fail_alloc(hg_vk_dev *dev, const hg_mem_desc *desc, VkResult result)
{
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
        return hg_fail(&dev->base.plan.log, HG_ERR_HOST_MEMORY, "%s: out of memory",
                       dev->base.plan.device.name);
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return hg_vk_fail(dev, result, desc->name ? desc->name : "a buffer");
    return hg_fail(&dev->base.plan.log, HG_ERR_DEVICE_MEMORY,
                   "%s: %s needs %llu MiB and does not fit; %llu MiB are in use here, other "
                   "programs may hold more; use a smaller model or a shorter text",
                   dev->base.plan.device.name, desc->name ? desc->name : "a buffer",
                   (unsigned long long)((desc->size_bytes + MIB - 1) / MIB),
                   (unsigned long long)(dev->base.allocated_bytes / MIB));
}

static hg_result place(hg_vk_dev *dev, const hg_mem_desc *desc, hg_vk_mem *mem)
{
    VkResult grown;
    hg_result result;

    hg_vk_memory_collect(dev);
    result = take_range(dev, mem);
    if (result == HG_ERR_DEVICE_MEMORY) {
        grown = grow(dev, desc, mem->reserved_bytes);
        if (grown != VK_SUCCESS)
            return fail_alloc(dev, desc, grown);
        result = take_range(dev, mem);
    }
    if (result != HG_OK)
        return fail_alloc(dev, desc, VK_ERROR_OUT_OF_HOST_MEMORY);
    mem->base.mappable = mem->block->map != NULL;
    dev->base.allocated_bytes += desc->size_bytes;
    if (dev->base.peak_bytes < dev->base.allocated_bytes)
        dev->base.peak_bytes = dev->base.allocated_bytes;
    return HG_OK;
}

hg_result hg_vk_alloc(hg_dev *base, const hg_mem_desc *desc, hg_mem **out)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    uint64_t limit = hg_vk_facts_alloc_bytes(&dev->facts);
    hg_vk_mem *mem;
    hg_result result;

    *out = NULL;
    assert(desc->size_bytes > 0);
    if (desc->size_bytes > limit)
        return hg_fail(&base->plan.log, HG_ERR_UNSUPPORTED,
                       "%s: %s needs %llu bytes in one piece; the driver allows %llu",
                       base->plan.device.name, desc->name ? desc->name : "a buffer",
                       (unsigned long long)desc->size_bytes, (unsigned long long)limit);
    mem = calloc(1, sizeof(*mem));
    if (!mem)
        return fail_alloc(dev, desc, VK_ERROR_OUT_OF_HOST_MEMORY);
    mem->base.dev = base;
    mem->base.size_bytes = desc->size_bytes;
    mem->base.kind = desc->kind;
    mem->reserved_bytes =
        (desc->size_bytes + HG_VK_ALIGN_BYTES - 1) & ~(uint64_t)(HG_VK_ALIGN_BYTES - 1);
    pthread_mutex_lock(&dev->lock);
    result = place(dev, desc, mem);
    pthread_mutex_unlock(&dev->lock);
    if (result == HG_OK)
        *out = &mem->base;
    else
        free(mem);
    return result;
}

void hg_vk_release(hg_mem **handle)
{
    hg_vk_mem *mem = (hg_vk_mem *)*handle;
    hg_vk_dev *dev;

    *handle = NULL;
    if (!mem)
        return;
    dev = (hg_vk_dev *)mem->base.dev;
    pthread_mutex_lock(&dev->lock);
    dev->base.allocated_bytes -= mem->base.size_bytes;
    /* A list that is still being recorded may use it: then its point is not known yet (see
     * vk_submit.c). */
    mem->last_point = dev->open_lists > 0 ? UINT64_MAX : dev->submitted;
    mem->next = dev->released;
    dev->released = mem;
    hg_vk_memory_collect(dev);
    pthread_mutex_unlock(&dev->lock);
}

void hg_vk_memory_collect(hg_vk_dev *dev)
{
    hg_vk_mem **link = &dev->released;

    while (*link) {
        hg_vk_mem *mem = *link;

        if (mem->last_point > dev->completed) {
            link = &mem->next;
            continue;
        }
        *link = mem->next;
        hg_vk_ranges_give(&mem->block->ranges, mem->offset_bytes, mem->reserved_bytes);
        free(mem);
    }
    trim(dev, KEEP_BYTES);
}

void hg_vk_memory_close(hg_vk_dev *dev)
{
    while (dev->released) {
        hg_vk_mem *mem = dev->released;

        dev->released = mem->next;
        hg_vk_ranges_give(&mem->block->ranges, mem->offset_bytes, mem->reserved_bytes);
        free(mem);
    }
    while (dev->blocks) {
        hg_vk_block *block = dev->blocks;

        assert(block->ranges.live == 0); /* the engine releases its buffers before it closes */
        dev->blocks = block->next;
        destroy_block(dev, block);
    }
}

/* The part of the block to flush or invalidate, widened to whole atoms. Atoms divide the alignment
 * of buffers, so a neighbour is never touched. */
static VkMappedMemoryRange atoms(const hg_vk_dev *dev, const hg_vk_mem *mem, uint64_t offset_bytes,
                                 uint64_t size_bytes)
{
    uint64_t atom = dev->facts.properties.limits.nonCoherentAtomSize;
    uint64_t begin = mem->offset_bytes + offset_bytes, end = begin + size_bytes;

    atom = atom ? atom : 1;
    begin -= begin % atom;
    end += (atom - end % atom) % atom;
    return (VkMappedMemoryRange){
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
        .memory = mem->block->memory,
        .offset = begin,
        .size = end - begin,
    };
}

hg_result hg_vk_map(hg_mem *base, uint64_t offset_bytes, uint64_t size_bytes, hg_map_access access,
                    void **out)
{
    hg_vk_mem *mem = (hg_vk_mem *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;

    *out = NULL;
    assert(base->mappable);
    assert(size_bytes > 0 && offset_bytes <= base->size_bytes &&
           size_bytes <= base->size_bytes - offset_bytes);
    if (access & HG_MAP_WRITE)
        mem->written = 1;
    if (access & HG_MAP_READ && !(mem->block->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)) {
        VkMappedMemoryRange range = atoms(dev, mem, offset_bytes, size_bytes);
        VkResult result = dev->fn.vkInvalidateMappedMemoryRanges(dev->handle, 1, &range);

        if (result != VK_SUCCESS)
            return hg_vk_fail(dev, result, "vkInvalidateMappedMemoryRanges");
    }
    *out = mem->block->map + mem->offset_bytes + offset_bytes;
    return HG_OK;
}

void hg_vk_unmap(hg_mem *base, uint64_t offset_bytes, uint64_t size_bytes)
{
    hg_vk_mem *mem = (hg_vk_mem *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;
    VkMappedMemoryRange range;
    hg_result result;

    if (!mem->written || mem->block->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
        return;
    range = atoms(dev, mem, offset_bytes, size_bytes);
    result = hg_vk_fail(dev, dev->fn.vkFlushMappedMemoryRanges(dev->handle, 1, &range),
                        "vkFlushMappedMemoryRanges");
    if (result == HG_OK)
        return;
    pthread_mutex_lock(&dev->lock);
    dev->pending = result;
    pthread_mutex_unlock(&dev->lock);
}
