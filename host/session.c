/* SPDX-License-Identifier: MIT */
/*
 * Buffers sized once, tokens run in pieces, logits brought home; one timeline that grows (many
 * sequences side by side are batch.c's). The arithmetic is forward.c's list of operations; reading
 * what was kept is capture.c's.
 */
#include "session_state.h"

#include "check.h"
#include "forward.h"
#include "params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough rows to keep a matrix product busy; more only costs memory. LAST_ROWS_MAX: sequences that
 * end in one piece with logits, whose rows of the vocabulary are wide. */
enum { PIECE_TOKENS = 512, LAST_ROWS_MAX = 64 };

/* Room for slices of attention: enough work-groups for any device, some MiB. */
enum { SLICE_ROWS = 2048 };

static uint64_t align256(uint64_t bytes)
{
    return (bytes + HG_BIND_ALIGN_BYTES - 1) & ~(uint64_t)(HG_BIND_ALIGN_BYTES - 1);
}

/* Elements per token (logits: per row) of every activation, in the order of hg_activations. */
enum { ACTIVATIONS = sizeof(hg_activations) / sizeof(hg_bind) };

static void activation_widths(const hg_model_info *c, hg_logits_kind logits, int tapped,
                              uint64_t width[ACTIVATIONS])
{
    const uint64_t heads = c->heads, q = heads * c->head_dim, gates = heads * c->gate_dim;
    const uint64_t kv = (uint64_t)c->kv_heads * c->head_dim, ffn = c->ffn;
    const uint64_t fused = !tapped, apart = tapped != 0;
    const uint64_t widths[ACTIVATIONS] = {c->hidden,
                                          c->hidden,
                                          fused * (q + gates + 2 * kv),
                                          apart * (q + gates),
                                          q,
                                          gates,
                                          apart * kv,
                                          q,
                                          heads * 2,
                                          gates,
                                          apart * c->hidden,
                                          fused * 2 * ffn,
                                          apart * ffn,
                                          apart * ffn,
                                          ffn,
                                          c->hidden,
                                          c->hidden,
                                          logits == HG_LOGITS_NONE ? 0 : c->vocab};

    memcpy(width, widths, sizeof(widths));
}

/* What is there of last tokens alone does not grow with the piece. */
static uint64_t activation_rows(size_t i, hg_logits_kind logits, uint32_t piece, uint32_t last_room)
{
    const int of_last = i == offsetof(hg_activations, last) / sizeof(hg_bind) ||
                        (i == ACTIVATIONS - 1 && logits != HG_LOGITS_ALL);

    return of_last ? last_room : piece;
}

static uint64_t arena_bytes(const hg_model_info *info, hg_logits_kind logits, int tapped,
                            uint32_t piece, uint32_t last_room, uint64_t *largest)
{
    uint64_t width[ACTIVATIONS], total = 0;

    *largest = 0;
    activation_widths(info, logits, tapped, width);
    for (size_t i = 0; i < ACTIVATIONS; i++) {
        const uint64_t rows = activation_rows(i, logits, piece, last_room);
        const uint64_t bytes = align256(width[i] * rows * 4 + 4);

        total += bytes;
        if (bytes > *largest)
            *largest = bytes;
    }
    return total;
}

static uint32_t slice_tokens(const hg_model *model, int is_far)
{
    hg_engine *e = model->engine;
    uint32_t tokens;

    pthread_mutex_lock(&e->lock); /* a run of another thread may demote */
    tokens = hg_plan_slice_tokens(&e->plan, is_far);
    pthread_mutex_unlock(&e->lock);
    return tokens;
}

/* Rows of slices of a session of this size; 0: attention is one kernel, because the device has no
 * better one for slices, or one token's would not fit. */
static uint64_t slice_rows(const hg_model *model, uint64_t tokens, uint64_t piece)
{
    const hg_engine *e = model->engine;
    const uint64_t row = (uint64_t)model->config.heads * model->config.head_dim * 4;
    const uint64_t most = e->plan.limits.binding_bytes < e->plan.limits.alloc_bytes
                              ? e->plan.limits.binding_bytes
                              : e->plan.limits.alloc_bytes;
    const uint64_t slices = (tokens + 63) / 64;
    const uint32_t most_tokens = slice_tokens(model, tokens > HG_PLAN_FAR);
    uint64_t rows = slices * (piece < most_tokens ? piece : most_tokens);

    if (rows > SLICE_ROWS)
        rows = slices > SLICE_ROWS ? slices : SLICE_ROWS;
    return rows * row <= most ? rows : 0;
}

