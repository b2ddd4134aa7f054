/* SPDX-License-Identifier: MIT */
/* See unicode_list.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "unicode_list.h"

#include "tokenizer_case.h"
#include "tokenizer_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pcre2.h>
#include <utf8proc.h>

static uint32_t version_of(const char *text)
{
    unsigned int major = 0, minor = 0;

    assert_true(sscanf(text, "%u.%u", &major, &minor) == 2);
    return major * 10 + minor;
}

uint32_t hg_pcre2_unicode(void)
{
    char text[64] = "";

    assert_true(pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, NULL) < (int)sizeof(text));
    assert_true(pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, text) > 0);
    return version_of(text);
}

uint32_t hg_utf8proc_unicode(void)
{
    return version_of(utf8proc_unicode_version());
}

/* "1C89-1C8A letter 16.0" or "11938 composed 15.0 11935 11930"; 0: no such line. */
static int read_line(const char *line, hg_listed *out)
{
    static const char *const kinds[] = {"letter", "number", "mark", "composed"};
    char kind[16], version[8];
    int used = 0, more = 0;
    unsigned int code;
    uint32_t i;

    *out = (hg_listed){0};
    if (sscanf(line, "%x-%x %15s %7s%n", &out->first, &out->last, kind, version, &used) != 4) {
        if (sscanf(line, "%x %15s %7s%n", &out->first, kind, version, &used) != 3)
            return 0;
        out->last = out->first;
    }
    for (i = 0; i < 4 && strcmp(kinds[i], kind) != 0; i++)
        ;
    if (i == 4)
        return 0;
    out->kind = (hg_listed_kind)i;
    out->version = version_of(version);
    for (line += used; out->parts_count < 4 && sscanf(line, "%x%n", &code, &more) == 1;
         line += more)
        out->parts[out->parts_count++] = code;
    assert_true(out->first <= out->last && out->last < 0x110000);
    assert_true((out->parts_count > 1) == (out->kind == HG_LISTED_COMPOSED));
    return 1;
}

uint32_t hg_read_listed(hg_listed *list)
{
    char *text = hg_read_whole(HG_TEST_REFERENCE_DIR "/../../host/UNICODE.md", NULL);
    char *line = text;
    uint32_t count = 0;
    int fenced = 0;

    while (*line) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (strncmp(line, "```", 3) == 0) {
            fenced = !fenced;
        } else if (fenced) {
            assert_true(count < HG_LISTED_MAX);
            if (!read_line(line, &list[count++]))
                fail_msg("UNICODE.md: \"%s\" is no line of a list", line);
        }
        line = end ? end + 1 : line + strlen(line);
    }
    free(text);
    return count;
}

int hg_holds_newer(const hg_listed *list, uint32_t count, const char *text)
{
    size_t bytes = strlen(text), at = 0;
    uint32_t version = hg_pcre2_unicode();

    while (at < bytes) {
        uint32_t code, i;
        at += hg_utf8_next(text + at, bytes - at, &code);
        for (i = 0; i < count; i++)
            if (list[i].kind <= HG_LISTED_NUMBER && code >= list[i].first && code <= list[i].last &&
                list[i].version > version)
                return 1;
    }
    return 0;
}
