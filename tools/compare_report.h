/* SPDX-License-Identifier: MIT */
/* A finished comparison for people and programs: a table, JSON, a page. */
#ifndef HG_TOOLS_COMPARE_REPORT_H
#define HG_TOOLS_COMPARE_REPORT_H

#include "compare.h"
#include "json_writer.h"
#include "prompt.h"

/* Below this many tokens a speed is noise. */
enum { HG_COMPARE_TIMED_TOKENS = 32 };

typedef struct hg_compare_report {
    const hg_comparison *comparison;
    const hg_source *source;
    const hg_prompt *prompt; /* labels of tokens; labels NULL: there are none */
    const char *weights;     /* sha256, or "" */
    const char *command_line;
    const char *limits; /* of --limits, or NULL */
} hg_compare_report;

/* verbose: every stage, else those that say something. */
hg_result hg_compare_print(const hg_compare_report *report, int verbose, hg_output *output);
void hg_compare_put_json(const hg_compare_report *report, hg_put *put);
/* One self-contained file: no script from elsewhere, no request. */
hg_result hg_compare_write_page(const hg_compare_report *report, hg_output *output);

/* The text of a token, made printable, or "" */
const char *hg_compare_token(const hg_compare_report *report, int64_t token, char text[64]);
/* Row i begins a kind of stage: the row of that kind that is nearest to its bounds; else
 * UINT32_MAX. */
uint32_t hg_stage_nearest(const hg_compare_side *side, uint32_t i);
/* An earlier device (from 1) with the same verdict and the same bits in every stage, or UINT32_MAX:
 * what is said of one holds for both. */
uint32_t hg_compare_twin(const hg_comparison *comparison, uint32_t side);
/* A device's verdict in words; the baseline's says what it was judged against. */
const char *hg_compare_standing(const hg_comparison *comparison, uint32_t side, char text[96]);
/* The verdict on all: "same within rounding as far as can be told". */
const char *hg_compare_headline(const hg_comparison *comparison, char text[64]);
/* "20 runs: same bits". */
const char *hg_compare_runs(const hg_compare_side *side, char text[64]);
/* 1: the prompt ran in more than one piece. */
int hg_compare_in_pieces(const hg_compare_side *side);
/* Tokens of the piece that a stage belongs to, from 1: "129-194"; "all". */
const char *hg_stage_piece(const hg_stage_head *head, char text[32]);
/* Stages of the work; 0 when nobody ran it. */
uint32_t hg_compare_stages(const hg_comparison *comparison);

#endif