static uint64_t slice_bytes(const hg_model *model, uint64_t rows)
{
    return rows * model->config.heads * ((uint64_t)model->config.head_dim + 2) * 4;
}

uint64_t hg_model_device_bytes(const hg_model_info *theirs, uint32_t tokens,
                               uint32_t captured_layers)
{
    hg_model_info info;
    uint64_t kv, kept, largest;

    hg_struct_in(&info, sizeof(info), theirs);
    kv = (uint64_t)info.layers * 2 * tokens * info.kv_heads * info.head_dim * 4;
    kept = (uint64_t)captured_layers * tokens * info.heads *
           ((uint64_t)info.head_dim + 2 + info.gate_dim) * 4;
    return info.weight_bytes + kv + kept +
           arena_bytes(&info, HG_LOGITS_LAST, 0, tokens < PIECE_TOKENS ? tokens : PIECE_TOKENS, 1,
                       &largest);
}

uint64_t hg_session_bytes(const hg_model *model, const hg_session_params *params, uint32_t tokens,
                          uint64_t *row_floats)
{
    const hg_config *c = &model->config;
    const uint64_t kv = (uint64_t)c->kv_heads * c->head_dim, q = (uint64_t)c->heads * c->head_dim;
    const uint64_t gates =
        params->capture & HG_CAPTURE_GATES ? (uint64_t)c->heads * model->gate_dim : 0;
    const uint64_t layers = params->layers ? params->layer_count : c->layers;
    uint64_t floats = 2 * kv * c->layers + gates * layers, largest;

    *row_floats = kv > gates ? kv : gates;
    if (params->capture & HG_CAPTURE_ATTENTION) {
        floats += (q + (uint64_t)c->heads * 2) * layers;
        *row_floats = q > *row_floats ? q : *row_floats;
    }
    if (params->capture & HG_CAPTURE_HIDDEN) {
        floats += (uint64_t)c->hidden * (c->layers + 2);
        *row_floats = c->hidden > *row_floats ? c->hidden : *row_floats;
    }
    return floats * 4 * tokens +
           slice_bytes(model,
                       slice_rows(model, tokens, tokens < PIECE_TOKENS ? tokens : PIECE_TOKENS)) +
           arena_bytes(&model->info, params->logits, params->tap != NULL,
                       tokens < PIECE_TOKENS ? tokens : PIECE_TOKENS,
                       params->logits == HG_LOGITS_LAST ? LAST_ROWS_MAX : 1, &largest);
}

/* The longest piece whose activations fit the device's bindings and allocations. */
static hg_result choose_piece(hg_session *s)
{
    const hg_limits *limits = &s->engine->plan.limits;
    const uint32_t asked = s->params.piece_tokens ? s->params.piece_tokens : PIECE_TOKENS;
    uint32_t piece = asked < s->max_tokens ? asked : s->max_tokens;
    uint64_t largest, total;

    for (;; piece = (piece + 1) / 2) {
        total = arena_bytes(&s->model->info, s->params.logits, s->params.tap != NULL, piece,
                            s->last_room, &largest);
        if (largest <= limits->binding_bytes && total <= limits->alloc_bytes)
            break;
        if (piece == 1)
            return hg_fail(&s->log, HG_ERR_UNSUPPORTED,
                           "one token needs %llu bytes of activations, %s allows %llu per binding "
                           "and %llu per allocation",
                           (unsigned long long)total, s->engine->plan.device.selector,
                           (unsigned long long)limits->binding_bytes,
                           (unsigned long long)limits->alloc_bytes);
    }
    s->piece = piece;
    return HG_OK;
}

