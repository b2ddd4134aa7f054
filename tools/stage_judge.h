/* SPDX-License-Identifier: MIT */
/*
 * One stage of two runs, measured, and judged by a bound. Pure arithmetic; who ran what is the
 * business of compare.c.
 */
#ifndef HG_TOOLS_STAGE_JUDGE_H
#define HG_TOOLS_STAGE_JUDGE_H

#include <stdint.h>

typedef struct hg_difference {
    uint64_t count;
    uint64_t differing; /* elements with other bits */
    uint64_t
        max_at; /* flat index of the largest difference, or of the first NaN against a number */
    float max_found, max_expected; /* there */
    double max_abs;                /* infinite where one side is no number and the other is */
    double norm, distance;         /* L2 of the expected values, and of the differences */
    double nmse, cosine;
} hg_difference;

/* found against expected, [count]. The signs of zero differ in bits, but by nothing in value; a NaN
 * against a NaN, or an infinity against its like, differs by nothing in value either. */
void hg_difference_measure(const float *expected, const float *found, uint64_t count,
                           hg_difference *out);

/* How far elements are beyond what each is allowed. */
typedef struct hg_excess {
    uint64_t beyond; /* elements beyond their bound */
    double worst;    /* largest error / allowed; infinite: an element that may not differ, or NaN */
    uint64_t worst_at;
    float worst_found, worst_expected, worst_allowed;
} hg_excess;

void hg_excess_measure(const float *expected, const float *allowed, const float *found,
                       uint64_t count, hg_excess *out);

/* Distributions over the vocabulary, [tokens, vocab] logits of one piece; sums over tokens. */
typedef struct hg_agreement {
    uint64_t tokens;
    uint64_t strange;      /* more tokens, with logits that are no numbers: not in what follows */
    double kl_sum, kl_max; /* KL(expected || found) in nats */
    uint64_t same_first;   /* tokens with the same likeliest successor */
    double top_shared;     /* sum over tokens: shared part of the 10 likeliest */
} hg_agreement;

enum { HG_AGREEMENT_TOP = 10 };

void hg_agreement_add(const float *expected, const float *found, uint64_t tokens, uint64_t vocab,
                      hg_agreement *sum);

#endif
