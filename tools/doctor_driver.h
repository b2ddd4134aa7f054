/* SPDX-License-Identifier: MIT */
/* What Vulkan drivers, OpenCL drivers and layers have in common: a file that names a library, a
 * probe of it, and what mends it when it does not work. */
#ifndef HG_TOOLS_DOCTOR_DRIVER_H
#define HG_TOOLS_DOCTOR_DRIVER_H

#include "doctor.h"
#include "doctor_probe.h"
#include "doctor_search.h"

typedef struct hg_driver {
    const char *section;
    const char *file;     /* the manifest, vendor file or library that was found */
    const char *variable; /* that named it; NULL: found in a folder */
    const char *library;  /* that it names */
    const hg_probe *probe;
} hg_driver;

/* Debian's package with a driver, from the name of its file; NULL: not known. */
const char *hg_driver_package(const char *file, int opencl);
/* What to do about a file that is no use. reinstall: its package may bring a better one. */
const char *hg_driver_mend(const hg_doctor *doctor, const hg_driver *driver, int opencl,
                           int reinstall, char text[HG_COMMAND_SIZE]);
/* Adds the row of a driver that does not work; 0: it works, and no row was added. */
int hg_driver_fault(hg_doctor *doctor, const hg_driver *driver, int opencl);

#endif
