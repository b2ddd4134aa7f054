/* SPDX-License-Identifier: MIT */
/* The tensors of a pass in a safetensors file, under the names of tests/reference/README.md. */
#ifndef HG_TOOLS_DUMP_H
#define HG_TOOLS_DUMP_H

#include "choice.h"
#include "evaluate.h"
#include "provenance.h"

enum {
    HG_DUMP_LOGITS = 1u << 0,
    HG_DUMP_LAST_LOGITS = 1u << 1,
    HG_DUMP_ATTENTIONS = 1u << 2,
    HG_DUMP_GATES = 1u << 3,
    HG_DUMP_HIDDEN = 1u << 4,
    HG_DUMP_RESIDUAL = 1u << 5
};

typedef struct hg_dump_what {
    uint32_t parts; /* HG_DUMP_* */
    int all;        /* asked for with "all": what the model lacks is left out */
} hg_dump_what;

/* "logits,attentions" or "all"; NULL: logits. */
hg_result hg_dump_parse(const char *list, hg_dump_what *out);
/* Against the model, before a device is opened: sets what the session must keep. */
hg_result hg_dump_check(hg_dump_what *what, const hg_model_info *info, hg_wish *wish);
/* Into an open output; not committed. */
hg_result hg_dump_write(hg_app *app, const hg_dump_what *what, const hg_model_info *info,
                        const hg_layer_choice *layers, hg_session *session,
                        const hg_provenance *provenance, hg_output *output);

#endif
