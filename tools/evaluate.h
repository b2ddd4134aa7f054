/* SPDX-License-Identifier: MIT */
/* A prompt through a model: weights to the device, a session, one evaluation. */
#ifndef HG_TOOLS_EVALUATE_H
#define HG_TOOLS_EVALUATE_H

#include "machine.h"
#include "prompt.h"

typedef struct hg_wish {
    uint32_t capture;       /* HG_CAPTURE_* */
    const uint32_t *layers; /* 0-based; NULL: all */
    uint32_t layer_count;
    hg_logits_kind logits;
} hg_wish;

typedef struct hg_evaluation {
    hg_model *model;
    hg_session *session;
} hg_evaluation;

hg_result hg_evaluate(hg_app *app, const hg_machine *machine, const hg_source *source,
                      const hg_prompt *prompt, const hg_wish *wish, hg_evaluation *out);
/* --repack into the params of a model. */
hg_result hg_repack_choose(const hg_args *args, hg_model_params *params);
void hg_evaluation_free(hg_evaluation *evaluation);

#endif
