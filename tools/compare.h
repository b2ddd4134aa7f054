/* SPDX-License-Identifier: MIT */
/*
 * The same work on several devices, judged stage by stage (docs/DECISIONS.md D8, D10, D18, D25).
 *
 * Every device runs in a child process. Two children always run first: the reference in double,
 * which gives the values and the error that each element may have, and the exact text, whose
 * distance from the reference is what rounding does to this input. Then each device runs the prompt
 * end to end (FREE) and once more with every operation on the reference's inputs (ISOLATED), so
 * that a fault shows where it is born, whichever device has it, the baseline included.
 */
#ifndef HG_TOOLS_COMPARE_H
#define HG_TOOLS_COMPARE_H

#include "record.h"
#include "stage_judge.h"

#include <headgate/headgate.h>

typedef enum hg_verdict {
    HG_VERDICT_SAME_BITS,
    HG_VERDICT_ROUNDING,  /* within what rounding explains */
    HG_VERDICT_DIFFERENT, /* beyond it, or not the same twice */
    HG_VERDICT_NOT_RUN    /* crashed, hung, refused, or no such device */
} hg_verdict;

/* "same bits", "same within rounding", "different", "did not run". */
const char *hg_verdict_name(hg_verdict verdict);

typedef struct hg_stage_row {
    hg_stage_head head; /* as this device ran it */
    /* End to end, against the baseline (of the baseline itself: against the reference). */
    uint32_t is_measured; /* 0: only hashes could be compared */
    uint32_t is_other;    /* 1: other bits */
    hg_difference difference;
    double bound; /* of difference.distance */
    uint32_t is_beyond;
    /* Isolated, against the reference. */
    uint32_t is_isolated;
    hg_excess excess;
} hg_stage_row;

/* One device's side of a comparison. */
typedef struct hg_compare_side {
    char label[HG_RECORD_TEXT]; /* as it was asked for */
    hg_record_meta meta;        /* empty when it did not run */
    hg_stage_row *rows;
    uint32_t row_count;
    hg_agreement agreement;
    uint32_t runs, runs_differ; /* later runs with other bits than the first */
    uint32_t runs_stage;        /* the first stage in which one did */
    uint64_t untapped_differ;   /* logits that have other bits when nobody looks at the stages */
    double untapped_distance;   /* their distance, L2 over all logits */
    uint32_t untapped_beyond;   /* 1: more than other kernels in the same places explain */
    /* Largest error as a share of its bound, and the stage; UINT32_MAX: none. */
    double worst_isolated, worst_free;
    uint32_t worst_isolated_row, worst_free_row;
    uint32_t measured;     /* stages with values on both sides */
    uint32_t hashes_other; /* stages without, whose hashes differ */
    hg_verdict verdict;
    char reason[512];  /* how the verdict came about, one sentence */
    uint32_t decisive; /* the stage that decided; UINT32_MAX: none */
    hg_pass decisive_pass;
    double wall_s;
    /* Attention maps, mean over heads, [layers, cells, cells]; NULL: not there. */
    float *maps;
} hg_compare_side;

typedef struct hg_comparison {
    hg_compare_side *sides; /* [0] is the baseline */
    uint32_t side_count;
    uint32_t is_loaded; /* the baseline is a record */
    uint32_t is_lost; /* the baseline did not run: the others are measured against the reference */
    uint32_t layers, heads, tokens;
    uint32_t strange_stage; /* the first that float32 does not hold; UINT32_MAX: none. From there on
                               kernels are not judged alone: their inputs mean nothing */
    char strange[64];       /* its name */
    uint32_t map_cells, map_pool; /* of maps; 0: none */
    hg_verdict verdict;           /* the worst of all */
    uint32_t is_partial;          /* same within rounding, as far as can be told */
    char reason[1200];            /* one sentence that names the devices */
    char note[400];               /* what a reader of the verdict should know, or "" */
    char record[HG_RECORD_TEXT];  /* the loaded file's name */
    hg_spool baseline;            /* values of side 0 */
} hg_comparison;

typedef struct hg_compare_params {
    const hg_checkpoint *checkpoint;
    const int32_t *ids;
    uint32_t count;
    const char *const *labels; /* [side_count]: devices in order, the baseline first */
    uint32_t side_count;
    hg_record *loaded; /* NULL, or the baseline: then labels are the others */
    /* Opens side i's device, in a child. log's errors become the side's reason. */
    hg_result (*open)(void *user, uint32_t side, const hg_log *log, hg_engine **out);
    void *user;
    uint32_t runs;      /* at least 1 */
    uint32_t timeout_s; /* of silence */
    uint32_t threads;   /* of the reference; 0: all processors */
    const char *cache_dir;
    hg_progress progress; /* what: the device's label; percent */
} hg_compare_params;

/* HG_OK also when devices differ or fail: the verdicts tell. Errors: the reference itself cannot
 * run, memory, a full disk, a signal. */
hg_result hg_compare_run(const hg_compare_params *params, hg_comparison *out);
void hg_comparison_free(hg_comparison *comparison);

/* Bound of an end-to-end distance: this many times what rounding does (D10). */
#define HG_COMPARE_ROUNDINGS 16.0

/* Distance end to end as a share of its bound; 0 where it was not measured. */
double hg_stage_free_share(const hg_stage_row *row);
/* Such a share in words, "0.013", "1.0", "240": how many times what rounding does; "beyond" where
 * nothing is allowed. */
const char *hg_roundings_text(double share, char text[16]);
/* "0", "0.013", "1.2e+04", "beyond": a share of a bound as it is. */
const char *hg_share_text(double share, char text[16]);
/* 1: this side and the baseline promise the same bits. */
int hg_compare_is_exact(const hg_comparison *comparison, uint32_t side);
/* 1: same within rounding where it was measured, and some stages, hashes alone, were not. */
int hg_compare_is_partial(const hg_compare_side *side);

/* "token 5, head 2, column 17" (counted from 1) for a flat index of a stage; *token: the token of
 * that row from 0, or -1. pool: tokens per cell of a map. */
const char *hg_stage_place(const hg_stage_head *head, uint64_t index, uint32_t pool, int64_t *token,
                           char text[96]);
/* "kernel matmul, T0C bf16, [5, 64]". */
const char *hg_stage_how(const hg_stage_head *head, char text[128]);

#endif
