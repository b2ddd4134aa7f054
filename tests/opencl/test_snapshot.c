/* SPDX-License-Identifier: MIT */
/* What is said about devices, on made-up ones; and a machine without a loader or without a driver.
 */
#include "fake.h"
#include "tiny.h"

#include "os.h"

#include <string.h>

/* The one device of the made-up driver. */
static hg_snapshot look(const hg_cl *cl)
{
    hg_snapshot out[2];
    hg_tiny_log log;
    uint32_t count = 2;

    hg_tiny_log_start(&log);
    assert_int_equal(hg_cl_enumerate(cl, &log.log, out, &count), HG_OK);
    assert_int_equal(count, 1);
    assert_int_equal(log.errors, 0);
    return out[0];
}

static void test_ordinary(void **state)
{
    hg_cl cl;
    hg_snapshot s;
    uint64_t free_bytes, total_bytes;

    (void)state;
    hg_fake_start(&cl);
    s = look(&cl);
    hg_os_memory(&free_bytes, &total_bytes);
    assert_int_equal(s.struct_size, sizeof(s));
    assert_int_equal(s.backend, HG_BACKEND_OPENCL);
    assert_int_equal(s.type, HG_DEVICE_CPU);
    assert_string_equal(s.name, "Fake device");
    assert_string_equal(s.driver, "Made Up");
    assert_string_equal(s.driver_version, "7.1");
    assert_string_equal(s.api_version, "OpenCL 3.0");
    assert_string_equal(s.unusable, "");
    assert_int_equal(s.vendor_id, 0x1234);
    assert_int_equal(s.compute_units, 7);
    /* The machine's memory, not the driver's 4 GiB. */
    assert_true(s.memory_total_bytes == (total_bytes ? total_bytes : hg_fake_state.device.memory));
    assert_int_equal(s.limits.group_invocations, 1024);
    assert_int_equal(s.limits.group_size[1], 512);
    assert_true(s.limits.group_count[0] >= 65535 && s.limits.group_count[2] == 65535);
    assert_int_equal(s.limits.bind_align_bytes, 128);
    assert_int_equal(s.limits.push_bytes, 1024);
    assert_int_equal(s.limits.storage_buffers, (1024 - 128) / 8);
    assert_true(s.limits.binding_bytes == hg_fake_state.device.alloc);
    assert_int_equal(s.limits.subgroup_max, 0);
    assert_int_equal(s.device_uuid[0], 0);
    assert_int_equal(s.features, HG_FEATURE_STORAGE16 | HG_FEATURE_TIMESTAMPS | HG_FEATURE_RTE32 |
                                     HG_FEATURE_UNIFIED_MEMORY);
}

static void test_extensions(void **state)
{
    hg_cl cl;
    hg_snapshot s;

    (void)state;
    hg_fake_start(&cl);
    hg_fake_state.device.extensions =
        "cl_khr_fp16 cl_khr_device_uuid cl_khr_subgroups cl_intel_required_subgroup_size";
    s = look(&cl);
    assert_int_equal(s.device_uuid[15], 16);
    assert_int_equal(s.driver_uuid[0], 1);
    assert_int_equal(s.limits.subgroup_min, 4);
    assert_int_equal(s.limits.subgroup_max, 16);
    assert_true(s.features & HG_FEATURE_FP16);
    assert_true(s.features & HG_FEATURE_SUBGROUP_ARITHMETIC);
    hg_fake_state.device.extensions = "cl_intel_subgroups cl_intel_required_subgroup_size";
    s = look(&cl);
    assert_int_equal(s.limits.subgroup_min, 4);
    assert_false(s.features & HG_FEATURE_FP16);
    /* Part of a longer word is another extension. */
    hg_fake_state.device.extensions = "cl_khr_fp16_more xcl_khr_fp16 cl_khr_subgroups";
    s = look(&cl);
    assert_false(s.features & HG_FEATURE_FP16);
    assert_false(s.features & HG_FEATURE_SUBGROUP_ARITHMETIC);
}

static void test_types(void **state)
{
    hg_cl cl;
    hg_snapshot s;

    (void)state;
    hg_fake_start(&cl);
    hg_fake_state.device.type = CL_DEVICE_TYPE_GPU;
    assert_int_equal(look(&cl).type, HG_DEVICE_INTEGRATED);
    hg_fake_state.device.unified = CL_FALSE;
    s = look(&cl);
    assert_int_equal(s.type, HG_DEVICE_DISCRETE);
    assert_false(s.features & HG_FEATURE_UNIFIED_MEMORY);
    assert_true(s.memory_total_bytes == hg_fake_state.device.memory);
    hg_fake_state.device.type = CL_DEVICE_TYPE_ACCELERATOR;
    assert_int_equal(look(&cl).type, HG_DEVICE_OTHER);
    hg_fake_state.device.type =
        CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    assert_int_equal(look(&cl).type, HG_DEVICE_CPU);
}

