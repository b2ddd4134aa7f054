/* SPDX-License-Identifier: MIT */
/* The devices of this machine, asked in a child: a driver that crashes while it is listed takes
 * the list with it, not the program, and the parent stays free of drivers (child.h). */
#ifndef HG_TOOLS_DEVICE_LIST_H
#define HG_TOOLS_DEVICE_LIST_H

#include <headgate/engine.h>

/* In our stable order; freed by the caller. HG_ERR_DRIVER: the listing crashed or hung. */
hg_result hg_device_list(hg_device_info **devices, uint32_t *count);

#endif
