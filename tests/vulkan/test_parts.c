/* SPDX-License-Identifier: MIT */
/* The parts of the Vulkan backend that need no driver: free ranges, SPIR-V, the clock, words for
 * results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vulkan/vk.h"
#include "vulkan/vk_spirv.h"

static const uint32_t module_words[] = {
#include "affine.inc"
};

static void takes_the_best_fit(void **state)
{
    hg_vk_ranges ranges;
    uint64_t a, b, c, d;

    (void)state;
    assert_int_equal(hg_vk_ranges_init(&ranges, 4096), HG_OK);
    assert_int_equal(hg_vk_ranges_take(&ranges, 1024, &a), HG_OK);
    assert_int_equal(hg_vk_ranges_take(&ranges, 256, &b), HG_OK);
    assert_int_equal(hg_vk_ranges_take(&ranges, 512, &c), HG_OK);
    assert_int_equal(hg_vk_ranges_take(&ranges, 2304, &d), HG_OK);
    assert_int_equal(ranges.count, 0);
    assert_int_equal(hg_vk_ranges_take(&ranges, 1, &a), HG_ERR_DEVICE_MEMORY);
    hg_vk_ranges_give(&ranges, 0, 1024);
    hg_vk_ranges_give(&ranges, c, 512);
    assert_int_equal(ranges.count, 2);
    assert_int_equal(hg_vk_ranges_fit(&ranges, 500), 512);
    assert_int_equal(hg_vk_ranges_fit(&ranges, 1025), 0);
    assert_int_equal(hg_vk_ranges_take(&ranges, 500, &a), HG_OK);
    assert_int_equal(a, c); /* the smaller hole */
    hg_vk_ranges_give(&ranges, a, 500);
    hg_vk_ranges_give(&ranges, b, 256);
    hg_vk_ranges_give(&ranges, d, 2304);
    assert_int_equal(ranges.count, 1);
    assert_int_equal(ranges.free[0].size, 4096);
    assert_int_equal(ranges.live, 0);
    hg_vk_ranges_destroy(&ranges);
}

/* A million bytes, thousands of random takes and gives, an array of owners as the oracle. */
static void never_hands_out_a_byte_twice(void **state)
{
    enum { UNITS = 512, STEPS = 20000 };
    uint8_t owned[UNITS] = {0};
    uint64_t offset[UNITS], size[UNITS];
    uint32_t live = 0, seed = 1, total = 0;
    hg_vk_ranges ranges;

    (void)state;
    assert_int_equal(hg_vk_ranges_init(&ranges, UNITS), HG_OK);
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1664525u + 1013904223u;
        if (live > 0 && (seed >> 16 & 1 || live == UNITS)) {
            uint32_t i = (seed >> 8) % live;

            for (uint64_t k = 0; k < size[i]; k++)
                owned[offset[i] + k] = 0;
            hg_vk_ranges_give(&ranges, offset[i], size[i]);
            total -= (uint32_t)size[i];
            live--;
            offset[i] = offset[live];
            size[i] = size[live];
            continue;
        }
        size[live] = 1 + (seed >> 20) % 9;
        if (hg_vk_ranges_take(&ranges, size[live], &offset[live]) != HG_OK)
            continue;
        assert_true(offset[live] + size[live] <= UNITS);
        for (uint64_t k = 0; k < size[live]; k++) {
            assert_int_equal(owned[offset[live] + k], 0);
            owned[offset[live] + k] = 1;
        }
        total += (uint32_t)size[live++];
        assert_int_equal(ranges.live, live);
    }
    for (uint32_t i = 0; i < ranges.count; i++)
        total += (uint32_t)ranges.free[i].size;
    assert_int_equal(total, UNITS);
    hg_vk_ranges_destroy(&ranges);
}

static size_t count_op(const uint32_t *words, size_t bytes, uint32_t op, uint32_t operand, int at)
{
    size_t found = 0;

    for (size_t i = 5; i < bytes / 4; i += words[i] >> 16)
        found += (words[i] & 0xffff) == op && words[i + (size_t)at] == operand;
    return found;
}

