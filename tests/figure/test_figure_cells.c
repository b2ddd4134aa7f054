/* SPDX-License-Identifier: MIT */
/* Cells of a figure are read back from its PNG: the colour is the value, in every corner of the
 * cell. */
#include "figure_support.h"

#include "colormap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t color_of(double value)
{
    return hg_colormap_viridis[hg_colormap_index(value)];
}

static void draw(const hg_figure_params *params, hg_figure **figure, picture *p)
{
    bytes png = {0};
    hg_figure_sink sink = {.write = sink_write, .user = &png};
    uint32_t width, height;

    assert_int_equal(hg_figure_create(params, figure), HG_OK);
    assert_int_equal(hg_figure_write(*figure, HG_FIGURE_PNG, &sink), HG_OK);
    picture_read(&png, p);
    hg_figure_size(*figure, &width, &height);
    assert_int_equal(p->width, width);
    assert_int_equal(p->height, height);
    bytes_free(&png);
}

/* Centre and corners; the size of a cell follows from the next cell's centre. */
static void check_cell(const hg_figure *figure, const picture *p, uint32_t panel, uint32_t row,
                       uint32_t column, uint32_t cells, uint32_t expected)
{
    uint32_t x, y, next_x, next_y, pooled = 0, half, size;

    assert_int_equal(hg_figure_cell(figure, panel, row, column, &x, &y, &pooled), HG_OK);
    assert_int_equal(pooled, 1);
    assert_int_equal(picture_at(p, x, y), expected);
    if (row + 1 == cells || column + 1 == cells)
        return;
    assert_int_equal(hg_figure_cell(figure, panel, row + 1, column + 1, &next_x, &next_y, NULL),
                     HG_OK);
    size = next_x - x;
    half = size / 2;
    assert_int_equal(next_y - y, size);
    assert_int_equal(picture_at(p, x - half, y - half), expected);
    assert_int_equal(picture_at(p, x - half + size - 1, y - half), expected);
    assert_int_equal(picture_at(p, x - half, y - half + size - 1), expected);
    assert_int_equal(picture_at(p, x - half + size - 1, y - half + size - 1), expected);
}

static void check_tokens(uint32_t tokens, uint32_t panel_count, hg_figure_layout layout, double dpi)
{
    static const char *const base[] = {"a", "\u2423gate", "\u6CE8", NULL};
    const char **labels = labels_make(tokens, base);
    hg_figure_panel panels[6] = {{0}};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = panels,
                               .layout = layout,
                               .panel_count = panel_count,
                               .columns = 3,
                               .dpi = dpi};
    float *maps[6], *gates[6];
    hg_figure *figure;
    picture p;

    for (uint32_t k = 0; k < panel_count; k++) {
        maps[k] = map_make(tokens, k);
        gates[k] = gate_make(tokens, k);
        panels[k] = (hg_figure_panel){.title = "Layer",
                                      .note = "note",
                                      .cells = maps[k],
                                      .rows = tokens,
                                      .columns = tokens,
                                      .flags = HG_PANEL_CAUSAL,
                                      .row_labels = labels,
                                      .column_labels = labels,
                                      .gate = k % 2 ? gates[k] : NULL};
    }
    draw(&params, &figure, &p);
    for (uint32_t k = 0; k < panel_count; k++)
        for (uint32_t i = 0; i < tokens; i++) {
            uint32_t x, y;

            for (uint32_t j = 0; j < tokens; j++)
                check_cell(figure, &p, k, i, j, tokens,
                           j > i ? (uint32_t)HG_COLOR_MASKED
                                 : color_of((double)maps[k][i * tokens + j]));
            if (k % 2 == 0) {
                assert_int_equal(hg_figure_gate_cell(figure, k, i, &x, &y), HG_ERR_ARGUMENT);
                continue;
            }
            assert_int_equal(hg_figure_gate_cell(figure, k, i, &x, &y), HG_OK);
            assert_int_equal(picture_at(&p, x, y),
                             hg_colormap_cividis[hg_colormap_index((double)gates[k][i])]);
        }
    hg_figure_destroy(&figure);
    picture_free(&p);
    for (uint32_t k = 0; k < panel_count; k++) {
        free(maps[k]);
        free(gates[k]);
    }
    free(labels);
}

