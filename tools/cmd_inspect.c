/* SPDX-License-Identifier: MIT */
/* headgate inspect: what a checkpoint is, without a device. */
#include "commands.h"

#include "interrupt.h"
#include "json_writer.h"
#include "message.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1.44 M", "1.72 B" */
static const char *show_count(uint64_t count, char text[32])
{
    double value = (double)count;

    if (value >= 1e9)
        snprintf(text, 32, "%.2f B", value / 1e9);
    else if (value >= 1e6)
        snprintf(text, 32, "%.2f M", value / 1e6);
    else
        snprintf(text, 32, "%" PRIu64, count);
    return text;
}

static const char *show_layout(const hg_model_info *info)
{
    return info->gate_layout == HG_GATE_LAYOUT_GROUPED ? "grouped" : "per-head";
}

static hg_result print_gate(hg_output *output, const hg_model_info *info)
{
    if (info->gate == HG_GATE_NONE)
        return hg_output_text(output, "gate          none\n");
    return hg_output_format(
        output, "gate          %s, %u value%s per head, rows of q_proj %s\n",
        hg_gate_name(info->gate), info->gate_dim, info->gate_dim == 1 ? "" : "s",
        info->gate_layout == HG_GATE_LAYOUT_GROUPED ? "grouped by KV head" : "per head");
}

static hg_result print_info(hg_output *output, const hg_source *source)
{
    const hg_model_info *info = &source->info;
    char bytes[32], weights[32], count[32], need[32], path[HG_PATH_SIZE];
    hg_result res;

    snprintf(path, sizeof(path), "%s", source->path);
    hg_message_defuse(path);
    HG_TRY(hg_output_format(output, "model         %s\n", path));
    HG_TRY(hg_output_format(output, "architecture  %s\n", info->architecture));
    HG_TRY(hg_output_format(output, "parameters    %s (%" PRIu64 ")\n",
                            show_count(info->parameters, count), info->parameters));
    HG_TRY(print_gate(output, info));
    HG_TRY(hg_output_format(output, "layers        %u\n", info->layers));
    HG_TRY(hg_output_format(output, "heads         %u over %u KV head%s, head_dim %u\n",
                            info->heads, info->kv_heads, info->kv_heads == 1 ? "" : "s",
                            info->head_dim));
    HG_TRY(hg_output_format(output, "hidden        %u, FFN %u\n", info->hidden, info->ffn));
    HG_TRY(hg_output_format(output, "vocabulary    %u%s\n", info->vocab,
                            info->tied ? ", output tied to the embedding" : ""));
    HG_TRY(hg_output_format(output, "positions     %u, rope %s, theta %.10g\n", info->max_positions,
                            info->rope_type, info->rope_theta));
    if (info->sliding_window)
        HG_TRY(hg_output_format(output, "window        %u\n", info->sliding_window));
    HG_TRY(hg_output_format(output, "norm          eps %.6g%s%s%s\n", (double)info->rms_norm_eps,
                            info->qk_norm ? ", q and k normalised" : "",
                            info->qkv_bias ? ", bias on q, k, v" : "",
                            info->o_bias ? ", bias on o" : ""));
    HG_TRY(hg_output_format(
        output, "weights       %s, %u tensor%s in %u file%s, %s\n", info->weight_types,
        info->tensor_count, info->tensor_count == 1 ? "" : "s", info->file_count,
        info->file_count == 1 ? "" : "s", hg_show_bytes(info->file_bytes, bytes)));
    HG_TRY(hg_output_format(
        output,
        "on a device   %s of weights; %s with a session of 1024 tokens, all layers "
        "captured\n",
        hg_show_bytes(info->weight_bytes, weights),
        hg_show_bytes(hg_model_device_bytes(info, 1024, info->layers), need)));
out:
    return res;
}

static hg_result print_scan(hg_output *output, const hg_scan *scan)
{
    hg_result res;

    res = hg_output_format(
        output,
        "scan          %" PRIu64 " values, largest %.6g; %" PRIu64 " NaN, %" PRIu64
        " infinite, %" PRIu64 " below 2^-50 (zero in exact mode)\n",
        scan->values, (double)scan->abs_max, scan->nan_count, scan->inf_count, scan->tiny_count);
    if (res == HG_OK && *scan->first_bad)
        res = hg_output_format(output, "first bad     %s\n", scan->first_bad);
    return res;
}

