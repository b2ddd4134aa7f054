/* SPDX-License-Identifier: MIT */
/*
 * Elementary functions in double that give the same bytes on every machine (D11); libm's do not.
 * Built on
 * + - * / and on functions that IEEE 754 or their definition makes exact (floor, sqrt, frexp,
 * ldexp). Error below 1e-15 of the result.
 */
#ifndef HG_HOST_REAL_H
#define HG_HOST_REAL_H

/* Largest angle of hg_real_sincos: above it the argument reduction would lose digits. */
#define HG_REAL_ANGLE_MAX 4398046511104.0 /* 2^42 */

/* |angle| <= HG_REAL_ANGLE_MAX. */
void hg_real_sincos(double angle, double *sine, double *cosine);
/* Inf above the range of double, 0 below. */
double hg_real_exp(double x);
/* x positive and finite. */
double hg_real_log(double x);
/* base positive and finite. */
double hg_real_pow(double base, double exponent);

#endif
