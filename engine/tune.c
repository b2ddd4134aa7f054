/* SPDX-License-Identifier: MIT */
/* Measures candidates at a model's shapes; see tune.h. */
#include "tune.h"

#include "check.h"
#include "kept.h"
#include "matrix.h"
#include "os.h"
#include "panel.h"
#include "selftest.h"
#include "trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All measuring of an engine together, and the runs of one candidate. */
#define BUDGET_NS UINT64_C(2000000000)
#define CANDIDATE_NS UINT64_C(30000000)

enum {
    RUNS_LEAST = 3,
    RUNS_MOST = 20,
    ROWS_MOST = 128,
    VALUES_MAX = 4,
    CANDIDATES_MAX = 32,
    ENTRIES_MAX = 64,
    WEIGHT_BYTES_MOST = 32 << 20
};

/* Faster by less than this is noise, and the table's choice stays. */
#define GAIN 0.95

/* Numbers that may be changed without changing sums, and what is worth trying. Vulkan: only where
 * the module has them as constants. */
static const struct number {
    hg_kernel_id kernel;
    hg_tier tier;
    const char *name;
    uint32_t values[VALUES_MAX]; /* 0: none */
} numbers[] = {
    {HG_KERNEL_matmul, HG_TIER_T0, "ROWS", {4, 8}},
    {HG_KERNEL_matmul, HG_TIER_T0, "COLS", {4, 8}},
    {HG_KERNEL_matvec, HG_TIER_T0, "COLS", {2, 4, 8}},
    {HG_KERNEL_matvec, HG_TIER_T1, "COLS", {2, 4, 8, 16}},
    {HG_KERNEL_matmul, HG_TIER_TC, "ROWS", {6, 8, 12}},
    {HG_KERNEL_matmul, HG_TIER_TC, "GROUP", {1, 2}},
    {HG_KERNEL_matvec, HG_TIER_TC, "GROUP", {2, 4, 8}},
};

/* One way to compute. */
typedef struct candidate {
    const hg_variant *variant;
    uint32_t spec[HG_SPEC_MAX];
} candidate;

/* What was found, for one kernel, type and size of K (its highest bit). */
typedef struct entry {
    hg_kernel_id kernel;
    hg_dtype dtype;
    uint32_t size;
    hg_tuned tuned;
} entry;

struct hg_tuner {
    pthread_mutex_t lock; /* never waited for: whoever comes while it is held takes what there is */
    entry entries[ENTRIES_MAX];
    uint32_t count;
    uint8_t settled[HG_KERNEL_COUNT]; /* a bit per hg_dtype: chosen for this engine */
    uint64_t spent_ns;
    int read, changed;
};

static const hg_kept kept = {"numbers", "headgate numbers 1", "kernels are measured again"};

hg_result hg_tuner_create(hg_engine *engine, hg_tune how, hg_tuner **out)
{
    const hg_device_info *device = &engine->plan.device;

    *out = NULL;
    if (how == HG_TUNE_OFF || device->backend == HG_BACKEND_REFERENCE ||
        (how == HG_TUNE_AUTO && device->type == HG_DEVICE_CPU))
        return HG_OK;
    *out = calloc(1, sizeof(**out));
    if (*out && pthread_mutex_init(&(*out)->lock, NULL) == 0)
        return HG_OK;
    free(*out);
    *out = NULL;
    return hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to measure kernels");
}

void hg_tuner_free(hg_tuner **tuner)
{
    if (!*tuner)
        return;
    pthread_mutex_destroy(&(*tuner)->lock);
    free(*tuner);
    *tuner = NULL;
}

/* ---- what there is to choose from ---- */

static int can_change(const hg_engine *engine, const hg_variant *variant, const char *name)
{
    if (engine->plan.device.backend != HG_BACKEND_VULKAN)
        return 1;
    return variant->tier == HG_TIER_T1 && variant->kernel == HG_KERNEL_matvec &&
           strcmp(name, "COLS") == 0;
}