static hg_result create_arena(hg_session *s)
{
    uint64_t width[ACTIVATIONS], at = 0, largest;
    hg_bind *bind = &s->act.x;
    hg_result res = HG_OK;

    HG_TRY(choose_piece(s));
    HG_TRY(hg_buffer_create(s->engine, HG_MEM_SCRATCH,
                            arena_bytes(&s->model->info, s->params.logits, s->params.tap != NULL,
                                        s->piece, s->last_room, &largest),
                            "activations", &s->arena));
    activation_widths(&s->model->info, s->params.logits, s->params.tap != NULL, width);
    for (size_t i = 0; i < ACTIVATIONS; i++) {
        const uint64_t rows = activation_rows(i, s->params.logits, s->piece, s->last_room);

        bind[i] = (hg_bind){s->arena, at, width[i] * rows * 4 + (width[i] ? 0 : 4)};
        at += align256(width[i] * rows * 4 + 4);
    }
out:
    return res;
}

static hg_result create_slices(hg_session *s)
{
    const uint64_t heads = s->model->config.heads;
    hg_result res = HG_OK;

    s->slice_rows = (uint32_t)slice_rows(s->model, s->max_tokens, s->piece);
    if (s->slice_rows == 0)
        return HG_OK;
    s->slice_tokens = slice_tokens(s->model, 0);
    s->slice_tokens_far = slice_tokens(s->model, 1);
    HG_TRY(hg_buffer_create(s->engine, HG_MEM_SCRATCH,
                            s->slice_rows * heads * s->model->config.head_dim * 4,
                            "attention.slices", &s->slice_part));
    HG_TRY(hg_buffer_create(s->engine, HG_MEM_SCRATCH, s->slice_rows * heads * 8, "attention.marks",
                            &s->slice_marks));
out:
    return res;
}

static hg_result create_uploads(hg_session *s)
{
    const uint64_t piece = s->piece;
    hg_result res = HG_OK;

    HG_TRY(hg_buffer_create(s->engine, HG_MEM_UPLOAD, piece * 4, "ids", &s->ids_up));
    HG_TRY(hg_buffer_create(s->engine, HG_MEM_UPLOAD, piece * s->model->config.head_dim * 4, "rope",
                            &s->rope_up));
    HG_TRY(
        hg_buffer_create(s->engine, HG_MEM_UPLOAD, piece * HG_ROW_WORDS * 4, "rows", &s->rows_up));
out:
    return res;
}

/* A buffer of per-token rows; one binding has to hold it. */
static hg_result create_rows(hg_session *s, hg_mem_kind kind, const char *role, uint32_t index,
                             uint64_t row_elements, hg_mem **out)
{
    const uint64_t bytes = row_elements * s->max_tokens * 4;
    char name[64];

    if (bytes > s->engine->plan.limits.binding_bytes)
        return hg_fail(
            &s->log, HG_ERR_UNSUPPORTED,
            "%u tokens need %llu bytes for %s, %s allows %llu per binding: use at most %llu tokens",
            s->max_tokens, (unsigned long long)bytes, role, s->engine->plan.device.selector,
            (unsigned long long)s->engine->plan.limits.binding_bytes,
            (unsigned long long)(s->engine->plan.limits.binding_bytes / (row_elements * 4)));
    snprintf(name, sizeof(name), "%s.layer%02u", role, index);
    return hg_buffer_create(s->engine, kind, bytes, name, out);
}

static hg_result create_cache(hg_session *s)
{
    const hg_config *c = &s->model->config;
    const uint64_t row = (uint64_t)c->kv_heads * c->head_dim;
    hg_result res = HG_OK;

    s->k_cache = calloc(c->layers, sizeof(hg_mem *));
    s->v_cache = calloc(c->layers, sizeof(hg_mem *));
    if (!s->k_cache || !s->v_cache)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for a cache of %u layers",
                       c->layers);
    for (uint32_t i = 0; i < c->layers; i++) {
        HG_TRY(create_rows(s, HG_MEM_KV, "kv.k", i, row, &s->k_cache[i]));
        HG_TRY(create_rows(s, HG_MEM_KV, "kv.v", i, row, &s->v_cache[i]));
    }
out:
    return res;
}

