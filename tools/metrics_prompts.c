/* SPDX-License-Identifier: MIT */
/* Many prompts in passes, measured; printed when all are through. */
#include "metrics_prompts.h"

#include "interrupt.h"
#include "maps.h"
#include "measures.h"
#include "message.h"
#include "passes.h"
#include "provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 13 };

typedef struct prompts_job {
    hg_source source;
    hg_prompts prompts;
    hg_machine machine;
    hg_passes passes;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_layer_choice layers;
    hg_measures *measures; /* [prompts] */
    hg_measures mean;
    hg_layer_metrics *row; /* [prompts of a pass] */
    double *shares;        /* [prompts of a pass, 2, heads] */
    uint32_t pass_count;
    hg_output *output;
} prompts_job;

static hg_result prepare(prompts_job *job)
{
    const size_t count = job->prompts.count;
    const uint32_t heads = job->source.info.heads;
    hg_result res;

    job->measures = calloc(count, sizeof(*job->measures));
    job->row = calloc(count, sizeof(*job->row));
    job->shares = calloc(count * 2 * heads, sizeof(*job->shares));
    if (!job->measures || !job->row || !job->shares)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    res = hg_measures_create(&job->layers, heads, &job->mean);
    for (size_t i = 0; i < count && res == HG_OK; i++) {
        res = hg_measures_create(&job->layers, heads, &job->measures[i]);
        for (int later = 0; later < 2; later++)
            job->measures[i].uniform[later] = hg_null_share(
                job->source.info.sliding_window, job->prompts.rows[i].prompt.count, later);
    }
    return res;
}

/* A layer at a time of all prompts of the pass. */
static hg_result measure_pass(hg_app *app, prompts_job *job)
{
    const hg_passes *p = &job->passes;
    const size_t width = (size_t)job->source.info.heads * 2;
    hg_result res = HG_OK;

    for (uint32_t layer = 0; layer < job->layers.count && res == HG_OK; layer++) {
        hg_meter_step(&app->meter, "metrics", layer, job->layers.count);
        res = hg_batch_metrics(p->evaluation.session, job->layers.layers[layer], job->row,
                               job->shares);
        for (uint32_t i = 0; i < p->count && res == HG_OK; i++) {
            hg_measures *m = &job->measures[p->first + i];

            m->metrics[layer] = job->row[i];
            memcpy(m->shares + layer * width, job->shares + i * width, width * sizeof(*m->shares));
        }
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    hg_meter_stop(&app->meter);
    return res;
}

/* The name in NAME_COLUMNS columns: characters, those of scripts that are wider may move a line. */
static hg_result print_name(hg_output *output, const char *name)
{
    char text[NAME_COLUMNS * 4 + 1];
    size_t bytes = 0;
    uint32_t columns = 0;

    while (name[bytes] && bytes + 1 < sizeof(text)) {
        const int begins = ((unsigned char)name[bytes] & 0xc0) != 0x80;

        if (begins && columns == NAME_COLUMNS)
            break;
        columns += begins ? 1u : 0u;
        text[bytes] = name[bytes];
        bytes++;
    }
    text[bytes] = '\0';
    hg_message_defuse(text);
    return hg_output_format(output, "%s%*s", text, (int)(NAME_COLUMNS - columns), "");
}

static hg_result print_row(hg_output *output, const char *name, uint64_t tokens,
                           const hg_measures *m)
{
    hg_result res;

    HG_TRY(print_name(output, name));
    HG_TRY(hg_output_format(output, " %6llu", (unsigned long long)tokens));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_share(m, 0)));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_share(m, 1)));
    HG_TRY(hg_measures_print_cell(output, "share", m->uniform[0]));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_gate(m, 0)));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_gate(m, 1)));
    HG_TRY(hg_measures_print_cell(output, "size", hg_measures_largest(m)));
    HG_TRY(hg_output_text(output, "\n"));
out:
    return res;
}

