/* SPDX-License-Identifier: MIT */
/*
 * Points: the order in which lists run and how one waits for them. A point is a value of one
 * timeline semaphore, or the fence of its list where those are absent or switched off; above this
 * file nobody can tell. Also what happens when a point has passed: timestamps are read, lists and
 * memory reused.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vk.h"

uint64_t hg_vk_clock_extend(uint64_t last, uint64_t ticks, uint32_t bits)
{
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t ahead = (ticks - last) & mask;

    /* More than half a turn ahead is really behind. */
    if (ahead > mask / 2)
        return last - ((last - ticks) & mask);
    return last + ahead;
}

static uint64_t ticks_to_ns(hg_vk_dev *dev, uint64_t ticks)
{
    /* One second after the first timestamp of the device: never 0, small enough for a double. */
    double period = (double)dev->facts.properties.limits.timestampPeriod;
    double ns = 1e9 + (double)(int64_t)(ticks - dev->clock_origin) * period;

    return ns < 1.0 ? 1 : (uint64_t)ns;
}

/* The oldest entry of the ring makes room; its timestamps can no longer be asked for. */
static hg_vk_times *next_times(hg_vk_dev *dev)
{
    hg_vk_times *times = &dev->times[dev->times_next];

    dev->times_next = (dev->times_next + 1) % HG_VK_TIMES_KEPT;
    if (times->point > dev->times_forgotten)
        dev->times_forgotten = times->point;
    free(times->ns);
    *times = (hg_vk_times){0};
    return times;
}

