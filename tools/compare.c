/* SPDX-License-Identifier: MIT */
/* Children run, their frames are read and measured. Verdicts are compare_verdict.c's. See
 * compare.h. */
#include "compare.h"

#include "app.h"
#include "child.h"
#include "compare_parts.h"
#include "interrupt.h"
#include "message.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_CELLS = 64 };

/* What is being read from a child. */
typedef struct reader {
    const hg_compare_params *params;
    hg_compare_job *job;
    hg_comparison *out;
    hg_compare_side *side; /* NULL: one of the first two */
    hg_child child;
    const hg_spool *reference; /* NULL: this child is the reference */
    const hg_spool *expected;  /* what the free run is measured against */
    hg_spool *keep;            /* where values of the free run go; NULL: nowhere */
    double *rounding;          /* [stages], written from the text child, else read */
    double relative;           /* see hg_rounding_of */
    uint32_t index, isolated_index;
    float *values, *other, *allowed;
    uint64_t room;
    int is_done, has_untapped; /* what a child of a device has to say before its end */
    char failure[400];
    hg_result failure_result;
} reader;

static hg_result need_room(reader *r, uint64_t count)
{
    if (count <= r->room)
        return HG_OK;
    free(r->values);
    free(r->other);
    free(r->allowed);
    r->room = 0;
    r->values = malloc((size_t)count * sizeof(float));
    r->other = malloc((size_t)count * sizeof(float));
    r->allowed = malloc((size_t)count * sizeof(float));
    if (!r->values || !r->other || !r->allowed)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a stage of %llu values",
                               (unsigned long long)count);
    r->room = count;
    return HG_OK;
}

/* What a child must not do ends in HG_ERR_FILE with the reason in failure. */
static hg_result rubbish(reader *r, const char *what)
{
    snprintf(r->failure, sizeof(r->failure), "its process wrote what is no report: %s", what);
    return HG_ERR_FILE;
}

static hg_stage_row *row_of(reader *r, uint32_t index)
{
    hg_compare_side *side = r->side;

    if (!side->rows) {
        side->rows = calloc(r->reference->count, sizeof(*side->rows));
        if (!side->rows)
            return NULL;
    }
    if (index >= side->row_count)
        side->row_count = index + 1;
    return &side->rows[index];
}

/* Mean over heads of a [heads, cells, cells] stage into the side's maps. */
static void keep_map(reader *r, const hg_stage_head *head)
{
    hg_comparison *c = r->out;
    const uint64_t cells = (uint64_t)head->shape[1] * head->shape[2];
    float *to;

    if (head->rank != 3 || head->shape[1] != c->map_cells || head->shape[2] != c->map_cells ||
        head->layer < 0 || (uint32_t)head->layer >= c->layers)
        return;
    if (!r->side->maps)
        r->side->maps = calloc((size_t)c->layers * cells, sizeof(float));
    if (!r->side->maps)
        return; /* a report without maps is still one */
    to = r->side->maps + (uint64_t)head->layer * cells;
    for (uint64_t i = 0; i < cells; i++) {
        double sum = 0;

        for (uint32_t h = 0; h < head->shape[0]; h++)
            sum += r->values[h * cells + i];
        to[i] = (float)(sum / head->shape[0]);
    }
}

/* A stage of the free run against what is expected of it. */
static hg_result judge_free(reader *r, const hg_stage_head *head)
{
    const hg_spool_entry *expected = &r->expected->entries[r->index];
    hg_stage_row *row = row_of(r, r->index);
    hg_result res = HG_OK;

    if (!row)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the rows of a comparison");
    row->head = *head;
    row->is_other = memcmp(head->sha256, expected->head.sha256, HG_SHA256_BYTES) != 0;
    row->bound = HG_COMPARE_ROUNDINGS * r->rounding[r->index];
    if (expected->values_at) {
        HG_TRY(hg_spool_values(r->expected, r->index, r->other));
        hg_difference_measure(r->other, r->values, head->count, &row->difference);
        row->is_measured = 1;
        row->is_beyond = !(row->difference.distance <= row->bound);
        if (strcmp(head->name, "logits") == 0)
            hg_agreement_add(r->other, r->values, head->shape[0], head->shape[1],
                             &r->side->agreement);
    }
    if (strcmp(head->name, "attn_probs") == 0)
        keep_map(r, head);
out:
    return res;
}

