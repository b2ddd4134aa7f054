/* SPDX-License-Identifier: MIT */
/*
 * Where a result comes from, written into every file: model, sha256 of its weights, device, driver,
 * precision, version, command line (docs/DECISIONS.md D32). The sha256 is computed on a thread of
 * its own while the model runs, kept in the cache folder, and taken from the blob's name in a
 * Hugging Face cache.
 */
#ifndef HG_TOOLS_PROVENANCE_H
#define HG_TOOLS_PROVENANCE_H

#include "figure.h"
#include "json_writer.h"
#include "machine.h"
#include "prompt.h"

enum { HG_SHA256_TEXT = 65 };

/* 32 bytes as text; whether a text is 64 hex digits in small letters. */
void hg_sha256_text(const unsigned char *bytes, char hex[HG_SHA256_TEXT]);
int hg_sha256_is(const char *text);

typedef struct hg_weights_digest hg_weights_digest;

hg_result hg_weights_digest_start(hg_app *app, const hg_checkpoint *checkpoint,
                                  hg_weights_digest **out);
/* Waits. One file: its sha256. Several: the sha256 of what sha256sum prints for them in the order
 * of the checkpoint. hex is "unknown" (with a warning) when a file cannot be read again. */
hg_result hg_weights_digest_wait(hg_weights_digest *digest, char hex[HG_SHA256_TEXT]);
/* Stops it if it still runs. */
void hg_weights_digest_free(hg_weights_digest **digest);

typedef struct hg_provenance {
    const char *model; /* as on the command line */
    char sha256[HG_SHA256_TEXT];
    const char *weights_sha256;     /* the one above, unless the caller points it elsewhere */
    char device[HG_NAME_SIZE + 32]; /* "llvmpipe (LLVM 15.0.6, 256 bits) [vk:0]" */
    char driver[640];
    const char *precision;
    const char *limits; /* NULL: those of the device */
    const char *command;
    const char *text; /* of the prompt; NULL with --ids */
} hg_provenance;

enum { HG_FACT_COUNT = 10 };

/* prompt NULL: none. Waits for the digest. */
hg_result hg_provenance_fill(const hg_app *app, const hg_source *source, const hg_machine *machine,
                             const hg_prompt *prompt, hg_weights_digest *digest,
                             hg_provenance *out);
/* For a figure; returns how many of facts[HG_FACT_COUNT] were written. They point into provenance.
 */
uint32_t hg_provenance_facts(const hg_provenance *provenance, hg_figure_fact facts[HG_FACT_COUNT]);
/* As the member "provenance" of an object. */
void hg_provenance_put(const hg_provenance *provenance, hg_put *put);
/* One or two lines under a figure. */
void hg_provenance_footer(const hg_provenance *provenance, char *text, size_t bytes);

#define HG_PROGRAM_VERSION "headgate " HG_VERSION_STRING " (" HG_EXACT_REVISION ")"

#endif
