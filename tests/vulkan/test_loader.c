/* SPDX-License-Identifier: MIT */
/*
 * What the loader library may find: nothing, broken drivers, two drivers at once. Without --drivers
 * only the cases that load no driver are run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

static const hg_backend *const vk = &hg_backend_vulkan;

static void use_drivers(const char *list)
{
    assert_int_equal(setenv("VK_ICD_FILENAMES", list, 1), 0);
    assert_int_equal(setenv("VK_DRIVER_FILES", list, 1), 0);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static uint32_t list_devices(test_log *log, hg_snapshot *out, uint32_t room)
{
    uint32_t count = room;

    test_log_init(log);
    assert_int_equal(vk->enumerate(&log->log, out, &count), HG_OK);
    assert_int_equal(log->lines[HG_LOG_ERROR], 0);
    assert_true(count <= room);
    return count;
}

static void no_loader_library(void **state)
{
    static const char *const absent[] = {"libvulkan-of-nobody.so.1", NULL};
    static const char *const wrong[] = {"libm.so.6", NULL}; /* opens, but is no loader */
    PFN_vkGetInstanceProcAddr get;

    (void)state;
    assert_null(hg_vk_library_open(absent, &get));
    assert_null(get);
    assert_null(hg_vk_library_open(wrong, &get));
    assert_null(get);
}

static PFN_vkVoidFunction VKAPI_CALL know_nothing(VkInstance instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

static void a_loader_of_vulkan_1_0(void **state)
{
    uint32_t count = 4;
    hg_snapshot found[4];
    test_log log;

    (void)state;
    test_log_init(&log);
    assert_int_equal(hg_vk_enumerate(&log.log, know_nothing, found, &count), HG_OK);
    assert_int_equal(count, 0);
    assert_int_equal(log.lines[HG_LOG_INFO], 1);
    assert_non_null(strstr(log.last[HG_LOG_INFO], "1.1"));
}

static void no_driver(void **state)
{
    hg_plan plan = {0};
    hg_snapshot found;
    hg_dev *dev;
    test_log log;

    (void)state;
    use_drivers("no-such-driver.json");
    assert_int_equal(list_devices(&log, &found, 1), 0);
    assert_true(log.lines[HG_LOG_INFO] > 0);
    snprintf(plan.device.name, sizeof(plan.device.name), "gone");
    plan.log = log.log;
    assert_int_equal(vk->open(&plan, NULL, &dev), HG_ERR_NO_DEVICE);
    assert_null(dev);
    assert_int_equal(log.lines[HG_LOG_ERROR], 1);
    assert_int_equal(vk->open(&(hg_plan){0}, NULL, &dev), HG_ERR_NO_DEVICE); /* silence is fine */
}

static void broken_drivers_beside_a_good_one(void **state)
{
    hg_snapshot found[4];
    test_log log;

    (void)state;
    if (access(HG_ICD_LAVAPIPE, R_OK) != 0)
        skip();
    write_text("garbage.json", "{ \"ICD\": [[");
    write_text("missing.json", "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": "
                               "\"/nowhere/libvulkan_nobody.so\", \"api_version\": \"1.1.0\"}}");
    write_text("refusing.json", "{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": "
                                "\"" HG_REFUSING_ICD "\", \"api_version\": \"1.1.0\"}}");
    use_drivers("missing.json:refusing.json");
    assert_int_equal(list_devices(&log, found, 4), 0);
    assert_true(log.lines[HG_LOG_INFO] > 0);
    use_drivers("missing.json:refusing.json:" HG_ICD_LAVAPIPE);
    assert_int_equal(list_devices(&log, found, 4), 1);
    assert_string_equal(found[0].unusable, "");
    assert_int_equal(found[0].backend_index, 0);
    /* A driver file that is no JSON makes some loaders give up everything; then the log says so. */
    use_drivers("garbage.json:" HG_ICD_LAVAPIPE);
    assert_true(list_devices(&log, found, 4) == 1 || log.lines[HG_LOG_INFO] > 0);
}

static void two_drivers(void **state)
{
    hg_snapshot found[4], one;
    hg_plan plan = {0};
    test_log log;

    (void)state;
    if (access(HG_ICD_LAVAPIPE, R_OK) != 0 || access(HG_ICD_SWIFTSHADER, R_OK) != 0)
        skip();
    use_drivers(HG_ICD_LAVAPIPE ":" HG_ICD_SWIFTSHADER);
    assert_int_equal(list_devices(&log, found, 4), 2);
    assert_string_not_equal(found[0].name, found[1].name);
    assert_int_equal(found[1].backend_index, 1);
    assert_int_equal(list_devices(&log, &one, 1), 1);
    assert_string_equal(one.name, found[0].name);
    assert_int_equal(list_devices(&log, NULL, 0), 0);
    for (int i = 0; i < 2; i++) { /* both at once */
        hg_dev *dev[2] = {NULL};

        for (int k = 0; k <= i; k++) {
            plan.device = found[k];
            plan.features = found[k].features;
            plan.log = log.log;
            assert_int_equal(vk->open(&plan, NULL, &dev[k]), HG_OK);
        }
        for (int k = 0; k <= i; k++)
            vk->close(&dev[k]);
    }
    plan.device.backend_index = 0; /* of the other */
    assert_int_equal(vk->open(&plan, NULL, &(hg_dev *){NULL}), HG_ERR_NO_DEVICE);
}

static void no_validation_layer(void **state)
{
    hg_plan plan = {0};
    hg_dev *dev;
    test_log log;

    (void)state;
    if (access(HG_ICD_LAVAPIPE, R_OK) != 0)
        skip();
    use_drivers(HG_ICD_LAVAPIPE);
    assert_int_equal(list_devices(&log, &plan.device, 1), 1);
    plan.log = log.log;
    plan.validate = 1;
    assert_int_equal(setenv("VK_LAYER_PATH", "no-such-folder", 1), 0);
    assert_int_equal(vk->open(&plan, NULL, &dev), HG_ERR_UNSUPPORTED);
    assert_null(dev);
    assert_non_null(strstr(log.last[HG_LOG_ERROR], "vulkan-validationlayers"));
    assert_int_equal(unsetenv("VK_LAYER_PATH"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest quiet[] = {
        cmocka_unit_test(no_loader_library),
        cmocka_unit_test(a_loader_of_vulkan_1_0),
        cmocka_unit_test(no_driver),
    };
    const struct CMUnitTest drivers[] = {
        cmocka_unit_test(broken_drivers_beside_a_good_one),
        cmocka_unit_test(two_drivers),
        cmocka_unit_test(no_validation_layer),
    };

    if (argc > 1 && strcmp(argv[1], "--drivers") == 0)
        return cmocka_run_group_tests(drivers, NULL, NULL);
    return cmocka_run_group_tests(quiet, NULL, NULL);
}
