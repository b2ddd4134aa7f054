/* SPDX-License-Identifier: MIT */
/* Figures to files. */
#include "picture.h"

#include "message.h"

#include <stdio.h>
#include <string.h>

hg_result hg_picture_create(const hg_app *app, hg_picture *picture, hg_figure **out)
{
    hg_figure_params params = {.struct_size = sizeof(params)};

    params.layout = picture->layout;
    params.panels = picture->panels;
    params.panel_count = picture->panel_count;
    params.columns = picture->columns;
    params.title = picture->title;
    params.subtitle = picture->subtitle;
    params.footer = picture->footer;
    params.row_titles = picture->row_titles;
    params.scale = picture->scale;
    params.facts = picture->facts;
    params.fact_count = hg_provenance_facts(picture->provenance, picture->facts);
    params.log = app->log;
    return hg_figure_create(&params, out);
}

static hg_result write_bytes(void *user, const void *data, size_t bytes)
{
    return hg_output_write(user, data, bytes);
}

hg_result hg_picture_write(hg_figure *figure, hg_figure_format format, hg_output *output)
{
    hg_figure_sink sink = {write_bytes, output};

    return hg_figure_write(figure, format, &sink);
}

/* The end of text[0..bytes) moved back to the start of a character. */
static size_t whole(const char *text, size_t bytes)
{
    while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

/* "token ids 1,2,3, ... (2500)" */
static void show_ids(const hg_prompt *prompt, char *text, size_t bytes)
{
    uint32_t shown = prompt->count < 12 ? prompt->count : 12;
    size_t length = (size_t)snprintf(text, bytes, "token ids ");

    for (uint32_t i = 0; i < shown && length < bytes; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%d", i ? "," : "",
                                   (int)prompt->ids[i]);
    if (shown < prompt->count && length < bytes)
        snprintf(text + length, bytes - length, ",\xe2\x80\xa6 (%u)", prompt->count);
}

void hg_prompt_show(const hg_prompt *prompt, char *text, size_t bytes)
{
    size_t length = prompt->bytes, room = bytes - 8;

    if (!prompt->text) {
        show_ids(prompt, text, bytes);
        return;
    }
    if (length > room)
        length = whole(prompt->text, room);
    for (size_t i = 0; i < length; i++) {
        char c = prompt->text[i];

        text[i] = c;
        if ((unsigned char)c < 0x20 || c == 0x7f)
            text[i] = ' ';
    }
    snprintf(text + length, bytes - length, "%s", length < prompt->bytes ? "\xe2\x80\xa6" : "");
}
