/* SPDX-License-Identifier: MIT */
/*
 * The cases of tests/reference/kernels (float64 outputs of the original's operations) on one
 * device. rope is norm_rope without its norm; softmax is attention and attn_probs over keys of one
 * element; sigmoid is what attention writes to gates. An expected |y| below 2^-50 counts as 0, the
 * sign of zero does not count (docs/DECISIONS.md D14).
 */
#include "runner.h"
#include "tensors.h"
#include "trial.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIP = 77, ROOM_BYTES = 8 << 20 };

static struct {
    hg_runner runner;
    uint8_t *after;
    const cJSON *cases;
} self;

/* ---- a case, and what it holds ---- */

typedef struct reference_case {
    const cJSON *json;
    hg_test_tensors *tensors;
    uint32_t shape[4]; /* of the last tensor asked for */
} reference_case;

static double param(const reference_case *c, const char *name, double otherwise)
{
    const cJSON *value =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(c->json, "params"), name);

    return value ? value->valuedouble : otherwise;
}

static size_t count_of(reference_case *c, const char *name)
{
    return hg_test_tensors_count(c->tensors, name, c->shape);
}

/* How far a float32 engine may be from the output, relative to the row; reaches: it gets there at
 * all. */
static double tolerance(const reference_case *c, const char *output, bool *reaches)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(c->json, "float32_error"), output);
    const cJSON *reach = cJSON_GetObjectItemCaseSensitive(error, "float32_reaches_it");
    const cJSON *most = cJSON_GetObjectItemCaseSensitive(error, "max_abs");
    const cJSON *scale = cJSON_GetObjectItemCaseSensitive(error, "scale");
    const double theirs =
        most && scale && scale->valuedouble > 0 ? 8 * most->valuedouble / scale->valuedouble : 0;

    *reaches = !reach || cJSON_IsTrue(reach);
    return theirs > 2e-6 ? theirs : 2e-6;
}

/* An input below 2^-50 counts as 0: what that may take from output i is 2^-50 x gain x |by[i %
 * count]|. */
typedef struct lost_input {
    const float *by;
    size_t count;
    double gain;
} lost_input;

/* found[i] for expected[i], rows of `width`. lost: NULL, where inputs are not multiplied up. */
static void compare(reference_case *c, const char *output, const float *found, size_t width,
                    const lost_input *lost)
{
    const size_t count = count_of(c, output);
    double *expected = hg_test_tensors_f64(c->tensors, output);
    bool reaches;
    const double rel = tolerance(c, output, &reaches);

    assert_non_null(expected);
    for (size_t row = 0; row < count; row += width) {
        double most = 0;

        for (size_t i = row; i < row + width; i++)
            most = fmax(most, fabs(expected[i]));
        for (size_t i = row; i < row + width; i++) {
            const double error = fabs(found[i] - expected[i]);
            const double floor =
                lost ? 0x1p-50 * lost->gain * fabs((double)lost->by[i % lost->count]) : 0;

            if (!reaches && fabs(expected[i]) > 3.4e38 && !isnan(found[i]) &&
                fabs((double)found[i]) > 3.4e38 && (found[i] > 0) == (expected[i] > 0))
                continue; /* beyond float32: infinite with the right sign */
            if (!(error <= rel * most + floor + 0x1p-49))
                fail_msg("%s[%zu]: expected %.9g, found %.9g, the row goes up to %.3g, rel %.2g",
                         output, i, expected[i], (double)found[i], most, rel);
        }
    }
    free(expected);
}

/* ---- a call made from tensors ---- */

typedef struct builder {
    hg_trial call;
    uint64_t elements[HG_BINDS_MAX];
    uint64_t size_bytes[HG_BINDS_MAX];
} builder;

static const hg_variant *variant_of(hg_kernel_id kernel, hg_dtype dtype)
{
    return hg_plan_variant(&self.runner.engine->plan, kernel, dtype);
}

