/* SPDX-License-Identifier: MIT */
/* GPUs that the machine has, and whether this user may use them: the bus, the kernel's drivers, the
 * files below /dev, groups, containers. */
#include "doctor.h"
#include "doctor_search.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char section[] = "access";

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_INTEL = 0x8086, GROUPS_MAX = 256 };

typedef struct gpu_vendor {
    uint32_t id;
    const char *name;
    const char *part;     /* of its drivers' file names */
    const char *kernel;   /* package with what the kernel needs */
    const char *packages; /* with its drivers */
} gpu_vendor;

static const gpu_vendor vendors[] = {
    {VENDOR_AMD, "AMD", "radeon", "firmware-amd-graphics", "libvulkan1 mesa-vulkan-drivers"},
    {VENDOR_NVIDIA, "NVIDIA", "nvidia", "nvidia-driver",
     "libvulkan1 nvidia-driver nvidia-vulkan-icd"},
    {VENDOR_INTEL, "Intel", "intel", "firmware-misc-nonfree", "libvulkan1 mesa-vulkan-drivers"},
};

static const gpu_vendor *vendor_of(uint32_t id)
{
    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
        if (vendors[i].id == id)
            return &vendors[i];
    }
    return NULL;
}

/* How a container is handed a GPU. */
static const char *run_option(const hg_doctor *doctor, int is_nvidia, char text[HG_COMMAND_SIZE])
{
    const char *how;

    if (strcmp(doctor->container, "podman") == 0)
        how = is_nvidia ? "podman run --device nvidia.com/gpu=all IMAGE"
                        : "podman run --device /dev/dri --group-add keep-groups IMAGE";
    else if (strcmp(doctor->container, "lxc") == 0)
        how = "lxc config device add CONTAINER gpu gpu";
    else if (is_nvidia)
        how = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all IMAGE";
    else
        how = "docker run --device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128) IMAGE";
    snprintf(text, HG_COMMAND_SIZE, "%s", how);
    return text;
}

/* --- files below /dev --------------------------------------------------------------------- */

/* Whether the user's groups on paper have it: then a new login is all that is missing. */
static int is_listed(gid_t group)
{
    const struct passwd *user = getpwuid(getuid());
    gid_t groups[GROUPS_MAX];
    int count = GROUPS_MAX;

    if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
        return 0;
    for (int i = 0; i < count; i++) {
        if (groups[i] == group)
            return 1;
    }
    return 0;
}

static void tell_refused(hg_doctor *doctor, const char *name, const struct stat *status,
                         const char *why)
{
    const struct group *group = getgrgid(status->st_gid);
    const int by_group = (status->st_mode & 060) == 060 && status->st_gid != 0;
    char command[HG_COMMAND_SIZE];

    if (doctor->container[0]) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name,
                      run_option(doctor, strstr(name, "nvidia") != NULL, command),
                      "%s: it belongs to group %u, and the container was started without it", why,
                      (unsigned)status->st_gid);
    } else if (by_group && is_listed(status->st_gid)) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name, "exec su - $USER",
                      "%s: you are in its group %s, but not since this login", why,
                      group ? group->gr_name : "");
    } else if (by_group && group) {
        snprintf(command, sizeof(command), "sudo usermod -aG %s $USER", group->gr_name);
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name, command,
                      "%s: it belongs to group %s; log in again after the command", why,
                      group->gr_name);
    } else {
        snprintf(command, sizeof(command), "sudo chgrp render %s && sudo chmod 660 %s", name, name);
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name, command,
                      "%s: no group may use it (mode %03o)", why, (unsigned)status->st_mode & 0777);
    }
}

static int starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns how many there are of NAME*. */
static uint32_t tell_nodes(hg_doctor *doctor, const char *folder, const char *with)
{
    char full[HG_PATH_SIZE];
    hg_list list = {.count = 0};
    uint32_t count = 0;

    (void)hg_list_add_folder(&list, hg_doctor_path(doctor, folder, full), "");
    for (uint32_t i = 0; i < list.count; i++) {
        const char *shown = list.paths[i] + (doctor->root ? strlen(doctor->root) : 0);
        struct stat status;

        if (!starts(hg_base_name(shown), with) || stat(list.paths[i], &status) != 0 ||
            S_ISDIR(status.st_mode))
            continue;
        count++;
        if (access(list.paths[i], R_OK | W_OK) == 0)
            hg_doctor_add(doctor, HG_DOCTOR_OK, section, shown, NULL, "can be read and written");
        else
            tell_refused(doctor, shown, &status, strerror(errno));
    }
    hg_list_free(&list);
    return count;
}

/* --- the bus ------------------------------------------------------------------------------ */

typedef struct bus_gpu {
    const char *address; /* "0000:01:00.0" */
    const gpu_vendor *vendor;
    uint32_t vendor_id, device_id;
    char driver[64]; /* of the kernel; "": none */
} bus_gpu;

static uint32_t number_of(const hg_doctor *doctor, const char *address, const char *what)
{
    char path[320], line[64];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/%s", address, what);
    return (uint32_t)strtoul(hg_doctor_line(doctor, path, line, sizeof(line)), NULL, 16);
}

