/* SPDX-License-Identifier: MIT */
/* The doctor on made-up machines: GPUs on the bus, files below /dev, containers, devices. */
#include "doctor.h"
#include "doctor_probe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void make(const char *path, const char *text)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(full, 0755) != 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void link_to(const char *target, const char *path)
{
    char full[512];

    snprintf(full, sizeof(full), "%s%s", root, path);
    assert_int_equal(symlink(target, full), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "doctor.XXXXXX");
    return mkdtemp(root) ? chmod(root, 0755) : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

/* A card as /sys/bus/pci/devices has it. */
static void make_card(const char *address, const char *class, const char *vendor,
                      const char *device, const char *driver)
{
    char path[256], target[128];

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", address);
    make(path, class);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", address);
    make(path, vendor);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/device", address);
    make(path, device);
    if (!driver)
        return;
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof(target), "../../../bus/pci/drivers/%s", driver);
    link_to(target, path);
}

static const hg_doctor_row *find_row(const hg_doctor *doctor, const char *name)
{
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        if (strcmp(doctor->rows[i].name, name) == 0)
            return &doctor->rows[i];
    }
    fail_msg("no row is called %s", name);
    return NULL;
}

static void expect(const hg_doctor *doctor, const char *name, hg_doctor_state state,
                   const char *found, const char *remedy)
{
    const hg_doctor_row *row = find_row(doctor, name);

    if (row->state != state || !strstr(row->found, found) ||
        (remedy ? !row->remedy || !strstr(row->remedy, remedy) : row->remedy != NULL))
        fail_msg("%s: state %d, %s; fix: %s", name, (int)row->state, row->found,
                 row->remedy ? row->remedy : "none");
}

static void cards_without_drivers(void **state)
{
    hg_doctor doctor = {.root = root, .has_apt = 1};

    (void)state;
    make_card("0000:01:00.0", "0x030000\n", "0x10de\n", "0x2684\n", "nouveau");
    make_card("0000:02:00.0", "0x030000\n", "0x1002\n", "0x744c\n", NULL);
    make_card("0000:03:00.0", "0x038000\n", "0x8086\n", "0x56a0\n", "i915");
    make_card("0000:04:00.0", "0x030000\n", "0x1234\n", "0x1111\n", "bochs-drm");
    make_card("0000:05:00.0", "0x020000\n", "0x8086\n", "0x1234\n", "e1000");
    make_card("0000:06:00.0", "0x030200\n", "0x10de\n", "0x2335\n", "vfio-pci");
    make("/dev/dri/renderD128", "");
    hg_doctor_access(&doctor);
    assert_int_equal(doctor.result, HG_OK);
    expect(&doctor, "0000:01:00.0", HG_DOCTOR_WRONG, "nouveau", "install libvulkan1 nvidia-driver");
    expect(&doctor, "0000:02:00.0", HG_DOCTOR_WRONG, "AMD GPU 1002:744c, kernel driver none",
           "install firmware-amd-graphics");
    expect(&doctor, "0000:03:00.0", HG_DOCTOR_WRONG, "no Vulkan or OpenCL driver",
           "mesa-vulkan-drivers");
    expect(&doctor, "0000:04:00.0", HG_DOCTOR_OK, "computes nothing", NULL);
    expect(&doctor, "0000:06:00.0", HG_DOCTOR_NOTE, "virtual machine", NULL);
    expect(&doctor, "/dev/dri/renderD128", HG_DOCTOR_OK, "can be read and written", NULL);
    assert_int_equal(doctor.row_count, 6);
    hg_doctor_free(&doctor);
}

