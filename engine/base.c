/* SPDX-License-Identifier: MIT */
/* Results, version, and the sentence that goes with an error. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t hg_version(void)
{
    return (HG_VERSION_MAJOR << 16) | (HG_VERSION_MINOR << 8) | HG_VERSION_PATCH;
}

const char *hg_result_name(hg_result result)
{
    switch (result) {
    case HG_OK:
        return "HG_OK";
    case HG_TIMEOUT:
        return "HG_TIMEOUT";
    case HG_CANCELLED:
        return "HG_CANCELLED";
    case HG_ERR_ARGUMENT:
        return "HG_ERR_ARGUMENT";
    case HG_ERR_HOST_MEMORY:
        return "HG_ERR_HOST_MEMORY";
    case HG_ERR_DEVICE_MEMORY:
        return "HG_ERR_DEVICE_MEMORY";
    case HG_ERR_NO_DEVICE:
        return "HG_ERR_NO_DEVICE";
    case HG_ERR_UNSUPPORTED:
        return "HG_ERR_UNSUPPORTED";
    case HG_ERR_FILE:
        return "HG_ERR_FILE";
    case HG_ERR_TEXT:
        return "HG_ERR_TEXT";
    case HG_ERR_DEVICE_LOST:
        return "HG_ERR_DEVICE_LOST";
    case HG_ERR_DRIVER:
        return "HG_ERR_DRIVER";
    case HG_ERR_OUTPUT:
        return "HG_ERR_OUTPUT";
    }
    return "HG_UNKNOWN";
}

/* Sentences quote names from files: no newline or escape sequence of theirs may reach a terminal,
 * and a line that was cut must not end inside a character. */
static void clean(char *line, int was_cut)
{
    size_t length = strlen(line), i;

    for (i = 0; i < length; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    if (!was_cut)
        return;
    while (length > 0 && ((unsigned char)line[length - 1] & 0xC0) == 0x80)
        length--;
    if (length > 0 && (unsigned char)line[length - 1] >= 0xC0)
        length--;
    line[length] = 0;
}

static void say(const hg_log *log, hg_log_level level, const char *format, va_list args)
{
    char line[2048];
    int length;

    if (!log || !log->write || level > log->level)
        return;
    length = vsnprintf(line, sizeof(line), format, args);
    clean(line, length >= (int)sizeof(line));
    log->write(log->user, level, line);
}

void hg_say(const hg_log *log, hg_log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(log, level, format, args);
    va_end(args);
}

hg_result hg_fail(const hg_log *log, hg_result result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(log, HG_LOG_ERROR, format, args);
    va_end(args);
    return result;
}
