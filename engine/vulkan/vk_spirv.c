/* SPDX-License-Identifier: MIT */
/*
 * Adds three instructions to a SPIR-V module: capability, extension, execution mode. The layout of
 * a module is fixed (capabilities, extensions, imports, memory model, entry points, execution
 * modes, the rest), so one walk finds both places. See vk_spirv.h.
 */
#include "vk_spirv.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEADER_WORDS = 5,
    SPIRV_OP_EXTENSION = 10,
    SPIRV_OP_ENTRY_POINT = 15,
    SPIRV_OP_EXECUTION_MODE = 16,
    SPIRV_OP_CAPABILITY = 17,
    SPIRV_CAPABILITY_ROUNDING_MODE_RTE = 4467,
    SPIRV_MODE_ROUNDING_MODE_RTE = 4462,
    SPIRV_EXTENSION_WORDS = 7, /* opcode word, 22 letters, terminator: 24 bytes */
    SPIRV_ENTRY_POINTS_MAX = 8
};

static const char extension_name[24] = "SPV_KHR_float_controls";

/* What a walk over the module finds; positions are word indices. */
typedef struct module_map {
    size_t capabilities_end, entry_points_end;
    uint32_t entry[SPIRV_ENTRY_POINTS_MAX];
    uint32_t entry_count;
    int has_capability, has_extension, has_mode;
} module_map;

static void map_instruction(module_map *map, const uint32_t *at, uint32_t words, size_t end)
{
    switch (at[0] & 0xffff) {
    case SPIRV_OP_CAPABILITY:
        map->capabilities_end = end;
        if (words == 2 && at[1] == SPIRV_CAPABILITY_ROUNDING_MODE_RTE)
            map->has_capability = 1;
        break;
    case SPIRV_OP_EXTENSION:
        if (words == SPIRV_EXTENSION_WORDS && memcmp(at + 1, extension_name, 24) == 0)
            map->has_extension = 1;
        break;
    case SPIRV_OP_ENTRY_POINT:
        map->entry_points_end = end;
        if (words >= 3 && map->entry_count < SPIRV_ENTRY_POINTS_MAX)
            map->entry[map->entry_count++] = at[2];
        break;
    case SPIRV_OP_EXECUTION_MODE:
        if (words == 4 && at[2] == SPIRV_MODE_ROUNDING_MODE_RTE && at[3] == 32)
            map->has_mode = 1;
        break;
    default:
        break;
    }
}

static hg_result map_module(const uint32_t *words, size_t count, module_map *map)
{
    *map = (module_map){0};
    if (count < SPIRV_HEADER_WORDS || words[0] != SPIRV_MAGIC)
        return HG_ERR_DRIVER;
    for (size_t at = SPIRV_HEADER_WORDS; at < count;) {
        uint32_t length = words[at] >> 16;

        if (length == 0 || length > count - at)
            return HG_ERR_DRIVER;
        map_instruction(map, words + at, length, at + length);
        at += length;
    }
    if (map->capabilities_end == 0 || map->entry_points_end == 0)
        return HG_ERR_DRIVER;
    return HG_OK;
}

static size_t append(uint32_t *out, size_t at, const uint32_t *from, size_t words)
{
    memcpy(out + at, from, words * sizeof(*out));
    return at + words;
}

hg_result hg_vk_spirv_round_even(const uint32_t *words, size_t bytes, uint32_t **out,
                                 size_t *out_bytes)
{
    size_t count = bytes / 4, at;
    module_map map;
    uint32_t *patched;

    *out = NULL;
    *out_bytes = 0;
    if (bytes % 4 != 0 || map_module(words, count, &map) != HG_OK)
        return HG_ERR_DRIVER;
    patched = malloc((count + 2 + SPIRV_EXTENSION_WORDS + (size_t)4 * map.entry_count) * 4);
    if (!patched)
        return HG_ERR_HOST_MEMORY;
    at = append(patched, 0, words, map.capabilities_end);
    if (!map.has_capability) {
        patched[at++] = 2u << 16 | SPIRV_OP_CAPABILITY;
        patched[at++] = SPIRV_CAPABILITY_ROUNDING_MODE_RTE;
    }
    if (!map.has_extension) {
        patched[at++] = (uint32_t)SPIRV_EXTENSION_WORDS << 16 | SPIRV_OP_EXTENSION;
        memcpy(patched + at, extension_name, sizeof(extension_name));
        at += SPIRV_EXTENSION_WORDS - 1;
    }
    at = append(patched, at, words + map.capabilities_end,
                map.entry_points_end - map.capabilities_end);
    for (uint32_t i = 0; i < map.entry_count && !map.has_mode; i++) {
        patched[at++] = 4u << 16 | SPIRV_OP_EXECUTION_MODE;
        patched[at++] = map.entry[i];
        patched[at++] = SPIRV_MODE_ROUNDING_MODE_RTE;
        patched[at++] = 32;
    }
    at = append(patched, at, words + map.entry_points_end, count - map.entry_points_end);
    *out = patched;
    *out_bytes = at * 4;
    return HG_OK;
}
