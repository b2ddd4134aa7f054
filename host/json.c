/* SPDX-License-Identifier: MIT */
/* Parsing after the scan, what the scan cannot see (infinite numbers, repeated keys), and typed
 * getters. */
#include "json.h"

#include "check.h"
#include "file.h"
#include "json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_KEYS = 12 };

/* The largest integer of which a double still knows every neighbour. */
static const double INTEGER_MAX = 9007199254740991.0;

typedef struct checker {
    const hg_log *log;
    const char *label;
    uint32_t repeats;
} checker;

static hg_result say_repeat(const checker *check, const char *key)
{
    return hg_fail(check->log, HG_ERR_FILE,
                   "%s: the key \"%.200s\" stands twice in one object; remove one", check->label,
                   key);
}

static int order_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hg_result check_many_keys(const checker *check, const cJSON *object, size_t count)
{
    const char **keys = malloc(count * sizeof(*keys));
    hg_result res = HG_OK;
    const cJSON *child;
    size_t i = 0;

    if (!keys)
        return hg_fail(check->log, HG_ERR_HOST_MEMORY, "%s: out of memory while checking keys",
                       check->label);
    for (child = object->child; child; child = child->next)
        keys[i++] = child->string;
    qsort(keys, count, sizeof(*keys), order_strings);
    for (i = 1; i < count && res == HG_OK; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            res = say_repeat(check, keys[i]);
    free(keys);
    return res;
}

static hg_result check_keys(const checker *check, const cJSON *object)
{
    const cJSON *a, *b;
    size_t count = 0;

    for (a = object->child; a; a = a->next)
        count++;
    if (count > FEW_KEYS)
        return check_many_keys(check, object, count);
    for (a = object->child; a; a = a->next)
        for (b = a->next; b; b = b->next)
            if (strcmp(a->string, b->string) == 0)
                return say_repeat(check, a->string);
    return HG_OK;
}

/* Recursion is as deep as the scan allowed. */
static hg_result check_tree(const checker *check, const cJSON *value)
{
    const cJSON *child;
    hg_result res = HG_OK;

    if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
        return hg_fail(check->log, HG_ERR_FILE,
                       "%s: %s%.200s%sa number is beyond the range of double", check->label,
                       value->string ? "\"" : "", value->string ? value->string : "",
                       value->string ? "\": " : "");
    if (cJSON_IsObject(value) && !check->repeats)
        res = check_keys(check, value);
    for (child = value->child; child && res == HG_OK; child = child->next)
        res = check_tree(check, child);
    return res;
}

hg_result hg_json_parse(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                        const hg_json_limits *limits, cJSON **out)
{
    hg_json_limits most = limits ? *limits : (hg_json_limits){0};
    checker check = {log, label, most.repeats};
    hg_result res = HG_OK;

    *out = NULL;
    if (!most.bytes_max)
        most.bytes_max = (uint64_t)256 << 20;
    if (!most.depth_max)
        most.depth_max = 64;
    if (!most.values_max)
        most.values_max = (uint64_t)4 << 20;
    if (bytes > most.bytes_max)
        return hg_fail(log, HG_ERR_FILE, "%s: expected at most %llu bytes of JSON, found %llu",
                       label, (unsigned long long)most.bytes_max, (unsigned long long)bytes);
    HG_TRY(hg_json_check_text(log, label, text, bytes, most.depth_max, most.values_max,
                              most.one_line != 0));
    *out = cJSON_ParseWithLength(text, (size_t)bytes);
    if (!*out)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "%s: out of memory while reading JSON", label);
    HG_TRY(check_tree(&check, *out));
out:
    if (res != HG_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return res;
}

hg_result hg_json_read(const hg_log *log, const char *path, const hg_json_limits *limits,
                       cJSON **out)
{
    uint64_t max = limits && limits->bytes_max ? limits->bytes_max : (uint64_t)256 << 20;
    hg_file file;
    hg_result res;

    *out = NULL;
    res = hg_file_map(log, path, max, &file);
    if (res != HG_OK)
        return res;
    res = hg_file_judge(log, path, &file);
    if (res == HG_OK)
        res = hg_json_parse(log, path, file.data, file.bytes, limits, out);
    hg_file_unmap(&file);
    return res;
}

const cJSON *hg_json_find(const cJSON *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

const char *hg_json_show(const cJSON *value, char *buffer, size_t size)
{
    if (!value)
        snprintf(buffer, size, "nothing");
    else if (cJSON_IsString(value))
        snprintf(buffer, size, "the string \"%.60s\"", value->valuestring);
    else if (cJSON_IsNumber(value))
        snprintf(buffer, size, "%.17g", value->valuedouble);
    else if (cJSON_IsBool(value))
        snprintf(buffer, size, "%s", cJSON_IsTrue(value) ? "true" : "false");
    else
        snprintf(buffer, size, "%s",
                 cJSON_IsNull(value) ? "null" : (cJSON_IsArray(value) ? "an array" : "an object"));
    return buffer;
}

static hg_result say_wrong(const hg_json_from *from, const char *key, const char *expected)
{
    const cJSON *value = hg_json_find(from->object, key);
    char found[96];

    if (!value)
        return hg_fail(from->log, HG_ERR_FILE, "%s: the key \"%s\" is missing; expected %s",
                       from->label, key, expected);
    return hg_fail(from->log, HG_ERR_FILE, "%s: %s: expected %s, found %s", from->label, key,
                   expected, hg_json_show(value, found, sizeof(found)));
}

int hg_json_to_integer(const cJSON *value, int64_t min, int64_t max, int64_t *out)
{
    double number;

    if (!cJSON_IsNumber(value))
        return 0;
    number = value->valuedouble;
    if (!(fabs(number) <= INTEGER_MAX) || number != floor(number))
        return 0;
    if (number < (double)min || number > (double)max)
        return 0;
    *out = (int64_t)number;
    return 1;
}

hg_result hg_json_integer(const hg_json_from *from, const char *key, const int64_t *fallback,
                          int64_t min, int64_t max, int64_t *out)
{
    const cJSON *value = hg_json_find(from->object, key);
    char expected[80];

    *out = fallback ? *fallback : 0;
    if (!value && fallback)
        return HG_OK;
    if (hg_json_to_integer(value, min, max, out))
        return HG_OK;
    snprintf(expected, sizeof(expected), "an integer from %lld to %lld", (long long)min,
             (long long)max);
    return say_wrong(from, key, expected);
}

hg_result hg_json_number(const hg_json_from *from, const char *key, const double *fallback,
                         double *out)
{
    const cJSON *value = hg_json_find(from->object, key);

    *out = fallback ? *fallback : 0;
    if (!value && fallback)
        return HG_OK;
    if (!value || !cJSON_IsNumber(value))
        return say_wrong(from, key, "a number");
    *out = value->valuedouble;
    return HG_OK;
}

hg_result hg_json_bool(const hg_json_from *from, const char *key, const int *fallback, int *out)
{
    const cJSON *value = hg_json_find(from->object, key);

    *out = fallback ? *fallback : 0;
    if (!value && fallback)
        return HG_OK;
    if (!cJSON_IsBool(value))
        return say_wrong(from, key, "true or false");
    *out = cJSON_IsTrue(value) ? 1 : 0;
    return HG_OK;
}

hg_result hg_json_string(const hg_json_from *from, const char *key, const char *fallback,
                         const char **out)
{
    const cJSON *value = hg_json_find(from->object, key);

    *out = fallback;
    if (!value && fallback)
        return HG_OK;
    if (!value || !cJSON_IsString(value))
        return say_wrong(from, key, "a string");
    *out = value->valuestring;
    return HG_OK;
}

hg_result hg_json_array(const hg_json_from *from, const char *key, const cJSON **out)
{
    *out = hg_json_find(from->object, key);
    if (cJSON_IsArray(*out))
        return HG_OK;
    *out = NULL;
    return say_wrong(from, key, "an array");
}

hg_result hg_json_object(const hg_json_from *from, const char *key, const cJSON **out)
{
    *out = hg_json_find(from->object, key);
    if (cJSON_IsObject(*out))
        return HG_OK;
    *out = NULL;
    return say_wrong(from, key, "an object");
}
