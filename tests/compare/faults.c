/* SPDX-License-Identifier: MIT */
/* The faults. Each does a call's work by the kernel's own text with one thing wrong. See faults.h.
 */
#include "faults.h"

#include "shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef void truth_function(const hg_text_call *call);

/* A call whose params and bindings may be changed. */
typedef struct changed {
    hg_text_call call;
    hg_params params;
    void *bind[HG_BINDS_MAX];
} changed;

static changed change(const hg_text_call *call, hg_kernel_id kernel)
{
    changed c = {.call = *call};

    memcpy(&c.params, call->params, hg_kernels[kernel].param_bytes);
    memcpy(c.bind, call->bind, hg_kernels[kernel].bind_count * sizeof(c.bind[0]));
    return c;
}

static void run_changed(changed *c, truth_function *truth)
{
    c->call.params = &c->params;
    c->call.bind = c->bind;
    truth(&c->call);
}

/* A copy of count floats in place of binding b; freed by the caller. */
static float *replace(changed *c, uint32_t b, uint64_t count)
{
    float *copy = malloc((size_t)count * sizeof(*copy));

    if (!copy)
        abort();
    memcpy(copy, c->bind[b], (size_t)count * sizeof(*copy));
    c->bind[b] = copy;
    return copy;
}

/* ---- attention ---- */

typedef struct view {
    uint32_t extra_keys; /* beyond the mask */
    uint32_t no_maximum;
    uint32_t wrong_group;
} view;

/* One head of one token in plain C, y alone. */
static void attend(const hg_text_call *call, uint32_t token, uint32_t head, const view *how)
{
    const struct hg_attention_params *p = call->params;
    const float *q =
        (const float *)call->bind[0] + ((uint64_t)token * p->heads + head) * p->head_dim;
    const uint32_t *rows = (const uint32_t *)call->bind[4] + (uint64_t)token * 4;
    const uint32_t group = how->wrong_group ? head % p->kv_heads : head / (p->heads / p->kv_heads);
    const uint64_t stride = (uint64_t)p->kv_heads * p->head_dim;
    const float *k = (const float *)call->bind[1] + rows[2] * stride + group * p->head_dim;
    const float *v = (const float *)call->bind[2] + rows[2] * stride + group * p->head_dim;
    const float *z = call->bind[3];
    float *y = (float *)call->bind[5] + ((uint64_t)token * p->heads + head) * p->head_dim;
    const uint32_t held = rows[3] - rows[2], wanted = rows[0] + 1 + how->extra_keys;
    const uint32_t limit = wanted < held ? wanted : held;
    const uint32_t low = p->window && wanted > p->window ? wanted - p->window : 0;
    double top = how->no_maximum ? 0 : -1e30, *s = calloc(limit, sizeof(*s));
    float mass = 0;

    if (limit <= low) { /* sees nothing: as the truth has it */
        free(s);
        return;
    }
    if (!s)
        abort();
    for (uint32_t j = low; j < limit; j++) {
        for (uint32_t i = 0; i < p->head_dim; i++)
            s[j] += (double)q[i] * k[j * stride + i];
        s[j] *= (double)p->scale;
        if (!how->no_maximum && s[j] > top)
            top = s[j];
    }
    for (uint32_t j = low; j < limit; j++)
        mass += expf((float)(s[j] - top));
    for (uint32_t i = 0; i < p->head_dim; i++) {
        const uint64_t item = (uint64_t)token * p->heads + head;
        float sum = 0, gate = 1;

        for (uint32_t j = low; j < limit; j++)
            sum += expf((float)(s[j] - top)) * v[j * stride + i];
        if (p->gate == 1)
            gate = 1 / (1 + expf(-z[item * p->gate_dim + (p->gate_dim == 1 ? 0 : i)]));
        y[i] = sum / mass * gate;
    }
    free(s);
}

static void attend_all(const hg_text_call *call, const view *how)
{
    const struct hg_attention_params *p = call->params;

    for (uint32_t t = 0; t < p->tokens; t++)
        for (uint32_t h = 0; h < p->heads; h++)
            attend(call, t, h, how);
}

/* The last query of a tile of 64 also sees the key after it. */
static void mask_at_tile_edge(const hg_text_call *call, truth_function *truth)
{
    const struct hg_attention_params *p = call->params;

    const uint32_t *rows = call->bind[4];

    truth(call);
    for (uint32_t t = 0; t < p->tokens; t++)
        for (uint32_t h = 0; rows[4 * t] % 64 == 63 && h < p->heads; h++)
            attend(call, t, h, &(view){.extra_keys = 1});
}

