/* SPDX-License-Identifier: MIT */
/* OpenCL: the loader, and each vendor file: does its library load, which platforms does it bring.
 */
#include "doctor_driver.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char section[] = "OpenCL";
static const char default_folder[] = "/etc/OpenCL/vendors";

enum { VENDOR_BYTES_MAX = 8 << 10 };

typedef struct vendor_files {
    hg_list list;
    const char *variables[HG_LIST_MAX];
    char *texts[HG_LIST_MAX]; /* what the file says: a library; NULL: broken */
    char wrong[HG_LIST_MAX][160];
    hg_probe *probes;
    hg_question questions[HG_LIST_MAX];
} vendor_files;

static void tell_loader(hg_doctor *doctor)
{
    char command[HG_COMMAND_SIZE], text[640];
    hg_probe probe;
    hg_result res = hg_probe_run(&probe, hg_ask_opencl_loader, NULL);
    const char *fail = hg_probe_text(&probe, "FAIL"), *path = hg_probe_text(&probe, "PATH");
    const char *version = hg_probe_text(&probe, "VERS");

    if (res != HG_OK)
        doctor->result = res;
    else if (!probe.ended)
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "loader",
                      hg_doctor_reinstall(doctor, "ocl-icd-libopencl1", command),
                      "libOpenCL.so.1 %s", hg_probe_failure(&probe, text));
    else if (fail)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "loader",
                      hg_doctor_install(doctor, "ocl-icd-libopencl1", command),
                      "none, so no OpenCL device: %s", fail);
    else
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "loader", NULL, "%s, %s",
                      version ? version : "a vendor's own, or of unknown version",
                      path ? path : "libOpenCL.so.1");
    hg_probe_free(&probe);
}

/* OCL_ICD_VENDORS is a folder, for some loaders also a file of either kind. */
static hg_result find_files(hg_doctor *doctor, vendor_files *vendors)
{
    const char *only = hg_doctor_variable("OCL_ICD_VENDORS")      ? "OCL_ICD_VENDORS"
                       : hg_doctor_variable("OPENCL_VENDOR_PATH") ? "OPENCL_VENDOR_PATH"
                                                                  : NULL;
    const char *more = hg_doctor_variable("OCL_ICD_FILENAMES");
    const char *where = only ? hg_doctor_variable(only) : default_folder;
    char command[128];
    struct stat status;
    hg_result res;

    if (only) {
        snprintf(command, sizeof(command), "unset %s", only);
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, only, command,
                      "is set: drivers are looked for there and not in %s", default_folder);
    }
    if (only && stat(where, &status) == 0 && !S_ISDIR(status.st_mode))
        res = hg_list_add(&vendors->list, where);
    else
        res = hg_list_add_folder(&vendors->list, where, ".icd");
    for (uint32_t i = 0; i < vendors->list.count; i++)
        vendors->variables[i] = only;
    if (res == HG_OK && more) {
        const uint32_t before = vendors->list.count;

        res = hg_list_add_parts(&vendors->list, more, ".so");
        for (uint32_t i = before; i < vendors->list.count; i++)
            vendors->variables[i] = "OCL_ICD_FILENAMES";
    }
    return res;
}

/* The library that a vendor file names: its first line. A library named directly is itself. */
static void read_file(vendor_files *vendors, uint32_t i)
{
    const char *path = vendors->list.paths[i], *dot = strrchr(hg_base_name(path), '.');
    char *text;

    if (!dot || strcmp(dot, ".icd") != 0) {
        vendors->texts[i] = strdup(path);
        return;
    }
    text = hg_read_small(path, VENDOR_BYTES_MAX, vendors->wrong[i]);
    if (!text)
        return;
    text[strcspn(text, "\r\n")] = '\0';
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' '; end--)
        text[end - 1] = '\0';
    vendors->texts[i] = text;
    if (!text[0])
        snprintf(vendors->wrong[i], sizeof(vendors->wrong[i]), "names no library");
}

