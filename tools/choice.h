/* SPDX-License-Identifier: MIT */
/* Layers and heads as a user counts them, from 1, turned into 0-based lists (docs/DECISIONS.md D29,
 * D30). */
#ifndef HG_TOOLS_CHOICE_H
#define HG_TOOLS_CHOICE_H

#include "source.h"

typedef struct hg_layer_choice {
    uint32_t *layers; /* 0-based */
    uint32_t count;
} hg_layer_choice;

/* --layers; by default all layers, or with spread the four of a figure: round(k(L-1)/27) for k = 0,
 * 6, 20, 27. */
hg_result hg_layers_choose(const hg_args *args, const hg_model_info *info, int spread,
                           hg_layer_choice *out);
void hg_layers_free(hg_layer_choice *choice);

typedef struct hg_head_choice {
    uint32_t *heads; /* 0-based; NULL: one map, the mean over all heads */
    uint32_t count;  /* maps per layer */
} hg_head_choice;

/* --heads mean|all|LIST; by default mean. */
hg_result hg_heads_choose(const hg_args *args, const hg_model_info *info, hg_head_choice *out);
void hg_heads_free(hg_head_choice *choice);

#endif
