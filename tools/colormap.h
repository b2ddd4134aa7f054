/* SPDX-License-Identifier: MIT */
/* The two colour maps of the figures, as tables of 256 colours 0xRRGGBB: both even to the eye and
 * safe for colour-blind readers. Numbers only; who draws decides what a value means. */
#ifndef HG_TOOLS_COLORMAP_H
#define HG_TOOLS_COLORMAP_H

#include <stdint.h>

extern const uint32_t hg_colormap_viridis[256]; /* maps */
extern const uint32_t hg_colormap_cividis[256]; /* gates */

enum {
    HG_COLOR_MASKED = 0xE9E9E9, /* in neither map: a masked cell is not a cell of value 0 */
    HG_COLOR_BROKEN = 0xE0218A  /* not a finite number */
};

/* round(255 * value), value taken into 0..1 (not a number: 0). */
uint32_t hg_colormap_index(double value);

/* The index of a colour in a table, -1 if it is none of it. */
int hg_colormap_find(const uint32_t table[256], uint32_t rgb);

#endif
