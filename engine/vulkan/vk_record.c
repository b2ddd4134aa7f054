/* SPDX-License-Identifier: MIT */
/*
 * Command lists. A list owns a command pool, descriptor pools and a query pool, is recorded once,
 * submitted once, and reused when its point has passed. Submitting and waiting: vk_submit.c.
 *
 * Lists of a device run as if each waited for the one before: begin puts one global barrier in
 * front. Inside a list nothing waits unless barrier() says so; those are buffer barriers over
 * exactly the ranges that the recorder computed, so that synchronization validation checks the
 * recorder too (drivers make one global barrier of them anyway).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"

/* More hazards than this at once: one global barrier is cheaper than a list of ranges. */
enum { BARRIER_RANGES_MAX = 32 };

static const VkPipelineStageFlags work_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
static const VkAccessFlags write_accesses =
    VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
static const VkAccessFlags all_accesses = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                          VK_ACCESS_TRANSFER_READ_BIT |
                                          VK_ACCESS_TRANSFER_WRITE_BIT;

/* Keeps the first failure; recording goes on as a no-op. */
static void list_fail(hg_vk_list *list, VkResult result, const char *what)
{
    hg_result mapped = hg_vk_fail((hg_vk_dev *)list->base.dev, result, what);

    if (list->result == HG_OK)
        list->result = mapped;
}

static void list_out_of_memory(hg_vk_list *list)
{
    list->result = hg_fail(&list->base.dev->plan.log, HG_ERR_HOST_MEMORY, "%s: out of memory",
                           list->base.dev->plan.device.name);
}

static void global_barrier(hg_vk_list *list, VkPipelineStageFlags after, VkAccessFlags accesses)
{
    hg_vk_dev *dev = (hg_vk_dev *)list->base.dev;
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = write_accesses,
        .dstAccessMask = accesses,
    };

    dev->fn.vkCmdPipelineBarrier(list->command, work_stages, after, 0, 1, &barrier, 0, NULL, 0,
                                 NULL);
}

void hg_vk_list_destroy(hg_vk_dev *dev, hg_vk_list *list)
{
    if (!list)
        return;
    for (uint32_t i = 0; i < list->pool_count; i++)
        dev->fn.vkDestroyDescriptorPool(dev->handle, list->pools[i], NULL);
    if (list->queries)
        dev->fn.vkDestroyQueryPool(dev->handle, list->queries, NULL);
    if (list->fence)
        dev->fn.vkDestroyFence(dev->handle, list->fence, NULL);
    if (list->command_pool) /* frees its command buffer */
        dev->fn.vkDestroyCommandPool(dev->handle, list->command_pool, NULL);
    free(list->pools);
    free(list->ticks);
    free(list->marked);
    free(list);
}

static VkResult create_handles(hg_vk_dev *dev, hg_vk_list *list)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = dev->choice.queue_family,
    };
    VkCommandBufferAllocateInfo command = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = dev->fn.vkCreateCommandPool(dev->handle, &pool, NULL, &list->command_pool);

    if (result != VK_SUCCESS) {
        list->command_pool = VK_NULL_HANDLE;
        return result;
    }
    command.commandPool = list->command_pool;
    result = dev->fn.vkAllocateCommandBuffers(dev->handle, &command, &list->command);
    if (result != VK_SUCCESS || dev->timeline)
        return result;
    result = dev->fn.vkCreateFence(dev->handle, &fence, NULL, &list->fence);
    if (result != VK_SUCCESS)
        list->fence = VK_NULL_HANDLE;
    return result;
}

static hg_result create_list(hg_vk_dev *dev, hg_vk_list **out)
{
    hg_vk_list *list = calloc(1, sizeof(*list));
    hg_result result;

    *out = NULL;
    if (!list)
        return hg_fail(&dev->base.plan.log, HG_ERR_HOST_MEMORY, "%s: out of memory",
                       dev->base.plan.device.name);
    list->base.dev = &dev->base;
    result = hg_vk_fail(dev, create_handles(dev, list), "creating a command buffer");
    if (result != HG_OK)
        hg_vk_list_destroy(dev, list);
    else
        *out = list;
    return result;
}

