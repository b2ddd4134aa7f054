/* SPDX-License-Identifier: MIT */
/*
 * A strict scan of JSON text (RFC 8259), without recursion and without allocation. It exists
 * because the parser behind it is lenient where a model file must not be (D27), and because it
 * knows the line of a mistake.
 */
#include "json_text.h"

#include "check.h"

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

/* The parser copies a number into 64 bytes, its end included. */
enum { NUMBER_CHARS_MAX = 63 };

typedef struct scan {
    const hg_log *log;
    const char *label;
    const uint8_t *text;
    uint64_t bytes, at;
    int one_line;
    uint64_t values, values_max;
    uint32_t depth, depth_max;
    uint8_t open[HG_JSON_DEPTH_MAX]; /* '[' or '{' */
} scan;

typedef enum expect { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COMMA_OR_END } expect;

static hg_result wrong(const scan *s, const char *expected)
{
    char found[40];
    uint64_t line = 1, column = 1, i;

    for (i = 0; i < s->at && i < s->bytes; i++) {
        column++;
        if (s->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    if (s->at >= s->bytes)
        snprintf(found, sizeof(found), "the end of the text");
    else if (s->text[s->at] > 0x20 && s->text[s->at] < 0x7f)
        snprintf(found, sizeof(found), "'%c'", s->text[s->at]);
    else
        snprintf(found, sizeof(found), "byte 0x%02X", s->text[s->at]);
    if (s->one_line)
        return hg_fail(s->log, HG_ERR_FILE,
                       "%s: no valid JSON at column %llu: expected %s, found %s", s->label,
                       (unsigned long long)column, expected, found);
    return hg_fail(s->log, HG_ERR_FILE,
                   "%s: no valid JSON at line %llu, column %llu: expected %s, found %s", s->label,
                   (unsigned long long)line, (unsigned long long)column, expected, found);
}

static int peek(const scan *s)
{
    return s->at < s->bytes ? s->text[s->at] : -1;
}

static int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(scan *s)
{
    int c;

    while ((c = peek(s)) == ' ' || c == '\n' || c == '\t' || c == '\r')
        s->at++;
}

/* Four hexadecimal digits at `at`, or -1. */
static int32_t hex4(const scan *s, uint64_t at)
{
    int32_t value = 0;
    uint64_t i;

    if (s->bytes < 4 || at > s->bytes - 4)
        return -1;
    for (i = 0; i < 4; i++) {
        int c = s->text[at + i];

        if (is_digit(c))
            c -= '0';
        else if (c >= 'a' && c <= 'f')
            c -= 'a' - 10;
        else if (c >= 'A' && c <= 'F')
            c -= 'A' - 10;
        else
            return -1;
        value = value * 16 + c;
    }
    return value;
}

/* At the character after a backslash. */
static hg_result scan_escape(scan *s)
{
    int c = peek(s);
    int32_t unit;

    if (c != 'u') {
        if (c <= 0 || !strchr("\"\\/bfnrt", c))
            return wrong(s, "one of \" \\ / b f n r t u after the backslash");
        s->at++;
        return HG_OK;
    }
    unit = hex4(s, s->at + 1);
    if (unit < 0)
        return wrong(s, "four hexadecimal digits after \\u");
    if (unit == 0)
        return wrong(s, "any character but U+0000 in a string");
    if (unit >= 0xDC00 && unit <= 0xDFFF)
        return wrong(s, "a high surrogate before a low one");
    s->at += 5;
    if (unit < 0xD800 || unit > 0xDBFF)
        return HG_OK;
    if (s->bytes - s->at < 2 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
        return wrong(s, "a low surrogate after a high one");
    unit = hex4(s, s->at + 2);
    if (unit < 0xDC00 || unit > 0xDFFF)
        return wrong(s, "a low surrogate after a high one");
    s->at += 6;
    return HG_OK;
}

/* At the opening quote. */
static hg_result scan_string(scan *s)
{
    hg_result res;

    s->at++;
    for (;;) {
        int c = peek(s);

        if (c < 0x20)
            return wrong(s, c < 0 ? "a closing quote" : "no raw control character in a string");
        if (c == '"') {
            s->at++;
            return HG_OK;
        }
        if (c == '\\') {
            s->at++;
            res = scan_escape(s);
            if (res != HG_OK)
                return res;
        } else if (c < 0x80) {
            s->at++;
        } else {
            uint64_t rest = s->bytes - s->at;
            utf8proc_int32_t point;
            utf8proc_ssize_t size =
                utf8proc_iterate(s->text + s->at, rest < 4 ? (utf8proc_ssize_t)rest : 4, &point);

            if (size <= 0)
                return wrong(s, "UTF-8");
            s->at += (uint64_t)size;
        }
    }
}

static void skip_digits(scan *s)
{
    while (is_digit(peek(s)))
        s->at++;
}

static hg_result scan_number(scan *s)
{
    uint64_t begin = s->at;

    if (peek(s) == '-')
        s->at++;
    if (!is_digit(peek(s)))
        return wrong(s, "a digit");
    if (peek(s) == '0')
        s->at++;
    else
        skip_digits(s);
    if (is_digit(peek(s)))
        return wrong(s, "a number without leading zeros");
    if (peek(s) == '.') {
        s->at++;
        if (!is_digit(peek(s)))
            return wrong(s, "a digit after the decimal point");
        skip_digits(s);
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-')
            s->at++;
        if (!is_digit(peek(s)))
            return wrong(s, "a digit in the exponent");
        skip_digits(s);
    }
    if (s->at - begin > NUMBER_CHARS_MAX) {
        s->at = begin;
        return wrong(s, "a number of at most 63 characters");
    }
    return HG_OK;
}

static hg_result scan_word(scan *s)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);

        if (s->bytes - s->at >= length && memcmp(s->text + s->at, words[i], length) == 0) {
            s->at += length;
            return HG_OK;
        }
    }
    return wrong(s, "a value (an object, array, string, number, true, false or null)");
}

