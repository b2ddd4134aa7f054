/* SPDX-License-Identifier: MIT */
/*
 * What a device can do at most: the kernels ceiling_* run as lists of operations like any other, so
 * that a figure has the costs of the seam in it, as a model's have. Honest figures need memory that
 * has been written (pages that never were are all the same one), more of it than caches hold, work
 * for every lane, and results that are kept.
 */
#include "device.h"

#include "check.h"
#include "os.h"
#include "params.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum {
    ROW_WORDS = 128, /* of the ceiling kernels */
    RUNS_MIN = 2,
    RUNS_MAX = 24,
    MAC_ROWS = 8192,
    MAC_TURNS_MAX = 1 << 24,
    PRODUCT_MIN = 256, /* rows, columns and depth of a product of matrices */
    PRODUCT_MAX = 4096,
    SMALL_OPS = 512,
    SMALL_RUNS = 16
};
/* A figure takes about this long, and its shortest run is long beside the cost of a submit. */
#define FIGURE_NS UINT64_C(400000000)
#define RUN_NS UINT64_C(20000000)
/* 8 MiB in no less than this, 160 MB/s: no cache matters, and nobody wants to wait for more. */
#define SLOW_NS UINT64_C(50000000)

typedef struct rig {
    hg_engine *engine;
    hg_run_params run;
    hg_oplist ops;
    hg_mem *memory, *results;
    uint64_t memory_bytes;
} rig;

static hg_op *append(rig *r, hg_kernel_id kernel, const void *params, hg_bind x, hg_bind y)
{
    hg_op *op = hg_oplist_append(&r->ops, HG_OP_DISPATCH);

    if (!op)
        return NULL;
    op->kernel = kernel;
    memcpy(op->words, params, hg_kernels[kernel].param_bytes);
    op->bind_count = 2;
    op->bind[0] = x;
    op->bind[1] = y;
    return op;
}

static hg_result run_once(rig *r, uint64_t *ns)
{
    const uint64_t start = hg_os_clock_ns();
    const hg_result res = hg_engine_run(r->engine, &r->ops, &r->run);

    *ns = hg_os_clock_ns() - start;
    return res;
}

/* The best of several runs of the list, after one that compiles and warms up. */
static hg_result best_run(rig *r, uint64_t *best_ns)
{
    uint64_t ns, spent = 0;
    hg_result res = HG_OK;

    HG_TRY(run_once(r, &ns));
    *best_ns = UINT64_MAX;
    for (int i = 0; i < RUNS_MAX && (i < RUNS_MIN || spent < FIGURE_NS); i++) {
        HG_TRY(run_once(r, &ns));
        spent += ns;
        *best_ns = ns < *best_ns ? ns : *best_ns;
    }
out:
    return res;
}

/* ---- memory ---- */

/* One binding at a time: slices of the memory, each cut into rows. Processors read long rows, one
 * each; a GPU's lanes side by side read short ones. */
typedef struct slices {
    uint64_t slice_bytes, count;
    uint32_t rows, turns;
} slices;

static slices cut(const rig *r, uint64_t bytes)
{
    const hg_plan *plan = &r->engine->plan;
    const uint64_t most =
        plan->limits.binding_bytes < 128 * MIB ? plan->limits.binding_bytes : 128 * MIB;
    const uint64_t row_bytes = (plan->device.type == HG_DEVICE_CPU ? 256 : 16) * ROW_WORDS * 4;
    const uint64_t slice = bytes < most ? bytes : most;
    slices s = {.turns = (uint32_t)(row_bytes / (ROW_WORDS * 4))};

    s.rows = (uint32_t)(slice / row_bytes);
    s.slice_bytes = s.rows * row_bytes;
    s.count = bytes / s.slice_bytes;
    return s;
}

static void append_reads(rig *r, const slices *s)
{
    const struct hg_ceiling_read_params p = {.rows = s->rows, .turns = s->turns};
    const uint64_t result_bytes = (uint64_t)s->rows * ROW_WORDS * 4;

    hg_oplist_clear(&r->ops);
    for (uint64_t i = 0; i < s->count; i++)
        append(r, HG_KERNEL_ceiling_read, &p,
               (hg_bind){r->memory, i * s->slice_bytes, s->slice_bytes},
               (hg_bind){r->results, i * result_bytes, result_bytes});
}

static void append_copies(rig *r, const slices *s)
{
    const struct hg_ceiling_copy_params p = {.rows = s->rows, .turns = s->turns};

    hg_oplist_clear(&r->ops);
    for (uint64_t i = 0; i + 1 < s->count; i += 2)
        append(r, HG_KERNEL_ceiling_copy, &p,
               (hg_bind){r->memory, i * s->slice_bytes, s->slice_bytes},
               (hg_bind){r->memory, (i + 1) * s->slice_bytes, s->slice_bytes});
}

