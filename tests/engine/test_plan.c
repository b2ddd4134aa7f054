/* SPDX-License-Identifier: MIT */
/* Order of devices, selectors, limits, variants, folding: on made-up devices, without a driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "matrix.h"
#include "plan.h"
#include "rounds.h"

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

/* Vectors written out, for processors under OpenCL and not under exact; as wide as the registers.
 */
static void picks_vectors_for_processors(void **state)
{
    hg_snapshot d = device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "AMD EPYC");
    const hg_engine_params plain = {0}, exact = {.precision = HG_PRECISION_EXACT};
    const hg_variant *v;
    uint32_t spec[HG_SPEC_MAX];
    hg_plan plan;

    (void)state;
    d.vector_floats = 16;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    v = hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16P);
    assert_int_equal(v->tier, HG_TIER_TC);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_attention, HG_DTYPE_NONE)->tier, HG_TIER_TC);
    hg_plan_spec(&plan, v, spec);
    assert_int_equal(spec[1], 16);
    d.vector_floats = 8;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    hg_plan_spec(&plan, v, spec);
    assert_int_equal(spec[0], 6);
    assert_int_equal(spec[1], 8);
    assert_int_equal(hg_plan_make(&d, &exact, &plan), HG_OK);
    assert_null(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16P));
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_attention, HG_DTYPE_NONE)->tier, HG_TIER_T0C);
    d.type = HG_DEVICE_DISCRETE;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_null(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16P));
}

static void knows_drivers_that_reorder(void **state)
{
    hg_snapshot d = device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "AMD EPYC");
    const hg_engine_params exact = {.precision = HG_PRECISION_EXACT};
    hg_plan plan;

    (void)state;
    snprintf(d.driver, sizeof(d.driver), "Portable Computing Language");
    assert_int_equal(hg_plan_make(&d, &exact, &plan), HG_OK);
    assert_int_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16)->tier, HG_TIER_T0C);
    snprintf(d.driver, sizeof(d.driver), "Intel(R) OpenCL");
    assert_int_equal(hg_plan_make(&d, &exact, &plan), HG_OK);
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

/* llvmpipe leaves loops after 65535 rounds: what would take more is refused, and nowhere else. */
static void refuses_loops_without_an_end(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "llvmpipe");
    const hg_engine_params plain = {0};
    const struct hg_attention_params attention = {
        .tokens = 1, .heads = 2, .kv_heads = 1, .head_dim = 128};
    hg_op op = {.kernel = HG_KERNEL_attention, .reach = {.pairs = 600, .keys = 600}};
    const hg_variant *t0 = hg_variant_find(HG_KERNEL_attention, HG_TIER_T0, HG_DTYPE_NONE);
    const hg_variant *wide = hg_variant_find(HG_KERNEL_attention, HG_TIER_T0V, HG_DTYPE_NONE);
    uint32_t spec[HG_SPEC_MAX];
    hg_plan plan;

    (void)state;
    memcpy(op.words, &attention, sizeof(attention));
    snprintf(d.driver, sizeof(d.driver), "llvmpipe Mesa 22.3.6 (LLVM 15.0.6), Vulkan 1.3.230");
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    hg_plan_spec(&plan, t0, spec);
    assert_int_equal(hg_rounds_check(&plan, &op, t0, spec), HG_OK);
    op.reach.keys = 1400; /* from here on results were wrong */
    assert_int_equal(hg_rounds_check(&plan, &op, t0, spec), HG_ERR_UNSUPPORTED);
    hg_plan_spec(&plan, wide, spec);
    assert_int_equal(hg_rounds_check(&plan, &op, wide, spec), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 0), 0);
    assert_int_equal(hg_plan_slice_tokens(&plan, 1), UINT32_MAX);
    op.reach.keys = 1e6;
    assert_int_equal(hg_rounds_check(&plan, &op, wide, spec), HG_ERR_UNSUPPORTED);
    snprintf(d.driver, sizeof(d.driver), "SwiftShader");
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_equal(hg_rounds_check(&plan, &op, t0, spec), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 1), 0);
    d.features |= HG_FEATURE_INT64;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 1), 4);
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