static void read_gpu(const hg_doctor *doctor, const char *address, bus_gpu *out)
{
    char path[320], full[HG_PATH_SIZE], target[HG_PATH_SIZE];
    ssize_t length;

    *out = (bus_gpu){.address = address};
    out->vendor_id = number_of(doctor, address, "vendor");
    out->device_id = number_of(doctor, address, "device");
    out->vendor = vendor_of(out->vendor_id);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.64s/driver", address);
    length = readlink(hg_doctor_path(doctor, path, full), target, sizeof(target) - 1);
    if (length > 0) {
        target[length] = '\0';
        snprintf(out->driver, sizeof(out->driver), "%.60s", hg_base_name(target));
    }
}

static const hg_device_info *device_of(const hg_doctor *doctor, const bus_gpu *gpu)
{
    const hg_device_info *found = NULL;

    for (uint32_t i = 0; i < doctor->device_count && !found; i++) {
        const hg_device_info *device = &doctor->devices[i];

        if (device->vendor_id == gpu->vendor_id && device->type != HG_DEVICE_CPU &&
            !device->unusable[0] &&
            (device->backend != HG_BACKEND_VULKAN || device->device_id == gpu->device_id))
            found = device;
    }
    return found;
}

/* Whether a driver of this vendor loads: then it is no package that is missing. */
static int has_driver(const hg_doctor *doctor, const gpu_vendor *vendor)
{
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        const hg_doctor_row *row = &doctor->rows[i];

        if (row->state == HG_DOCTOR_OK && strstr(row->name, vendor->part) &&
            (strcmp(row->section, "Vulkan") == 0 || strcmp(row->section, "OpenCL") == 0))
            return 1;
    }
    return 0;
}

static void tell_unused(hg_doctor *doctor, const bus_gpu *gpu, const char *label, uint32_t nodes)
{
    const int is_nvidia = gpu->vendor_id == VENDOR_NVIDIA;
    char command[HG_COMMAND_SIZE];

    if (strcmp(gpu->driver, "vfio-pci") == 0)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, gpu->address, NULL,
                      "%s: set aside for a virtual machine (vfio-pci)", label);
    else if (doctor->container[0] && (nodes == 0 || is_nvidia))
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, gpu->address,
                      run_option(doctor, is_nvidia, command),
                      "%s: the machine has it, this container was not given it", label);
    else if (!gpu->driver[0])
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, gpu->address,
                      hg_doctor_install(doctor, gpu->vendor->kernel, command),
                      "%s: the kernel has no driver for it; start anew after the command", label);
    else if (is_nvidia && strcmp(gpu->driver, "nouveau") == 0)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, gpu->address,
                      hg_doctor_install(doctor, gpu->vendor->packages, command),
                      "%s: with nouveau no device of headgate's list; NVIDIA's own driver has one",
                      label);
    else if (has_driver(doctor, gpu->vendor))
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, gpu->address, NULL,
                      "%s: its driver loads and does not offer it (no access, or too old for it?)",
                      label);
    else
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, gpu->address,
                      hg_doctor_install(doctor, gpu->vendor->packages, command),
                      "%s: there is no Vulkan or OpenCL driver for it", label);
}

static void tell_gpu(hg_doctor *doctor, const bus_gpu *gpu, uint32_t nodes)
{
    const hg_device_info *device = device_of(doctor, gpu);
    char label[160];

    snprintf(label, sizeof(label), "%s GPU %04x:%04x, kernel driver %s",
             gpu->vendor ? gpu->vendor->name : "a", gpu->vendor_id, gpu->device_id,
             gpu->driver[0] ? gpu->driver : "none");
    if (device)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, gpu->address, NULL, "%s: is %s", label,
                      device->selector);
    else if (!gpu->vendor)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, gpu->address, NULL,
                      "%s: a display adapter that computes nothing", label);
    else
        tell_unused(doctor, gpu, label, nodes);
}

/* Displays (class 03) and accelerators of the three vendors (12). Returns how many can compute. */
static uint32_t tell_bus(hg_doctor *doctor, uint32_t nodes)
{
    char full[HG_PATH_SIZE];
    hg_list list = {.count = 0};
    uint32_t count = 0;

    (void)hg_list_add_folder(&list, hg_doctor_path(doctor, "/sys/bus/pci/devices", full), "");
    for (uint32_t i = 0; i < list.count; i++) {
        const char *address = hg_base_name(list.paths[i]);
        const uint32_t class = number_of(doctor, address, "class") >> 16;
        bus_gpu gpu;

        if (class != 0x03 && class != 0x12)
            continue;
        read_gpu(doctor, address, &gpu);
        if (class == 0x12 && !gpu.vendor)
            continue;
        tell_gpu(doctor, &gpu, nodes);
        count += gpu.vendor != NULL;
    }
    hg_list_free(&list);
    return count;
}

void hg_doctor_access(hg_doctor *doctor)
{
    const uint32_t render = tell_nodes(doctor, "/dev/dri", "renderD");
    const uint32_t nvidia = tell_nodes(doctor, "/dev", "nvidia");
    const uint32_t windows = tell_nodes(doctor, "/dev", "dxg");
    uint32_t gpus;

    (void)tell_nodes(doctor, "/dev", "kfd");
    gpus = tell_bus(doctor, render + nvidia);
    if (doctor->wsl && !windows)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "/dev/dxg", "wsl.exe --update",
                      "Windows hands no GPU in");
    if (render + nvidia + windows == 0 && gpus == 0)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "/dev/dri", NULL,
                      "not there: this machine shows no GPU%s",
                      doctor->container[0] ? " to its container" : "");
}