static void no_maximum(const hg_text_call *call, truth_function *truth)
{
    truth(call);
    attend_all(call, &(view){.no_maximum = 1});
}

static void wrong_group(const hg_text_call *call, truth_function *truth)
{
    truth(call);
    attend_all(call, &(view){.wrong_group = 1});
}

static void gate_of_neighbour(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_attention);
    const struct hg_attention_params *p = &c.params.attention;
    const uint64_t row = (uint64_t)p->heads * p->gate_dim;
    const float *from = call->bind[3];
    float *z;

    if (!p->gate_dim) {
        truth(call);
        return;
    }
    z = replace(&c, 3, p->tokens * row);
    for (uint32_t t = 0; t < p->tokens; t++)
        for (uint64_t i = 0; i < row; i++)
            z[t * row + i] = from[t * row + (i + p->gate_dim) % row];
    run_changed(&c, truth);
    free(z);
}

static void no_scale(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_attention);

    c.params.attention.scale = 1;
    run_changed(&c, truth);
}

static void window_off_by_one(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_attention);

    c.params.attention.window++;
    run_changed(&c, truth);
}

static void gate_left_out(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_attention);

    c.params.attention.gate = 0;
    run_changed(&c, truth);
}

/* Token t has the statistics of token t - 1. */
static void statistics_of_other_row(const hg_text_call *call, truth_function *truth)
{
    const struct hg_attention_params *p = call->params;
    float *stats = call->bind[6];
    const uint64_t row = (uint64_t)p->heads * 2;

    truth(call);
    if (p->tokens > 1)
        memmove(stats + row, stats, (p->tokens - 1) * row * sizeof(*stats));
}

static void pooled_tile_shifted(const hg_text_call *call, truth_function *truth)
{
    const struct hg_attn_probs_params *p = call->params;
    const uint32_t lines = (p->q_count + p->pool_q - 1) / p->pool_q;
    const uint32_t columns = (p->k_count + p->pool_k - 1) / p->pool_k;
    float *y = (float *)call->bind[4] + p->dst_offset;

    truth(call);
    for (uint32_t h = 0; h < (p->reduce ? 1 : p->h_count); h++)
        for (uint32_t i = 0; i < lines; i++) {
            float *row = y + (uint64_t)h * p->dst_head_stride + (uint64_t)i * p->dst_stride;

            memmove(row + 1, row, (columns - 1) * sizeof(*row));
        }
}

/* ---- projection taken apart, rope, norms ---- */

static void gate_rows_per_head(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_split_q_gate);

    c.params.split_q_gate.gate_layout ^= 1u;
    run_changed(&c, truth);
}

static void rope_off_by_one(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_norm_rope);
    const uint32_t row = c.params.norm_rope.head_dim, tokens = c.params.norm_rope.tokens;
    float *table = replace(&c, 2, (uint64_t)tokens * row);

    memmove(table, table + row, (tokens - 1) * row * sizeof(*table));
    run_changed(&c, truth);
    free(table);
}

/* Pairs (2 i, 2 i + 1) in place of (i, i + head_dim / 2). */
static void rope_interleaved(const hg_text_call *call, truth_function *truth)
{
    const struct hg_norm_rope_params *p = call->params;
    const float *w = call->bind[1], *table = call->bind[2];
    const uint64_t count = (uint64_t)p->tokens * p->heads * p->head_dim;
    float *x = malloc((size_t)count * sizeof(*x));

    if (!x)
        abort();
    memcpy(x, call->bind[0], (size_t)count * sizeof(*x)); /* y may be x */
    truth(call);
    for (uint64_t item = 0; item < (uint64_t)p->tokens * p->heads; item++) {
        const uint64_t token = item / p->heads;
        const float *from = x + item * p->head_dim;
        float *y = (float *)call->bind[3] + ((uint64_t)p->y_row * p->heads + item) * p->head_dim;
        double squares = 0, factor = 1;

        for (uint32_t i = 0; i < p->head_dim; i++)
            squares += (double)from[i] * from[i];
        if (p->flags & 1u)
            factor = 1 / sqrt(squares / p->head_dim + (double)p->eps);
        for (uint32_t i = 0; i < p->head_dim / 2; i++) {
            const double cosine = table[(token * (p->head_dim / 2) + i) * 2];
            const double sine = table[(token * (p->head_dim / 2) + i) * 2 + 1];
            const double a = from[2 * i] * factor * (p->flags & 1u ? w[2 * i] : 1.0f);
            const double b = from[2 * i + 1] * factor * (p->flags & 1u ? w[2 * i + 1] : 1.0f);

            y[2 * i] = (float)(a * cosine - b * sine);
            y[2 * i + 1] = (float)(b * cosine + a * sine);
        }
    }
    free(x);
}