static void make(builder *b, hg_kernel_id kernel, hg_dtype dtype, const hg_params *params)
{
    for (uint32_t i = 0; i < hg_kernels[kernel].bind_count; i++) {
        const bool half = hg_kernels[kernel].bind[i].type == HG_BIND_w && dtype != HG_DTYPE_F32;

        if (b->elements[i] == 0)
            b->elements[i] = 1;
        b->size_bytes[i] = (b->elements[i] * (half ? 2 : 4) + 3) / 4 * 4;
    }
    assert_true(hg_trial_make_sizes(&b->call, variant_of(kernel, dtype), params, b->size_bytes));
    for (uint32_t i = 0; i < hg_kernels[kernel].bind_count; i++) {
        if (hg_kernels[kernel].bind[i].access == HG_ACCESS_R)
            memset(hg_trial_bind(&b->call, i), 0, b->size_bytes[i]);
    }
}

static void copy_in(builder *b, uint32_t bind, reference_case *c, const char *name)
{
    float *values = hg_test_tensors_f32(c->tensors, name);

    assert_non_null(values);
    assert_int_equal(count_of(c, name), b->elements[bind]);
    memcpy(hg_trial_bind(&b->call, bind), values, b->elements[bind] * sizeof(*values));
    free(values);
}

/* Runs; the result of a binding is at result(). */
static void run(builder *b)
{
    hg_trial_inputs_done(&b->call, b->elements);
    assert_true(b->call.block_bytes <= ROOM_BYTES);
    assert_int_equal(hg_trial_run(&self.runner.room, &b->call, self.after, NULL), HG_OK);
}

static const float *result(const builder *b, uint32_t bind)
{
    return (const float *)(const void *)(self.after + b->call.offset_bytes[bind]);
}

/* ---- operations ---- */

static void try_rms_norm(reference_case *c)
{
    const size_t count = count_of(c, "x");
    const uint32_t dim = c->shape[1];
    hg_params params = {.rms_norm = {.rows = c->shape[0],
                                     .dim = dim,
                                     .eps = (float)param(c, "eps", 0),
                                     .inv_dim = 1.0f / (float)dim}};
    builder b = {.elements = {count, dim, count}};

    make(&b, HG_KERNEL_rms_norm, HG_DTYPE_NONE, &params);
    copy_in(&b, 0, c, "x");
    copy_in(&b, 1, c, "w");
    run(&b);
    compare(c, "y", result(&b, 2), dim,
            &(lost_input){hg_trial_bind(&b.call, 1), dim, 1 / sqrt(param(c, "eps", 0))});
    hg_trial_free(&b.call);
}

static void try_rope(reference_case *c)
{
    const size_t count = count_of(c, "x");
    const uint32_t tokens = c->shape[0];
    const uint32_t dim = c->shape[2];
    hg_params params = {.norm_rope = {.tokens = tokens, .heads = c->shape[1], .head_dim = dim}};
    builder b = {.elements = {count, dim, (uint64_t)tokens * dim, count}};
    int32_t *positions = hg_test_tensors_i32(c->tensors, "positions");
    double *inv_freq = hg_test_tensors_f64(c->tensors, "inv_freq");
    const double scale = param(c, "attention_scaling", 1);

    make(&b, HG_KERNEL_norm_rope, HG_DTYPE_NONE, &params);
    copy_in(&b, 0, c, "x");
    assert_true(positions && inv_freq);
    for (uint32_t t = 0; t < tokens; t++) {
        for (uint32_t i = 0; i < dim / 2; i++) {
            float *pair = hg_trial_bind(&b.call, 2) + ((size_t)t * (dim / 2) + i) * 2;

            pair[0] = (float)(cos(positions[t] * inv_freq[i]) * scale);
            pair[1] = (float)(sin(positions[t] * inv_freq[i]) * scale);
        }
    }
    hg_shape_flush(HG_DTYPE_F32, hg_trial_bind(&b.call, 2), b.elements[2]);
    run(&b);
    compare(c, "y", result(&b, 3), dim, NULL);
    free(positions);
    free(inv_freq);
    hg_trial_free(&b.call);
}

