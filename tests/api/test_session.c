/* SPDX-License-Identifier: MIT */
/* Sessions and captures through the public headers, on the reference: what belongs together agrees,
 * wrong calls say so. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <headgate/headgate.h>

enum { TOKENS = 70, HEADS = 4, HEAD_DIM = 128, LAYERS = 4, VOCAB = 2048, POOL = 9 };

typedef struct world {
    hg_engine *engine;
    hg_model *model;
    char said[4096];
} world;

static int32_t ids[TOKENS];

static void collect(void *user, hg_log_level level, const char *line)
{
    world *w = user;
    const size_t used = strlen(w->said);

    (void)level;
    snprintf(w->said + used, sizeof(w->said) - used, "%s\n", line);
}

static int open_world(void **state)
{
    static world w;
    hg_checkpoint *checkpoint = NULL;

    for (uint32_t i = 0; i < TOKENS; i++)
        ids[i] = (int32_t)((i * 977u + 3u) % VOCAB);
    memset(&w, 0, sizeof(w));
    if (hg_engine_create(&(hg_engine_params){.selector = "ref", .precision = HG_PRECISION_EXACT},
                         &w.engine) != HG_OK ||
        hg_checkpoint_open(&(hg_checkpoint_params){.path = HG_TEST_SAMPLES_DIR "/gate_headwise"},
                           &checkpoint) != HG_OK ||
        hg_model_load(w.engine, checkpoint, NULL, &w.model) != HG_OK)
        return -1;
    hg_checkpoint_close(&checkpoint); /* the model does not need it any more */
    *state = &w;
    return 0;
}

static int close_world(void **state)
{
    world *w = *state;

    hg_model_free(&w->model);
    hg_engine_destroy(&w->engine);
    return w->model || w->engine ? -1 : 0;
}

static hg_session *session_of(world *w, const hg_session_params *params)
{
    hg_session_params p = *params;
    hg_session *session = NULL;

    p.log = (hg_log){collect, w, HG_LOG_WARNING};
    w->said[0] = '\0';
    assert_int_equal(hg_session_create(w->model, &p, &session), HG_OK);
    return session;
}

static float *floats(size_t count)
{
    float *values = malloc(count * sizeof(*values));

    assert_non_null(values);
    return values;
}

static void last_logits_are_those_of_all(void **state)
{
    world *w = *state;
    hg_session *all =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_ALL});
    hg_session *last =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_LAST});
    float *a = floats(VOCAB), *b = floats(VOCAB);

    assert_int_equal(hg_session_eval(all, ids, TOKENS), HG_OK);
    for (uint32_t done = 0; done < TOKENS; done += 35) {
        assert_int_equal(hg_session_eval(last, ids + done, 35), HG_OK);
        assert_int_equal(hg_session_logits(last, done + 34, a), HG_OK);
        assert_int_equal(hg_session_logits(all, done + 34, b), HG_OK);
        assert_memory_equal(a, b, VOCAB * sizeof(*a));
    }
    assert_int_equal(hg_session_logits(last, 34, a), HG_ERR_ARGUMENT); /* only the newest is kept */
    assert_int_equal(hg_session_logits(all, TOKENS, a), HG_ERR_ARGUMENT);
    free(a);
    free(b);
    hg_session_free(&last);
    hg_session_free(&all);
    assert_null(all);
}

static void truncated_timelines_go_on_as_new_ones(void **state)
{
    world *w = *state;
    hg_session *s =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_LAST});
    hg_session *fresh =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_LAST});
    float *a = floats(VOCAB), *b = floats(VOCAB);

    assert_int_equal(hg_session_eval(s, ids, TOKENS), HG_OK);
    assert_int_equal(hg_session_truncate(s, TOKENS + 1), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_truncate(s, 20), HG_OK);
    assert_int_equal(hg_session_tokens(s), 20);
    assert_int_equal(hg_session_logits(s, TOKENS - 1, a), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, ids + 40, 10), HG_OK);
    assert_int_equal(hg_session_eval(fresh, ids, 20), HG_OK);
    assert_int_equal(hg_session_eval(fresh, ids + 40, 10), HG_OK);
    assert_int_equal(hg_session_logits(s, 29, a), HG_OK);
    assert_int_equal(hg_session_logits(fresh, 29, b), HG_OK);
    assert_memory_equal(a, b, VOCAB * sizeof(*a));
    assert_memory_equal(hg_session_ids(s), hg_session_ids(fresh), 30 * sizeof(int32_t));
    free(a);
    free(b);
    hg_session_free(&s);
    hg_session_free(&fresh);
}

