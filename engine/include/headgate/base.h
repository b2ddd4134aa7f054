/* SPDX-License-Identifier: MIT */
/*
 * What every other header needs: results, the log callback, cancellation.
 *
 * Rules that hold everywhere and are stated once:
 *  - a params struct need only live until the call returns; all zero is the default; struct_size is
 *    sizeof the struct as the caller knows it (0 is taken as the size of this version); a struct
 *    that a call fills is set to { struct_size } or to zeros before;
 *  - every create writes NULL to its out-pointer first, every destroy takes the address of the
 *    handle, accepts NULL inside, and leaves NULL;
 *  - a negative result is an error; the sentence about it (expected, found, what to do) has gone to
 *    the log callback once, at HG_LOG_ERROR, before the call returns;
 *  - NULL where something is required is HG_ERR_ARGUMENT, or 0 or NULL from a call that returns no
 *    result;
 *  - callbacks of the log may come while a lock is held: they must not call the library; those of
 *    progress and taps may, but not the object whose call they interrupt;
 *  - the library never prints, never exits, never reads the environment, has no mutable globals.
 */
#ifndef HEADGATE_BASE_H
#define HEADGATE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define HG_API
#else
#define HG_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define HG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HG_PRINTF(fmt, args)
#endif

#define HG_VERSION_MAJOR 0
#define HG_VERSION_MINOR 1
#define HG_VERSION_PATCH 0
#define HG_VERSION_STRING "0.1.0"

/* The order of every exact sum (docs/DECISIONS.md D1, D2); raised when an order or a function
 * changes. */
#define HG_EXACT_REVISION "exact-1"

typedef enum hg_result {
    HG_OK = 0,
    HG_TIMEOUT = 1,            /* status: the point has not passed yet */
    HG_CANCELLED = 2,          /* status: hg_cancel_token said so; nothing was half-written */
    HG_ERR_ARGUMENT = -1,      /* a call that cannot mean anything: our caller's mistake */
    HG_ERR_HOST_MEMORY = -2,   /* malloc said no */
    HG_ERR_DEVICE_MEMORY = -3, /* the device cannot hold it: the log names needed and free bytes */
    HG_ERR_NO_DEVICE = -4,     /* no driver, no device of that name, or none that is usable */
    HG_ERR_UNSUPPORTED = -5,   /* this device cannot do it (a limit or a feature) */
    HG_ERR_FILE = -6,          /* input missing, broken or of a kind that is not supported */
    HG_ERR_TEXT = -7,          /* prompt text or token id that the model cannot take */
    HG_ERR_DEVICE_LOST = -8,   /* the driver gave the device up */
    HG_ERR_DRIVER = -9,        /* the driver broke a promise of its interface */
    HG_ERR_OUTPUT = -10        /* an output file cannot be written */
} hg_result;

typedef enum hg_log_level {
    HG_LOG_ERROR = 0,
    HG_LOG_WARNING = 1,
    HG_LOG_INFO = 2,
    HG_LOG_DEBUG = 3
} hg_log_level;

/* One line of UTF-8 without newline or prefix. write NULL means silence. The callback may be called
 * from any thread that is inside a call of this library; level is the most talkative level wanted.
 */
typedef struct hg_log {
    void (*write)(void *user, hg_log_level level, const char *line);
    void *user;
    hg_log_level level;
} hg_log;

/* Asked between units of work (a few times a second at least). Non-zero cancels: the call returns
 * HG_CANCELLED. Also carries progress; total 0 means unknown. NULL callback: never cancelled. */
typedef struct hg_progress {
    int (*step)(void *user, const char *what, uint64_t done, uint64_t total);
    void *user;
} hg_progress;

/* Version of the library that runs, as (major << 16) | (minor << 8) | patch; HG_VERSION_* is that
 * of the header that was compiled. Thread-safety: any thread. */
HG_API uint32_t hg_version(void);

/* "HG_ERR_FILE"; "HG_UNKNOWN" for a number that is none of the above. Never NULL. */
HG_API const char *hg_result_name(hg_result result);

#ifdef __cplusplus
}
#endif
#endif
