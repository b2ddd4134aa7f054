/* SPDX-License-Identifier: MIT */
/* Which variants an engine has run, with which tile numbers: told by hg_engine_used. */
#ifndef HG_ENGINE_USED_H
#define HG_ENGINE_USED_H

#include "backend.h"

/* One way in which a kernel ran. */
typedef struct hg_used_entry {
    const hg_variant *variant;
    uint32_t spec[HG_SPEC_MAX];
    uint64_t dispatches;
} hg_used_entry;

typedef struct hg_used {
    hg_used_entry *entries;
    uint32_t count, room;
} hg_used;

/* HG_ERR_HOST_MEMORY: not noted. */
hg_result hg_used_note(hg_used *used, const hg_variant *variant, const uint32_t *spec);
void hg_used_free(hg_used *used);

enum { HG_TILES_TEXT = 96 };

/* "ROWS=8 COLS=8"; "" where the variant has no tile numbers. */
void hg_tiles_text(const hg_variant *variant, const uint32_t *spec, char text[HG_TILES_TEXT]);

#endif