static void cells_are_exact(void **state)
{
    (void)state;
    check_tokens(1, 2, HG_FIGURE_PANELS, 192.0);
    check_tokens(2, 1, HG_FIGURE_GRID, 300.0);
    check_tokens(8, 4, HG_FIGURE_PANELS, 96.0);
    check_tokens(21, 6, HG_FIGURE_GRID, 192.0);
    check_tokens(50, 2, HG_FIGURE_PANELS, 110.0);
    check_tokens(300, 2, HG_FIGURE_PANELS, 96.0);
}

static void tables_are_the_published_ones(void **state)
{
    (void)state;
    assert_int_equal(hg_colormap_viridis[0], 0x440154);
    assert_int_equal(hg_colormap_viridis[128], 0x21918C);
    assert_int_equal(hg_colormap_viridis[255], 0xFDE725);
    assert_int_equal(hg_colormap_cividis[0], 0x00224E);
    assert_int_equal(hg_colormap_cividis[255], 0xFEE838);
    assert_int_equal(hg_colormap_index(0.0), 0);
    assert_int_equal(hg_colormap_index(-1.0), 0);
    assert_int_equal(hg_colormap_index((double)NAN), 0);
    assert_int_equal(hg_colormap_index(1.0), 255);
    assert_int_equal(hg_colormap_index(7.0), 255);
    assert_int_equal(hg_colormap_index(0.5), 128);
    assert_int_equal(hg_colormap_index(0.5 / 255.0 - 1e-9), 0);
    assert_int_equal(hg_colormap_index(0.5 / 255.0 + 1e-9), 1);
    assert_int_equal(hg_colormap_find(hg_colormap_viridis, HG_COLOR_MASKED), -1);
    assert_int_equal(hg_colormap_find(hg_colormap_viridis, HG_COLOR_BROKEN), -1);
    assert_int_equal(hg_colormap_find(hg_colormap_viridis, 0x21918C), 128);
    for (int i = 0; i < 256; i++) {
        int found = hg_colormap_find(hg_colormap_viridis, hg_colormap_viridis[i]);

        /* Two neighbours round to one colour in two places: no value is off by more than one. */
        assert_true(found == i || found == i - 1);
    }
}

static void masks_and_broken_cells_differ_from_zero(void **state)
{
    float cells[25] = {0.0f};
    uint8_t masked[25] = {0};
    log_lines lines = {0};
    hg_figure_panel panel = {.cells = cells,
                             .rows = 5,
                             .columns = 5,
                             .masked = masked,
                             .flags = HG_PANEL_CAUSAL,
                             .window = 3};
    hg_figure_params params = {
        .struct_size = sizeof(params), .panels = &panel, .panel_count = 1, .log = log_to(&lines)};
    hg_figure *figure;
    picture p;

    (void)state;
    cells[0] = NAN; /* seen: magenta */
    cells[4] = NAN; /* masked: grey like any other */
    cells[1 * 5 + 0] = -INFINITY;
    cells[1 * 5 + 1] = 1.5f; /* above the end of the scale */
    cells[2 * 5 + 1] = -0.25f;
    masked[2 * 5 + 0] = 1;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 0, 5, HG_COLOR_BROKEN);
    check_cell(figure, &p, 0, 0, 4, 5, HG_COLOR_MASKED);
    check_cell(figure, &p, 0, 1, 0, 5, HG_COLOR_BROKEN);
    check_cell(figure, &p, 0, 1, 1, 5, color_of(1.0));
    check_cell(figure, &p, 0, 2, 0, 5, HG_COLOR_MASKED);
    check_cell(figure, &p, 0, 2, 1, 5, color_of(0.0));
    check_cell(figure, &p, 0, 3, 0, 5, HG_COLOR_MASKED); /* out of the window */
    check_cell(figure, &p, 0, 3, 1, 5, color_of(0.0));
    check_cell(figure, &p, 0, 4, 1, 5, HG_COLOR_MASKED);
    check_cell(figure, &p, 0, 4, 2, 5, color_of(0.0));
    assert_int_equal(lines.warnings, 1);
    assert_non_null(strstr(lines.last, "2 cells"));
    hg_figure_destroy(&figure);
    picture_free(&p);
}

