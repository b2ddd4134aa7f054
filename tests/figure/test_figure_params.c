/* SPDX-License-Identifier: MIT */
/* Wrong params and a sink that stops: a result and one sentence, nothing else. */
#include "figure_support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float cells[16];
static log_lines lines;

static hg_figure_params good(hg_figure_panel *panel)
{
    *panel = (hg_figure_panel){.cells = cells, .rows = 4, .columns = 4};
    memset(&lines, 0, sizeof(lines));
    return (hg_figure_params){.struct_size = sizeof(hg_figure_params),
                              .panels = panel,
                              .panel_count = 1,
                              .log = log_to(&lines)};
}

static void refused(const hg_figure_params *params, const char *about)
{
    hg_figure *figure = (hg_figure *)(void *)cells;

    assert_int_equal(hg_figure_create(params, &figure), HG_ERR_ARGUMENT);
    assert_null(figure);
    assert_int_equal(lines.errors, 1);
    if (!strstr(lines.last, about))
        fail_msg("\"%s\" says nothing about \"%s\"", lines.last, about);
}

#define REFUSE(change, about)                                                                      \
    do {                                                                                           \
        params = good(&panel);                                                                     \
        change;                                                                                    \
        refused(&params, about);                                                                   \
    } while (0)

static void wrong_params_are_refused(void **state)
{
    static const char *const holes[] = {"a", NULL, "c", "d"};
    hg_figure_fact fact = {"two  spaces", "value"};
    hg_figure_fact empty = {"key", NULL};
    hg_figure_panel panel;
    hg_figure_params params;

    (void)state;
    REFUSE(params.panel_count = 0, "panels");
    REFUSE(params.panels = NULL, "panels");
    REFUSE(params.panel_count = 1u << 20, "panels");
    REFUSE(panel.cells = NULL, "none of the 1 panels");
    REFUSE(panel.rows = 0, "0 x 4");
    REFUSE(panel.columns = UINT32_MAX, "4294967295");
    REFUSE(panel.row_stride = 3, "apart");
    REFUSE(panel.row_labels = holes, "rows is NULL");
    REFUSE(panel.column_labels = holes, "columns is NULL");
    REFUSE(params.dpi = 5.0, "dots per inch");
    REFUSE(params.dpi = 1e9, "dots per inch");
    REFUSE(params.dpi = (double)NAN, "dots per inch");
    REFUSE(params.map_size = 100000, "layout pixels");
    REFUSE(params.maximum = NAN, "maximum");
    REFUSE(params.maximum = -1.0f, "maximum");
    REFUSE(params.floor = -1.0f, "floor");
    REFUSE(params.floor = 1.0f; params.scale = HG_FIGURE_LOG, "floor");
    REFUSE(params.facts = &fact; params.fact_count = 1, "two  spaces");
    REFUSE(params.facts = &empty; params.fact_count = 1, "value");
}

static void pictures_too_large_are_refused(void **state)
{
    static hg_figure_panel many[400];
    hg_figure_panel panel;
    hg_figure_params params = good(&panel);
    hg_figure *figure;
    uint32_t width, height;
    const char *advice;

    (void)state;
    for (int i = 0; i < 400; i++)
        many[i] = panel;
    params.panels = many;
    params.panel_count = 400;
    params.map_size = 8000;
    params.dpi = 1200.0;
    refused(&params, "dots per inch");
    /* What the sentence advises works. */
    params = good(&panel);
    params.panels = many;
    params.panel_count = 400;
    params.map_size = 800;
    params.dpi = 400.0;
    refused(&params, "use at most");
    advice = strstr(lines.last, "use at most ");
    assert_non_null(advice);
    params.dpi = strtod(advice + strlen("use at most "), NULL);
    assert_true(params.dpi > 24.0 && params.dpi < 400.0);
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    hg_figure_size(figure, &width, &height);
    assert_true(width <= 32767 && height <= 32767);
    hg_figure_destroy(&figure);
}