/* Half a gigabyte, or what may be had; a multiple of two slices. */
static hg_result make_memory(rig *r)
{
    hg_engine *e = r->engine;
    const uint64_t free_bytes = hg_engine_free_bytes(e);
    uint64_t bytes = e->plan.device.type == HG_DEVICE_CPU ? 256 * MIB : 512 * MIB;
    hg_result res = HG_OK;

    while (bytes > 2 * MIB && (bytes > e->plan.limits.alloc_bytes || bytes > free_bytes / 4))
        bytes /= 2;
    HG_TRY(hg_buffer_create(e, HG_MEM_SCRATCH, bytes, "ceiling.memory", &r->memory));
    HG_TRY(hg_buffer_create(e, HG_MEM_SCRATCH, bytes / 16 > 8 * MIB ? bytes / 16 : 8 * MIB,
                            "ceiling.results", &r->results));
    r->memory_bytes = bytes;
    for (uint32_t i = 0; i < 2; i++) {
        hg_op *op = hg_oplist_append(&r->ops, HG_OP_FILL);
        hg_mem *mem = i ? r->results : r->memory;

        if (!op)
            break;
        op->bind_count = 1;
        op->bind[0] = (hg_bind){mem, 0, mem->size_bytes};
        op->words[0] = 0x3f900000u; /* 1.125 */
    }
    HG_TRY(hg_engine_run(e, &r->ops, &r->run));
out:
    return res;
}

static double per_second(double amount, uint64_t ns)
{
    return amount * 1e9 / (double)(ns ? ns : 1);
}

static hg_result measure_memory(rig *r, hg_ceiling *out)
{
    const uint64_t half = r->memory_bytes / 2;
    slices s = cut(r, half < 8 * MIB ? half : 8 * MIB);
    uint64_t ns, pairs;
    hg_result res = HG_OK;

    append_reads(r, &s);
    HG_TRY(run_once(r, &ns));
    HG_TRY(run_once(r, &ns));
    s.count = 2;
    if (ns < SLOW_NS) {
        s = cut(r, half);
        s.count = r->memory_bytes / s.slice_bytes;
    }
    append_reads(r, &s);
    HG_TRY(best_run(r, &ns));
    out->buffer_bytes = s.count * s.slice_bytes;
    out->read_bytes_per_s = per_second((double)out->buffer_bytes, ns);
    append_copies(r, &s);
    HG_TRY(best_run(r, &ns));
    pairs = s.count / 2;
    out->copy_bytes_per_s = per_second((double)(pairs * 2 * s.slice_bytes), ns);
out:
    return res;
}

/* ---- arithmetic ---- */

static void append_mac(rig *r, uint32_t fused, uint32_t turns)
{
    const struct hg_ceiling_mac_params p = {
        .rows = MAC_ROWS, .turns = turns, .fused = fused, .a = -0.5f, .b = 1.25f};
    const uint64_t bytes = (uint64_t)MAC_ROWS * ROW_WORDS * 4;

    hg_oplist_clear(&r->ops);
    append(r, HG_KERNEL_ceiling_mac, &p, (hg_bind){r->results, 0, bytes},
           (hg_bind){r->results, bytes, bytes});
}

static hg_result measure_mac(rig *r, uint32_t fused, double *flops_per_s)
{
    uint32_t turns = 4;
    uint64_t ns = 0;
    hg_result res = HG_OK;

    append_mac(r, fused, turns);
    HG_TRY(run_once(r, &ns)); /* compiles */
    for (;;) {
        append_mac(r, fused, turns);
        HG_TRY(run_once(r, &ns));
        if (ns >= RUN_NS || turns >= MAC_TURNS_MAX)
            break;
        turns *= ns < RUN_NS / 16 ? 8 : 2;
    }
    HG_TRY(best_run(r, &ns));
    *flops_per_s = per_second(hg_op_cost(&r->ops.ops[0]).flops, ns);
out:
    return res;
}

/* ---- matrix units ---- */

/* One product of two square matrices, float32 by float16; 0: the memory or a binding is too small.
 */
