/* SPDX-License-Identifier: MIT */
/* Verdicts of checks, kept (kept.h). A line counts only for the sources and tile numbers that it
 * was found with. */
#include "kept.h"
#include "trust.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES_MAX = 1024 };

/* The number is raised whenever shapes or judging change. */
static const hg_kept kept = {"checks", "headgate checks 2", "kernels are checked again"};

typedef struct checks {
    const hg_engine *engine;
    hg_trust_entry *entries;
} checks;

static void take_line(void *user, const char *line)
{
    const checks *c = user;
    hg_trust_entry *entries = c->entries;
    char start[LINE_BYTES_MAX];

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        const hg_variant *variant = &hg_variants[v];
        const int length =
            snprintf(start, sizeof(start), "%s %s %s %016" PRIx64 " ",
                     hg_kernels[variant->kernel].name, hg_tier_name(variant->tier),
                     hg_dtype_name(variant->dtype), hg_kept_hash(c->engine, variant));
        const char *verdict = line + length;

        if (entries[v].state != HG_TRUST_UNKNOWN || strncmp(line, start, (size_t)length) != 0)
            continue;
        entries[v].kept = 1;
        if (strcmp(verdict, "pass") == 0) {
            entries[v].state = HG_TRUST_PASSED;
        } else if (strncmp(verdict, "fail ", 5) == 0) {
            entries[v].state = HG_TRUST_FAILED;
            (void)snprintf(entries[v].why, sizeof(entries[v].why), "%s", verdict + 5);
        }
    }
}

void hg_trust_file_read(const hg_engine *engine, hg_trust_entry *entries)
{
    hg_kept_read(engine, &kept, take_line, &(checks){engine, entries});
}

static void put_entries(void *user, hg_kept_text *out)
{
    const checks *c = user;
    const hg_trust_entry *entries = c->entries;

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        const hg_variant *variant = &hg_variants[v];
        const int passed = entries[v].state == HG_TRUST_PASSED;

        if (entries[v].state == HG_TRUST_UNKNOWN || entries[v].refused)
            continue;
        hg_kept_put(out, "%s %s %s %016" PRIx64 " %s%s\n", hg_kernels[variant->kernel].name,
                    hg_tier_name(variant->tier), hg_dtype_name(variant->dtype),
                    hg_kept_hash(c->engine, variant), passed ? "pass" : "fail ",
                    passed ? "" : entries[v].why);
    }
}

void hg_trust_file_write(const hg_engine *engine, hg_trust_entry *entries)
{
    /* What another program found in the meantime is kept. */
    hg_trust_file_read(engine, entries);
    hg_kept_write(engine, &kept, put_entries, &(checks){engine, entries});
}
