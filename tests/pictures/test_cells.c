/* SPDX-License-Identifier: MIT */
/*
 * The whole way from a sample model to a PNG: the map of every layer, drawn, decoded by libpng, and
 * each cell's colour compared with the mean over heads of what the original code gave
 * (tests/reference/samples).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <png.h>

#include <headgate/headgate.h>

#include "colormap.h"
#include "figure.h"
#include "tensors.h"

enum { LAYERS = 4 };

typedef struct bytes {
    uint8_t *data;
    size_t count, at;
} bytes;

static hg_result append(void *user, const void *data, size_t count)
{
    bytes *b = user;
    uint8_t *grown = realloc(b->data, b->count + count);

    assert_non_null(grown);
    memcpy(grown + b->count, data, count);
    b->data = grown;
    b->count += count;
    return HG_OK;
}

/* RGB rows of a PNG in memory. */
static uint8_t *decode(const bytes *file, uint32_t *width)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t *pixels;

    assert_int_not_equal(png_image_begin_read_from_memory(&image, file->data, file->count), 0);
    image.format = PNG_FORMAT_RGB;
    pixels = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(pixels);
    assert_int_not_equal(png_image_finish_read(&image, NULL, pixels, 0, NULL), 0);
    *width = image.width;
    return pixels;
}

/* Both neighbours of a rounding border are right: the device's value and the original's may fall on
 * either side. */
static int is_colour(uint32_t rgb, double value)
{
    for (int step = -1; step <= 1; step++) {
        const int index = (int)(255.0 * value + 0.5) + step;

        if (index >= 0 && index <= 255 && hg_colormap_viridis[index] == rgb)
            return 1;
    }
    return 0;
}

/* Colour of a cell's middle pixel, 0xRRGGBB. */
static uint32_t cell_colour(const hg_figure *figure, uint32_t panel, const uint8_t *pixels,
                            uint32_t width, uint32_t row, uint32_t column)
{
    uint32_t x = 0, y = 0;
    size_t at;

    assert_int_equal(hg_figure_cell(figure, panel, row, column, &x, &y, NULL), HG_OK);
    at = ((size_t)y * width + x) * 3;
    return (uint32_t)pixels[at] << 16 | (uint32_t)pixels[at + 1] << 8 | pixels[at + 2];
}

static void check_panel(const hg_figure *figure, uint32_t panel, const uint8_t *pixels,
                        uint32_t width, const float *heads, uint32_t head_count, uint32_t tokens)
{
    for (uint32_t i = 0; i < tokens; i++)
        for (uint32_t j = 0; j < tokens; j++) {
            const uint32_t rgb = cell_colour(figure, panel, pixels, width, i, j);
            double mean = 0;

            if (j > i) {
                assert_int_equal(rgb, HG_COLOR_MASKED);
                continue;
            }
            for (uint32_t h = 0; h < head_count; h++)
                mean += (double)heads[((size_t)h * tokens + i) * tokens + j] / head_count;
            if (!is_colour(rgb, mean))
                fail_msg("panel %u, cell (%u, %u): the colour is not that of %g", panel, i, j,
                         mean);
        }
}

/* Maps of every layer through the library. */
static float *run_model(const char *path, const int32_t *ids, uint32_t tokens)
{
    hg_engine *engine = NULL;
    hg_checkpoint *checkpoint = NULL;
    hg_model *model = NULL;
    hg_session *session = NULL;
    float *maps = malloc((size_t)LAYERS * tokens * tokens * sizeof(*maps));
    const hg_session_params params = {.max_tokens = tokens, .capture = HG_CAPTURE_ATTENTION};

    assert_non_null(maps);
    assert_int_equal(hg_engine_create(&(hg_engine_params){.selector = "ref"}, &engine), HG_OK);
    assert_int_equal(hg_checkpoint_open(&(hg_checkpoint_params){.path = path}, &checkpoint), HG_OK);
    assert_int_equal(hg_model_load(engine, checkpoint, NULL, &model), HG_OK);
    assert_int_equal(hg_session_create(model, &params, &session), HG_OK);
    assert_int_equal(hg_session_eval(session, ids, tokens), HG_OK);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        assert_int_equal(hg_capture_map(session, &(hg_map_params){.layer = layer, .head_mean = 1},
                                        maps + (size_t)layer * tokens * tokens),
                         HG_OK);
    hg_session_free(&session);
    hg_model_free(&model);
    hg_checkpoint_close(&checkpoint);
    hg_engine_destroy(&engine);
    return maps;
}

static void check_sample(const char *name)
{
    char path[512];
    uint32_t shape[4], width;
    hg_figure_panel panels[LAYERS] = {{0}};
    hg_figure_params params = {.panels = panels, .panel_count = LAYERS};
    hg_figure *figure = NULL;
    bytes file = {0};
    hg_test_tensors *expected;
    int32_t *ids;
    float *maps;
    uint8_t *pixels;

    snprintf(path, sizeof(path), "%s/samples/%s/expected-0.safetensors", HG_TEST_REFERENCE_DIR,
             name);
    expected = hg_test_tensors_read(path);
    assert_non_null(expected);
    ids = hg_test_tensors_i32(expected, "input_ids");
    assert_true(hg_test_tensors_count(expected, "attentions.0", shape) >
                0); /* [heads, tokens, tokens] */
    snprintf(path, sizeof(path), "%s/%s", HG_TEST_SAMPLES_DIR, name);
    maps = run_model(path, ids, shape[1]);
    for (uint32_t i = 0; i < LAYERS; i++)
        panels[i] = (hg_figure_panel){.title = "Layer",
                                      .cells = maps + (size_t)i * shape[1] * shape[1],
                                      .rows = shape[1],
                                      .columns = shape[1],
                                      .flags = HG_PANEL_CAUSAL};
    assert_int_equal(hg_figure_create(&params, &figure), HG_OK);
    assert_int_equal(hg_figure_write(figure, HG_FIGURE_PNG, &(hg_figure_sink){append, &file}),
                     HG_OK);
    pixels = decode(&file, &width);
    for (uint32_t i = 0; i < LAYERS; i++) {
        char tensor[32];
        float *heads;

        snprintf(tensor, sizeof(tensor), "attentions.%u", i);
        heads = hg_test_tensors_f32(expected, tensor);
        assert_non_null(heads);
        check_panel(figure, i, pixels, width, heads, shape[0], shape[1]);
        free(heads);
    }
    hg_figure_destroy(&figure);
    free(pixels);
    free(file.data);
    free(maps);
    free(ids);
    hg_test_tensors_free(expected);
}

static void baseline_cells(void **state)
{
    (void)state;
    check_sample("baseline");
}

static void gate_headwise_cells(void **state)
{
    (void)state;
    check_sample("gate_headwise");
}

static void gate_elementwise_cells(void **state)
{
    (void)state;
    check_sample("gate_elementwise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_cells),
        cmocka_unit_test(gate_headwise_cells),
        cmocka_unit_test(gate_elementwise_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