static void read_timestamps(hg_vk_dev *dev, hg_vk_list *list)
{
    uint32_t bits = dev->choice.timestamp_bits;
    hg_vk_times *times;
    VkResult result = VK_SUCCESS;

    for (uint32_t i = 0, end; i < list->slot_count && result == VK_SUCCESS; i = end) {
        end = i + 1;
        if (!list->marked[i])
            continue;
        while (end < list->slot_count && list->marked[end])
            end++;
        result = dev->fn.vkGetQueryPoolResults(
            dev->handle, list->queries, i, end - i, (end - i) * sizeof(uint64_t), &list->ticks[i],
            sizeof(uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    }
    times = next_times(dev);
    times->point = list->point;
    if (result != VK_SUCCESS) { /* times() then answers that they are gone */
        if (result == VK_ERROR_DEVICE_LOST)
            atomic_store(&dev->lost, 1);
        hg_say(&dev->base.plan.log, HG_LOG_WARNING, "%s: timestamps are lost: %s",
               dev->base.plan.device.name, hg_vk_result_name(result));
        times->point = 0;
        if (list->point > dev->times_forgotten)
            dev->times_forgotten = list->point;
        return;
    }
    if (!dev->clock_started) {
        dev->clock_started = 1;
        dev->clock_ticks = dev->clock_origin = list->ticks[list->first_slot];
    }
    dev->clock_ticks = hg_vk_clock_extend(dev->clock_ticks, list->ticks[list->first_slot], bits);
    for (uint32_t i = 0; i < list->slot_count; i++)
        list->ticks[i] =
            list->marked[i]
                ? ticks_to_ns(dev, hg_vk_clock_extend(dev->clock_ticks, list->ticks[i], bits))
                : 0;
    /* The list gets new room when it is marked again. */
    times->ns = list->ticks;
    times->count = list->slot_count;
    list->ticks = NULL;
    list->slot_room = 0;
}

/* How far the device has come. Fences: in the order of submission. With the lock held. */
static VkResult poll(hg_vk_dev *dev)
{
    VkResult result = VK_SUCCESS;
    uint64_t value = 0;

    if (dev->completed == dev->submitted)
        return VK_SUCCESS;
    if (dev->timeline) {
        result = dev->fn.vkGetSemaphoreCounterValue(dev->handle, dev->timeline, &value);
        if (result == VK_SUCCESS && value > dev->completed)
            dev->completed = value;
        return result;
    }
    for (hg_vk_list *list = dev->flying; list; list = list->next) {
        if (list->point <= dev->completed)
            continue;
        result = dev->fn.vkGetFenceStatus(dev->handle, list->fence);
        if (result != VK_SUCCESS)
            break;
        dev->completed = list->point;
    }
    return result == VK_NOT_READY ? VK_SUCCESS : result;
}

/* Reuses what has passed. A list whose fence a thread still waits on stays until the next time. */
static void retire(hg_vk_dev *dev)
{
    hg_vk_list **link = &dev->flying;

    while (*link && (*link)->point <= dev->completed) {
        hg_vk_list *list = *link;

        if (list->slot_count > 0 && !list->harvested)
            read_timestamps(dev, list);
        list->harvested = 1;
        if (list->waiters > 0) {
            link = &list->next;
            continue;
        }
        *link = list->next;
        list->next = dev->idle;
        dev->idle = list;
    }
    hg_vk_memory_collect(dev);
}

/* Ends the recording of one list; what was released meanwhile may have been used by it. Lock held.
 */
static void close_list(hg_vk_dev *dev)
{
    assert(dev->open_lists > 0);
    dev->open_lists--;
    if (dev->open_lists > 0)
        return;
    for (hg_vk_mem *mem = dev->released; mem; mem = mem->next)
        if (mem->last_point == UINT64_MAX)
            mem->last_point = dev->submitted;
}

static VkResult queue_list(hg_vk_dev *dev, hg_vk_list *list)
{
    uint64_t value = dev->submitted + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &list->command,
    };

    if (dev->timeline) {
        info.pNext = &timeline;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &dev->timeline;
    }
    return dev->fn.vkQueueSubmit(dev->queue, 1, &info, list->fence);
}

static hg_result submit_list(hg_vk_dev *dev, hg_vk_list *list)
{
    hg_vk_list **tail = &dev->flying;
    hg_result result = dev->pending;

    dev->pending = HG_OK;
    if (result == HG_OK && atomic_load(&dev->lost))
        result = hg_vk_fail(dev, VK_ERROR_DEVICE_LOST, "submit");
    if (result == HG_OK)
        result = hg_vk_fail(dev, queue_list(dev, list), "vkQueueSubmit");
    if (result != HG_OK)
        return result;
    list->point = ++dev->submitted;
    while (*tail)
        tail = &(*tail)->next;
    list->next = NULL;
    *tail = list;
    return HG_OK;
}

hg_result hg_vk_submit(hg_list **handle, const hg_sync *wait, uint32_t wait_count,
                       const hg_sync *signal, uint32_t signal_count, uint64_t *point)
{
    hg_vk_list *list = (hg_vk_list *)*handle;
    hg_vk_dev *dev = (hg_vk_dev *)list->base.dev;
    hg_result result;

    (void)wait, (void)signal;
    *handle = NULL;
    *point = 0;
    result = hg_vk_list_end(list);
    if (result == HG_OK && wait_count + signal_count > 0)
        result = hg_fail(&dev->base.plan.log, HG_ERR_UNSUPPORTED,
                         "%s: foreign semaphores are not offered by this version",
                         dev->base.plan.device.name);
    pthread_mutex_lock(&dev->lock);
    if (result == HG_OK)
        result = submit_list(dev, list);
    if (result == HG_OK)
        *point = list->point;
    close_list(dev);
    if (poll(dev) == VK_ERROR_DEVICE_LOST)
        atomic_store(&dev->lost, 1);
    retire(dev);
    pthread_mutex_unlock(&dev->lock);
    if (result != HG_OK)
        hg_vk_list_destroy(dev, list);
    return result;
}

void hg_vk_discard(hg_list **handle)
{
    hg_vk_list *list = (hg_vk_list *)*handle;
    hg_vk_dev *dev;

    *handle = NULL;
    if (!list)
        return;
    dev = (hg_vk_dev *)list->base.dev;
    pthread_mutex_lock(&dev->lock);
    close_list(dev);
    retire(dev);
    pthread_mutex_unlock(&dev->lock);
    hg_vk_list_destroy(dev, list);
}

static VkResult wait_timeline(hg_vk_dev *dev, uint64_t point, uint64_t timeout_ns)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &dev->timeline,
        .pValues = &point,
    };
    VkResult result = dev->fn.vkWaitSemaphores(dev->handle, &info, timeout_ns);

    pthread_mutex_lock(&dev->lock);
    if (result == VK_SUCCESS && dev->completed < point)
        dev->completed = point;
    pthread_mutex_unlock(&dev->lock);
    return result;
}

