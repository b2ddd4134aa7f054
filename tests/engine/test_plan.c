/* SPDX-License-Identifier: MIT */
/* Order of devices, selectors, limits, variants, folding: on made-up devices, without a driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan.h"

typedef struct lines {
    char text[8192];
} lines;

static void collect(void *user, hg_log_level level, const char *line)
{
    lines *l = user;
    const size_t used = strlen(l->text);

    (void)level;
    snprintf(l->text + used, sizeof(l->text) - used, "%s\n", line);
}

static hg_snapshot device(hg_backend_kind backend, hg_device_type type, const char *name)
{
    hg_snapshot d = {.backend = backend,
                     .type = type,
                     .features = HG_FEATURE_TIMELINE | HG_FEATURE_PUSH_DESCRIPTOR |
                                 HG_FEATURE_FP16 | HG_FEATURE_SUBGROUP_ARITHMETIC |
                                 HG_FEATURE_TIMESTAMPS,
                     .limits = {.group_invocations = 1024,
                                .group_size = {1024, 1024, 64},
                                .group_count = {65535, 65535, 65535},
                                .shared_bytes = 65536,
                                .push_bytes = 256,
                                .storage_buffers = 64,
                                .bind_align_bytes = 16,
                                .subgroup_min = 32,
                                .subgroup_max = 32,
                                .binding_bytes = UINT64_C(4) << 30,
                                .alloc_bytes = UINT64_C(4) << 30}};

    snprintf(d.name, sizeof(d.name), "%s", name);
    return d;
}

static void orders_devices_and_names_them(void **state)
{
    hg_snapshot d[] = {device(HG_BACKEND_REFERENCE, HG_DEVICE_CPU, "reference"),
                       device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "pocl"),
                       device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "llvmpipe"),
                       device(HG_BACKEND_VULKAN, HG_DEVICE_INTEGRATED, "Iris"),
                       device(HG_BACKEND_OPENCL, HG_DEVICE_DISCRETE, "Radeon"),
                       device(HG_BACKEND_VULKAN, HG_DEVICE_DISCRETE, "Radeon")};
    static const char *const selectors[] = {"vk:0", "cl:0", "vk:1", "vk:2", "cl:1", "ref"};

    (void)state;
    hg_devices_sort(d, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(d[i].index, i);
        assert_string_equal(d[i].selector, selectors[i]);
    }
    assert_string_equal(d[2].name, "Iris");
    assert_string_equal(d[5].name, "reference");
}

static void picks_the_best_by_default(void **state)
{
    hg_snapshot d[] = {device(HG_BACKEND_VULKAN, HG_DEVICE_DISCRETE, "big"),
                       device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "llvmpipe"),
                       device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "pocl"),
                       device(HG_BACKEND_REFERENCE, HG_DEVICE_CPU, "reference")};
    uint32_t found = 9;

    (void)state;
    hg_devices_sort(d, 4);
    assert_int_equal(hg_device_select(NULL, d, 4, NULL, &found), HG_OK);
    assert_string_equal(d[found].name, "big");
    snprintf(d[0].unusable, sizeof(d[0].unusable), "too old");
    assert_int_equal(hg_device_select(NULL, d, 4, "", &found), HG_OK);
    assert_string_equal(d[found].name, "pocl"); /* OpenCL is the faster way to use a processor */
}

