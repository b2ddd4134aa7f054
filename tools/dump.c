/* SPDX-License-Identifier: MIT */
/* Which tensors, their shapes, and their values in the order of the file. */
#include "dump.h"

#include "interrupt.h"
#include "message.h"
#include "safetensors_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_COUNT = 6, BAND_FLOATS = 1 << 20 };

static const char *const part_names[PART_COUNT] = {
    "logits", "last_logits", "attentions", "gate_scores", "hidden_states", "final_residual"};

hg_result hg_dump_parse(const char *list, hg_dump_what *out)
{
    memset(out, 0, sizeof(*out));
    if (!list) {
        out->parts = HG_DUMP_LOGITS;
        return HG_OK;
    }
    for (;;) {
        size_t length = strcspn(list, ",");
        char name[32];
        const char *nearest;
        uint32_t part = 0;

        snprintf(name, sizeof(name), "%.*s", (int)(length < 31 ? length : 31), list);
        while (part < PART_COUNT && strcmp(name, part_names[part]) != 0)
            part++;
        nearest = hg_nearest(name, part_names, PART_COUNT);
        if (strcmp(name, "all") == 0) {
            out->parts |= (1u << PART_COUNT) - 1;
            out->all = 1;
        } else if (part < PART_COUNT) {
            out->parts |= 1u << part;
        } else if (nearest) {
            return hg_message_fail(HG_ERR_ARGUMENT, "--what %s: did you mean %s?", name, nearest);
        } else {
            return hg_message_fail(
                HG_ERR_ARGUMENT,
                "--what %s: expected logits, last_logits, attentions, gate_scores, "
                "hidden_states, final_residual or all",
                name);
        }
        if (list[length] == '\0')
            return HG_OK;
        list += length + 1;
    }
}

hg_result hg_dump_check(hg_dump_what *what, const hg_model_info *info, hg_wish *wish)
{
    if ((what->parts & HG_DUMP_GATES) && info->gate == HG_GATE_NONE) {
        if (!what->all)
            return hg_message_fail(HG_ERR_ARGUMENT, "--what gate_scores: the model has no gate");
        what->parts &= ~(uint32_t)HG_DUMP_GATES;
    }
    wish->logits = HG_LOGITS_NONE;
    if (what->parts & HG_DUMP_LAST_LOGITS)
        wish->logits = HG_LOGITS_LAST;
    if (what->parts & HG_DUMP_LOGITS)
        wish->logits = HG_LOGITS_ALL;
    if (what->parts & HG_DUMP_ATTENTIONS)
        wish->capture |= HG_CAPTURE_ATTENTION;
    if (what->parts & HG_DUMP_GATES)
        wish->capture |= HG_CAPTURE_GATES;
    if (what->parts & (HG_DUMP_HIDDEN | HG_DUMP_RESIDUAL))
        wish->capture |= HG_CAPTURE_HIDDEN;
    return HG_OK;
}

/* One tensor of the file: its spec and where its values come from. */
typedef struct dump_item {
    hg_tensor_spec spec;
    uint32_t part;  /* HG_DUMP_*, 0: the ids */
    uint32_t index; /* layer or hidden state */
} dump_item;

typedef struct dump_state {
    const hg_model_info *info;
    hg_session *session;
    hg_tensor_file *file;
    dump_item *items;
    hg_tensor_spec *specs;
    uint32_t count;
    uint64_t tokens;
    float *buffer;
} dump_state;

static dump_item *add(dump_state *d, uint32_t part, uint32_t index, uint32_t rank, uint64_t a,
                      uint64_t b, uint64_t c)
{
    dump_item *item = &d->items[d->count++];

    item->part = part;
    item->index = index;
    item->spec.dtype = part ? "F32" : "I64";
    item->spec.rank = rank;
    item->spec.shape[0] = a;
    item->spec.shape[1] = b;
    item->spec.shape[2] = c;
    return item;
}

static void name_item(dump_item *item, const char *name, int numbered)
{
    if (numbered)
        snprintf(item->spec.name, sizeof(item->spec.name), "%s.%u", name, item->index);
    else
        snprintf(item->spec.name, sizeof(item->spec.name), "%s", name);
}

static void list_items(dump_state *d, uint32_t parts, const hg_layer_choice *layers)
{
    const hg_model_info *info = d->info;
    uint64_t tokens = d->tokens;

    name_item(add(d, 0, 0, 1, tokens, 1, 1), "input_ids", 0);
    if (parts & HG_DUMP_LOGITS)
        name_item(add(d, HG_DUMP_LOGITS, 0, 2, tokens, info->vocab, 1), "logits", 0);
    if (parts & HG_DUMP_LAST_LOGITS)
        name_item(add(d, HG_DUMP_LAST_LOGITS, 0, 1, info->vocab, 1, 1), "last_logits", 0);
    for (uint32_t i = 0; i < layers->count && (parts & HG_DUMP_ATTENTIONS); i++)
        name_item(add(d, HG_DUMP_ATTENTIONS, layers->layers[i], 3, info->heads, tokens, tokens),
                  "attentions", 1);
    for (uint32_t i = 0; i < layers->count && (parts & HG_DUMP_GATES); i++)
        name_item(add(d, HG_DUMP_GATES, layers->layers[i], info->gate == HG_GATE_HEADWISE ? 2 : 3,
                      tokens, info->heads, info->gate_dim),
                  "gate_scores", 1);
    for (uint32_t i = 0; i <= info->layers && (parts & HG_DUMP_HIDDEN); i++)
        name_item(add(d, HG_DUMP_HIDDEN, i, 2, tokens, info->hidden, 1), "hidden_states", 1);
    if (parts & HG_DUMP_RESIDUAL)
        name_item(add(d, HG_DUMP_RESIDUAL, info->layers + 1, 2, tokens, info->hidden, 1),
                  "final_residual", 0);
    for (uint32_t i = 0; i < d->count; i++)
        d->specs[i] = d->items[i].spec;
}