static hg_result create_kept_layer(hg_session *s, uint32_t layer)
{
    const hg_config *c = &s->model->config;
    hg_kept_layer *kept = &s->kept[layer];
    hg_result res = HG_OK;

    if (layer >= c->layers)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "layer %u is asked for, the model has %u",
                       layer + 1, c->layers);
    if ((s->params.capture & HG_CAPTURE_ATTENTION) && !kept->q) {
        HG_TRY(create_rows(s, HG_MEM_SCRATCH, "kept.q", layer, (uint64_t)c->heads * c->head_dim,
                           &kept->q));
        HG_TRY(create_rows(s, HG_MEM_SCRATCH, "kept.stats", layer, (uint64_t)c->heads * 2,
                           &kept->stats));
    }
    if ((s->params.capture & HG_CAPTURE_GATES) && s->model->gate_dim && !kept->gates)
        HG_TRY(create_rows(s, HG_MEM_SCRATCH, "kept.gates", layer,
                           (uint64_t)c->heads * s->model->gate_dim, &kept->gates));
out:
    return res;
}

uint32_t hg_session_sequence_at(const hg_session *s, uint32_t row)
{
    uint32_t low = 0, high = s->sequences;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (s->starts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Of cache rows [first, first + count): { position, sequence, kv_begin, kv_end }. A timeline is one
 * sequence from cache row 0 on. */
static void fill_rows(const hg_session *s, uint32_t first, uint32_t count, uint32_t *rows)
{
    uint32_t sequence = s->sequences ? hg_session_sequence_at(s, first) : 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t row[HG_ROW_WORDS] = {first + i, 0, 0, s->max_tokens};

        if (s->sequences) {
            sequence += first + i == s->starts[sequence + 1] ? 1u : 0u;
            row[0] -= s->starts[sequence];
            row[1] = sequence;
            row[2] = s->starts[sequence];
            row[3] = s->starts[sequence + 1];
        }
        memcpy(rows + (size_t)i * HG_ROW_WORDS, row, sizeof(row));
    }
}

hg_result hg_session_keep_rows(hg_session *s)
{
    const uint32_t count = s->sequences ? s->starts[s->sequences] : s->max_tokens;
    uint32_t *rows;
    hg_result res;

    if (!s->rows_all)
        return HG_OK;
    rows = malloc((size_t)count * HG_ROW_WORDS * sizeof(*rows));
    if (!rows)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for %u rows", count);
    fill_rows(s, 0, count, rows);
    s->rows_ragged = s->sequences > 0;
    res = hg_upload_bytes(s->engine, s->rows_all, 0, rows, (uint64_t)count * HG_ROW_WORDS * 4);
    free(rows);
    return res;
}

static hg_result create_rows_all(hg_session *s)
{
    hg_result res = HG_OK;

    HG_TRY(hg_buffer_create(s->engine, HG_MEM_WEIGHT, (uint64_t)s->max_tokens * HG_ROW_WORDS * 4,
                            "kept.rows", &s->rows_all));
    HG_TRY(hg_session_keep_rows(s));
out:
    return res;
}

static hg_result create_kept(hg_session *s)
{
    const hg_config *c = &s->model->config;
    hg_result res = HG_OK;

    s->kept = calloc(c->layers, sizeof(*s->kept));
    if (!s->kept)
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for captures of %u layers",
                       c->layers);
    if (s->params.capture & (HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES))
        for (uint32_t i = 0; i < (s->layer_list ? s->params.layer_count : c->layers); i++)
            HG_TRY(create_kept_layer(s, s->layer_list ? s->layer_list[i] : i));
    if (s->params.capture & HG_CAPTURE_ATTENTION)
        HG_TRY(create_rows_all(s));
    if (s->params.capture & HG_CAPTURE_HIDDEN) {
        s->hidden = calloc((size_t)c->layers + 2, sizeof(hg_mem *));
        if (!s->hidden)
            return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for hidden states");
        for (uint32_t i = 0; i < c->layers + 2; i++)
            HG_TRY(create_rows(s, HG_MEM_SCRATCH, "kept.hidden", i, c->hidden, &s->hidden[i]));
    }
out:
    return res;
}

