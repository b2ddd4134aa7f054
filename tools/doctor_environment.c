/* SPDX-License-Identifier: MIT */
/* Variables that change what loaders, drivers and headgate do. Secrets are named, not shown: a
 * report is made to be sent. */
#include "doctor.h"
#include "surroundings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of the drivers, of their loaders, of headgate itself. */
static int counts(const char *line)
{
    static const char *const starts[] = {
        "HG_",  "HF_",       "HUGGING",          "XDG_",      "DISPLAY=", "WAYLAND_",
        "DRM_", "NO_COLOR=", "NODEVICE_SELECT=", "container="};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            return 1;
    }
    return hg_surroundings_is_drivers(line);
}

/* --- what a variable changes -------------------------------------------------------------- */

enum {
    OF_VULKAN = 1, /* what a Vulkan driver computes */
    OF_OPENCL = 2,
    OF_SIGHT = 4 /* which drivers and devices are seen */
};

typedef struct variable_kind {
    const char *start, *part; /* part: anywhere in its name */
    int changes;
} variable_kind;

/* The first that fits. */
static int changes_of(const char *name, const char *value)
{
    static const variable_kind kinds[] = {
        {"POCL_", "CACHE", 0},
        {"POCL_", "DEBUG", 0},
        {"POCL_", "DEVICES", OF_SIGHT},
        {"POCL_", "TRACING", 0},
        {"POCL_", "", OF_OPENCL},
        {"CL_", "", OF_OPENCL},
        {"OCL_ICD_", "", OF_SIGHT},
        {"OPENCL_", "", OF_SIGHT},
        {"OCL_", "", OF_OPENCL},
        {"IGC_", "", OF_OPENCL},
        {"NEO", "CACHE", 0},
        {"NEO", "", OF_OPENCL},
        {"MESA_", "CACHE", 0},
        {"MESA_", "LOG", 0},
        {"MESA_DEBUG", "", 0},
        {"MESA_VK_", "", OF_SIGHT},
        {"MESA_", "", OF_VULKAN},
        {"LP_DEBUG", "", 0},
        {"LP_", "", OF_VULKAN},
        {"GALLIUM_", "", OF_VULKAN},
        {"NIR_", "", OF_VULKAN},
        {"RADV_", "", OF_VULKAN},
        {"ANV_", "", OF_VULKAN},
        {"INTEL_DEBUG", "", OF_VULKAN},
        {"VK_", "LAYER", OF_VULKAN},
        {"VK_ICD_", "", OF_SIGHT},
        {"VK_DRIVER_", "", OF_SIGHT},
        {"VK_ADD_", "", OF_SIGHT},
        {"VK_LOADER_DR", "", OF_SIGHT},
    };

    for (size_t i = 0; *value && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(name, kinds[i].start, strlen(kinds[i].start)) == 0 &&
            strstr(name, kinds[i].part))
            return kinds[i].changes;
    }
    return 0;
}

/* "" when it has no value, or is no variable of a sane name. */
static const char *split(const char *line, char name[128])
{
    const char *value = strchr(line, '=');

    name[0] = '\0';
    if (!value)
        return "";
    snprintf(name, 128, "%.*s", (int)(value - line < 120 ? value - line : 120), line);
    return value + 1;
}

static int is_word(const char *name)
{
    return *name &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
               strlen(name);
}

const char *hg_doctor_blame(hg_backend_kind backend, char text[HG_COMMAND_SIZE])
{
    const int mask = backend == HG_BACKEND_VULKAN   ? OF_VULKAN
                     : backend == HG_BACKEND_OPENCL ? OF_OPENCL
                                                    : 0;
    size_t used = (size_t)snprintf(text, HG_COMMAND_SIZE, "unset");
    const size_t bare = used;
    char name[128];

    for (char **line = environ; *line && used < HG_COMMAND_SIZE - sizeof(name) - 2; line++) {
        const char *value = split(*line, name);

        if ((changes_of(name, value) & mask) && is_word(name))
            used += (size_t)snprintf(text + used, HG_COMMAND_SIZE - used, " %s", name);
    }
    return used > bare ? text : NULL;
}

/* --- the linker --------------------------------------------------------------------------- */

int hg_doctor_has_linker(void)
{
    const char *at = getenv("PATH");

    while (at && *at) {
        const size_t length = strcspn(at, ":");
        char path[HG_PATH_SIZE];

        snprintf(path, sizeof(path), "%.*s/ld", (int)(length < 4000 ? length : 0), at);
        if (length > 0 && access(path, X_OK) == 0)
            return 1;
        at += length;
        at += *at == ':';
    }
    return 0;
}

const char *hg_doctor_mend_path(const hg_doctor *doctor, char text[HG_COMMAND_SIZE])
{
    if (!hg_doctor_variable("PATH"))
        snprintf(text, HG_COMMAND_SIZE, "export PATH=/usr/local/bin:/usr/bin:/bin");
    else if (access("/usr/bin/ld", X_OK) == 0)
        snprintf(text, HG_COMMAND_SIZE, "export PATH=$PATH:/usr/bin");
    else
        hg_doctor_install(doctor, "binutils", text);
    return text;
}

static void tell_path(hg_doctor *doctor)
{
    const char *path = getenv("PATH");
    char command[HG_COMMAND_SIZE];

    if (!path || !*path)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "environment", "PATH",
                      hg_doctor_mend_path(doctor, command),
                      "%s: drivers that call a linker do not find it", path ? "empty" : "not set");
    else if (!hg_doctor_has_linker())
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "environment", "PATH",
                      hg_doctor_mend_path(doctor, command),
                      "no linker (ld) in any of its folders, and PoCL needs one");
}

/* --- the rows ----------------------------------------------------------------------------- */

static int is_told(const hg_doctor *doctor, const char *name)
{
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        if (strcmp(doctor->rows[i].name, name) == 0)
            return 1;
    }
    return 0;
}

static void tell_variable(hg_doctor *doctor, const char *line)
{
    char name[128], shown[320], command[160];
    const char *value = split(line, name);

    if (!*name)
        return;
    snprintf(shown, sizeof(shown), "%.300s%s", *value ? value : "(empty)",
             strlen(value) > 300 ? "..." : "");
    snprintf(command, sizeof(command), "unset %s", name);
    if (hg_surroundings_is_secret(name))
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", name, NULL, "(set; not shown)");
    else if (is_told(doctor, name))
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "environment", name, NULL, "%s: see above", shown);
    else if (!changes_of(name, value))
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", name, NULL, "%s", shown);
    else
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "environment", name, is_word(name) ? command : NULL,
                      "%s: changes %s", shown,
                      changes_of(name, value) & OF_SIGHT ? "which drivers or devices are seen"
                                                         : "what a driver computes, or how");
}

void hg_doctor_environment(hg_doctor *doctor)
{
    enum { SHOWN_MAX = 128 };
    const char *lines[SHOWN_MAX];
    size_t count = 0;

    for (char **line = environ; *line && count < SHOWN_MAX; line++) {
        if (counts(*line))
            lines[count++] = *line;
    }
    if (count > 0)
        qsort(lines, count, sizeof(lines[0]), by_text);
    for (size_t i = 0; i < count; i++)
        tell_variable(doctor, lines[i]);
    tell_path(doctor);
    if (count == 0)
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", "variables", NULL,
                      "none is set that changes what loaders, drivers or headgate do");
}
