/* SPDX-License-Identifier: MIT */
/* The paper's measures of some layers, of one prompt or the mean of many: as a table and as JSON.
 */
#ifndef HG_TOOLS_MEASURES_H
#define HG_TOOLS_MEASURES_H

#include "choice.h"
#include "json_writer.h"

typedef struct hg_measures {
    const hg_layer_choice *layers; /* the caller's */
    uint32_t heads;
    hg_layer_metrics *metrics; /* [layers] */
    double *shares;            /* [layers, 2, heads] */
    double uniform[2];         /* of uniform attention, with and without query 0 */
} hg_measures;

hg_result hg_measures_create(const hg_layer_choice *layers, uint32_t heads, hg_measures *out);
void hg_measures_free(hg_measures *measures);

/* Over the layers. NaN ("there is none") does not count. */
double hg_measures_share(const hg_measures *measures, int later);
double hg_measures_gate(const hg_measures *measures, int below_tenth);
/* Largest of the layers. */
double hg_measures_largest(const hg_measures *measures);
/* Means over prompts, in the order given; hidden_abs_max is the largest. out: created. */
void hg_measures_average(const hg_measures *prompts, uint32_t count, hg_measures *out);

/* A number of width 9 after a space; format "share" or "size". */
hg_result hg_measures_print_cell(hg_output *output, const char *format, double value);
/* One line per layer, then the mean and what uniform attention has. */
hg_result hg_measures_print_layers(hg_output *output, const hg_measures *measures);
/* F of every head, in lines of eight; later: without query 0. */
hg_result hg_measures_print_heads(hg_output *output, const hg_measures *measures, int later);
/* uniform_share to layers. */
void hg_measures_put(hg_put *put, const hg_measures *measures);

#endif