/* Puts a used list back to the state of a new one; its pools keep what they have grown to. */
static VkResult reset_list(hg_vk_dev *dev, hg_vk_list *list)
{
    VkResult result = dev->fn.vkResetCommandPool(dev->handle, list->command_pool, 0);

    for (uint32_t i = 0; i <= list->pool && i < list->pool_count && result == VK_SUCCESS; i++)
        result = dev->fn.vkResetDescriptorPool(dev->handle, list->pools[i], 0);
    if (result == VK_SUCCESS && list->fence)
        result = dev->fn.vkResetFences(dev->handle, 1, &list->fence);
    list->next = NULL;
    list->pool = list->pool_sets = 0;
    list->slot_count = list->first_slot = 0;
    list->result = HG_OK;
    list->labelled = 0;
    list->point = 0;
    list->harvested = 0;
    return result;
}

static hg_result obtain_list(hg_vk_dev *dev, hg_vk_list **out)
{
    hg_vk_list *list;
    hg_result result;

    pthread_mutex_lock(&dev->lock);
    list = dev->idle;
    if (list)
        dev->idle = list->next;
    pthread_mutex_unlock(&dev->lock);
    if (!list)
        return create_list(dev, out);
    result = hg_vk_fail(dev, reset_list(dev, list), "resetting a command buffer");
    if (result != HG_OK)
        hg_vk_list_destroy(dev, list);
    *out = result == HG_OK ? list : NULL;
    return result;
}

hg_result hg_vk_begin(hg_dev *base, void *foreign_cmd, hg_list **out)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    hg_vk_list *list = NULL;
    hg_result result;

    *out = NULL;
    if (foreign_cmd)
        return hg_fail(&base->plan.log, HG_ERR_UNSUPPORTED,
                       "%s: recording into a command buffer of the caller is not offered by this "
                       "version; let headgate submit",
                       base->plan.device.name);
    if (atomic_load(&dev->lost))
        return hg_vk_fail(dev, VK_ERROR_DEVICE_LOST, "begin");
    result = obtain_list(dev, &list);
    if (!list)
        return result;
    result =
        hg_vk_fail(dev, dev->fn.vkBeginCommandBuffer(list->command, &info), "vkBeginCommandBuffer");
    if (result != HG_OK) {
        hg_vk_list_destroy(dev, list);
        return result;
    }
    global_barrier(list, work_stages, all_accesses);
    pthread_mutex_lock(&dev->lock);
    dev->open_lists++;
    pthread_mutex_unlock(&dev->lock);
    *out = &list->base;
    return HG_OK;
}

static hg_result grow_pools(hg_vk_dev *dev, hg_vk_list *list)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, HG_VK_POOL_SETS * HG_BINDS_MAX};
    VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = HG_VK_POOL_SETS,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    VkDescriptorPool pool;

    if (list->pool_count == list->pool_room) {
        uint32_t room = list->pool_room ? list->pool_room * 2 : 4;
        VkDescriptorPool *grown = realloc(list->pools, room * sizeof(VkDescriptorPool));

        if (!grown) {
            list_out_of_memory(list);
            return list->result;
        }
        list->pools = grown;
        list->pool_room = room;
    }
    list_fail(list, dev->fn.vkCreateDescriptorPool(dev->handle, &info, NULL, &pool),
              "vkCreateDescriptorPool");
    if (list->result == HG_OK)
        list->pools[list->pool_count++] = pool;
    return list->result;
}

/* VK_NULL_HANDLE: the reason is in list->result. */
static VkDescriptorSet allocate_set(hg_vk_dev *dev, hg_vk_list *list, const hg_vk_pipe *pipe)
{
    VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorSetCount = 1,
        .pSetLayouts = &pipe->set_layout,
    };
    VkDescriptorSet set = VK_NULL_HANDLE;

    if (list->pool_sets == HG_VK_POOL_SETS) {
        list->pool++;
        list->pool_sets = 0;
    }
    if (list->pool == list->pool_count && grow_pools(dev, list) != HG_OK)
        return VK_NULL_HANDLE;
    info.descriptorPool = list->pools[list->pool];
    list_fail(list, dev->fn.vkAllocateDescriptorSets(dev->handle, &info, &set),
              "vkAllocateDescriptorSets");
    list->pool_sets++;
    return list->result == HG_OK ? set : VK_NULL_HANDLE;
}

