/* SPDX-License-Identifier: MIT */
/*
 * A table whose columns are as wide as what stands in them: Markdown that can be read as it is, or
 * CSV. Cells are kept until the table is printed; failures of memory, too.
 */
#ifndef HG_TOOLS_COLUMNS_H
#define HG_TOOLS_COLUMNS_H

#include "output.h"

#include <stdint.h>

typedef struct hg_columns {
    char **cell; /* the heading's cells first */
    uint32_t count, room;
    uint32_t width; /* cells of a line */
    uint32_t texts; /* columns of text, the first ones: to the left, quoted in CSV */
    int csv;
    int failed; /* no memory */
} hg_columns;

/* A table of columns with these names, {0} before. */
void hg_columns_start(hg_columns *columns, int csv, const char *const *names, uint32_t width,
                      uint32_t texts);

/* The next cell, line by line. */
void hg_columns_text(hg_columns *columns, const char *value);
void hg_columns_count(hg_columns *columns, uint64_t value);
/* What is not finite is nothing, in Markdown a dash. */
void hg_columns_number(hg_columns *columns, int digits, double value);
/* About four digits for people, all for programs. */
void hg_columns_figure(hg_columns *columns, double value);
/* 0.165: "16.5" per cent for people. */
void hg_columns_share(hg_columns *columns, double share);

/* Also frees the cells, whatever comes of it. */
hg_result hg_columns_print(hg_columns *columns, hg_output *output);
void hg_columns_free(hg_columns *columns);

#endif