static void try_silu_mul(reference_case *c)
{
    const size_t count = count_of(c, "gate");
    hg_params params = {
        .silu_mul = {.rows = 1, .cols = (uint32_t)count, .stride = (uint32_t)count}};
    builder b = {.elements = {count, count, count}};
    float *lost;

    make(&b, HG_KERNEL_silu_mul, HG_DTYPE_NONE, &params);
    copy_in(&b, 0, c, "gate");
    copy_in(&b, 1, c, "up");
    run(&b);
    /* Either factor may be lost. */
    lost = malloc(count * sizeof(*lost));
    assert_non_null(lost);
    for (size_t i = 0; i < count; i++)
        lost[i] = fmaxf(fabsf(hg_trial_bind(&b.call, 0)[i]), fabsf(hg_trial_bind(&b.call, 1)[i]));
    compare(c, "y", result(&b, 2), 1, &(lost_input){lost, count, 1});
    free(lost);
    hg_trial_free(&b.call);
}

/* Tokens that see no key; the gates are written all the same. */
static void try_sigmoid(reference_case *c)
{
    const size_t count = count_of(c, "x");
    hg_params params = {.attention = {.tokens = (uint32_t)count,
                                      .heads = 1,
                                      .kv_heads = 1,
                                      .head_dim = 1,
                                      .gate_dim = 1,
                                      .flags = 1}};
    builder b = {.elements = {count, 1, 1, count, count * 4, count, count * 2, count}};

    make(&b, HG_KERNEL_attention, HG_DTYPE_NONE, &params);
    copy_in(&b, 3, c, "x");
    run(&b);
    compare(c, "y", result(&b, 7), 1, NULL);
    hg_trial_free(&b.call);
}

static void try_product(reference_case *c, hg_kernel_id kernel)
{
    static const struct {
        const char *name;
        hg_dtype dtype;
        size_t bytes;
    } types[] = {{"F32", HG_DTYPE_F32, 4}, {"F16", HG_DTYPE_F16, 2}, {"BF16", HG_DTYPE_BF16, 2}};
    const size_t x_count = count_of(c, "x");
    const uint32_t rows = c->shape[0];
    const uint32_t k = c->shape[1];
    const size_t w_count = count_of(c, "w");
    const uint32_t cols = c->shape[0];
    const bool bias = count_of(c, "bias") > 0;
    hg_params params = {
        .matmul = {.rows = rows, .k = k, .cols = cols, .y_stride = cols, .flags = bias}};
    builder b = {.elements = {x_count, w_count, bias ? cols : 1, (uint64_t)rows * cols}};
    const char *w = NULL;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !w; i++) {
        w = hg_test_tensors_bytes(c->tensors, "w", types[i].name, types[i].bytes);
        if (w) {
            make(&b, kernel, types[i].dtype, &params);
            memcpy(hg_trial_bind(&b.call, 1), w, w_count * types[i].bytes);
        }
    }
    assert_non_null(w);
    copy_in(&b, 0, c, "x");
    if (bias)
        copy_in(&b, 2, c, "bias");
    run(&b);
    compare(c, "y", result(&b, 3), cols, NULL);
    hg_trial_free(&b.call);
}

