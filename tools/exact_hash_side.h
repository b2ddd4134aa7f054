/* SPDX-License-Identifier: MIT */
/* The hash of one prompt on one device, what shipped for it, and the verdict. */
#ifndef HG_TOOLS_EXACT_HASH_SIDE_H
#define HG_TOOLS_EXACT_HASH_SIDE_H

#include "exact_hash.h"
#include "machine.h"

typedef struct hg_hash_side {
    char label[HG_NAME_SIZE]; /* as it was asked for */
    hg_machine_choice choice;
    hg_result result; /* HG_OK: the rest is filled */
    char selector[16];
    hg_provenance provenance;
    hg_exact_hash hash;
    int complained; /* the validation layer */
} hg_hash_side;

/* What all devices are judged by. */
typedef struct hg_hash_oracle {
    const hg_shipped *shipped;
    const hg_hash_side *first; /* that ran; NULL: none */
} hg_hash_oracle;

typedef enum hg_hash_verdict {
    HG_HASH_AS_SHIPPED,
    HG_HASH_UNLISTED,  /* and the first device's, or this is the first */
    HG_HASH_DIFFERENT, /* from the shipped one */
    HG_HASH_APART,     /* from the first device's; none has shipped */
    HG_HASH_NOT_RUN
} hg_hash_verdict;

hg_hash_verdict hg_hash_judge(const hg_hash_side *side, const hg_hash_oracle *oracle);
/* "as shipped", "not listed", "not listed, different from vk:0" */
const char *hg_hash_verdict_text(const hg_hash_side *side, const hg_hash_oracle *oracle,
                                 char text[64]);

hg_result hg_hash_side_print(const hg_app *app, hg_output *output, const hg_hash_side *side,
                             const hg_hash_oracle *oracle, uint32_t tokens);
/* The members of one device, into an object that is open. */
void hg_hash_side_put(const hg_hash_side *side, const hg_hash_oracle *oracle, hg_put *put);
void hg_hash_put_sums(hg_put *put, const char *key, const char *logits, const char *maps,
                      const char *all);

#endif
