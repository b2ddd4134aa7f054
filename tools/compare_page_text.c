/* SPDX-License-Identifier: MIT */
/* Text of a page: whatever a model, a driver or a file calls itself, it stays text. */
#include "compare_page.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at text, 0: none. */
static size_t character_bytes(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned first = text[0];
    const size_t bytes = first < 0x80   ? 1
                         : first < 0xC2 ? 0
                         : first < 0xE0 ? 2
                         : first < 0xF0 ? 3
                         : first < 0xF5 ? 4
                                        : 0;
    uint32_t code = bytes < 2 ? first : first & (0x7Fu >> bytes);

    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    if (bytes > 1 && (code < least[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)))
        return 0;
    return bytes;
}

/* C1 controls (U+0080 to U+009F) are two bytes. */
static int is_control(const unsigned char *at, size_t bytes)
{
    return (bytes == 1 && (at[0] < 0x20 || at[0] == 0x7F)) ||
           (bytes == 2 && at[0] == 0xC2 && at[1] < 0xA0);
}

void hg_page_text(hg_output *output, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        const size_t bytes = character_bytes(at);
        const char *escaped = NULL;

        switch (*at) {
        case '&':
            escaped = "&amp;";
            break;
        case '<':
            escaped = "&lt;";
            break;
        case '>':
            escaped = "&gt;";
            break;
        case '"':
            escaped = "&quot;";
            break;
        case '\'':
            escaped = "&#39;";
            break;
        default:
            break;
        }
        if (bytes == 0)
            escaped = "\xEF\xBF\xBD";
        else if (is_control(at, bytes))
            escaped = "?";
        if (escaped)
            (void)hg_output_text(output, escaped);
        else
            (void)hg_output_write(output, at, bytes);
        at += bytes ? bytes : 1;
    }
}

void hg_page_heading(hg_output *output, const char *text)
{
    hg_page_put(output, "<h3>");
    hg_page_text(output, text);
    hg_page_put(output, "</h3>\n");
}

const char *hg_page_verdict_class(hg_verdict verdict)
{
    switch (verdict) {
    case HG_VERDICT_SAME_BITS:
        return "v-same";
    case HG_VERDICT_ROUNDING:
        return "v-rounding";
    case HG_VERDICT_DIFFERENT:
        return "v-different";
    case HG_VERDICT_NOT_RUN:
        break;
    }
    return "v-none";
}
