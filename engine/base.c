/* SPDX-License-Identifier: MIT */
/* Results, version, and the sentence that goes with an error. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>

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

static void say(const hg_log *log, hg_log_level level, const char *format, va_list args)
{
    char line[2048];

    if (!log || !log->write || level > log->level)
        return;
    vsnprintf(line, sizeof(line), format, args);
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
