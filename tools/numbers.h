/* SPDX-License-Identifier: MIT */
/* Whole numbers and lists of them as a user types them. Says nothing: the caller knows what was
 * meant. */
#ifndef HG_TOOLS_NUMBERS_H
#define HG_TOOLS_NUMBERS_H

#include <headgate/base.h>

#include <stdint.h>

/* Decimal digits alone; 0 when text is anything else or above UINT32_MAX. */
int hg_number_parse(const char *text, uint32_t *out);

/* "1,7,21-28" within min..max, in the order given, duplicates dropped. *out is freed by the caller.
 * HG_ERR_ARGUMENT with what is wrong in words in *reason (static text). */
hg_result hg_numbers_parse(const char *text, uint32_t min, uint32_t max, uint32_t **out,
                           uint32_t *count, const char **reason);

/* Token ids separated by commas or white space, each >= 0; an empty text has none. */
hg_result hg_ids_parse(const char *text, size_t bytes, int32_t **out, uint32_t *count,
                       const char **reason);

#endif
