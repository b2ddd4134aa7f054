/* SPDX-License-Identifier: MIT */
/* See device_list.h. */
#include "device_list.h"

#include "app.h"
#include "child.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_TIMEOUT_S = 60, DEVICES_MAX = 1024 };

/* The same program on both ends: structs travel as they are. */
static int list(void *user, int fd)
{
    const hg_devices_params params = {.struct_size = sizeof(params)};
    hg_device_info *devices = NULL;
    uint32_t count = 0;
    int code = 1;

    (void)user;
    if (hg_devices(&params, NULL, &count) != HG_OK)
        return 1;
    devices = calloc((size_t)count + 1, sizeof(*devices));
    if (!devices)
        return 1;
    devices[0].struct_size = sizeof(*devices);
    if (hg_devices(&params, devices, &count) == HG_OK &&
        hg_frame_write(fd, "LIST", devices, count * sizeof(*devices)) == HG_OK)
        code = 0;
    free(devices);
    return code;
}

hg_result hg_device_list(hg_device_info **devices, uint32_t *count)
{
    hg_child child;
    hg_frame frame;
    char how[128];
    int ending;
    hg_result res;

    *devices = NULL;
    *count = 0;
    res = hg_child_start(&child, list, NULL);
    if (res != HG_OK)
        return res;
    res = hg_child_next(&child, LIST_TIMEOUT_S, &frame);
    if (res == HG_OK && (strcmp(frame.tag, "LIST") != 0 || frame.bytes % sizeof(**devices) ||
                         frame.bytes / sizeof(**devices) > DEVICES_MAX))
        res = HG_ERR_FILE;
    if (res == HG_OK) {
        *devices = malloc((size_t)frame.bytes + 1);
        res = *devices ? hg_child_read(&child, LIST_TIMEOUT_S, *devices, frame.bytes)
                       : hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a list of devices");
    }
    ending = hg_child_stop(&child, res == HG_OK ? 5 : 0);
    if (res == HG_OK) {
        *count = (uint32_t)(frame.bytes / sizeof(**devices));
        return HG_OK;
    }
    free(*devices);
    *devices = NULL;
    if (res == HG_CANCELLED || res == HG_ERR_HOST_MEMORY)
        return res;
    return hg_message_fail(
        HG_ERR_DRIVER, "a driver failed while devices were listed (%s); `headgate doctor` names it",
        res == HG_TIMEOUT ? "no answer" : hg_child_describe(ending, how));
}

static hg_result each_of_all(const char *suffix, hg_result (*add)(void *user, const char *value),
                             void *user)
{
    hg_device_info *devices = NULL;
    char value[HG_NAME_SIZE];
    uint32_t count = 0;
    hg_result res;

    HG_TRY(hg_device_list(&devices, &count));
    for (uint32_t i = 0; i < count; i++) {
        if (devices[i].unusable[0]) {
            hg_message(HG_LOG_WARNING, "%s (%s) is left out: %s", devices[i].selector,
                       devices[i].name, devices[i].unusable);
            continue;
        }
        snprintf(value, sizeof(value), "%s%s", devices[i].selector, suffix);
        HG_TRY(add(user, value));
    }
out:
    free(devices);
    return res;
}

hg_result hg_device_each(const hg_args *args, hg_option_id option,
                         hg_result (*add)(void *user, const char *value), void *user)
{
    const uint32_t given = hg_args_count(args, option);
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < (given ? given : 1) && res == HG_OK; i++) {
        const char *value = given ? hg_args_value_at(args, option, i) : getenv("HG_DEVICE");
        const int is_all = value && strncmp(value, "all", 3) == 0 &&
                           (value[3] == '\0' || value[3] == '@' || value[3] == '/');

        res = is_all ? each_of_all(value + 3, add, user) : add(user, value);
    }
    return res;
}
