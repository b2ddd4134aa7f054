/* SPDX-License-Identifier: MIT */
/* The command line of headgate bench. */
#include "bench.h"

#include "evaluate.h"
#include "message.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 1 << 20, REPEAT_MAX = 1000 };

/* Numbers of tokens; a plain 0 leaves the list empty where 0 is not one of them. */
static hg_result read_list(const hg_args *args, hg_option_id id, const char *by_default,
                           uint32_t min, uint32_t **list, uint32_t *count)
{
    const char *value = hg_args_value(args, id), *reason;

    if (!value)
        value = by_default;
    if (min > 0 && strcmp(value, "0") == 0)
        return HG_OK; /* no row of this kind */
    if (hg_numbers_parse(value, min, TOKENS_MAX, list, count, &reason) != HG_OK)
        return hg_message_fail(HG_ERR_ARGUMENT, "--%s %s: %s; numbers of tokens from %u to %d%s",
                               hg_option_row(id)->name, value, reason, min, TOKENS_MAX,
                               min > 0 ? ", or 0 for none" : "");
    return HG_OK;
}

static hg_result read_form(const hg_args *args, hg_bench *bench)
{
    static const char *const forms[HG_BENCH_FORM_COUNT] = {"md", "json", "csv"};
    const char *named = hg_args_value(args, HG_OPTION_FORMAT_TABLE);
    hg_result res;

    HG_TRY(hg_args_choice(args, HG_OPTION_FORMAT_TABLE, forms, HG_BENCH_FORM_COUNT, &bench->form));
    if (hg_args_count(args, HG_OPTION_JSON)) {
        if (named && bench->form != HG_BENCH_JSON)
            return hg_message_fail(HG_ERR_ARGUMENT, "--json and --format %s contradict each other",
                                   named);
        bench->form = HG_BENCH_JSON;
    }
out:
    return res;
}

/* Without a model there is the ceiling, and nothing to say about prompts. */
static hg_result check_model(const hg_args *args, const hg_bench *bench)
{
    static const hg_option_id of_model[] = {HG_OPTION_PREFILL, HG_OPTION_DECODE, HG_OPTION_DEPTH,
                                            HG_OPTION_REPEAT,  HG_OPTION_SEED,   HG_OPTION_MAPS,
                                            HG_OPTION_KERNELS, HG_OPTION_REPACK};

    if (bench->has_model)
        return HG_OK;
    if (!bench->ceiling)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "bench needs MODEL, or --ceiling to measure the device alone; see "
                               "'headgate bench --help'");
    for (size_t i = 0; i < sizeof(of_model) / sizeof(of_model[0]); i++)
        if (hg_args_count(args, of_model[i]))
            return hg_message_fail(HG_ERR_ARGUMENT, "--%s is about a model: bench MODEL --%s",
                                   hg_option_row(of_model[i])->name,
                                   hg_option_row(of_model[i])->name);
    return HG_OK;
}

static hg_result read_tests(const hg_args *args, hg_bench *bench)
{
    hg_result res;

    HG_TRY(read_list(args, HG_OPTION_PREFILL, "32,128", 1, &bench->prefill, &bench->prefill_count));
    HG_TRY(read_list(args, HG_OPTION_DECODE, "16", 1, &bench->decode, &bench->decode_count));
    HG_TRY(read_list(args, HG_OPTION_DEPTH, "0", 0, &bench->depth, &bench->depth_count));
    HG_TRY(hg_args_number(args, HG_OPTION_REPEAT, 1, REPEAT_MAX, &bench->repeat));
    HG_TRY(hg_args_number(args, HG_OPTION_SEED, 0, UINT32_MAX, &bench->seed));
    if (bench->prefill_count + bench->decode_count == 0)
        return hg_message_fail(HG_ERR_ARGUMENT, "-p 0 -n 0 leaves nothing to do");
    if (bench->maps && bench->prefill_count == 0)
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "--maps measures reading a prompt: -p 0 leaves nothing of it");
out:
    return res;
}

hg_result hg_bench_options(hg_app *app, hg_bench *bench)
{
    const hg_args *args = app->args;
    const uint32_t devices = hg_args_count(args, HG_OPTION_DEVICE);
    hg_result res;

    bench->has_model = args->operand_count > 0;
    bench->repeat = 5;
    bench->seed = 1;
    bench->maps = hg_args_count(args, HG_OPTION_MAPS) > 0;
    bench->kernels = hg_args_count(args, HG_OPTION_KERNELS) > 0;
    bench->ceiling = hg_args_count(args, HG_OPTION_CEILING) > 0;
    HG_TRY(check_model(args, bench));
    HG_TRY(read_tests(args, bench));
    HG_TRY(read_form(args, bench));
    HG_TRY(hg_repack_choose(args, &bench->how));
    if (devices > HG_BENCH_DEVICE_MAX)
        return hg_message_fail(HG_ERR_ARGUMENT, "%u devices are too many: at most %d", devices,
                               HG_BENCH_DEVICE_MAX);
    bench->machine_count = devices ? devices : 1;
    for (uint32_t i = 0; i < bench->machine_count; i++)
        HG_TRY(hg_machine_choose(args, hg_args_value_at(args, HG_OPTION_DEVICE, i),
                                 &bench->machine[i].choice));
out:
    return res;
}