/* Rectangles, single heads, means and pooled maps are all cut from the same whole map. */
static void maps_agree_with_each_other(void **state)
{
    world *w = *state;
    hg_session *s =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .capture = HG_CAPTURE_ATTENTION});
    const hg_map_params rectangle = {.layer = 2,
                                     .head_first = 1,
                                     .head_count = 2,
                                     .query_first = 11,
                                     .query_count = 40,
                                     .key_first = 3,
                                     .key_count = 17};
    const hg_map_params pooled = {.layer = 2, .pool_queries = POOL, .pool_keys = POOL};
    const uint32_t cells = (TOKENS - 1) / POOL + 1;
    uint32_t shape[3];
    float *whole = floats((size_t)HEADS * TOKENS * TOKENS),
          *part = floats((size_t)HEADS * TOKENS * TOKENS);

    assert_int_equal(hg_session_eval(s, ids, TOKENS), HG_OK);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 2}, whole), HG_OK);
    for (uint32_t row = 0; row < HEADS * TOKENS; row++) {
        double sum = 0;

        for (uint32_t j = 0; j < TOKENS; j++) {
            const float p = whole[(size_t)row * TOKENS + j];

            assert_true(j > row % TOKENS ? p == 0.0f : p >= 0.0f && p <= 1.0f);
            sum += (double)p;
        }
        assert_true(fabs(sum - 1.0) < 1e-5);
    }
    assert_int_equal(hg_capture_map_shape(s, &rectangle, shape), HG_OK);
    assert_true(shape[0] == 2 && shape[1] == 40 && shape[2] == 17);
    assert_int_equal(hg_capture_map(s, &rectangle, part), HG_OK);
    for (uint32_t h = 0; h < 2; h++)
        for (uint32_t i = 0; i < 40; i++)
            assert_memory_equal(part + ((size_t)h * 40 + i) * 17,
                                whole + ((size_t)(h + 1) * TOKENS + i + 11) * TOKENS + 3,
                                17 * sizeof(*part));
    assert_int_equal(hg_capture_map(s, &pooled, part), HG_OK);
    for (uint32_t h = 0; h < HEADS; h++)
        for (uint32_t i = 0; i < TOKENS; i++)
            for (uint32_t j = 0; j < TOKENS; j++)
                assert_true(part[((size_t)h * cells + i / POOL) * cells + j / POOL] >=
                            whole[((size_t)h * TOKENS + i) * TOKENS + j]);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 2, .head_mean = 1}, part), HG_OK);
    for (uint32_t i = 0; i < TOKENS * TOKENS; i++) {
        double mean = 0;

        for (uint32_t h = 0; h < HEADS; h++)
            mean += (double)whole[(size_t)h * TOKENS * TOKENS + i] / (double)HEADS;
        assert_true(fabs(mean - (double)part[i]) < 1e-6);
    }
    free(whole);
    free(part);
    hg_session_free(&s);
}

