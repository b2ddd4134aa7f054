/* SPDX-License-Identifier: MIT */
/*
 * Many prompts in one pass give, bit for bit, what each of them gives alone: ragged lengths around
 * the block of 64 keys, windows, gates, rope that depends on the length, pieces smaller than a
 * sequence, passes that take only some; and wrong calls say so. test_batch --device SEL
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <headgate/headgate.h>

enum { SEQUENCES = 7, LONGEST = 130, MANY = 150 };
enum { ALL_CAPTURES = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN };

static const uint32_t lengths[SEQUENCES] = {1, 65, 2, 130, 63, 1, 64};

static hg_engine *engine;
static const char *selector;
static char said[4096];

typedef struct world {
    hg_model *model;
    hg_model_info info;
    int32_t ids[512];
    uint32_t starts[SEQUENCES + 1];
} world;

static void collect(void *user, hg_log_level level, const char *line)
{
    const size_t used = strlen(said);

    (void)user;
    (void)level;
    snprintf(said + used, sizeof(said) - used, "%s\n", line);
}

static void open_world(world *w, const char *folder)
{
    hg_checkpoint *checkpoint = NULL;

    memset(w, 0, sizeof(*w));
    assert_int_equal(hg_checkpoint_open(&(hg_checkpoint_params){.path = folder}, &checkpoint),
                     HG_OK);
    assert_int_equal(hg_model_load(engine, checkpoint, NULL, &w->model), HG_OK);
    hg_checkpoint_close(&checkpoint);
    hg_model_describe(w->model, &w->info);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        w->starts[i + 1] = w->starts[i] + lengths[i];
    for (uint32_t i = 0; i < w->starts[SEQUENCES]; i++)
        w->ids[i] = (int32_t)((i * 977u + i * i * 31u + 3u) % w->info.vocab);
}

static hg_session *session_of(const world *w, const hg_session_params *params)
{
    hg_session_params p = *params;
    hg_session *session = NULL;

    p.log = (hg_log){collect, NULL, HG_LOG_WARNING};
    said[0] = '\0';
    assert_int_equal(hg_session_create(w->model, &p, &session), HG_OK);
    return session;
}

static float *floats(size_t count)
{
    float *values = malloc((count + 1) * sizeof(*values));

    assert_non_null(values);
    return values;
}

typedef hg_result (*reader)(hg_session *session, uint32_t index, float *out);

static hg_result read_heads(hg_session *s, uint32_t layer, float *out)
{
    return hg_capture_map(s, &(hg_map_params){.layer = layer}, out);
}

static hg_result read_corner(hg_session *s, uint32_t layer, float *out)
{
    const uint32_t last = hg_session_tokens(s) - 1;

    return hg_capture_map(s,
                          &(hg_map_params){.layer = layer,
                                           .head_first = 1,
                                           .head_count = 1,
                                           .query_first = last / 2,
                                           .key_first = last / 3},
                          out);
}

static hg_result read_q(hg_session *s, uint32_t layer, float *out)
{
    return hg_capture_qk(s, layer, out, NULL);
}

static hg_result read_k(hg_session *s, uint32_t layer, float *out)
{
    return hg_capture_qk(s, layer, NULL, out);
}

/* The same numbers from two sessions, whatever they mean; zeros where the reader writes less. */
static void expect_same(hg_session *a, hg_session *b, reader read, uint32_t index, size_t count)
{
    float *x = calloc(count, sizeof(*x)), *y = calloc(count, sizeof(*y));

    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(read(a, index, x), HG_OK);
    assert_int_equal(read(b, index, y), HG_OK);
    assert_memory_equal(x, y, count * sizeof(*x));
    free(x);
    free(y);
}

static void expect_same_metrics(const hg_layer_metrics *a, const hg_layer_metrics *b,
                                const double *shares, const double *others, uint32_t heads)
{
    assert_memory_equal(a, b, offsetof(hg_layer_metrics, captured));
    assert_int_equal(a->captured, b->captured);
    assert_memory_equal(shares, others, heads * 2 * sizeof(*shares));
}

