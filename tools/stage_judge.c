/* SPDX-License-Identifier: MIT */
/* See stage_judge.h. */
#include "stage_judge.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* |a - b|, where what is no number is as far from a number as can be. */
static double apart(float a, float b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    if (!isfinite(a) || !isfinite(b))
        return INFINITY;
    return fabs((double)a - (double)b);
}

void hg_difference_measure(const float *expected, const float *found, uint64_t count,
                           hg_difference *out)
{
    double ee = 0, ff = 0, ef = 0, dd = 0;

    memset(out, 0, sizeof(*out));
    out->count = count;
    for (uint64_t i = 0; i < count; i++) {
        const double d = apart(expected[i], found[i]);

        out->differing += bits_of(expected[i]) != bits_of(found[i]);
        if (d > out->max_abs) {
            out->max_abs = d;
            out->max_at = i;
        }
        if (isfinite(expected[i]) && isfinite(found[i])) {
            ee += (double)expected[i] * expected[i];
            ff += (double)found[i] * found[i];
            ef += (double)expected[i] * found[i];
        }
        dd += d * d;
    }
    if (count) {
        out->max_expected = expected[out->max_at];
        out->max_found = found[out->max_at];
    }
    out->norm = sqrt(ee);
    out->distance = sqrt(dd);
    out->nmse = dd == 0 ? 0 : ee > 0 ? dd / ee : INFINITY;
    out->cosine = ee > 0 && ff > 0 ? ef / sqrt(ee * ff) : ee == ff ? 1 : 0;
    if (out->differing == 0)
        out->cosine = 1;
    else if (isinf(dd))
        out->cosine = 0; /* what is no number has no direction */
}

void hg_excess_measure(const float *expected, const float *allowed, const float *found,
                       uint64_t count, hg_excess *out)
{
    memset(out, 0, sizeof(*out));
    for (uint64_t i = 0; i < count; i++) {
        double error = apart(expected[i], found[i]);
        double share;

        /* Beyond float32: any number will do (docs/DECISIONS.md D14). */
        if (error == 0 || (isinf(expected[i]) && !isnan(found[i])))
            continue;
        /* What is no number where there is one is beyond every bound. */
        share = allowed[i] > 0 && isfinite(error) ? error / (double)allowed[i] : INFINITY;
        if (share > 1)
            out->beyond++;
        if (share > out->worst) {
            out->worst = share;
            out->worst_at = i;
            out->worst_found = found[i];
            out->worst_expected = expected[i];
            out->worst_allowed = allowed[i];
        }
    }
}

static int all_finite(const float *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return 0;
    return 1;
}

static double log_sum_exp(const float *logits, uint64_t vocab)
{
    double most = -INFINITY, sum = 0;

    for (uint64_t v = 0; v < vocab; v++)
        most = logits[v] > most ? logits[v] : most;
    if (!isfinite(most))
        return most;
    for (uint64_t v = 0; v < vocab; v++)
        sum += exp((double)logits[v] - most);
    return most + log(sum);
}

/* Indices of the largest values, the first of equals first; returns how many. */
static uint32_t top_of(const float *logits, uint64_t vocab, uint64_t top[HG_AGREEMENT_TOP])
{
    uint32_t count = 0;

    for (uint64_t v = 0; v < vocab; v++) {
        uint32_t place = count;

        while (place > 0 && logits[v] > logits[top[place - 1]])
            place--;
        if (place >= HG_AGREEMENT_TOP)
            continue;
        if (count < HG_AGREEMENT_TOP)
            count++;
        memmove(&top[place + 1], &top[place], (count - 1 - place) * sizeof(*top));
        top[place] = v;
    }
    return count;
}

static double shared_part(const float *expected, const float *found, uint64_t vocab,
                          int *same_first)
{
    uint64_t a[HG_AGREEMENT_TOP] = {0}, b[HG_AGREEMENT_TOP] = {0};
    const uint32_t count = top_of(expected, vocab, a);
    uint32_t shared = 0;

    (void)top_of(found, vocab, b);
    *same_first = a[0] == b[0];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            shared += a[i] == b[j];
    return (double)shared / count;
}

void hg_agreement_add(const float *expected, const float *found, uint64_t tokens, uint64_t vocab,
                      hg_agreement *sum)
{
    for (uint64_t t = 0; t < tokens; t++) {
        const float *e = expected + t * vocab, *f = found + t * vocab;
        double le, lf, kl = 0;
        int same_first = 0;

        if (!all_finite(e, vocab) || !all_finite(f, vocab)) {
            sum->strange++;
            continue;
        }
        le = log_sum_exp(e, vocab);
        lf = log_sum_exp(f, vocab);

        for (uint64_t v = 0; v < vocab; v++) {
            const double lp = (double)e[v] - le;

            kl += exp(lp) * (lp - ((double)f[v] - lf));
        }
        kl = kl < 0 ? 0 : kl; /* rounding */
        sum->kl_sum += kl;
        if (!(kl <= sum->kl_max))
            sum->kl_max = kl;
        sum->top_shared += shared_part(e, f, vocab, &same_first);
        sum->same_first += (uint64_t)same_first;
        sum->tokens++;
    }
}
