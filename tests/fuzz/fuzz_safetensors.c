/* SPDX-License-Identifier: MIT */
/* Any bytes as a safetensors file: every tensor that is accepted lies inside them. */
#include "fuzz_log.h"
#include "safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hg_tensor_table table = {NULL, 0, 0, NULL};
    hg_file file = {data, bytes};
    fuzz_log log;
    uint32_t i;
    uint64_t sum = 0;

    fuzz_log_init(&log);
    if (bytes == 0)
        return 0;
    fuzz_check(&log, hg_safetensors_read(&log.log, "fuzz", &file, 0, &table));
    for (i = 0; i < table.count && !log.errors; i++) {
        const hg_tensor *t = &table.items[i];

        if (t->data < data || t->data > data + bytes ||
            t->bytes > (uint64_t)(data + bytes - t->data))
            abort();
        sum += t->bytes;
    }
    /* They tile the data, so they cannot be more than those. */
    if (sum > bytes)
        abort();
    hg_tensor_table_free(&table);
    return 0;
}
