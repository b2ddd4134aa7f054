/* SPDX-License-Identifier: MIT */
#include "hashes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t hg_hash_outputs(const hg_trial *trial, const uint8_t *block)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (uint32_t b = trial->kernel->output; b < trial->kernel->bind_count; b++) {
        for (uint64_t i = 0; i < trial->size_bytes[b]; i++)
            hash = (hash ^ block[trial->offset_bytes[b] + i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int hg_hash_find(const char *path, const char *shape, hg_dtype dtype, uint64_t *hash)
{
    FILE *file = fopen(path, "r");
    char line[256];
    char key[128];
    int found = 0;

    (void)snprintf(key, sizeof(key), "%s|%s|", shape, hg_dtype_name(dtype));
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *end;

        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        *hash = strtoull(line + strlen(key), &end, 16);
        found = *end == '\n' && end == line + strlen(key) + 16;
    }
    if (file)
        (void)fclose(file);
    return found;
}