/* What rounding does to this stage: the distance of the exact text from the reference in double. */
static hg_result learn_rounding(reader *r, const hg_stage_head *head)
{
    hg_difference d;
    hg_result res = HG_OK;

    HG_TRY(hg_spool_values(r->reference, r->index, r->other));
    hg_difference_measure(r->other, r->values, head->count, &d);
    r->rounding[r->index] = hg_rounding_of(&d, &r->relative);
    /* Sums that overflow inside a kernel may leave numbers that mean nothing. */
    if (!(d.nmse < 1) && r->index < r->out->strange_stage) {
        r->out->strange_stage = r->index;
        hg_stage_head_label(head, r->out->strange);
    }
    if (r->index >= r->out->strange_stage)
        r->rounding[r->index] = INFINITY;
out:
    return res;
}

static hg_result judge_isolated(reader *r, const hg_stage_head *head)
{
    hg_stage_row *row = row_of(r, r->isolated_index);
    hg_result res = HG_OK;

    if (!row)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the rows of a comparison");
    if (r->isolated_index >= r->out->strange_stage)
        return HG_OK;
    HG_TRY(hg_spool_values(r->reference, r->isolated_index, r->other));
    HG_TRY(hg_spool_allowed(r->reference, r->isolated_index, r->allowed));
    hg_excess_measure(r->other, r->allowed, r->values, head->count, &row->excess);
    row->is_isolated = 1;
out:
    return res;
}

/* The first stage in which float32 does not hold this prompt: the reference, or the exact text, has
 * what is no number there, or the text is off by more than the stage's own size. */
static void look_for_strange(reader *r, const hg_stage_head *head)
{
    if (r->side || r->index >= r->out->strange_stage)
        return;
    for (uint64_t i = 0; i < head->count; i++) {
        if (!isfinite(r->values[i])) {
            r->out->strange_stage = r->index;
            hg_stage_head_label(head, r->out->strange);
            return;
        }
    }
}

static hg_result take_stage(reader *r, const hg_frame *frame)
{
    uint8_t bytes[HG_STAGE_HEAD_BYTES];
    const uint32_t timeout = r->params->timeout_s;
    hg_stage_head head;
    uint32_t *index;
    hg_result res = HG_OK;

    if (frame->bytes < sizeof(bytes))
        return rubbish(r, "a stage without a head");
    HG_TRY(hg_child_read(&r->child, timeout, bytes, sizeof(bytes)));
    if (!hg_stage_head_decode(bytes, &head) || hg_stage_frame_bytes(&head) != frame->bytes ||
        !head.has_values)
        return rubbish(r, "a stage with a broken head");
    index = head.pass == HG_PASS_FREE ? &r->index : &r->isolated_index;
    if (r->reference && (*index >= r->reference->count ||
                         !hg_stage_head_matches(&head, &r->reference->entries[*index].head)))
        return rubbish(r, "a stage that the reference does not have at this place");
    HG_TRY(need_room(r, head.count));
    HG_TRY(hg_child_read(&r->child, timeout, r->values, head.count * 4));
    if (head.has_allowed)
        HG_TRY(hg_child_read(&r->child, timeout, r->allowed, head.count * 4));
    if (head.pass == HG_PASS_ISOLATED && r->side)
        HG_TRY(judge_isolated(r, &head));
    if (head.pass == HG_PASS_FREE)
        look_for_strange(r, &head);
    if (head.pass == HG_PASS_FREE && r->keep)
        HG_TRY(hg_spool_append(r->keep, &head, r->values, r->allowed));
    if (head.pass == HG_PASS_FREE && r->side)
        HG_TRY(judge_free(r, &head));
    else if (head.pass == HG_PASS_FREE && r->job->who == HG_COMPARE_TEXT)
        HG_TRY(learn_rounding(r, &head));
    (*index)++;
out:
    return res;
}

static hg_result take_meta(reader *r, const hg_frame *frame)
{
    char text[16384];
    hg_record_meta meta;
    hg_result res;

    if (frame->bytes == 0 || frame->bytes > sizeof(text))
        return rubbish(r, "a description of no size");
    res = hg_child_read(&r->child, r->params->timeout_s, text, frame->bytes);
    if (res != HG_OK)
        return res;
    if (hg_record_meta_parse(NULL, text, (size_t)frame->bytes, &meta) != HG_OK)
        return rubbish(r, "a description that is none");
    if (r->side) {
        hg_record_meta_free(&r->side->meta);
        r->side->meta = meta;
    } else {
        hg_record_meta_free(&meta);
    }
    return HG_OK;
}