/* A call of attn_probs on what a call of attention has read and written: the whole map. */
static void map_of(builder *b, const builder *attention, uint32_t tokens, uint32_t keys)
{
    const struct hg_attention_params *a = &attention->call.params.attention;
    hg_params params = {.attn_probs = {.heads = a->heads,
                                       .kv_heads = a->kv_heads,
                                       .head_dim = a->head_dim,
                                       .window = a->window,
                                       .scale = a->scale,
                                       .q_count = tokens,
                                       .k_count = keys,
                                       .h_count = a->heads,
                                       .pool_q = 1,
                                       .pool_k = 1,
                                       .inv_heads = 1.0f / (float)a->heads,
                                       .dst_stride = keys,
                                       .dst_head_stride = tokens * keys}};
    static const uint32_t from[] = {0, 1, 6, 4}; /* q, k, stats, rows */

    for (uint32_t i = 0; i < 4; i++)
        b->elements[i] = attention->elements[from[i]];
    b->elements[4] = (uint64_t)a->heads * tokens * keys;
    make(b, HG_KERNEL_attn_probs, HG_DTYPE_NONE, &params);
    for (uint32_t i = 0; i < 4; i++)
        memcpy(hg_trial_bind(&b->call, i), result(attention, from[i]), b->size_bytes[i]);
    run(b);
}

static void try_attention(reference_case *c)
{
    const size_t q_count = count_of(c, "q");
    const uint32_t tokens = c->shape[0];
    const uint32_t heads = c->shape[1];
    const uint32_t dim = c->shape[2];
    const size_t k_count = count_of(c, "k");
    const uint32_t keys = c->shape[0];
    const uint32_t kv_heads = c->shape[1];
    const size_t gates = count_of(c, "gate_logits");
    const uint32_t gate_dim = gates ? (uint32_t)(gates / ((size_t)tokens * heads)) : 0;
    hg_params params = {.attention = {.tokens = tokens,
                                      .heads = heads,
                                      .kv_heads = kv_heads,
                                      .head_dim = dim,
                                      .gate_dim = gate_dim,
                                      .window = (uint32_t)param(c, "window", 0),
                                      .scale = (float)param(c, "scale", 0),
                                      .gate = gates > 0}};
    builder b = {.elements = {q_count, k_count, k_count, gates, (uint64_t)tokens * 4, q_count,
                              (uint64_t)tokens * heads * 2, gates}};
    builder map = {0};
    float *lse = malloc((size_t)tokens * heads * sizeof(*lse));

    make(&b, HG_KERNEL_attention, HG_DTYPE_NONE, &params);
    copy_in(&b, 0, c, "q");
    copy_in(&b, 1, c, "k");
    copy_in(&b, 2, c, "v");
    if (gates)
        copy_in(&b, 3, c, "gate_logits");
    for (uint32_t t = 0; t < tokens; t++) {
        uint32_t *row = (uint32_t *)(void *)hg_trial_bind(&b.call, 4) + (size_t)t * 4;

        row[0] = (uint32_t)param(c, "q0", 0) + t;
        row[3] = keys;
    }
    run(&b);
    compare(c, "out", result(&b, 5), dim, NULL);
    assert_non_null(lse);
    for (uint32_t t = 0; t < tokens; t++) {
        for (uint32_t h = 0; h < heads; h++) {
            const float *stats = result(&b, 6) + ((size_t)t * heads + h) * 2;

            lse[(size_t)h * tokens + t] = (float)((double)stats[0] + stats[1]);
        }
    }
    compare(c, "lse", lse, tokens, NULL);
    map_of(&map, &b, tokens, keys);
    compare(c, "probs", result(&map, 4), keys, NULL);
    free(lse);
    hg_trial_free(&b.call);
    hg_trial_free(&map.call);
}

