/* SPDX-License-Identifier: MIT */
/* The scan before the parser; see json_text.c. Only json.c calls it. */
#ifndef HG_HOST_JSON_TEXT_H
#define HG_HOST_JSON_TEXT_H

#include <headgate/base.h>

enum { HG_JSON_DEPTH_MAX = 512 };

hg_result hg_json_check_text(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                             uint32_t depth_max, uint64_t values_max, int one_line);

#endif
