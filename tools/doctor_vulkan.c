/* SPDX-License-Identifier: MIT */
/* Vulkan: the loader, and each driver file: does it load, which devices does it bring. */
#include "doctor_driver.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char section[] = "Vulkan";

typedef struct driver_files {
    hg_list list;
    const char *variables[HG_LIST_MAX]; /* that named each; NULL: a folder */
    hg_manifest *manifests;
    hg_probe *probes;
    hg_question questions[HG_LIST_MAX];
} driver_files;

static void tell_loader(hg_doctor *doctor)
{
    char command[HG_COMMAND_SIZE], text[640];
    hg_probe probe;
    hg_result res = hg_probe_run(&probe, hg_ask_vulkan_loader, NULL);
    const char *fail = hg_probe_text(&probe, "FAIL"), *path = hg_probe_text(&probe, "PATH");
    const char *version = hg_probe_text(&probe, "VERS");

    if (res != HG_OK)
        doctor->result = res;
    else if (!probe.ended)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "loader",
                      hg_doctor_reinstall(doctor, "libvulkan1", command), "libvulkan.so.1 %s",
                      hg_probe_failure(&probe, text));
    else if (fail)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "loader",
                      hg_doctor_install(doctor, "libvulkan1 mesa-vulkan-drivers", command),
                      "none, so no Vulkan device: %s", fail);
    else
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "loader", NULL, "Vulkan %s, %s",
                      version ? version : "of unknown version", path ? path : "libvulkan.so.1");
    hg_probe_free(&probe);
}

/* A command that a user pastes goes into the shell that set the variable. */
static void tell_variable(hg_doctor *doctor, const char *variable, const char *what)
{
    char command[128];

    snprintf(command, sizeof(command), "unset %s", variable);
    hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, variable, command, "is set: %s", what);
}

static hg_result add_named(driver_files *files, const char *variable)
{
    const uint32_t before = files->list.count;
    const char *value = hg_doctor_variable(variable);
    hg_result res = value ? hg_list_add_parts(&files->list, value, ".json") : HG_OK;

    for (uint32_t i = before; i < files->list.count; i++)
        files->variables[i] = variable;
    return res;
}

static hg_result find_files(hg_doctor *doctor, driver_files *files)
{
    const char *only = hg_doctor_variable("VK_DRIVER_FILES")    ? "VK_DRIVER_FILES"
                       : hg_doctor_variable("VK_ICD_FILENAMES") ? "VK_ICD_FILENAMES"
                                                                : NULL;
    hg_list folders = {.count = 0};
    hg_result res;

    if (hg_doctor_variable("VK_ADD_DRIVER_FILES") && !only)
        tell_variable(doctor, "VK_ADD_DRIVER_FILES", "the driver files that it names come first");
    if (only) {
        tell_variable(doctor, only, "only the driver files that it names count");
        HG_TRY(add_named(files, only));
    } else {
        HG_TRY(add_named(files, "VK_ADD_DRIVER_FILES"));
        HG_TRY(hg_search_vulkan(&folders, "icd.d"));
        for (uint32_t i = 0; i < folders.count; i++)
            HG_TRY(hg_list_add_folder(&files->list, folders.paths[i], ".json"));
    }
    if (files->list.dropped)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "driver files", NULL,
                      "%u more than the %d that are looked at", files->list.dropped, HG_LIST_MAX);
out:
    hg_list_free(&folders);
    return res;
}

static void tell_good(hg_doctor *doctor, const hg_driver *driver)
{
    hg_device_info *devices;
    const uint32_t count = hg_probe_devices(driver->probe, &devices);
    const char *path = hg_probe_text(driver->probe, "PATH");
    char names[512] = "";
    uint32_t found = 0;
    size_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (devices[i].backend != HG_BACKEND_VULKAN)
            continue;
        if (used < sizeof(names) - 300)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.120s",
                                     found ? ", " : "", devices[i].name);
        found++;
    }
    free(devices);
    doctor->vulkan_alone += found;
    if (found)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, hg_base_name(driver->file), NULL,
                      "loads, %u device%s: %s; %s", found, found == 1 ? "" : "s", names,
                      path ? path : driver->library);
    else
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, hg_base_name(driver->file), NULL,
                      "loads, finds no device of its kind; %s", path ? path : driver->library);
}

static void remember(hg_doctor *doctor, const char *file)
{
    const size_t used = doctor->vulkan_good ? strlen(doctor->vulkan_good) : 0;
    char *longer;

    longer = realloc(doctor->vulkan_good, used + strlen(file) + 2);
    if (!longer) {
        doctor->result = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        return;
    }
    snprintf(longer + used, strlen(file) + 2, "%s%s", used ? ":" : "", file);
    doctor->vulkan_good = longer;
}

static void tell_file(hg_doctor *doctor, const driver_files *files, uint32_t i)
{
    const hg_manifest *manifest = &files->manifests[i];
    const hg_driver driver = {section, files->list.paths[i], files->variables[i], manifest->library,
                              &files->probes[i]};
    char command[HG_COMMAND_SIZE];

    if (manifest->wrong[0]) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, hg_base_name(driver.file),
                      hg_driver_mend(doctor, &driver, 0, 1, command), "%s %s", driver.file,
                      manifest->wrong);
        return;
    }
    doctor->vulkan_bad += !driver.probe->ended;
    if (hg_driver_fault(doctor, &driver, 0))
        return;
    remember(doctor, driver.file);
    tell_good(doctor, &driver);
}

static hg_result look(hg_doctor *doctor, driver_files *files)
{
    char command[HG_COMMAND_SIZE];
    hg_result res;

    HG_TRY(find_files(doctor, files));
    for (uint32_t i = 0; i < files->list.count; i++) {
        hg_manifest_read(files->list.paths[i], "ICD", &files->manifests[i]);
        if (!files->manifests[i].wrong[0])
            files->questions[i] = (hg_question){.file = files->list.paths[i],
                                                .library = files->manifests[i].library,
                                                .without_layers = doctor->layers_bad > 0,
                                                .layer_off = doctor->layer_off};
    }
    hg_message_status("asking the Vulkan drivers");
    HG_TRY(hg_probe_all(files->probes, hg_ask_vulkan, files->questions, files->list.count));
    for (uint32_t i = 0; i < files->list.count; i++)
        tell_file(doctor, files, i);
    if (files->list.count == 0)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "drivers",
                      hg_doctor_install(doctor, "mesa-vulkan-drivers", command),
                      "no driver file in any folder of the loader");
out:
    return res;
}

void hg_doctor_vulkan(hg_doctor *doctor)
{
    driver_files *files;
    hg_result res;

    tell_loader(doctor);
    files = doctor->result == HG_OK ? calloc(1, sizeof(*files)) : NULL;
    if (files) {
        files->manifests = calloc(HG_LIST_MAX, sizeof(*files->manifests));
        files->probes = calloc(HG_LIST_MAX, sizeof(*files->probes));
    }
    res = files && files->manifests && files->probes ? look(doctor, files) : HG_ERR_HOST_MEMORY;
    if (doctor->result == HG_OK)
        doctor->result = res;
    for (uint32_t i = 0; files && files->probes && i < HG_LIST_MAX; i++)
        hg_probe_free(&files->probes[i]);
    if (files) {
        hg_list_free(&files->list);
        free(files->manifests);
        free(files->probes);
    }
    free(files);
}
