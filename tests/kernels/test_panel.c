/* SPDX-License-Identifier: MIT */
/* Weights in panels: every element where the index says, the rest zero; odd sizes, parts, odd
 * addresses. */
#include "panel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names_types(void **state)
{
    (void)state;
    for (int t = HG_DTYPE_F32; t <= HG_DTYPE_BF16; t++) {
        const hg_dtype panel = hg_dtype_panel((hg_dtype)t);

        assert_true(hg_dtype_is_panel(panel) && !hg_dtype_is_panel((hg_dtype)t));
        assert_int_equal(hg_dtype_element(panel), t);
        assert_int_equal(hg_dtype_panel(panel), panel);
        assert_int_equal(hg_dtype_bytes(panel), t == HG_DTYPE_F32 ? 4 : 2);
    }
    assert_int_equal(hg_dtype_panel(HG_DTYPE_NONE), HG_DTYPE_NONE);
}

/* Element number n of rows is n + 1, so that nothing else looks like it. */
static void check(hg_dtype dtype, uint64_t rows, uint64_t k)
{
    const uint64_t size = hg_dtype_bytes(dtype);
    const uint64_t count = rows * k, panels = (rows + HG_PANEL_ROWS - 1) / HG_PANEL_ROWS;
    const uint64_t elements = hg_panel_elements(dtype, rows, k);
    uint8_t *from = malloc(count * size + 1);
    uint8_t *to = malloc(elements * size);
    uint64_t seen = 0;

    assert_non_null(from);
    assert_non_null(to);
    assert_int_equal(elements, panels * HG_PANEL_ROWS * k);
    memset(to, 0xee, elements * size);
    for (uint64_t n = 0; n < count; n++) {
        const uint32_t value = (uint32_t)n + 1;

        memcpy(from + 1 + n * size, &value, size); /* at an odd address */
    }
    for (uint64_t p = 0; p < panels; p++) /* panel by panel */
        hg_panel_pack(dtype, from + 1, rows, k, p, 1, to + p * HG_PANEL_ROWS * k * size);
    for (uint64_t n = 0; n < count; n++) {
        const uint64_t at = hg_panel_index(dtype, k, n / k, n % k);
        uint32_t value = 0;

        assert_true(at < elements);
        memcpy(&value, to + at * size, size);
        assert_int_equal(value, (uint32_t)n + 1);
    }
    for (uint64_t i = 0; i < elements; i++) {
        uint32_t value = 0;

        memcpy(&value, to + i * size, size);
        seen += value != 0;
    }
    assert_int_equal(seen, count);
    memset(from, 0, 1);
    hg_panel_pack(dtype, from + 1, rows, k, 0, panels, to); /* all at once: the same */
    for (uint64_t n = 0; n < count; n++)
        assert_memory_equal(to + hg_panel_index(dtype, k, n / k, n % k) * size, from + 1 + n * size,
                            size);
    free(to);
    free(from);
}

static void packs(void **state)
{
    static const uint64_t shapes[][2] = {{1, 1},  {31, 7},  {32, 32}, {33, 64},
                                         {64, 3}, {70, 75}, {5, 200}, {97, 33}};

    (void)state;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        check(HG_DTYPE_F32P, shapes[s][0], shapes[s][1]);
        check(HG_DTYPE_F16P, shapes[s][0], shapes[s][1]);
        check(HG_DTYPE_BF16P, shapes[s][0], shapes[s][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_types), cmocka_unit_test(packs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