static void add(candidate *list, uint32_t *count, const hg_variant *variant, const uint32_t *spec)
{
    for (uint32_t i = 0; i < *count; i++)
        if (list[i].variant == variant && memcmp(list[i].spec, spec, sizeof(list[i].spec)) == 0)
            return;
    if (*count == CANDIDATES_MAX)
        return;
    list[*count].variant = variant;
    memcpy(list[(*count)++].spec, spec, sizeof(list[0].spec));
}

/* A variant as it is by itself, and with one number changed at a time. */
static void add_variant(const hg_engine *engine, const hg_variant *variant, candidate *list,
                        uint32_t *count)
{
    uint32_t own[HG_SPEC_MAX], spec[HG_SPEC_MAX];

    hg_plan_spec(&engine->plan, variant, own);
    add(list, count, variant, own);
    for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
        const struct number *number = &numbers[n];

        for (uint32_t i = 0; i < variant->spec_count; i++) {
            if (number->kernel != variant->kernel || number->tier != variant->tier ||
                strcmp(number->name, variant->spec_name[i]) != 0 ||
                !can_change(engine, variant, number->name))
                continue;
            for (uint32_t v = 0; v < VALUES_MAX && number->values[v]; v++) {
                memcpy(spec, own, sizeof(spec));
                spec[i] = number->values[v];
                add(list, count, variant, spec);
            }
        }
    }
    for (uint32_t i = 0; variant->tier == HG_TIER_T2; i++) {
        memcpy(spec, own, sizeof(spec));
        if (!hg_matrix_other(&engine->plan, variant, i, spec))
            break;
        add(list, count, variant, spec);
    }
}

/* The plan's own choice first: what it costs is known before anything else is tried. */
static uint32_t list_candidates(const hg_engine *engine, hg_kernel_id kernel, hg_dtype dtype,
                                candidate *list)
{
    const hg_variant *first = hg_plan_variant(&engine->plan, kernel, dtype);
    uint32_t count = 0;

    if (!first)
        return 0;
    add_variant(engine, first, list, &count);
    for (uint32_t v = 0; v < hg_variant_count; v++) {
        const hg_variant *variant = &hg_variants[v];

        if (variant->kernel == kernel && variant->dtype == dtype && variant != first &&
            !hg_plan_refuses(&engine->plan, variant))
            add_variant(engine, variant, list, &count);
    }
    return count;
}

/* A file says what was chosen; what may be chosen is said here. */
static int is_candidate(const hg_engine *engine, hg_kernel_id kernel, hg_dtype dtype,
                        const hg_tuned *tuned)
{
    candidate list[CANDIDATES_MAX];
    const uint32_t count = list_candidates(engine, kernel, dtype, list);

    for (uint32_t i = 0; i < count; i++)
        if (list[i].variant->tier == tuned->tier &&
            memcmp(list[i].spec, tuned->spec, sizeof(tuned->spec)) == 0)
            return 1;
    return 0;
}

/* ---- measuring ---- */

/* The call of an operation, with so many columns that the weights stay within reason. */
static hg_params call_of(const hg_op *op)
{
    hg_params params = {0};
    const uint64_t row_bytes = (uint64_t)op->words[1] * hg_dtype_bytes(op->dtype);
    const uint64_t most = WEIGHT_BYTES_MOST / row_bytes / HG_PANEL_ROWS * HG_PANEL_ROWS;

    params.matmul.rows = op->words[0] < ROWS_MOST ? op->words[0] : ROWS_MOST;
    params.matmul.k = op->words[1];
    params.matmul.cols = op->words[2];
    if (most >= HG_PANEL_ROWS && params.matmul.cols > most)
        params.matmul.cols = (uint32_t)most;
    params.matmul.y_stride = params.matmul.cols;
    return params;
}