static hg_result scan_open(scan *s, expect *next)
{
    char expected[64];

    if (s->depth == s->depth_max) {
        snprintf(expected, sizeof(expected), "at most %u nested arrays and objects", s->depth_max);
        return wrong(s, expected);
    }
    s->open[s->depth++] = s->text[s->at];
    *next = s->text[s->at] == '[' ? VALUE_OR_END : KEY_OR_END;
    s->at++;
    return HG_OK;
}

static hg_result scan_value(scan *s, expect *next)
{
    int c = peek(s);

    if (s->values++ == s->values_max)
        return wrong(s, "fewer values (this file could not be held in memory)");
    if (c == '[' || c == '{')
        return scan_open(s, next);
    *next = COMMA_OR_END;
    if (c == '"')
        return scan_string(s);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    if (c < 0)
        return wrong(s, "a value");
    return scan_word(s);
}

static hg_result scan_key(scan *s, expect *next)
{
    hg_result res;

    if (peek(s) != '"')
        return wrong(s, "a key in double quotes");
    res = scan_string(s);
    if (res != HG_OK)
        return res;
    skip_space(s);
    if (peek(s) != ':')
        return wrong(s, "':' after the key");
    s->at++;
    *next = VALUE;
    return HG_OK;
}

static hg_result scan_comma(scan *s, expect *next)
{
    int is_array = s->open[s->depth - 1] == '[';

    if (peek(s) == ',') {
        s->at++;
        *next = is_array ? VALUE : KEY;
        return HG_OK;
    }
    if (peek(s) != (is_array ? ']' : '}'))
        return wrong(s, is_array ? "',' or ']'" : "',' or '}'");
    s->at++;
    s->depth--;
    return HG_OK;
}

static hg_result scan_step(scan *s, expect *next)
{
    int c = peek(s);

    if ((*next == VALUE_OR_END && c == ']') || (*next == KEY_OR_END && c == '}')) {
        s->at++;
        s->depth--;
        *next = COMMA_OR_END;
        return HG_OK;
    }
    switch (*next) {
    case VALUE:
    case VALUE_OR_END:
        return scan_value(s, next);
    case KEY:
    case KEY_OR_END:
        return scan_key(s, next);
    case COMMA_OR_END:
        break;
    }
    return scan_comma(s, next);
}

/* Encodings that would otherwise be reported as a strange first byte. */
static hg_result judge_encoding(const scan *s)
{
    const uint8_t *t = s->text;

    if (s->bytes >= 3 && t[0] == 0xEF && t[1] == 0xBB && t[2] == 0xBF)
        return hg_fail(s->log, HG_ERR_FILE,
                       "%s: the text begins with a byte order mark, which JSON forbids; save it as "
                       "UTF-8 without one",
                       s->label);
    if (s->bytes >= 2 && ((t[0] == 0xFF && t[1] == 0xFE) || (t[0] == 0xFE && t[1] == 0xFF) ||
                          (t[0] == 0) != (t[1] == 0)))
        return hg_fail(s->log, HG_ERR_FILE,
                       "%s: expected JSON in UTF-8, found UTF-16; save it as UTF-8", s->label);
    return HG_OK;
}

hg_result hg_json_check_text(const hg_log *log, const char *label, const void *text, uint64_t bytes,
                             uint32_t depth_max, uint64_t values_max, int one_line)
{
    scan s = {.log = log, .label = label, .text = text, .bytes = bytes, .one_line = one_line};
    expect next = VALUE;
    hg_result res;

    s.values_max = values_max;
    s.depth_max = depth_max < HG_JSON_DEPTH_MAX ? depth_max : HG_JSON_DEPTH_MAX;
    res = judge_encoding(&s);
    if (res != HG_OK)
        return res;
    do {
        skip_space(&s);
        res = scan_step(&s, &next);
        if (res != HG_OK)
            return res;
    } while (s.depth > 0);
    skip_space(&s);
    if (s.at != s.bytes)
        return wrong(&s, "nothing after the value");
    return HG_OK;
}