static void check_range(const hg_vk_dev *dev, hg_bind bind, uint64_t align_bytes)
{
    (void)dev, (void)bind, (void)align_bytes;
    assert(bind.mem && bind.mem->dev == &dev->base);
    assert(bind.size_bytes > 0 && bind.offset_bytes % align_bytes == 0);
    assert(bind.offset_bytes <= bind.mem->size_bytes &&
           bind.size_bytes <= bind.mem->size_bytes - bind.offset_bytes);
}

static VkDescriptorBufferInfo buffer_range(hg_bind bind)
{
    const hg_vk_mem *mem = (const hg_vk_mem *)bind.mem;

    return (VkDescriptorBufferInfo){
        .buffer = mem->block->buffer,
        .offset = mem->offset_bytes + bind.offset_bytes,
        .range = (bind.size_bytes + 3) & ~UINT64_C(3), /* kernels read 16-bit data in words */
    };
}

void hg_vk_dispatch(hg_list *base, hg_pipe *base_pipe, const void *params, const hg_bind *binds,
                    uint32_t bind_count, const uint32_t groups[3])
{
    hg_vk_list *list = (hg_vk_list *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;
    const hg_vk_pipe *pipe = (const hg_vk_pipe *)base_pipe;
    VkDescriptorBufferInfo ranges[HG_BINDS_MAX];
    VkWriteDescriptorSet writes[HG_BINDS_MAX];
    VkDescriptorSet set = VK_NULL_HANDLE;
    int push = (dev->choice.features & HG_FEATURE_PUSH_DESCRIPTOR) != 0;

    assert(bind_count == pipe->bind_count);
    if (list->result != HG_OK || groups[0] == 0 || groups[1] == 0 || groups[2] == 0)
        return;
    if (!push && bind_count > 0) {
        set = allocate_set(dev, list, pipe);
        if (!set)
            return;
    }
    for (uint32_t i = 0; i < bind_count; i++) {
        check_range(dev, binds[i], HG_VK_ALIGN_BYTES);
        ranges[i] = buffer_range(binds[i]);
        assert(ranges[i].range <= dev->facts.properties.limits.maxStorageBufferRange);
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &ranges[i],
        };
    }
    dev->fn.vkCmdBindPipeline(list->command, VK_PIPELINE_BIND_POINT_COMPUTE, pipe->handle);
    if (bind_count > 0 && push) {
        dev->fn.vkCmdPushDescriptorSetKHR(list->command, VK_PIPELINE_BIND_POINT_COMPUTE,
                                          pipe->layout, 0, bind_count, writes);
    } else if (bind_count > 0) {
        dev->fn.vkUpdateDescriptorSets(dev->handle, bind_count, writes, 0, NULL);
        dev->fn.vkCmdBindDescriptorSets(list->command, VK_PIPELINE_BIND_POINT_COMPUTE, pipe->layout,
                                        0, 1, &set, 0, NULL);
    }
    if (pipe->param_bytes > 0)
        dev->fn.vkCmdPushConstants(list->command, pipe->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   pipe->param_bytes, params);
    dev->fn.vkCmdDispatch(list->command, groups[0], groups[1], groups[2]);
}

/* The seam does not say whether the commands are dispatches or copies, so both stages are named. A
 * write after a read is made a full dependency too: some drivers drop barriers without an access.
 */
