/* SPDX-License-Identifier: MIT */
/* Text for a terminal's columns. */
#ifndef HG_TOOLS_PARAGRAPH_H
#define HG_TOOLS_PARAGRAPH_H

#include "output.h"

/* Columns of the terminal that standard output is, 60 to 160; 100 where it is none. */
uint32_t hg_paragraph_width(void);
/* Columns of a text, near enough: characters, those of East Asia twice. */
uint32_t hg_paragraph_columns(const char *text);
/* The text's words from column `at` on; lines after the first begin at column `indent`, and none is
 * longer than width unless one word is. Ends with a newline. */
hg_result hg_paragraph_print(hg_output *output, uint32_t width, uint32_t indent, uint32_t at,
                             const char *text);

#endif