static hg_result create_host(hg_session *s)
{
    const uint64_t vocab = s->model->config.vocab;
    const uint64_t rows = s->params.logits == HG_LOGITS_ALL ? s->max_tokens : s->sequence_room;

    s->last_room = 1;
    if (s->params.logits == HG_LOGITS_LAST) {
        s->last_room = s->sequence_room < LAST_ROWS_MAX ? s->sequence_room : LAST_ROWS_MAX;
        while (s->last_room > 1 &&
               vocab * s->last_room * 4 + 4 > s->engine->plan.limits.binding_bytes)
            s->last_room /= 2;
    }
    s->ids = calloc(s->max_tokens, sizeof(*s->ids));
    s->starts = calloc((size_t)s->sequence_room + 1, sizeof(*s->starts));
    s->last_rows = calloc(s->last_room, sizeof(*s->last_rows));
    if (s->params.logits != HG_LOGITS_NONE)
        s->logits = malloc((size_t)(vocab * rows * 4));
    if (!s->ids || !s->starts || !s->last_rows ||
        (s->params.logits != HG_LOGITS_NONE && !s->logits))
        return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for the logits of %llu tokens",
                       (unsigned long long)rows);
    return HG_OK;
}

static hg_result copy_params(hg_session *s, const hg_session_params *params)
{
    s->params = *params;
    s->log = params->log;
    s->max_tokens = params->max_tokens;
    s->sequence_room = params->sequences ? params->sequences : 1;
    if (s->sequence_room > s->max_tokens)
        s->sequence_room = s->max_tokens;
    if (params->layers) {
        s->layer_list = malloc(((size_t)params->layer_count + 1) * sizeof(*s->layer_list));
        if (!s->layer_list)
            return hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for a list of layers");
        memcpy(s->layer_list, params->layers, params->layer_count * sizeof(*s->layer_list));
        for (uint32_t i = 0; i < params->layer_count; i++)
            if (s->layer_list[i] >= s->model->config.layers)
                return hg_fail(&s->log, HG_ERR_ARGUMENT, "layer %u is asked for, the model has %u",
                               s->layer_list[i] + 1, s->model->config.layers);
    }
    s->params.layers = s->layer_list;
    return HG_OK;
}

hg_result hg_session_create(hg_model *model, const hg_session_params *theirs, hg_session **out)
{
    hg_session_params own;
    const hg_session_params *params = &own;
    hg_session *s = NULL;
    hg_result res = HG_OK;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    if (!model || !theirs)
        return HG_ERR_ARGUMENT;
    hg_struct_in(&own, sizeof(own), theirs);
    if ((uint32_t)params->logits > HG_LOGITS_ALL ||
        (params->capture &
         ~(uint32_t)(HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN)))
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "logits %d or capture 0x%x is none that this version knows",
                       (int)params->logits, params->capture);
    if (params->max_tokens == 0 || params->max_tokens > INT32_MAX)
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "a session needs room for 1 to 2^31 - 1 tokens, found %u",
                       params->max_tokens);
    s = calloc(1, sizeof(*s));
    if (!s)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "no memory for a session");
    s->model = model;
    s->engine = model->engine;
    s->attention_scale =
        (float)(1.0 / sqrt((double)model->config.head_dim)); /* IEEE: the same everywhere */
    HG_TRY(copy_params(s, params));
    HG_TRY(create_host(s));
    HG_TRY(create_arena(s));
    HG_TRY(create_slices(s));
    HG_TRY(create_uploads(s));
    HG_TRY(create_cache(s));
    HG_TRY(create_kept(s));
    *out = s;
    s = NULL;
out:
    hg_session_free(&s);
    return res;
}

static void free_list(hg_engine *engine, hg_mem **mems, uint32_t count)
{
    for (uint32_t i = 0; mems && i < count; i++)
        hg_buffer_free(engine, &mems[i]);
    free(mems);
}

void hg_session_free(hg_session **session)
{
    hg_session *s = session ? *session : NULL;

    if (!s)
        return;
    free_list(s->engine, s->k_cache, s->model->config.layers);
    free_list(s->engine, s->v_cache, s->model->config.layers);
    free_list(s->engine, s->hidden, s->model->config.layers + 2);
    for (uint32_t i = 0; s->kept && i < s->model->config.layers; i++) {
        hg_buffer_free(s->engine, &s->kept[i].q);
        hg_buffer_free(s->engine, &s->kept[i].stats);
        hg_buffer_free(s->engine, &s->kept[i].gates);
    }
    free(s->kept);
    hg_buffer_free(s->engine, &s->arena);
    hg_buffer_free(s->engine, &s->slice_part);
    hg_buffer_free(s->engine, &s->slice_marks);
    hg_buffer_free(s->engine, &s->ids_up);
    hg_buffer_free(s->engine, &s->rope_up);
    hg_buffer_free(s->engine, &s->rows_up);
    hg_buffer_free(s->engine, &s->rows_all);
    hg_buffer_free(s->engine, &s->probe);
    hg_oplist_free(&s->ops);
    free(s->layer_list);
    free(s->ids);
    free(s->starts);
    free(s->last_rows);
    free(s->logits);
    free(s);
    *session = NULL;
}

