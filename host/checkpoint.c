/* SPDX-License-Identifier: MIT */
/*
 * Opens a folder: config, files, weights, in this order, and tells what the model is. Which tensors
 * it needs is in slots.c; reading every value is in scan.c.
 */
#include "checkpoint.h"

#include "check.h"
#include "config_rope.h"
#include "file.h"
#include "params.h"
#include "resolve.h"
#include "slots.h"
#include "weight_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller's log, with the warnings counted on their way. */
typedef struct counting_log {
    hg_log user;
    uint32_t warnings;
} counting_log;

static void count_line(void *user, hg_log_level level, const char *line)
{
    counting_log *log = user;

    if (level == HG_LOG_WARNING)
        log->warnings++;
    if (log->user.write && level <= log->user.level)
        log->user.write(log->user.user, level, line);
}

/* Tensors of a layer that the model has no place for would change the mathematics: another
 * architecture. */
static int is_foreign(const hg_checkpoint *c, const hg_tensor *tensor)
{
    static const char prefix[] = "model.layers.";
    const char *name = tensor->name, *rest;
    char *end;
    unsigned long layer;
    size_t length = strlen(name);

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    rest = name + sizeof(prefix) - 1;
    if (*rest < '0' || *rest > '9')
        return 0;
    layer = strtoul(rest, &end, 10);
    if (*end != '.' || layer >= c->config.layers || strstr(end, ".rotary_emb."))
        return 0;
    /* Left out on purpose, see config.json: no QK norm. */
    if (strcmp(end, ".self_attn.q_norm.weight") == 0 ||
        strcmp(end, ".self_attn.k_norm.weight") == 0)
        return 0;
    return (length > 7 && strcmp(name + length - 7, ".weight") == 0) ||
           (length > 5 && strcmp(name + length - 5, ".bias") == 0);
}

static hg_result judge_unused(const hg_log *log, const hg_checkpoint *c)
{
    const hg_tensor_table *table = &c->files->table;
    const hg_tensor *first = NULL;
    uint32_t i, count = 0;

    for (i = 0; i < table->count; i++) {
        const hg_tensor *tensor = &table->items[i];

        if (tensor->used)
            continue;
        if (is_foreign(c, tensor))
            return hg_fail(log, HG_ERR_FILE,
                           "%s: tensor %.200s is no part of this architecture; without it the "
                           "results would be "
                           "wrong",
                           c->files->paths[tensor->file], tensor->name);
        /* A tied head that is the embedding itself says nothing new. */
        if (c->config.tied && strcmp(tensor->name, "lm_head.weight") == 0 &&
            tensor->data == c->embed.data)
            continue;
        if (count++ == 0)
            first = tensor;
    }
    if (count)
        hg_say(log, HG_LOG_WARNING,
               "%s: %u of %u tensors are no part of the model and not used (%s%.200s)", c->path,
               count, table->count, count > 1 ? "the first: " : "", first->name);
    return HG_OK;
}

typedef struct totals {
    uint64_t parameters, bytes;
    uint32_t types[HG_DTYPE_BF16 + 1]; /* matrices by type */
} totals;

/* Vectors go to a device as f32, matrices as they are (D4). */
static hg_result add_weight(void *user, const char *name, const hg_weight *weight, int is_vector)
{
    totals *t = user;
    uint64_t elements = (uint64_t)weight->rows * weight->cols;

    (void)name;
    t->parameters += elements;
    if (is_vector || weight->dtype == HG_DTYPE_F32)
        t->bytes += elements * 4;
    else
        t->bytes += elements * 2;
    if (!is_vector)
        t->types[weight->dtype]++;
    return HG_OK;
}

static void name_types(const totals *t, char *out, size_t size)
{
    static const struct {
        hg_dtype dtype;
        const char *name;
    } order[] = {{HG_DTYPE_BF16, "bf16"}, {HG_DTYPE_F16, "f16"}, {HG_DTYPE_F32, "f32"}};
    size_t used = 0, i;

    out[0] = 0;
    for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (t->types[order[i].dtype])
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? "+" : "", order[i].name);
}