static void put_info(const hg_source *source, hg_put *put)
{
    const hg_model_info *info = &source->info;

    hg_put_text(put, "model", source->name);
    hg_put_text(put, "path", source->path);
    hg_put_text(put, "architecture", info->architecture);
    hg_put_text(put, "gate", hg_gate_name(info->gate));
    hg_put_text(put, "gate_layout", info->gate == HG_GATE_NONE ? NULL : show_layout(info));
    hg_put_unsigned(put, "gate_dim", info->gate_dim);
    hg_put_unsigned(put, "layers", info->layers);
    hg_put_unsigned(put, "hidden", info->hidden);
    hg_put_unsigned(put, "heads", info->heads);
    hg_put_unsigned(put, "kv_heads", info->kv_heads);
    hg_put_unsigned(put, "head_dim", info->head_dim);
    hg_put_unsigned(put, "ffn", info->ffn);
    hg_put_unsigned(put, "vocab", info->vocab);
    hg_put_unsigned(put, "max_positions", info->max_positions);
    hg_put_unsigned(put, "sliding_window", info->sliding_window);
    hg_put_boolean(put, "qk_norm", info->qk_norm != 0);
    hg_put_boolean(put, "tied", info->tied != 0);
    hg_put_boolean(put, "qkv_bias", info->qkv_bias != 0);
    hg_put_boolean(put, "o_bias", info->o_bias != 0);
    hg_put_integer(put, "bos_token_id", info->bos_token_id);
    hg_put_integer(put, "eos_token_id", info->eos_token_id);
    hg_put_float(put, "rms_norm_eps", info->rms_norm_eps);
    hg_put_number(put, "rope_theta", info->rope_theta);
    hg_put_text(put, "rope_type", info->rope_type);
    hg_put_text(put, "weight_types", info->weight_types);
    hg_put_unsigned(put, "parameters", info->parameters);
    hg_put_unsigned(put, "weight_bytes", info->weight_bytes);
    hg_put_unsigned(put, "file_bytes", info->file_bytes);
    hg_put_unsigned(put, "warnings", info->warning_count);
}

static hg_result put_tensors(const hg_source *source, hg_put *put)
{
    uint64_t bytes;
    const char *path;
    hg_result res = HG_OK;

    hg_put_array(put, "files");
    for (uint32_t i = 0; (path = hg_checkpoint_file(source->checkpoint, i, &bytes)) != NULL; i++) {
        hg_put_object(put, NULL);
        hg_put_text(put, "path", path);
        hg_put_unsigned(put, "bytes", bytes);
        hg_put_end(put);
    }
    hg_put_end(put);
    hg_put_array(put, "tensors");
    for (uint32_t i = 0; i < source->info.tensor_count && res == HG_OK; i++) {
        hg_tensor_info tensor = {.struct_size = sizeof(tensor)};

        res = hg_checkpoint_tensor(source->checkpoint, i, &tensor);
        if (res != HG_OK)
            break;
        hg_put_object(put, NULL);
        hg_put_text(put, "name", tensor.name);
        hg_put_text(put, "dtype", tensor.dtype);
        hg_put_row(put, "shape");
        for (uint32_t d = 0; d < tensor.rank && d < 4; d++)
            hg_put_unsigned(put, NULL, tensor.shape[d]);
        hg_put_end(put);
        hg_put_unsigned(put, "bytes", tensor.bytes);
        hg_put_unsigned(put, "file", tensor.file);
        hg_put_boolean(put, "used", tensor.used != 0);
        hg_put_end(put);
    }
    hg_put_end(put);
    return res;
}

static void put_scan(const hg_scan *scan, hg_put *put)
{
    hg_put_object(put, "scan");
    hg_put_unsigned(put, "values", scan->values);
    hg_put_unsigned(put, "nan", scan->nan_count);
    hg_put_unsigned(put, "infinite", scan->inf_count);
    hg_put_unsigned(put, "tiny", scan->tiny_count);
    hg_put_float(put, "abs_max", scan->abs_max);
    hg_put_text(put, "first_bad", *scan->first_bad ? scan->first_bad : NULL);
    hg_put_end(put);
}

static hg_result inspect(hg_app *app, hg_source *source, hg_output *output)
{
    int scanned = hg_args_count(app->args, HG_OPTION_SCAN) > 0;
    hg_scan scan = {.struct_size = sizeof(scan)};
    hg_put put;
    hg_result res;

    HG_TRY(hg_source_open(app, app->args->operands[0], source));
    if (scanned)
        HG_TRY(hg_checkpoint_scan(source->checkpoint, &app->progress, &scan));
    hg_meter_stop(&app->meter);
    if (hg_args_count(app->args, HG_OPTION_JSON)) {
        hg_put_start(&put, output, "inspect");
        put_info(source, &put);
        if (scanned)
            put_scan(&scan, &put);
        HG_TRY(put_tensors(source, &put));
        hg_put_finish(&put);
    } else {
        HG_TRY(print_info(output, source));
        if (scanned)
            HG_TRY(print_scan(output, &scan));
    }
out:
    return res;
}

static int run(hg_app *app)
{
    hg_source *source = calloc(1, sizeof(*source));
    hg_output *output = NULL;
    hg_result res;

    if (!source)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    res = hg_output_open("-", &output);
    if (res == HG_OK)
        res = inspect(app, source, output);
    if (res == HG_OK)
        res = hg_output_commit(&output);
    hg_output_discard(&output);
    hg_source_close(source);
    free(source);
    return hg_exit_code(res);
}

static const hg_option_id options[] = {HG_OPTION_SCAN, HG_OPTION_JSON, HG_OPTION_END};

const hg_command hg_command_inspect = {
    .name = "inspect",
    .operands = "MODEL",
    .summary = "what a checkpoint is: architecture, gate, sizes, memory",
    .about = "Opens and checks a checkpoint without a device and without running anything in it. "
             "--json also lists the "
             "files and tensors.",
    .examples = "headgate inspect MODEL\n"
                "headgate inspect MODEL --scan",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
