/* SPDX-License-Identifier: MIT */
/*
 * Text of a figure, through pango: any script, each label a paragraph of its own, so that an Arabic
 * one cannot turn its neighbours round. Says which characters no font has. Placing is the callers'
 * work.
 *
 * glib and pango end the process when memory is out; so every text is cut to a bounded length
 * before they see it, and what is large (pictures, files) is never theirs to allocate.
 *
 * An SVG gets glyph shapes, which look the same everywhere, and for each text an invisible <text>
 * on top of them, which can be searched, selected and read aloud.
 */
#include "figure_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONGEST = 4000, /* bytes of one text; far more than any place has room for */
    FINER = 3
};

static const char default_font[] = "DejaVu Sans, Noto Sans, sans-serif";

static void set_color(cairo_t *cairo, uint32_t color)
{
    cairo_set_source_rgb(cairo, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0,
                         (color & 255) / 255.0);
}

/* cairo's PDF refuses a whole figure for one of these, though they are valid UTF-8. */
static int is_noncharacter(gunichar c)
{
    return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
}

char *hg_figure_text_clean(const char *text, size_t longest, int lines)
{
    size_t length = strlen(text);
    char *valid = g_utf8_make_valid(text, (gssize)(length < longest ? length : longest));
    GString *string = g_string_sized_new(strlen(valid) + 16);

    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (c == '\n' && !lines)
            c = 0x23CE;
        else if (c == '\t')
            c = 0x21E5;
        else if (c < 0x20 && c != '\n')
            c += 0x2400;
        else if (c == 0x7F)
            c = 0x2421;
        else if ((c > 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || is_noncharacter(c))
            c = 0xFFFD;
        g_string_append_unichar(string, c);
    }
    if (length > longest)
        g_string_append(string, "\u2026");
    g_free(valid);
    return g_string_free(string, FALSE);
}

/* Marks of white space are there to be seen, not to be read. */
static void fade(PangoAttrList *attributes, const char *text)
{
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        if (c == 0x2423 || c == 0x23CE || c == 0x21E5) {
            PangoAttribute *attribute = pango_attr_foreground_new(0x8C8C, 0x8C8C, 0x8C8C);

            attribute->start_index = (guint)(at - text);
            attribute->end_index = (guint)(g_utf8_next_char(at) - text);
            pango_attr_list_insert(attributes, attribute);
        }
    }
}

