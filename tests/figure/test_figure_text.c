/* SPDX-License-Identifier: MIT */
/* Text of a figure: labels of every script stay in their cell's place and can be found; facts are
 * in every format; nothing a label holds breaks a file. */
#include "figure_support.h"

#include "figure_parts.h"
#include "png_writer.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

static const char *const scripts[] = {"<|endoftext|>",
                                      "\u2423the",
                                      "\u6CE8\u610F\u529B",
                                      "\uD55C\uAD6D\uC5B4",
                                      "\u65E5\u672C\u8A9E",
                                      "\u05E9\u05DC\u05D5\u05DD",
                                      "\u2423\u05E2\u05D5\u05DC\u05DD",
                                      "\u0645\u0631\u062D\u0628\u0627",
                                      "\u0928\u092E\u0938\u094D\u0924\u0947",
                                      "\U0001F642",
                                      "<E6>",
                                      "\u23CE",
                                      "a&b\"c'd",
                                      NULL};

enum { SCRIPTS = 13 };

static hg_figure_panel script_panel(float *map, const char **labels)
{
    return (hg_figure_panel){.title = "Layer 1",
                             .note = "first token 0.41 (uniform 0.17)",
                             .cells = map,
                             .rows = SCRIPTS,
                             .columns = SCRIPTS,
                             .flags = HG_PANEL_CAUSAL,
                             .row_labels = labels,
                             .column_labels = labels};
}

static void labels_stay_in_their_place(void **state)
{
    float *map = map_make(SCRIPTS, 0);
    const char **labels = labels_make(SCRIPTS, scripts);
    hg_figure_panel panel = script_panel(map, labels);
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .title = "a <title> & more",
                               .dpi = 192.0};
    const double to_px = 192.0 / 72.0;
    hg_figure *figure;
    size_t count;
    word *words;
    bytes svg;

    (void)state;
    figure_bytes(&params, HG_FIGURE_SVG, &svg);
    words = svg_words(&svg, &count);
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    for (uint32_t i = 0; i < SCRIPTS; i++) {
        const word *row = NULL, *column = NULL;
        uint32_t x, y, next_x, next_y, left, top;

        assert_int_equal(hg_figure_cell(figure, 0, i, i, &x, &y, NULL), HG_OK);
        assert_int_equal(hg_figure_cell(figure, 0, 0, 0, &left, &top, NULL), HG_OK);
        assert_int_equal(hg_figure_cell(figure, 0, 1, 1, &next_x, &next_y, NULL), HG_OK);
        for (size_t w = 0; w < count; w++)
            if (strcmp(words[w].text, scripts[i]) == 0) {
                row = words[w].turned ? row : &words[w];
                column = words[w].turned ? &words[w] : column;
            }
        if (!row || !column) {
            fail_msg("the label %s is not in the SVG", scripts[i]);
            return;
        }
        /* The baseline is inside the cell's band, and the text ends before the map. */
        assert_true(fabs(row->baseline_y * to_px - y) < (next_y - top) / 2.0);
        assert_true(row->x1 * to_px < left - (next_x - left) / 2.0);
        assert_true(fabs(column->baseline_x * to_px - x) < (next_x - left) / 2.0);
        assert_true(column->y0 > row->y1 || i + 1 < SCRIPTS);
    }
    hg_figure_destroy(&figure);
    assert_non_null(word_find(words, count, "a <title> & more"));
    assert_non_null(word_find(words, count, "first token 0.41 (uniform 0.17)"));
    assert_null(strstr((const char *)svg.data, "<|endoftext"));
    assert_non_null(strstr((const char *)svg.data, "&lt;|endoftext|&gt;"));
    free(words);
    bytes_free(&svg);
    free(labels);
    free(map);
}

