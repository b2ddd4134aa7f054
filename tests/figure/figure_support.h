/* SPDX-License-Identifier: MIT */
/* What the tests of figures share: a sink in memory, a log that counts, a PNG decoded, words of an
 * SVG, maps made by formula. */
#ifndef HG_TEST_FIGURE_SUPPORT_H
#define HG_TEST_FIGURE_SUPPORT_H

#include "figure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct bytes {
    unsigned char *data;
    size_t size;
    size_t writes;
    size_t fail_at; /* the sink stops at this write; 0: never */
} bytes;

hg_result sink_write(void *user, const void *data, size_t size);
void bytes_free(bytes *b);

typedef struct log_lines {
    unsigned errors, warnings;
    char last[512];
} log_lines;

hg_log log_to(log_lines *lines);

/* Creates, writes, destroys; every step must succeed. */
void figure_bytes(const hg_figure_params *params, hg_figure_format format, bytes *out);

typedef struct picture {
    uint32_t width, height;
    unsigned char *rgb;
} picture;

void picture_read(const bytes *png, picture *out);
uint32_t picture_at(const picture *p, uint32_t x, uint32_t y);
void picture_free(picture *p);

/* A text of an SVG: box in points. */
typedef struct word {
    double x0, y0, x1, y1; /* the box of its letters */
    double baseline_x, baseline_y;
    int turned;
    char text[256]; /* XML taken back */
} word;

/* Checks that the SVG is well-formed; returns the words, *count of them, freed by the caller. */
word *svg_words(const bytes *svg, size_t *count);
const word *word_find(const word *words, size_t count, const char *text);

/* Causal rows that sum to 1, different in every panel; [tokens, tokens], freed by the caller. */
float *map_make(uint32_t tokens, uint32_t seed);
float *gate_make(uint32_t tokens, uint32_t seed);
/* tokens labels that start with those of `base` (NULL-ended) and repeat. */
const char **labels_make(uint32_t tokens, const char *const *base);

#endif