static PangoLayout *shape(hg_figure *figure, const hg_figure_style *style, const char *text)
{
    PangoLayout *layout = pango_layout_new(figure->context);
    PangoFontDescription *font = pango_font_description_new();
    PangoAttrList *attributes = pango_attr_list_new();
    char *cleaned = hg_figure_text_clean(text, LONGEST, style->wrap);

    pango_font_description_set_family(font,
                                      figure->params.font ? figure->params.font : default_font);
    pango_font_description_set_weight(font, style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_font_description_set_absolute_size(font, style->size * figure->unit * PANGO_SCALE);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_single_paragraph_mode(layout, !style->wrap);
    if (style->fade)
        fade(attributes, cleaned);
    pango_layout_set_attributes(layout, attributes);
    pango_layout_set_text(layout, cleaned, -1);
    if (style->max_width > 0.0) {
        int width = 0;

        pango_layout_get_size(layout, &width, NULL);
        /* A width moves a right-to-left text to its right end: only where it is needed. */
        if (style->wrap || width > style->max_width * PANGO_SCALE)
            pango_layout_set_width(layout, (int)(style->max_width * PANGO_SCALE));
        if (style->wrap)
            pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
        else
            pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
    }
    g_free(cleaned);
    pango_attr_list_unref(attributes);
    pango_font_description_free(font);
    return layout;
}

void hg_figure_text_size(hg_figure *figure, const hg_figure_style *style, const char *text,
                         int *width, int *height)
{
    PangoLayout *layout = shape(figure, style, text);
    PangoRectangle logical;

    pango_layout_get_extents(layout, NULL, &logical);
    if (width)
        *width = (logical.width + PANGO_SCALE - 1) / PANGO_SCALE;
    if (height)
        *height = (logical.height + PANGO_SCALE - 1) / PANGO_SCALE;
    g_object_unref(layout);
}

static int is_emoji(uint32_t c)
{
    return (c >= 0x1F000 && c <= 0x1FAFF) || (c >= 0x2600 && c <= 0x27BF) ||
           (c >= 0x1F1E6 && c <= 0x1F1FF);
}

static const char *script_name(PangoScript script)
{
    GEnumClass *names = g_type_class_ref(PANGO_TYPE_SCRIPT);
    const GEnumValue *value = g_enum_get_value(names, (gint)script);
    const char *name = value ? value->value_nick : "unknown";

    g_type_class_unref(names); /* the names are static */
    return name;
}

const char *hg_figure_font_package(uint32_t codepoint, const char **script)
{
    GUnicodeType type = g_unichar_type(codepoint);
    GUnicodeScript of = g_unichar_get_script(codepoint);

    *script = is_emoji(codepoint) ? "emoji" : script_name((PangoScript)of);
    if (is_emoji(codepoint))
        return "fonts-noto-color-emoji";
    if (type == G_UNICODE_UNASSIGNED || type == G_UNICODE_PRIVATE_USE)
        return NULL;
    switch (of) {
    case G_UNICODE_SCRIPT_HAN:
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA:
    case G_UNICODE_SCRIPT_HANGUL:
    case G_UNICODE_SCRIPT_BOPOMOFO:
        return "fonts-noto-cjk";
    case G_UNICODE_SCRIPT_LATIN:
    case G_UNICODE_SCRIPT_GREEK:
    case G_UNICODE_SCRIPT_CYRILLIC:
        return "fonts-dejavu-core";
    default:
        return "fonts-noto-core";
    }
}

hg_result hg_figure_find_font(uint32_t codepoint, hg_figure_font *out)
{
    PangoContext *context = pango_font_map_create_context(pango_cairo_font_map_get_default());
    PangoFontDescription *wanted = pango_font_description_from_string(default_font);
    PangoLayout *layout = pango_layout_new(context);
    PangoLayoutLine *line;
    char text[8] = "";

    *out = (hg_figure_font){0};
    out->package = hg_figure_font_package(codepoint, &out->script);
    text[g_unichar_to_utf8(codepoint, text)] = '\0';
    pango_layout_set_font_description(layout, wanted);
    pango_layout_set_text(layout, text, -1);
    line = pango_layout_get_line_readonly(layout, 0);
    if (line && line->runs && pango_layout_get_unknown_glyphs_count(layout) == 0) {
        const PangoGlyphItem *run = line->runs->data;
        PangoFontDescription *found = pango_font_describe(run->item->analysis.font);
        const char *family = pango_font_description_get_family(found);

        g_strlcpy(out->family, family ? family : "of unknown name", sizeof(out->family));
        pango_font_description_free(found);
    }
    g_object_unref(layout);
    pango_font_description_free(wanted);
    g_object_unref(context);
    return HG_OK;
}

static void report(hg_figure *figure, uint32_t codepoint, const char *label)
{
    hg_figure_missing missing = {.codepoint = codepoint, .label = label};
    int script = (int)g_unichar_get_script(codepoint);
    unsigned index =
        script >= 0 && script < HG_FIGURE_SCRIPTS - 1 ? (unsigned)script : HG_FIGURE_SCRIPTS - 1;

    if (is_emoji(codepoint) ? figure->reported_emoji : figure->reported[index])
        return;
    if (is_emoji(codepoint))
        figure->reported_emoji = 1;
    else
        figure->reported[index] = 1;
    missing.package = hg_figure_font_package(codepoint, &missing.script);
    if (figure->params.missing)
        figure->params.missing(figure->params.missing_user, &missing);
    else if (missing.package)
        hg_say(&figure->params.log, HG_LOG_WARNING,
               "no font has U+%04X (%s) of \"%.40s\", which becomes a box; install %s",
               (unsigned)codepoint, missing.script, label, missing.package);
    else
        hg_say(&figure->params.log, HG_LOG_WARNING,
               "no font has U+%04X (%s) of \"%.40s\", which becomes a box", (unsigned)codepoint,
               missing.script, label);
}

static void report_missing(hg_figure *figure, PangoLayout *layout, const char *text)
{
    PangoLayoutIter *iter;

    if (pango_layout_get_unknown_glyphs_count(layout) == 0)
        return;
    iter = pango_layout_get_iter(layout);
    do {
        const PangoGlyphItem *run = pango_layout_iter_get_run_readonly(iter);

        for (int i = 0; run && i < run->glyphs->num_glyphs; i++) {
            PangoGlyph glyph = run->glyphs->glyphs[i].glyph;

            if (glyph != PANGO_GLYPH_EMPTY && (glyph & PANGO_GLYPH_UNKNOWN_FLAG))
                report(figure, glyph & ~PANGO_GLYPH_UNKNOWN_FLAG, text);
        }
    } while (pango_layout_iter_next_run(iter));
    pango_layout_iter_free(iter);
}

/* One <text> for each line, over the glyphs. In an ellipsised line it holds the whole label. */
static void put_words(hg_figure_pen *pen, PangoLayout *layout, const hg_figure_style *style,
                      double x, double y, int turned)
{
    const char *text = pango_layout_get_text(layout);
    PangoLayoutIter *iter = pango_layout_get_iter(layout);
    double to_point = 72.0 / pen->figure->params.dpi;

    do {
        PangoLayoutLine *line = pango_layout_iter_get_line_readonly(iter);
        PangoRectangle logical;
        double baseline = (double)pango_layout_iter_get_baseline(iter) / PANGO_SCALE;
        double dx, line_x, line_y, width;
        char *part;

        pango_layout_iter_get_line_extents(iter, NULL, &logical);
        dx = (double)logical.x / PANGO_SCALE;
        width = (double)logical.width / PANGO_SCALE;
        line_x = turned ? x + baseline : x + dx;
        line_y = turned ? y - dx : y + baseline;
        part =
            style->wrap ? g_strndup(text + line->start_index, (gsize)line->length) : g_strdup(text);
        if (*part) {
            hg_figure_buffer_format(pen->words, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\"",
                                    line_x * to_point, line_y * to_point,
                                    style->size * pen->figure->unit * to_point);
            if (width > 0.0)
                hg_figure_buffer_format(pen->words,
                                        " textLength=\"%.2f\" lengthAdjust=\"spacingAndGlyphs\"",
                                        width * to_point);
            if (turned)
                hg_figure_buffer_format(pen->words, " transform=\"rotate(-90 %.2f %.2f)\"",
                                        line_x * to_point, line_y * to_point);
            hg_figure_buffer_format(pen->words, ">");
            hg_figure_buffer_xml(pen->words, part);
            hg_figure_buffer_format(pen->words, "</text>\n");
        }
        g_free(part);
    } while (pango_layout_iter_next_line(iter));
    pango_layout_iter_free(iter);
}

/* Colour fonts are bitmaps, which cairo writes into an SVG or PDF as small as the text is. */
static int has_bitmaps(PangoLayout *layout)
{
    PangoLayoutIter *iter = pango_layout_get_iter(layout);
    int found = 0;

    do {
        const PangoGlyphItem *run = pango_layout_iter_get_run_readonly(iter);
        PangoFontDescription *font = run ? pango_font_describe(run->item->analysis.font) : NULL;
        const char *family = font ? pango_font_description_get_family(font) : NULL;

        found |= family && strstr(family, "Emoji") != NULL;
        pango_font_description_free(font);
    } while (pango_layout_iter_next_run(iter));
    pango_layout_iter_free(iter);
    return found;
}

/* The layout as a picture of FINER pixels to one; NULL when there is no memory for it. */
static cairo_surface_t *picture(PangoLayout *layout, uint32_t color, PangoRectangle *area)
{
    cairo_surface_t *surface;
    cairo_t *cairo;

    pango_layout_get_pixel_extents(layout, area, NULL);
    area->x--;
    area->y--;
    area->width += 2;
    area->height += 2;
    surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, area->width * FINER, area->height * FINER);
    cairo = cairo_create(surface);
    cairo_scale(cairo, FINER, FINER);
    cairo_translate(cairo, -area->x, -area->y);
    set_color(cairo, color);
    cairo_move_to(cairo, 0.0, 0.0);
    pango_cairo_show_layout(cairo, layout);
    if (cairo_status(cairo) != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(surface);
        surface = NULL;
    }
    cairo_destroy(cairo);
    return surface;
}

