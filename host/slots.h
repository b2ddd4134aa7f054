/* SPDX-License-Identifier: MIT */
/* The tensors that the model has, as data: names, shapes as functions of the config, and where they
 * go. */
#ifndef HG_HOST_SLOTS_H
#define HG_HOST_SLOTS_H

#include "checkpoint.h"
#include "weight_files.h"

/*
 * Tells the gate from the rows of q_proj and the keys (D31), then fills embed, final_norm, head and
 * layers of the checkpoint. Everything that is missing or has another shape or type is an error
 * that names it.
 */
hg_result hg_slots_fill(const hg_log *log, hg_checkpoint *checkpoint, hg_weight_files *files);

/* Calls visit for every weight that is there, in order of the model; a vector is a norm or a bias.
 * A result other than HG_OK ends it. */
typedef hg_result (*hg_slots_visitor)(void *user, const char *name, const hg_weight *weight,
                                      int is_vector);
hg_result hg_slots_visit(const hg_checkpoint *checkpoint, hg_slots_visitor visit, void *user);

#endif
