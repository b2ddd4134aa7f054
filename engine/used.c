/* SPDX-License-Identifier: MIT */
/* The list of what ran. Short: a model has a dozen kernels. */
#include "used.h"

#include "device.h"
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hg_result hg_used_note(hg_used *used, const hg_variant *variant, const uint32_t *spec)
{
    hg_used_entry *entry;

    for (uint32_t i = 0; i < used->count; i++) {
        entry = &used->entries[i];
        if (entry->variant == variant && memcmp(entry->spec, spec, sizeof(entry->spec)) == 0) {
            entry->dispatches++;
            return HG_OK;
        }
    }
    if (used->count == used->room) {
        const uint32_t room = used->room ? used->room * 2 : 16;
        hg_used_entry *grown = realloc(used->entries, room * sizeof(*grown));

        if (!grown)
            return HG_ERR_HOST_MEMORY;
        used->entries = grown;
        used->room = room;
    }
    entry = &used->entries[used->count++];
    *entry = (hg_used_entry){.variant = variant, .dispatches = 1};
    memcpy(entry->spec, spec, sizeof(entry->spec));
    return HG_OK;
}

void hg_used_free(hg_used *used)
{
    free(used->entries);
    memset(used, 0, sizeof(*used));
}

void hg_tiles_text(const hg_variant *variant, const uint32_t *spec, char text[HG_TILES_TEXT])
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < variant->spec_count && at < HG_TILES_TEXT; i++) {
        const int length = snprintf(text + at, HG_TILES_TEXT - at, "%s%s=%u", i ? " " : "",
                                    variant->spec_name[i], spec[i]);

        at += length > 0 ? (size_t)length : 0;
    }
}

hg_result hg_engine_used(hg_engine *engine, uint32_t index, hg_used_info *out)
{
    hg_used_entry entry = {0};
    hg_used_info info = {0};

    if (!engine || !out)
        return HG_ERR_ARGUMENT;
    pthread_mutex_lock(&engine->lock);
    if (index < engine->used.count)
        entry = engine->used.entries[index];
    pthread_mutex_unlock(&engine->lock);
    if (!entry.variant)
        return HG_ERR_ARGUMENT;
    info.kernel = hg_kernels[entry.variant->kernel].name;
    info.tier = hg_tier_name(entry.variant->tier);
    info.dtype = hg_dtype_name(entry.variant->dtype);
    info.threads = entry.variant->threads;
    info.dispatches = entry.dispatches;
    hg_tiles_text(entry.variant, entry.spec, info.tiles);
    hg_struct_out(out, &info, sizeof(info));
    return HG_OK;
}
