/* SPDX-License-Identifier: MIT */
/* See columns.h. */
#include "columns.h"

#include "message.h"
#include "paragraph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 64 };

static void take(hg_columns *columns, char *cell)
{
    if (columns->count == columns->room) {
        const uint32_t room = columns->room ? columns->room * 2 : 64;
        char **grown = realloc(columns->cell, room * sizeof(*grown));

        if (grown) {
            columns->cell = grown;
            columns->room = room;
        }
    }
    if (!cell || columns->count == columns->room) {
        columns->failed = 1;
        free(cell);
        return;
    }
    columns->cell[columns->count++] = cell;
}

void hg_columns_start(hg_columns *columns, int csv, const char *const *names, uint32_t width,
                      uint32_t texts)
{
    columns->csv = csv;
    columns->width = width;
    columns->texts = texts;
    for (uint32_t i = 0; i < width; i++)
        take(columns, strdup(names[i]));
}

/* Names of devices may hold the separators of a table. */
void hg_columns_text(hg_columns *columns, const char *value)
{
    const char separator = columns->csv ? '"' : '|', before = columns->csv ? '"' : '\\';
    char *cell = malloc(2 * strlen(value) + 3), *to = cell;

    if (cell) {
        if (columns->csv)
            *to++ = '"';
        for (; *value; value++) {
            if (*value == separator)
                *to++ = before;
            *to++ = *value;
        }
        if (columns->csv)
            *to++ = '"';
        *to = '\0';
    }
    take(columns, cell);
}

void hg_columns_count(hg_columns *columns, uint64_t value)
{
    char text[NUMBER_SIZE];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    take(columns, strdup(text));
}

void hg_columns_number(hg_columns *columns, int digits, double value)
{
    char text[NUMBER_SIZE];

    if (!isfinite(value))
        snprintf(text, sizeof(text), "%s", columns->csv ? "" : "-");
    else if (fabs(value) < 1e30)
        snprintf(text, sizeof(text), "%.*f", digits, value);
    else
        snprintf(text, sizeof(text), "%g", value);
    take(columns, strdup(text));
}

void hg_columns_figure(hg_columns *columns, double value)
{
    const double size = fabs(value);
    int digits = size < 10 ? 2 : size < 1000 ? 1 : 0;

    hg_columns_number(columns, columns->csv ? 3 : digits, value);
}

void hg_columns_share(hg_columns *columns, double share)
{
    if (columns->csv)
        hg_columns_number(columns, 4, share);
    else
        hg_columns_number(columns, 1, share * 100);
}

static uint32_t width_of(const hg_columns *columns, uint32_t column)
{
    uint32_t width = 3; /* of a rule: --- */

    for (uint32_t i = column; i < columns->count; i += columns->width) {
        const uint32_t wide = hg_paragraph_columns(columns->cell[i]);

        width = wide > width ? wide : width;
    }
    return width;
}

static void print_csv(const hg_columns *columns, hg_output *output)
{
    for (uint32_t i = 0; i < columns->count; i++)
        (void)hg_output_format(output, "%s%s", columns->cell[i],
                               (i + 1) % columns->width ? "," : "\n");
}

static void print_rule(const hg_columns *columns, const uint32_t *width, hg_output *output)
{
    for (uint32_t c = 0; c < columns->width; c++) {
        const int is_text = c < columns->texts;

        (void)hg_output_text(output, "| ");
        for (uint32_t i = is_text ? 0 : 1; i < width[c]; i++)
            (void)hg_output_text(output, "-");
        (void)hg_output_text(output, is_text ? " " : ": ");
    }
    (void)hg_output_text(output, "|\n");
}

static void print_md(const hg_columns *columns, const uint32_t *width, hg_output *output)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const char *cell = columns->cell[i];
        const uint32_t c = i % columns->width;
        const int pad = (int)(width[c] - hg_paragraph_columns(cell));

        if (c < columns->texts)
            (void)hg_output_format(output, "| %s%*s ", cell, pad, "");
        else
            (void)hg_output_format(output, "| %*s%s ", pad, "", cell);
        if (c + 1 == columns->width)
            (void)hg_output_text(output, "|\n");
        if (i + 1 == columns->width)
            print_rule(columns, width, output);
    }
}

hg_result hg_columns_print(hg_columns *columns, hg_output *output)
{
    uint32_t *width = calloc((size_t)columns->width + 1, sizeof(*width));
    hg_result res = HG_OK;

    if (!width || columns->failed || columns->width == 0) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    } else if (columns->csv) {
        print_csv(columns, output);
    } else {
        for (uint32_t c = 0; c < columns->width; c++)
            width[c] = width_of(columns, c);
        print_md(columns, width, output);
    }
    free(width);
    hg_columns_free(columns);
    return res == HG_OK ? hg_output_text(output, "") : res; /* an earlier failure stays */
}

void hg_columns_free(hg_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++)
        free(columns->cell[i]);
    free(columns->cell);
    *columns = (hg_columns){0};
}