static void selects_by_every_spelling(void **state)
{
    hg_snapshot d[] = {device(HG_BACKEND_VULKAN, HG_DEVICE_DISCRETE, "AMD Radeon RX 7900"),
                       device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "llvmpipe"),
                       device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "pthread-epyc")};
    lines said = {""};
    const hg_log log = {collect, &said, HG_LOG_ERROR};
    uint32_t found = 9;

    (void)state;
    d[0].device_uuid[0] = 0xab;
    d[0].device_uuid[1] = 0xcd;
    d[0].device_uuid[2] = 0xef;
    d[0].device_uuid[3] = 0x01;
    hg_devices_sort(d, 3);
    assert_int_equal(hg_device_select(&log, d, 3, "1", &found), HG_OK);
    assert_int_equal(found, 1);
    assert_int_equal(hg_device_select(&log, d, 3, "cl:0", &found), HG_OK);
    assert_string_equal(d[found].name, "pthread-epyc");
    assert_int_equal(hg_device_select(&log, d, 3, "name:radeon", &found), HG_OK);
    assert_int_equal(found, 0);
    assert_int_equal(hg_device_select(&log, d, 3, "uuid:abcd", &found), HG_OK);
    assert_int_equal(hg_device_select(&log, d, 3, "abcdef01", &found), HG_OK);
    assert_int_equal(found, 0);
    assert_string_equal(said.text, "");
    assert_int_equal(hg_device_select(&log, d, 3, "vk:7", &found), HG_ERR_NO_DEVICE);
    assert_non_null(strstr(said.text, "no device 'vk:7'"));
    assert_non_null(strstr(said.text, "llvmpipe")); /* the candidates */
    said.text[0] = '\0';
    assert_int_equal(hg_device_select(&log, d, 3, "name:p", &found), HG_ERR_NO_DEVICE);
    assert_non_null(strstr(said.text, "more than one"));
    snprintf(d[0].unusable, sizeof(d[0].unusable), "7 storage buffers per stage");
    assert_int_equal(hg_device_select(&log, d, 3, "0", &found), HG_ERR_NO_DEVICE);
    assert_non_null(strstr(said.text, "7 storage buffers per stage"));
}

static void lowers_limits_and_never_raises(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_DISCRETE, "big");
    lines said = {""};
    const hg_engine_params minimum = {.limits = "spec-minimum"};
    const hg_engine_params some = {
        .limits = "shared=16384,invocations=64,range=1048576,subgroup=0,timeline=0"};
    const hg_engine_params high = {.limits = "invocations=4096,fp16=1"};
    hg_engine_params bad = {.log = {collect, &said, HG_LOG_ERROR}};
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&d, &minimum, &plan), HG_OK);
    assert_int_equal(plan.limits.group_invocations, 128);
    assert_int_equal(plan.limits.push_bytes, 128);
    assert_int_equal(plan.limits.binding_bytes, 128 << 20);
    assert_int_equal(plan.limits.storage_buffers, 8);
    assert_int_equal(plan.features, HG_FEATURE_TIMESTAMPS);
    assert_int_equal(hg_plan_make(&d, &some, &plan), HG_OK);
    assert_int_equal(plan.limits.group_invocations, 64);
    assert_int_equal(plan.limits.binding_bytes, 1 << 20);
    assert_int_equal(plan.limits.subgroup_max, 0);
    assert_false(plan.features & HG_FEATURE_TIMELINE);
    assert_true(plan.features & HG_FEATURE_PUSH_DESCRIPTOR);
    assert_int_equal(hg_plan_make(&d, &high, &plan), HG_OK);
    assert_int_equal(plan.limits.group_invocations, 1024);
    static const char *const broken[] = {"shred=1", "shared",    "shared=",      "shared=x",
                                         "=1",      "shared=-1", "shared=1 000", "shared=1=2"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        said.text[0] = '\0';
        bad.limits = broken[i];
        assert_int_equal(hg_plan_make(&d, &bad, &plan), HG_ERR_ARGUMENT);
        assert_non_null(strstr(said.text, "limits: "));
    }
    bad.limits = "push=64";
    assert_int_equal(hg_plan_make(&d, &bad, &plan), HG_ERR_UNSUPPORTED);
}

static void finds_a_variant_for_every_kernel(void **state)
{
    static const hg_dtype dtypes[] = {HG_DTYPE_F32, HG_DTYPE_F16, HG_DTYPE_BF16};
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "poor");
    const hg_engine_params minimum = {.limits = "spec-minimum"};
    const hg_engine_params tiny = {.limits = "invocations=64"};
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&d, &minimum, &plan), HG_OK);
    for (int k = 0; k < HG_KERNEL_COUNT; k++) {
        int has_w = 0;

        for (uint32_t b = 0; b < hg_kernels[k].bind_count; b++)
            has_w |= hg_kernels[k].bind[b].type == HG_BIND_w;
        assert_true(hg_kernels[k].bind_count <= HG_BINDS_MAX);
        assert_true(hg_kernels[k].param_bytes <= HG_MINIMUM_PUSH_BYTES);
        for (int t = 0; t < (has_w ? 3 : 1); t++) {
            const hg_variant *v =
                hg_plan_variant(&plan, (hg_kernel_id)k, has_w ? dtypes[t] : HG_DTYPE_NONE);

            assert_non_null(v);
            assert_int_equal(v->kernel, k);
            assert_true(v->threads <= HG_MINIMUM_INVOCATIONS);
        }
    }
    assert_int_equal(hg_plan_make(&d, &tiny, &plan), HG_OK);
    assert_non_null(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16));
}

