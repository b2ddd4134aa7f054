/* SPDX-License-Identifier: MIT */
/* The limits override: makes any device pretend to be a lesser one, so that poor devices are tested
 * on rich ones. */
#include "plan.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef struct limit_key {
    const char *name;
    size_t offset;
    uint32_t wide;    /* 1: uint64_t, 0: uint32_t */
    uint64_t minimum; /* below this nothing of headgate runs */
} limit_key;

static const limit_key limit_keys[] = {
    {"invocations", offsetof(hg_limits, group_invocations), 0, 64},
    {"shared", offsetof(hg_limits, shared_bytes), 0, 0},
    {"push", offsetof(hg_limits, push_bytes), 0, HG_MINIMUM_PUSH_BYTES},
    {"buffers", offsetof(hg_limits, storage_buffers), 0, HG_MINIMUM_BUFFERS},
    {"range", offsetof(hg_limits, binding_bytes), 1, 1u << 16},
    {"alloc", offsetof(hg_limits, alloc_bytes), 1, 1u << 16},
    {"groups", offsetof(hg_limits, group_count), 0, 16},
};

typedef struct feature_key {
    const char *name;
    uint32_t bits;
} feature_key;

static const feature_key feature_keys[] = {
    {"subgroup", HG_FEATURE_SUBGROUP_ARITHMETIC | HG_FEATURE_SUBGROUP_SIZE},
    {"fp16", HG_FEATURE_FP16 | HG_FEATURE_STORAGE16},
    {"timeline", HG_FEATURE_TIMELINE},
    {"push-descriptor", HG_FEATURE_PUSH_DESCRIPTOR},
    {"coopmat", HG_FEATURE_COOPMAT},
    {"int64", HG_FEATURE_INT64},
    {"unified", HG_FEATURE_UNIFIED_MEMORY},
    {"rte", HG_FEATURE_RTE32},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void lower32(uint32_t *value, uint64_t to)
{
    if (*value > to)
        *value = (uint32_t)to;
}

static void lower64(uint64_t *value, uint64_t to)
{
    if (*value > to)
        *value = to;
}

static void spec_minimum(hg_limits *limits, uint32_t *features)
{
    lower32(&limits->group_invocations, HG_MINIMUM_INVOCATIONS);
    lower32(&limits->group_size[0], HG_MINIMUM_INVOCATIONS);
    lower32(&limits->group_size[1], HG_MINIMUM_INVOCATIONS);
    lower32(&limits->group_size[2], 64);
    for (int i = 0; i < 3; i++)
        lower32(&limits->group_count[i], HG_MINIMUM_GROUP_COUNT);
    lower32(&limits->shared_bytes, HG_MINIMUM_SHARED_BYTES);
    lower32(&limits->push_bytes, HG_MINIMUM_PUSH_BYTES);
    lower32(&limits->storage_buffers, HG_MINIMUM_BUFFERS);
    lower64(&limits->binding_bytes, HG_MINIMUM_BINDING_BYTES);
    lower64(&limits->alloc_bytes, HG_MINIMUM_ALLOC_BYTES);
    limits->subgroup_min = limits->subgroup_max = 0;
    *features &= (uint32_t)HG_FEATURE_TIMESTAMPS; /* all else is an option in Vulkan 1.1 */
}

static hg_result apply_key(const hg_log *log, const char *name, size_t name_length, uint64_t value,
                           hg_limits *limits, uint32_t *features)
{
    for (size_t i = 0; i < COUNT(limit_keys); i++) {
        const limit_key *key = &limit_keys[i];
        char *field = (char *)limits + key->offset;

        if (strlen(key->name) != name_length || strncmp(key->name, name, name_length) != 0)
            continue;
        if (value < key->minimum)
            return hg_fail(log, HG_ERR_UNSUPPORTED,
                           "limits: %s=%llu is below %llu, the least that headgate can run with",
                           key->name, (unsigned long long)value, (unsigned long long)key->minimum);
        if (key->wide)
            lower64((uint64_t *)(void *)field, value);
        else
            lower32((uint32_t *)(void *)field, value);
        if (strcmp(key->name, "invocations") == 0)
            for (int d = 0; d < 3; d++)
                lower32(&limits->group_size[d], value);
        if (strcmp(key->name, "groups") == 0)
            for (int d = 1; d < 3; d++)
                lower32(&limits->group_count[d], value);
        return HG_OK;
    }
    for (size_t i = 0; i < COUNT(feature_keys); i++) {
        if (strlen(feature_keys[i].name) != name_length ||
            strncmp(feature_keys[i].name, name, name_length) != 0)
            continue;
        if (value == 0) {
            *features &= ~feature_keys[i].bits;
            if (feature_keys[i].bits & HG_FEATURE_SUBGROUP_ARITHMETIC)
                limits->subgroup_min = limits->subgroup_max = 0;
        }
        return HG_OK; /* =1 leaves what the device has: an override never raises */
    }
    return hg_fail(
        log, HG_ERR_ARGUMENT,
        "limits: unknown name '%.*s'; known are spec-minimum, invocations, shared, push, "
        "buffers, range, alloc, groups, subgroup, fp16, timeline, push-descriptor, "
        "coopmat, int64, unified, rte",
        (int)name_length, name);
}

hg_result hg_limits_override(const hg_log *log, const char *text, hg_limits *limits,
                             uint32_t *features)
{
    const char *at = text ? text : "";

    while (*at) {
        const size_t length = strcspn(at, ",");
        const char *equal = memchr(at, '=', length);

        if (length == strlen("spec-minimum") && strncmp(at, "spec-minimum", length) == 0) {
            spec_minimum(limits, features);
        } else if (!equal || equal == at || equal + 1 == at + length) {
            return hg_fail(log, HG_ERR_ARGUMENT, "limits: expected NAME=NUMBER, found '%.*s'",
                           (int)length, at);
        } else {
            char *end = NULL;
            const unsigned long long value =
                equal[1] >= '0' && equal[1] <= '9' ? strtoull(equal + 1, &end, 10) : 0;

            if (end != at + length)
                return hg_fail(log, HG_ERR_ARGUMENT,
                               "limits: expected a number of at most 20 digits in '%.*s'",
                               (int)length, at);
            hg_result res = apply_key(log, at, (size_t)(equal - at), value, limits, features);
            if (res != HG_OK)
                return res;
        }
        at += length;
        if (*at == ',')
            at++;
    }
    return HG_OK;
}