/* The maps are what q, k and the statistics say: p = exp(q.k / sqrt(head_dim) - m - log l). */
static void captures_agree_with_maps(void **state)
{
    enum { KV = 2 };
    world *w = *state;
    hg_session *s =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .capture = HG_CAPTURE_ATTENTION});
    float *q = floats((size_t)TOKENS * HEADS * HEAD_DIM),
          *k = floats((size_t)TOKENS * KV * HEAD_DIM);
    float *stats = floats((size_t)TOKENS * HEADS * 2),
          *map = floats((size_t)HEADS * TOKENS * TOKENS);

    assert_int_equal(hg_session_eval(s, ids, TOKENS), HG_OK);
    assert_int_equal(hg_capture_qk(s, 1, q, k), HG_OK);
    assert_int_equal(hg_capture_stats(s, 1, stats), HG_OK);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1}, map), HG_OK);
    for (uint32_t h = 0; h < HEADS; h++)
        for (uint32_t i = 0; i < TOKENS; i += 7)
            for (uint32_t j = 0; j <= i; j += 3) {
                const float *row = stats + ((size_t)i * HEADS + h) * 2;
                double score = 0;

                for (uint32_t d = 0; d < HEAD_DIM; d++)
                    score += (double)q[((size_t)i * HEADS + h) * HEAD_DIM + d] *
                             (double)k[((size_t)j * KV + h / 2) * HEAD_DIM + d];
                score = exp(score / sqrt(HEAD_DIM) - (double)row[0] - (double)row[1]);
                assert_true(fabs(score - (double)map[((size_t)h * TOKENS + i) * TOKENS + j]) <
                            1e-5);
            }
    free(q);
    free(k);
    free(stats);
    free(map);
    hg_session_free(&s);
}

static void wrong_calls_say_what_is_wrong(void **state)
{
    world *w = *state;
    const uint32_t second[1] = {1};
    const uint32_t none[1] = {LAYERS};
    const int32_t strange[2] = {5, VOCAB};
    hg_session *s = session_of(w, &(hg_session_params){.max_tokens = 8,
                                                       .capture = HG_CAPTURE_ATTENTION,
                                                       .layers = second,
                                                       .layer_count = 1});
    const hg_session_params beyond = {
        .max_tokens = 8, .capture = HG_CAPTURE_ATTENTION, .layers = none, .layer_count = 1};
    hg_session *other = s;
    hg_layer_metrics metrics;
    float out[512];

    assert_int_equal(hg_session_create(w->model, &(hg_session_params){0}, &other), HG_ERR_ARGUMENT);
    assert_null(other);
    assert_int_equal(hg_session_create(w->model, &beyond, &other), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_create(NULL, &beyond, &other), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, ids, 0), HG_ERR_TEXT);
    assert_int_equal(hg_session_eval(s, strange, 2), HG_ERR_TEXT);
    assert_non_null(strstr(w->said, "2048"));
    assert_int_equal(hg_session_eval(s, ids, 9), HG_ERR_ARGUMENT);
    assert_non_null(strstr(w->said, "room for 8"));
    assert_int_equal(hg_session_tokens(s), 0);
    assert_int_equal(hg_capture_metrics(s, 1, &metrics, NULL),
                     HG_ERR_ARGUMENT); /* nothing evaluated */
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1}, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, ids, 8), HG_OK);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 0}, out), HG_ERR_ARGUMENT);
    assert_non_null(strstr(w->said, "not captured"));
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = LAYERS}, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1, .head_first = HEADS}, out),
                     HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1, .query_first = 8}, out),
                     HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1, .key_count = UINT32_MAX}, out),
                     HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_gates(s, 1, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_hidden(s, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.layer = 1}, out), HG_OK);
    hg_session_free(&s);
}

static int cancel_at_second(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;

    assert_string_equal(what, "tokens");
    assert_true(done <= total);
    return ++*calls == 2;
}

static void cancelled_sessions_keep_what_they_had(void **state)
{
    world *w = *state;
    int calls = 0;
    hg_session *s = session_of(w, &(hg_session_params){.max_tokens = TOKENS,
                                                       .logits = HG_LOGITS_LAST,
                                                       .piece_tokens = 4,
                                                       .progress = {cancel_at_second, &calls}});
    hg_session *calm =
        session_of(w, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_LAST});
    float *a = floats(VOCAB), *b = floats(VOCAB);

    assert_int_equal(hg_session_eval(s, ids, TOKENS), HG_CANCELLED);
    assert_int_equal(hg_session_tokens(s), 0);
    assert_int_equal(hg_session_eval(s, ids, TOKENS), HG_OK);
    assert_int_equal(hg_session_eval(calm, ids, TOKENS), HG_OK);
    assert_int_equal(hg_session_logits(s, TOKENS - 1, a), HG_OK);
    assert_int_equal(hg_session_logits(calm, TOKENS - 1, b), HG_OK);
    assert_memory_equal(a, b, VOCAB * sizeof(*a));
    free(a);
    free(b);
    hg_session_free(&s);
    hg_session_free(&calm);
}