static void fill_info(hg_checkpoint *c)
{
    const hg_config *g = &c->config;
    hg_model_info *info = &c->info;
    totals t = {0};

    (void)hg_slots_visit(c, add_weight, &t);
    info->struct_size = sizeof(*info);
    snprintf(info->architecture, sizeof(info->architecture), "Qwen3%s%s",
             c->gate == HG_GATE_NONE ? "" : " with gated attention",
             c->qk_norm ? "" : ", no QK norm");
    name_types(&t, info->weight_types, sizeof(info->weight_types));
    snprintf(info->rope_type, sizeof(info->rope_type), "%s", hg_rope_type_name(g->rope.type));
    info->gate = c->gate;
    info->gate_layout = c->gate_layout;
    info->gate_dim = c->gate_dim;
    info->layers = g->layers;
    info->hidden = g->hidden;
    info->heads = g->heads;
    info->kv_heads = g->kv_heads;
    info->head_dim = g->head_dim;
    info->ffn = g->ffn;
    info->vocab = g->vocab;
    info->max_positions = g->max_positions;
    info->sliding_window = g->window;
    info->qk_norm = c->qk_norm;
    info->tied = g->tied;
    info->qkv_bias =
        c->layers[0].q_bias.data || c->layers[0].k_bias.data || c->layers[0].v_bias.data;
    info->o_bias = c->layers[0].o_bias.data != NULL;
    info->bos_token_id = g->bos_token_id;
    info->eos_token_id = g->eos_token_id;
    info->rms_norm_eps = g->eps;
    info->rope_theta = g->rope.theta;
    info->parameters = t.parameters;
    info->weight_bytes = t.bytes;
    info->file_bytes = hg_weight_files_bytes(c->files);
    info->file_count = c->files->count;
    info->tensor_count = c->files->table.count;
}

static hg_result open_folder(const hg_log *log, hg_checkpoint *c)
{
    char *path = hg_path_join(c->path, "config.json");
    hg_result res;

    if (!path)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for a path");
    if (hg_file_look(path) == HG_FILE_MISSING) {
        res = hg_folder_say_models(log, c->path, "");
        if (res == HG_OK)
            res =
                hg_fail(log, HG_ERR_FILE,
                        "%s: expected config.json and weights in this folder, found no config.json",
                        c->path);
        goto out;
    }
    HG_TRY(hg_config_read(log, path, &c->config));
    HG_TRY(hg_weight_files_open(log, c->path, c->files));
    HG_TRY(hg_slots_fill(log, c, c->files));
    HG_TRY(judge_unused(log, c));
    fill_info(c);
out:
    free(path);
    return res;
}

static hg_result check_path(const hg_log *log, const char *path)
{
    switch (hg_file_look(path)) {
    case HG_FILE_FOLDER:
        return HG_OK;
    case HG_FILE_MISSING:
        return hg_fail(log, HG_ERR_FILE, "%s: there is no such folder", path);
    case HG_FILE_REGULAR:
    case HG_FILE_OTHER:
        break;
    }
    return hg_fail(log, HG_ERR_FILE,
                   "%s: expected a folder with config.json and weights, found a file", path);
}

hg_result hg_checkpoint_open(const hg_checkpoint_params *theirs, hg_checkpoint **out)
{
    hg_checkpoint_params own;
    const hg_checkpoint_params *params = &own;
    counting_log counter = {{NULL, NULL, HG_LOG_ERROR}, 0};
    hg_log log = {count_line, &counter, HG_LOG_WARNING};
    hg_checkpoint *c;
    hg_result res;

    if (!out)
        return HG_ERR_ARGUMENT;
    *out = NULL;
    if (!theirs)
        return HG_ERR_ARGUMENT;
    hg_struct_in(&own, sizeof(own), theirs);
    counter.user = params->log;
    if (params->log.level > log.level)
        log.level = params->log.level;
    if (!params->path || !params->path[0])
        return hg_fail(&params->log, HG_ERR_ARGUMENT,
                       "hg_checkpoint_open: expected a path, found none");
    c = calloc(1, sizeof(*c));
    if (!c)
        return hg_fail(&params->log, HG_ERR_HOST_MEMORY, "out of memory for a checkpoint");
    c->log = params->log;
    c->path = hg_path_join(params->path, "");
    c->files = calloc(1, sizeof(*c->files));
    if (!c->path || !c->files) {
        res = hg_fail(&params->log, HG_ERR_HOST_MEMORY, "out of memory for a checkpoint");
        goto out;
    }
    /* hg_path_join has made "folder/"; sentences and callers want "folder". */
    if (strlen(c->path) > 1)
        c->path[strlen(c->path) - 1] = 0;
    HG_TRY(check_path(&log, c->path));
    HG_TRY(open_folder(&log, c));
    c->info.warning_count = counter.warnings;
    *out = c;
    c = NULL;
out:
    hg_checkpoint_close(&c);
    return res;
}

