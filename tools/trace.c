/* SPDX-License-Identifier: MIT */
/* See trace.h. */
#include "trace.h"

#include "app.h"
#include "child.h"
#include "interrupt.h"
#include "message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 128, MEASURES_MIN = 3, MEASURES_MAX = 10 };
#define MEASURE_NS UINT64_C(1000000000) /* as long as more evaluations than the least are made */
/* What every device has at least (docs/DECISIONS.md D20), with room to spare. */
#define BINDING_BYTES (UINT64_C(128) << 20)
#define ARENA_BYTES (UINT64_C(768) << 20)

typedef struct tracer {
    const hg_trace_params *params;
    hg_model *model;
    hg_pass pass;
    uint32_t run;   /* from 1 */
    uint32_t index; /* stage of this run */
    uint32_t count, room;
    uint8_t (*hashes)[HG_SHA256_BYTES]; /* of the first run */
    float *allowed;
    uint64_t allowed_count;
    float *logits; /* [count, vocab] of the first free run */
    uint64_t vocab;
    hg_result failed;
    uint64_t told_ms;
} tracer;

uint32_t hg_trace_piece(const hg_model_info *info, uint32_t tokens)
{
    const uint64_t gates = (uint64_t)info->heads * info->gate_dim;
    const uint64_t q = (uint64_t)info->heads * info->head_dim;
    const uint64_t rows = 6 * (uint64_t)info->hidden + 4 * q + 3 * gates + 3 * (uint64_t)info->ffn +
                          2 * (uint64_t)info->heads + info->vocab +
                          (uint64_t)info->kv_heads * info->head_dim + 1024;
    uint64_t widest = info->vocab > info->ffn ? info->vocab : info->ffn;
    uint64_t piece = PIECE_MAX < tokens ? PIECE_MAX : tokens;

    widest = q + gates > widest ? q + gates : widest;
    piece = piece < BINDING_BYTES / (widest * 4) ? piece : BINDING_BYTES / (widest * 4);
    piece = piece < ARENA_BYTES / (rows * 4) ? piece : ARENA_BYTES / (rows * 4);
    return piece ? (uint32_t)piece : 1;
}

/* Signs of life, so that a parent can tell slow from hung; a parent that is gone stops the work. */
static int tick(void *user, const char *what, uint64_t done, uint64_t total)
{
    tracer *t = user;
    const uint64_t now = hg_clock_ns() / 1000000;
    uint8_t percent[4];

    (void)what;
    if (t->failed != HG_OK || hg_interrupt_pending())
        return 1;
    if (now - t->told_ms < 200)
        return 0;
    t->told_ms = now;
    hg_put_u32(percent, total ? (uint32_t)(100 * done / total) : 0);
    if (hg_frame_write(t->params->fd, "TICK", percent, sizeof(percent)) != HG_OK)
        t->failed = HG_ERR_OUTPUT;
    return t->failed != HG_OK;
}

static hg_result remember(tracer *t, const uint8_t hash[HG_SHA256_BYTES])
{
    if (t->count == t->room) {
        const uint32_t room = t->room ? t->room * 2 : 256;
        void *grown = realloc(t->hashes, (size_t)room * sizeof(*t->hashes));

        if (!grown)
            return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for hashes of stages");
        t->hashes = grown;
        t->room = room;
    }
    memcpy(t->hashes[t->count++], hash, HG_SHA256_BYTES);
    return HG_OK;
}

/* A later run: only what is not as in the first. */
static hg_result compare_run(tracer *t, const hg_stage_head *head)
{
    uint8_t payload[8];

    if (t->index >= t->count || memcmp(t->hashes[t->index], head->sha256, HG_SHA256_BYTES) != 0) {
        hg_put_u32(payload, t->run);
        hg_put_u32(payload + 4, t->index);
        return hg_frame_write(t->params->fd, "DIFF", payload, sizeof(payload));
    }
    return HG_OK;
}