/* Dynamic rope is computed for the length of the first eval that counts, not of one that was
 * cancelled. */
static void cancelled_first_evals_leave_no_rope(void **state)
{
    world *w = *state;
    world dynamic = {.engine = w->engine};
    hg_checkpoint *checkpoint = NULL;
    hg_model_info info = {0};
    int calls = 0;
    const hg_checkpoint_params folder = {.path = HG_TEST_REFERENCE_DIR "/models/rope-dynamic-long"};
    hg_session *s, *fresh;
    float *a, *b;
    int32_t few[40] = {0};

    for (int32_t i = 0; i < 40; i++)
        few[i] = i % 7;
    assert_int_equal(hg_checkpoint_open(&folder, &checkpoint), HG_OK);
    assert_int_equal(hg_model_load(w->engine, checkpoint, NULL, &dynamic.model), HG_OK);
    hg_model_describe(dynamic.model, &info);
    s = session_of(&dynamic, &(hg_session_params){.max_tokens = 64,
                                                  .logits = HG_LOGITS_LAST,
                                                  .piece_tokens = 4,
                                                  .progress = {cancel_at_second, &calls}});
    fresh = session_of(&dynamic, &(hg_session_params){.max_tokens = 64, .logits = HG_LOGITS_LAST});
    a = floats(info.vocab);
    b = floats(info.vocab);
    assert_int_equal(hg_session_eval(s, few, 40), HG_CANCELLED);
    assert_int_equal(hg_session_logits(s, 3, a), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, few, 6), HG_OK);
    assert_int_equal(hg_session_eval(fresh, few, 6), HG_OK);
    assert_int_equal(hg_session_logits(s, 5, a), HG_OK);
    assert_int_equal(hg_session_logits(fresh, 5, b), HG_OK);
    assert_memory_equal(a, b, info.vocab * sizeof(*a));
    calls = 0;
    assert_int_equal(hg_session_eval(s, few, 40), HG_CANCELLED);
    assert_int_equal(hg_session_logits(s, 5, a), HG_OK); /* still those of the last token it has */
    assert_memory_equal(a, b, info.vocab * sizeof(*a));
    free(a);
    free(b);
    hg_session_free(&s);
    hg_session_free(&fresh);
    hg_model_free(&dynamic.model);
    hg_checkpoint_close(&checkpoint);
}

typedef struct reentry {
    hg_session *own, *other;
    uint32_t stages, refused, evals;
} reentry;

static void look_inside(void *user, const hg_stage *stage)
{
    reentry *r = user;
    float *map = floats((size_t)TOKENS * TOKENS * HEADS);

    (void)stage;
    r->stages++;
    r->refused += hg_capture_map(r->own, &(hg_map_params){.layer = 0}, map) == HG_ERR_ARGUMENT &&
                  hg_session_eval(r->own, ids, 1) == HG_ERR_ARGUMENT &&
                  hg_session_truncate(r->own, 0) == HG_ERR_ARGUMENT;
    free(map);
}

static int work_elsewhere(void *user, const char *what, uint64_t done, uint64_t total)
{
    reentry *r = user;

    (void)what;
    (void)done;
    (void)total;
    if (r->evals == 0 && r->other)
        r->evals += hg_session_eval(r->other, ids, 8) == HG_OK;
    return 0;
}

static void callbacks_may_use_other_sessions_only(void **state)
{
    world *w = *state;
    reentry r = {0};
    hg_session *plain =
        session_of(w, &(hg_session_params){.max_tokens = 32, .logits = HG_LOGITS_LAST});
    float *a = floats(VOCAB), *b = floats(VOCAB);

    r.other = session_of(w, &(hg_session_params){.max_tokens = 32});
    r.own = session_of(w, &(hg_session_params){.max_tokens = 32,
                                               .logits = HG_LOGITS_LAST,
                                               .capture = HG_CAPTURE_ATTENTION,
                                               .tap = look_inside,
                                               .tap_user = &r,
                                               .progress = {work_elsewhere, &r}});
    assert_int_equal(hg_session_eval(r.own, ids, 20), HG_OK);
    assert_int_equal(hg_session_eval(plain, ids, 20), HG_OK);
    assert_true(r.stages > 60); /* every stage of four layers, none cut off */
    assert_int_equal(r.refused, r.stages);
    assert_int_equal(r.evals, 1);
    assert_int_equal(hg_session_logits(r.own, 19, a), HG_OK);
    assert_int_equal(hg_session_logits(plain, 19, b), HG_OK);
    assert_memory_equal(a, b, VOCAB * sizeof(*a));
    free(a);
    free(b);
    hg_session_free(&r.own);
    hg_session_free(&r.other);
    hg_session_free(&plain);
}

