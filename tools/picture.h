/* SPDX-License-Identifier: MIT */
/* A figure of maps in a file: what to draw it from and which format the user meant. */
#ifndef HG_TOOLS_PICTURE_H
#define HG_TOOLS_PICTURE_H

#include "maps.h"
#include "provenance.h"

/* What stays the same in all pictures of one command. */
typedef struct hg_picture {
    const char *title, *subtitle, *footer;
    const hg_provenance *provenance;
    hg_figure_layout layout;
    const hg_figure_panel *panels;
    uint32_t panel_count, columns;
    const char *const *row_titles;
    hg_figure_scale scale;
    hg_figure_fact facts[HG_FACT_COUNT]; /* filled by hg_picture_create */
} hg_picture;

/* The picture, and all it points to, must live until hg_figure_destroy. */
hg_result hg_picture_create(const hg_app *app, hg_picture *picture, hg_figure **out);
/* Into an open output; not committed. */
hg_result hg_picture_write(hg_figure *figure, hg_figure_format format, hg_output *output);

/* "the prompt", shortened to fit a line, control characters as spaces; ids when there is no text.
 */
void hg_prompt_show(const hg_prompt *prompt, char *text, size_t bytes);

#endif
