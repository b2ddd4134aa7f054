/* SPDX-License-Identifier: MIT */
/*
 * What every command is given, and what most of them need: the device, the model, the prompt. The
 * only room that reads the environment (docs/DECISIONS.md D22).
 */
#ifndef HG_TOOLS_APP_H
#define HG_TOOLS_APP_H

#include "args.h"
#include "progress.h"

#include <headgate/headgate.h>

/* In a function with `hg_result res` and a cleanup label `out`. */
#define HG_TRY(call)                                                                               \
    do {                                                                                           \
        res = (call);                                                                              \
        if (res != HG_OK)                                                                          \
            goto out;                                                                              \
    } while (0)

enum { HG_PATH_SIZE = 4096, HG_NAME_SIZE = 256 };

typedef struct hg_app {
    const hg_args *args;
    hg_log log;
    hg_meter meter;
    hg_progress progress;
    char cache_dir[HG_PATH_SIZE]; /* "" when there is none; made by hg_app_cache */
    char hub_dir[HG_PATH_SIZE];   /* "" when there is none */
    char *command_line;           /* as a shell would take it again */
} hg_app;

hg_result hg_app_open(hg_app *app, const hg_args *args, int argc, char **argv);
void hg_app_close(hg_app *app);
/* The cache folder, created with mode 0700 and CACHEDIR.TAG at the first call; NULL when there is
 * none. */
const char *hg_app_cache(hg_app *app);

/* docs/DECISIONS.md D28. */
int hg_exit_code(hg_result result);

/* "4.2 GiB", "17 KiB". */
const char *hg_show_bytes(uint64_t bytes, char text[32]);

#endif
