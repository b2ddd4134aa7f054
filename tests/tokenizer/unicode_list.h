/* SPDX-License-Identifier: MIT */
/* host/UNICODE.md as data: what is listed there is what the tests expect, so that the two cannot
 * drift apart. */
#ifndef HG_TESTS_UNICODE_LIST_H
#define HG_TESTS_UNICODE_LIST_H

#include <stdint.h>

typedef enum hg_listed_kind {
    HG_LISTED_LETTER,
    HG_LISTED_NUMBER,
    HG_LISTED_MARK,
    HG_LISTED_COMPOSED
} hg_listed_kind;

typedef struct hg_listed {
    uint32_t first, last;
    hg_listed_kind kind;
    uint32_t version;  /* 151 is 15.1 */
    uint32_t parts[4]; /* of a composition */
    uint32_t parts_count;
} hg_listed;

enum { HG_LISTED_MAX = 256 };

/* Reads list[HG_LISTED_MAX]; fails the test when the file cannot be read or a line of it makes no
 * sense. */
uint32_t hg_read_listed(hg_listed *list);

/* The version of Unicode that the library knows, as above. */
uint32_t hg_pcre2_unicode(void);
uint32_t hg_utf8proc_unicode(void);

/* Whether text holds a letter or number that is newer than PCRE2. */
int hg_holds_newer(const hg_listed *list, uint32_t count, const char *text);

#endif
