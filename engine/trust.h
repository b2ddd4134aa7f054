/* SPDX-License-Identifier: MIT */
/*
 * Which variants an engine's device was seen to compute rightly. Found out before the first use of
 * each, kept on disk by device, driver and program (trust_file.c); what fails is demoted in the
 * plan. Has a lock of its own, taken before the engine's.
 */
#ifndef HG_ENGINE_TRUST_H
#define HG_ENGINE_TRUST_H

#include "device.h"
#include "selftest.h"

typedef enum hg_trust_state { HG_TRUST_UNKNOWN, HG_TRUST_PASSED, HG_TRUST_FAILED } hg_trust_state;

/* One per row of hg_variants. */
typedef struct hg_trust_entry {
    hg_trust_state state;
    int kept;    /* an earlier run's, from the file */
    int refused; /* not kept: a full disk or too little memory passes */
    char why[sizeof(((hg_check *)0)->why)];
} hg_trust_entry;

typedef struct hg_trust hg_trust;

hg_result hg_trust_create(hg_engine *engine, hg_trust **out);
void hg_trust_free(hg_trust **trust);

/*
 * Before a list is run: every variant that it uses has passed its check on this device afterwards,
 * under exact the probe too. HG_ERR_DRIVER: one has not, and there is no lower tier; HG_CANCELLED.
 */
hg_result hg_trust_ready(hg_engine *engine, const hg_oplist *list, const hg_run_params *params);

/* Whether a kernel can be had for this type at all: no fault where it cannot, another layout of
 * the weights is taken then. */
hg_result hg_trust_usable(hg_engine *engine, hg_kernel_id kernel, hg_dtype dtype, int *usable);

/* The file: fills entries that are unknown, from what an earlier run found; writes all that are
 * known. Neither can fail: a file that is not whole, or not ours, says nothing. */
void hg_trust_file_read(const hg_engine *engine, hg_trust_entry *entries);
void hg_trust_file_write(const hg_engine *engine, hg_trust_entry *entries);

#endif