/* A session that selected a sequence, and one that evaluated it alone. */
static void expect_same_sequence(const world *w, hg_session *batch, hg_session *alone)
{
    const hg_model_info *info = &w->info;
    const size_t tokens = hg_session_tokens(alone), vocab = info->vocab;
    double shares[2][512];
    hg_layer_metrics metrics[2];

    assert_int_equal(hg_session_tokens(batch), tokens);
    assert_memory_equal(hg_session_ids(batch), hg_session_ids(alone), tokens * sizeof(int32_t));
    for (uint32_t t = 0; t < tokens; t++)
        expect_same(batch, alone, hg_session_logits, t, vocab);
    for (uint32_t i = 0; i < info->layers + 2; i++)
        expect_same(batch, alone, hg_capture_hidden, i, tokens * info->hidden);
    for (uint32_t layer = 0; layer < info->layers; layer++) {
        expect_same(batch, alone, hg_capture_stats, layer, tokens * info->heads * 2);
        expect_same(batch, alone, read_q, layer, tokens * info->heads * info->head_dim);
        expect_same(batch, alone, read_k, layer, tokens * info->kv_heads * info->head_dim);
        expect_same(batch, alone, read_heads, layer, tokens * tokens * info->heads);
        expect_same(batch, alone, read_corner, layer, tokens * tokens);
        if (info->gate_dim)
            expect_same(batch, alone, hg_capture_gates, layer,
                        tokens * info->heads * info->gate_dim);
        assert_int_equal(hg_capture_metrics(batch, layer, &metrics[0], shares[0]), HG_OK);
        assert_int_equal(hg_capture_metrics(alone, layer, &metrics[1], shares[1]), HG_OK);
        expect_same_metrics(&metrics[0], &metrics[1], shares[0], shares[1], info->heads);
    }
}

/* Maps of all sequences at once: as one by one. */
static void expect_same_maps(hg_session *batch, hg_session *const *alone,
                             const hg_map_params *params)
{
    uint32_t shape[3];
    float *all = floats((size_t)64 * LONGEST * LONGEST * 8), *one = NULL, *at = all;

    assert_int_equal(hg_batch_maps(batch, params, all), HG_OK);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        size_t cells;

        assert_int_equal(hg_capture_map_shape(alone[i], params, shape), HG_OK);
        cells = (size_t)shape[0] * shape[1] * shape[2];
        one = floats(cells);
        assert_int_equal(hg_capture_map(alone[i], params, one), HG_OK);
        assert_memory_equal(at, one, cells * sizeof(*one));
        at += cells;
        free(one);
    }
    free(all);
}

static void expect_same_gates(const world *w, hg_session *batch, hg_session *const *alone,
                              uint32_t layer)
{
    const size_t width = (size_t)w->info.heads * w->info.gate_dim;
    float *all = floats(w->starts[SEQUENCES] * width), *one = floats(LONGEST * width);

    for (uint32_t i = 0; i < SEQUENCES; i++) {
        assert_int_equal(hg_batch_gates(batch, layer, all), width ? HG_OK : HG_ERR_ARGUMENT);
        if (!width)
            break;
        assert_int_equal(hg_capture_gates(alone[i], layer, one), HG_OK);
        assert_memory_equal(all + w->starts[i] * width, one, lengths[i] * width * sizeof(*one));
        assert_int_equal(hg_session_tokens(batch), lengths[0]); /* the selected one still is */
    }
    free(all);
    free(one);
}

