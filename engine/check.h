/* SPDX-License-Identifier: MIT */
/* HG_TRY and the one way to say a sentence. For sources of the library and the tests. */
#ifndef HG_ENGINE_CHECK_H
#define HG_ENGINE_CHECK_H

#include <headgate/base.h>

/* In a function with `hg_result res` and a cleanup label `out`. */
#define HG_TRY(call)                                                                               \
    do {                                                                                           \
        res = (call);                                                                              \
        if (res != HG_OK)                                                                          \
            goto out;                                                                              \
    } while (0)

/* One line to the log, if it wants that level. Longer than 2 KiB is cut. log may be NULL. */
void hg_say(const hg_log *log, hg_log_level level, const char *format, ...) HG_PRINTF(3, 4);

/* Says it at HG_LOG_ERROR and returns result: `return hg_fail(log, HG_ERR_FILE, "%s: ...", path);`
 */
hg_result hg_fail(const hg_log *log, hg_result result, const char *format, ...) HG_PRINTF(3, 4);

#endif