static void cards_with_devices(void **state)
{
    hg_device_info *devices = calloc(2, sizeof(*devices));
    hg_doctor doctor = {.root = root, .has_apt = 1, .devices = devices, .device_count = 2};

    (void)state;
    assert_non_null(devices);
    devices[0] = (hg_device_info){.backend = HG_BACKEND_VULKAN,
                                  .type = HG_DEVICE_DISCRETE,
                                  .selector = "vk:0",
                                  .vendor_id = 0x1002,
                                  .device_id = 0x744c};
    devices[1] = (hg_device_info){.backend = HG_BACKEND_OPENCL,
                                  .type = HG_DEVICE_INTEGRATED,
                                  .selector = "cl:0",
                                  .vendor_id = 0x8086};
    make_card("0000:02:00.0", "0x030000\n", "0x1002\n", "0x744c\n", "amdgpu");
    make_card("0000:03:00.0", "0x030000\n", "0x8086\n", "0x56a0\n", "i915");
    make_card("0000:04:00.0", "0x030000\n", "0x1002\n", "0x1638\n", "amdgpu");
    hg_doctor_add(&doctor, HG_DOCTOR_OK, "Vulkan", "radeon_icd.x86_64.json", NULL, "loads");
    hg_doctor_access(&doctor);
    expect(&doctor, "0000:02:00.0", HG_DOCTOR_OK, "is vk:0", NULL);
    expect(&doctor, "0000:03:00.0", HG_DOCTOR_OK, "is cl:0", NULL);
    expect(&doctor, "0000:04:00.0", HG_DOCTOR_NOTE, "its driver loads and does not offer it", NULL);
    hg_doctor_free(&doctor);
}

static void containers_need_an_option(void **state)
{
    static const char *const amd[][2] = {{"docker", "docker run --device /dev/dri"},
                                         {"podman", "podman run --device /dev/dri"},
                                         {"lxc", "lxc config device add"},
                                         {"kubepods", "docker run --device /dev/dri"}};

    (void)state;
    make_card("0000:01:00.0", "0x030200\n", "0x10de\n", "0x2335\n", "nvidia");
    make_card("0000:02:00.0", "0x030000\n", "0x1002\n", "0x744c\n", "amdgpu");
    for (size_t i = 0; i < sizeof(amd) / sizeof(amd[0]); i++) {
        hg_doctor doctor = {.root = root, .has_apt = 1};

        snprintf(doctor.container, sizeof(doctor.container), "%s", amd[i][0]);
        hg_doctor_access(&doctor);
        expect(&doctor, "0000:02:00.0", HG_DOCTOR_WRONG, "was not given it", amd[i][1]);
        expect(&doctor, "0000:01:00.0", HG_DOCTOR_WRONG, "was not given it",
               i == 0   ? "docker run --gpus all"
               : i == 1 ? "nvidia.com/gpu=all"
                        : "");
        hg_doctor_free(&doctor);
    }
}

/* root may use every file: somebody else looks. Exit code 0: all as expected. */
static int look_as_nobody(void)
{
    hg_doctor doctor = {.root = root}, boxed = {.root = root, .container = "docker"};
    const hg_doctor_row *row = NULL;
    int wrong;

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    hg_doctor_access(&doctor);
    for (uint32_t i = 0; i < doctor.row_count; i++) {
        if (strcmp(doctor.rows[i].name, "/dev/dri/renderD128") == 0)
            row = &doctor.rows[i];
    }
    wrong = !row || row->state != HG_DOCTOR_WRONG || !row->remedy ||
            !strstr(row->remedy, "sudo chgrp render /dev/dri/renderD128") ||
            !strstr(row->found, "Permission denied");
    hg_doctor_access(&boxed);
    wrong |= boxed.row_count == 0 || !boxed.rows[0].remedy ||
             !strstr(boxed.rows[0].remedy, "docker run --device");
    hg_doctor_free(&doctor);
    hg_doctor_free(&boxed);
    return wrong;
}