static int make_trial(hg_trial *trial, const candidate *c, const hg_params *params)
{
    const uint64_t rows = params->matmul.rows, k = params->matmul.k, cols = params->matmul.cols;
    const uint64_t weights =
        hg_panel_elements(c->variant->dtype, cols, k) * hg_dtype_bytes(c->variant->dtype);
    const uint64_t size_bytes[HG_BINDS_MAX] = {rows * k * 4, (weights + 3) & ~UINT64_C(3), cols * 4,
                                               rows * cols * 4};
    float *x;

    if (!hg_trial_make_sizes(trial, c->variant, params, size_bytes))
        return 0;
    memcpy(trial->spec, c->spec, sizeof(trial->spec));
    c->variant->grid(&trial->params, trial->spec, c->variant->threads, trial->groups);
    x = hg_trial_bind(trial, 0);
    for (uint64_t i = 0; i < rows * k; i++)
        x[i] = (float)((int)(i % 7) - 3);
    memset(hg_trial_bind(trial, 1), 0x3c, (size_t)size_bytes[1]); /* small in every type */
    return 1;
}

/* Nanoseconds of the fastest run; 0: the driver does not take it. */
static hg_result measure(hg_engine *engine, const candidate *c, const hg_params *params,
                         uint64_t *best_ns)
{
    hg_trial_room room = {0};
    hg_trial trial = {0};
    uint8_t *after = NULL;
    uint64_t sum = 0, ns = 0;
    hg_result res = HG_OK;

    *best_ns = 0;
    if (!make_trial(&trial, c, params) || !(after = malloc(trial.block_bytes))) {
        res = hg_fail(&engine->log, HG_ERR_HOST_MEMORY, "no memory to measure kernel %s",
                      hg_kernels[c->variant->kernel].name);
        goto out;
    }
    res = hg_trial_room_open(&room, engine, trial.block_bytes);
    if (res == HG_OK) /* some drivers compile while they run it first */
        res = hg_trial_run(&room, &trial, after, &ns);
    for (int i = 0; i < RUNS_MOST && res == HG_OK; i++) {
        if (i >= RUNS_LEAST && sum >= CANDIDATE_NS)
            break;
        res = hg_trial_run(&room, &trial, after, &ns);
        sum += ns;
        if (res == HG_OK && ns && (*best_ns == 0 || ns < *best_ns))
            *best_ns = ns;
    }
    if (res == HG_ERR_DRIVER || res == HG_ERR_UNSUPPORTED || res == HG_ERR_DEVICE_MEMORY)
        res = HG_OK;
out:
    hg_trial_room_close(&room);
    hg_trial_free(&trial);
    free(after);
    return res;
}

static void say(const hg_engine *engine, const candidate *best, hg_dtype dtype, uint64_t best_ns,
                uint64_t first_ns)
{
    char tiles[HG_TILES_TEXT];

    hg_tiles_text(best->variant, best->spec, tiles);
    hg_say(&engine->log, HG_LOG_INFO,
           "measured %s (%s): %s%s%s, %.1f us; %.2f times as fast as before",
           hg_kernels[best->variant->kernel].name, hg_dtype_name(dtype),
           hg_tier_name(best->variant->tier), *tiles ? " " : "", tiles, (double)best_ns / 1e3,
           (double)first_ns / (double)best_ns);
}

/* The best of the candidates that there was time for; untouched where the plan's own is. */
static hg_result choose(hg_engine *engine, hg_tuner *tuner, const hg_op *op,
                        const hg_run_params *run, hg_tuned *out)
{
    const hg_params params = call_of(op);
    candidate list[CANDIDATES_MAX];
    const uint32_t count = list_candidates(engine, op->kernel, op->dtype, list);
    const uint64_t start = hg_os_clock_ns(), before = tuner->spent_ns;
    uint64_t best_ns = 0, first_ns = 0;
    uint32_t best = 0;
    hg_result res = HG_OK;

    for (uint32_t i = 0; count > 1 && i < count && tuner->spent_ns < BUDGET_NS; i++) {
        uint64_t ns = 0;

        HG_TRY(measure(engine, &list[i], &params, &ns));
        tuner->spent_ns = before + (hg_os_clock_ns() - start);
        if (i == 0)
            first_ns = best_ns = ns;
        if (ns && (double)ns < (double)best_ns * (best ? 1.0 : GAIN)) {
            best = i;
            best_ns = ns;
        }
        if (run->progress.step && run->progress.step(run->progress.user, "tune", i + 1, count))
            return HG_CANCELLED;
    }
    if (count == 0 || best_ns == 0)
        return HG_OK; /* no clock, or nothing that runs */
    say(engine, &list[best], op->dtype, best_ns, first_ns);
    out->is_set = 1;
    out->tier = list[best].variant->tier;
    memcpy(out->spec, list[best].spec, sizeof(out->spec));
out:
    return res;
}

