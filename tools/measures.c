/* SPDX-License-Identifier: MIT */
/* See measures.h. */
#include "measures.h"

#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hg_result hg_measures_create(const hg_layer_choice *layers, uint32_t heads, hg_measures *out)
{
    out->layers = layers;
    out->heads = heads;
    out->metrics = calloc(layers->count, sizeof(*out->metrics));
    out->shares = calloc((size_t)layers->count * heads * 2, sizeof(*out->shares));
    if (out->metrics && out->shares)
        return HG_OK;
    hg_measures_free(out);
    return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
}

void hg_measures_free(hg_measures *measures)
{
    free(measures->metrics);
    free(measures->shares);
    measures->metrics = NULL;
    measures->shares = NULL;
}

/* A mean of what there is. */
typedef struct mean {
    double sum;
    uint32_t count;
} mean;

static void mean_add(mean *m, double value)
{
    if (isnan(value))
        return;
    m->sum += value;
    m->count++;
}

static double mean_value(const mean *m)
{
    return m->count ? m->sum / m->count : (double)NAN;
}

double hg_measures_share(const hg_measures *measures, int later)
{
    mean m = {0};

    for (uint32_t i = 0; i < measures->layers->count; i++)
        mean_add(&m, later ? measures->metrics[i].first_token_share_later
                           : measures->metrics[i].first_token_share);
    return mean_value(&m);
}

double hg_measures_gate(const hg_measures *measures, int below_tenth)
{
    mean m = {0};

    for (uint32_t i = 0; i < measures->layers->count; i++)
        mean_add(&m, below_tenth ? measures->metrics[i].gate_below_tenth
                                 : measures->metrics[i].gate_mean);
    return mean_value(&m);
}

double hg_measures_largest(const hg_measures *measures)
{
    double largest = (double)NAN;

    for (uint32_t i = 0; i < measures->layers->count; i++)
        largest = fmax(largest, measures->metrics[i].hidden_abs_max); /* NaN gives way */
    return largest;
}

static void average_layer(const hg_measures *prompts, uint32_t count, uint32_t layer,
                          hg_layer_metrics *out)
{
    mean share = {0}, later = {0}, gate = {0}, below = {0};

    out->hidden_abs_max = (double)NAN;
    for (uint32_t i = 0; i < count; i++) {
        const hg_layer_metrics *m = &prompts[i].metrics[layer];

        mean_add(&share, m->first_token_share);
        mean_add(&later, m->first_token_share_later);
        mean_add(&gate, m->gate_mean);
        mean_add(&below, m->gate_below_tenth);
        out->hidden_abs_max = fmax(out->hidden_abs_max, m->hidden_abs_max);
    }
    out->first_token_share = mean_value(&share);
    out->first_token_share_later = mean_value(&later);
    out->gate_mean = mean_value(&gate);
    out->gate_below_tenth = mean_value(&below);
}

void hg_measures_average(const hg_measures *prompts, uint32_t count, hg_measures *out)
{
    const size_t shares = (size_t)out->layers->count * out->heads * 2;

    for (uint32_t layer = 0; layer < out->layers->count; layer++)
        average_layer(prompts, count, layer, &out->metrics[layer]);
    for (size_t i = 0; i < shares; i++) {
        mean m = {0};

        for (uint32_t p = 0; p < count; p++)
            mean_add(&m, prompts[p].shares[i]);
        out->shares[i] = mean_value(&m);
    }
    for (int later = 0; later < 2; later++) {
        mean m = {0};

        for (uint32_t p = 0; p < count; p++)
            mean_add(&m, prompts[p].uniform[later]);
        out->uniform[later] = mean_value(&m);
    }
}

hg_result hg_measures_print_cell(hg_output *output, const char *format, double value)
{
    char text[32] = "-";

    if (!isnan(value))
        snprintf(text, sizeof(text), strcmp(format, "share") == 0 ? "%.4f" : "%.4g", value);
    return hg_output_format(output, " %9s", text);
}