static hg_result take_failure(reader *r, const hg_frame *frame)
{
    uint8_t code[4];
    uint64_t bytes = frame->bytes - sizeof(code);
    hg_result res;

    if (frame->bytes < sizeof(code) || bytes >= sizeof(r->failure))
        return rubbish(r, "a failure of no size");
    res = hg_child_read(&r->child, r->params->timeout_s, code, sizeof(code));
    if (res == HG_OK)
        res = hg_child_read(&r->child, r->params->timeout_s, r->failure, bytes);
    r->failure[bytes] = '\0';
    hg_message_defuse(r->failure);
    r->failure_result = (hg_result)(int32_t)hg_get_u32(code);
    return res;
}

static hg_result take_later_run(reader *r, const uint8_t payload[8])
{
    hg_compare_side *side = r->side;
    const uint32_t run = hg_get_u32(payload), stage = hg_get_u32(payload + 4);

    if (!side || run < 2 || run > r->params->runs || stage >= r->reference->count)
        return rubbish(r, "a run that was not asked for");
    if (side->runs_differ == 0 || stage < side->runs_stage)
        side->runs_stage = stage;
    if (run != side->runs) {
        side->runs_differ++;
        side->runs = run;
    }
    return HG_OK;
}

static hg_result take_small(reader *r, const hg_frame *frame)
{
    uint8_t payload[16] = {0};
    hg_result res;

    if (frame->bytes > sizeof(payload))
        return rubbish(r, "a note of no size");
    res = hg_child_read(&r->child, r->params->timeout_s, payload, frame->bytes);
    if (res != HG_OK)
        return res;
    if (strcmp(frame->tag, "DIFF") == 0)
        return take_later_run(r, payload);
    if (strcmp(frame->tag, "LOOS") == 0 && r->side) {
        r->side->untapped_differ = hg_get_u64(payload);
        memcpy(&r->side->untapped_distance, payload + 8, sizeof(double));
    }
    r->has_untapped |= strcmp(frame->tag, "LOOS") == 0;
    if (strcmp(frame->tag, "TIME") == 0 && r->side)
        memcpy(&r->side->meta.tokens_per_s, payload, sizeof(double));
    if (strcmp(frame->tag, "TICK") == 0 && r->params->progress.step) {
        const uint32_t percent = hg_get_u32(payload);
        const char *what = r->side ? r->side->label : "reference";

        if (r->params->progress.step(r->params->progress.user, what, percent > 100 ? 100 : percent,
                                     100))
            return HG_CANCELLED;
    }
    if (strcmp(frame->tag, "DONE") == 0) {
        r->is_done = 1;
        if (hg_get_u32(payload) != r->index ||
            (r->side && (r->isolated_index != r->reference->count || !r->has_untapped)))
            return rubbish(r, "an end before all stages were there");
    }
    return HG_OK;
}

static hg_result take_frame(reader *r)
{
    hg_frame frame;
    hg_result res = hg_child_next(&r->child, r->params->timeout_s, &frame);

    if (res == HG_ERR_FILE && frame.tag[0])
        return rubbish(r, "no frame");
    if (res != HG_OK)
        return res;
    if (strcmp(frame.tag, "STAG") == 0)
        return take_stage(r, &frame);
    if (strcmp(frame.tag, "META") == 0)
        return take_meta(r, &frame);
    if (strcmp(frame.tag, "FAIL") == 0)
        return take_failure(r, &frame);
    return take_small(r, &frame);
}

/* How the child ended, in words, when it has not finished. */
static void say_end(reader *r, hg_result res, int ending)
{
    char how[128];

    if (ending == hg_exit_code(HG_ERR_FILE) && r->failure_result == HG_OK)
        r->failure_result = HG_ERR_FILE; /* a weight file that became shorter */
    if (res == HG_TIMEOUT)
        snprintf(r->failure, sizeof(r->failure),
                 "%s hung: no sign of life for %u s, its process was ended",
                 r->side ? "the driver" : "it", r->params->timeout_s);
    else if (ending >= 256 && !r->failure[0])
        snprintf(r->failure, sizeof(r->failure), "%s crashed: its process was %s",
                 r->side ? "the driver" : "it", hg_child_describe(ending, how));
    else if (!r->failure[0])
        snprintf(r->failure, sizeof(r->failure), "its process ended early: %s",
                 hg_child_describe(ending, how));
}

/* Runs one child to its end. HG_OK: it finished; HG_ERR_DRIVER: it did not, and failure says how.
 * Else our own trouble. */