static void expect_same_batch(const world *w, hg_session *batch, hg_session *const *alone)
{
    const uint32_t heads = w->info.heads;
    double *shares = calloc((size_t)SEQUENCES * heads * 2, sizeof(*shares)), own[512];
    hg_layer_metrics metrics[SEQUENCES], one;

    assert_non_null(shares);
    for (uint32_t layer = 0; layer < w->info.layers; layer++) {
        assert_int_equal(hg_batch_metrics(batch, layer, metrics, shares), HG_OK);
        for (uint32_t i = 0; i < SEQUENCES; i++) {
            assert_int_equal(hg_capture_metrics(alone[i], layer, &one, own), HG_OK);
            expect_same_metrics(&metrics[i], &one, shares + (size_t)i * heads * 2, own, heads);
        }
        expect_same_gates(w, batch, alone, layer);
        expect_same_maps(batch, alone, &(hg_map_params){.layer = layer});
        expect_same_maps(batch, alone, &(hg_map_params){.layer = layer, .head_mean = 1});
        expect_same_maps(batch, alone,
                         &(hg_map_params){.layer = layer,
                                          .head_first = 1,
                                          .head_count = 1,
                                          .pool_queries = 9,
                                          .pool_keys = 5,
                                          .pool = HG_POOL_MEAN});
    }
    free(shares);
}

static void expect_batches_of(const char *folder)
{
    static const uint32_t pieces[] = {0, 7, 100};
    hg_session *alone[SEQUENCES];
    world w;

    open_world(&w, folder);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        alone[i] = session_of(&w, &(hg_session_params){.max_tokens = lengths[i],
                                                       .capture = ALL_CAPTURES,
                                                       .logits = HG_LOGITS_ALL});
        assert_int_equal(hg_session_eval(alone[i], w.ids + w.starts[i], lengths[i]), HG_OK);
    }
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        hg_session *batch = session_of(&w, &(hg_session_params){.max_tokens = w.starts[SEQUENCES],
                                                                .piece_tokens = pieces[p],
                                                                .capture = ALL_CAPTURES,
                                                                .logits = HG_LOGITS_ALL,
                                                                .sequences = SEQUENCES});

        assert_int_equal(hg_batch_eval(batch, w.ids, lengths, SEQUENCES, NULL), HG_OK);
        assert_int_equal(hg_batch_sequences(batch), SEQUENCES);
        for (uint32_t i = SEQUENCES; i-- > 0;) {
            assert_int_equal(hg_batch_select(batch, i), HG_OK);
            expect_same_sequence(&w, batch, alone[i]);
        }
        expect_same_batch(&w, batch, alone);
        hg_session_free(&batch);
    }
    for (uint32_t i = 0; i < SEQUENCES; i++)
        hg_session_free(&alone[i]);
    hg_model_free(&w.model);
}

static void headwise_gates(void **state)
{
    (void)state;
    expect_batches_of(HG_TEST_SAMPLES_DIR "/gate_headwise");
}

static void elementwise_gates(void **state)
{
    (void)state;
    expect_batches_of(HG_TEST_REFERENCE_DIR "/models/gate-elementwise-g2");
}

static void windows(void **state)
{
    (void)state;
    expect_batches_of(HG_TEST_REFERENCE_DIR "/models/window-8");
}

static void rope_that_depends_on_the_length(void **state)
{
    (void)state;
    expect_batches_of(HG_TEST_REFERENCE_DIR "/models/rope-dynamic-long");
}

/* Of probabilities, and of logits beside the largest of their row. */
static void expect_near(const float *a, const float *b, size_t count)
{
    float most = 1.0f;

    for (size_t i = 0; i < count; i++)
        most = fabsf(b[i]) > most ? fabsf(b[i]) : most;
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-4f * most))
            fail_msg("place %zu: expected %g, found %g", i, (double)b[i], (double)a[i]);
}