/* The processor is always there: PoCL without a device could not make its cache. */
static int is_pocl_alone(const char *platforms)
{
    return strstr(platforms, "Portable Computing Language") && strstr(platforms, ", 0 devices");
}

static void tell_file(hg_doctor *doctor, const vendor_files *vendors, uint32_t i)
{
    const hg_driver driver = {section, vendors->list.paths[i], vendors->variables[i],
                              vendors->texts[i] ? vendors->texts[i] : "", &vendors->probes[i]};
    const char *name = hg_base_name(driver.file), *path = hg_probe_text(driver.probe, "PATH");
    char command[HG_COMMAND_SIZE], platforms[768] = "";
    size_t used = 0;

    if (vendors->wrong[i][0]) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, name,
                      hg_driver_mend(doctor, &driver, 1, 1, command), "%s %s", driver.file,
                      vendors->wrong[i]);
        return;
    }
    doctor->opencl_bad += !driver.probe->ended;
    if (hg_driver_fault(doctor, &driver, 1))
        return;
    for (uint32_t k = 0; k < driver.probe->fact_count && used < sizeof(platforms) - 340; k++) {
        const hg_fact *fact = &driver.probe->facts[k];

        if (strcmp(fact->tag, "PLAT") == 0)
            used += (size_t)snprintf(platforms + used, sizeof(platforms) - used, "%s%.320s",
                                     used ? "; " : "", fact->data);
    }
    if (is_pocl_alone(platforms)) {
        hg_doctor_add(
            doctor, HG_DOCTOR_WRONG, section, name,
            hg_doctor_variable("POCL_DEVICES") ? "unset POCL_DEVICES"
                                               : "export POCL_CACHE_DIR=/var/tmp/pocl-$(id -u)",
            "loads, and has no device, mostly because its cache cannot be written: %s", platforms);
        return;
    }
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, name, NULL, "loads: %s; %s",
                  used ? platforms : "finds no device of its kind", path ? path : driver.library);
}

static hg_result look(hg_doctor *doctor, vendor_files *vendors)
{
    char command[HG_COMMAND_SIZE];
    hg_result res;

    HG_TRY(find_files(doctor, vendors));
    for (uint32_t i = 0; i < vendors->list.count; i++) {
        read_file(vendors, i);
        if (!vendors->wrong[i][0])
            vendors->questions[i].library = vendors->texts[i];
    }
    hg_message_status("asking the OpenCL drivers");
    HG_TRY(hg_probe_all(vendors->probes, hg_ask_opencl, vendors->questions, vendors->list.count));
    for (uint32_t i = 0; i < vendors->list.count; i++)
        tell_file(doctor, vendors, i);
    if (vendors->list.count == 0)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, section, "drivers",
                      hg_doctor_install(doctor, "pocl-opencl-icd", command),
                      "none; PoCL makes the processor an OpenCL device, the fastest way to use it");
out:
    return res;
}

void hg_doctor_opencl(hg_doctor *doctor)
{
    vendor_files *vendors;
    hg_result res;

    tell_loader(doctor);
    vendors = doctor->result == HG_OK ? calloc(1, sizeof(*vendors)) : NULL;
    if (vendors)
        vendors->probes = calloc(HG_LIST_MAX, sizeof(*vendors->probes));
    res = vendors && vendors->probes ? look(doctor, vendors) : HG_ERR_HOST_MEMORY;
    if (doctor->result == HG_OK)
        doctor->result = res;
    for (uint32_t i = 0; vendors && vendors->probes && i < HG_LIST_MAX; i++)
        hg_probe_free(&vendors->probes[i]);
    for (uint32_t i = 0; vendors && i < HG_LIST_MAX; i++)
        free(vendors->texts[i]);
    if (vendors) {
        hg_list_free(&vendors->list);
        free(vendors->probes);
    }
    free(vendors);
}