/* x, y: the layout's own corner, which after a quarter turn is the lower left one. Layouts are not
 * updated to the cairo they are drawn on: their measures are those of the picture in every format.
 */
static void show(hg_figure_pen *pen, PangoLayout *layout, const hg_figure_style *style,
                 const char *text, double x, double y, int turned)
{
    cairo_t *cairo = pen->cairo;
    cairo_surface_t *bitmap = NULL;
    PangoRectangle area;

    report_missing(pen->figure, layout, text);
    if (pen->vector && has_bitmaps(layout))
        bitmap = picture(layout, style->color, &area);
    cairo_save(cairo);
    set_color(cairo, style->color);
    cairo_translate(cairo, x, y);
    if (turned)
        cairo_rotate(cairo, -1.5707963267948966);
    if (bitmap) {
        cairo_translate(cairo, area.x, area.y);
        cairo_scale(cairo, 1.0 / (double)FINER, 1.0 / (double)FINER);
        cairo_set_source_surface(cairo, bitmap, 0.0, 0.0);
        cairo_paint(cairo);
        cairo_surface_destroy(bitmap);
    } else {
        cairo_move_to(cairo, 0.0, 0.0);
        pango_cairo_show_layout(cairo, layout);
    }
    cairo_restore(cairo);
    if (pen->words)
        put_words(pen, layout, style, x, y, turned);
}

