/* SPDX-License-Identifier: MIT */
/*
 * Which of the ways to compute matmul and matvec is the fastest on this device: tiers that both
 * can be had, and the tile numbers of each. Found out by measuring at the model's own shapes before
 * the first use, within two seconds for all of them together; kept on disk by device, driver and
 * program (kept.h). Results stay within the bounds of the tier; what is chosen is checked like
 * everything else (trust.h).
 */
#ifndef HG_ENGINE_TUNE_H
#define HG_ENGINE_TUNE_H

#include "device.h"

typedef struct hg_tuner hg_tuner;

/* NULL in *out where nothing is to be tuned: turned off, the reference, or a processor where it was
 * not asked for (the numbers of the table were found on such). */
hg_result hg_tuner_create(hg_engine *engine, hg_tune how, hg_tuner **out);
void hg_tuner_free(hg_tuner **tuner);

/* Before a list is run: what it uses for the first time is looked up or measured. HG_CANCELLED, or
 * what the device fails with. */
hg_result hg_tune_list(hg_engine *engine, const hg_oplist *list, const hg_run_params *params);

#endif