static void hostile_labels_are_drawn(void **state)
{
    static const char *const base[] = {"",
                                       "\x01\x02\x1F\x7F",
                                       "\xFF\xFE\xD9",
                                       "\xF0\x9F\x99",
                                       "\n\n",
                                       "\t",
                                       "]]>",
                                       "-->",
                                       "\u202E\u2066reversed",
                                       "\u0301",
                                       "\u200D\uFE0F",
                                       "\uFFFE",
                                       "\xED\xA0\x80",
                                       "&#0;",
                                       NULL};
    static const hg_figure_fact nonsense = {"Prompt", "\x01\uFFFE\xFF\n]]>"};
    char *longest = malloc(100001);
    uint32_t tokens = 15;
    float *map = map_make(tokens, 0);
    const char **labels = labels_make(tokens, base);
    hg_figure_panel panel = {.title = "\x02<b>",
                             .note = "\xFF",
                             .cells = map,
                             .rows = tokens,
                             .columns = tokens,
                             .row_labels = labels,
                             .column_labels = labels};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .title = "two\nlines\x03\uFDD0",
                               .subtitle = "\xC0",
                               .missing = NULL};
    bytes out;
    size_t count;
    word *words;

    (void)state;
    assert_non_null(longest);
    memset(longest, 'W', 100000);
    longest[100000] = 0;
    labels[14] = longest;
    params.footer = longest;
    params.facts = &nonsense;
    params.fact_count = 1;
    figure_bytes(&params, HG_FIGURE_SVG, &out);
    assert_true(g_utf8_validate((const char *)out.data, (gssize)out.size, NULL));
    for (size_t i = 0; i < out.size; i++)
        assert_true(out.data[i] >= 0x20 || out.data[i] == '\n');
    words = svg_words(&out, &count);
    assert_non_null(word_find(words, count, "\u2401\u2402\u241F\u2421"));
    assert_non_null(word_find(words, count, "\u23CE\u23CE"));
    assert_non_null(word_find(words, count, "]]>"));
    assert_non_null(word_find(words, count, "two"));
    free(words);
    bytes_free(&out);
    figure_bytes(&params, HG_FIGURE_PNG, &out);
    bytes_free(&out);
    figure_bytes(&params, HG_FIGURE_PDF, &out);
    bytes_free(&out);
    free(longest);
    free(labels);
    free(map);
}

struct reader {
    const bytes *from;
    size_t at;
};

static void on_read(png_structp png, png_bytep data, png_size_t size)
{
    struct reader *reader = png_get_io_ptr(png);

    assert_true(reader->at + size <= reader->from->size);
    memcpy(data, reader->from->data + reader->at, size);
    reader->at += size;
}

static const hg_figure_fact facts[] = {
    {"Software", "headgate"}, {"Prompt", "\u6CE8\u610F\u529B <&> \"\n"}, {"Empty", ""}};

static void facts_are_in_a_png(void **state)
{
    float cell = 0.5f;
    hg_figure_panel panel = {.cells = &cell, .rows = 1, .columns = 1};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .facts = facts,
                               .fact_count = 3,
                               .dpi = 254.0};
    bytes file;
    struct reader reader = {.from = &file};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_textp texts;
    int count = 0;

    (void)state;
    figure_bytes(&params, HG_FIGURE_PNG, &file);
    if (setjmp(png_jmpbuf(png)))
        fail_msg("the PNG cannot be read");
    png_set_read_fn(png, &reader, on_read);
    png_read_info(png, info);
    assert_int_equal(png_get_text(png, info, &texts, &count), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(texts[i].compression, PNG_ITXT_COMPRESSION_NONE);
        assert_string_equal(texts[i].key, facts[i].key);
        assert_string_equal(texts[i].text, facts[i].value);
    }
    assert_int_equal(png_get_x_pixels_per_meter(png, info), 10000);
    assert_int_equal(png_get_color_type(png, info), PNG_COLOR_TYPE_RGB);
    png_destroy_read_struct(&png, &info, NULL);
    bytes_free(&file);
}

static const char *find(const bytes *file, const char *what)
{
    size_t length = strlen(what);

    for (size_t i = 0; i + length <= file->size; i++)
        if (memcmp(file->data + i, what, length) == 0)
            return (const char *)file->data + i;
    return NULL;
}

static void facts_are_in_svg_and_pdf(void **state)
{
    float cell = 0.5f;
    hg_figure_panel panel = {.cells = &cell, .rows = 1, .columns = 1};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .facts = facts,
                               .fact_count = 3,
                               .created = "2025-06-30T12:00:00Z"};
    bytes file;
    size_t count;

    (void)state;
    figure_bytes(&params, HG_FIGURE_SVG, &file);
    free(svg_words(&file, &count));
    assert_non_null(find(&file, "<hg:fact key=\"Software\">headgate</hg:fact>"));
    assert_non_null(find(&file, "<hg:fact key=\"Prompt\">\u6CE8\u610F\u529B &lt;&amp;&gt; "
                                "&quot;&#10;</hg:fact>"));
    bytes_free(&file);
    params.fact_count = 1;
    figure_bytes(&params, HG_FIGURE_PDF, &file);
    assert_memory_equal(file.data, "%PDF-", 5);
    assert_non_null(find(&file, "/Subject"));
    assert_non_null(find(&file, "20250630120000"));
    bytes_free(&file);
}