hg_result hg_measures_print_layers(hg_output *output, const hg_measures *measures)
{
    hg_result res;

    HG_TRY(hg_output_text(output, "LAYER         F   F later      gate gate<.1     max|x|\n"));
    for (uint32_t i = 0; i < measures->layers->count; i++) {
        const hg_layer_metrics *m = &measures->metrics[i];

        HG_TRY(hg_output_format(output, "%5u", measures->layers->layers[i] + 1));
        HG_TRY(hg_measures_print_cell(output, "share", m->first_token_share));
        HG_TRY(hg_measures_print_cell(output, "share", m->first_token_share_later));
        HG_TRY(hg_measures_print_cell(output, "share", m->gate_mean));
        HG_TRY(hg_measures_print_cell(output, "share", m->gate_below_tenth));
        HG_TRY(hg_measures_print_cell(output, "size", m->hidden_abs_max));
        HG_TRY(hg_output_text(output, "\n"));
    }
    HG_TRY(hg_output_text(output, " mean"));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_share(measures, 0)));
    HG_TRY(hg_measures_print_cell(output, "share", hg_measures_share(measures, 1)));
    HG_TRY(hg_output_text(output, "\n null"));
    HG_TRY(hg_measures_print_cell(output, "share", measures->uniform[0]));
    HG_TRY(hg_measures_print_cell(output, "share", measures->uniform[1]));
    HG_TRY(hg_output_text(output, "   uniform attention\n"));
out:
    return res;
}

hg_result hg_measures_print_heads(hg_output *output, const hg_measures *measures, int later)
{
    uint32_t heads = measures->heads;
    hg_result res;

    HG_TRY(hg_output_format(output, "\nF per head%s\n", later ? ", without query 0" : ""));
    for (uint32_t i = 0; i < measures->layers->count; i++) {
        const double *shares = measures->shares + ((size_t)i * 2 + (size_t)later) * heads;

        HG_TRY(hg_output_format(output, "%5u", measures->layers->layers[i] + 1));
        for (uint32_t head = 0; head < heads; head++) {
            if (head > 0 && head % 8 == 0)
                HG_TRY(hg_output_text(output, "\n     "));
            HG_TRY(hg_measures_print_cell(output, "share", shares[head]));
        }
        HG_TRY(hg_output_text(output, "\n"));
    }
out:
    return res;
}

static void put_shares(hg_put *put, const char *key, const double *shares, uint32_t count)
{
    hg_put_row(put, key);
    for (uint32_t i = 0; i < count; i++)
        hg_put_number(put, NULL, shares[i]);
    hg_put_end(put);
}

void hg_measures_put(hg_put *put, const hg_measures *measures)
{
    uint32_t heads = measures->heads;

    hg_put_number(put, "uniform_share", measures->uniform[0]);
    hg_put_number(put, "uniform_share_later", measures->uniform[1]);
    hg_put_number(put, "mean_first_token_share", hg_measures_share(measures, 0));
    hg_put_number(put, "mean_first_token_share_later", hg_measures_share(measures, 1));
    hg_put_array(put, "layers");
    for (uint32_t i = 0; i < measures->layers->count; i++) {
        const hg_layer_metrics *m = &measures->metrics[i];
        const double *shares = measures->shares + (size_t)i * 2 * heads;

        hg_put_object(put, NULL);
        hg_put_unsigned(put, "layer", measures->layers->layers[i] + 1);
        hg_put_number(put, "first_token_share", m->first_token_share);
        hg_put_number(put, "first_token_share_later", m->first_token_share_later);
        hg_put_number(put, "gate_mean", m->gate_mean);
        hg_put_number(put, "gate_below_tenth", m->gate_below_tenth);
        hg_put_number(put, "hidden_abs_max", m->hidden_abs_max);
        put_shares(put, "head_first_token_share", shares, heads);
        put_shares(put, "head_first_token_share_later", shares + heads, heads);
        hg_put_end(put);
    }
    hg_put_end(put);
}