/* A card with matrix units as its driver lists them. */
static hg_snapshot matrix_device(const char *driver, uint32_t vendor_id, uint32_t width,
                                 const hg_matrix_shape *shapes, uint32_t count)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_DISCRETE, "card");

    snprintf(d.driver, sizeof(d.driver), "%s", driver);
    d.vendor_id = vendor_id;
    d.features |= HG_FEATURE_COOPMAT | HG_FEATURE_SUBGROUP_SIZE;
    d.subgroup_size = width;
    d.limits.subgroup_min = width > 32 ? 32 : width;
    d.limits.subgroup_max = width;
    d.limits.shared_bytes = 32768;
    d.matrix_count = count;
    memcpy(d.matrix, shapes, count * sizeof(*shapes));
    return d;
}

#define F16_F32(m, n, k)                                                                           \
    {                                                                                              \
        (m), (n), (k), HG_MATRIX_F16, HG_MATRIX_F32                                                \
    }

static const hg_matrix_shape nvidia[] = {{16, 16, 16, HG_MATRIX_F16, HG_MATRIX_F16},
                                         F16_F32(16, 8, 8),
                                         F16_F32(16, 8, 16),
                                         F16_F32(16, 16, 16),
                                         {16, 16, 16, HG_MATRIX_BF16, HG_MATRIX_F32}};
static const hg_matrix_shape amd[] = {F16_F32(16, 16, 16)};
static const hg_matrix_shape xe2[] = {F16_F32(8, 16, 16)};
static const hg_matrix_shape dg2[] = {F16_F32(8, 8, 16)};
static const hg_matrix_shape llvmpipe[] = {F16_F32(8, 8, 8)};

/* The numbers, in the order ROWS COLS M N K WIDTH PARTS. */
static void expect_matrix(hg_snapshot *d, const char *tier, hg_precision precision,
                          const uint32_t numbers[7])
{
    const hg_engine_params params = {.tier = tier, .precision = precision};
    uint32_t spec[HG_SPEC_MAX];
    const hg_variant *v;
    hg_plan plan;

    assert_int_equal(hg_plan_make(d, &params, &plan), HG_OK);
    assert_int_equal(plan.precision, precision);
    v = hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16);
    assert_non_null(v);
    assert_int_equal(v->tier, HG_TIER_T2);
    hg_plan_spec(&plan, v, spec);
    assert_int_equal(v->spec_count, 7);
    assert_memory_equal(spec, numbers, 7 * sizeof(*spec));
    assert_int_equal(hg_matrix_is_fast(v, spec), precision == HG_PRECISION_FAST);
    /* Attention: ROWS M N K WIDTH, whatever the precision. */
    v = hg_plan_variant(&plan, HG_KERNEL_attention, HG_DTYPE_NONE);
    assert_non_null(v);
    assert_int_equal(v->tier, HG_TIER_T2);
    hg_plan_spec(&plan, v, spec);
    assert_int_equal(v->spec_count, 5);
    assert_int_equal(spec[0], 32);
    assert_memory_equal(spec + 1, numbers + 2, 4 * sizeof(*spec));
    assert_false(hg_matrix_is_fast(v, spec));
}

static void takes_the_shape_that_a_device_has(void **state)
{
    hg_snapshot d = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);

    (void)state;
    expect_matrix(&d, NULL, HG_PRECISION_FP32, (const uint32_t[]){64, 64, 16, 16, 16, 32, 2});
    expect_matrix(&d, NULL, HG_PRECISION_FAST, (const uint32_t[]){64, 64, 16, 16, 16, 32, 1});
    d.matrix_count = 3; /* the largest of what is left */
    expect_matrix(&d, NULL, HG_PRECISION_FP32, (const uint32_t[]){64, 64, 16, 8, 16, 32, 2});
    d = matrix_device("radv", 0x1002, 64, amd, 1);
    expect_matrix(&d, NULL, HG_PRECISION_FP32, (const uint32_t[]){64, 64, 16, 16, 16, 64, 2});
    d.subgroup_size = 0; /* not told: asked for */
    expect_matrix(&d, NULL, HG_PRECISION_FP32, (const uint32_t[]){64, 64, 16, 16, 16, 32, 2});
    d = matrix_device("Intel open-source Mesa driver", 0x8086, 16, xe2, 1);
    expect_matrix(&d, NULL, HG_PRECISION_FP32, (const uint32_t[]){64, 64, 8, 16, 16, 16, 2});
    d = matrix_device("llvmpipe", 0x10005, 8, llvmpipe, 1);
    d.type = HG_DEVICE_CPU;
    expect_matrix(&d, "T2", HG_PRECISION_FP32, (const uint32_t[]){64, 64, 8, 8, 8, 8, 2});
}