/* Rope of the rows [past, past + tokens): each sequence of a batch turns from its own position 0,
 * and where rope depends on the length, for its own length (docs/DECISIONS.md D13). */
static void fill_rope(hg_session *s, uint32_t past, uint32_t tokens, float *table)
{
    const hg_config *c = &s->model->config;
    uint32_t row = past;

    if (!s->sequences) {
        hg_rope_table(s->inv_freq, s->rope_scaling, c->head_dim, past, tokens, table);
        return;
    }
    for (uint32_t i = hg_session_sequence_at(s, past); row < past + tokens; i++) {
        const uint32_t begin = s->starts[i], end = s->starts[i + 1];
        const uint32_t rows = (end < past + tokens ? end : past + tokens) - row;

        if (hg_rope_depends_on_length(c))
            hg_rope_frequencies(c, s->params.rope_tokens ? s->params.rope_tokens : end - begin,
                                s->inv_freq, &s->rope_scaling);
        hg_rope_table(s->inv_freq, s->rope_scaling, c->head_dim, row - begin, rows,
                      table + (size_t)(row - past) * c->head_dim);
        row += rows;
    }
}

/* ids, rope table and rows of one piece into their upload buffers. */
static hg_result upload_piece(hg_session *s, const int32_t *ids, uint32_t past, uint32_t tokens)
{
    const uint32_t head_dim = s->model->config.head_dim;
    float *table = malloc((size_t)tokens * head_dim * sizeof(*table));
    uint32_t *rows = malloc((size_t)tokens * HG_ROW_WORDS * sizeof(*rows));
    hg_result res = HG_OK;

    if (!table || !rows) {
        res = hg_fail(&s->log, HG_ERR_HOST_MEMORY, "no memory for a piece of %u tokens", tokens);
        goto out;
    }
    fill_rope(s, past, tokens, table);
    fill_rows(s, past, tokens, rows);
    HG_TRY(hg_upload_bytes(s->engine, s->ids_up, 0, ids, (uint64_t)tokens * 4));
    HG_TRY(hg_upload_bytes(s->engine, s->rope_up, 0, table, (uint64_t)tokens * head_dim * 4));
    HG_TRY(hg_upload_bytes(s->engine, s->rows_up, 0, rows, (uint64_t)tokens * HG_ROW_WORDS * 4));
out:
    free(table);
    free(rows);
    return res;
}

static hg_result check_ids(const hg_session *s, const int32_t *ids, uint32_t count)
{
    if (count == 0)
        return hg_fail(&s->log, HG_ERR_TEXT, "no tokens: expected at least one");
    if (count > s->max_tokens - s->tokens)
        return hg_fail(&s->log, HG_ERR_ARGUMENT, "%u tokens after %u, the session has room for %u",
                       count, s->tokens, s->max_tokens);
    for (uint32_t i = 0; i < count; i++)
        if (!hg_session_knows(s, ids[i]))
            return hg_fail(&s->log, HG_ERR_TEXT,
                           "token id %d at place %u: the model's ids are 0 to %u", ids[i], i,
                           s->model->config.vocab - 1);
    return HG_OK;
}

/* Rope that depends on the length is computed once, for the length announced (docs/DECISIONS.md
 * D13). */
static void settle_rope(hg_session *s, uint32_t count)
{
    const hg_config *c = &s->model->config;

    if (s->tokens == 0) { /* also after a first eval that was cancelled: nothing of it stays */
        s->rope_tokens = s->params.rope_tokens ? s->params.rope_tokens : count;
        hg_rope_frequencies(c, s->rope_tokens, s->inv_freq, &s->rope_scaling);
    } else if (hg_rope_depends_on_length(c) && s->tokens <= s->rope_tokens &&
               s->tokens + count > s->rope_tokens) {
        hg_say(&s->log, HG_LOG_WARNING,
               "rope depends on the length here and was computed for %u tokens; going past it "
               "keeps that",
               s->rope_tokens);
    }
}