static void a_sink_that_stops_is_reported(void **state)
{
    hg_figure_panel panel;
    hg_figure_params params = good(&panel);

    (void)state;
    for (int format = 0; format < 3; format++)
        for (size_t at = 1; at < 4; at++) {
            bytes out = {.fail_at = at};
            hg_figure_sink sink = {.write = sink_write, .user = &out};
            hg_figure *figure;
            hg_result res;

            assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
            res = hg_figure_write(figure, (hg_figure_format)format, &sink);
            /* SVG and PDF come in one piece. */
            assert_int_equal(res, format == HG_FIGURE_PNG || at == 1 ? HG_ERR_OUTPUT : HG_OK);
            assert_true(out.writes <= at);
            hg_figure_destroy(&figure);
            bytes_free(&out);
        }
    assert_int_equal(lines.errors, 0);
}

static void wrong_calls_are_refused(void **state)
{
    hg_figure_panel panel;
    hg_figure_params params = good(&panel);
    bytes out = {0};
    hg_figure_sink sink = {.write = sink_write, .user = &out};
    hg_figure *figure;

    (void)state;
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    assert_int_equal(hg_figure_write(figure, (hg_figure_format)9, &sink), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_write(figure, HG_FIGURE_PNG, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_write(NULL, HG_FIGURE_PNG, &sink), HG_ERR_ARGUMENT);
    assert_int_equal(out.writes, 0);
    hg_figure_destroy(&figure);
    hg_figure_destroy(&figure);
    hg_figure_destroy(NULL);
}

/* A caller built against a header with fewer fields. */
static void older_params_are_taken(void **state)
{
    hg_figure_panel panel;
    hg_figure_params params = good(&panel);
    hg_figure *figure;

    (void)state;
    params.struct_size = (uint32_t)offsetof(hg_figure_params, columns);
    params.dpi = 1e9;
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    hg_figure_destroy(&figure);
}

static void extremes_are_drawn(void **state)
{
    static float values[4] = {FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f};
    hg_figure_panel panel;
    hg_figure_params params = good(&panel);
    bytes out;

    (void)state;
    panel.cells = values;
    panel.rows = 4;
    panel.columns = 1;
    for (int range = 0; range < 2; range++)
        for (int scale = 0; scale < 2; scale++) {
            params.range = (hg_figure_range)range;
            params.scale = (hg_figure_scale)scale;
            figure_bytes(&params, HG_FIGURE_PNG, &out);
            bytes_free(&out);
        }
    values[0] = 0.0f;
    params.range = HG_FIGURE_PER_PANEL;
    for (int scale = 0; scale < 2; scale++) {
        params.scale = (hg_figure_scale)scale;
        figure_bytes(&params, HG_FIGURE_SVG, &out);
        bytes_free(&out);
    }
    panel.row_begin = panel.column_begin = UINT32_MAX;
    panel.row_step = panel.column_step = UINT32_MAX;
    panel.flags = HG_PANEL_CAUSAL;
    panel.window = UINT32_MAX;
    figure_bytes(&params, HG_FIGURE_PNG, &out);
    bytes_free(&out);
}

static void formats_are_told_by_name(void **state)
{
    hg_figure_format format = HG_FIGURE_PNG;

    (void)state;
    assert_int_equal(hg_figure_format_of("a/b.c/x.SVG", &format), HG_OK);
    assert_int_equal(format, HG_FIGURE_SVG);
    assert_int_equal(hg_figure_format_of("x.pdf", &format), HG_OK);
    assert_int_equal(format, HG_FIGURE_PDF);
    assert_int_equal(hg_figure_format_of(".png", &format), HG_OK);
    assert_int_equal(format, HG_FIGURE_PNG);
    assert_int_equal(hg_figure_format_of("x.jpeg", &format), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_format_of("png", &format), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_format_of("x.png/y", &format), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_format_of("", &format), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_format_of(NULL, &format), HG_ERR_ARGUMENT);
}

static void notes_are_worded(void **state)
{
    char text[64], little[8];

    (void)state;
    assert_string_equal(hg_figure_share_note(text, sizeof(text), 0.414, 0.1736),
                        "first token 0.41 (uniform 0.17)");
    assert_string_equal(hg_figure_share_note(little, sizeof(little), 0.5, 0.5), "first t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_params_are_refused),
        cmocka_unit_test(pictures_too_large_are_refused),
        cmocka_unit_test(a_sink_that_stops_is_reported),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(older_params_are_taken),
        cmocka_unit_test(extremes_are_drawn),
        cmocka_unit_test(formats_are_told_by_name),
        cmocka_unit_test(notes_are_worded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
