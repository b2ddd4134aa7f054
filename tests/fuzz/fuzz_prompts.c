/* SPDX-License-Identifier: MIT */
/* Any bytes as a list of prompts: what is accepted keeps its word. */
#include <headgate/prompts.h>

#include "fuzz_log.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_entry(const hg_prompt_entry *entry, uint64_t after)
{
    if (entry->line <= after || (entry->text == NULL) == (entry->ids == NULL))
        abort();
    if (entry->text && strlen(entry->text) != entry->text_bytes)
        abort();
    if (entry->ids && entry->id_count == 0)
        abort();
    for (uint32_t i = 0; i < entry->id_count; i++)
        if (entry->ids[i] < 0)
            abort();
    if (entry->name && !*entry->name)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hg_prompt_list_params params = {.label = "fuzz"};
    hg_prompt_list *list = NULL;
    uint64_t line = 0;
    fuzz_log log;

    fuzz_log_init(&log);
    params.log = log.log;
    fuzz_check(&log, hg_prompt_list_parse(&params, data, bytes, &list));
    if (!log.errors && hg_prompt_list_count(list) == 0)
        abort();
    for (uint32_t i = 0; i < hg_prompt_list_count(list); i++) {
        hg_prompt_entry entry = {.struct_size = sizeof(entry)};

        if (hg_prompt_list_at(list, i, &entry) != HG_OK)
            abort();
        check_entry(&entry, line);
        line = entry.line;
    }
    hg_prompt_list_free(&list);
    return 0;
}
