/* SPDX-License-Identifier: MIT */
/* The devices of this machine, asked in a child: a driver that crashes while it is listed takes
 * the list with it, not the program, and the parent stays free of drivers (child.h). */
#ifndef HG_TOOLS_DEVICE_LIST_H
#define HG_TOOLS_DEVICE_LIST_H

#include "args.h"

#include <headgate/engine.h>

/* In our stable order; freed by the caller. HG_ERR_DRIVER: the listing crashed or hung. */
hg_result hg_device_list(hg_device_info **devices, uint32_t *count);

/* Every device that the command line names, in order: each value of the option, "all" (also with
 * /TIER and @PRECISION behind it) taken apart into the devices that can be used; HG_DEVICE when
 * none is given, NULL when that is not set either. Up to the first add that fails. */
hg_result hg_device_each(const hg_args *args, hg_option_id option,
                         hg_result (*add)(void *user, const char *value), void *user);

#endif
