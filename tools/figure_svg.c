/* SPDX-License-Identifier: MIT */
/*
 * Finishes an SVG that cairo wrote: title, facts as <metadata>, and the words of the figure as
 * invisible <text> over the glyph shapes. The shapes look the same where the fonts are missing; the
 * words can be found, selected and read aloud. Nothing of cairo's own text is changed.
 */
#include "figure_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hg_figure_buffer_put(hg_figure_buffer *buffer, const void *data, size_t bytes)
{
    if (buffer->failed)
        return;
    if (bytes > SIZE_MAX / 4 - buffer->size) {
        buffer->failed = 1;
        return;
    }
    if (buffer->size + bytes > buffer->capacity) {
        size_t capacity = (buffer->size + bytes) * 2 + 4096;
        char *grown = realloc(buffer->data, capacity);

        if (!grown) {
            buffer->failed = 1;
            return;
        }
        buffer->data = grown;
        buffer->capacity = capacity;
    }
    if (bytes)
        memcpy(buffer->data + buffer->size, data, bytes);
    buffer->size += bytes;
}

void hg_figure_buffer_format(hg_figure_buffer *buffer, const char *format, ...)
{
    char text[512];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof(text))
        buffer->failed = 1;
    else
        hg_figure_buffer_put(buffer, text, (size_t)length);
}

void hg_figure_buffer_xml(hg_figure_buffer *buffer, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);

    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (c == '&')
            hg_figure_buffer_put(buffer, "&amp;", 5);
        else if (c == '<')
            hg_figure_buffer_put(buffer, "&lt;", 4);
        else if (c == '>')
            hg_figure_buffer_put(buffer, "&gt;", 4);
        else if (c == '"')
            hg_figure_buffer_put(buffer, "&quot;", 6);
        else if (c == '\n')
            hg_figure_buffer_put(buffer, "&#10;", 5);
        else if ((c < 0x20 && c != '\t') || c == 0xFFFE || c == 0xFFFF)
            hg_figure_buffer_put(buffer, "\xEF\xBF\xBD", 3);
        else
            hg_figure_buffer_put(buffer, at, (size_t)(g_utf8_next_char(at) - at));
    }
    g_free(valid);
}

static void put_head(const hg_figure *figure, hg_figure_buffer *out)
{
    const hg_figure_params *params = &figure->params;

    if (params->title) {
        hg_figure_buffer_format(out, "\n<title>");
        hg_figure_buffer_xml(out, params->title);
        hg_figure_buffer_format(out, "</title>");
    }
    if (params->fact_count == 0)
        return;
    hg_figure_buffer_format(out, "\n<metadata>\n<hg:facts xmlns:hg=\"urn:headgate:facts\">\n");
    for (uint32_t i = 0; i < params->fact_count; i++) {
        hg_figure_buffer_format(out, "<hg:fact key=\"");
        hg_figure_buffer_xml(out, params->facts[i].key);
        hg_figure_buffer_format(out, "\">");
        hg_figure_buffer_xml(out, params->facts[i].value);
        hg_figure_buffer_format(out, "</hg:fact>\n");
    }
    hg_figure_buffer_format(out, "</hg:facts>\n</metadata>");
}

/* The last place of a word in data; NULL when it is not there. */
static const char *last_place(const char *data, size_t size, const char *word)
{
    size_t length = strlen(word);

    for (size_t i = size < length ? 0 : size - length + 1; i-- > 0;)
        if (memcmp(data + i, word, length) == 0)
            return data + i;
    return NULL;
}

hg_result hg_figure_svg_finish(const hg_figure *figure, const hg_figure_buffer *svg,
                               const hg_figure_buffer *words, const hg_figure_sink *sink)
{
    static const char layer[] =
        "<g id=\"words\" font-family=\"DejaVu Sans, sans-serif\" fill-opacity=\"0\" "
        "xml:space=\"preserve\">\n";
    static const char layer_end[] = "</g>\n";
    const hg_log *log = &figure->params.log;
    hg_figure_buffer out = {0};
    const char *open = NULL, *close = NULL;
    hg_result res = HG_OK;

    for (size_t i = 0; i + 4 < svg->size && !open; i++)
        if (memcmp(svg->data + i, "<svg", 4) == 0)
            open = memchr(svg->data + i, '>', svg->size - i);
    close = svg->data ? last_place(svg->data, svg->size, "</svg>") : NULL;
    if (!open || !close || close < open) {
        res = hg_fail(log, HG_ERR_OUTPUT,
                      "cairo wrote an SVG without an <svg> element; "
                      "write PNG or PDF instead");
        goto out;
    }
    hg_figure_buffer_put(&out, svg->data, (size_t)(open + 1 - svg->data));
    put_head(figure, &out);
    hg_figure_buffer_put(&out, open + 1, (size_t)(close - open - 1));
    hg_figure_buffer_put(&out, layer, sizeof(layer) - 1);
    hg_figure_buffer_put(&out, words->data, words->size);
    hg_figure_buffer_put(&out, layer_end, sizeof(layer_end) - 1);
    hg_figure_buffer_put(&out, close, svg->size - (size_t)(close - svg->data));
    if (out.failed || words->failed) {
        res =
            hg_fail(log, HG_ERR_HOST_MEMORY, "no memory to finish an SVG of %zu bytes", svg->size);
        goto out;
    }
    res = sink->write(sink->user, out.data, out.size);
out:
    free(out.data);
    return res;
}