/* Few tokens are cut along their keys; whole tiles of them go to the matrices, where there are any.
 */
static void cuts_attention_of_few_tokens(void **state)
{
    const hg_engine_params exact = {.precision = HG_PRECISION_EXACT};
    const hg_engine_params t2 = {.tier = "T2"};
    const hg_engine_params off = {.limits = "coopmat=0"};
    const hg_engine_params plain = {0};
    const hg_snapshot d = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&d, &plain, &plan), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 0), 31);
    assert_int_equal(hg_plan_make(&d, &off, &plan), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 0), UINT32_MAX);
    assert_int_equal(hg_plan_make(&d, &exact, &plan), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 0), 0);
    assert_int_equal(hg_plan_make(&d, &t2, &plan), HG_OK);
    assert_int_equal(hg_plan_slice_tokens(&plan, 0), 0);
}

static void expect_no_matrix(const hg_snapshot *d, const hg_engine_params *params,
                             const char *words)
{
    const hg_variant *t2 = hg_variant_find(HG_KERNEL_matmul, HG_TIER_T2, HG_DTYPE_F16);
    const char *why;
    hg_plan plan;

    assert_int_equal(hg_plan_make(d, params, &plan), HG_OK);
    why = hg_plan_refuses(&plan, t2);
    if (!why || !strstr(why, words))
        fail_msg("expected \"%s\" in \"%s\"", words, why ? why : "");
    assert_int_not_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_F16)->tier, HG_TIER_T2);
}

static void leaves_matrices_out(void **state)
{
    const hg_engine_params plain = {0};
    const hg_engine_params exact = {.precision = HG_PRECISION_EXACT};
    const hg_engine_params off = {.limits = "coopmat=0"};
    const hg_engine_params narrow = {.limits = "shared=16384"};
    const hg_engine_params none = {.limits = "subgroup=0"};
    hg_snapshot d = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);

    (void)state;
    expect_no_matrix(&d, &exact, "exact");
    expect_no_matrix(&d, &off, "needs cooperative matrices");
    expect_no_matrix(&d, &none, "needs cooperative matrices");
    expect_no_matrix(&d, &narrow, "no matrix shape");
    d.matrix_count = 1; /* sums of float16 */
    expect_no_matrix(&d, &plain, "no matrix shape");
    d = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);
    d.subgroup_size = 128; /* wider than what the kernel divides among, and no other to be had */
    d.limits.subgroup_min = d.limits.subgroup_max = 128;
    expect_no_matrix(&d, &plain, "no matrix shape");
    /* Known to be of no use; by name they run. */
    d = matrix_device("llvmpipe", 0x10005, 8, llvmpipe, 1);
    d.type = HG_DEVICE_CPU;
    expect_no_matrix(&d, &plain, "processor");
    d = matrix_device("AMD proprietary driver", 0x1002, 64, amd, 1);
    expect_no_matrix(&d, &plain, "https://");
    expect_matrix(&d, "T2", HG_PRECISION_FP32, (const uint32_t[]){64, 64, 16, 16, 16, 64, 2});
    d = matrix_device("Intel open-source Mesa driver", 0x8086, 8, dg2, 1);
    expect_no_matrix(&d, &plain, "Xe2");
    expect_matrix(&d, "T2", HG_PRECISION_FP32, (const uint32_t[]){64, 64, 8, 8, 16, 8, 2});
    d = matrix_device("Qualcomm", 0x5143, 64, amd, 1);
    expect_no_matrix(&d, &plain, "Adreno");
}

