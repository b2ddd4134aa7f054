/* SPDX-License-Identifier: MIT */
/* A comparison as JSON, every stage of every device. See compare_report.h. */
#include "compare_report.h"

#include "app.h"

#include <string.h>

static void put_excess(const hg_comparison *c, const hg_stage_row *row, hg_put *put)
{
    char place[96];
    int64_t token;

    hg_put_object(put, "isolated");
    hg_put_unsigned(put, "beyond", row->excess.beyond);
    hg_put_number(put, "share_of_bound", row->excess.worst);
    if (row->excess.worst > 0) {
        hg_put_text(put, "at",
                    hg_stage_place(&row->head, row->excess.worst_at, c->map_pool, &token, place));
        hg_put_unsigned(put, "index", row->excess.worst_at);
        hg_put_float(put, "found", row->excess.worst_found);
        hg_put_float(put, "expected", row->excess.worst_expected);
        hg_put_float(put, "allowed", row->excess.worst_allowed);
    }
    hg_put_end(put);
}

static void put_difference(const hg_compare_report *report, const hg_stage_row *row, hg_put *put)
{
    const hg_difference *d = &row->difference;
    char place[96], text[64];
    int64_t token = -1;

    hg_put_object(put, "end_to_end");
    hg_put_unsigned(put, "differing_bits", d->differing);
    hg_put_number(put, "max_abs", d->max_abs);
    hg_put_number(put, "nmse", d->nmse);
    hg_put_number(put, "cosine", d->cosine);
    hg_put_number(put, "distance", d->distance);
    hg_put_number(put, "bound", row->bound);
    hg_put_number(put, "roundings", HG_COMPARE_ROUNDINGS * hg_stage_free_share(row));
    hg_put_boolean(put, "beyond", (int)row->is_beyond);
    if (d->max_abs > 0) {
        hg_put_text(
            put, "at",
            hg_stage_place(&row->head, d->max_at, report->comparison->map_pool, &token, place));
        hg_put_integer(put, "token", token);
        hg_put_text(put, "token_text", hg_compare_token(report, token, text));
        hg_put_unsigned(put, "index", d->max_at);
        hg_put_float(put, "found", d->max_found);
        hg_put_float(put, "expected", d->max_expected);
    }
    hg_put_end(put);
}

static void put_row(const hg_compare_report *report, const hg_stage_row *row, hg_put *put)
{
    hg_put_object(put, NULL);
    hg_put_text(put, "stage", row->head.name);
    hg_put_integer(put, "layer", row->head.layer);
    hg_put_unsigned(put, "first_token", row->head.first_token);
    hg_put_text(put, "kernel", row->head.kernel);
    hg_put_text(put, "tier", row->head.tier);
    hg_put_text(put, "dtype", row->head.dtype);
    hg_put_row(put, "shape");
    for (uint32_t i = 0; i < row->head.rank; i++)
        hg_put_unsigned(put, NULL, row->head.shape[i]);
    hg_put_end(put);
    hg_put_hex(put, "sha256", row->head.sha256, HG_SHA256_BYTES);
    hg_put_boolean(put, "same_bits", !row->is_other);
    if (row->is_measured)
        put_difference(report, row, put);
    if (row->is_isolated)
        put_excess(report->comparison, row, put);
    hg_put_end(put);
}

static void put_decision(const hg_compare_side *side, hg_put *put)
{
    const hg_stage_head *head;
    char how[128];

    if (side->decisive == UINT32_MAX || side->decisive >= side->row_count) {
        hg_put_null(put, "first_beyond");
        return;
    }
    head = &side->rows[side->decisive].head;
    hg_put_object(put, "first_beyond");
    hg_put_text(put, "stage", head->name);
    hg_put_integer(put, "layer", head->layer);
    hg_put_text(put, "kernel", head->kernel);
    hg_put_text(put, "how", hg_stage_how(head, how));
    hg_put_text(put, "pass", side->decisive_pass == HG_PASS_FREE ? "end_to_end" : "isolated");
    hg_put_end(put);
}

static void put_side(const hg_compare_report *report, uint32_t index, hg_put *put)
{
    const hg_comparison *c = report->comparison;
    const hg_compare_side *side = &c->sides[index];
    const hg_record_meta *m = &side->meta;
    const hg_agreement *a = &side->agreement;

    hg_put_object(put, NULL);
    hg_put_text(put, "device", side->label);
    hg_put_text(put, "role", index == 0 ? "baseline" : "compared");
    hg_put_text(put, "selector", m->selector);
    hg_put_text(put, "name", m->device);
    hg_put_text(put, "driver", m->driver);
    hg_put_text(put, "driver_version", m->driver_version);
    hg_put_text(put, "api_version", m->api);
    hg_put_text(put, "precision", m->precision);
    hg_put_text(put, "program", m->program);
    hg_put_text(put, "verdict", hg_verdict_name(side->verdict));
    hg_put_text(put, "reason", side->reason);
    put_decision(side, put);
    hg_put_number(put, "tokens_per_second", m->tokens_per_s);
    if (index == 0 && c->is_loaded)
        hg_put_null(put, "wall_s");
    else
        hg_put_number(put, "wall_s", side->wall_s);
    hg_put_unsigned(put, "runs", side->runs);
    hg_put_unsigned(put, "runs_differ", side->runs_differ);
    hg_put_unsigned(put, "untapped_differ", side->untapped_differ);
    hg_put_number(put, "untapped_distance", side->untapped_distance);
    if (a->tokens || a->strange) {
        hg_put_object(put, "logits"); /* of no tokens: 0 / 0 is null */
        hg_put_number(put, "kl_mean", a->kl_sum / (double)a->tokens);
        hg_put_number(put, "kl_max", a->kl_max);
        hg_put_number(put, "same_likeliest", (double)a->same_first / (double)a->tokens);
        hg_put_number(put, "same_top_10", a->top_shared / (double)a->tokens);
        hg_put_unsigned(put, "tokens_not_finite", a->strange);
        hg_put_end(put);
    }
    hg_put_number(put, "roundings", HG_COMPARE_ROUNDINGS * side->worst_free);
    hg_put_number(put, "share_of_bound", side->worst_isolated);
    hg_put_unsigned(put, "stages_measured", side->measured);
    hg_put_array(put, "stages");
    for (uint32_t i = 0; i < side->row_count; i++)
        put_row(report, &side->rows[i], put);
    hg_put_end(put);
    hg_put_end(put);
}

void hg_compare_put_json(const hg_compare_report *report, hg_put *put)
{
    const hg_comparison *c = report->comparison;

    hg_put_text(put, "model", report->source->name);
    hg_put_text(put, "weights_sha256", report->weights);
    hg_put_text(put, "exact_revision", HG_EXACT_REVISION);
    hg_put_text(put, "command", report->command_line);
    hg_put_ids(put, "ids", report->prompt->ids, report->prompt->count);
    hg_put_text(put, "verdict", hg_verdict_name(c->verdict));
    hg_put_text(put, "reason", c->reason);
    hg_put_text(put, "note", c->note[0] ? c->note : NULL);
    hg_put_text(put, "baseline",
                c->is_lost     ? "reference"
                : c->is_loaded ? "record"
                               : c->sides[0].label);
    hg_put_number(put, "roundings_allowed", HG_COMPARE_ROUNDINGS);
    hg_put_unsigned(put, "map_pool", c->map_pool);
    hg_put_array(put, "devices");
    for (uint32_t i = 0; i < c->side_count; i++)
        put_side(report, i, put);
    hg_put_end(put);
}
