/* SPDX-License-Identifier: MIT */
/* headgate map --prompts: attention maps of many prompts, a file each or one JSON object. */
#ifndef HG_TOOLS_MAP_PROMPTS_H
#define HG_TOOLS_MAP_PROMPTS_H

#include "app.h"

/* The command; returns its exit code. */
int hg_map_prompts(hg_app *app);

#endif
