/* SPDX-License-Identifier: MIT */
/* The environment, folders and exit codes. */
#include "app.h"

#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of a variable that holds an absolute path; the XDG rules say to ignore others. */
static const char *absolute(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value == '/' ? value : NULL;
}

static const char *filled(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value ? value : NULL;
}

/* Too long a path is as good as none. */
static void join(char out[HG_PATH_SIZE], const char *first, const char *second)
{
    int length = snprintf(out, HG_PATH_SIZE, "%s%s", first, second);

    if (length < 0 || length >= HG_PATH_SIZE)
        out[0] = '\0';
}

static void find_folders(hg_app *app)
{
    const char *home = absolute("HOME"), *cache = absolute("XDG_CACHE_HOME");
    const char *hub = filled("HF_HUB_CACHE"), *hf_home = filled("HF_HOME");

    if (cache)
        join(app->cache_dir, cache, "/headgate");
    else if (home)
        join(app->cache_dir, home, "/.cache/headgate");
    if (hub)
        join(app->hub_dir, hub, "");
    else if (hf_home)
        join(app->hub_dir, hf_home, "/hub");
    else if (cache)
        join(app->hub_dir, cache, "/huggingface/hub");
    else if (home)
        join(app->hub_dir, home, "/.cache/huggingface/hub");
}

static int is_plain(const char *word)
{
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_-./:=@,+%") == strlen(word);
}

static size_t quote(char *at, const char *word)
{
    char *start = at;

    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            at = stpcpy(at, "'\\''");
        } else {
            *at++ = *word;
        }
    }
    *at++ = '\'';
    return (size_t)(at - start);
}

static char *quote_all(int argc, char **argv)
{
    size_t room = sizeof("headgate");
    char *line, *at;

    for (int i = 1; i < argc; i++)
        room += 4 * strlen(argv[i]) + 3;
    line = at = malloc(room);
    if (!line)
        return NULL;
    at = stpcpy(at, "headgate");
    for (int i = 1; i < argc; i++) {
        *at++ = ' ';
        if (is_plain(argv[i])) {
            size_t length = strlen(argv[i]);

            memcpy(at, argv[i], length);
            at += length;
        } else {
            at += quote(at, argv[i]);
        }
    }
    *at = '\0';
    return line;
}

hg_result hg_app_open(hg_app *app, const hg_args *args, int argc, char **argv)
{
    uint32_t verbose = hg_args_count(args, HG_OPTION_VERBOSE);
    hg_log_level level = HG_LOG_WARNING;

    memset(app, 0, sizeof(*app));
    if (hg_args_count(args, HG_OPTION_QUIET))
        level = HG_LOG_ERROR;
    else if (verbose)
        level = verbose > 1 ? HG_LOG_DEBUG : HG_LOG_INFO;
    hg_message_setup(level);
    app->args = args;
    app->log = hg_message_log();
    hg_meter_start(&app->meter);
    app->progress = (hg_progress){hg_meter_step, &app->meter};
    find_folders(app);
    app->command_line = quote_all(argc, argv);
    if (!app->command_line)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    return HG_OK;
}

void hg_app_close(hg_app *app)
{
    hg_meter_stop(&app->meter);
    free(app->command_line);
    app->command_line = NULL;
}

static int make_private(const char *path)
{
    char part[HG_PATH_SIZE];

    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0700); /* most are there; the last mkdir tells */
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static void write_tag(const char *folder)
{
    static const char tag[] =
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# Pipelines and checksums of headgate; may be deleted at any time.\n";
    char path[HG_PATH_SIZE + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/CACHEDIR.TAG", folder);
    if (access(path, F_OK) == 0)
        return;
    file = fopen(path, "wb");
    if (!file)
        return;
    fwrite(tag, 1, sizeof(tag) - 1, file);
    fclose(file);
}

const char *hg_app_cache(hg_app *app)
{
    if (app->cache_dir[0] == '\0')
        return NULL;
    if (!make_private(app->cache_dir) || access(app->cache_dir, W_OK | X_OK) != 0) {
        hg_message(HG_LOG_INFO, "no cache: %s cannot be used: %s", app->cache_dir, strerror(errno));
        app->cache_dir[0] = '\0';
        return NULL;
    }
    write_tag(app->cache_dir);
    return app->cache_dir;
}

int hg_exit_code(hg_result result)
{
    switch (result) {
    case HG_OK:
        return 0;
    case HG_ERR_ARGUMENT:
    case HG_ERR_TEXT:
        return 2;
    case HG_ERR_NO_DEVICE:
    case HG_ERR_UNSUPPORTED:
        return 3;
    case HG_ERR_FILE:
        return 4;
    case HG_ERR_HOST_MEMORY:
    case HG_ERR_DEVICE_MEMORY:
        return 5;
    case HG_TIMEOUT:
    case HG_ERR_DEVICE_LOST:
    case HG_ERR_DRIVER:
        return 6;
    case HG_ERR_OUTPUT:
        return 7;
    case HG_CANCELLED:
        return 130; /* main dies of the signal itself; this is for a cancel without one */
    }
    return 6;
}

const char *hg_show_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}