static void test_unusable(void **state)
{
    hg_cl cl;
    hg_fake_device *d = &hg_fake_state.device;

    (void)state;
#define UNUSABLE(change, words)                                                                    \
    hg_fake_start(&cl);                                                                            \
    change;                                                                                        \
    assert_non_null(strstr(look(&cl).unusable, words))
    UNUSABLE(d->available = CL_FALSE, "not available");
    UNUSABLE(d->compiler = CL_FALSE, "no OpenCL C compiler");
    UNUSABLE(d->version = "OpenCL 1.1 old", "OpenCL 1.1, 1.2 is needed");
    UNUSABLE(d->version = "nonsense", "1.2 is needed");
    UNUSABLE(d->platform_version = "OpenCL 1.0 old", "OpenCL 1.0, 1.2 is needed");
    UNUSABLE(d->c_version = "OpenCL C 1.1", "OpenCL C 1.1");
    UNUSABLE(d->c_version = "OpenCL C 1", "1.2 is needed");
    UNUSABLE(d->little_endian = CL_FALSE, "big-endian");
    UNUSABLE(d->fp32 = CL_FP_ROUND_TO_ZERO, "does not round fp32 to nearest");
    UNUSABLE((d->profile = "EMBEDDED_PROFILE", d->fp32 = CL_FP_ROUND_TO_ZERO), "embedded profile");
    UNUSABLE(d->align_bits = 8192, "1024 bytes");
    UNUSABLE(d->parameters = 128, "128 bytes of arguments");
    UNUSABLE(d->group = 64, "work-groups of 64");
    UNUSABLE(d->shared = 8192, "8192 bytes of local memory");
    UNUSABLE(d->alloc = UINT64_C(64) << 20, "buffers of 64 MiB");
#undef UNUSABLE
    /* The embedded profile alone is no reason. */
    hg_fake_start(&cl);
    d->profile = "EMBEDDED_PROFILE";
    d->parameters = 256;
    assert_string_equal(look(&cl).unusable, "");
}

/* A device that does not answer is left out, with a line; so is everything else that is missing. */
static void test_missing(void **state)
{
    static const cl_uint needed[] = {CL_DEVICE_NAME,           CL_DEVICE_TYPE,
                                     CL_DRIVER_VERSION,        CL_DEVICE_MAX_WORK_GROUP_SIZE,
                                     CL_DEVICE_PROFILE,        CL_DEVICE_EXTENSIONS,
                                     CL_DEVICE_VENDOR_ID,      CL_DEVICE_MAX_WORK_ITEM_SIZES,
                                     CL_DEVICE_GLOBAL_MEM_SIZE};
    hg_snapshot out[4];
    hg_tiny_log log;
    hg_cl cl;
    uint32_t count;

    (void)state;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        hg_fake_start(&cl);
        hg_fake_state.device.mute = needed[i];
        hg_tiny_log_start(&log);
        count = 4;
        assert_int_equal(hg_cl_enumerate(&cl, &log.log, out, &count), HG_OK);
        assert_int_equal(count, 0);
        assert_int_equal(log.infos, 1);
        assert_int_equal(log.errors, 0);
    }
    hg_fake_start(&cl);
    hg_fake_state.device.dimensions = 2;
    count = 4;
    assert_int_equal(hg_cl_enumerate(&cl, NULL, out, &count), HG_OK);
    assert_int_equal(count, 0);
    hg_fake_start(&cl);
    hg_fake_state.device.devices = 0;
    hg_tiny_log_start(&log);
    count = 4;
    assert_int_equal(hg_cl_enumerate(&cl, &log.log, out, &count), HG_OK);
    assert_int_equal(count, 0);
    assert_non_null(strstr(log.text, "Made Up lists no device: CL_DEVICE_NOT_FOUND"));
    hg_fake_start(&cl);
    hg_fake_state.device.platforms = 0;
    hg_tiny_log_start(&log);
    count = 4;
    assert_int_equal(hg_cl_enumerate(&cl, &log.log, out, &count), HG_OK);
    assert_int_equal(count, 0);
    assert_non_null(strstr(log.text, "CL_PLATFORM_NOT_FOUND_KHR"));
}