/* Rows 6, 7 and columns 4..7 of a longer map, and cells of two tokens. */
static void rectangles_know_where_they_are(void **state)
{
    float cells[8] = {0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f};
    hg_figure_panel panel = {.cells = cells,
                             .rows = 2,
                             .columns = 4,
                             .flags = HG_PANEL_CAUSAL,
                             .row_begin = 6,
                             .column_begin = 4};
    hg_figure_params params = {.struct_size = sizeof(params), .panels = &panel, .panel_count = 1};
    hg_figure *figure;
    picture p;
    uint32_t x, y;

    (void)state;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 2, 2, color_of(0.25));
    assert_int_equal(hg_figure_cell(figure, 0, 0, 3, &x, &y, NULL), HG_OK);
    assert_int_equal(picture_at(&p, x, y), HG_COLOR_MASKED);
    assert_int_equal(hg_figure_cell(figure, 0, 1, 3, &x, &y, NULL), HG_OK);
    assert_int_equal(picture_at(&p, x, y), color_of(0.25));
    assert_int_equal(hg_figure_cell(figure, 0, 2, 0, &x, &y, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_cell(figure, 0, 0, 4, &x, &y, NULL), HG_ERR_ARGUMENT);
    assert_int_equal(hg_figure_cell(figure, 1, 0, 0, &x, &y, NULL), HG_ERR_ARGUMENT);
    hg_figure_destroy(&figure);
    picture_free(&p);
    /* Queries 0..1 and 2..3, keys 0..1 to 6..7: a cell is masked when all its pairs are. */
    panel.row_begin = panel.column_begin = 0;
    panel.row_step = panel.column_step = 2;
    draw(&params, &figure, &p);
    for (uint32_t j = 0; j < 4; j++) {
        assert_int_equal(hg_figure_cell(figure, 0, 1, j, &x, &y, NULL), HG_OK);
        assert_int_equal(picture_at(&p, x, y), j > 1 ? (uint32_t)HG_COLOR_MASKED : color_of(0.25));
    }
    hg_figure_destroy(&figure);
    picture_free(&p);
}

static void scales_are_what_they_say(void **state)
{
    float cells[4] = {1.0f, 2e-2f, 1e-4f, 1e-7f};
    hg_figure_panel panel = {.cells = cells, .rows = 2, .columns = 2};
    hg_figure_params params = {
        .struct_size = sizeof(params), .panels = &panel, .panel_count = 1, .scale = HG_FIGURE_LOG};
    hg_figure *figure;
    picture p;

    (void)state;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 0, 2, color_of(1.0));
    check_cell(figure, &p, 0, 0, 1, 2, hg_colormap_viridis[147]); /* log10(200) / 4 */
    check_cell(figure, &p, 0, 1, 0, 2, color_of(0.0));
    check_cell(figure, &p, 0, 1, 1, 2, color_of(0.0));
    hg_figure_destroy(&figure);
    picture_free(&p);
    cells[0] = 0.2f;
    cells[1] = 0.1f;
    cells[2] = 0.05f;
    params.scale = HG_FIGURE_LINEAR;
    params.range = HG_FIGURE_PER_PANEL;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 0, 2, color_of(1.0));
    check_cell(figure, &p, 0, 0, 1, 2, color_of(0.5));
    check_cell(figure, &p, 0, 1, 0, 2, color_of(0.25));
    hg_figure_destroy(&figure);
    picture_free(&p);
    params.range = HG_FIGURE_SHARED;
    params.maximum = 0.1f;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 0, 2, color_of(1.0));
    check_cell(figure, &p, 0, 1, 0, 2, color_of(0.5));
    hg_figure_destroy(&figure);
    picture_free(&p);
}