static hg_result send_stage(tracer *t, const hg_stage *stage, hg_stage_head *head)
{
    const float *allowed = NULL;

    if (stage->allowed && t->pass == HG_PASS_FREE) {
        if (head->count > t->allowed_count) {
            free(t->allowed);
            t->allowed = malloc((size_t)head->count * sizeof(*t->allowed));
            t->allowed_count = t->allowed ? head->count : 0;
            if (!t->allowed)
                return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the bounds of a stage");
        }
        for (uint64_t i = 0; i < head->count; i++)
            t->allowed[i] = (float)(stage->allowed[i] * (1 + 0x1p-23)); /* not rounded down */
        allowed = t->allowed;
        head->has_allowed = 1;
    }
    head->has_values = 1;
    return hg_stage_frame_write(t->params->fd, head, stage->values, allowed);
}

static void show(void *user, const hg_stage *stage)
{
    tracer *t = user;
    hg_stage_head head;
    hg_result res = HG_OK;

    if (t->failed != HG_OK)
        return;
    hg_stage_head_make(stage, t->pass, &head);
    HG_TRY(hg_sha256(stage->values, head.count * sizeof(*stage->values), head.sha256));
    if (t->run > 1) {
        HG_TRY(compare_run(t, &head));
    } else {
        if (t->pass == HG_PASS_FREE)
            HG_TRY(remember(t, head.sha256));
        if (t->pass == HG_PASS_FREE && strcmp(head.name, "logits") == 0)
            memcpy(t->logits + head.first_token * t->vocab, stage->values, head.count * 4);
        HG_TRY(send_stage(t, stage, &head));
    }
out:
    t->failed = res;
    if (t->pass == HG_PASS_FREE)
        t->index++;
}

/* In the isolated run the operations that follow see what the reference has computed here. */
static int force(void *user, const hg_stage *stage, float *values)
{
    tracer *t = user;
    const hg_spool *inputs = t->params->inputs;
    hg_stage_head head;

    if (t->pass != HG_PASS_ISOLATED || t->failed != HG_OK)
        return 0;
    hg_stage_head_make(stage, t->pass, &head);
    if (t->index >= inputs->count ||
        !hg_stage_head_matches(&head, &inputs->entries[t->index].head)) {
        t->failed = hg_message_fail(
            HG_ERR_DRIVER, "stage %s is none that the reference has at this place", stage->name);
        return 0;
    }
    t->failed = hg_spool_values(inputs, t->index, values);
    t->index++;
    return t->failed == HG_OK;
}

static hg_result draw_maps(const tracer *t, hg_session *session, const hg_model_info *info)
{
    hg_map_params map = {.struct_size = sizeof(map),
                         .pool_queries = t->params->map_pool,
                         .pool_keys = t->params->map_pool};
    uint32_t shape[3];
    float *cells = NULL;
    hg_result res = HG_OK;

    for (uint32_t layer = 0; layer < info->layers && t->params->map_pool; layer++) {
        map.layer = layer;
        HG_TRY(hg_capture_map_shape(session, &map, shape));
        if (!cells)
            cells = malloc((size_t)shape[0] * shape[1] * shape[2] * sizeof(*cells));
        if (!cells) {
            res = hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for attention maps");
            goto out;
        }
        HG_TRY(hg_capture_map(session, &map, cells)); /* shown to the tap */
        HG_TRY(t->failed);
    }
out:
    free(cells);
    return res;
}

static hg_session_params session_params(tracer *t, int tapped)
{
    hg_session_params session = {.struct_size = sizeof(session),
                                 .max_tokens = t->params->count,
                                 .piece_tokens = t->params->piece,
                                 .capture = HG_CAPTURE_ATTENTION,
                                 .logits = HG_LOGITS_ALL,
                                 .progress = {tick, t},
                                 .log = t->params->log};

    if (tapped) {
        session.tap = show;
        session.tap_user = t;
        session.force = force;
        session.bounds = t->params->bounds;
    }
    return session;
}

