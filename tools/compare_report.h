/* SPDX-License-Identifier: MIT */
/* A finished comparison for people and programs: a table, JSON, a page. */
#ifndef HG_TOOLS_COMPARE_REPORT_H
#define HG_TOOLS_COMPARE_REPORT_H

#include "compare.h"
#include "json_writer.h"
#include "prompt.h"

typedef struct hg_compare_report {
    const hg_comparison *comparison;
    const hg_source *source;
    const hg_prompt *prompt; /* labels of tokens; labels NULL: there are none */
    const char *weights;     /* sha256, or "" */
    const char *command_line;
} hg_compare_report;

/* verbose: every stage, else those that say something. */
hg_result hg_compare_print(const hg_compare_report *report, int verbose, hg_output *output);
void hg_compare_put_json(const hg_compare_report *report, hg_put *put);
/* One self-contained file: no script from elsewhere, no request. */
hg_result hg_compare_write_page(const hg_compare_report *report, hg_output *output);

/* The text of a token, made printable, or "" */
const char *hg_compare_token(const hg_compare_report *report, int64_t token, char text[64]);
/* Distance end to end as a share of its bound; 0 where it was not measured. */
double hg_stage_free_share(const hg_stage_row *row);
/* "0", "0.013", "1.2e+04", "beyond" where nothing is allowed. */
const char *hg_share_text(double share, char text[16]);
/* Row i begins a kind of stage: the row of that kind that is nearest to its bounds; else
 * UINT32_MAX. */
uint32_t hg_stage_nearest(const hg_compare_side *side, uint32_t i);
/* An earlier device (from 1) with the same verdict and the same bits in every stage, or UINT32_MAX:
 * what is said of one holds for both. */
uint32_t hg_compare_twin(const hg_comparison *comparison, uint32_t side);
/* Stages of the work; 0 when nobody ran it. */
uint32_t hg_compare_stages(const hg_comparison *comparison);

#endif