/* Row t of the keys lands on row t + 1. */
static void row_too_far(const hg_text_call *call, truth_function *truth)
{
    const struct hg_norm_rope_params *p = call->params;
    const uint64_t row = (uint64_t)p->heads * p->head_dim;
    float *y = (float *)call->bind[3] + p->y_row * row;

    truth(call);
    if (p->tokens > 1)
        memmove(y + row, y, (p->tokens - 1) * row * sizeof(*y));
    memset(y, 0, row * sizeof(*y));
}

static void no_epsilon(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_rms_norm);

    c.params.rms_norm.eps = 0;
    run_changed(&c, truth);
}

/* ---- products ---- */

static float *output_of(const hg_text_call *call, uint32_t row)
{
    const struct hg_matmul_params *p = call->params;

    return (float *)call->bind[3] + p->y_offset + (uint64_t)row * p->y_stride;
}

/* What the other layers' calls had in their input: the contents before the producer wrote. */
static struct {
    float *x;
    uint64_t count;
} previous;

static void see_input(const hg_text_call *call)
{
    const struct hg_matmul_params *p = call->params;
    const uint64_t count = (uint64_t)p->rows * p->k;

    if (count > previous.count) {
        free(previous.x);
        previous.x = calloc((size_t)count, sizeof(*previous.x));
        previous.count = previous.x ? count : 0;
    }
    if (!previous.x)
        abort();
    memcpy(previous.x, call->bind[0], (size_t)count * sizeof(*previous.x));
}

static void previous_rows(const hg_text_call *call, truth_function *truth, uint32_t first)
{
    changed c = change(call, HG_KERNEL_matmul);
    const struct hg_matmul_params *p = &c.params.matmul;
    const uint64_t count = (uint64_t)p->rows * p->k, from = (uint64_t)first * p->k;
    float *x = replace(&c, 0, count);

    /* The first layer finds what a fresh buffer holds. */
    for (uint64_t i = from; i < count; i++)
        x[i] = i < previous.count ? previous.x[i] : 0;
    run_changed(&c, truth);
    free(x);
}

static void previous_contents(const hg_text_call *call, truth_function *truth)
{
    previous_rows(call, truth, 0);
}

static void last_token_stale(const hg_text_call *call, truth_function *truth)
{
    previous_rows(call, truth, ((const struct hg_matmul_params *)call->params)->rows - 1);
}

static void one_lane_nan(const hg_text_call *call, truth_function *truth)
{
    const struct hg_matmul_params *p = call->params;

    truth(call);
    output_of(call, p->rows - 1)[p->cols - 1] = NAN;
}

static void last_tile_left_out(const hg_text_call *call, truth_function *truth)
{
    const struct hg_matmul_params *p = call->params;
    const uint32_t tile = p->cols % 8 ? p->cols % 8 : 8;

    truth(call);
    for (uint32_t r = 0; r < p->rows; r++)
        memset(output_of(call, r) + p->cols - tile, 0, tile * sizeof(float));
}

static void tile_transposed(const hg_text_call *call, truth_function *truth)
{
    const struct hg_matmul_params *p = call->params;

    truth(call);
    for (uint32_t i = 0; i < 8 && i < p->rows; i++)
        for (uint32_t j = 0; j < i && i < p->cols; j++) {
            float *a = &output_of(call, i)[j], *b = &output_of(call, j)[i];
            const float kept = *a;

            *a = *b;
            *b = kept;
        }
}

static void row_block_twice(const hg_text_call *call, truth_function *truth)
{
    const struct hg_matmul_params *p = call->params;

    truth(call);
    for (uint32_t r = 0; r < p->rows; r++)
        memcpy(output_of(call, r) + 64, output_of(call, r), 64 * sizeof(float));
}

/* The view begins a unit of alignment too early. */
static void wrong_view(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_matmul);

    c.bind[0] = (float *)c.bind[0] - HG_BIND_ALIGN_BYTES / 4;
    run_changed(&c, truth);
}