/* More devices than room: as many as fit; more than anybody has: no more than are kept. */
static void test_room(void **state)
{
    hg_snapshot out[3];
    hg_cl_place places[HG_CL_DEVICES_MAX];
    hg_cl cl;
    uint32_t count = 3;

    (void)state;
    hg_fake_start(&cl);
    hg_fake_state.device.platforms = 2;
    hg_fake_state.device.devices = 5;
    assert_int_equal(hg_cl_enumerate(&cl, NULL, out, &count), HG_OK);
    assert_int_equal(count, 3);
    assert_int_equal(out[2].backend_index, 2);
    assert_int_equal(hg_cl_places(&cl, NULL, places), 10);
    hg_fake_state.device.devices = HG_CL_DEVICES_MAX;
    assert_int_equal(hg_cl_places(&cl, NULL, places), HG_CL_DEVICES_MAX);
    count = 0;
    assert_int_equal(hg_cl_enumerate(&cl, NULL, out, &count), HG_OK);
    assert_int_equal(count, 0);
}

static void test_loader(void **state)
{
    static const char *const absent[] = {"libheadgate-no-such-loader.so.1", NULL};
    static const char *const other[] = {"libc.so.6", "libSystem.dylib", NULL};
    hg_snapshot out[HG_CL_DEVICES_MAX];
    hg_tiny_log log;
    hg_cl cl;
    uint32_t count = HG_CL_DEVICES_MAX;

    (void)state;
    hg_tiny_log_start(&log);
    assert_int_equal(hg_cl_load_names(&log.log, absent, &cl), HG_ERR_NO_DEVICE);
    assert_int_equal(log.infos, 1);
    assert_int_equal(log.errors, 0);
    assert_null(cl.library);
    hg_cl_unload(&cl);
    hg_tiny_log_start(&log);
    assert_int_equal(hg_cl_load_names(&log.log, other, &cl), HG_ERR_NO_DEVICE);
    assert_non_null(strstr(log.text, "older than OpenCL 1.2"));
    assert_null(cl.library);
    /* The real entry, in a test that sees no driver: whether there is a loader or not, no device
     * and no error. */
    hg_tiny_log_start(&log);
    assert_int_equal(hg_backend_opencl.enumerate(&log.log, out, &count), HG_OK);
    assert_int_equal(count, 0);
    assert_int_equal(log.infos, 1);
    assert_int_equal(log.errors, 0);
}

static void test_open_another(void **state)
{
    hg_tiny_log log;
    hg_plan plan;
    hg_cl cl;
    hg_dev *dev = NULL;
    const char import = 0;

    (void)state;
    hg_fake_start(&cl);
    hg_tiny_log_start(&log);
    assert_int_equal(hg_tiny_plan(&cl, 0, &log.log, &plan), HG_OK);
    assert_int_equal(hg_cl_open(&cl, &plan, &import, &dev), HG_ERR_UNSUPPORTED);
    assert_null(dev);
    assert_int_equal(log.errors, 1);
    plan.device.backend_index = 1;
    assert_int_equal(hg_cl_open(&cl, &plan, NULL, &dev), HG_ERR_NO_DEVICE);
    plan.device.backend_index = 0;
    hg_fake_state.device.name = "Another device";
    assert_int_equal(hg_cl_open(&cl, &plan, NULL, &dev), HG_ERR_NO_DEVICE);
    assert_null(dev);
    assert_int_equal(log.errors, 3);
    /* Without a driver there is nothing to open. */
    assert_int_equal(hg_backend_opencl.open(&plan, NULL, &dev), HG_ERR_NO_DEVICE);
    assert_null(dev);
}

static void test_errors(void **state)
{
    hg_tiny_log log;

    (void)state;
    assert_int_equal(hg_cl_result(CL_OUT_OF_RESOURCES), HG_ERR_DEVICE_MEMORY);
    assert_int_equal(hg_cl_result(CL_MEM_OBJECT_ALLOCATION_FAILURE), HG_ERR_DEVICE_MEMORY);
    assert_int_equal(hg_cl_result(CL_OUT_OF_HOST_MEMORY), HG_ERR_HOST_MEMORY);
    assert_int_equal(hg_cl_result(CL_DEVICE_NOT_AVAILABLE), HG_ERR_DEVICE_LOST);
    assert_int_equal(hg_cl_result(CL_INVALID_KERNEL), HG_ERR_DRIVER);
    assert_int_equal(hg_cl_result(-9999), HG_ERR_DRIVER);
    assert_string_equal(hg_cl_error_name(-9999), "unknown OpenCL error");
    hg_tiny_log_start(&log);
    assert_int_equal(hg_cl_fail(&log.log, CL_INVALID_KERNEL, "kernel %s", "x"), HG_ERR_DRIVER);
    assert_string_equal(log.text, "kernel x: CL_INVALID_KERNEL (-48)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary), cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_types),    cmocka_unit_test(test_unusable),
        cmocka_unit_test(test_missing),  cmocka_unit_test(test_room),
        cmocka_unit_test(test_loader),   cmocka_unit_test(test_open_another),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