struct reports {
    unsigned count;
    uint32_t codepoints[8];
    const char *packages[8];
};

static void on_missing(void *user, const hg_figure_missing *missing)
{
    struct reports *reports = user;

    assert_true(reports->count < 8);
    reports->codepoints[reports->count] = missing->codepoint;
    reports->packages[reports->count++] = missing->package;
    assert_non_null(missing->script);
    assert_non_null(missing->label);
}

/* A code point that no font can have: reported once, however often it is met and drawn. */
static void missing_characters_are_reported_once(void **state)
{
    static const char *const base[] = {"a", "\U000E9999", "b", "\U000E9998", NULL};
    float *map = map_make(8, 0);
    const char **labels = labels_make(8, base);
    struct reports reports = {0};
    log_lines lines = {0};
    hg_figure_panel panel = {
        .cells = map, .rows = 8, .columns = 8, .row_labels = labels, .column_labels = labels};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .missing = on_missing,
                               .missing_user = &reports,
                               .log = log_to(&lines)};
    bytes out = {0};
    hg_figure_sink sink = {.write = sink_write, .user = &out};
    hg_figure *figure;

    (void)state;
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    assert_int_equal(hg_figure_write(figure, HG_FIGURE_PNG, &sink), HG_OK);
    assert_int_equal(hg_figure_write(figure, HG_FIGURE_SVG, &sink), HG_OK);
    hg_figure_destroy(&figure);
    assert_int_equal(reports.count, 1);
    assert_int_equal(reports.codepoints[0], 0xE9999);
    assert_null(reports.packages[0]);
    assert_int_equal(lines.warnings, 0);
    bytes_free(&out);
    params.missing = NULL;
    figure_bytes(&params, HG_FIGURE_PNG, &out);
    assert_int_equal(lines.warnings, 1);
    assert_non_null(strstr(lines.last, "U+E9999"));
    bytes_free(&out);
    free(labels);
    free(map);
}

static void packages_are_named(void **state)
{
    static const struct {
        uint32_t codepoint;
        const char *script, *package;
    } known[] = {
        {0x6CE8, "han", "fonts-noto-cjk"},
        {0xD55C, "hangul", "fonts-noto-cjk"},
        {0x3042, "hiragana", "fonts-noto-cjk"},
        {0x0645, "arabic", "fonts-noto-core"},
        {0x05D0, "hebrew", "fonts-noto-core"},
        {0x0928, "devanagari", "fonts-noto-core"},
        {0x1F642, "emoji", "fonts-noto-color-emoji"},
        {0x41, "latin", "fonts-dejavu-core"},
        {0xE000, "unknown", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *script = NULL;
        const char *package = hg_figure_font_package(known[i].codepoint, &script);

        assert_string_equal(script, known[i].script);
        if (known[i].package)
            assert_string_equal(package, known[i].package);
        else
            assert_null(package);
    }
}

static void keys_follow_pngs_rule(void **state)
{
    char longest[81];

    (void)state;
    memset(longest, 'k', 80);
    longest[80] = 0;
    assert_false(hg_png_key_valid(NULL));
    assert_false(hg_png_key_valid(""));
    assert_false(hg_png_key_valid(" a"));
    assert_false(hg_png_key_valid("a "));
    assert_false(hg_png_key_valid("a  b"));
    assert_false(hg_png_key_valid("a\nb"));
    assert_false(hg_png_key_valid("\u00E4"));
    assert_false(hg_png_key_valid(longest));
    assert_true(hg_png_key_valid(longest + 1));
    assert_true(hg_png_key_valid("headgate device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_stay_in_their_place),
        cmocka_unit_test(hostile_labels_are_drawn),
        cmocka_unit_test(facts_are_in_a_png),
        cmocka_unit_test(facts_are_in_svg_and_pdf),
        cmocka_unit_test(missing_characters_are_reported_once),
        cmocka_unit_test(packages_are_named),
        cmocka_unit_test(keys_follow_pngs_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