void hg_checkpoint_close(hg_checkpoint **checkpoint)
{
    hg_checkpoint *c = checkpoint ? *checkpoint : NULL;

    if (!c)
        return;
    hg_weight_files_leave(&c->files);
    free(c->layers);
    free(c->path);
    free(c);
    *checkpoint = NULL;
}

const char *hg_checkpoint_path(const hg_checkpoint *checkpoint)
{
    return checkpoint ? checkpoint->path : NULL;
}

void hg_checkpoint_describe(const hg_checkpoint *checkpoint, hg_model_info *out)
{
    if (checkpoint && out)
        hg_struct_out(out, &checkpoint->info, sizeof(checkpoint->info));
}

const char *hg_checkpoint_file(const hg_checkpoint *checkpoint, uint32_t index, uint64_t *bytes)
{
    if (!checkpoint || index >= checkpoint->files->count)
        return NULL;
    if (bytes)
        *bytes = checkpoint->files->files[index].bytes;
    return checkpoint->files->paths[index];
}

hg_result hg_checkpoint_tensor(const hg_checkpoint *checkpoint, uint32_t index, hg_tensor_info *out)
{
    const hg_tensor_table *table;
    hg_tensor_info info = {.struct_size = sizeof(info)};
    const hg_tensor *tensor;
    uint32_t i;

    if (!checkpoint || !out)
        return HG_ERR_ARGUMENT;
    table = &checkpoint->files->table;
    if (index >= table->count)
        return hg_fail(&checkpoint->log, HG_ERR_ARGUMENT,
                       "hg_checkpoint_tensor: expected an index below %u, found %u", table->count,
                       index);
    tensor = &table->items[index];
    snprintf(info.name, sizeof(info.name), "%s", tensor->name);
    snprintf(info.dtype, sizeof(info.dtype), "%s", tensor->type);
    info.rank = tensor->rank;
    for (i = 0; i < 4 && i < tensor->rank; i++)
        info.shape[i] = tensor->shape[i];
    info.bytes = tensor->bytes;
    info.file = tensor->file;
    info.used = tensor->used;
    hg_struct_out(out, &info, sizeof(info));
    return HG_OK;
}

/* The file whose mapping holds these bytes; NULL: they are a copy. */
static const hg_file *file_with(const hg_checkpoint *checkpoint, const void *data, uint64_t bytes)
{
    const hg_weight_files *files = checkpoint->files;
    const uintptr_t at = (uintptr_t)data;

    for (uint32_t i = 0; i < files->count; i++) {
        const uintptr_t begin = (uintptr_t)files->files[i].data;

        if (at >= begin && at - begin < files->files[i].bytes &&
            bytes <= files->files[i].bytes - (uint64_t)(at - begin))
            return &files->files[i];
    }
    return NULL;
}

void hg_checkpoint_release_pages(const hg_checkpoint *checkpoint, const void *data, uint64_t bytes)
{
    const hg_file *file = file_with(checkpoint, data, bytes);

    if (file)
        hg_file_release_pages(file, data, bytes);
}

void hg_checkpoint_read_ahead(const hg_checkpoint *checkpoint, const void *data, uint64_t bytes)
{
    const hg_file *file = file_with(checkpoint, data, bytes);

    if (file)
        hg_file_read_ahead(file, data, bytes);
}