/* A map larger than its picture shows the largest of what shares a pixel: one bright cell survives.
 */
static void large_maps_keep_their_peaks(void **state)
{
    const uint32_t tokens = 4000;
    float *cells = calloc((size_t)tokens * tokens, sizeof(*cells));
    hg_figure_panel panel = {
        .cells = cells, .rows = tokens, .columns = tokens, .flags = HG_PANEL_CAUSAL};
    hg_figure_params params = {
        .struct_size = sizeof(params), .panels = &panel, .panel_count = 1, .dpi = 96.0};
    hg_figure *figure;
    picture p;
    uint32_t x, y, pooled;

    (void)state;
    assert_non_null(cells);
    cells[(size_t)3333 * tokens + 1234] = 1.0f;
    draw(&params, &figure, &p);
    assert_int_equal(hg_figure_cell(figure, 0, 3333, 1234, &x, &y, &pooled), HG_OK);
    assert_true(pooled > 1);
    assert_true(p.width < 2000);
    assert_int_equal(picture_at(&p, x, y), color_of(1.0));
    assert_int_equal(picture_at(&p, x + 1, y), color_of(0.0));
    assert_int_equal(hg_figure_cell(figure, 0, 1234, 3333, &x, &y, &pooled), HG_OK);
    assert_int_equal(picture_at(&p, x, y), HG_COLOR_MASKED);
    hg_figure_destroy(&figure);
    picture_free(&p);
    free(cells);
}

/* Rows may lie further apart than they are long. */
static void strides_are_followed(void **state)
{
    float cells[10] = {0.1f, 0.2f, 9.0f, 9.0f, 9.0f, 0.3f, 0.4f, 9.0f, 9.0f, 9.0f};
    hg_figure_panel panel = {.cells = cells, .rows = 2, .columns = 2, .row_stride = 5};
    hg_figure_params params = {.struct_size = sizeof(params), .panels = &panel, .panel_count = 1};
    hg_figure *figure;
    picture p;

    (void)state;
    draw(&params, &figure, &p);
    check_cell(figure, &p, 0, 0, 1, 2, color_of((double)0.2f));
    check_cell(figure, &p, 0, 1, 0, 2, color_of((double)0.3f));
    check_cell(figure, &p, 0, 1, 1, 2, color_of((double)0.4f));
    hg_figure_destroy(&figure);
    picture_free(&p);
}

static void bytes_repeat(void **state)
{
    float *map = map_make(21, 1);
    hg_figure_fact fact = {"Prompt", "x"};
    hg_figure_panel panel = {
        .title = "Layer 1", .cells = map, .rows = 21, .columns = 21, .flags = HG_PANEL_CAUSAL};
    hg_figure_params params = {.struct_size = sizeof(params),
                               .panels = &panel,
                               .panel_count = 1,
                               .title = "title",
                               .facts = &fact,
                               .fact_count = 1};

    (void)state;
    /* cairo numbers the images of all SVGs of a process. */
    for (int pdf = 0; pdf < 2; pdf++) {
        bytes first, second;

        figure_bytes(&params, pdf ? HG_FIGURE_PDF : HG_FIGURE_PNG, &first);
        figure_bytes(&params, pdf ? HG_FIGURE_PDF : HG_FIGURE_PNG, &second);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        bytes_free(&first);
        bytes_free(&second);
    }
    free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_the_published_ones),
        cmocka_unit_test(cells_are_exact),
        cmocka_unit_test(masks_and_broken_cells_differ_from_zero),
        cmocka_unit_test(rectangles_know_where_they_are),
        cmocka_unit_test(scales_are_what_they_say),
        cmocka_unit_test(large_maps_keep_their_peaks),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(bytes_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
