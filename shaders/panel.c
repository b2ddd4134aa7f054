/* SPDX-License-Identifier: MIT */
/* See panel.h. */
#include "panel.h"

#include <string.h>

/* k at once: a line of 64 bytes of each of the 32 rows is read, whole lines of the panel written.
 */
enum { STRIP = 32 };

hg_dtype hg_dtype_element(hg_dtype dtype)
{
    return hg_dtype_is_panel(dtype) ? (hg_dtype)(dtype - HG_DTYPE_F32P + HG_DTYPE_F32) : dtype;
}

hg_dtype hg_dtype_panel(hg_dtype dtype)
{
    if (dtype == HG_DTYPE_NONE || hg_dtype_is_panel(dtype))
        return dtype;
    return (hg_dtype)(dtype - HG_DTYPE_F32 + HG_DTYPE_F32P);
}

int hg_dtype_is_panel(hg_dtype dtype)
{
    return dtype >= HG_DTYPE_F32P;
}

uint32_t hg_dtype_bytes(hg_dtype dtype)
{
    const hg_dtype element = hg_dtype_element(dtype);

    return element == HG_DTYPE_F16 || element == HG_DTYPE_BF16 ? 2 : 4;
}

uint64_t hg_panel_elements(hg_dtype dtype, uint64_t rows, uint64_t k)
{
    if (!hg_dtype_is_panel(dtype))
        return rows * k;
    return (rows + HG_PANEL_ROWS - 1) / HG_PANEL_ROWS * HG_PANEL_ROWS * k;
}

/* Place of a row in a line of its panel. */
static uint64_t lane(hg_dtype dtype, uint64_t row)
{
    const uint64_t r = row % HG_PANEL_ROWS;

    if (hg_dtype_element(dtype) != HG_DTYPE_BF16)
        return r;
    return r < 16 ? 2 * r : 2 * (r - 16) + 1;
}

uint64_t hg_panel_index(hg_dtype dtype, uint64_t k, uint64_t row, uint64_t i)
{
    if (!hg_dtype_is_panel(dtype))
        return row * k + i;
    return (row / HG_PANEL_ROWS * k + i) * HG_PANEL_ROWS + lane(dtype, row);
}

static void pack_f32(const uint8_t *from, uint64_t k, uint64_t rows, uint8_t *to)
{
    for (uint64_t k0 = 0; k0 < k; k0 += STRIP) {
        const uint64_t n = k - k0 < STRIP ? k - k0 : STRIP;
        uint32_t strip[STRIP][HG_PANEL_ROWS] = {{0}};

        for (uint64_t r = 0; r < rows; r++) {
            uint32_t line[STRIP];

            memcpy(line, from + (r * k + k0) * 4, n * 4);
            for (uint64_t i = 0; i < n; i++)
                strip[i][r] = line[i];
        }
        memcpy(to + k0 * HG_PANEL_ROWS * 4, strip, n * sizeof(strip[0]));
    }
}

static void pack_half(hg_dtype dtype, const uint8_t *from, uint64_t k, uint64_t rows, uint8_t *to)
{
    for (uint64_t k0 = 0; k0 < k; k0 += STRIP) {
        const uint64_t n = k - k0 < STRIP ? k - k0 : STRIP;
        uint16_t strip[STRIP][HG_PANEL_ROWS] = {{0}};

        for (uint64_t r = 0; r < rows; r++) {
            const uint64_t at = lane(dtype, r);
            uint16_t line[STRIP];

            memcpy(line, from + (r * k + k0) * 2, n * 2);
            for (uint64_t i = 0; i < n; i++)
                strip[i][at] = line[i];
        }
        memcpy(to + k0 * HG_PANEL_ROWS * 2, strip, n * sizeof(strip[0]));
    }
}

void hg_panel_pack(hg_dtype dtype, const void *from, uint64_t rows, uint64_t k, uint64_t first,
                   uint64_t count, void *to)
{
    const uint64_t bytes = hg_dtype_bytes(dtype);
    const uint8_t *source = from;
    uint8_t *out = to;

    for (uint64_t p = first; p < first + count; p++) {
        const uint64_t row = p * HG_PANEL_ROWS;
        const uint64_t n = rows - row < HG_PANEL_ROWS ? rows - row : HG_PANEL_ROWS;

        if (bytes == 4)
            pack_f32(source + row * k * 4, k, n, out);
        else
            pack_half(dtype, source + row * k * 2, k, n, out);
        out += HG_PANEL_ROWS * k * bytes;
    }
}