static void knows_drivers_that_reorder(void **state)
{
    hg_snapshot d = device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "AMD EPYC");
    const hg_engine_params plain = {0};
    hg_plan plan;

    (void)state;
    snprintf(d.driver, sizeof(d.driver), "Portable Computing Language");
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier, HG_TIER_T0C);
    snprintf(d.driver, sizeof(d.driver), "Intel(R) OpenCL");
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    for (int k = 0; k < HG_KERNEL_COUNT; k++)
        for (int t = HG_DTYPE_NONE; t <= HG_DTYPE_BF16; t++) {
            const int has_w =
                k == HG_KERNEL_matmul || k == HG_KERNEL_matvec || k == HG_KERNEL_embed_rows;

            if (has_w != (t != HG_DTYPE_NONE))
                continue;
            const hg_variant *v = hg_plan_variant(&plan, (hg_kernel_id)k, (hg_dtype)t);
            assert_int_equal(v->tier, HG_TIER_T0);
            assert_true(v->threads >= 16);
        }
}

/* Wide loads are made for Vulkan on processors, and ask for 64-bit integers. */
static void loads_wide_where_that_pays(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "llvmpipe");
    const hg_engine_params plain = {0};
    const hg_engine_params exact = {.precision = HG_PRECISION_EXACT};
    const hg_engine_params portable = {.tier = "T0"};
    const hg_engine_params without = {.limits = "int64=0"};
    hg_plan plan;

    (void)state;
    d.features |= HG_FEATURE_INT64;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier, HG_TIER_T0V);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matvec, HG_DTYPE_F16)->tier, HG_TIER_T0V);
    assert_int_equal(hg_plan_make(&d, &exact, &plan), HG_OK);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_F32)->tier, HG_TIER_T0V);
    assert_int_equal(hg_plan_make(&d, &portable, &plan), HG_OK);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier, HG_TIER_T0);
    assert_int_equal(hg_plan_make(&d, &without, &plan), HG_OK);
    assert_int_not_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier,
                         HG_TIER_T0V);
    d.type = HG_DEVICE_DISCRETE;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_not_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier,
                         HG_TIER_T0V);
}

static void folds_work_groups(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "poor");
    const hg_engine_params few = {.limits = "groups=16"};
    hg_plan plan;
    uint32_t groups[3] = {1000, 1, 1};

    (void)state;
    assert_int_equal(hg_plan_make(&d, &few, &plan), HG_OK);
    assert_int_equal(hg_plan_fold(&plan, groups), HG_OK);
    for (int i = 0; i < 3; i++)
        assert_true(groups[i] >= 1 && groups[i] <= 16);
    assert_true(groups[0] * groups[1] * groups[2] >= 1000);
    groups[0] = 17 * 16 * 16;
    groups[1] = groups[2] = 1;
    assert_int_equal(hg_plan_fold(&plan, groups), HG_ERR_UNSUPPORTED);
    groups[0] = 16;
    groups[1] = groups[2] = 1;
    assert_int_equal(hg_plan_fold(&plan, groups), HG_OK);
    assert_int_equal(groups[0], 16);
    assert_int_equal(groups[1] * groups[2], 1);
}

static void refuses_what_is_not_there(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "poor");
    const hg_engine_params fast = {.precision = HG_PRECISION_FAST};
    const hg_engine_params plain = {0};
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&d, &fast, &plan), HG_ERR_UNSUPPORTED);
    snprintf(d.unusable, sizeof(d.unusable), "no compute queue");
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_ERR_NO_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_devices_and_names_them),
        cmocka_unit_test(picks_the_best_by_default),
        cmocka_unit_test(selects_by_every_spelling),
        cmocka_unit_test(lowers_limits_and_never_raises),
        cmocka_unit_test(finds_a_variant_for_every_kernel),
        cmocka_unit_test(knows_drivers_that_reorder),
        cmocka_unit_test(loads_wide_where_that_pays),
        cmocka_unit_test(folds_work_groups),
        cmocka_unit_test(refuses_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
