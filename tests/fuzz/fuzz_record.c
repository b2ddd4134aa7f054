/* SPDX-License-Identifier: MIT */
/* Any bytes as a record (.hgr): refused in words, or every value of it can be read. */
#include "message.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_values(const hg_record *record, size_t bytes)
{
    float *values = malloc(bytes + 1);

    if (!values)
        abort();
    for (uint32_t i = 0; i < record->spool.count; i++) {
        const hg_spool_entry *entry = &record->spool.entries[i];

        if (!entry->head.has_values)
            continue;
        if (entry->head.count > bytes / 4 || hg_spool_values(&record->spool, i, values) != HG_OK)
            abort();
    }
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static FILE *file;
    static char path[64];
    static char said[400]; /* kept by the messages */
    hg_record record;
    hg_result res;

    if (!file) {
        file = tmpfile();
        if (!file)
            abort();
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    }
    if (pwrite(fileno(file), data, bytes, 0) != (ssize_t)bytes ||
        ftruncate(fileno(file), (off_t)bytes) != 0)
        abort();
    said[0] = '\0';
    hg_message_keep(said, sizeof(said));
    res = hg_record_open(path, &record);
    if (res == HG_OK ? said[0] != '\0' : (res != HG_ERR_FILE || said[0] == '\0'))
        abort();
    if (res == HG_OK) {
        read_values(&record, bytes);
        hg_record_close(&record);
    }
    return 0;
}
