/* SPDX-License-Identifier: MIT */
/*
 * The golden tests: a case (a checkpoint and what it must give), what an engine gave for it, and
 * the judgement. Only public headers of headgate are used, so this is also what a program of a user
 * would see.
 *
 *   golden_case.c    reads case.json, expected.safetensors, closed_form.safetensors
 *   golden_run.c     opens an engine, runs a case, collects every output
 *   golden_judge.c   compares outputs with a case, or byte by byte with other outputs
 *   golden_stage.c   finds the first stage where a device leaves the reference
 *   main.c           the list of tests
 */
#ifndef HG_TEST_GOLDEN_H
#define HG_TEST_GOLDEN_H

#include <headgate/headgate.h>

#include "tensors.h"

enum { HG_GOLDEN_TEXT = 512 };

typedef struct hg_golden_tolerance {
    double attentions, gates;                     /* largest |a - b| */
    double logits, hidden, residual, step_logits; /* per row: largest |a - b| over largest |b| */
} hg_golden_tolerance;

typedef struct hg_golden_case {
    char name[64];
    char path[256]; /* the checkpoint's directory */
    uint32_t tokens;
    uint32_t layers;
    int32_t *ids;       /* [tokens] */
    uint32_t steps;     /* greedy tokens that are known; 0 for most cases */
    int32_t *generated; /* [steps] */
    hg_golden_tolerance tolerance;
    uint32_t blind_channel; /* channel of the residual that blinds a relative measure, UINT32_MAX:
                               none */
    hg_test_tensors *expected;
    hg_test_tensors *closed_form; /* NULL for most cases */
} hg_golden_case;

/* path: a folder of tests/reference/models. 0 when it is incomplete, with a line on stderr. */
int hg_golden_case_read(hg_golden_case *golden, const char *path);
/* A sample model and one of its prompts: expected is a safetensors file. */
int hg_golden_sample_read(hg_golden_case *golden, const char *model, const char *expected,
                          const char *name);
void hg_golden_case_free(hg_golden_case *golden);

/* What an engine gives for the ids of a case. Arrays per layer have `layers` entries; gates only
 * with gate_dim. */
typedef struct hg_golden_outputs {
    uint32_t tokens, layers, hidden, heads, vocab, gate_dim;
    float *logits;      /* [tokens, vocab] */
    float **attentions; /* [heads, tokens, tokens] each */
    float **gates;      /* [tokens, heads, gate_dim] each, NULL without a gate */
    float **stats;      /* [tokens, heads, 2] each */
    float **states;     /* [tokens, hidden] each, layers + 2 of them, see hg_capture_hidden */
    double *shares;     /* [layers, heads] first-token share of each head */
} hg_golden_outputs;

typedef struct hg_golden_device {
    const char *selector;
    hg_precision precision;
    const char *limits, *tier; /* NULL: none; the best there is */
} hg_golden_device;

/* How the tokens reach the session: evals of at most `eval` tokens (0: one eval), pieces of at most
 * `piece` (0: its own choice). */
typedef struct hg_golden_cut {
    uint32_t eval, piece;
} hg_golden_cut;

/* HG_ERR_NO_DEVICE: the device is not there; the caller skips. */
hg_result hg_golden_engine(const hg_golden_device *device, hg_engine **out);
/* All outputs of a case. tap: see hg_session_params; NULL for none. */
hg_result hg_golden_run(hg_engine *engine, const hg_golden_case *golden, hg_golden_cut cut,
                        void (*tap)(void *, const hg_stage *), void *tap_user,
                        hg_golden_outputs **out);
void hg_golden_outputs_free(hg_golden_outputs **outputs);
/* Greedy tokens after the prompt, one eval each. step_logits: [steps, vocab], ids: [steps]. */
hg_result hg_golden_generate(hg_engine *engine, const hg_golden_case *golden, uint32_t vocab,
                             int32_t *ids, float *step_logits);
/* The last error line of the library, for messages. */
const char *hg_golden_last_error(void);

/* 1 when all is within the case's tolerances; else 0, and why names the first output that is not.
 */
int hg_golden_judge(const hg_golden_case *golden, const hg_golden_outputs *outputs,
                    char why[HG_GOLDEN_TEXT]);
int hg_golden_judge_steps(const hg_golden_case *golden, uint32_t vocab, const int32_t *ids,
                          const float *step_logits, char why[HG_GOLDEN_TEXT]);
/* 1 when every byte is the same. */
int hg_golden_same(const hg_golden_outputs *a, const hg_golden_outputs *b,
                   char why[HG_GOLDEN_TEXT]);

/* Runs the case on the engine and on the double column of the reference, all stages tapped; `why`
 * names the first stage that differs by more than `bound` of its row, and where. */
void hg_golden_first_stage(hg_engine *engine, const hg_golden_case *golden, double bound,
                           char why[HG_GOLDEN_TEXT]);

#endif
