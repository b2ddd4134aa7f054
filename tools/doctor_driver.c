/* SPDX-License-Identifier: MIT */
/* Why a driver does not load, and what mends it. */
#include "doctor_driver.h"

#include <stdio.h>
#include <string.h>

typedef struct package_row {
    const char *part; /* of a file's name */
    const char *name;
} package_row;

const char *hg_driver_package(const char *file, int opencl)
{
    static const package_row vulkan[] = {{"nvidia", "nvidia-vulkan-icd"},
                                         {"lvp", "mesa-vulkan-drivers"},
                                         {"radeon", "mesa-vulkan-drivers"},
                                         {"intel", "mesa-vulkan-drivers"},
                                         {"virtio", "mesa-vulkan-drivers"},
                                         {"nouveau", "mesa-vulkan-drivers"},
                                         {"panfrost", "mesa-vulkan-drivers"},
                                         {"broadcom", "mesa-vulkan-drivers"},
                                         {"freedreno", "mesa-vulkan-drivers"},
                                         {"dzn", "mesa-vulkan-drivers"},
                                         {"asahi", "mesa-vulkan-drivers"},
                                         {"powervr", "mesa-vulkan-drivers"},
                                         {"gfxstream", "mesa-vulkan-drivers"},
                                         {"device_select", "mesa-vulkan-drivers"},
                                         {"MESA_", "mesa-vulkan-drivers"},
                                         {"validation", "vulkan-validationlayers"},
                                         {NULL, NULL}};
    static const package_row open_cl[] = {
        {"pocl", "pocl-opencl-icd"},    {"nvidia", "nvidia-opencl-icd"},
        {"intel", "intel-opencl-icd"},  {"mesa", "mesa-opencl-icd"},
        {"rusticl", "mesa-opencl-icd"}, {"amdocl", "rocm-opencl-icd"},
        {"oclgrind", "oclgrind"},       {NULL, NULL}};
    const char *name = hg_base_name(file);

    for (const package_row *row = opencl ? open_cl : vulkan; row->part; row++) {
        if (strstr(name, row->part))
            return row->name;
    }
    return NULL;
}

static int is_packaged(const char *file)
{
    return strncmp(file, "/usr/share/", 11) == 0 || strncmp(file, "/etc/", 5) == 0;
}

const char *hg_driver_mend(const hg_doctor *doctor, const hg_driver *driver, int opencl,
                           int reinstall, char text[HG_COMMAND_SIZE])
{
    const char *package = hg_driver_package(driver->file, opencl);

    if (driver->variable) {
        snprintf(text, HG_COMMAND_SIZE, "unset %s", driver->variable);
        return text;
    }
    /* The library is the host's: the container's runtime puts it in. */
    if (reinstall && doctor->container[0] && strstr(hg_base_name(driver->file), "nvidia")) {
        snprintf(text, HG_COMMAND_SIZE, "%s run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all IMAGE",
                 strcmp(doctor->container, "podman") == 0 ? "podman" : "docker");
        return text;
    }
    if (reinstall && package && is_packaged(driver->file))
        return hg_doctor_reinstall(doctor, package, text);
    return hg_doctor_put_off(driver->file, text);
}

/* The library's own file when the loader's search would not be needed to find it. */
static const char *foreign(const hg_driver *driver, const char *error, char text[96])
{
    if (strchr(driver->library, '/') && *hg_foreign_library(driver->library, text))
        return text;
    if (!strstr(error, "wrong ELF class"))
        return NULL;
    snprintf(text, 96, "is for %s programs", sizeof(void *) == 8 ? "32-bit" : "64-bit");
    return text;
}

int hg_driver_fault(hg_doctor *doctor, const hg_driver *driver, int opencl)
{
    const char *fail = hg_probe_text(driver->probe, "FAIL");
    const char *miss = hg_probe_text(driver->probe, "MISS");
    const char *name = hg_base_name(driver->file);
    char command[HG_COMMAND_SIZE], text[640], kind[96];

    if (!driver->probe->ended) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, driver->section, name,
                      hg_driver_mend(doctor, driver, opencl, 0, command), "%s %s", driver->library,
                      hg_probe_failure(driver->probe, text));
        return 1;
    }
    if (fail && foreign(driver, fail, kind)) {
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, driver->section, name, NULL,
                      "not for this program: %s %s", driver->library, kind);
        return 1;
    }
    if (fail) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, driver->section, name,
                      hg_driver_mend(doctor, driver, opencl, 1, command), "does not load: %s",
                      fail);
        return 1;
    }
    if (miss) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, driver->section, name,
                      hg_driver_mend(doctor, driver, opencl, 0, command),
                      "is no driver: %s has no %s", driver->library, miss);
        return 1;
    }
    return 0;
}
