/* SPDX-License-Identifier: MIT */
/* Versions: of headgate, of the system below it, of the machine. */
#include "doctor.h"
#include "doctor_search.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char section[] = "versions";

enum { SYSTEM_FILE_MAX = 1 << 20 };

/* The value after KEY in a file of lines "KEY=value" or "key : value"; "" when there is none. */
static void find_value(const hg_doctor *doctor, const char *path, const char *key, char *out,
                       size_t bytes)
{
    char full[HG_PATH_SIZE], why[160];
    char *all = hg_read_small(hg_doctor_path(doctor, path, full), SYSTEM_FILE_MAX, why);
    const size_t length = strlen(key);

    out[0] = '\0';
    for (char *line = all, *next; line && *line; line = next) {
        char *value = line + length;
        size_t end = strcspn(line, "\n");

        next = line + end + (line[end] == '\n');
        line[end] = '\0';
        if (end < length || strncmp(line, key, length) != 0)
            continue;
        value += strspn(value, " \t");
        if (*value != '=' && *value != ':')
            continue;
        value++;
        value += strspn(value, " \t\"'");
        value[strcspn(value, "\"'")] = '\0';
        snprintf(out, bytes, "%s", value);
        break;
    }
    free(all);
}

static int is_there(const hg_doctor *doctor, const char *path)
{
    char full[HG_PATH_SIZE];

    return access(hg_doctor_path(doctor, path, full), F_OK) == 0;
}

static void find_container(hg_doctor *doctor)
{
    static const char *const kinds[] = {"docker", "podman", "libpod", "kubepods", "lxc"};
    const char *named = hg_doctor_variable("container"); /* set by podman, lxc, nspawn */
    char cgroup[256], version[256];

    hg_doctor_line(doctor, "/proc/version", version, sizeof(version));
    for (char *c = version; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    doctor->wsl = strstr(version, "microsoft") != NULL || is_there(doctor, "/dev/dxg");
    if (is_there(doctor, "/run/.containerenv"))
        snprintf(doctor->container, sizeof(doctor->container), "podman");
    else if (is_there(doctor, "/.dockerenv"))
        snprintf(doctor->container, sizeof(doctor->container), "docker");
    else if (named)
        snprintf(doctor->container, sizeof(doctor->container), "%s", named);
    if (doctor->container[0])
        return;
    hg_doctor_line(doctor, "/proc/1/cgroup", cgroup, sizeof(cgroup));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strstr(cgroup, kinds[i]))
            snprintf(doctor->container, sizeof(doctor->container), "%s",
                     strcmp(kinds[i], "libpod") == 0 ? "podman" : kinds[i]);
    }
}

static void tell_machine(hg_doctor *doctor)
{
    char processor[128], total[64], available[64], total_text[32], available_text[32];

    find_value(doctor, "/proc/cpuinfo", "model name", processor, sizeof(processor));
    find_value(doctor, "/proc/meminfo", "MemTotal", total, sizeof(total));
    find_value(doctor, "/proc/meminfo", "MemAvailable", available, sizeof(available));
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, "processor", NULL, "%s, %ld in use",
                  processor[0] ? processor : "of unknown name", sysconf(_SC_NPROCESSORS_ONLN));
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, "memory", NULL, "%s, %s available",
                  hg_show_bytes(strtoull(total, NULL, 10) << 10, total_text),
                  hg_show_bytes(strtoull(available, NULL, 10) << 10, available_text));
}

void hg_doctor_system(hg_doctor *doctor)
{
    const uint32_t library = hg_version();
    const uint32_t header = (HG_VERSION_MAJOR << 16) | (HG_VERSION_MINOR << 8) | HG_VERSION_PATCH;
    char text[256], nvidia[256], path[HG_PATH_SIZE];
    struct utsname kernel;

    find_container(doctor);
    doctor->has_apt = access(hg_doctor_path(doctor, "/usr/bin/apt-get", path), X_OK) == 0;
    if (library == header)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "headgate", NULL,
                      "%s, exact order %s, built with compiler %.100s", HG_VERSION_STRING,
                      HG_EXACT_REVISION, __VERSION__);
    else
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, section, "headgate", "cmake --build build",
                      "the command is %s, its library %u.%u.%u: build both anew", HG_VERSION_STRING,
                      library >> 16, (library >> 8) & 0xff, library & 0xff);
    find_value(doctor, "/etc/os-release", "PRETTY_NAME", text, sizeof(text));
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, "system", NULL, "%s",
                  text[0] ? text : "of unknown name");
    if (uname(&kernel) == 0)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "kernel", NULL, "%s %s, %s", kernel.sysname,
                      kernel.release, kernel.machine);
    if (confstr(_CS_GNU_LIBC_VERSION, text, sizeof(text)) > 0)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "C library", NULL, "%s", text);
    if (*hg_doctor_line(doctor, "/proc/driver/nvidia/version", nvidia, sizeof(nvidia)))
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "NVIDIA module", NULL, "%s", nvidia);
    tell_machine(doctor);
    if (doctor->wsl)
        hg_doctor_add(doctor, HG_DOCTOR_OK, section, "Windows", NULL,
                      "this is Windows Subsystem for Linux: a GPU comes through /dev/dxg");
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, "container", NULL, "%s",
                  doctor->container[0] ? doctor->container : "none");
    hg_doctor_add(doctor, HG_DOCTOR_OK, section, "display", NULL, "%s",
                  hg_doctor_variable("DISPLAY") || hg_doctor_variable("WAYLAND_DISPLAY")
                      ? "there is one; headgate does not use it"
                      : "none, and none is needed");
}