/* Each row of x is a sequence of its own: keys of one element, a query of 1. */
static void try_softmax(reference_case *c)
{
    const size_t count = count_of(c, "x");
    const uint32_t tokens = c->shape[0];
    const uint32_t keys = c->shape[1];
    hg_params params = {
        .attention = {.tokens = tokens, .heads = 1, .kv_heads = 1, .head_dim = 1, .scale = 1.0f}};
    builder b = {.elements = {tokens, count, count, 1, (uint64_t)tokens * 4, tokens,
                              (uint64_t)tokens * 2, 1}};
    builder map = {0};

    make(&b, HG_KERNEL_attention, HG_DTYPE_NONE, &params);
    copy_in(&b, 1, c, "x");
    for (size_t i = 0; i < count; i++) {
        float *x = hg_trial_bind(&b.call, 1) + i;

        if (isinf(*x))
            *x = -1e30f; /* how a masked score is written */
    }
    for (uint32_t t = 0; t < tokens; t++) {
        uint32_t *row = (uint32_t *)(void *)hg_trial_bind(&b.call, 4) + (size_t)t * 4;

        hg_trial_bind(&b.call, 0)[t] = 1.0f;
        row[0] = keys - 1;
        row[1] = t;
        row[2] = t * keys;
        row[3] = (t + 1) * keys;
    }
    run(&b);
    map_of(&map, &b, tokens, keys);
    compare(c, "y", result(&map, 4), keys, NULL);
    hg_trial_free(&b.call);
    hg_trial_free(&map.call);
}

static void test_case(void **state)
{
    const cJSON *json = *state;
    const char *op = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "op"));
    const char *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "file"));
    reference_case c = {.json = json};
    char path[1024];

    assert_true(op && file);
    (void)snprintf(path, sizeof(path), "%s/kernels/%s", HG_TEST_REFERENCE_DIR, file);
    c.tensors = hg_test_tensors_read(path);
    assert_non_null(c.tensors);
    if (strcmp(op, "rms_norm") == 0) {
        try_rms_norm(&c);
    } else if (strcmp(op, "rope") == 0) {
        try_rope(&c);
    } else if (strcmp(op, "silu_mul") == 0) {
        try_silu_mul(&c);
    } else if (strcmp(op, "sigmoid") == 0) {
        try_sigmoid(&c);
    } else if (strcmp(op, "softmax") == 0) {
        try_softmax(&c);
    } else if (strcmp(op, "attention") == 0) {
        try_attention(&c);
    } else if (strcmp(op, "matmul") == 0) {
        try_product(&c, HG_KERNEL_matmul);
        try_product(&c, HG_KERNEL_matvec);
    } else {
        fail_msg("no kernel computes %s", op);
    }
    hg_test_tensors_free(c.tensors);
}

static int run_cases(void)
{
    const int count = cJSON_GetArraySize(self.cases);
    struct CMUnitTest *tests = calloc((size_t)count + 1, sizeof(*tests));
    const cJSON *item;
    size_t i = 0;
    int failed = 1;

    if (!tests || count <= 0)
        goto out;
    cJSON_ArrayForEach(item, self.cases)
    {
        tests[i++] = (struct CMUnitTest){
            .name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "file")),
            .test_func = test_case,
            .initial_state = (void *)item};
    }
    failed = _cmocka_run_group_tests("reference", tests, i, NULL, NULL);
out:
    free(tests);
    return failed;
}

int main(int argc, char **argv)
{
    const char *selector = argc > 2 && strcmp(argv[1], "--device") == 0 ? argv[2] : NULL;
    char *text = hg_test_file_read(HG_TEST_REFERENCE_DIR "/kernels/index.json", NULL);
    cJSON *index = text ? cJSON_Parse(text) : NULL;
    hg_result res =
        hg_runner_open(&self.runner, selector, NULL, HG_PRECISION_EXACT, NULL, ROOM_BYTES);
    int failed = 1;

    self.after = malloc(ROOM_BYTES);
    self.cases = cJSON_GetObjectItemCaseSensitive(index, "cases");
    if (res == HG_ERR_NO_DEVICE)
        failed = SKIP;
    else if (res == HG_OK && self.after && self.cases)
        failed = run_cases();
    if (failed == SKIP)
        printf("skipped: no device %s here\n", selector ? selector : "");
    hg_runner_close(&self.runner);
    free(self.after);
    cJSON_Delete(index);
    free(text);
    return failed;
}
