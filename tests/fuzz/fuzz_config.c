/* SPDX-License-Identifier: MIT */
/* Any bytes as config.json: a config that is accepted gives finite tables at both ends of the
 * positions. */
#include "config.h"
#include "fuzz_log.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_table(const hg_config *config, uint32_t tokens)
{
    double inv_freq[HG_HEAD_DIM_MAX / 2], scaling;
    float table[HG_HEAD_DIM_MAX];
    uint32_t i;

    hg_rope_frequencies(config, tokens, inv_freq, &scaling);
    hg_rope_table(inv_freq, scaling, config->head_dim, tokens - 1, 1, table);
    for (i = 0; i < config->head_dim; i++)
        if (!isfinite(table[i]) || fabsf(table[i]) > (float)scaling * 1.0001F)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hg_config config;
    fuzz_log log;

    fuzz_log_init(&log);
    fuzz_check(&log, hg_config_parse(&log.log, "fuzz", data, bytes, &config));
    if (log.errors)
        return 0;
    if (config.head_dim % 2 || config.head_dim > HG_HEAD_DIM_MAX ||
        config.heads % config.kv_heads || !config.layers)
        abort();
    check_table(&config, 1);
    check_table(&config, UINT32_MAX);
    return 0;
}
