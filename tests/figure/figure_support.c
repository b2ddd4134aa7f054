/* SPDX-License-Identifier: MIT */
/* See figure_support.h. */
#include "figure_support.h"

#include <glib.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hg_result sink_write(void *user, const void *data, size_t size)
{
    bytes *b = user;
    unsigned char *grown;

    b->writes++;
    if (b->fail_at && b->writes >= b->fail_at)
        return HG_ERR_OUTPUT;
    grown = realloc(b->data, b->size + size + 1);
    assert_non_null(grown);
    b->data = grown;
    memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
    return HG_OK;
}

void bytes_free(bytes *b)
{
    free(b->data);
    *b = (bytes){0};
}

static void on_line(void *user, hg_log_level level, const char *line)
{
    log_lines *lines = user;

    lines->errors += level == HG_LOG_ERROR;
    lines->warnings += level == HG_LOG_WARNING;
    snprintf(lines->last, sizeof(lines->last), "%s", line);
}

hg_log log_to(log_lines *lines)
{
    return (hg_log){.write = on_line, .user = lines, .level = HG_LOG_DEBUG};
}

void figure_bytes(const hg_figure_params *params, hg_figure_format format, bytes *out)
{
    hg_figure_sink sink = {.write = sink_write, .user = out};
    hg_figure *figure;

    *out = (bytes){0};
    assert_int_equal(hg_figure_create(params, &figure), HG_OK);
    assert_int_equal(hg_figure_write(figure, format, &sink), HG_OK);
    hg_figure_destroy(&figure);
    assert_null(figure);
}

void picture_read(const bytes *png, picture *out)
{
    png_image image = {.version = PNG_IMAGE_VERSION};

    assert_true(png_image_begin_read_from_memory(&image, png->data, png->size));
    image.format = PNG_FORMAT_RGB;
    out->width = image.width;
    out->height = image.height;
    out->rgb = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(out->rgb);
    assert_true(png_image_finish_read(&image, NULL, out->rgb, 0, NULL));
}

uint32_t picture_at(const picture *p, uint32_t x, uint32_t y)
{
    const unsigned char *rgb;

    assert_true(x < p->width && y < p->height);
    rgb = p->rgb + ((size_t)y * p->width + x) * 3;
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}

void picture_free(picture *p)
{
    free(p->rgb);
    *p = (picture){0};
}

struct reading {
    word *words;
    size_t count, capacity;
    int inside;
};

static double number(const char **names, const char **values, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return g_ascii_strtod(values[i], NULL);
    return 0.0;
}

static void on_start(GMarkupParseContext *context, const gchar *element, const gchar **names,
                     const gchar **values, gpointer user, GError **error)
{
    struct reading *reading = user;
    double x, y, size, length;
    word *w;

    (void)context;
    (void)error;
    if (strcmp(element, "text") != 0)
        return;
    if (reading->count == reading->capacity) {
        reading->capacity = reading->capacity * 2 + 64;
        reading->words = realloc(reading->words, reading->capacity * sizeof(word));
        assert_non_null(reading->words);
    }
    w = &reading->words[reading->count++];
    memset(w, 0, sizeof(*w));
    x = number(names, values, "x");
    y = number(names, values, "y");
    size = number(names, values, "font-size");
    length = number(names, values, "textLength");
    w->baseline_x = x;
    w->baseline_y = y;
    for (int i = 0; names[i]; i++)
        w->turned |= strcmp(names[i], "transform") == 0;
    /* Letters without what hangs below, which may touch its neighbour's room. */
    w->x0 = w->turned ? x - 0.7 * size : x;
    w->x1 = w->turned ? x : x + length;
    w->y0 = w->turned ? y - length : y - 0.7 * size;
    w->y1 = y;
    reading->inside = 1;
}

static void on_end(GMarkupParseContext *context, const gchar *element, gpointer user,
                   GError **error)
{
    (void)context;
    (void)element;
    (void)error;
    ((struct reading *)user)->inside = 0;
}

static void on_text(GMarkupParseContext *context, const gchar *text, gsize length, gpointer user,
                    GError **error)
{
    struct reading *reading = user;
    word *w = reading->inside ? &reading->words[reading->count - 1] : NULL;

    (void)context;
    (void)error;
    if (w)
        snprintf(w->text, sizeof(w->text), "%.*s", (int)(length < 255 ? length : 255), text);
}

word *svg_words(const bytes *svg, size_t *count)
{
    static const GMarkupParser parser = {
        .start_element = on_start, .end_element = on_end, .text = on_text};
    struct reading reading = {0};
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &reading, NULL);
    GError *error = NULL;

    if (!g_markup_parse_context_parse(context, (const char *)svg->data, (gssize)svg->size,
                                      &error) ||
        !g_markup_parse_context_end_parse(context, &error))
        fail_msg("not well-formed: %s", error->message);
    g_markup_parse_context_free(context);
    *count = reading.count;
    return reading.words;
}

const word *word_find(const word *words, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].text, text) == 0)
            return &words[i];
    return NULL;
}

float *map_make(uint32_t tokens, uint32_t seed)
{
    float *map = calloc((size_t)tokens * tokens, sizeof(*map));

    assert_non_null(map);
    for (uint32_t i = 0; i < tokens; i++) {
        double sum = 0.0;

        for (uint32_t j = 0; j <= i; j++)
            sum += 1.0 + ((j * 7919u + i * 104729u + seed * 31u) % 97u) / (j + 1.0);
        for (uint32_t j = 0; j <= i; j++)
            map[(size_t)i * tokens + j] =
                (float)((1.0 + ((j * 7919u + i * 104729u + seed * 31u) % 97u) / (j + 1.0)) / sum);
    }
    return map;
}

float *gate_make(uint32_t tokens, uint32_t seed)
{
    float *gate = calloc(tokens, sizeof(*gate));

    assert_non_null(gate);
    for (uint32_t i = 0; i < tokens; i++)
        gate[i] = (float)((i * 37u + seed) % 101u) / 100.0f;
    return gate;
}

const char **labels_make(uint32_t tokens, const char *const *base)
{
    const char **labels = calloc(tokens, sizeof(*labels));
    uint32_t at = 0;

    assert_non_null(labels);
    for (uint32_t i = 0; i < tokens; i++, at++) {
        if (!base[at])
            at = 0;
        labels[i] = base[at];
    }
    return labels;
}