void hg_vk_barrier(hg_list *base, const hg_hazard *hazards, uint32_t count)
{
    hg_vk_list *list = (hg_vk_list *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;
    VkBufferMemoryBarrier barriers[BARRIER_RANGES_MAX];

    if (list->result != HG_OK || count == 0)
        return;
    if (count > BARRIER_RANGES_MAX) {
        global_barrier(list, work_stages, all_accesses);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorBufferInfo range = buffer_range(hazards[i].range);

        check_range(dev, hazards[i].range, 1);
        barriers[i] = (VkBufferMemoryBarrier){
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .srcAccessMask = hazards[i].before & HG_ACCESS_W ? write_accesses : all_accesses,
            .dstAccessMask = all_accesses,
            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .buffer = range.buffer,
            .offset = range.offset,
            .size = range.range,
        };
    }
    dev->fn.vkCmdPipelineBarrier(list->command, work_stages, work_stages, 0, 0, NULL, count,
                                 barriers, 0, NULL);
}

void hg_vk_copy(hg_list *base, hg_bind dst, hg_bind src)
{
    hg_vk_list *list = (hg_vk_list *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;
    VkDescriptorBufferInfo to = buffer_range(dst), from = buffer_range(src);
    VkBufferCopy region = {.srcOffset = from.offset, .dstOffset = to.offset, .size = to.range};

    check_range(dev, dst, 4);
    check_range(dev, src, 4);
    assert(dst.size_bytes == src.size_bytes && dst.size_bytes % 4 == 0);
    if (list->result == HG_OK)
        dev->fn.vkCmdCopyBuffer(list->command, from.buffer, to.buffer, 1, &region);
}

void hg_vk_fill(hg_list *base, hg_bind dst, uint32_t word)
{
    hg_vk_list *list = (hg_vk_list *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;
    VkDescriptorBufferInfo to = buffer_range(dst);

    check_range(dev, dst, 4);
    assert(dst.size_bytes % 4 == 0);
    if (list->result == HG_OK)
        dev->fn.vkCmdFillBuffer(list->command, to.buffer, to.offset, to.range, word);
}

/* Room for slot, and a query pool that has been reset in this list. */
static hg_result need_slot(hg_vk_dev *dev, hg_vk_list *list, uint32_t slot)
{
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = HG_VK_TIMESTAMPS_MAX,
    };

    if (slot >= list->slot_room) {
        uint32_t room = list->slot_room ? list->slot_room : 64;
        uint64_t *ticks;
        uint8_t *marked;

        while (room <= slot)
            room *= 2;
        ticks = realloc(list->ticks, room * sizeof(*ticks));
        list->ticks = ticks ? ticks : list->ticks;
        marked = ticks ? realloc(list->marked, room) : NULL;
        list->marked = marked ? marked : list->marked;
        if (!marked) {
            list_out_of_memory(list);
            return list->result;
        }
        list->slot_room = room;
    }
    if (!list->queries) {
        list_fail(list, dev->fn.vkCreateQueryPool(dev->handle, &info, NULL, &list->queries),
                  "vkCreateQueryPool");
        if (list->result != HG_OK)
            list->queries = VK_NULL_HANDLE;
    }
    return list->result;
}

static void write_timestamp(hg_vk_dev *dev, hg_vk_list *list, uint32_t slot)
{
    assert(slot < HG_VK_TIMESTAMPS_MAX);
    if (need_slot(dev, list, slot) != HG_OK)
        return;
    if (list->slot_count == 0) {
        dev->fn.vkCmdResetQueryPool(list->command, list->queries, 0, HG_VK_TIMESTAMPS_MAX);
        list->first_slot = slot;
    }
    for (; list->slot_count <= slot; list->slot_count++) {
        list->ticks[list->slot_count] = 0;
        list->marked[list->slot_count] = 0;
    }
    assert(!list->marked[slot]); /* a query is written once per reset */
    list->marked[slot] = 1;
    dev->fn.vkCmdWriteTimestamp(list->command, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, list->queries,
                                slot);
}

/* A label lasts until the next one, or the end of the list: tools show the commands between as a
 * group. */
static void set_label(hg_vk_dev *dev, hg_vk_list *list, const char *label)
{
    VkDebugUtilsLabelEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
        .pLabelName = label,
    };

    if (!dev->instance->debug_utils)
        return;
    if (list->labelled)
        dev->instance->fn.vkCmdEndDebugUtilsLabelEXT(list->command);
    if (label)
        dev->instance->fn.vkCmdBeginDebugUtilsLabelEXT(list->command, &info);
    list->labelled = label != NULL;
}

void hg_vk_mark(hg_list *base, const char *label, uint32_t timestamp_slot)
{
    hg_vk_list *list = (hg_vk_list *)base;
    hg_vk_dev *dev = (hg_vk_dev *)base->dev;

    if (list->result != HG_OK)
        return;
    if (label)
        set_label(dev, list, label);
    if (timestamp_slot != UINT32_MAX && dev->choice.timestamp_bits > 0)
        write_timestamp(dev, list, timestamp_slot);
}

/* Everything written becomes visible to the host that waits for the point. */
hg_result hg_vk_list_end(hg_vk_list *list)
{
    hg_vk_dev *dev = (hg_vk_dev *)list->base.dev;

    set_label(dev, list, NULL);
    global_barrier(list, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    list_fail(list, dev->fn.vkEndCommandBuffer(list->command), "vkEndCommandBuffer");
    return list->result;
}
