/* SPDX-License-Identifier: MIT */
/*
 * JSON from strangers: a strict scan of the text before cJSON sees it (D27), and getters that say
 * what was expected and what was found. Which keys exist and what they mean is known elsewhere.
 */
#ifndef HG_HOST_JSON_H
#define HG_HOST_JSON_H

#include <headgate/base.h>

#include <cjson/cJSON.h>

typedef struct hg_json_limits {
    uint64_t bytes_max;  /* 0: 256 MiB */
    uint32_t depth_max;  /* nested arrays and objects; 0: 64; at most 512 */
    uint64_t values_max; /* values and keys, which cost memory each; 0: 4 Mi */
    uint32_t repeats;    /* 1: an object may hold a key twice (the getters take the first) */
    uint32_t one_line; /* 1: the text is a line, which label names: sentences give columns alone */
} hg_json_limits;

/*
 * Accepts exactly RFC 8259 in UTF-8 (no byte order mark, nothing after the value), less what cJSON
 * cannot represent: \u0000 in a string, numbers that are infinite in double or longer than 63
 * characters. text need not be NUL-terminated. label (a path) begins every sentence. limits NULL:
 * the defaults. Free *out with cJSON_Delete. Look up keys with hg_json_find: cJSON_GetObjectItem
 * ignores case.
 */
hg_result hg_json_parse(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                        const hg_json_limits *limits, cJSON **out);

/* hg_file_map + hg_json_parse, label is the path. */
hg_result hg_json_read(const hg_log *log, const char *path, const hg_json_limits *limits,
                       cJSON **out);

/* The member of that exact name, or NULL (also when object is no object). A JSON null is a member.
 */
const cJSON *hg_json_find(const cJSON *object, const char *key);

/* "the string \"12\"", "null", "1.5", "an object": for sentences. Returns buffer. */
const char *hg_json_show(const cJSON *value, char *buffer, size_t size);

/*
 * Typed getters. key absent: *out = *fallback, or HG_ERR_FILE when fallback is NULL. Another type
 * (null, too) or out of range: HG_ERR_FILE. The sentence is "label: key: expected ..., found ...".
 */
typedef struct hg_json_from {
    const hg_log *log;
    const char *label;
    const cJSON *object;
} hg_json_from;

/* A number without fraction in min..max; max is below 2^53. */
hg_result hg_json_integer(const hg_json_from *from, const char *key, const int64_t *fallback,
                          int64_t min, int64_t max, int64_t *out);
hg_result hg_json_number(const hg_json_from *from, const char *key, const double *fallback,
                         double *out);
/* true or false only. */
hg_result hg_json_bool(const hg_json_from *from, const char *key, const int *fallback, int *out);
/* *out points into the tree. fallback NULL: required (there is no default that is NULL: use
 * hg_json_find). */
hg_result hg_json_string(const hg_json_from *from, const char *key, const char *fallback,
                         const char **out);
/* Required members; look with hg_json_find first where they are optional. */
hg_result hg_json_array(const hg_json_from *from, const char *key, const cJSON **out);
hg_result hg_json_object(const hg_json_from *from, const char *key, const cJSON **out);

/* A value that is no member (an element of an array): 1 and *out when it is an integer in min..max.
 */
int hg_json_to_integer(const cJSON *value, int64_t min, int64_t max, int64_t *out);

#endif