static void measure(PangoLayout *layout, double *left, double *width, double *baseline)
{
    PangoRectangle logical;

    pango_layout_get_extents(layout, NULL, &logical);
    *left = (double)logical.x / PANGO_SCALE;
    *width = (double)logical.width / PANGO_SCALE;
    *baseline = (double)pango_layout_get_baseline(layout) / PANGO_SCALE;
}

void hg_figure_text(hg_figure_pen *pen, const hg_figure_style *style, const char *text, double x,
                    double y, double align)
{
    PangoLayout *layout = shape(pen->figure, style, text);
    double left, width, baseline;

    measure(layout, &left, &width, &baseline);
    show(pen, layout, style, text, x - left - align * width, y - baseline, 0);
    g_object_unref(layout);
}

void hg_figure_text_turned(hg_figure_pen *pen, const hg_figure_style *style, const char *text,
                           double x, double y, double align)
{
    PangoLayout *layout = shape(pen->figure, style, text);
    double left, width, baseline;

    measure(layout, &left, &width, &baseline);
    show(pen, layout, style, text, x - baseline, y + left + align * width, 1);
    g_object_unref(layout);
}

void hg_figure_text_block(hg_figure_pen *pen, const hg_figure_style *style, const char *text,
                          double x, double y)
{
    PangoLayout *layout = shape(pen->figure, style, text);

    show(pen, layout, style, text, x, y, 0);
    g_object_unref(layout);
}
