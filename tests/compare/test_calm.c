/* SPDX-License-Identifier: MIT */
/*
 * No false alarm: random models and prompts on a healthy device, fp32 and exact, are never called
 * different from the exact reference, and under exact have its bits. Every tenth model overflows
 * float32: then nothing is promised, and nothing may be called different.
 *
 *   test_compare_calm --device SELECTOR [--count N] [--from N]
 */
#include "compare.h"
#include "device_list.h"
#include "fixture.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOKENS_MAX = 256, SIDES = 3, SKIP = 77 };

static const char *device;

static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = side == 0 ? "ref" : device,
                                     .precision = side < 2 ? HG_PRECISION_EXACT : HG_PRECISION_FP32,
                                     .log = *log};

    (void)user;
    return hg_engine_create(&params, out);
}

/* 1: as it should be. */
static int try_one(uint64_t number, double worst[2])
{
    static const char *const labels[SIDES] = {"ref@exact", "device@exact", "device@fp32"};
    const hg_checkpoint_params params = {
        .struct_size = sizeof(params), .path = "model", .log = hg_message_log()};
    hg_checkpoint *checkpoint = NULL;
    hg_comparison c = {0};
    hg_fixture fixture;
    int32_t ids[TOKENS_MAX];
    hg_compare_params compare = {.labels = labels,
                                 .side_count = SIDES,
                                 .open = open_side,
                                 .runs = 2,
                                 .timeout_s = 120,
                                 .ids = ids};
    int good;

    hg_fixture_random(number, &fixture);
    hg_fixture_ids(&fixture, ids);
    if (!hg_fixture_write(&fixture, "model") || hg_checkpoint_open(&params, &checkpoint) != HG_OK) {
        printf("model %llu cannot be made\n", (unsigned long long)number);
        return 0;
    }
    compare.checkpoint = checkpoint;
    compare.count = fixture.tokens;
    good = hg_compare_run(&compare, &c) == HG_OK;
    hg_checkpoint_close(&checkpoint);
    if (!good)
        return 0;
    good = c.sides[0].verdict <= HG_VERDICT_ROUNDING &&
           c.sides[1].verdict <=
               (fixture.out_scale > 1 ? HG_VERDICT_ROUNDING : HG_VERDICT_SAME_BITS) &&
           c.sides[2].verdict <= HG_VERDICT_ROUNDING;
    for (uint32_t i = 0; i < SIDES; i++) {
        worst[0] = c.sides[i].worst_free > worst[0] ? c.sides[i].worst_free : worst[0];
        worst[1] = c.sides[i].worst_isolated > worst[1] ? c.sides[i].worst_isolated : worst[1];
        /* Near misses are worth a look: a bound too tight is a false alarm to come. (exp is 0 below
         * -34, which takes 0.96 of what probabilities are allowed, and never more.) */
        if (c.sides[i].worst_isolated > 0.97 && i == 1) {
            char label[64], how[128];
            const hg_stage_head *head = &c.sides[i].rows[c.sides[i].worst_isolated_row].head;

            printf("model %llu: %.2g of the bound at %s (%s)\n", (unsigned long long)number,
                   c.sides[i].worst_isolated, hg_stage_head_label(head, label),
                   hg_stage_how(head, how));
        }
        if (!good)
            printf("model %llu, %u tokens, %s: %s: %s\n", (unsigned long long)number,
                   fixture.tokens, c.sides[i].label, hg_verdict_name(c.sides[i].verdict),
                   c.sides[i].reason);
    }
    hg_comparison_free(&c);
    return good;
}

/* Asked in a child: this process stays free of drivers. */
static int is_here(void)
{
    const hg_log silent = {0};
    hg_device_info *devices = NULL;
    uint32_t count = 0, found = 0;
    int good = 0;

    if (hg_device_list(&devices, &count) == HG_OK)
        good = hg_device_select(&silent, devices, count, device, &found) == HG_OK;
    free(devices);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t count = 20, from = 0, failed = 0;
    double worst[2] = {0, 0};

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--device") == 0)
            device = argv[i + 1];
        else if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--from") == 0)
            from = strtoull(argv[i + 1], NULL, 10);
    }
    hg_message_setup(HG_LOG_WARNING);
    if (!device || !is_here()) {
        printf("skipped: no device %s here\n", device ? device : "");
        return SKIP;
    }
    (void)mkdir("model", 0777);
    for (uint64_t i = from; i < from + count; i++)
        failed += !try_one(i, worst);
    printf("%llu of %llu models: never different; at most %.2g of the bound end to end, %.2g "
           "isolated\n",
           (unsigned long long)(count - failed), (unsigned long long)count, worst[0], worst[1]);
    return failed ? 1 : 0;
}
