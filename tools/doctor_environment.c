/* SPDX-License-Identifier: MIT */
/* Variables that change what loaders, drivers and headgate do. Secrets are named, not shown: a
 * report is made to be sent. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int counts(const char *line)
{
    static const char *const starts[] = {"VK_",         "OCL_",
                                         "OPENCL_",     "POCL_",
                                         "HG_",         "HF_",
                                         "HUGGING",     "MESA_",
                                         "LP_",         "GALLIUM_",
                                         "XDG_",        "DISPLAY=",
                                         "WAYLAND_",    "NO_COLOR=",
                                         "LIBGL_",      "RADV_",
                                         "ANV_",        "INTEL_",
                                         "AMD_",        "AMDVLK_",
                                         "NVIDIA_",     "CUDA_VIS",
                                         "ROCR_",       "HIP_",
                                         "GPU_",        "LD_LIBRARY_PATH=",
                                         "LD_PRELOAD=", "DRI_",
                                         "DRM_",        "ENABLE_",
                                         "DISABLE_",    "NODEVICE_SELECT=",
                                         "OMP_",        "CL_",
                                         "IGC_",        "ZE_",
                                         "NEO",         "container="};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            return 1;
    }
    return 0;
}

static int is_secret(const char *name)
{
    static const char *const parts[] = {"TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "COOKIE"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(name, parts[i]))
            return 1;
    }
    return 0;
}

static void tell_variable(hg_doctor *doctor, const char *line)
{
    const char *value = strchr(line, '=');
    char name[128];

    if (!value)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(value - line < 120 ? value - line : 120), line);
    if (is_secret(name))
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", name, NULL, "(set; not shown)");
    else
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", name, NULL, "%.300s%s",
                      value[1] ? value + 1 : "(empty)", strlen(value) > 301 ? "..." : "");
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
    if (!hg_doctor_variable("PATH"))
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "environment", "PATH",
                      "export PATH=/usr/local/bin:/usr/bin:/bin",
                      "not set: drivers that call a linker do not find it");
    if (count == 0)
        hg_doctor_add(doctor, HG_DOCTOR_OK, "environment", "variables", NULL,
                      "none is set that changes what loaders, drivers or headgate do");
}