static void with_weights(const hg_text_call *call, truth_function *truth,
                         void (*spoil)(uint8_t *w, uint64_t bytes,
                                       const struct hg_matmul_params *p))
{
    changed c = change(call, HG_KERNEL_matmul);
    const struct hg_matmul_params *p = &c.params.matmul;
    const uint64_t bytes = (uint64_t)p->cols * p->k * 2; /* the fixtures of these faults are bf16 */
    float *w = replace(&c, 1, (bytes + 3) / 4);

    spoil((uint8_t *)w, bytes, p);
    run_changed(&c, truth);
    free(w);
}

/* The largest weight of row 3. */
static void flip(uint8_t *w, uint64_t bytes, const struct hg_matmul_params *p)
{
    uint64_t best = 3 * (uint64_t)p->k;

    (void)bytes;
    for (uint64_t i = best; i < 4 * (uint64_t)p->k; i++)
        if ((w[2 * i + 1] & 0x7f) > (w[2 * best + 1] & 0x7f))
            best = i;
    w[2 * best] ^= 1u;
}

static void weight_bit_flipped(const hg_text_call *call, truth_function *truth)
{
    with_weights(call, truth, flip);
}

static void drop_page(uint8_t *w, uint64_t bytes, const struct hg_matmul_params *p)
{
    const uint64_t page = bytes > 8192 ? 4096 : 0;

    (void)p;
    memset(w + page, 0, (size_t)(bytes - page < 4096 ? bytes - page : 4096));
}

static void page_missing(const hg_text_call *call, truth_function *truth)
{
    with_weights(call, truth, drop_page);
}

/* Every 50th time one element is off by a little. */
static void flicker(const hg_text_call *call, truth_function *truth)
{
    static uint32_t times;

    truth(call);
    if (++times % 50 == 0)
        output_of(call, 0)[7] += 0x1p-10f;
}

static void input_not_there_yet(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_matmul);
    const struct hg_matmul_params *p = &c.params.matmul;
    float *x = replace(&c, 0, (uint64_t)p->rows * p->k);

    memset(x, 0, (size_t)p->rows * p->k * sizeof(*x));
    run_changed(&c, truth);
    free(x);
}

/* A kernel that only the page without taps has. */
static void gates_from_elsewhere(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_rope_heads);

    c.params.rope_heads.copy_offset--;
    run_changed(&c, truth);
}

/* ---- the rest ---- */

static void residual_through_fp16(const hg_text_call *call, truth_function *truth)
{
    const struct hg_add_params *p = call->params;
    float *y = call->bind[2];

    truth(call);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t bits;

        memcpy(&bits, &y[i], sizeof(bits));
        bits = (bits + 0x1000u) & ~0x1fffu; /* ten bits of mantissa */
        memcpy(&y[i], &bits, sizeof(bits));
    }
}

static void residual_left_out(const hg_text_call *call, truth_function *truth)
{
    const struct hg_add_params *p = call->params;

    truth(call);
    memcpy(call->bind[2], call->bind[1], p->count * sizeof(float));
}

static void next_token(const hg_text_call *call, truth_function *truth)
{
    changed c = change(call, HG_KERNEL_embed_rows);
    const struct hg_embed_rows_params *p = &c.params.embed_rows;
    uint32_t *ids = (uint32_t *)(void *)replace(&c, 0, p->tokens);

    for (uint32_t t = 0; t < p->tokens; t++)
        ids[t] = (ids[t] + 1) % p->row_count;
    run_changed(&c, truth);
    free(ids);
}

static void silu_without_gate(const hg_text_call *call, truth_function *truth)
{
    const struct hg_silu_mul_params *p = call->params;
    const float *a = call->bind[0], *b = call->bind[1];
    const uint32_t count = p->rows * p->cols; /* rows without gaps: under taps they are */
    float *y = call->bind[2];

    truth(call);
    for (uint32_t i = count - count % 64; i < count; i++) /* in the last, partial group */
        y[i] = a[i] * b[i];
}