static hg_result print_table(const prompts_job *job)
{
    hg_output *output = job->output;
    const double tokens = (double)job->prompts.tokens / (double)job->prompts.count;
    hg_result res;

    HG_TRY(hg_output_format(
        output,
        "%s, %u prompts, %llu tokens.\n"
        "F: mean attention on the first token; null: of uniform attention.\n\n"
        "PROMPT        TOKENS         F   F later      null      gate   gate<.1    max|x|\n",
        job->source.name, job->prompts.count, (unsigned long long)job->prompts.tokens));
    for (uint32_t i = 0; i < job->prompts.count; i++)
        HG_TRY(print_row(output, job->prompts.rows[i].name, job->prompts.rows[i].prompt.count,
                         &job->measures[i]));
    HG_TRY(print_row(output, "mean", (uint64_t)(tokens + 0.5), &job->mean));
    HG_TRY(hg_output_text(output, "\nMean over the prompts (max|x|: the largest)\n"));
    HG_TRY(hg_measures_print_layers(output, &job->mean));
    HG_TRY(hg_measures_print_heads(output, &job->mean, 0));
    HG_TRY(hg_measures_print_heads(output, &job->mean, 1));
out:
    return res;
}

static void put_json(const prompts_job *job)
{
    hg_put put;

    hg_put_start(&put, job->output, "metrics");
    hg_put_text(&put, "model", job->source.name);
    hg_put_array(&put, "prompts");
    for (uint32_t i = 0; i < job->prompts.count; i++) {
        const hg_prompts_row *row = &job->prompts.rows[i];

        hg_put_object(&put, NULL);
        hg_put_unsigned(&put, "number", i + 1);
        hg_put_unsigned(&put, "line", row->line);
        hg_put_text(&put, "name", row->named ? row->name : NULL);
        hg_put_ids(&put, "ids", row->prompt.ids, row->prompt.count);
        hg_measures_put(&put, &job->measures[i]);
        hg_put_end(&put);
    }
    hg_put_end(&put);
    hg_put_object(&put, "mean");
    hg_put_unsigned(&put, "prompts", job->prompts.count);
    hg_put_unsigned(&put, "tokens", job->prompts.tokens);
    hg_measures_put(&put, &job->mean);
    hg_put_end(&put);
    hg_put_unsigned(&put, "passes", job->pass_count);
    hg_provenance_put(&job->provenance, &put);
    hg_put_finish(&put);
}

static hg_result make(hg_app *app, prompts_job *job)
{
    hg_machine_choice choice;
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN};
    hg_result res;

    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_source_open(app, app->args->operands[0], &job->source));
    HG_TRY(hg_layers_choose(app->args, &job->source.info, 0, &job->layers));
    HG_TRY(hg_prompts_read(app, &job->source, &job->prompts));
    HG_TRY(prepare(job));
    HG_TRY(hg_output_open("-", &job->output));
    if (hg_args_count(app->args, HG_OPTION_JSON))
        HG_TRY(hg_weights_digest_start(app, job->source.checkpoint, &job->digest));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    wish.layers = job->layers.layers;
    wish.layer_count = job->layers.count;
    HG_TRY(hg_passes_open(app, &job->machine, &job->source, &job->prompts, &wish, &job->passes));
    for (;; job->pass_count++) {
        HG_TRY(hg_passes_next(&job->passes));
        if (job->passes.count == 0)
            break;
        HG_TRY(measure_pass(app, job));
    }
    hg_measures_average(job->measures, job->prompts.count, &job->mean);
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        HG_TRY(hg_provenance_fill(app, &job->source, &job->machine, NULL, job->digest,
                                  &job->provenance));
        put_json(job);
    } else {
        HG_TRY(print_table(job));
    }
    HG_TRY(hg_output_commit(&job->output));
out:
    return res;
}

int hg_metrics_prompts(hg_app *app)
{
    prompts_job *job = calloc(1, sizeof(*job));
    hg_result res;
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = make(app, job);
    code = hg_exit_code(res);
    hg_output_discard(&job->output);
    for (uint32_t i = 0; job->measures && i < job->prompts.count; i++)
        hg_measures_free(&job->measures[i]);
    hg_measures_free(&job->mean);
    free(job->measures);
    free(job->row);
    free(job->shares);
    hg_weights_digest_free(&job->digest);
    hg_passes_free(&job->passes);
    if (code == 0 && hg_machine_complained(&job->machine))
        code = 1;
    hg_machine_close(&job->machine);
    hg_layers_free(&job->layers);
    hg_prompts_free(&job->prompts);
    hg_source_close(&job->source);
    free(job);
    return code;
}
