/* SPDX-License-Identifier: MIT */
/* The JSON stream, see json_writer.h. */
#include "json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_text(hg_put *put, const char *text)
{
    (void)hg_output_text(put->output, text); /* kept by the output until its commit */
}

/* Bytes of the UTF-8 character at text, 0 when it is none. */
static size_t character_bytes(const unsigned char *text, size_t left)
{
    unsigned char lead = text[0], low = 0x80, high = 0xbf;
    size_t count;

    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf) {
        count = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        count = 3;
        low = lead == 0xe0 ? 0xa0 : 0x80;
        high = lead == 0xed ? 0x9f : 0xbf;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        count = 4;
        low = lead == 0xf0 ? 0x90 : 0x80;
        high = lead == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    if (left < count || text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < count; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    }
    return count;
}

static void write_string(hg_put *put, const char *value, size_t bytes)
{
    const unsigned char *text = (const unsigned char *)value;
    size_t begin = 0, i = 0;

    write_text(put, "\"");
    while (i < bytes) {
        size_t count = character_bytes(text + i, bytes - i);
        char escape[8] = "\\ufffd";

        if (count > 1 || (count == 1 && text[i] >= 0x20 && text[i] != '"' && text[i] != '\\' &&
                          text[i] != 0x7f)) {
            i += count;
            continue;
        }
        if (count == 1 && (text[i] == '"' || text[i] == '\\'))
            snprintf(escape, sizeof(escape), "\\%c", text[i]);
        else if (count == 1)
            snprintf(escape, sizeof(escape), "\\u%04x", text[i]);
        (void)hg_output_write(put->output, text + begin, i - begin);
        write_text(put, escape);
        begin = ++i;
    }
    (void)hg_output_write(put->output, text + begin, i - begin);
    write_text(put, "\"");
}

static void write_break(hg_put *put)
{
    write_text(put, "\n");
    for (uint32_t i = 0; i < put->depth; i++)
        write_text(put, "  ");
}

/* Comma, line break and key before a value. */
static void lead_in(hg_put *put, const char *key)
{
    if (put->depth > 0) {
        uint32_t level = put->depth - 1;

        assert((put->close[level] == '}') == (key != NULL));
        if (put->filled[level])
            write_text(put, put->compact[level] ? ", " : ",");
        put->filled[level] = 1;
        if (!put->compact[level])
            write_break(put);
    }
    if (key) {
        write_string(put, key, strlen(key));
        write_text(put, ": ");
    }
}

static void open_level(hg_put *put, const char *key, char open, char close, int compact)
{
    char text[2] = {open, '\0'};

    assert(put->depth < HG_PUT_DEPTH);
    lead_in(put, key);
    write_text(put, text);
    put->close[put->depth] = close;
    put->filled[put->depth] = 0;
    put->compact[put->depth] =
        (uint8_t)(compact || (put->depth > 0 && put->compact[put->depth - 1]));
    put->depth++;
}

void hg_put_start(hg_put *put, hg_output *output, const char *kind)
{
    memset(put, 0, sizeof(*put));
    put->output = output;
    hg_put_object(put, NULL);
    hg_put_unsigned(put, "schema", 1);
    hg_put_text(put, "kind", kind);
}

void hg_put_finish(hg_put *put)
{
    assert(put->depth == 1);
    hg_put_end(put);
    write_text(put, "\n");
}

void hg_put_object(hg_put *put, const char *key)
{
    open_level(put, key, '{', '}', 0);
}

void hg_put_array(hg_put *put, const char *key)
{
    open_level(put, key, '[', ']', 0);
}

void hg_put_row(hg_put *put, const char *key)
{
    open_level(put, key, '[', ']', 1);
}

void hg_put_end(hg_put *put)
{
    char text[2] = {0};

    assert(put->depth > 0);
    put->depth--;
    if (put->filled[put->depth] && !put->compact[put->depth])
        write_break(put);
    text[0] = put->close[put->depth];
    write_text(put, text);
}

void hg_put_text(hg_put *put, const char *key, const char *value)
{
    if (!value)
        hg_put_null(put, key);
    else
        hg_put_bytes(put, key, value, strlen(value));
}

void hg_put_bytes(hg_put *put, const char *key, const char *value, size_t bytes)
{
    lead_in(put, key);
    write_string(put, value, bytes);
}

void hg_put_unsigned(hg_put *put, const char *key, uint64_t value)
{
    lead_in(put, key);
    (void)hg_output_format(put->output, "%" PRIu64, value);
}

void hg_put_integer(hg_put *put, const char *key, int64_t value)
{
    lead_in(put, key);
    (void)hg_output_format(put->output, "%" PRId64, value);
}

void hg_put_number(hg_put *put, const char *key, double value)
{
    char text[32];

    lead_in(put, key);
    if (!isfinite(value)) {
        write_text(put, "null");
        return;
    }
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    write_text(put, text);
}

void hg_put_float(hg_put *put, const char *key, float value)
{
    char text[32];

    lead_in(put, key);
    if (!isfinite(value)) {
        write_text(put, "null");
        return;
    }
    if (value == 0.0f) {
        write_text(put, "0"); /* half of every causal map */
        return;
    }
    snprintf(text, sizeof(text), "%.7g", (double)value);
    if (strtof(text, NULL) != value)
        snprintf(text, sizeof(text), "%.9g", (double)value);
    write_text(put, text);
}

void hg_put_boolean(hg_put *put, const char *key, int value)
{
    lead_in(put, key);
    write_text(put, value ? "true" : "false");
}

void hg_put_null(hg_put *put, const char *key)
{
    lead_in(put, key);
    write_text(put, "null");
}

void hg_put_hex(hg_put *put, const char *key, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    lead_in(put, key);
    write_text(put, "\"");
    for (size_t i = 0; i < count; i++) {
        char text[3] = {digits[bytes[i] >> 4], digits[bytes[i] & 15], '\0'};

        write_text(put, text);
    }
    write_text(put, "\"");
}

void hg_put_floats(hg_put *put, const char *key, const float *values, size_t count)
{
    hg_put_row(put, key);
    for (size_t i = 0; i < count; i++)
        hg_put_float(put, NULL, values[i]);
    hg_put_end(put);
}

void hg_put_ids(hg_put *put, const char *key, const int32_t *ids, size_t count)
{
    hg_put_row(put, key);
    for (size_t i = 0; i < count; i++)
        hg_put_integer(put, NULL, ids[i]);
    hg_put_end(put);
}
