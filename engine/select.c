/* SPDX-License-Identifier: MIT */
/* Our own stable order of devices, and what a selector picks among them. Pure. */
#include "plan.h"

#include "check.h"
#include "params.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_devices(const void *left, const void *right)
{
    const hg_snapshot *a = left;
    const hg_snapshot *b = right;
    /* The reference stands last among the CPU devices: it is nobody's first choice. */
    const int rank_a = (int)a->type * 4 + (int)a->backend;
    const int rank_b = (int)b->type * 4 + (int)b->backend;
    int order;

    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->driver, b->driver);
    if (order == 0)
        order = strcmp(a->driver_version, b->driver_version);
    if (order == 0)
        order = memcmp(a->device_uuid, b->device_uuid, sizeof(a->device_uuid));
    if (order == 0)
        order = a->backend_index < b->backend_index ? -1 : a->backend_index > b->backend_index;
    return order;
}

void hg_devices_sort(hg_snapshot *devices, uint32_t count)
{
    uint32_t of_kind[3] = {0, 0, 0};

    qsort(devices, count, sizeof(*devices), compare_devices);
    for (uint32_t i = 0; i < count; i++) {
        hg_snapshot *d = &devices[i];

        d->struct_size = sizeof(*d);
        d->index = i;
        if (d->backend == HG_BACKEND_REFERENCE)
            snprintf(d->selector, sizeof(d->selector), "ref");
        else
            snprintf(d->selector, sizeof(d->selector), "%s:%u",
                     d->backend == HG_BACKEND_VULKAN ? "vk" : "cl", of_kind[d->backend]++);
    }
}

/* How much we like a device by default: hardware first, then OpenCL on the CPU (the faster way to
 * use a processor), then Vulkan on the CPU, then the reference. Smaller is better. */
static int default_rank(const hg_device_info *d)
{
    if (d->type != HG_DEVICE_CPU)
        return (int)d->type;
    if (d->backend == HG_BACKEND_OPENCL)
        return 10;
    return d->backend == HG_BACKEND_VULKAN ? 11 : 12;
}

static int is_uuid_prefix(const hg_device_info *d, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (; *hex; hex++) {
        char c = (char)tolower((unsigned char)*hex);
        unsigned nibble;

        if (c == '-')
            continue;
        if (n >= 32 || !isxdigit((unsigned char)c))
            return 0;
        nibble = (n & 1) ? d->device_uuid[n / 2] & 15u : d->device_uuid[n / 2] >> 4;
        if (digits[nibble] != c)
            return 0;
        n++;
    }
    return n >= 1;
}

static int contains_folded(const char *text, const char *part)
{
    const size_t length = strlen(part);

    for (; *text; text++) {
        size_t i = 0;

        while (i < length && text[i] &&
               tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length)
            return 1;
    }
    return length == 0;
}

static int is_hex_word(const char *text)
{
    size_t n = 0;

    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text))
            return 0;
        n++;
    }
    return n >= 8 && n <= 32;
}

static int is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n > 0 && n <= 6 && text[n] == '\0';
}

static int matches(const hg_device_info *d, const char *selector)
{
    if (is_number(selector))
        return d->index == (uint32_t)strtoul(selector, NULL, 10);
    if (strncmp(selector, "vk:", 3) == 0 || strncmp(selector, "cl:", 3) == 0 ||
        strcmp(selector, "ref") == 0)
        return strcmp(d->selector, selector) == 0;
    if (strncmp(selector, "uuid:", 5) == 0)
        return is_uuid_prefix(d, selector + 5);
    if (strncmp(selector, "name:", 5) == 0)
        return contains_folded(d->name, selector + 5) || contains_folded(d->driver, selector + 5);
    return is_hex_word(selector) && is_uuid_prefix(d, selector);
}

static void list_devices(const hg_log *log, const hg_device_info *devices, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        hg_say(log, HG_LOG_ERROR, "  device %u: %s, %s (%s %s)%s%s", devices[i].index,
               devices[i].selector, devices[i].name, devices[i].driver, devices[i].driver_version,
               devices[i].unusable[0] ? ", unusable: " : "", devices[i].unusable);
}

static hg_result select_default(const hg_log *log, const hg_device_info *devices, uint32_t count,
                                uint32_t *found)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++)
        if (!devices[i].unusable[0] &&
            (best == UINT32_MAX || default_rank(&devices[i]) < default_rank(&devices[best])))
            best = i;
    if (best == UINT32_MAX)
        return hg_fail(log, HG_ERR_NO_DEVICE, "no device can be used; `headgate devices` says why");
    *found = best;
    return HG_OK;
}

static hg_result select_one(const hg_log *log, const hg_device_info *devices, uint32_t count,
                            const char *selector, uint32_t *found)
{
    uint32_t hits = 0, hit = 0;

    if (!selector || !selector[0])
        return select_default(log, devices, count, found);
    for (uint32_t i = 0; i < count; i++)
        if (matches(&devices[i], selector)) {
            hits++;
            hit = i;
        }
    if (hits != 1) {
        hg_fail(log, HG_ERR_NO_DEVICE,
                hits ? "device '%s' fits more than one device; name one of:"
                     : "no device '%s'; expected N, vk:N, cl:N, ref, uuid:HEX or name:PART out of:",
                selector);
        list_devices(log, devices, count);
        return HG_ERR_NO_DEVICE;
    }
    if (devices[hit].unusable[0])
        return hg_fail(log, HG_ERR_NO_DEVICE, "device %s (%s) cannot be used: %s", selector,
                       devices[hit].name, devices[hit].unusable);
    *found = hit;
    return HG_OK;
}

hg_result hg_device_select(const hg_log *log, const hg_device_info *devices, uint32_t count,
                           const char *selector, uint32_t *found)
{
    const size_t stride = devices && count ? hg_struct_stride(devices, sizeof(*devices)) : 0;
    hg_device_info *own;
    hg_result res;

    if (found)
        *found = 0;
    if (!found || (!devices && count))
        return hg_fail(log, HG_ERR_ARGUMENT, "hg_device_select: devices or found is NULL");
    own = calloc((size_t)count + 1, sizeof(*own));
    if (!own)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "no memory for a list of %u devices", count);
    for (uint32_t i = 0; i < count; i++)
        hg_struct_in(&own[i], sizeof(own[i]), (const char *)devices + i * stride);
    res = select_one(log, own, count, selector, found);
    free(own);
    return res;
}
