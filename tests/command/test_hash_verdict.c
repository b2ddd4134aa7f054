/* SPDX-License-Identifier: MIT */
/* The verdict of exact-hash on devices that differ, which no device of a good machine does. */
#include "exact_hash_side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void fill(hg_hash_side *side, const char *selector, const char *sum)
{
    memset(side, 0, sizeof(*side));
    snprintf(side->selector, sizeof(side->selector), "%s", selector);
    snprintf(side->hash.all, sizeof(side->hash.all), "%s", sum);
    snprintf(side->hash.logits, sizeof(side->hash.logits), "l%s", sum);
    snprintf(side->hash.maps, sizeof(side->hash.maps), "m%s", sum);
}

static void expect(const hg_hash_side *side, const hg_hash_oracle *oracle, hg_hash_verdict verdict,
                   const char *words)
{
    char text[64];

    assert_int_equal(hg_hash_judge(side, oracle), verdict);
    assert_string_equal(hg_hash_verdict_text(side, oracle, text), words);
}

static void unlisted_devices_are_held_to_the_first(void **state)
{
    const hg_shipped none = {.listed = 0};
    hg_hash_side first, same, other, broken;
    const hg_hash_oracle oracle = {&none, &first};

    (void)state;
    fill(&first, "vk:0", "a");
    fill(&same, "ref", "a");
    fill(&other, "cl:0", "b");
    fill(&broken, "", "");
    broken.result = HG_ERR_DRIVER;
    expect(&first, &oracle, HG_HASH_UNLISTED, "not listed");
    expect(&same, &oracle, HG_HASH_UNLISTED, "not listed");
    expect(&other, &oracle, HG_HASH_APART, "not listed, different from vk:0");
    expect(&broken, &oracle, HG_HASH_NOT_RUN, "did not run");
}

static void listed_hashes_decide(void **state)
{
    const hg_shipped shipped = {.listed = 1, .logits = "la", .maps = "ma", .all = "a"};
    const hg_shipped maps = {.listed = 1, .logits = "la", .maps = "mb", .all = "a"};
    const hg_hash_oracle nothing = {&shipped, NULL};
    hg_hash_side first, other;
    hg_hash_oracle oracle = {&shipped, &first};

    (void)state;
    fill(&first, "vk:0", "a");
    fill(&other, "cl:0", "b");
    expect(&first, &oracle, HG_HASH_AS_SHIPPED, "as shipped");
    expect(&other, &oracle, HG_HASH_DIFFERENT, "different from the shipped hash");
    oracle.shipped = &maps;
    expect(&first, &oracle, HG_HASH_DIFFERENT, "different from the shipped hash");
    first.result = HG_ERR_NO_DEVICE;
    expect(&first, &nothing, HG_HASH_NOT_RUN, "did not run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlisted_devices_are_held_to_the_first),
        cmocka_unit_test(listed_hashes_decide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