/* A choice in numbers of its own must pass what the table's numbers have to. */
static hg_result check(hg_engine *engine, const hg_variant *variant, int *passed)
{
    hg_trial_room room = {0};
    hg_check found = {0};
    hg_result res = HG_OK;

    HG_TRY(hg_trial_room_open(&room, engine, hg_selftest_room_bytes(1)));
    HG_TRY(hg_selftest_quick(&room, variant, &found));
    *passed = found.passed;
    if (!found.passed)
        hg_say(&engine->log, HG_LOG_INFO, "kernel %s is not used with these numbers: %s",
               hg_kernels[variant->kernel].name, found.why);
out:
    hg_trial_room_close(&room);
    return res;
}

/* ---- the file ---- */

static uint32_t size_class(uint32_t k)
{
    uint32_t bits = 0;

    while (k >>= 1)
        bits++;
    return bits;
}

static entry *find(hg_tuner *tuner, hg_kernel_id kernel, hg_dtype dtype, uint32_t size)
{
    for (uint32_t i = 0; i < tuner->count; i++) {
        entry *e = &tuner->entries[i];

        if (e->kernel == kernel && e->dtype == dtype && e->size == size)
            return e;
    }
    return NULL;
}

/* The hash of what these numbers make of a variant's sources. */
static uint64_t hash_with(hg_engine *engine, const hg_variant *variant, const hg_tuned *tuned)
{
    hg_tuned *place = &engine->plan.tuned[variant->kernel][variant->dtype];
    const hg_tuned before = *place; /* tuners alone write it */
    uint64_t hash;

    pthread_mutex_lock(&engine->lock);
    *place = *tuned;
    hash = hg_kept_hash(engine, variant);
    *place = before;
    pthread_mutex_unlock(&engine->lock);
    return hash;
}

typedef struct file_of {
    hg_engine *engine;
    hg_tuner *tuner;
} file_of;

static int write_line(const hg_variant *variant, uint32_t size, const uint32_t *spec, uint64_t hash,
                      char *out, size_t room)
{
    size_t used =
        (size_t)snprintf(out, room, "%s %s %s %u %016" PRIx64, hg_kernels[variant->kernel].name,
                         hg_tier_name(variant->tier), hg_dtype_name(variant->dtype), size, hash);

    for (uint32_t i = 0; i < HG_SPEC_MAX && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, " %u", spec[i]);
    return used < room;
}

/* Understood by writing it again: what does not come out the same is not ours. */
static void take_line(void *user, const char *line)
{
    const file_of *file = user;
    hg_tuner *tuner = file->tuner;
    char kernel[64], tier[16], dtype[16], again[256];
    hg_tuned tuned = {.is_set = 1};
    uint32_t size = 0;
    uint64_t hash = 0;
    int at = 0;

    if (sscanf(line, "%63s %15s %15s %" SCNu32 " %" SCNx64 "%n", kernel, tier, dtype, &size, &hash,
               &at) < 5)
        return;
    for (uint32_t i = 0; i < HG_SPEC_MAX; i++) {
        int more = 0;

        if (sscanf(line + at, " %" SCNu32 "%n", &tuned.spec[i], &more) < 1)
            return;
        at += more;
    }
    for (uint32_t v = 0; v < hg_variant_count && tuner->count < ENTRIES_MAX; v++) {
        const hg_variant *variant = &hg_variants[v];

        tuned.tier = variant->tier;
        if (write_line(variant, size, tuned.spec, hash, again, sizeof(again)) &&
            strcmp(line, again) == 0 && hash_with(file->engine, variant, &tuned) == hash &&
            !find(tuner, variant->kernel, variant->dtype, size))
            tuner->entries[tuner->count++] = (entry){
                .kernel = variant->kernel, .dtype = variant->dtype, .size = size, .tuned = tuned};
    }
}

