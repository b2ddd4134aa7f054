/* SPDX-License-Identifier: MIT */
/* The PNG writer. libpng reports by longjmp: everything that lives across it is in struct writer,
 * on the caller's stack, and each function between setjmp and libpng owns nothing. */
#include "png_writer.h"

#include "check.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const hg_figure_sink *sink;
    const hg_log *log;
    hg_result res;
    unsigned char *row; /* [width, 3] */
    png_text *texts;    /* [fact_count] */
};

int hg_png_key_valid(const char *key)
{
    size_t length = key ? strlen(key) : 0;

    if (length < 1 || length > 79 || key[0] == ' ' || key[length - 1] == ' ')
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (key[i] < 0x20 || key[i] > 0x7e)
            return 0;
        if (key[i] == ' ' && key[i + 1] == ' ')
            return 0;
    }
    return 1;
}

static void on_write(png_structp png, png_bytep data, png_size_t bytes)
{
    struct writer *writer = png_get_io_ptr(png);

    writer->res = writer->sink->write(writer->sink->user, data, bytes);
    if (writer->res != HG_OK)
        png_error(png, "the sink stopped");
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void on_error(png_structp png, png_const_charp message)
{
    struct writer *writer = png_get_error_ptr(png);

    if (writer->res == HG_OK)
        writer->res = hg_fail(writer->log, HG_ERR_HOST_MEMORY, "libpng: %s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    struct writer *writer = png_get_error_ptr(png);

    hg_say(writer->log, HG_LOG_WARNING, "libpng: %s", message);
}

/* libpng's struct has pointers to char for what it only reads. */
static char *unqualified(const char *text)
{
    char *same;

    memcpy(&same, &text, sizeof(same));
    return same;
}

static void put_facts(png_structp png, png_infop info, struct writer *writer,
                      const hg_figure_fact *facts, uint32_t fact_count)
{
    for (uint32_t i = 0; i < fact_count; i++) {
        writer->texts[i] = (png_text){
            .compression = PNG_ITXT_COMPRESSION_NONE,
            .key = unqualified(facts[i].key),
            .text = unqualified(facts[i].value),
            .itxt_length = strlen(facts[i].value),
        };
    }
    if (fact_count)
        png_set_text(png, info, writer->texts, (int)fact_count);
}

static void put_rows(png_structp png, struct writer *writer, const hg_png_image *image)
{
    for (uint32_t y = 0; y < image->height; y++) {
        const unsigned char *from = image->pixels + (size_t)y * image->stride;
        unsigned char *to = writer->row;

        for (uint32_t x = 0; x < image->width; x++, from += 4, to += 3) {
            uint32_t pixel;

            memcpy(&pixel, from, 4);
            to[0] = (unsigned char)(pixel >> 16 & 255);
            to[1] = (unsigned char)(pixel >> 8 & 255);
            to[2] = (unsigned char)(pixel & 255);
        }
        png_write_row(png, writer->row);
    }
}

static hg_result encode(png_structp png, png_infop info, struct writer *writer,
                        const hg_png_image *image, const hg_figure_fact *facts, uint32_t fact_count)
{
    if (setjmp(png_jmpbuf(png)))
        return writer->res;
    png_set_write_fn(png, writer, on_write, on_flush);
    png_set_IHDR(png, info, image->width, image->height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_RELATIVE);
    if (image->dpi > 0.0) {
        png_uint_32 per_meter = (png_uint_32)(image->dpi / 0.0254 + 0.5);

        png_set_pHYs(png, info, per_meter, per_meter, PNG_RESOLUTION_METER);
    }
    put_facts(png, info, writer, facts, fact_count);
    /* Rows repeat inside a cell: "up" leaves zeros, and the slow search for a filter is not needed.
     */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_write_info(png, info);
    put_rows(png, writer, image);
    png_write_end(png, info);
    return HG_OK;
}

hg_result hg_png_write(const hg_png_image *image, const hg_figure_fact *facts, uint32_t fact_count,
                       const hg_figure_sink *sink, const hg_log *log)
{
    struct writer writer = {.sink = sink, .log = log, .res = HG_OK};
    png_structp png = NULL;
    png_infop info = NULL;
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < fact_count; i++)
        if (!hg_png_key_valid(facts[i].key) || !facts[i].value)
            return hg_fail(log, HG_ERR_ARGUMENT,
                           "fact %u: the key must be 1 to 79 printable ASCII characters and the "
                           "value there, found the key \"%.80s\"",
                           (unsigned)i, facts[i].key ? facts[i].key : "");
    writer.row = malloc((size_t)image->width * 3);
    writer.texts = calloc((size_t)fact_count + 1, sizeof(*writer.texts));
    if (writer.row && writer.texts)
        png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_error, on_warning);
    if (png)
        info = png_create_info_struct(png);
    if (!info) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "no memory to write a PNG of %u x %u pixels",
                      (unsigned)image->width, (unsigned)image->height);
        goto out;
    }
    res = encode(png, info, &writer, image, facts, fact_count);
out:
    if (png)
        png_destroy_write_struct(&png, &info);
    free(writer.row);
    free(writer.texts);
    return res;
}