/* Without exact other kernels may be taken, which have to respect where a sequence begins, too. */
static void faster_tiers_are_near(void **state)
{
    const hg_session_params params = {.max_tokens = 512,
                                      .piece_tokens = 100,
                                      .capture = ALL_CAPTURES,
                                      .logits = HG_LOGITS_LAST,
                                      .sequences = SEQUENCES};
    hg_engine *exact = engine;
    hg_session *batch, *alone;
    float *a = floats((size_t)8 * LONGEST * LONGEST), *b = floats((size_t)8 * LONGEST * LONGEST);
    world w;

    (void)state;
    assert_int_equal(hg_engine_create(&(hg_engine_params){.selector = selector}, &engine), HG_OK);
    open_world(&w, HG_TEST_SAMPLES_DIR "/gate_headwise");
    batch = session_of(&w, &params);
    alone = session_of(&w, &params);
    assert_int_equal(hg_batch_eval(batch, w.ids, lengths, SEQUENCES, NULL), HG_OK);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        const size_t cells = (size_t)w.info.heads * lengths[i] * lengths[i];

        assert_int_equal(hg_batch_select(batch, i), HG_OK);
        assert_int_equal(hg_session_truncate(alone, 0), HG_OK);
        assert_int_equal(hg_session_eval(alone, w.ids + w.starts[i], lengths[i]), HG_OK);
        assert_int_equal(hg_session_logits(batch, lengths[i] - 1, a), HG_OK);
        assert_int_equal(hg_session_logits(alone, lengths[i] - 1, b), HG_OK);
        expect_near(a, b, w.info.vocab);
        for (uint32_t layer = 0; layer < w.info.layers; layer++) {
            assert_int_equal(read_heads(batch, layer, a), HG_OK);
            assert_int_equal(read_heads(alone, layer, b), HG_OK);
            expect_near(a, b, cells);
        }
    }
    free(a);
    free(b);
    hg_session_free(&batch);
    hg_session_free(&alone);
    hg_model_free(&w.model);
    hg_engine_destroy(&engine);
    engine = exact;
}

/* Passes of what fits, and more sequences that end in a piece than have room for their logits. */
static void last_logits_in_passes(void **state)
{
    uint32_t counts[MANY], total = 0, passes = 0;
    world w;
    hg_session *last, *all;
    float *a, *b;

    (void)state;
    open_world(&w, HG_TEST_SAMPLES_DIR "/baseline");
    for (uint32_t i = 0; i < MANY; i++)
        total += counts[i] = 1 + i % 3;
    last = session_of(
        &w, &(hg_session_params){.max_tokens = 200, .logits = HG_LOGITS_LAST, .sequences = MANY});
    all = session_of(&w, &(hg_session_params){.max_tokens = 3, .logits = HG_LOGITS_ALL});
    a = floats(w.info.vocab);
    b = floats(w.info.vocab);
    for (uint32_t done = 0, at = 0, taken = 0; done < MANY; done += taken, passes++) {
        assert_int_equal(hg_batch_eval(last, w.ids + at, counts + done, MANY - done, &taken),
                         HG_OK);
        assert_int_equal(hg_batch_sequences(last), taken);
        for (uint32_t i = 0; i < taken; i++) {
            const uint32_t count = counts[done + i];

            assert_int_equal(hg_batch_select(last, i), HG_OK);
            assert_int_equal(hg_session_logits(last, count - 1, a), HG_OK);
            assert_int_equal(hg_session_logits(last, count, a), HG_ERR_ARGUMENT);
            assert_int_equal(hg_session_truncate(all, 0), HG_OK);
            assert_int_equal(hg_session_eval(all, w.ids + at, count), HG_OK);
            assert_int_equal(hg_session_logits(all, count - 1, b), HG_OK);
            assert_memory_equal(a, b, w.info.vocab * sizeof(*a));
            at += count;
        }
    }
    assert_int_equal(passes, (total + 199) / 200);
    free(a);
    free(b);
    hg_session_free(&last);
    hg_session_free(&all);
    hg_model_free(&w.model);
}

