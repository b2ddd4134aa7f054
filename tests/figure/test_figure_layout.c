/* SPDX-License-Identifier: MIT */
/* Layouts of every size: nothing leaves the page, no text lies on another, maps do not overlap.
 * Places of text are taken from the words of the SVG, places of maps from the PNG's cells. */
#include "figure_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

struct scene {
    hg_figure_panel panels[MOST];
    char titles[MOST][16];
    char notes[MOST][64];
    hg_figure_params params;
    float *map, *gate;
    const char **labels;
    const char *rows[MOST];
};

static void scene_make(struct scene *scene, uint32_t tokens, uint32_t count,
                       hg_figure_layout layout, uint32_t columns)
{
    static const char *const base[] = {"<|endoftext|>",
                                       "\u2423the",
                                       "\u6CE8\u610F\u529B",
                                       "a",
                                       ".",
                                       "\u2423mechanisms",
                                       "<E6>",
                                       "\u0645\u0631\u062D\u0628\u0627",
                                       NULL};

    memset(scene, 0, sizeof(*scene));
    scene->map = map_make(tokens, 3);
    scene->gate = gate_make(tokens, 1);
    scene->labels = labels_make(tokens, base);
    for (uint32_t k = 0; k < count; k++) {
        scene->rows[k] = "gate_elementwise";
        snprintf(scene->titles[k], sizeof(scene->titles[k]), "L%u H%u", k / 4 + 20, k % 4 + 10);
        hg_figure_share_note(scene->notes[k], sizeof(scene->notes[k]), 0.41, 0.17);
        scene->panels[k] = (hg_figure_panel){.title = scene->titles[k],
                                             .note = scene->notes[k],
                                             .cells = scene->map,
                                             .rows = tokens,
                                             .columns = tokens,
                                             .flags = HG_PANEL_CAUSAL,
                                             .row_labels = scene->labels,
                                             .column_labels = scene->labels,
                                             .gate = k % 2 ? scene->gate : NULL};
    }
    scene->params = (hg_figure_params){
        .struct_size = sizeof(scene->params),
        .layout = layout,
        .panels = scene->panels,
        .panel_count = count,
        .columns = columns,
        .title = "gate_elementwise",
        .subtitle = "Attention probabilities, mean over 16 heads",
        .footer = "a prompt that is long enough to need two lines where the figure is narrow, on a "
                  "device, fp32",
        .row_titles = layout == HG_FIGURE_GRID ? scene->rows : NULL,
        .dpi = 96.0};
}

static void scene_free(struct scene *scene)
{
    free(scene->map);
    free(scene->gate);
    free(scene->labels);
}

static void check_words(const struct scene *scene, const word *words, size_t count)
{
    hg_figure *figure;
    uint32_t width, height;

    assert_int_equal(hg_figure_create(&scene->params, &figure), HG_OK);
    hg_figure_size(figure, &width, &height);
    hg_figure_destroy(&figure);
    assert_true(count >= 5);
    for (size_t i = 0; i < count; i++) {
        const word *a = &words[i];

        /* The margin is 15 points. */
        if (a->x0 < 14.0 || a->y0 < 14.0 || a->x1 > width * 0.75 - 14.0 ||
            a->y1 > height * 0.75 - 14.0)
            fail_msg("%s (%.1f %.1f) lies in the margin", a->text, a->x1, a->y1);
        for (size_t j = 0; j < i; j++) {
            const word *b = &words[j];
            double dx = (a->x1 < b->x1 ? a->x1 : b->x1) - (a->x0 > b->x0 ? a->x0 : b->x0);
            double dy = (a->y1 < b->y1 ? a->y1 : b->y1) - (a->y0 > b->y0 ? a->y0 : b->y0);

            if (dx > 0.05 && dy > 0.05)
                fail_msg("%s (%.1f %.1f) lies on %s (%.1f %.1f)", a->text, a->x0, a->y0, b->text,
                         b->x0, b->y0);
        }
    }
}

static void check_maps(const struct scene *scene)
{
    hg_figure *figure;

    assert_int_equal(hg_figure_create(&scene->params, &figure), HG_OK);
    for (uint32_t k = 0; k < scene->params.panel_count; k++)
        for (uint32_t m = 0; m < k; m++) {
            uint32_t last = scene->panels[k].rows - 1;
            uint32_t ax0, ay0, ax1, ay1, bx0, by0, bx1, by1;

            assert_int_equal(hg_figure_cell(figure, k, 0, 0, &ax0, &ay0, NULL), HG_OK);
            assert_int_equal(hg_figure_cell(figure, k, last, last, &ax1, &ay1, NULL), HG_OK);
            assert_int_equal(hg_figure_cell(figure, m, 0, 0, &bx0, &by0, NULL), HG_OK);
            assert_int_equal(hg_figure_cell(figure, m, last, last, &bx1, &by1, NULL), HG_OK);
            assert_true(ax0 > bx1 || bx0 > ax1 || ay0 > by1 || by0 > ay1);
        }
    hg_figure_destroy(&figure);
}

