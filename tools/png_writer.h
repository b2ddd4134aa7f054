/* SPDX-License-Identifier: MIT */
/* PNG files with text chunks, through libpng; what cairo's own writer cannot do. Knows pixels and
 * facts, not figures. */
#ifndef HG_TOOLS_PNG_WRITER_H
#define HG_TOOLS_PNG_WRITER_H

#include "figure.h"

typedef struct hg_png_image {
    const unsigned char *pixels; /* [height, stride bytes], 0xXXRRGGBB in the machine's order */
    size_t stride;               /* bytes, a multiple of 4 */
    uint32_t width, height;
    double dpi; /* 0: not said */
} hg_png_image;

/* Eight bits RGB. Each fact becomes an iTXt chunk, not compressed: `strings` finds it. */
hg_result hg_png_write(const hg_png_image *image, const hg_figure_fact *facts, uint32_t fact_count,
                       const hg_figure_sink *sink, const hg_log *log);

/* PNG's rule for a key: 1..79 printable characters, no space at an end or twice in a row. */
int hg_png_key_valid(const char *key);

#endif