static void declares_round_to_even(void **state)
{
    uint32_t *once = NULL, *twice = NULL;
    size_t once_bytes, twice_bytes;

    (void)state;
    assert_int_equal(hg_vk_spirv_round_even(module_words, sizeof(module_words), &once, &once_bytes),
                     HG_OK);
    assert_int_equal(once_bytes, sizeof(module_words) + 4 * (2 + 7 + 4));
    assert_int_equal(count_op(module_words, sizeof(module_words), 17, 4467, 1), 0);
    assert_int_equal(count_op(once, once_bytes, 17, 4467, 1), 1); /* OpCapability RoundingModeRTE */
    assert_int_equal(count_op(once, once_bytes, 16, 4462, 2),
                     1); /* OpExecutionMode RoundingModeRTE */
    assert_int_equal(count_op(once, once_bytes, 16, 32, 3), 1);
    assert_int_equal(hg_vk_spirv_round_even(once, once_bytes, &twice, &twice_bytes), HG_OK);
    assert_int_equal(twice_bytes, once_bytes);
    assert_memory_equal(twice, once, once_bytes);
    free(once);
    free(twice);
}

static void refuses_broken_spirv(void **state)
{
    uint32_t words[sizeof(module_words) / 4], *out = NULL;
    size_t bytes;

    (void)state;
    for (size_t cut = 0; cut < sizeof(module_words); cut++)
        if (hg_vk_spirv_round_even(module_words, cut, &out, &bytes) == HG_OK) {
            assert_int_equal(cut % 4, 0); /* a cut between two instructions is not seen here */
            free(out);
        } else {
            assert_null(out);
        }
    memcpy(words, module_words, sizeof(words));
    words[0] ^= 1;
    assert_int_equal(hg_vk_spirv_round_even(words, sizeof(words), &out, &bytes), HG_ERR_DRIVER);
    memcpy(words, module_words, sizeof(words));
    words[5] &= 0xffff; /* an instruction of no words */
    assert_int_equal(hg_vk_spirv_round_even(words, sizeof(words), &out, &bytes), HG_ERR_DRIVER);
    words[5] |= 0xffff0000u; /* one that reaches past the end */
    assert_int_equal(hg_vk_spirv_round_even(words, sizeof(words), &out, &bytes), HG_ERR_DRIVER);
    assert_null(out);
}

static void extends_the_clock(void **state)
{
    (void)state;
    assert_int_equal(hg_vk_clock_extend(0, 5, 36), 5);
    assert_int_equal(hg_vk_clock_extend((UINT64_C(1) << 36) - 2, 3, 36), (UINT64_C(1) << 36) + 3);
    assert_int_equal(hg_vk_clock_extend((UINT64_C(5) << 36) + 3, (UINT64_C(1) << 36) - 1, 36),
                     (UINT64_C(5) << 36) - 1);
    assert_int_equal(hg_vk_clock_extend(100, 90, 64), 90);
    assert_int_equal(hg_vk_clock_extend(UINT64_MAX, 4, 64), 4);
}

static void words_every_result(void **state)
{
    (void)state;
    assert_string_equal(hg_vk_result_name(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
    assert_non_null(hg_vk_result_name((VkResult)12345));
    assert_int_equal(hg_vk_result_map(VK_SUCCESS), HG_OK);
    assert_int_equal(hg_vk_result_map(VK_TIMEOUT), HG_TIMEOUT);
    assert_int_equal(hg_vk_result_map(VK_ERROR_OUT_OF_HOST_MEMORY), HG_ERR_HOST_MEMORY);
    assert_int_equal(hg_vk_result_map(VK_ERROR_OUT_OF_POOL_MEMORY), HG_ERR_DEVICE_MEMORY);
    assert_int_equal(hg_vk_result_map(VK_ERROR_DEVICE_LOST), HG_ERR_DEVICE_LOST);
    assert_int_equal(hg_vk_result_map((VkResult)-12345), HG_ERR_DRIVER);
    assert_int_equal(hg_vk_result_map((VkResult)12345), HG_ERR_DRIVER); /* no success we know */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_best_fit),     cmocka_unit_test(never_hands_out_a_byte_twice),
        cmocka_unit_test(declares_round_to_even), cmocka_unit_test(refuses_broken_spirv),
        cmocka_unit_test(extends_the_clock),      cmocka_unit_test(words_every_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
