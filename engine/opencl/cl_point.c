/* SPDX-License-Identifier: MIT */
/* Points: what has been submitted, what has passed, when, and whether the device still answers. */
#include "cl.h"

#include "check.h"
#include "os.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/* Submits that have passed and whose timestamps can still be asked for: the newest so many that
 * have any. */
enum { STAMPED_KEPT = 64 };
/* Between two looks of a wait with an end: short at first, for a short submit; then cheap. */
enum { NAP_SHORTEST_NS = 20000, NAP_LONGEST_NS = 1000000 };

hg_cl_point *hg_cl_point_create(uint32_t events, uint32_t stamps)
{
    hg_cl_point *p = calloc(1, sizeof(*p));

    assert(events > 0);
    if (!p)
        return NULL;
    p->events = calloc(events, sizeof(cl_event));
    p->stamps = calloc(stamps ? stamps : 1, sizeof(*p->stamps));
    if (!p->events || !p->stamps) {
        free(p->events);
        free(p->stamps);
        free(p);
        return NULL;
    }
    return p;
}

void hg_cl_point_free(hg_cl_dev *dev, hg_cl_point **point)
{
    hg_cl_point *p = *point;

    if (!p)
        return;
    for (uint32_t i = 0; i < p->event_count; i++)
        dev->cl.clReleaseEvent(p->events[i]);
    free(p->events);
    free(p->stamps);
    free(p);
    *point = NULL;
}

void hg_cl_point_append(hg_cl_dev *dev, hg_cl_point *point)
{
    assert(point->point > dev->submitted && point->event_count > 0);
    dev->submitted = point->point;
    if (dev->last)
        dev->last->next = point;
    else
        dev->first = point;
    dev->last = point;
}

static cl_event end_of(const hg_cl_point *p)
{
    return p->events[p->event_count - 1];
}

static hg_cl_point *first_in_flight(const hg_cl_dev *dev)
{
    hg_cl_point *p = dev->first;

    while (p && p->point <= dev->passed)
        p = p->next;
    return p;
}

static hg_cl_point *find(const hg_cl_dev *dev, uint64_t point)
{
    hg_cl_point *p = dev->first;

    while (p && p->point != point)
        p = p->next;
    return p;
}

static hg_result lost_earlier(const hg_cl_dev *dev)
{
    return hg_fail(&dev->base.plan.log, HG_ERR_DEVICE_LOST,
                   "OpenCL device %s was lost earlier: close it", dev->base.plan.device.name);
}

/* Drops the passed points without timestamps, and of those with some the oldest. */
static void forget(hg_cl_dev *dev)
{
    hg_cl_point **at = &dev->first;
    hg_cl_point *last = NULL;
    uint32_t stamped = 0;

    for (const hg_cl_point *p = dev->first; p && p->point <= dev->passed; p = p->next)
        stamped += p->stamp_count > 0;
    while (*at) {
        hg_cl_point *p = *at;

        if (p->point <= dev->passed && (p->stamp_count == 0 || stamped > STAMPED_KEPT)) {
            stamped -= p->stamp_count > 0;
            *at = p->next;
            hg_cl_point_free(dev, &p);
        } else {
            last = p;
            at = &p->next;
        }
    }
    dev->last = last;
}

hg_result hg_cl_reap(hg_cl_dev *dev)
{
    const hg_log *log = &dev->base.plan.log;
    const uint64_t before = dev->passed;
    hg_cl_point *p;

    if (dev->lost)
        return lost_earlier(dev);
    while ((p = first_in_flight(dev)) != NULL) {
        cl_int status = CL_QUEUED;
        const cl_int code = dev->cl.clGetEventInfo(end_of(p), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                   sizeof(status), &status, NULL);

        if (code != CL_SUCCESS)
            return hg_cl_fail(log, code,
                              "OpenCL device %s does not say whether submit %llu is done",
                              dev->base.plan.device.name, (unsigned long long)p->point);
        if (status < 0) {
            dev->lost = 1;
            return hg_fail(log, HG_ERR_DEVICE_LOST,
                           "OpenCL device %s gave up the work of submit %llu: %s (%d)",
                           dev->base.plan.device.name, (unsigned long long)p->point,
                           hg_cl_error_name(status), (int)status);
        }
        if (status != CL_COMPLETE)
            break;
        dev->passed = p->point;
    }
    if (dev->passed != before) {
        forget(dev);
        hg_cl_memory_reap(dev, dev->passed);
    }
    return HG_OK;
}

static hg_result wait_for_ever(hg_cl_dev *dev, uint64_t point)
{
    const hg_cl_point *p = find(dev, point);
    hg_result res = HG_OK;

    while (dev->passed < point) {
        cl_event end;
        cl_int code;

        assert(p);
        end = end_of(p);
        code = dev->cl.clWaitForEvents(1, &end);
        /* The event itself knows best whether the work or the call went wrong. */
        HG_TRY(hg_cl_reap(dev));
        if (code != CL_SUCCESS)
            return hg_cl_fail(&dev->base.plan.log, code,
                              "waiting for submit %llu on OpenCL device %s",
                              (unsigned long long)point, dev->base.plan.device.name);
        /* The queue is in order, but the status of an earlier submit may be told later. */
        p = first_in_flight(dev);
    }
out:
    return res;
}

hg_result hg_cl_wait(hg_dev *base, uint64_t point, uint64_t timeout_ns)
{
    hg_cl_dev *dev = (hg_cl_dev *)base;
    uint64_t nap_ns = NAP_SHORTEST_NS, start_ns = 0;
    hg_result res = HG_OK;

    assert(point <= dev->submitted);
    if (dev->lost)
        return lost_earlier(dev);
    if (point <= dev->passed)
        return HG_OK;
    if (timeout_ns == UINT64_MAX)
        return wait_for_ever(dev, point);
    start_ns = hg_os_clock_ns();
    for (;;) {
        struct timespec nap = {0};
        uint64_t spent_ns;

        HG_TRY(hg_cl_reap(dev));
        if (point <= dev->passed)
            break;
        spent_ns = hg_os_clock_ns() - start_ns;
        if (spent_ns >= timeout_ns)
            return HG_TIMEOUT;
        nap.tv_nsec = (long)(timeout_ns - spent_ns < nap_ns ? timeout_ns - spent_ns : nap_ns);
        nanosleep(&nap, NULL);
        nap_ns = nap_ns * 2 < NAP_LONGEST_NS ? nap_ns * 2 : NAP_LONGEST_NS;
    }
out:
    return res;
}

hg_result hg_cl_times(hg_dev *base, uint64_t point, uint64_t *ns, uint32_t count)
{
    hg_cl_dev *dev = (hg_cl_dev *)base;
    const hg_cl_point *p;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < count; i++)
        ns[i] = 0;
    HG_TRY(hg_cl_wait(base, point, 0));
    p = find(dev, point);
    for (uint32_t i = 0; p && i < p->stamp_count; i++) {
        cl_ulong end = 0;
        cl_int code;

        if (p->stamps[i].slot >= count)
            continue;
        code = dev->cl.clGetEventProfilingInfo(p->events[p->stamps[i].event],
                                               CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
        if (code != CL_SUCCESS)
            return hg_cl_fail(&dev->base.plan.log, code,
                              "no timestamps of submit %llu on OpenCL device %s",
                              (unsigned long long)point, dev->base.plan.device.name);
        ns[p->stamps[i].slot] = end;
    }
out:
    return res;
}