/* A session may hold a batch, then a timeline, then a batch again. */
static void batches_and_timelines_take_turns(void **state)
{
    const hg_session_params params = {.max_tokens = 140,
                                      .capture = HG_CAPTURE_ATTENTION,
                                      .logits = HG_LOGITS_LAST,
                                      .sequences = 3};
    world w;
    hg_session *turns, *fresh;

    (void)state;
    open_world(&w, HG_TEST_SAMPLES_DIR "/gate_headwise");
    turns = session_of(&w, &params);
    fresh = session_of(&w, &params);
    assert_int_equal(hg_batch_eval(turns, w.ids, lengths, 3, NULL), HG_OK);
    assert_int_equal(hg_session_eval(turns, w.ids, 1), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "holds a batch of 3"));
    assert_int_equal(hg_session_truncate(turns, 1), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_truncate(turns, 0), HG_OK);
    assert_int_equal(hg_batch_sequences(turns), 0);
    assert_int_equal(hg_session_tokens(turns), 0);
    for (uint32_t i = 0; i < 2; i++) { /* two evals, so that the second attends to the first */
        assert_int_equal(hg_session_eval(turns, w.ids + i * 65, 65), HG_OK);
        assert_int_equal(hg_session_eval(fresh, w.ids + i * 65, 65), HG_OK);
    }
    expect_same(turns, fresh, hg_session_logits, 129, w.info.vocab);
    expect_same(turns, fresh, read_heads, 1, (size_t)w.info.heads * 130 * 130);
    assert_int_equal(hg_batch_eval(turns, w.ids + w.starts[3], lengths + 3, 1, NULL), HG_OK);
    assert_int_equal(hg_session_truncate(fresh, 0), HG_OK);
    assert_int_equal(hg_session_eval(fresh, w.ids + w.starts[3], 130), HG_OK);
    expect_same(turns, fresh, hg_session_logits, 129, w.info.vocab);
    expect_same(turns, fresh, read_heads, 1, (size_t)w.info.heads * 130 * 130);
    hg_session_free(&turns);
    hg_session_free(&fresh);
    hg_model_free(&w.model);
}

static int cancel_at_second(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;

    (void)what;
    assert_true(done <= total);
    return ++*calls == 2;
}

