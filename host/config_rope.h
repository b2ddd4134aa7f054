/* SPDX-License-Identifier: MIT */
/* rope_theta and rope_scaling (or rope_parameters, their newer spelling) of config.json. Only
 * config.c calls it. */
#ifndef HG_HOST_CONFIG_ROPE_H
#define HG_HOST_CONFIG_ROPE_H

#include "config.h"
#include "json.h"

/* root: the whole config; label: its path. Needs config->head_dim and max_positions, fills
 * config->rope. */
hg_result hg_config_read_rope(const hg_json_from *root, hg_config *config);

const char *hg_rope_type_name(hg_rope_type type);

#endif
