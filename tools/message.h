/* SPDX-License-Identifier: MIT */
/*
 * What the command says on standard error: "headgate: error: ...", warnings, notes, and one
 * transient line of progress on a terminal. Data never goes through here. Control characters in a
 * message (names from files are hostile) are shown as '?'. Thread-safety: any thread.
 */
#ifndef HG_TOOLS_MESSAGE_H
#define HG_TOOLS_MESSAGE_H

#include <headgate/base.h>

/* HG_LOG_ERROR with -q, HG_LOG_WARNING by default, then HG_LOG_INFO and HG_LOG_DEBUG. */
void hg_message_setup(hg_log_level level);
hg_log_level hg_message_level(void);

void hg_message(hg_log_level level, const char *format, ...) HG_PRINTF(2, 3);
/* Control characters of a text as '?', as in every message: a name from a file or a command line
 * must not drive the terminal that it is printed on. */
void hg_message_defuse(char *text);
/* A line that is no warning but should be seen unless -q. */
void hg_message_note(const char *format, ...) HG_PRINTF(1, 2);
/* Says it as an error; its value is result. A macro, so that an analyser sees that it fails. */
#define hg_message_fail(result, ...) (hg_message(HG_LOG_ERROR, __VA_ARGS__), (result))

/* 1: standard error is a terminal that can redraw a line, and -q was not given. */
int hg_message_live(void);
/* Redraws the transient line; NULL or "" takes it away. Nothing unless hg_message_live. */
void hg_message_status(const char *line);

/* From here on errors go into text (the first one stays) instead of to standard error, and nothing
 * else is said: for children, whose parent tells. */
void hg_message_keep(char *text, size_t size);

/* The log that is handed to the library, and one in which errors are only warnings (optional
 * parts). */
hg_log hg_message_log(void);
hg_log hg_message_log_lenient(void);

#endif