static void memory_is_checked_before_loading(void **state)
{
    world said = {0};
    hg_engine *small = NULL;
    hg_checkpoint *checkpoint = NULL;
    hg_model *model = NULL;
    uint64_t now = 1;
    const hg_engine_params params = {.selector = "ref", .memory_limit_bytes = 1 << 20};

    (void)state;
    assert_int_equal(hg_engine_create(&params, &small), HG_OK);
    assert_int_equal(
        hg_checkpoint_open(&(hg_checkpoint_params){.path = HG_TEST_SAMPLES_DIR "/baseline"},
                           &checkpoint),
        HG_OK);
    assert_int_equal(hg_model_load(small, checkpoint,
                                   &(hg_model_params){.log = {collect, &said, HG_LOG_ERROR}},
                                   &model),
                     HG_ERR_DEVICE_MEMORY);
    assert_null(model);
    assert_non_null(strstr(said.said, "need 2.8 MiB")); /* needed and free */
    assert_non_null(strstr(said.said, "1.0 MiB free"));
    hg_engine_memory(small, &now, NULL);
    assert_true(now <= 512);
    hg_checkpoint_close(&checkpoint);
    hg_engine_destroy(&small);
}

/* Callers of an older version: their structs are shorter, and what they do not know keeps its
 * default. */
static void shorter_structs_are_understood(void **state)
{
    world *w = *state;
    struct {
        uint32_t struct_size, max_tokens;
        uint32_t guard[40];
    } old = {.struct_size = 8, .max_tokens = 4};
    struct {
        uint32_t struct_size;
        char architecture[64];
        uint32_t guard;
    } info = {.struct_size = 4 + 64, .guard = 0xfeedface};
    hg_session *s = NULL;

    memset(old.guard, 0xff, sizeof(old.guard));
    assert_int_equal(hg_session_create(w->model, (const hg_session_params *)(const void *)&old, &s),
                     HG_OK);
    assert_int_equal(hg_session_eval(s, ids, 4), HG_OK);
    hg_session_free(&s);
    hg_model_describe(w->model, (hg_model_info *)(void *)&info);
    assert_int_equal(info.guard, 0xfeedface);
    assert_non_null(strstr(info.architecture, "Qwen3"));
}