static hg_result run_once(tracer *t, const hg_model_info *info)
{
    const hg_session_params params = session_params(t, 1);
    hg_session *session = NULL;
    hg_result res = HG_OK;

    t->index = 0;
    HG_TRY(hg_session_create(t->model, &params, &session));
    HG_TRY(hg_session_eval(session, t->params->ids, t->params->count));
    HG_TRY(t->failed);
    HG_TRY(draw_maps(t, session, info));
out:
    hg_session_free(&session);
    return t->failed != HG_OK ? t->failed : res;
}

/* With every stage looked at, each operation is a submit of its own; without, many share one, and a
 * missing dependency between them shows: how many logits have other bits, and how far off they are
 * together. */
static hg_result check_untapped(const tracer *t, hg_session *session)
{
    float *row = malloc((size_t)t->vocab * sizeof(*row));
    uint64_t differ = 0;
    double square = 0;
    uint8_t payload[16];
    hg_result res = HG_OK;

    if (!row)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for logits");
    for (uint32_t token = 0; token < t->params->count; token++) {
        HG_TRY(hg_session_logits(session, token, row));
        for (uint64_t v = 0; v < t->vocab; v++) {
            const float *seen = &t->logits[token * t->vocab + v];
            const double off = (double)row[v] - (double)*seen;

            if (memcmp(&row[v], seen, sizeof(*row)) == 0 || (isnan(row[v]) && isnan(*seen)))
                continue;
            differ++;
            square += off * off;
        }
    }
    square = sqrt(square);
    hg_put_u64(payload, differ);
    memcpy(payload + 8, &square, sizeof(square));
    HG_TRY(hg_frame_write(t->params->fd, "LOOS", payload, sizeof(payload)));
out:
    free(row);
    return res;
}

/* Tokens per second of a prefill whose stages nobody looks at: the best of several evaluations,
 * since others run beside them and the first ones find everything cold. */
static hg_result measure(tracer *t)
{
    const hg_session_params params = session_params(t, 0);
    const uint64_t start_ns = hg_clock_ns();
    hg_session *session = NULL;
    double per_s = 0;
    hg_result res = HG_OK;

    HG_TRY(hg_session_create(t->model, &params, &session));
    for (int i = 0; i < MEASURES_MIN || (i < MEASURES_MAX && hg_clock_ns() - start_ns < MEASURE_NS);
         i++) {
        uint64_t from_ns;
        double found;

        HG_TRY(hg_session_truncate(session, 0));
        from_ns = hg_clock_ns();
        HG_TRY(hg_session_eval(session, t->params->ids, t->params->count));
        found = t->params->count * 1e9 / (double)(hg_clock_ns() - from_ns + 1);
        per_s = found > per_s ? found : per_s;
    }
    HG_TRY(check_untapped(t, session));
    HG_TRY(hg_frame_write(t->params->fd, "TIME", &per_s, sizeof(per_s)));
out:
    hg_session_free(&session);
    return res;
}

hg_result hg_trace_run(const hg_trace_params *params, uint32_t *stages)
{
    tracer t = {.params = params, .run = 1};
    const hg_model_params model = {
        .struct_size = sizeof(model), .progress = {tick, &t}, .log = params->log};
    hg_model_info info = {.struct_size = sizeof(info)};
    hg_result res = HG_OK;

    *stages = 0;
    HG_TRY(hg_model_load(params->engine, params->checkpoint, &model, &t.model));
    hg_model_describe(t.model, &info);
    t.vocab = info.vocab;
    t.logits = calloc((size_t)params->count * t.vocab, sizeof(*t.logits));
    if (!t.logits) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the logits of %u tokens",
                              params->count);
        goto out;
    }
    for (; t.run <= (params->runs ? params->runs : 1); t.run++)
        HG_TRY(run_once(&t, &info));
    *stages = t.count;
    t.run = 1;
    if (params->isolated) {
        t.pass = HG_PASS_ISOLATED;
        HG_TRY(run_once(&t, &info));
    }
    HG_TRY(measure(&t));
out:
    hg_model_free(&t.model);
    free(t.hashes);
    free(t.allowed);
    free(t.logits);
    return t.failed != HG_OK ? t.failed : res;
}
