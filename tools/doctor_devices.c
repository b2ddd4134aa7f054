/* SPDX-License-Identifier: MIT */
/* The devices as `headgate devices` has them: usable or why not, memory, twins, and which one is
 * taken when none is named. */
#include "doctor.h"
#include "doctor_probe.h"
#include "machine.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char section[] = "devices";

static int is_usable(const hg_device_info *device)
{
    return device->unusable[0] == '\0';
}

/* The driver without what the device's name says already: "llvmpipe (LLVM 15.0.6, 256 bits)" needs
 * no "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)". */
static const char *short_driver(const hg_device_info *device, char text[640])
{
    const int known = strstr(device->name, device->driver) != NULL ||
                      strstr(device->driver_version, device->driver) != NULL;
    char version[sizeof(device->driver_version)];
    char *part, *end;

    snprintf(version, sizeof(version), "%s", device->driver_version);
    part = strstr(version, " (");
    end = part ? strchr(part, ')') : NULL;
    if (end && end[1] == '\0') {
        *end = '\0';
        if (strstr(device->name, part + 2))
            *part = '\0';
        else
            *end = ')';
    }
    snprintf(text, 640, "%s%s%s%s%s", known ? "" : device->driver, known || !*version ? "" : " ",
             version, *device->api_version ? ", " : "", device->api_version);
    return text;
}

/* "7.1 of 7.8 GiB free": and who says so. The machine's memory is told among the versions. */
static const char *memory_of(const hg_device_info *device, char text[160])
{
    const char *source = "all that the driver tells";
    char total[32], available[32];

    text[0] = '\0';
    if (device->type == HG_DEVICE_CPU)
        return text;
    if (device->features & HG_FEATURE_BUDGET)
        source = "by the driver's budget";
    else if (device->memory_free_bytes == device->memory_total_bytes)
        source = "the driver tells no budget: other programs' use is not known";
    snprintf(text, 160, "; %s of %s free, %s", hg_show_bytes(device->memory_free_bytes, available),
             hg_show_bytes(device->memory_total_bytes, total), source);
    return text;
}

static void tell_device(hg_doctor *doctor, const hg_device_info *device)
{
    char driver[640], memory[160], available[32];

    if (!is_usable(device)) {
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, device->selector, NULL,
                      "cannot be used: %s; %s, %s", device->unusable, device->name,
                      short_driver(device, driver));
        return;
    }
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, device->selector, NULL, "%s, %s, %s%s",
                  device->name, hg_device_type_name(device->type), short_driver(device, driver),
                  memory_of(device, memory));
    if (device->features & HG_FEATURE_PORTABILITY)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, device->selector, NULL,
                      "a layered driver (portability): another interface does the work below it");
    if (device->memory_free_bytes < (512u << 20))
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, device->selector, NULL,
                      "only %s free: larger models will not fit until other programs end",
                      hg_show_bytes(device->memory_free_bytes, available));
}

static int is_twin(const hg_device_info *a, const hg_device_info *b)
{
    static const uint8_t none[16];

    if (a->backend != b->backend || a->type == HG_DEVICE_CPU || b->type == HG_DEVICE_CPU)
        return 0;
    if (memcmp(a->device_uuid, none, 16) != 0 && memcmp(a->device_uuid, b->device_uuid, 16) == 0)
        return 1;
    /* Two drivers of one vendor need not agree on a UUID. */
    return a->vendor_id == b->vendor_id && a->device_id != 0 && a->device_id == b->device_id &&
           strcmp(a->driver, b->driver) != 0;
}

static void tell_twins(hg_doctor *doctor)
{
    for (uint32_t i = 0; i < doctor->device_count; i++) {
        for (uint32_t k = i + 1; k < doctor->device_count; k++) {
            const hg_device_info *a = &doctor->devices[i], *b = &doctor->devices[k];

            if (is_twin(a, b))
                hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, b->selector, NULL,
                              "the same GPU as %s through another driver (%s, %s); --device %s or "
                              "%s chooses",
                              a->selector, a->driver, b->driver, a->selector, b->selector);
        }
    }
}

