/* SPDX-License-Identifier: MIT */
/* Parsing of numbers. strtol is not used: it takes signs, spaces and a locale. */
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 65536 };

/* Reads digits at *at; 0 when there are none or the number is too large. */
static int read_number(const char **at, const char *end, uint32_t *out)
{
    const char *c = *at;
    uint64_t value = 0;

    if (c == end || *c < '0' || *c > '9')
        return 0;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > UINT32_MAX)
            return 0;
    }
    *at = c;
    *out = (uint32_t)value;
    return 1;
}

int hg_number_parse(const char *text, uint32_t *out)
{
    const char *at = text, *end = text + strlen(text);

    return read_number(&at, end, out) && at == end;
}

static int holds(const uint32_t *list, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == value)
            return 1;
    }
    return 0;
}

static const char *read_list(const char *text, uint32_t min, uint32_t max, uint32_t *list,
                             uint32_t *count)
{
    const char *at = text, *end = text + strlen(text);

    for (;;) {
        uint32_t first, last;

        if (!read_number(&at, end, &first))
            return "expected numbers and ranges such as 1,7,21-28";
        last = first;
        if (at < end && *at == '-') {
            at++;
            if (!read_number(&at, end, &last) || last < first)
                return "a range goes from the lower to the higher number, such as 21-28";
        }
        if (first < min || last > max)
            return "out of range";
        for (uint32_t value = first; value <= last; value++) {
            if (holds(list, *count, value))
                continue;
            if (*count == LIST_MAX)
                return "too many numbers";
            list[(*count)++] = value;
            if (value == UINT32_MAX)
                break;
        }
        if (at == end)
            return NULL;
        if (*at++ != ',')
            return "expected numbers and ranges such as 1,7,21-28";
    }
}

hg_result hg_numbers_parse(const char *text, uint32_t min, uint32_t max, uint32_t **out,
                           uint32_t *count, const char **reason)
{
    uint32_t *list = malloc(LIST_MAX * sizeof(*list));

    *out = NULL;
    *count = 0;
    *reason = "out of memory";
    if (!list)
        return HG_ERR_HOST_MEMORY;
    *reason = read_list(text, min, max, list, count);
    if (*reason) {
        free(list);
        *count = 0;
        return HG_ERR_ARGUMENT;
    }
    *out = list;
    return HG_OK;
}

static int is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

hg_result hg_ids_parse(const char *text, size_t bytes, int32_t **out, uint32_t *count,
                       const char **reason)
{
    const char *at = text, *end = text + bytes;
    int32_t *ids = malloc((bytes / 2 + 1) * sizeof(*ids));

    *out = NULL;
    *count = 0;
    *reason = "out of memory";
    if (!ids)
        return HG_ERR_HOST_MEMORY;
    for (;;) {
        uint32_t id;

        while (at < end && is_separator(*at))
            at++;
        if (at == end)
            break;
        if (!read_number(&at, end, &id) || id > INT32_MAX || (at < end && !is_separator(*at))) {
            free(ids);
            *count = 0;
            *reason = "expected token ids such as 1,2,3";
            return HG_ERR_ARGUMENT;
        }
        ids[(*count)++] = (int32_t)id;
    }
    *out = ids;
    return HG_OK;
}