/* fast is fp32, said aloud, where there are no matrices for it. */
static void runs_fast_where_it_can(void **state)
{
    const hg_snapshot poor = device(HG_BACKEND_OPENCL, HG_DEVICE_CPU, "poor");
    const hg_snapshot good = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);
    lines said = {""};
    hg_engine_params fast = {.precision = HG_PRECISION_FAST,
                             .log = {collect, &said, HG_LOG_WARNING}};
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&good, &fast, &plan), HG_OK);
    assert_int_equal(plan.precision, HG_PRECISION_FAST);
    assert_string_equal(said.text, "");
    assert_int_equal(hg_plan_make(&poor, &fast, &plan), HG_OK);
    assert_int_equal(plan.precision, HG_PRECISION_FP32);
    assert_non_null(strstr(said.text, "precision fast needs tier T2"));
    assert_non_null(strstr(said.text, "computing with fp32"));
    said.text[0] = '\0';
    fast.tier = "T0";
    assert_int_equal(hg_plan_make(&good, &fast, &plan), HG_OK);
    assert_int_equal(plan.precision, HG_PRECISION_FP32);
    assert_non_null(strstr(said.text, "another tier was asked for"));
}

/* What was measured comes first, as long as the variant may be used at all. */
static void takes_what_was_measured(void **state)
{
    const hg_snapshot d = matrix_device("NVIDIA", 0x10de, 32, nvidia, 5);
    const hg_engine_params params = {0};
    hg_tuned *tuned;
    hg_plan plan;
    const hg_variant *own, *variant;
    uint32_t spec[HG_SPEC_MAX];

    (void)state;
    assert_int_equal(hg_plan_make(&d, &params, &plan), HG_OK);
    own = hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16);
    assert_int_equal(own->tier, HG_TIER_T2);
    /* Every shape of float16 with sums of float32 is a choice, and no other. */
    for (uint32_t i = 0; i < 3; i++) {
        hg_plan_spec(&plan, own, spec);
        assert_true(hg_matrix_other(&plan, own, i, spec));
        assert_int_equal(spec[2], nvidia[i + 1].m);
        assert_int_equal(spec[3], nvidia[i + 1].n);
        assert_int_equal(spec[4], nvidia[i + 1].k);
    }
    assert_false(hg_matrix_other(&plan, own, 3, spec));
    tuned = &plan.tuned[HG_KERNEL_matmul][HG_DTYPE_BF16];
    *tuned = (hg_tuned){.is_set = 1, .tier = HG_TIER_T0, .spec = {4, 8}};
    variant = hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16);
    assert_int_equal(variant->tier, HG_TIER_T0);
    hg_plan_spec(&plan, variant, spec);
    assert_int_equal(spec[0], 4);
    hg_plan_spec(&plan, own, spec); /* of another tier the numbers are its own */
    assert_int_equal(spec[0], 64);
    variant = hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_F16);
    assert_int_equal(variant->tier, HG_TIER_T2);
    plan.demoted[HG_KERNEL_matmul][HG_TIER_T0] |= 1u << HG_DTYPE_BF16;
    assert_ptr_equal(hg_plan_variant(&plan, HG_KERNEL_matmul, HG_DTYPE_BF16), own);
}

static void refuses_what_is_not_there(void **state)
{
    hg_snapshot d = device(HG_BACKEND_VULKAN, HG_DEVICE_CPU, "poor");
    const hg_engine_params unknown = {.precision = (hg_precision)3};
    const hg_engine_params plain = {0};
    hg_plan plan;

    (void)state;
    assert_int_equal(hg_plan_make(&d, &unknown, &plan), HG_ERR_ARGUMENT);
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
        cmocka_unit_test(picks_vectors_for_processors),
        cmocka_unit_test(knows_drivers_that_reorder),
        cmocka_unit_test(loads_wide_where_that_pays),
        cmocka_unit_test(refuses_loops_without_an_end),
        cmocka_unit_test(folds_work_groups),
        cmocka_unit_test(takes_the_shape_that_a_device_has),
        cmocka_unit_test(cuts_attention_of_few_tokens),
        cmocka_unit_test(leaves_matrices_out),
        cmocka_unit_test(runs_fast_where_it_can),
        cmocka_unit_test(takes_what_was_measured),
        cmocka_unit_test(refuses_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
