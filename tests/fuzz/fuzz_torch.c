/* SPDX-License-Identifier: MIT */
/* Any bytes as pytorch_model.bin, or, when they are no archive, as the pickle in one. Touches every
 * element. */
#include "fuzz_log.h"
#include "pickle.h"
#include "torch_file.h"
#include "weight_files.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_archive(const uint8_t *data, size_t bytes)
{
    hg_weight_files files = {0};
    hg_file file = {data, bytes};
    fuzz_log log;
    uint32_t i;

    fuzz_log_init(&log);
    fuzz_check(&log, hg_torch_read(&log.log, "fuzz", &file, 0, &files.table));
    for (i = 0; i < files.table.count && !log.errors; i++) {
        const hg_tensor *t = &files.table.items[i];
        const uint8_t *values = t->data;
        uint64_t k;
        volatile uint8_t sum = 0;

        /* What weight_files.c would refuse is not unrolled here either. */
        if (t->strided && t->bytes > bytes)
            continue;
        if (t->strided && hg_tensor_unroll(t, NULL) != t->bytes)
            abort();
        if (t->strided) {
            uint8_t *copy = malloc((size_t)t->bytes);

            if (!copy)
                abort();
            (void)hg_tensor_unroll(t, copy);
            free(copy);
            continue;
        }
        if (t->elements && (values < data || t->bytes > (uint64_t)(data + bytes - values)))
            abort();
        for (k = 0; k < t->bytes; k++)
            sum = (uint8_t)(sum + values[k]);
    }
    hg_tensor_table_free(&files.table);
}

static void read_pickle(const uint8_t *data, size_t bytes)
{
    hg_pickle pickle;
    fuzz_log log;
    uint32_t i;

    fuzz_log_init(&log);
    fuzz_check(&log, hg_pickle_read(&log.log, "fuzz", data, bytes, &pickle));
    for (i = 0; i < pickle.count; i++)
        if (pickle.tensors[i].rank > HG_TENSOR_RANK_MAX)
            abort();
    hg_pickle_free(&pickle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (hg_torch_is(data, bytes))
        read_archive(data, bytes);
    else
        read_pickle(data, bytes);
    return 0;
}
