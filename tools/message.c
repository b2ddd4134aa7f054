/* SPDX-License-Identifier: MIT */
/* Messages: prefix, colour, the transient line, and the log callback. Leaves data on stdout to
 * others. */
#include "message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_SIZE = 4096, WIDTH_MIN = 40 };

static struct {
    pthread_mutex_t lock;
    hg_log_level level;
    int terminal; /* stderr is one that can redraw a line */
    int colour;
    int shown;  /* a transient line is on the screen */
    char *kept; /* where errors go; NULL: standard error */
    size_t kept_size;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = HG_LOG_WARNING};

void hg_message_setup(hg_log_level level)
{
    const char *term = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");

    state.level = level;
    state.terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    state.colour = state.terminal && !(no_colour && *no_colour);
}

hg_log_level hg_message_level(void)
{
    return state.level;
}

int hg_message_live(void)
{
    return state.terminal && state.level > HG_LOG_ERROR;
}

/* Bytes of the character at c, 0 when it is no UTF-8 (RFC 3629). */
static int utf8_bytes(const unsigned char *c, uint32_t *point)
{
    const int more = c[0] < 0x80 ? 0 : c[0] >= 0xf0 ? 3 : c[0] >= 0xe0 ? 2 : 1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

    *point = more == 0 ? c[0] : c[0] & (0x3fu >> more);
    if (c[0] >= 0xf8 || (c[0] >= 0x80 && c[0] < 0xc2))
        return 0;
    for (int i = 1; i <= more; i++) {
        if ((c[i] & 0xc0) != 0x80) /* the ending zero, too */
            return 0;
        *point = *point << 6 | (c[i] & 0x3fu);
    }
    if (*point < least[more] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
        return 0;
    return more + 1;
}

/* C0, DEL and C1 controls would let a name from a file drive the terminal; bytes that are no UTF-8
 * may be C1 there; marks of direction turn a line around. */
void hg_message_defuse(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c;) {
        uint32_t point = 0;
        const int bytes = utf8_bytes(c, &point);

        if (bytes == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0) ||
            (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069))
            memset(c, '?', bytes ? (size_t)bytes : 1);
        c += bytes ? bytes : 1;
    }
}

/* Breaks a text between words where the terminal would break it within them. at: the column that
 * it begins in. */
static void wrap(char *text, size_t at)
{
    struct winsize size = {0};
    char *space = NULL;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < WIDTH_MIN)
        return;
    for (char *c = text; *c; c++) {
        if (*c == ' ')
            space = c;
        at += ((unsigned char)*c & 0xc0) != 0x80;
        if (at > size.ws_col && space) {
            *space = '\n';
            at = (size_t)(c - space);
            space = NULL;
        }
    }
}

static void print_line(const char *prefix, const char *colour, char *text)
{
    char line[LINE_SIZE + 64];
    int length;

    hg_message_defuse(text);
    if (state.terminal)
        wrap(text, sizeof("headgate: ") - 1 + strlen(prefix));
    pthread_mutex_lock(&state.lock);
    length = snprintf(line, sizeof(line), "%sheadgate: %s%s%s%s\n", state.shown ? "\r\033[K" : "",
                      state.colour ? colour : "", prefix, state.colour && *colour ? "\033[0m" : "",
                      text);
    state.shown = 0;
    if (length > 0) {
        size_t bytes = (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1;

        fwrite(line, 1, bytes, stderr);
        fflush(stderr);
    }
    pthread_mutex_unlock(&state.lock);
}

void hg_message_keep(char *text, size_t size)
{
    state.kept = text;
    state.kept_size = size;
    state.level = HG_LOG_ERROR;
    state.terminal = 0;
}

static void print_level(hg_log_level level, char *text)
{
    if (state.kept) {
        if (!state.kept[0])
            snprintf(state.kept, state.kept_size, "%s", text);
        return;
    }
    switch (level) {
    case HG_LOG_ERROR:
        print_line("error: ", "\033[1;31m", text);
        break;
    case HG_LOG_WARNING:
        print_line("warning: ", "\033[1;33m", text);
        break;
    case HG_LOG_INFO:
    case HG_LOG_DEBUG:
        print_line("", "", text);
        break;
    }
}

static void say(hg_log_level level, const char *format, va_list args)
{
    char text[LINE_SIZE];

    if (level > state.level)
        return;
    vsnprintf(text, sizeof(text), format, args);
    print_level(level, text);
}

void hg_message(hg_log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(level, format, args);
    va_end(args);
}

void hg_message_note(const char *format, ...)
{
    char text[LINE_SIZE];
    va_list args;

    if (state.level < HG_LOG_WARNING || state.kept)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_line("", "", text);
}

void hg_message_status(const char *line)
{
    char text[256];

    if (!hg_message_live())
        return;
    snprintf(text, sizeof(text), "%s", line ? line : "");
    hg_message_defuse(text);
    pthread_mutex_lock(&state.lock);
    if (state.shown || *text) {
        fprintf(stderr, "\r\033[K%s", text);
        fflush(stderr);
        state.shown = *text != '\0';
    }
    pthread_mutex_unlock(&state.lock);
}

static void write_log(void *user, hg_log_level level, const char *line)
{
    const int *lenient = user;

    if (*lenient && level == HG_LOG_ERROR)
        level = HG_LOG_WARNING;
    hg_message(level, "%s", line);
}

static const int flag_strict = 0, flag_lenient = 1;

hg_log hg_message_log(void)
{
    return (hg_log){.write = write_log, .user = (void *)&flag_strict, .level = state.level};
}

hg_log hg_message_log_lenient(void)
{
    return (hg_log){.write = write_log, .user = (void *)&flag_lenient, .level = state.level};
}