/* Largest piece that is held at once, in floats. */
static uint64_t buffer_floats(const dump_state *d)
{
    const hg_model_info *info = d->info;
    uint64_t most = d->tokens > BAND_FLOATS ? d->tokens : BAND_FLOATS;
    uint64_t gates = d->tokens * info->heads * info->gate_dim, hidden = d->tokens * info->hidden;

    if (info->vocab > most)
        most = info->vocab;
    if (gates > most)
        most = gates;
    return hidden > most ? hidden : most;
}

static hg_result append(dump_state *d, uint64_t floats)
{
    return hg_tensor_file_append(d->file, d->buffer, floats * sizeof(float));
}

static hg_result write_ids(dump_state *d)
{
    const int32_t *ids = hg_session_ids(d->session);
    hg_result res = HG_OK;

    for (uint64_t i = 0; i < d->tokens && res == HG_OK; i++) {
        int64_t id = ids[i];

        res = hg_tensor_file_append(d->file, &id, sizeof(id));
    }
    return res;
}

static hg_result write_logits(dump_state *d, uint64_t first)
{
    hg_result res = HG_OK;

    for (uint64_t token = first; token < d->tokens && res == HG_OK; token++) {
        res = hg_session_logits(d->session, (uint32_t)token, d->buffer);
        if (res == HG_OK)
            res = append(d, d->info->vocab);
        if (res == HG_OK)
            res = hg_interrupt_check();
    }
    return res;
}

static hg_result write_attention(dump_state *d, uint32_t layer)
{
    uint64_t rows = BAND_FLOATS / d->tokens ? BAND_FLOATS / d->tokens : 1;
    hg_map_params params = {.struct_size = sizeof(params), .layer = layer, .head_count = 1};
    hg_result res = HG_OK;

    for (uint32_t head = 0; head < d->info->heads; head++) {
        for (uint64_t first = 0; first < d->tokens; first += rows) {
            uint64_t count = d->tokens - first < rows ? d->tokens - first : rows;

            params.head_first = head;
            params.query_first = (uint32_t)first;
            params.query_count = (uint32_t)count;
            HG_TRY(hg_capture_map(d->session, &params, d->buffer));
            HG_TRY(append(d, count * d->tokens));
            HG_TRY(hg_interrupt_check());
        }
    }
out:
    return res;
}

static hg_result write_item(dump_state *d, const dump_item *item)
{
    hg_result res;

    switch (item->part) {
    case 0:
        return write_ids(d);
    case HG_DUMP_LOGITS:
        return write_logits(d, 0);
    case HG_DUMP_LAST_LOGITS:
        return write_logits(d, d->tokens - 1);
    case HG_DUMP_ATTENTIONS:
        return write_attention(d, item->index);
    case HG_DUMP_GATES:
        res = hg_capture_gates(d->session, item->index, d->buffer);
        return res == HG_OK ? append(d, d->tokens * d->info->heads * d->info->gate_dim) : res;
    default: /* hidden states and the final residual */
        res = hg_capture_hidden(d->session, item->index, d->buffer);
        return res == HG_OK ? append(d, d->tokens * d->info->hidden) : res;
    }
}

static hg_result start_file(dump_state *d, const hg_provenance *provenance, hg_output *output)
{
    const hg_tensor_note notes[] = {
        {"format", "pt"},
        {"headgate.version", HG_VERSION_STRING},
        {"headgate.exact_revision", HG_EXACT_REVISION},
        {"headgate.model", provenance->model},
        {"headgate.weights_sha256", provenance->weights_sha256},
        {"headgate.device", provenance->device},
        {"headgate.driver", provenance->driver},
        {"headgate.precision", provenance->precision},
        {"headgate.command", provenance->command},
    };

    return hg_tensor_file_start(d->file, output, d->specs, d->count, notes,
                                sizeof(notes) / sizeof(notes[0]));
}

hg_result hg_dump_write(hg_app *app, const hg_dump_what *what, const hg_model_info *info,
                        const hg_layer_choice *layers, hg_session *session,
                        const hg_provenance *provenance, hg_output *output)
{
    size_t room = 2 * (size_t)layers->count + info->layers + 8;
    hg_tensor_file file;
    dump_state d = {.info = info, .session = session, .file = &file};
    hg_result res;

    d.tokens = hg_session_tokens(session);
    d.items = calloc(room, sizeof(*d.items));
    d.specs = calloc(room, sizeof(*d.specs));
    d.buffer = malloc((size_t)buffer_floats(&d) * sizeof(float));
    if (!d.items || !d.specs || !d.buffer) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    list_items(&d, what->parts, layers);
    HG_TRY(start_file(&d, provenance, output));
    for (uint32_t i = 0; i < d.count; i++) {
        hg_meter_step(&app->meter, "dump", i, d.count);
        HG_TRY(write_item(&d, &d.items[i]));
    }
    hg_tensor_file_finish(&file);
out:
    hg_meter_stop(&app->meter);
    free(d.buffer);
    free(d.specs);
    free(d.items);
    return res;
}