static void tell_default(hg_doctor *doctor)
{
    char command[HG_COMMAND_SIZE];
    uint32_t found = 0, usable = 0;
    hg_result res = hg_device_select(NULL, doctor->devices, doctor->device_count, NULL, &found);

    for (uint32_t i = 0; i < doctor->device_count; i++)
        usable +=
            doctor->devices[i].backend != HG_BACKEND_REFERENCE && is_usable(&doctor->devices[i]);
    if (usable == 0)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "default",
                      hg_doctor_install(doctor,
                                        "libvulkan1 mesa-vulkan-drivers ocl-icd-libopencl1 "
                                        "pocl-opencl-icd",
                                        command),
                      "no Vulkan or OpenCL device can be used: only the slow reference is left");
    else if (res == HG_OK && hg_doctor_trouble(doctor, found))
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "default", NULL,
                      "%s would be taken, and its kernels %s (below, under selftest)",
                      doctor->devices[found].selector, hg_doctor_trouble(doctor, found));
    else if (res == HG_OK && doctor->devices[found].type == HG_DEVICE_CPU)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "default", NULL,
                      "%s, on the processor: no GPU can be used. Drivers of a GPU are in Debian's "
                      "mesa-vulkan-drivers (AMD, Intel), nvidia-driver (NVIDIA), intel-opencl-icd "
                      "(Intel, OpenCL)",
                      doctor->devices[found].selector);
    else if (res == HG_OK)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "default", NULL, "%s: %s",
                      doctor->devices[found].selector, doctor->devices[found].name);
}

static void tell_left_out(hg_doctor *doctor)
{
    char quoted[HG_COMMAND_SIZE], command[HG_COMMAND_SIZE];
    uint32_t together = 0;

    for (uint32_t i = 0; i < doctor->device_count; i++)
        together += doctor->devices[i].backend == HG_BACKEND_VULKAN;
    if (doctor->layers_bad || doctor->vulkan_bad || doctor->opencl_bad)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "left out", NULL,
                      "what crashes or hangs:%s%s%s; 'headgate devices' would do so, too",
                      doctor->layers_bad ? " implicit layers" : "",
                      doctor->vulkan_bad ? " Vulkan drivers" : "",
                      doctor->opencl_bad ? " OpenCL" : "");
    /* Loaders before 1.3.240 or so give up at the first manifest that is no JSON. */
    if (doctor->vulkan_alone > 0 && together == 0 && doctor->vulkan_good) {
        snprintf(command, sizeof(command), "export VK_DRIVER_FILES=%.*s VK_ICD_FILENAMES=%.*s",
                 HG_PATH_SIZE, hg_doctor_quote(doctor->vulkan_good, quoted), HG_PATH_SIZE, quoted);
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "Vulkan", command,
                      "%u device%s when drivers are asked alone, none together: a broken driver "
                      "file hides the others from the loader",
                      doctor->vulkan_alone, doctor->vulkan_alone == 1 ? "" : "s");
    }
}

static void tell_all(hg_doctor *doctor, const hg_probe *probe)
{
    char text[640];

    for (uint32_t i = 0; i < probe->fact_count; i++) {
        if (strcmp(probe->facts[i].tag, "LINE") == 0)
            hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "library", NULL, "%s",
                          probe->facts[i].data);
    }
    if (!probe->ended) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "all drivers together",
                      "export OCL_ICD_VENDORS=/nonexistent/",
                      "each answers alone, but loading all %s. The command leaves Vulkan's only",
                      hg_probe_failure(probe, text));
        return;
    }
    doctor->device_count = hg_probe_devices(probe, &doctor->devices);
    tell_left_out(doctor);
    for (uint32_t i = 0; i < doctor->device_count; i++)
        tell_device(doctor, &doctor->devices[i]);
    tell_twins(doctor);
    hg_doctor_try(doctor); /* what cannot be computed on is no default */
    tell_default(doctor);
}

hg_question hg_doctor_question(const hg_doctor *doctor)
{
    hg_question question = {.without_opencl = doctor->opencl_bad > 0,
                            .without_layers = doctor->layers_bad > 0,
                            .layer_off = doctor->layer_off};

    if (doctor->vulkan_bad)
        question.file = doctor->vulkan_good ? doctor->vulkan_good : "/nonexistent/none.json";
    return question;
}

void hg_doctor_devices(hg_doctor *doctor)
{
    const hg_question question = hg_doctor_question(doctor);
    hg_probe probe;
    hg_result res;

    hg_message_status("listing all devices");
    res = hg_probe_run(&probe, hg_ask_devices, &question);
    if (res == HG_OK)
        tell_all(doctor, &probe);
    else
        doctor->result = res;
    hg_probe_free(&probe);
}
