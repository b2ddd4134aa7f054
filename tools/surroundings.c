/* SPDX-License-Identifier: MIT */
/* See surroundings.h. */
#include "surroundings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

extern char **environ;

const char *hg_surroundings_system(char text[256])
{
    static const char key[] = "PRETTY_NAME=";
    FILE *file = fopen("/etc/os-release", "r");
    struct utsname kernel;
    char line[256], name[128] = "";

    while (file && fgets(line, sizeof(line), file)) {
        const char *value = line + sizeof(key) - 1;

        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        value += strspn(value, "\"'");
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, "\"'\n"), value);
    }
    if (file)
        (void)fclose(file);
    if (uname(&kernel) != 0)
        memset(&kernel, 0, sizeof(kernel));
    snprintf(text, 256, "%.100s, %.30s %.60s %.30s", name[0] ? name : "a system of unknown name",
             kernel.sysname, kernel.release, kernel.machine);
    return text;
}

int hg_surroundings_is_drivers(const char *line)
{
    static const char *const starts[] = {
        "VK_",      "OCL_",    "OPENCL_", "POCL_",        "MESA_",       "LP_",
        "GALLIUM_", "LIBGL_",  "RADV_",   "ANV_",         "INTEL_",      "AMD_",
        "AMDVLK_",  "DRI_",    "NVIDIA_", "__GL_",        "ROCR_",       "HIP_",
        "GPU_",     "CL_",     "CLOVER_", "RUSTICL_",     "NVK_",        "TU_",
        "IGC_",     "ZE_",     "NEO",     "CUDA_VISIBLE", "CUDA_DEVICE", "CUDA_CACHE",
        "DISABLE_", "ENABLE_", "NIR_",    "ACO_",         "OCLGRIND_",   "OMP_"};

    if (strchr(line, '=') == NULL)
        return 0;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            return 1;
    return strncmp(line, "LD_PRELOAD=", 11) == 0 || strncmp(line, "LD_LIBRARY_PATH=", 16) == 0;
}

int hg_surroundings_is_secret(const char *name)
{
    static const char *const parts[] = {"TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "COOKIE"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strstr(name, parts[i]))
            return 1;
    return 0;
}

int hg_surroundings_variable(unsigned *at, char name[128], char value[400])
{
    for (; environ && environ[*at]; (*at)++) {
        const char *line = environ[*at];
        const size_t length = strcspn(line, "=");

        if (!hg_surroundings_is_drivers(line))
            continue;
        snprintf(name, 128, "%.*s", (int)(length < 127 ? length : 127), line);
        snprintf(value, 400, "%s",
                 hg_surroundings_is_secret(name) ? "(set; not shown)" : line + length + 1);
        (*at)++;
        return 1;
    }
    return 0;
}

const char *hg_surroundings_key(char text[32])
{
    uint64_t sum = 0;

    for (char **at = environ; at && *at; at++) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        if (!hg_surroundings_is_drivers(*at) || strstr(*at, "CACHE") || strstr(*at, "ICD") ||
            strstr(*at, "DRIVER_FILES"))
            continue;
        for (const char *c = *at; *c; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        sum += hash;
    }
    snprintf(text, 32, "%016" PRIx64, sum);
    return text;
}
