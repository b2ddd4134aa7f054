/* SPDX-License-Identifier: MIT */
/*
 * Rotary frequencies and tables, as transformers 4.51 ROPE_INIT_FUNCTIONS give them to the original
 * class, oddities included: yarn takes its factor from the two lengths where both are known, and
 * longrope never reaches its long factors, because the class asks for new frequencies under
 * "dynamic" only.
 */
#include "config.h"
#include "real.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

int hg_rope_depends_on_length(const hg_config *config)
{
    return config->rope.type == HG_ROPE_DYNAMIC;
}

static void plain_frequencies(double theta, uint32_t head_dim, double *inv_freq)
{
    uint32_t i;

    for (i = 0; i < head_dim / 2; i++)
        inv_freq[i] = 1.0 / hg_real_pow(theta, 2.0 * i / head_dim);
}

static void dynamic_frequencies(const hg_config *config, uint32_t tokens, double *inv_freq)
{
    double factor = config->rope.factor, dim = config->head_dim;
    double longest = config->max_positions;
    double length = tokens > config->max_positions ? tokens : longest;
    double growth = factor * length / longest - (factor - 1.0);

    /* Not longer than trained: exactly the plain frequencies. */
    plain_frequencies(length > longest ? config->rope.theta * hg_real_pow(growth, dim / (dim - 2.0))
                                       : config->rope.theta,
                      config->head_dim, inv_freq);
}

static double yarn_magnitude(double factor, double scale)
{
    return factor <= 1.0 ? 1.0 : 0.1 * scale * hg_real_log(factor) + 1.0;
}

/* The dimension that turns `turns` times over the original length. */
static double yarn_dimension(const hg_config *config, double original, double turns)
{
    return config->head_dim * hg_real_log(original / (turns * 2.0 * PI)) /
           (2.0 * hg_real_log(config->rope.theta));
}

static void yarn_frequencies(const hg_config *config, double *inv_freq, double *scaling)
{
    const hg_rope *rope = &config->rope;
    double original = config->max_positions, factor = rope->factor;
    double low, high;
    uint32_t i;

    if (rope->original_max_positions > 0) {
        original = rope->original_max_positions;
        factor = config->max_positions / original;
    }
    if (rope->attention_factor > 0)
        *scaling = rope->attention_factor;
    else if (rope->mscale != 0 && rope->mscale_all_dim != 0)
        *scaling =
            yarn_magnitude(factor, rope->mscale) / yarn_magnitude(factor, rope->mscale_all_dim);
    else
        *scaling = yarn_magnitude(factor, 1.0);
    low = fmax(floor(yarn_dimension(config, original, rope->beta_fast)), 0.0);
    high = fmin(ceil(yarn_dimension(config, original, rope->beta_slow)), config->head_dim - 1.0);
    if (low == high)
        high += 0.001;
    plain_frequencies(rope->theta, config->head_dim, inv_freq);
    for (i = 0; i < config->head_dim / 2; i++) {
        double ramp = fmin(fmax((i - low) / (high - low), 0.0), 1.0);

        inv_freq[i] = inv_freq[i] / factor * ramp + inv_freq[i] * (1.0 - ramp);
    }
}

static void llama3_frequencies(const hg_config *config, double *inv_freq)
{
    const hg_rope *rope = &config->rope;
    double longest = rope->original_max_positions / rope->low_freq_factor;
    double shortest = rope->original_max_positions / rope->high_freq_factor;
    uint32_t i;

    plain_frequencies(rope->theta, config->head_dim, inv_freq);
    for (i = 0; i < config->head_dim / 2; i++) {
        double wave = 2.0 * PI / inv_freq[i];
        double smooth = (rope->original_max_positions / wave - rope->low_freq_factor) /
                        (rope->high_freq_factor - rope->low_freq_factor);

        if (wave > longest)
            inv_freq[i] /= rope->factor;
        else if (wave >= shortest)
            inv_freq[i] = (1.0 - smooth) * inv_freq[i] / rope->factor + smooth * inv_freq[i];
    }
}

static void longrope_frequencies(const hg_config *config, double *inv_freq, double *scaling)
{
    const hg_rope *rope = &config->rope;
    double original = config->max_positions, factor = rope->factor;
    uint32_t i;

    if (rope->original_max_positions > 0) {
        original = rope->original_max_positions;
        factor = config->max_positions / original;
    }
    if (rope->attention_factor > 0)
        *scaling = rope->attention_factor;
    else if (factor > 1.0)
        *scaling = sqrt(1.0 + hg_real_log(factor) / hg_real_log(original));
    plain_frequencies(rope->theta, config->head_dim, inv_freq);
    for (i = 0; i < config->head_dim / 2; i++)
        inv_freq[i] /= rope->short_factor[i];
}

void hg_rope_frequencies(const hg_config *config, uint32_t tokens, double *inv_freq,
                         double *scaling)
{
    uint32_t i;

    *scaling = 1.0;
    switch (config->rope.type) {
    case HG_ROPE_DYNAMIC:
        dynamic_frequencies(config, tokens, inv_freq);
        return;
    case HG_ROPE_YARN:
        yarn_frequencies(config, inv_freq, scaling);
        return;
    case HG_ROPE_LLAMA3:
        llama3_frequencies(config, inv_freq);
        return;
    case HG_ROPE_LONGROPE:
        longrope_frequencies(config, inv_freq, scaling);
        return;
    case HG_ROPE_DEFAULT:
    case HG_ROPE_LINEAR:
        break;
    }
    plain_frequencies(config->rope.theta, config->head_dim, inv_freq);
    if (config->rope.type == HG_ROPE_LINEAR)
        for (i = 0; i < config->head_dim / 2; i++)
            inv_freq[i] /= config->rope.factor;
}

/* Values that exact arithmetic would treat as zero are zero in the table, too. */
static float table_value(double value)
{
    float rounded = (float)value;

    return fabsf(rounded) < 0x1p-50f ? 0.0f : rounded;
}

void hg_rope_table(const double *inv_freq, double scaling, uint32_t head_dim,
                   uint32_t position_first, uint32_t count, float *table)
{
    uint32_t half = head_dim / 2, row, i;
    double sine, cosine;

    for (row = 0; row < count; row++) {
        double position = (double)position_first + row;

        for (i = 0; i < half; i++) {
            hg_real_sincos(position * inv_freq[i], &sine, &cosine);
            *table++ = table_value(cosine * scaling);
            *table++ = table_value(sine * scaling);
        }
    }
}