int hg_session_show(void *user, const hg_tapped *tapped)
{
    const hg_session *s = user;
    const hg_op *op = tapped->op;
    hg_stage stage = {.struct_size = sizeof(stage),
                      .name = tapped->stage->name,
                      .kernel = op->kind == HG_OP_DISPATCH ? hg_kernels[op->kernel].name : "copy",
                      .tier = tapped->variant ? hg_tier_name(tapped->variant->tier) : "",
                      .dtype = tapped->variant ? hg_dtype_name(tapped->variant->dtype) : "",
                      .layer = op->layer,
                      .rank = tapped->stage->rank,
                      .first_token = s->tapped_token,
                      .values = tapped->values,
                      .allowed = tapped->allowed};

    memcpy(stage.shape, tapped->stage->shape, sizeof(stage.shape));
    s->params.tap(s->params.tap_user, &stage);
    return s->params.force ? s->params.force(s->params.tap_user, &stage, tapped->values) : 0;
}

int hg_session_busy(const hg_session *session)
{
    if (session->busy)
        hg_say(&session->log, HG_LOG_ERROR,
               "a session was called from a callback of its own eval: wait until that returns");
    return session->busy;
}

void hg_session_look(hg_session *session, const char *what, const float *values, uint64_t count)
{
    uint64_t strange = 0;

    if (session->said_not_finite)
        return;
    for (uint64_t i = 0; i < count; i++)
        strange += isfinite(values[i]) ? 0u : 1u;
    if (strange == 0)
        return;
    session->said_not_finite = 1;
    hg_say(&session->log, HG_LOG_WARNING,
           "%llu of %llu %s are NaN or infinite: the weights or the activations overflow float32; "
           "`headgate inspect MODEL --scan` looks at the weights",
           (unsigned long long)strange, (unsigned long long)count, what);
}

/* Of one piece; `last` when the eval ends with it. Which tokens the host's copy stands for is
 * settled when the whole eval has succeeded: until then it still stands for the tokens before. */
static hg_result fetch_logits(hg_session *s, uint32_t past, uint32_t tokens, int last)
{
    const uint64_t vocab = s->model->config.vocab;
    hg_result res = HG_OK;

    if (s->params.logits == HG_LOGITS_LAST && (last || s->sequences) && s->last_count) {
        float *to = s->logits + (s->sequences ? hg_session_sequence_at(s, past) : 0) * vocab;

        HG_TRY(hg_readback_bytes(s->engine, s->arena, s->act.logits.offset_bytes, to,
                                 s->last_count * vocab * 4));
        hg_session_look(s, "logits", to, s->last_count * vocab);
    } else if (s->params.logits == HG_LOGITS_ALL) {
        HG_TRY(hg_readback_bytes(s->engine, s->arena, s->act.logits.offset_bytes,
                                 s->logits + past * vocab, tokens * vocab * 4));
        hg_session_look(s, "logits", s->logits + past * vocab, tokens * vocab);
    }
out:
    return res;
}

/* Operations of a piece as tokens of the whole eval, so that a reader sees one way from 0 to 100 %.
 */
typedef struct piece_progress {
    const hg_progress *inner;
    uint64_t before, tokens, total;
} piece_progress;

static int piece_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    const piece_progress *p = user;
    const uint64_t part = total ? p->tokens * done / total : 0;

    return p->inner->step(p->inner->user, what, p->before + part, p->total);
}

/* Tokens of the piece that begins at row `past`, of at most `left`, and which of its rows end a
 * sequence; cut early where more do than LAST has room for. */
static uint32_t cut_piece(hg_session *s, uint32_t past, uint32_t left)
{
    uint32_t tokens = left < s->piece ? left : s->piece;

    s->last_count = 0;
    if (s->params.logits != HG_LOGITS_LAST)
        return tokens;
    if (!s->sequences) {
        s->last_rows[s->last_count++] = tokens - 1;
        return tokens;
    }
    for (uint32_t i = hg_session_sequence_at(s, past);
         i < s->sequences && s->starts[i + 1] <= past + tokens; i++) {
        s->last_rows[s->last_count++] = s->starts[i + 1] - 1 - past;
        if (s->last_count == s->last_room)
            tokens = s->starts[i + 1] - past;
    }
    return tokens;
}

