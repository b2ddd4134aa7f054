/* SPDX-License-Identifier: MIT */
/*
 * What was found out about a device, kept in the cache folder: a file of lines per kind, device,
 * driver and program. It is trusted only when it is whole (its last line is the checksum of the
 * rest) and its key is ours; it appears under its name only when it is whole, so that two programs
 * at once do no harm. Nothing here can fail: what cannot be read or kept is found out again.
 */
#ifndef HG_ENGINE_KEPT_H
#define HG_ENGINE_KEPT_H

#include "device.h"

typedef struct hg_kept {
    const char *name; /* of the file: "checks" */
    const char
        *head; /* its first line, with a number that is raised when older lines say nothing */
    const char *again; /* what follows when it is not used: "kernels are checked again" */
} hg_kept;

typedef struct hg_kept_text {
    char *text;
    size_t bytes;
    int full;
} hg_kept_text;

/* Calls take for every line of a file that is ours and whole. */
void hg_kept_read(const hg_engine *engine, const hg_kept *kept,
                  void (*take)(void *user, const char *line), void *user);

/* Writes what put puts, lines with their newlines. */
void hg_kept_write(const hg_engine *engine, const hg_kept *kept,
                   void (*put)(void *user, hg_kept_text *out), void *user);
void hg_kept_put(hg_kept_text *out, const char *format, ...) HG_PRINTF(2, 3);

/* Of what the driver is given to compile, tile numbers included. */
uint64_t hg_kept_hash(const hg_engine *engine, const hg_variant *variant);

#endif