static void files_that_are_not_ours(void **state)
{
    char path[256];
    pid_t child;
    int status;

    (void)state;
    make("/dev/dri/renderD128", "");
    snprintf(path, sizeof(path), "%s/dev/dri/renderD128", root);
    assert_int_equal(chmod(path, 0), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(look_as_nobody());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void systems_are_told(void **state)
{
    hg_doctor doctor = {.root = root}, windows = {.root = root};

    (void)state;
    unsetenv("container");
    make("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Made Up \033[31m9\"\n");
    make("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Quick One\n");
    make("/proc/meminfo", "MemTotal:       1048576 kB\nMemAvailable:    524288 kB\n");
    make("/proc/version", "Linux version 6\n");
    make("/proc/1/cgroup", "0::/kubepods/x\n");
    hg_doctor_system(&doctor);
    expect(&doctor, "system", HG_DOCTOR_OK, "Made Up ?[31m9", NULL);
    expect(&doctor, "processor", HG_DOCTOR_OK, "Quick One, ", NULL);
    expect(&doctor, "memory", HG_DOCTOR_OK, "1.0 GiB, 512 MiB available", NULL);
    expect(&doctor, "container", HG_DOCTOR_OK, "kubepods", NULL);
    assert_int_equal(doctor.wsl, 0);
    assert_int_equal(doctor.has_apt, 0);
    hg_doctor_free(&doctor);
    make("/proc/version", "Linux version 5 (Microsoft@Microsoft.com)\n");
    make("/.dockerenv", "");
    hg_doctor_system(&windows);
    assert_int_equal(windows.wsl, 1);
    expect(&windows, "container", HG_DOCTOR_OK, "docker", NULL);
    hg_doctor_access(&windows);
    expect(&windows, "/dev/dxg", HG_DOCTOR_NOTE, "Windows hands no GPU in", "wsl.exe --update");
    hg_doctor_free(&windows);
}

static void kernels_that_are_wrong_are_named(void **state)
{
    static char yes[] = "1 26", no[] = "0 26", bits[] = "not usable with --exact; right for fp32",
                wrong[] = "1 kernel wrong (rms_norm), not usable",
                failed[] = "WRONG: matmul ragged: y[3]", why[] = "no such device";
    static const char other[] = "export HG_DEVICE=cl:0", unset[] = "unset POCL_A";
    hg_probe passes = {.facts = {{"BITS", yes, 4}, {"NEAR", yes, 4}}, .fact_count = 2, .ended = 1};
    hg_probe rounds = {
        .facts = {{"FAIL", failed, 10}, {"WORD", bits, 10}, {"BITS", no, 4}, {"NEAR", yes, 4}},
        .fact_count = 4,
        .ended = 1};
    hg_probe fails = {
        .facts = {{"FAIL", failed, 10}, {"WORD", wrong, 10}, {"BITS", no, 4}, {"NEAR", no, 4}},
        .fact_count = 4,
        .ended = 1};
    hg_probe closed = {.facts = {{"LINE", why, 5}}, .fact_count = 1, .ended = 1};
    hg_probe crashed = {.facts = {{"FAIL", failed, 10}}, .fact_count = 1, .ending = 256 + 11};
    hg_probe hangs = {.timed_out = 1, .seconds = 180, .ending = 256 + 9};
    hg_doctor doctor = {.root = root};

    (void)state;
    hg_doctor_selftest_row(&doctor, "vk:0", &passes, other, NULL);
    hg_doctor_selftest_row(&doctor, "vk:1", &fails, other, NULL);
    hg_doctor_selftest_row(&doctor, "vk:2", &closed, other, NULL);
    hg_doctor_selftest_row(&doctor, "vk:3", &crashed, other, NULL);
    hg_doctor_selftest_row(&doctor, "vk:4", &hangs, other, NULL);
    hg_doctor_selftest_row(&doctor, "vk:5", &rounds, other, NULL);
    hg_doctor_selftest_row(&doctor, "cl:1", &rounds, other, unset);
    hg_doctor_selftest_row(&doctor, "cl:2", &fails, other, unset);
    expect(&doctor, "vk:0", HG_DOCTOR_OK, "right for fp32 and for exact: all 26 kernels", NULL);
    expect(&doctor, "vk:1", HG_DOCTOR_WRONG,
           "1 kernel wrong (rms_norm), not usable; first WRONG:", other);
    expect(&doctor, "vk:2", HG_DOCTOR_WRONG, "cannot be tried: no such device", "HG_DEVICE");
    expect(&doctor, "vk:3", HG_DOCTOR_WRONG, "signal 11", "HG_DEVICE");
    expect(&doctor, "vk:3", HG_DOCTOR_WRONG, "before that failed WRONG: matmul", "HG_DEVICE");
    expect(&doctor, "vk:4", HG_DOCTOR_WRONG, "no answer for 180 s", "HG_DEVICE");
    expect(&doctor, "vk:5", HG_DOCTOR_NOTE, "not usable with --exact; right for fp32", NULL);
    expect(&doctor, "cl:1", HG_DOCTOR_NOTE, "right for fp32", unset);
    expect(&doctor, "cl:2", HG_DOCTOR_WRONG, "not usable", unset);
    hg_doctor_free(&doctor);
}

static void clear_variables(void)
{
    static const char *const names[] = {"POCL_CACHE_DIR",         "POCL_DEVICES",
                                        "POCL_EXTRA_BUILD_FLAGS", "LP_NUM_THREADS",
                                        "VK_DRIVER_FILES",        "VK_INSTANCE_LAYERS",
                                        "MESA_SHADER_CACHE_DIR",  "CL_CONFIG_X",
                                        "OCL_ICD_VENDORS",        "HF_TOKEN"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static void variables_that_change_drivers_are_noted(void **state)
{
    hg_doctor doctor = {.root = root};
    int seen = 0;
    const char *before = getenv("PATH");
    char text[HG_COMMAND_SIZE], *path = before ? strdup(before) : NULL;

    (void)state;
    clear_variables();
    assert_null(hg_doctor_blame(HG_BACKEND_OPENCL, text));
    setenv("POCL_CACHE_DIR", "/x", 1);
    setenv("POCL_DEVICES", "pthread", 1);
    setenv("MESA_SHADER_CACHE_DIR", "/y", 1);
    setenv("LP_NUM_THREADS", "", 1);
    assert_null(hg_doctor_blame(HG_BACKEND_OPENCL, text));
    assert_null(hg_doctor_blame(HG_BACKEND_VULKAN, text));
    setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-fast-relaxed-math", 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_X", 1);
    setenv("VK_DRIVER_FILES", "/nope.json", 1);
    setenv("HF_TOKEN", "hf_sesame", 1);
    assert_string_equal(hg_doctor_blame(HG_BACKEND_OPENCL, text), "unset POCL_EXTRA_BUILD_FLAGS");
    assert_string_equal(hg_doctor_blame(HG_BACKEND_VULKAN, text), "unset VK_INSTANCE_LAYERS");
    assert_null(hg_doctor_blame(HG_BACKEND_REFERENCE, text));
    hg_doctor_environment(&doctor);
    expect(&doctor, "POCL_CACHE_DIR", HG_DOCTOR_OK, "/x", NULL);
    expect(&doctor, "MESA_SHADER_CACHE_DIR", HG_DOCTOR_OK, "/y", NULL);
    expect(&doctor, "LP_NUM_THREADS", HG_DOCTOR_OK, "(empty)", NULL);
    expect(&doctor, "POCL_DEVICES", HG_DOCTOR_NOTE, "devices are seen", "unset POCL_DEVICES");
    expect(&doctor, "POCL_EXTRA_BUILD_FLAGS", HG_DOCTOR_NOTE, "-cl-fast-relaxed-math: changes what",
           "unset POCL_EXTRA_BUILD_FLAGS");
    expect(&doctor, "HF_TOKEN", HG_DOCTOR_OK, "not shown", NULL);
    hg_doctor_free(&doctor);
    doctor.root = root;
    hg_doctor_add(&doctor, HG_DOCTOR_NOTE, "Vulkan", "VK_DRIVER_FILES", NULL, "is set");
    unsetenv("PATH");
    hg_doctor_environment(&doctor);
    for (uint32_t i = 1; i < doctor.row_count; i++) {
        if (strcmp(doctor.rows[i].name, "VK_DRIVER_FILES") == 0) {
            seen++;
            assert_int_equal(doctor.rows[i].state, HG_DOCTOR_NOTE);
            assert_string_equal(doctor.rows[i].found, "/nope.json: see above");
        }
    }
    assert_int_equal(seen, 1);
    expect(&doctor, "PATH", HG_DOCTOR_NOTE, "not set", "export PATH=/");
    hg_doctor_free(&doctor);
    setenv("PATH", "", 1);
    assert_int_equal(hg_doctor_has_linker(), 0);
    hg_doctor_environment(&doctor);
    expect(&doctor, "PATH", HG_DOCTOR_NOTE, "empty: drivers", "export PATH=/");
    hg_doctor_free(&doctor);
    if (path)
        setenv("PATH", path, 1);
    free(path);
    clear_variables();
}

/* Which device is the default is told by its trial. */
static void trials_say_what_is_the_matter(void **state)
{
    static char yes[] = "1 26", no[] = "0 26";
    hg_probe *trials = calloc(4, sizeof(*trials));
    hg_doctor doctor = {.root = root, .trials = trials, .device_count = 4};

    (void)state;
    assert_non_null(trials);
    for (int i = 0; i < 3; i++) {
        trials[i].seconds = 180;
        trials[i].ended = i < 2;
        trials[i].facts[0] = (hg_fact){"BITS", strdup(no), 4};
        trials[i].facts[1] = (hg_fact){"NEAR", strdup(i ? no : yes), 4};
        trials[i].fact_count = 2;
    }
    snprintf(trials[2].last_line, sizeof(trials[2].last_line), "Final linking failed");
    assert_null(hg_doctor_trouble(&doctor, 0));
    assert_string_equal(hg_doctor_trouble(&doctor, 1), "are wrong");
    assert_string_equal(hg_doctor_trouble(&doctor, 2), "cannot be built");
    assert_null(hg_doctor_trouble(&doctor, 3)); /* not tried */
    hg_doctor_free(&doctor);
}

static void commands_are_words_of_a_shell(void **state)
{
    const hg_doctor apt = {.has_apt = 1}, other = {.has_apt = 0};
    char text[HG_COMMAND_SIZE], long_path[2 * HG_COMMAND_SIZE];

    (void)state;
    assert_string_equal(hg_doctor_quote("/a/b.json", text), "/a/b.json");
    assert_string_equal(hg_doctor_quote("/a b/$(x)'s", text), "'/a b/$(x)'\\''s'");
    assert_string_equal(hg_doctor_quote("", text), "''");
    memset(long_path, '\'', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_true(strlen(hg_doctor_quote(long_path, text)) < HG_COMMAND_SIZE);
    memset(long_path, 'a', sizeof(long_path) - 1);
    assert_true(strlen(hg_doctor_quote(long_path, text)) < HG_COMMAND_SIZE);
    assert_non_null(strstr(hg_doctor_install(&apt, "x y", text), "apt-get install x y"));
    assert_string_equal(hg_doctor_install(&other, "x", text), "install what Debian calls x");
    assert_true(strlen(hg_doctor_put_off(long_path, text)) < HG_COMMAND_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cards_without_drivers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cards_with_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(containers_need_an_option, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_not_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(systems_are_told, set_up, tear_down),
        cmocka_unit_test(kernels_that_are_wrong_are_named),
        cmocka_unit_test(variables_that_change_drivers_are_noted),
        cmocka_unit_test(trials_say_what_is_the_matter),
        cmocka_unit_test(commands_are_words_of_a_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
