/* SPDX-License-Identifier: MIT */
/* Shapes, numbers and quirks of tier T2. See matrix.h; the kernel's side is
 * shaders/matmul_coop.comp.
 */
#include "matrix.h"

#include <string.h>

/* What the kernels are written for (shaders/matmul_coop.comp, attention_coop.comp). */
enum {
    THREADS = 128,
    TILE = 64,          /* rows and columns of a work-group; keys of a block */
    TOKENS = 32,        /* of a work-group in attention */
    STEP = 32,          /* elements of a sum in shared memory at a time */
    LINE_BYTES = 80,    /* that a row of them takes in matmul, with padding */
    KEYS_BYTES = 144,   /* likewise of the keys of a block */
    NOTE_BYTES = 4 * 4, /* words beside each row of a tile */
    TOKEN_BYTES = 4 * 8 /* beside each token */
};

/* Drivers whose matrices are listed but of no use, by what can be read from a device. The rule is
 * "not by default": SEL/T2 uses them all the same. */
static int is_qualcomm(const hg_device_info *d)
{
    return d->vendor_id == 0x5143;
}

/* radv calls itself radv; AMD's own drivers list matrices for RDNA2, which has no units. */
static int is_amd_own(const hg_device_info *d)
{
    return d->vendor_id == 0x1002 && strstr(d->driver, "AMD") != NULL;
}

/* Before Xe2, whose narrowest subgroup is 16. */
static int is_intel_old(const hg_device_info *d)
{
    return d->vendor_id == 0x8086 && d->limits.subgroup_min < 16;
}

static const struct {
    int (*is)(const hg_device_info *device);
    const char *why;
} quirks[] = {
    {is_qualcomm, "matrices on Adreno exceed its registers "
                  "(https://github.com/Tencent/ncnn/pull/6719); SEL/T2 uses them all the same"},
    {is_amd_own, "AMD's own driver emulates matrices on some cards "
                 "(https://github.com/Tencent/ncnn/pull/6504); SEL/T2 uses them all the same"},
    {is_intel_old,
     "matrices are emulated or slower before Xe2 "
     "(https://github.com/ggml-org/llama.cpp/pull/24404); SEL/T2 uses them all the same"},
};

static uint32_t sub_rows(uint32_t subgroups)
{
    return subgroups >= 16 ? 4 : subgroups >= 4 ? 2 : 1;
}

static uint64_t matmul_bytes(const hg_matrix_shape *shape, uint32_t subgroups)
{
    return (HG_MATRIX_PARTS_FP32 + 1) * TILE * LINE_BYTES +
           (uint64_t)subgroups * shape->m * shape->n * 4 + 2 * TILE * NOTE_BYTES + 4;
}

static uint64_t attention_bytes(void)
{
    return 2 * (TOKENS + STEP) * KEYS_BYTES + TOKENS * TILE * 4 + TILE * 8 + TOKENS * TOKEN_BYTES +
           THREADS * 4;
}

/* 1: the kernels can be made of this shape at this width. */
static int fits(const hg_plan *plan, const hg_matrix_shape *shape, uint32_t width)
{
    const uint32_t subgroups = THREADS / width;
    const uint32_t down = sub_rows(subgroups), across = subgroups / down;
    const uint32_t tile = TILE, tokens = TOKENS, step = STEP;

    if (shape->operands != HG_MATRIX_F16 || shape->sums != HG_MATRIX_F32 || !shape->m ||
        !shape->n || !shape->k)
        return 0;
    return tile % (shape->m * down) == 0 && tile % (shape->n * across) == 0 &&
           tokens % shape->m == 0 && tokens / shape->m * (tile / shape->n) % subgroups == 0 &&
           step % shape->k == 0 && matmul_bytes(shape, subgroups) <= plan->limits.shared_bytes &&
           attention_bytes() <= plan->limits.shared_bytes;
}