static void wrong_calls_say_what_is_wrong(void **state)
{
    static const uint32_t none[2] = {1, 0};
    int32_t strange[2] = {1, 0};
    uint32_t taken = 9;
    int calls = 0;
    hg_layer_metrics metrics[3];
    world w;
    hg_session *s;
    float out[8];

    (void)state;
    open_world(&w, HG_TEST_SAMPLES_DIR "/baseline");
    strange[1] = (int32_t)w.info.vocab;
    s = session_of(&w, &(hg_session_params){.max_tokens = 70,
                                            .piece_tokens = 16,
                                            .sequences = 3,
                                            .progress = {cancel_at_second, &calls}});
    assert_int_equal(hg_batch_select(s, 0), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_metrics(s, 0, metrics, NULL), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "holds no batch"));
    assert_int_equal(hg_batch_maps(s, &(hg_map_params){0}, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_eval(s, w.ids, none, 2, &taken), HG_ERR_TEXT);
    assert_non_null(strstr(said, "sequence 1 has no tokens"));
    assert_int_equal(taken, 0);
    assert_int_equal(hg_batch_eval(s, strange, (const uint32_t[2]){1, 1}, 2, NULL), HG_ERR_TEXT);
    assert_non_null(strstr(said, "sequence 1: token id 2048 at place 0"));
    assert_int_equal(hg_batch_eval(s, w.ids, lengths + 3, 1, &taken), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "130 tokens is asked for, the session has room for 70"));
    assert_int_equal(hg_batch_eval(s, w.ids, lengths, SEQUENCES, NULL), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "room for 3 of 7 sequences"));
    assert_int_equal(hg_batch_eval(s, w.ids, lengths, 0, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_eval(NULL, w.ids, lengths, 1, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_eval(s, NULL, lengths, 1, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_eval(s, w.ids, NULL, 1, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_sequences(NULL), 0);
    assert_int_equal(hg_batch_select(NULL, 0), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_metrics(NULL, 0, metrics, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_maps(NULL, &(hg_map_params){0}, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_gates(NULL, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_gates(s, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_room(NULL, NULL, 5), 0);
    assert_int_equal(hg_batch_eval(s, w.ids, lengths, 3, NULL), HG_CANCELLED);
    assert_int_equal(hg_batch_sequences(s), 0);
    assert_int_equal(hg_batch_eval(s, w.ids, lengths, 3, NULL), HG_OK);
    assert_int_equal(hg_batch_select(s, 3), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_logits(s, 0, out), HG_ERR_ARGUMENT); /* none were asked for */
    assert_int_equal(hg_batch_maps(s, &(hg_map_params){0}, out), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "not captured"));
    assert_int_equal(hg_batch_maps(s, &(hg_map_params){.key_count = 1}, out), HG_ERR_ARGUMENT);
    assert_non_null(strstr(said, "maps of a batch are whole"));
    assert_int_equal(hg_batch_metrics(s, 99, metrics, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_batch_metrics(s, 0, metrics, NULL), HG_OK);
    assert_int_equal(metrics[2].captured, 0);
    hg_session_free(&s);
    hg_model_free(&w.model);
}

/* What hg_batch_room suggests can be created, with far less than one binding of queries would need.
 */
static void room_is_what_fits(void **state)
{
    const hg_session_params params = {.capture = ALL_CAPTURES, .sequences = 9};
    hg_session_params roomy = params;
    hg_engine *small = NULL;
    hg_checkpoint *checkpoint = NULL;
    hg_model *model = NULL;
    hg_session *s = NULL;

    (void)state;
    assert_int_equal(
        hg_engine_create(&(hg_engine_params){.selector = "ref", .memory_limit_bytes = 12 << 20},
                         &small),
        HG_OK);
    assert_int_equal(
        hg_checkpoint_open(&(hg_checkpoint_params){.path = HG_TEST_SAMPLES_DIR "/baseline"},
                           &checkpoint),
        HG_OK);
    assert_int_equal(hg_model_load(small, checkpoint, NULL, &model), HG_OK);
    assert_int_equal(hg_batch_room(model, &params, 20), 20);
    roomy.max_tokens = hg_batch_room(model, &params, UINT32_MAX);
    assert_true(roomy.max_tokens >= 50 && roomy.max_tokens <= 2000);
    assert_int_equal(hg_session_create(model, &roomy, &s), HG_OK);
    hg_session_free(&s);
    roomy.max_tokens *= 4;
    assert_int_equal(hg_session_create(model, &roomy, &s), HG_ERR_DEVICE_MEMORY);
    hg_model_free(&model);
    hg_checkpoint_close(&checkpoint);
    hg_engine_destroy(&small);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headwise_gates),
        cmocka_unit_test(elementwise_gates),
        cmocka_unit_test(windows),
        cmocka_unit_test(rope_that_depends_on_the_length),
        cmocka_unit_test(faster_tiers_are_near),
        cmocka_unit_test(last_logits_in_passes),
        cmocka_unit_test(batches_and_timelines_take_turns),
        cmocka_unit_test(wrong_calls_say_what_is_wrong),
        cmocka_unit_test(room_is_what_fits),
    };
    hg_engine_params params = {.struct_size = sizeof(params), .precision = HG_PRECISION_EXACT};
    hg_result res;
    int failed;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--device") == 0)
            params.selector = selector = argv[i + 1];
    res = hg_engine_create(&params, &engine);
    if (res == HG_ERR_NO_DEVICE) {
        printf("no device %s here\n", params.selector ? params.selector : "at all");
        return 77;
    }
    if (res != HG_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_engine_destroy(&engine);
    return failed;
}
