/* SPDX-License-Identifier: MIT */
/*
 * Rounds of loops. llvmpipe, Mesa's Vulkan for processors, counts the rounds of all loops of an
 * invocation together and leaves every loop once there were 65535, without an error: what comes
 * after is wrong. So who computes there asks before.
 */
#ifndef HG_ENGINE_ROUNDS_H
#define HG_ENGINE_ROUNDS_H

#include "oplist.h"
#include "plan.h"

/* The most that an invocation of this variant may take; 0: few, whatever the params are. */
double hg_rounds(const hg_op *op, const hg_variant *variant, const uint32_t *spec);

/* HG_ERR_UNSUPPORTED, and said why, where these are more than the device runs. */
hg_result hg_rounds_check(const hg_plan *plan, const hg_op *op, const hg_variant *variant,
                          const uint32_t *spec);

#endif