static hg_result run_child(reader *r)
{
    hg_result res = hg_child_start(&r->child, hg_compare_work, r->job);
    int ending;

    if (res != HG_OK)
        return res;
    while (res == HG_OK && !r->is_done)
        res = take_frame(r);
    ending = hg_child_stop(
        &r->child,
        res == HG_OK || (res == HG_ERR_FILE && !r->failure[0]) || res == HG_CANCELLED ? 3 : 0);
    free(r->values);
    free(r->other);
    free(r->allowed);
    if (hg_interrupt_pending() || res == HG_CANCELLED)
        return HG_CANCELLED;
    if (res == HG_OK && ending == 0)
        return HG_OK;
    if (res == HG_ERR_HOST_MEMORY || res == HG_ERR_OUTPUT)
        return res; /* ours; said */
    say_end(r, res, ending);
    return HG_ERR_DRIVER;
}

static hg_result run_reference(hg_compare_job *j, hg_comparison *out, hg_spool *reference)
{
    reader r = {.params = j->params, .job = j, .out = out, .keep = reference};
    hg_result res;

    j->who = HG_COMPARE_REFERENCE;
    HG_TRY(hg_spool_create(reference));
    res = run_child(&r);
    if (res == HG_ERR_DRIVER)
        res = hg_message_fail(r.failure_result != HG_OK ? r.failure_result : HG_ERR_DRIVER,
                              "the reference could not run: %s", r.failure);
out:
    j->reference = reference;
    return res;
}

static hg_result run_text(hg_compare_job *j, hg_comparison *out, double *rounding)
{
    reader r = {
        .params = j->params, .job = j, .out = out, .reference = j->reference, .rounding = rounding};
    hg_result res;

    j->who = HG_COMPARE_TEXT;
    res = run_child(&r);
    if (res != HG_ERR_DRIVER)
        return res;
    return hg_message_fail(r.failure_result != HG_OK ? r.failure_result : HG_ERR_DRIVER,
                           "the exact reference could not run: %s", r.failure);
}

/* Side i: a child, or, of a loaded baseline, nothing. */
static hg_result run_side(hg_compare_job *j, hg_comparison *out, uint32_t i, double *rounding)
{
    const uint32_t first = out->is_loaded ? 1 : 0;
    hg_compare_side *side = &out->sides[i];
    reader r = {.params = j->params,
                .job = j,
                .out = out,
                .side = side,
                .reference = j->reference,
                .expected = i == 0 || out->is_lost ? j->reference : &out->baseline,
                .keep = i == 0 ? &out->baseline : NULL,
                .rounding = rounding};
    const uint64_t from_ns = hg_clock_ns();
    double per_s;
    hg_result res;

    j->who = (int32_t)(i - first);
    snprintf(side->label, sizeof(side->label), "%s", j->params->labels[i - first]);
    hg_message_defuse(side->label);
    side->runs = 1;
    res = run_child(&r);
    side->runs = j->params->runs;
    side->wall_s = 1e-9 * (double)(hg_clock_ns() - from_ns);
    per_s = side->meta.tokens_per_s;
    side->meta.tokens_per_s = isfinite(per_s) && per_s > 0 ? per_s : 0;
    if (res == HG_ERR_DRIVER) {
        side->verdict = HG_VERDICT_NOT_RUN;
        snprintf(side->reason, sizeof(side->reason), "%s", r.failure);
        res = HG_OK;
    }
    return res;
}

/* The record's stages have to be this run's. */
static hg_result check_loaded(const hg_comparison *c, const hg_spool *reference)
{
    if (c->baseline.count != reference->count)
        return hg_message_fail(
            HG_ERR_FILE,
            "%s has %u stages, this model and prompt have %u: was it made from the same checkpoint "
            "by this version?",
            c->record, c->baseline.count, reference->count);
    for (uint32_t i = 0; i < reference->count; i++) {
        char label[64];

        if (!hg_stage_head_matches(&c->baseline.entries[i].head, &reference->entries[i].head))
            return hg_message_fail(
                HG_ERR_FILE, "%s: its stage %u is %s, not what this model has there", c->record,
                i + 1, hg_stage_head_label(&c->baseline.entries[i].head, label));
    }
    return HG_OK;
}