hg_result hg_session_run(hg_session *s, const int32_t *ids, uint32_t before, uint32_t count)
{
    piece_progress piece = {.total = count};
    hg_run_params run = {.what = "tokens", .tap_user = s};
    hg_result res = HG_OK;

    s->busy = 1;
    piece.inner = &s->params.progress;
    run.progress = (hg_progress){s->params.progress.step ? piece_step : NULL, &piece};
    run.tap = s->params.tap ? hg_session_show : NULL;
    run.bounds = s->params.bounds != 0;
    for (uint32_t done = 0; done < count;) {
        const uint32_t past = before + done;
        const uint32_t tokens = cut_piece(s, past, count - done);

        HG_TRY(upload_piece(s, ids + done, past, tokens));
        s->tapped_token = past;
        piece.before = done;
        piece.tokens = tokens;
        hg_oplist_clear(&s->ops);
        hg_forward_append(s, past, tokens);
        HG_TRY(hg_engine_run(s->engine, &s->ops, &run));
        HG_TRY(fetch_logits(s, past, tokens, done + tokens == count));
        done += tokens;
    }
    memcpy(s->ids + before, ids, count * sizeof(*ids));
out:
    s->busy = 0;
    return res;
}

hg_result hg_session_eval(hg_session *session, const int32_t *ids, uint32_t count)
{
    hg_session *s = session;
    hg_result res = HG_OK;

    if (!s || !ids || hg_session_busy(s))
        return HG_ERR_ARGUMENT;
    if (s->sequences)
        return hg_fail(&s->log, HG_ERR_ARGUMENT,
                       "the session holds a batch of %u sequences, which cannot go on: "
                       "hg_session_truncate to 0 tokens makes it empty",
                       s->sequences);
    HG_TRY(check_ids(s, ids, count));
    if (s->rows_ragged)
        HG_TRY(hg_session_keep_rows(s));
    settle_rope(s, count);
    HG_TRY(hg_session_run(s, ids, s->tokens, count));
    s->tokens += count;
    s->logits_first = s->params.logits == HG_LOGITS_LAST ? s->tokens - 1 : 0;
    s->logits_end = s->params.logits == HG_LOGITS_NONE ? 0 : s->tokens;
out:
    return res;
}

void hg_session_reset(hg_session *s)
{
    s->sequences = s->selected = s->first = s->tokens = 0;
    s->logits_row = s->logits_first = s->logits_end = 0;
}

uint32_t hg_session_tokens(const hg_session *session)
{
    return session ? session->tokens : 0;
}

hg_result hg_session_truncate(hg_session *session, uint32_t tokens)
{
    if (!session || hg_session_busy(session))
        return HG_ERR_ARGUMENT;
    if (session->sequences && tokens > 0)
        return hg_fail(&session->log, HG_ERR_ARGUMENT,
                       "a batch of %u sequences is kept whole or, with 0 tokens, not at all",
                       session->sequences);
    if (session->sequences)
        hg_session_reset(session);
    if (tokens > session->tokens)
        return hg_fail(&session->log, HG_ERR_ARGUMENT, "cannot keep %u tokens of %u", tokens,
                       session->tokens);
    session->tokens = tokens;
    if (session->logits_end > tokens)
        session->logits_end = tokens;
    if (session->logits_first >= session->logits_end)
        session->logits_first = session->logits_end = 0;
    return HG_OK;
}

const int32_t *hg_session_ids(const hg_session *session)
{
    return session ? session->ids + session->first : NULL;
}

hg_result hg_session_logits(hg_session *session, uint32_t token, float *out)
{
    uint64_t vocab;

    if (!session || !out)
        return HG_ERR_ARGUMENT;
    vocab = session->model->config.vocab;
    if (token < session->logits_first || token >= session->logits_end)
        return hg_fail(&session->log, HG_ERR_ARGUMENT,
                       "no logits of token %u are kept (kept: %u to %u)", token,
                       session->logits_first, session->logits_end);
    memcpy(out, session->logits + (session->logits_row + token - session->logits_first) * vocab,
           vocab * sizeof(*out));
    return HG_OK;
}