static void check(uint32_t tokens, uint32_t count, hg_figure_layout layout, uint32_t columns,
                  hg_figure_scale scale, hg_figure_range range)
{
    struct scene scene;
    bytes svg;
    size_t words_count;
    word *words;

    scene_make(&scene, tokens, count, layout, columns);
    scene.params.scale = scale;
    scene.params.range = range;
    figure_bytes(&scene.params, HG_FIGURE_SVG, &svg);
    words = svg_words(&svg, &words_count);
    check_words(&scene, words, words_count);
    check_maps(&scene);
    free(words);
    bytes_free(&svg);
    scene_free(&scene);
}

static void panels_of_every_size(void **state)
{
    static const uint32_t tokens[] = {1, 2, 8, 21, 50, 61, 100, 200, 201, 300, 1500};

    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        check(tokens[i], 4, HG_FIGURE_PANELS, 0, HG_FIGURE_LINEAR, HG_FIGURE_SHARED);
        check(tokens[i], 1, HG_FIGURE_PANELS, 0, HG_FIGURE_LOG, HG_FIGURE_PER_PANEL);
    }
}

static void grids_of_every_size(void **state)
{
    static const uint32_t tokens[] = {1, 8, 21, 50, 100, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        check(tokens[i], 12, HG_FIGURE_GRID, 4, HG_FIGURE_LINEAR, HG_FIGURE_SHARED);
        check(tokens[i], 5, HG_FIGURE_GRID, 0, HG_FIGURE_LOG, HG_FIGURE_SHARED);
        check(tokens[i], 64, HG_FIGURE_GRID, 16, HG_FIGURE_LINEAR, HG_FIGURE_PER_PANEL);
    }
}

/* In a grid the outer panels carry the labels; a panel that differs carries its own. */
static void grids_label_what_differs(void **state)
{
    static const char *const first[] = {"alpha", "beta", NULL};
    static const char *const second[] = {"gamma", "delta", NULL};
    struct scene scene;
    const char **a = labels_make(8, first);
    const char **b = labels_make(8, second);

    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        bytes svg;
        size_t count, alphas = 0, gammas = 0;
        word *words;

        scene_make(&scene, 8, 6, HG_FIGURE_GRID, 3);
        for (uint32_t k = 0; k < 6; k++)
            scene.panels[k].row_labels = scene.panels[k].column_labels = differ && k >= 3 ? b : a;
        scene.panels[5].cells = NULL; /* a model with fewer layers */
        figure_bytes(&scene.params, HG_FIGURE_SVG, &svg);
        words = svg_words(&svg, &count);
        for (size_t i = 0; i < count; i++) {
            alphas += strcmp(words[i].text, "alpha") == 0;
            gammas += strcmp(words[i].text, "gamma") == 0;
        }
        /* 4 a map's edge. Same labels: 2 rows and 3 columns; else the upper row has its own below.
         */
        assert_int_equal(alphas, differ ? 4 * (1 + 3) : 4 * (2 + 3));
        assert_int_equal(gammas, differ ? 4 * (1 + 2) : 0);
        free(words);
        bytes_free(&svg);
        scene_free(&scene);
    }
    free(a);
    free(b);
}

static void long_maps_have_positions(void **state)
{
    struct scene scene;
    bytes svg;
    size_t count;
    word *words;

    (void)state;
    scene_make(&scene, 300, 1, HG_FIGURE_PANELS, 0);
    scene.panels[0].row_begin = 1000;
    figure_bytes(&scene.params, HG_FIGURE_SVG, &svg);
    words = svg_words(&svg, &count);
    assert_null(word_find(words, count, "\u2423mechanisms"));
    assert_non_null(word_find(words, count, "1000"));
    assert_non_null(word_find(words, count, "1200"));
    assert_non_null(word_find(words, count, "200"));
    assert_null(word_find(words, count, "300"));
    free(words);
    bytes_free(&svg);
    scene_free(&scene);
}

static void log_bars_state_their_floor(void **state)
{
    struct scene scene;
    bytes svg;
    size_t count;
    word *words;

    (void)state;
    scene_make(&scene, 21, 1, HG_FIGURE_PANELS, 0);
    scene.params.scale = HG_FIGURE_LOG;
    scene.params.floor = 1e-3f;
    figure_bytes(&scene.params, HG_FIGURE_SVG, &svg);
    words = svg_words(&svg, &count);
    assert_non_null(word_find(words, count, "\u2264 10\u207B\u00B3"));
    assert_non_null(word_find(words, count, "10\u207B\u00B2"));
    assert_non_null(word_find(words, count, "10\u207B\u00B9"));
    assert_non_null(word_find(words, count, "1"));
    assert_null(word_find(words, count, "10\u207B\u00B3"));
    free(words);
    bytes_free(&svg);
    scene_free(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_of_every_size),       cmocka_unit_test(grids_of_every_size),
        cmocka_unit_test(grids_label_what_differs),   cmocka_unit_test(long_maps_have_positions),
        cmocka_unit_test(log_bars_state_their_floor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