/* Nothing crashes on NULL, and what returns a result says HG_ERR_ARGUMENT. */
static void null_is_an_argument_error(void **state)
{
    world *w = *state;
    hg_session *s =
        session_of(w, &(hg_session_params){.max_tokens = 4, .capture = HG_CAPTURE_ATTENTION});
    const hg_map_params map = {.layer = 0};
    hg_layer_metrics metrics;
    uint32_t found;
    float out[HEADS * 16];

    assert_int_equal(hg_engine_precision(NULL), HG_PRECISION_FP32);
    assert_int_equal(hg_engine_validation_messages(NULL), 0);
    hg_engine_memory(NULL, NULL, NULL);
    hg_engine_count(NULL, NULL);
    assert_int_equal(hg_engine_describe(NULL, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_device_select(NULL, NULL, 2, "0", &found), HG_ERR_ARGUMENT);
    assert_int_equal(hg_device_select(NULL, NULL, 0, "0", NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_checkpoint_open(NULL, NULL), HG_ERR_ARGUMENT);
    assert_null(hg_checkpoint_path(NULL));
    assert_null(hg_checkpoint_file(NULL, 0, NULL));
    hg_checkpoint_describe(NULL, NULL);
    assert_int_equal(hg_checkpoint_tensor(NULL, 0, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_checkpoint_scan(NULL, NULL, NULL), HG_ERR_ARGUMENT);
    hg_model_describe(NULL, NULL);
    assert_null(hg_model_engine(NULL));
    assert_int_equal(hg_tokenizer_size(NULL), 0);
    assert_null(hg_tokenizer_token(NULL, 0));
    assert_int_equal(hg_tokenizer_is_special(NULL, 0), 0);
    assert_int_equal(hg_tokenizer_open(NULL, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(NULL, ids, 1), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, NULL, 1), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_truncate(NULL, 0), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_tokens(NULL), 0);
    assert_null(hg_session_ids(NULL));
    assert_int_equal(hg_session_logits(NULL, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_session_eval(s, ids, 4), HG_OK);
    assert_int_equal(hg_session_logits(s, 0, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(NULL, &map, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, NULL, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &map, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &(hg_map_params){.pool = (hg_pool)7}, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map_shape(s, &map, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_gates(NULL, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_stats(s, 0, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_qk(NULL, 0, out, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_hidden(NULL, 0, out), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_metrics(NULL, 0, &metrics, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_metrics(s, 0, NULL, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_capture_map(s, &map, out), HG_OK);
    hg_session_free(&s);
}

/* A caller of a newer version: its elements are longer than ours, and stay apart. */
static void longer_devices_stay_apart(void **state)
{
    struct longer {
        hg_device_info known;
        uint32_t news[16];
    } * devices;
    uint32_t count = 0, found = 99;

    (void)state;
    assert_int_equal(hg_devices(NULL, NULL, &count), HG_OK);
    assert_true(count >= 1);
    devices = calloc((size_t)count + 1, sizeof(*devices));
    assert_non_null(devices);
    devices[0].known.struct_size = sizeof(*devices);
    assert_int_equal(hg_devices(NULL, &devices[0].known, &count), HG_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(devices[i].known.index, i);
        assert_true(devices[i].known.selector[0] != '\0');
        assert_int_equal(devices[i].news[0], 0);
    }
    devices[0].known.struct_size = sizeof(*devices);
    assert_int_equal(hg_device_select(NULL, &devices[0].known, count, "ref", &found), HG_OK);
    assert_int_equal(found, count - 1);
    free(devices);
}

typedef struct worker {
    hg_model *model;
    float logits[VOCAB];
    hg_result res;
} worker;

static void *work(void *argument)
{
    worker *k = argument;
    hg_session *s = NULL;

    k->res = hg_session_create(
        k->model, &(hg_session_params){.max_tokens = TOKENS, .logits = HG_LOGITS_LAST}, &s);
    for (uint32_t i = 0; i < TOKENS && k->res == HG_OK; i += 10)
        k->res = hg_session_eval(s, ids + i, 10);
    if (k->res == HG_OK)
        k->res = hg_session_logits(s, TOKENS - 1, k->logits);
    hg_session_free(&s);
    return NULL;
}

static void sessions_share_a_model_from_two_threads(void **state)
{
    world *w = *state;
    static worker workers[2];
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        workers[i].model = w->model;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(workers[0].res, HG_OK);
    assert_int_equal(workers[1].res, HG_OK);
    assert_memory_equal(workers[0].logits, workers[1].logits, sizeof(workers[0].logits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_logits_are_those_of_all),
        cmocka_unit_test(truncated_timelines_go_on_as_new_ones),
        cmocka_unit_test(maps_agree_with_each_other),
        cmocka_unit_test(captures_agree_with_maps),
        cmocka_unit_test(wrong_calls_say_what_is_wrong),
        cmocka_unit_test(cancelled_sessions_keep_what_they_had),
        cmocka_unit_test(cancelled_first_evals_leave_no_rope),
        cmocka_unit_test(callbacks_may_use_other_sessions_only),
        cmocka_unit_test(memory_is_checked_before_loading),
        cmocka_unit_test(shorter_structs_are_understood),
        cmocka_unit_test(null_is_an_argument_error),
        cmocka_unit_test(longer_devices_stay_apart),
        cmocka_unit_test(sessions_share_a_model_from_two_threads),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
