/* SPDX-License-Identifier: MIT */
/*
 * JSON as a stream, so that maps of any size need no tree in memory. Numbers do not depend on the
 * locale and read back to the same value; NaN and infinities are null; bytes that are no UTF-8
 * become U+FFFD. Errors stay in the output until hg_output_commit. key NULL inside arrays.
 */
#ifndef HG_TOOLS_JSON_WRITER_H
#define HG_TOOLS_JSON_WRITER_H

#include "output.h"

enum { HG_PUT_DEPTH = 16 };

typedef struct hg_put {
    hg_output *output;
    uint32_t depth;
    char close[HG_PUT_DEPTH];      /* '}' or ']' */
    uint8_t filled[HG_PUT_DEPTH];  /* something is inside already */
    uint8_t compact[HG_PUT_DEPTH]; /* on one line */
} hg_put;

/* Opens the outermost object with "schema": 1 and "kind": kind. */
void hg_put_start(hg_put *put, hg_output *output, const char *kind);
void hg_put_finish(hg_put *put);

void hg_put_object(hg_put *put, const char *key);
void hg_put_array(hg_put *put, const char *key);
void hg_put_row(hg_put *put, const char *key); /* an array on one line */
void hg_put_end(hg_put *put);

void hg_put_text(hg_put *put, const char *key, const char *value); /* NULL: null */
void hg_put_bytes(hg_put *put, const char *key, const char *value, size_t bytes);
void hg_put_unsigned(hg_put *put, const char *key, uint64_t value);
void hg_put_integer(hg_put *put, const char *key, int64_t value);
void hg_put_number(hg_put *put, const char *key, double value);
void hg_put_float(hg_put *put, const char *key, float value);
void hg_put_boolean(hg_put *put, const char *key, int value);
void hg_put_null(hg_put *put, const char *key);
void hg_put_hex(hg_put *put, const char *key, const uint8_t *bytes, size_t count);
void hg_put_floats(hg_put *put, const char *key, const float *values, size_t count);
void hg_put_ids(hg_put *put, const char *key, const int32_t *ids, size_t count);

#endif