/* The driver's own width, or one that may be asked for; 0: none that divides a work-group. */
static uint32_t pick_width(const hg_plan *plan)
{
    const uint32_t own = plan->device.subgroup_size;
    uint32_t width;

    if (own >= 8 && own <= 64 && THREADS % own == 0)
        return own;
    if (!(plan->features & HG_FEATURE_SUBGROUP_SIZE))
        return 0;
    for (width = 32; width >= 8; width /= 2)
        if (width >= plan->limits.subgroup_min && width <= plan->limits.subgroup_max)
            return width;
    return 0;
}

/* The largest product that fits, the squarest among equals; NULL: none. */
static const hg_matrix_shape *pick_shape(const hg_plan *plan, uint32_t width)
{
    const hg_matrix_shape *best = NULL;

    for (uint32_t i = 0; width && i < plan->device.matrix_count && i < HG_MATRIX_SHAPES_MAX; i++) {
        const hg_matrix_shape *shape = &plan->device.matrix[i];
        const uint32_t size = (uint32_t)shape->m * shape->n * shape->k;
        const uint32_t best_size = best ? (uint32_t)best->m * best->n * best->k : 0;

        if (fits(plan, shape, width) &&
            (size > best_size || (size == best_size && shape->m == shape->n)))
            best = shape;
    }
    return best;
}

const char *hg_matrix_lacks(const hg_plan *plan)
{
    const hg_device_info *device = &plan->device;
    const int is_asked = plan->tier_given && plan->tier == HG_TIER_T2;

    if (device->backend != HG_BACKEND_VULKAN || !(plan->features & HG_FEATURE_COOPMAT) ||
        !(plan->features & HG_FEATURE_FP16) || plan->limits.subgroup_max == 0)
        return "it needs cooperative matrices of Vulkan";
    if (!pick_shape(plan, pick_width(plan)))
        return "the device has no matrix shape that it is made for (float16, sums in float32)";
    if (is_asked)
        return NULL;
    if (device->type == HG_DEVICE_CPU)
        return "a processor is slower with it than without; SEL/T2 uses it all the same";
    for (size_t i = 0; i < sizeof(quirks) / sizeof(quirks[0]); i++)
        if (quirks[i].is(device))
            return quirks[i].why;
    return NULL;
}

static void set(const hg_variant *variant, const char *name, uint32_t value, uint32_t *spec)
{
    for (uint32_t i = 0; i < variant->spec_count; i++)
        if (strcmp(variant->spec_name[i], name) == 0)
            spec[i] = value;
}

void hg_matrix_spec(const hg_plan *plan, const hg_variant *variant, uint32_t spec[HG_SPEC_MAX])
{
    const uint32_t width = pick_width(plan);
    const hg_matrix_shape *shape = pick_shape(plan, width);

    if (!shape)
        return;
    set(variant, "M", shape->m, spec);
    set(variant, "N", shape->n, spec);
    set(variant, "K", shape->k, spec);
    set(variant, "WIDTH", width, spec);
    /* Attention has no such number: scores are exponents, 11 bits of them would be seen in every
     * probability. */
    if (plan->precision == HG_PRECISION_FAST)
        set(variant, "PARTS", HG_MATRIX_PARTS_FAST, spec);
}

int hg_matrix_other(const hg_plan *plan, const hg_variant *variant, uint32_t i,
                    uint32_t spec[HG_SPEC_MAX])
{
    const uint32_t width = pick_width(plan);

    for (uint32_t s = 0; width && s < plan->device.matrix_count && s < HG_MATRIX_SHAPES_MAX; s++) {
        const hg_matrix_shape *shape = &plan->device.matrix[s];

        if (!fits(plan, shape, width) || i-- > 0)
            continue;
        set(variant, "M", shape->m, spec);
        set(variant, "N", shape->n, spec);
        set(variant, "K", shape->k, spec);
        return 1;
    }
    return 0;
}

int hg_matrix_is_fast(const hg_variant *variant, const uint32_t *spec)
{
    for (uint32_t i = 0; i < variant->spec_count; i++)
        if (strcmp(variant->spec_name[i], "PARTS") == 0)
            return spec[i] == HG_MATRIX_PARTS_FAST;
    return 0;
}