const hg_fixture hg_fault_fixtures[] = {
    /* 0: gated per head, groups of two, more than one tile of keys, maps pooled */
    {3, 72, 4, 2, 32, 136, 150, 1, 0, 1, 1, 1, 0, 0, 0, 11, 70},
    /* 1: gated per element, groups of four */
    {3, 48, 8, 2, 16, 130, 101, 2, 0, 1, 0, 1, 0, 0, 0, 12, 19},
    /* 2: scores far beyond what exp can take */
    {3, 48, 4, 2, 32, 80, 90, 1, 0, 0, 1, 0, 0, 60, 0, 13, 20},
    /* 3: activations so small that epsilon matters in every layer */
    {3, 40, 4, 4, 16, 72, 80, 0, 0, 1, 1, 1, 1e-4f, 0, 1e-4f, 14, 17},
    /* 4: a window */
    {3, 48, 4, 2, 32, 72, 101, 1, 7, 1, 1, 1, 0, 0, 0, 15, 25},
};
const uint32_t hg_fault_fixture_count = sizeof(hg_fault_fixtures) / sizeof(hg_fault_fixtures[0]);

const hg_fault hg_faults[] = {
    {"wrong mask at the tile edge", "attn_out", "attention", 0, 0, 0, 1, mask_at_tile_edge, NULL},
    {"the consumer sees the previous contents", "attn_proj", "matmul", 0, 0, 0, 0,
     previous_contents, see_input},
    {"gate rows read per head", "q", "split_q_gate", 1, 0, 0, 0, gate_rows_per_head, NULL},
    {"gate of the neighbouring head", "attn_out", "attention", 1, 0, 0, 1, gate_of_neighbour, NULL},
    {"rope off by one position for q", "q_rope", "norm_rope", 0, 0, 0, 0, rope_off_by_one, NULL},
    {"rope pairs interleaved", "k_rope", "norm_rope", 0, 0, 0, 1, rope_interleaved, NULL},
    {"scale missing", "attn_out", "attention", 1, 0, 0, 1, no_scale, NULL},
    {"softmax without the maximum", "attn_out", "attention", 2, 0, 0, 1, no_maximum, NULL},
    {"residual through fp16", "residual", "add", 0, 0, 0, 1, residual_through_fp16, NULL},
    {"one lane NaN", "mlp_down", "matmul", 0, 0, 0, 1, one_lane_nan, NULL},
    {"last partial tile left out", "mlp_up", "matmul", 1, 0, 0, 1, last_tile_left_out, NULL},
    {"stale activation of the last token", "mlp_down", "matmul", 0, 0, 0, 0, last_token_stale,
     see_input},
    {"KV row written one too far", "k_rope", "norm_rope", 0, 0, 0, 0, row_too_far, NULL},
    {"wrong GQA group", "attn_out", "attention", 1, 0, 0, 1, wrong_group, NULL},
    {"a flipped low bit of a weight", "mlp_gate", "matmul", 0, 0, 0, 0, weight_bit_flipped, NULL},
    {"row statistics of another row", "attn_out", "attention", 0, 0, 0, 1, statistics_of_other_row,
     NULL},
    {"norm epsilon missing", "attn_norm", "rms_norm", 3, 0, 0, 0, no_epsilon, NULL},
    {"a transposed tile", "v", "matmul", 0, 0, 0, 1, tile_transposed, NULL},
    {"a row block twice", "mlp_up", "matmul", 0, 0, 0, 0, row_block_twice, NULL},
    {"flicker of one element", "mlp_down", "matmul", 1, 0, 60, 0, flicker, NULL},
    {"a binding at the wrong view", "mlp_up", "matmul", 0, 0, 0, 0, wrong_view, NULL},
    {"a window off by one", "attn_out", "attention", 4, 0, 0, 0, window_off_by_one, NULL},
    {"a pooled tile shifted", "attn_probs", "attn_probs", 0, 0, 0, 0, pooled_tile_shifted, NULL},
    {"an upload with a page missing", "mlp_down", "matmul", 0, 0, 0, 0, page_missing, NULL},
    {"the gate left out", "attn_out", "attention", 0, 0, 0, 1, gate_left_out, NULL},
    {"residual left out", "attn_residual", "add", 0, 0, 0, 1, residual_left_out, NULL},
    {"silu wrong in the last group", "mlp_act", "silu_mul", 0, 0, 0, 1, silu_without_gate, NULL},
    {"the embedding of another token", "embedding", "embed_rows", 0, 1, 0, 0, next_token, NULL},
    {"logits: a row block twice", "logits", "matmul", 0, 1, 0, 0, row_block_twice, NULL},
    {"the input is not there yet, in company only", "attn_residual", NULL, 0, 0, 0, 0,
     input_not_there_yet, NULL},
    {"gates of joined rows from the wrong place", "q_rope", NULL, 0, 0, 0, 0, gates_from_elsewhere,
     NULL},
};
const uint32_t hg_fault_count = sizeof(hg_faults) / sizeof(hg_faults[0]);
