/* SPDX-License-Identifier: MIT */
/* Choosing layers and heads. */
#include "choice.h"

#include "message.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

static hg_result take_all(uint32_t count, uint32_t **out)
{
    uint32_t *list = malloc(((size_t)count + 1) * sizeof(*list));

    if (!list)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        list[i] = i;
    *out = list;
    return HG_OK;
}

static hg_result take_spread(uint32_t layers, hg_layer_choice *out)
{
    static const uint32_t of_28[] = {0, 6, 20, 27};

    out->layers = malloc(4 * sizeof(*out->layers));
    if (!out->layers)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (size_t i = 0; i < 4; i++) {
        uint64_t scaled = (uint64_t)of_28[i] * (layers - 1);
        uint32_t layer = (uint32_t)((2 * scaled + 27) / 54); /* rounded to the nearest, halves up */

        if (out->count == 0 || out->layers[out->count - 1] != layer)
            out->layers[out->count++] = layer;
    }
    return HG_OK;
}

/* "1,7,21-28" of count things, as 0-based. */
static hg_result take_list(const char *option, const char *value, const char *what, uint32_t of,
                           uint32_t **list, uint32_t *count)
{
    const char *reason;
    hg_result res = hg_numbers_parse(value, 1, of, list, count, &reason);

    if (res != HG_OK)
        return hg_message_fail(res, "--%s %s: %s; the model has %s 1 to %u", option, value, reason,
                               what, of);
    for (uint32_t i = 0; i < *count; i++)
        (*list)[i]--;
    return HG_OK;
}

hg_result hg_layers_choose(const hg_args *args, const hg_model_info *info, int spread,
                           hg_layer_choice *out)
{
    const char *value = hg_args_value(args, HG_OPTION_LAYERS);

    memset(out, 0, sizeof(*out));
    if (!value && spread)
        return take_spread(info->layers, out);
    if (!value || strcmp(value, "all") == 0) {
        out->count = info->layers;
        return take_all(info->layers, &out->layers);
    }
    return take_list("layers", value, "layers", info->layers, &out->layers, &out->count);
}

void hg_layers_free(hg_layer_choice *choice)
{
    free(choice->layers);
    memset(choice, 0, sizeof(*choice));
}

hg_result hg_heads_choose(const hg_args *args, const hg_model_info *info, hg_head_choice *out)
{
    const char *value = hg_args_value(args, HG_OPTION_HEADS);

    memset(out, 0, sizeof(*out));
    out->count = 1;
    if (!value || strcmp(value, "mean") == 0)
        return HG_OK;
    if (strcmp(value, "all") == 0) {
        out->count = info->heads;
        return take_all(info->heads, &out->heads);
    }
    return take_list("heads", value, "heads", info->heads, &out->heads, &out->count);
}

void hg_heads_free(hg_head_choice *choice)
{
    free(choice->heads);
    memset(choice, 0, sizeof(*choice));
}