static VkResult wait_fence(hg_vk_dev *dev, uint64_t point, uint64_t timeout_ns)
{
    hg_vk_list *list;
    VkResult result = VK_SUCCESS;

    pthread_mutex_lock(&dev->lock);
    list = dev->flying;
    while (list && list->point < point)
        list = list->next;
    if (list)
        list->waiters++;
    pthread_mutex_unlock(&dev->lock);
    if (!list) /* retired since the caller looked */
        return VK_SUCCESS;
    result = dev->fn.vkWaitForFences(dev->handle, 1, &list->fence, VK_TRUE, timeout_ns);
    pthread_mutex_lock(&dev->lock);
    list->waiters--;
    if (result == VK_SUCCESS && dev->completed < point)
        dev->completed = point;
    pthread_mutex_unlock(&dev->lock);
    return result;
}

hg_result hg_vk_wait(hg_dev *base, uint64_t point, uint64_t timeout_ns)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    VkResult result = VK_SUCCESS;
    uint64_t submitted, completed;

    if (atomic_load(&dev->lost))
        return hg_vk_fail(dev, VK_ERROR_DEVICE_LOST, "wait");
    pthread_mutex_lock(&dev->lock);
    submitted = dev->submitted;
    completed = dev->completed;
    pthread_mutex_unlock(&dev->lock);
    if (point > submitted)
        return hg_fail(&base->plan.log, HG_ERR_ARGUMENT,
                       "%s: point %llu was never submitted; the last one is %llu",
                       base->plan.device.name, (unsigned long long)point,
                       (unsigned long long)submitted);
    if (point > completed)
        result = dev->timeline ? wait_timeline(dev, point, timeout_ns)
                               : wait_fence(dev, point, timeout_ns);
    if (result == VK_TIMEOUT || result == VK_NOT_READY)
        return HG_TIMEOUT;
    if (result != VK_SUCCESS)
        return hg_vk_fail(dev, result, "waiting for the device");
    pthread_mutex_lock(&dev->lock);
    result = poll(dev);
    retire(dev);
    pthread_mutex_unlock(&dev->lock);
    return hg_vk_fail(dev, result, "asking how far the device is");
}

static hg_result copy_times(hg_vk_dev *dev, uint64_t point, uint64_t *ns, uint32_t count)
{
    if (point == 0 || point > dev->completed)
        return HG_ERR_ARGUMENT;
    for (uint32_t i = 0; i < HG_VK_TIMES_KEPT; i++)
        if (dev->times[i].point == point) {
            uint32_t known = dev->times[i].count < count ? dev->times[i].count : count;

            memcpy(ns, dev->times[i].ns, known * sizeof(*ns));
            return HG_OK;
        }
    return point > dev->times_forgotten ? HG_OK : HG_ERR_ARGUMENT;
}

hg_result hg_vk_times_get(hg_dev *base, uint64_t point, uint64_t *ns, uint32_t count)
{
    hg_vk_dev *dev = (hg_vk_dev *)base;
    hg_result result;

    memset(ns, 0, count * sizeof(*ns));
    if (atomic_load(&dev->lost))
        return hg_vk_fail(dev, VK_ERROR_DEVICE_LOST, "times");
    pthread_mutex_lock(&dev->lock);
    result = copy_times(dev, point, ns, count);
    pthread_mutex_unlock(&dev->lock);
    if (result == HG_OK)
        return HG_OK;
    return hg_fail(&base->plan.log, result,
                   "%s: no timestamps of point %llu: wait for it first, and ask before %d more "
                   "submits with timestamps have passed",
                   base->plan.device.name, (unsigned long long)point, HG_VK_TIMES_KEPT);
}

void hg_vk_submit_close(hg_vk_dev *dev)
{
    if (dev->submitted > 0) {
        VkResult result = dev->fn.vkDeviceWaitIdle(dev->handle);

        if (result != VK_SUCCESS && !atomic_load(&dev->lost))
            hg_vk_fail(dev, result, "vkDeviceWaitIdle");
    }
    while (dev->flying) {
        hg_vk_list *list = dev->flying;

        dev->flying = list->next;
        hg_vk_list_destroy(dev, list);
    }
    while (dev->idle) {
        hg_vk_list *list = dev->idle;

        dev->idle = list->next;
        hg_vk_list_destroy(dev, list);
    }
    for (uint32_t i = 0; i < HG_VK_TIMES_KEPT; i++)
        free(dev->times[i].ns);
}
