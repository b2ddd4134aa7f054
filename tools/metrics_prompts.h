/* SPDX-License-Identifier: MIT */
/* headgate metrics --prompts: the measures of many prompts and their mean. */
#ifndef HG_TOOLS_METRICS_PROMPTS_H
#define HG_TOOLS_METRICS_PROMPTS_H

#include "app.h"

/* The command; returns its exit code. */
int hg_metrics_prompts(hg_app *app);

#endif
