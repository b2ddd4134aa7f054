/* SPDX-License-Identifier: MIT */
/* See paragraph.h. */
#include "paragraph.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 60, WIDTH_DEFAULT = 100, WIDTH_MAX = 160 };

uint32_t hg_paragraph_width(void)
{
    struct winsize size = {0};

    if (!isatty(STDOUT_FILENO))
        return WIDTH_DEFAULT;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

static uint32_t columns_of(const char *text, size_t bytes)
{
    uint32_t count = 0;

    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];

        count += (c & 0xC0) != 0x80;
        count += c >= 0xE3; /* from U+3000 on, most are wide */
    }
    return count;
}

uint32_t hg_paragraph_columns(const char *text)
{
    return columns_of(text, strlen(text));
}

hg_result hg_paragraph_print(hg_output *output, uint32_t width, uint32_t indent, uint32_t at,
                             const char *text)
{
    int is_first = 1;

    while (*text) {
        const size_t bytes = strcspn(text, " ");
        const uint32_t wide = columns_of(text, bytes);

        if (!is_first && at + 1 + wide > width) {
            (void)hg_output_format(output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!is_first) {
            (void)hg_output_text(output, " ");
            at++;
        }
        (void)hg_output_write(output, text, bytes);
        at += wide;
        is_first = 0;
        text += bytes;
        text += *text == ' ';
    }
    return hg_output_text(output, "\n"); /* an earlier failure stays */
}
