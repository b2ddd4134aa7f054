/* SPDX-License-Identifier: MIT */
/*
 * Parts of the page of a comparison, shared by compare_page*.c only. An output keeps its first
 * error until it is committed, so that parts are written without a look at each.
 */
#ifndef HG_TOOLS_COMPARE_PAGE_H
#define HG_TOOLS_COMPARE_PAGE_H

#include "compare_report.h"

/* Numbers and text of the program's own; texts from elsewhere go through hg_page_text. */
#define hg_page_put(output, ...) ((void)hg_output_format((output), __VA_ARGS__))

/* Escaped for content and quoted attributes; control characters become '?', what is no UTF-8
 * becomes U+FFFD. */
void hg_page_text(hg_output *output, const char *text);
/* <h3> above a part of a device's section. */
void hg_page_heading(hg_output *output, const char *text);

/* Lines of the style sheet, the last is NULL. */
extern const char *const hg_page_style[];

/* "v-same", "v-rounding", "v-different", "v-none". */
const char *hg_page_verdict_class(hg_verdict verdict);

/* Share of the bound of every stage, in order, on a logarithmic scale. */
void hg_page_chart(const hg_compare_report *report, uint32_t side, hg_output *output);
/* Per kind of stage the layer nearest to its bound, then, folded, every stage. */
void hg_page_tables(const hg_compare_report *report, uint32_t side, hg_output *output);
/* Once on a page, before the maps: the shape that hides masked cells. */
void hg_page_maps_begin(const hg_compare_report *report, hg_output *output);
/* Attention maps of the baseline, the device, and their difference. */
hg_result hg_page_maps(const hg_compare_report *report, uint32_t side, hg_output *output);

#endif