static void put_entries(void *user, hg_kept_text *out)
{
    const file_of *file = user;
    char line[256];

    for (uint32_t i = 0; i < file->tuner->count; i++) {
        const entry *e = &file->tuner->entries[i];
        const hg_variant *variant = hg_variant_find(e->kernel, e->tuned.tier, e->dtype);

        if (variant && write_line(variant, e->size, e->tuned.spec,
                                  hash_with(file->engine, variant, &e->tuned), line, sizeof(line)))
            hg_kept_put(out, "%s\n", line);
    }
}

/* ---- a list ---- */

/* The operation with the most work that is alike: the one to measure. */
static const hg_op *largest(const hg_oplist *list, const hg_op *like)
{
    const hg_op *best = like;

    for (uint32_t i = 0; i < list->count; i++) {
        const hg_op *op = &list->ops[i];

        if (op->kind == HG_OP_DISPATCH && op->kernel == like->kernel && op->dtype == like->dtype &&
            hg_op_cost(op).flops > hg_op_cost(best).flops)
            best = op;
    }
    return best;
}

static void set(hg_engine *engine, hg_kernel_id kernel, hg_dtype dtype, const hg_tuned *tuned)
{
    pthread_mutex_lock(&engine->lock);
    engine->plan.tuned[kernel][dtype] = *tuned;
    pthread_mutex_unlock(&engine->lock);
}

static hg_result settle(hg_engine *engine, hg_tuner *tuner, const hg_op *op,
                        const hg_run_params *run)
{
    static const hg_tuned none;
    const uint32_t size = size_class(op->words[1]);
    entry *known = find(tuner, op->kernel, op->dtype, size);
    const hg_variant *variant;
    hg_tuned tuned = {0};
    int passed = 1;
    hg_result res = HG_OK;

    if (known && is_candidate(engine, op->kernel, op->dtype, &known->tuned)) {
        set(engine, op->kernel, op->dtype, &known->tuned);
        goto out;
    }
    HG_TRY(choose(engine, tuner, op, run, &tuned));
    variant = tuned.is_set ? hg_variant_find(op->kernel, tuned.tier, op->dtype) : NULL;
    if (!variant)
        goto out;
    set(engine, op->kernel, op->dtype, &tuned);
    HG_TRY(check(engine, variant, &passed));
    if (!passed)
        set(engine, op->kernel, op->dtype, &none);
    if (passed && tuner->spent_ns < BUDGET_NS && (known || tuner->count < ENTRIES_MAX)) {
        if (!known)
            known = &tuner->entries[tuner->count++];
        *known = (entry){op->kernel, op->dtype, size, tuned};
        tuner->changed = 1;
    }
out:
    return res;
}

static hg_result tune_locked(hg_engine *engine, const hg_oplist *list, const hg_run_params *params)
{
    hg_tuner *tuner = engine->tuner;
    hg_result res = HG_OK;

    if (!tuner->read)
        hg_kept_read(engine, &kept, take_line, &(file_of){engine, tuner});
    tuner->read = 1;
    for (uint32_t i = 0; i < list->count && res == HG_OK; i++) {
        const hg_op *op = &list->ops[i];
        uint8_t *settled = &tuner->settled[op->kernel];

        if (op->kind != HG_OP_DISPATCH || *settled & 1u << op->dtype ||
            (op->kernel != HG_KERNEL_matmul && op->kernel != HG_KERNEL_matvec))
            continue;
        *settled = (uint8_t)(*settled | 1u << op->dtype);
        res = settle(engine, tuner, largest(list, op), params);
    }
    if (tuner->changed)
        hg_kept_write(engine, &kept, put_entries, &(file_of){engine, tuner});
    tuner->changed = 0;
    return res;
}

hg_result hg_tune_list(hg_engine *engine, const hg_oplist *list, const hg_run_params *params)
{
    hg_result res;

    if (!engine->tuner || pthread_mutex_trylock(&engine->tuner->lock) != 0)
        return HG_OK;
    res = tune_locked(engine, list, params);
    pthread_mutex_unlock(&engine->tuner->lock);
    return res;
}
