/* SPDX-License-Identifier: MIT */
/* What holds for every reader: an error is HG_ERR_FILE and said once, success says no error. */
#ifndef HG_FUZZ_LOG_H
#define HG_FUZZ_LOG_H

#include <headgate/base.h>

#include <stdlib.h>
#include <string.h>

typedef struct fuzz_log {
    hg_log log;
    uint32_t errors;
} fuzz_log;

static inline void fuzz_log_line(void *user, hg_log_level level, const char *line)
{
    fuzz_log *log = user;

    if (strlen(line) == 0 || strchr(line, '\n'))
        abort();
    log->errors += level == HG_LOG_ERROR;
}

static inline void fuzz_log_init(fuzz_log *log)
{
    log->errors = 0;
    log->log = (hg_log){fuzz_log_line, log, HG_LOG_DEBUG};
}

/* Inputs are small, so memory cannot have run out. */
static inline void fuzz_check(const fuzz_log *log, hg_result res)
{
    if (res == HG_OK ? log->errors != 0 : (res != HG_ERR_FILE || log->errors != 1))
        abort();
}

#endif
