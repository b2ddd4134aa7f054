/* SPDX-License-Identifier: MIT */
/* figure.h in a build without cairo (HG_FIGURES off): everything but drawing works, and drawing
 * says why not. */
#include "figure.h"

#include "message.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

hg_result hg_figure_create(const hg_figure_params *params, hg_figure **out)
{
    (void)params;
    *out = NULL;
    return hg_message_fail(
        HG_ERR_ARGUMENT, "this headgate was built without figures (HG_FIGURES off); --json works");
}

void hg_figure_destroy(hg_figure **figure)
{
    *figure = NULL;
}

hg_result hg_figure_write(hg_figure *figure, hg_figure_format format, const hg_figure_sink *sink)
{
    (void)figure;
    (void)format;
    (void)sink;
    return HG_ERR_ARGUMENT; /* cannot be reached: no figure was created */
}

hg_result hg_figure_find_font(uint32_t codepoint, hg_figure_font *out)
{
    (void)codepoint;
    *out = (hg_figure_font){0};
    return HG_ERR_UNSUPPORTED;
}

hg_result hg_figure_format_of(const char *path, hg_figure_format *format)
{
    static const char *const endings[] = {".png", ".svg", ".pdf"};
    const char *dot = strrchr(path, '.');

    for (int i = 0; dot && i < 3; i++) {
        if (strcasecmp(dot, endings[i]) == 0) {
            *format = (hg_figure_format)i;
            return HG_OK;
        }
    }
    return HG_ERR_ARGUMENT;
}

const char *hg_figure_share_note(char *text, size_t bytes, double share, double uniform)
{
    snprintf(text, bytes, "first token %.2f (uniform %.2f)", share, uniform);
    return text;
}