/* The loaded baseline is measured against the reference where it kept values. */
static hg_result judge_loaded(hg_compare_job *j, hg_comparison *out, double *rounding)
{
    hg_compare_side *side = &out->sides[0];
    reader r = {.params = j->params,
                .job = j,
                .out = out,
                .side = side,
                .reference = j->reference,
                .expected = j->reference,
                .rounding = rounding};
    hg_result res = HG_OK;

    snprintf(side->label, sizeof(side->label), "record");
    side->runs = 1;
    for (r.index = 0; r.index < j->reference->count && res == HG_OK; r.index++) {
        const hg_spool_entry *entry = &out->baseline.entries[r.index];
        hg_stage_row *row = row_of(&r, r.index);

        if (!row) {
            res = hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the rows of a comparison");
            break;
        }
        row->head = entry->head;
        if (!entry->values_at) {
            row->is_other = memcmp(entry->head.sha256, j->reference->entries[r.index].head.sha256,
                                   HG_SHA256_BYTES) != 0;
            continue;
        }
        res = need_room(&r, entry->head.count);
        if (res == HG_OK)
            res = hg_spool_values(&out->baseline, r.index, r.values);
        if (res == HG_OK)
            res = judge_free(&r, &entry->head);
    }
    free(r.values);
    free(r.other);
    free(r.allowed);
    return res;
}

static hg_result make_sides(const hg_compare_params *params, hg_comparison *out)
{
    out->is_loaded = params->loaded != NULL;
    out->side_count = params->side_count + out->is_loaded;
    out->sides = calloc(out->side_count, sizeof(*out->sides));
    if (!out->sides)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a comparison");
    for (uint32_t i = 0; i < out->side_count; i++)
        out->sides[i].decisive = UINT32_MAX;
    if (!params->loaded)
        return hg_spool_create(&out->baseline);
    /* Taken over: the caller's record is empty from here on. */
    out->baseline = params->loaded->spool;
    out->sides[0].meta = params->loaded->meta;
    memcpy(out->record, params->loaded->name, sizeof(out->record));
    memset(params->loaded, 0, sizeof(*params->loaded));
    params->loaded->spool.fd = -1;
    return HG_OK;
}

static void settle_shape(const hg_compare_params *params, hg_compare_job *j, hg_comparison *out)
{
    hg_model_info info = {.struct_size = sizeof(info)};

    hg_checkpoint_describe(params->checkpoint, &info);
    out->layers = info.layers;
    out->heads = info.heads;
    out->tokens = params->count;
    j->piece = hg_trace_piece(&info, params->count);
    j->map_pool = (params->count + MAP_CELLS - 1) / MAP_CELLS;
    if (params->loaded) {
        j->piece = params->loaded->meta.piece ? params->loaded->meta.piece : j->piece;
        j->map_pool = params->loaded->meta.map_pool;
    }
    out->map_pool = j->map_pool;
    out->map_cells = j->map_pool ? (params->count + j->map_pool - 1) / j->map_pool : 0;
}

hg_result hg_compare_run(const hg_compare_params *params, hg_comparison *out)
{
    hg_compare_job j = {.params = params};
    hg_spool reference = {.fd = -1};
    double *rounding = NULL;
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    out->baseline.fd = -1;
    out->strange_stage = UINT32_MAX;
    settle_shape(params, &j, out);
    HG_TRY(make_sides(params, out));
    HG_TRY(run_reference(&j, out, &reference));
    rounding = calloc((size_t)reference.count + 1, sizeof(*rounding));
    if (!rounding) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for the bounds of a comparison");
        goto out;
    }
    HG_TRY(run_text(&j, out, rounding));
    if (out->is_loaded) {
        HG_TRY(check_loaded(out, &reference));
        HG_TRY(judge_loaded(&j, out, rounding));
    }
    for (uint32_t i = out->is_loaded; i < out->side_count; i++) {
        HG_TRY(run_side(&j, out, i, rounding));
        out->is_lost |= i == 0 && out->sides[0].verdict == HG_VERDICT_NOT_RUN;
    }
    hg_compare_judge(out);
out:
    free(rounding);
    hg_spool_close(&reference);
    if (res != HG_OK)
        hg_comparison_free(out);
    return res;
}

void hg_comparison_free(hg_comparison *comparison)
{
    for (uint32_t i = 0; comparison->sides && i < comparison->side_count; i++) {
        hg_record_meta_free(&comparison->sides[i].meta);
        free(comparison->sides[i].rows);
        free(comparison->sides[i].maps);
    }
    free(comparison->sides);
    hg_spool_close(&comparison->baseline);
    memset(comparison, 0, sizeof(*comparison));
    comparison->baseline.fd = -1;
}
