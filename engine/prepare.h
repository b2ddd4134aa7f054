/* SPDX-License-Identifier: MIT */
/*
 * Kernels compiled before they are needed: all that a list uses and no earlier list used, on
 * several threads, since a driver takes a second or more for a kernel and most take several at
 * once.
 */
#ifndef HG_ENGINE_PREPARE_H
#define HG_ENGINE_PREPARE_H

#include "device.h"

/* HG_CANCELLED is the only result beside HG_OK: what a driver refuses is left to whoever needs it,
 * and said there. */
hg_result hg_prepare_list(hg_engine *engine, const hg_oplist *list, const hg_run_params *params);

#endif