static int append_product(rig *r, uint32_t edge)
{
    const struct hg_matmul_params p = {.rows = edge, .k = edge, .cols = edge, .y_stride = edge};
    const uint64_t cells = (uint64_t)edge * edge;
    hg_op *op;

    hg_oplist_clear(&r->ops);
    if (cells * 10 > r->memory_bytes || cells * 4 > r->engine->plan.limits.binding_bytes)
        return 0;
    op = append(r, HG_KERNEL_matmul, &p, (hg_bind){r->memory, 0, cells * 4},
                (hg_bind){r->memory, cells * 4, cells * 2});
    if (op) {
        op->dtype = HG_DTYPE_F16;
        op->bind[op->bind_count++] = (hg_bind){r->engine->spare, 0, r->engine->spare->size_bytes};
        op->bind[op->bind_count++] = (hg_bind){r->memory, cells * 6, cells * 4};
    }
    return 1;
}

static int has_matrix_units(const rig *r)
{
    const hg_variant *variant = hg_plan_variant(&r->engine->plan, HG_KERNEL_matmul, HG_DTYPE_F16);

    return variant && variant->tier == HG_TIER_T2;
}

/* By the kernel that models use: what it does to feed the units belongs to what can be had. */
static hg_result measure_matrix(rig *r, double *flops_per_s)
{
    uint64_t ns = 0;
    hg_result res = HG_OK;

    if (!has_matrix_units(r))
        return HG_OK;
    for (uint32_t edge = PRODUCT_MIN; edge <= PRODUCT_MAX && append_product(r, edge); edge *= 2) {
        double found;

        HG_TRY(best_run(r, &ns));
        found = per_second(hg_op_cost(&r->ops.ops[0]).flops, ns);
        *flops_per_s = found > *flops_per_s ? found : *flops_per_s;
        if (ns >= RUN_NS)
            break;
    }
    if (!has_matrix_units(r)) /* its check before first use failed: it was another kernel */
        *flops_per_s = 0;
out:
    return res;
}

/* ---- costs of the seam ---- */

static hg_result measure_small(rig *r, uint32_t count, uint64_t *best_ns)
{
    const struct hg_ceiling_copy_params p = {.rows = 1, .turns = 1};
    const hg_bind ends[2] = {{r->results, 0, ROW_WORDS * 4}, {r->results, 512, ROW_WORDS * 4}};
    uint64_t ns;
    hg_result res = HG_OK;

    hg_oplist_clear(&r->ops);
    for (uint32_t i = 0; i < count; i++) /* to and fro: each waits for the one before */
        append(r, HG_KERNEL_ceiling_copy, &p, ends[i % 2], ends[1 - i % 2]);
    *best_ns = UINT64_MAX;
    for (int i = 0; i < SMALL_RUNS; i++) {
        HG_TRY(run_once(r, &ns));
        *best_ns = ns < *best_ns ? ns : *best_ns;
    }
out:
    return res;
}

static hg_result measure_costs(rig *r, hg_ceiling *out)
{
    uint64_t one, many;
    hg_result res = HG_OK;

    HG_TRY(measure_small(r, 1, &one));
    HG_TRY(measure_small(r, SMALL_OPS, &many));
    out->submit_ns = (double)one;
    out->dispatch_ns = many > one ? (double)(many - one) / (SMALL_OPS - 1) : 0;
out:
    return res;
}

hg_result hg_engine_ceiling(hg_engine *engine, const hg_progress *progress, hg_ceiling *out)
{
    rig r = {.engine = engine, .run.what = "ceiling"};
    hg_ceiling found = {0};
    struct hg_tuner *tuner;
    uint32_t tier_given;
    double submit_flops;
    hg_result res = HG_OK;

    if (!engine || !out)
        return HG_ERR_ARGUMENT;
    tuner = engine->tuner;
    if (progress)
        r.run.progress = *progress;
    submit_flops = engine->submit_flops; /* what is learnt here holds for no model */
    engine->tuner = NULL;
    /* A tier that was asked for is the model's; the ceiling is the device's. But matrix units may
     * be used because they were asked for, and nobody else has kernels of theirs. */
    tier_given = engine->plan.tier_given;
    engine->plan.tier_given = tier_given && engine->plan.tier == HG_TIER_T2;
    HG_TRY(make_memory(&r));
    HG_TRY(measure_memory(&r, &found));
    HG_TRY(measure_mac(&r, 1, &found.flops_per_s));
    HG_TRY(measure_mac(&r, 0, &found.exact_flops_per_s));
    if (found.flops_per_s < found.exact_flops_per_s)
        found.flops_per_s = found.exact_flops_per_s;
    HG_TRY(measure_matrix(&r, &found.matrix_flops_per_s));
    HG_TRY(measure_costs(&r, &found));
    hg_struct_out(out, &found, sizeof(found));
out:
    engine->submit_flops = submit_flops;
    engine->tuner = tuner;
    engine->plan.tier_given = tier_given;
    hg_oplist_free(&r.ops);
    hg_buffer_free(engine, &r.memory);
    hg_buffer_free(engine, &r.results);
    return res;
}
