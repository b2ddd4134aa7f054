/* SPDX-License-Identifier: MIT */
/* Folders of the user: the Hugging Face cache that models are taken from, headgate's own cache. */
#include "doctor.h"
#include "doctor_probe.h"
#include "doctor_search.h"

#include "message.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char other_cache[] = "export XDG_CACHE_HOME=/var/tmp/cache-$(id -u)";
static const char other_hub[] = "export HF_HUB_CACHE=/var/tmp/models-$(id -u)";

enum { NAMES_MAX = 40, MODELS_MAX = 500, FILES_MAX = 100000, DEPTH_MAX = 16 };

/* --- models ------------------------------------------------------------------------------- */

/* "models--owner--name" as "owner/name"; 0: another folder. */
static int model_id(const char *folder, char id[HG_NAME_SIZE])
{
    static const char start[] = "models--";
    const char *owner = folder + sizeof(start) - 1, *name;

    if (strncmp(folder, start, sizeof(start) - 1) != 0)
        return 0;
    name = strstr(owner, "--");
    if (!name || name == owner || strlen(owner) >= HG_NAME_SIZE)
        return 0;
    snprintf(id, HG_NAME_SIZE, "%.*s/%s", (int)(name - owner), owner, name + 2);
    return 1;
}

static int opens(const char *hub, const char *id)
{
    const hg_log silent = {0};
    hg_checkpoint_params params = {.struct_size = sizeof(params)};
    hg_checkpoint *checkpoint = NULL;
    char path[HG_PATH_SIZE];
    hg_result res = hg_model_resolve(&silent, id, hub, path, sizeof(path));

    params.path = path;
    if (res == HG_OK)
        res = hg_checkpoint_open(&params, &checkpoint);
    hg_checkpoint_close(&checkpoint);
    return res == HG_OK;
}

/* MODL for the first models that open, then RUNS and REST: how many do and do not. */
static void ask_models(const hg_question *question, int fd)
{
    const char *hub = question->file;
    const struct dirent *entry;
    DIR *folder = opendir(hub);
    uint32_t runs = 0, rest = 0;
    char id[HG_NAME_SIZE], text[16];

    while (folder && runs + rest < MODELS_MAX && (entry = readdir(folder)) != NULL) {
        if (!model_id(entry->d_name, id))
            continue;
        if (!opens(hub, id)) {
            rest++;
        } else if (runs++ < NAMES_MAX) {
            hg_probe_answer(fd, "MODL", id);
        }
    }
    if (folder)
        closedir(folder);
    snprintf(text, sizeof(text), "%u", runs);
    hg_probe_answer(fd, "RUNS", text);
    snprintf(text, sizeof(text), "%u", rest);
    hg_probe_answer(fd, "REST", text);
}

static void tell_models(hg_doctor *doctor, const char *hub, const hg_probe *probe)
{
    const char *runs = hg_probe_text(probe, "RUNS"), *rest = hg_probe_text(probe, "REST");
    char names[512] = "", text[640];
    size_t used = 0;

    for (uint32_t i = 0; i < probe->fact_count && used < sizeof(names) - HG_NAME_SIZE - 8; i++) {
        if (strcmp(probe->facts[i].tag, "MODL") == 0)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.250s",
                                     used ? ", " : ": ", probe->facts[i].data);
    }
    if (probe->ended && runs && rest)
        hg_doctor_add(doctor, HG_DOCTOR_OK, "models", "in the cache", NULL,
                      "%s can be run%s; %s of another kind or not complete", runs, names, rest);
    else
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, "models", "in the cache", other_hub, "reading %s %s",
                      hub, hg_probe_failure(probe, text));
}

/* A folder of this user's, whose mode alone is in the way. */
static int is_ours(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static const char *own_mode(const char *path, char text[HG_COMMAND_SIZE])
{
    char quoted[HG_COMMAND_SIZE];

    snprintf(text, HG_COMMAND_SIZE, "chmod -R u+rwX %.*s", HG_PATH_SIZE,
             hg_doctor_quote(path, quoted));
    return text;
}

static void look_at_models(hg_doctor *doctor)
{
    const char *hub = doctor->app->hub_dir;
    char command[HG_COMMAND_SIZE];
    const hg_question question = {.file = hub};
    const char *why;
    hg_probe probe;
    hg_result res;
    DIR *folder;

    if (!*hub) {
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "models", "folder", other_hub,
                      "no Hugging Face cache: neither HOME nor HF_HOME is set");
        return;
    }
    folder = opendir(hub);
    why = strerror(errno);
    if (!folder && errno == ENOENT) {
        hg_doctor_add(doctor, HG_DOCTOR_OK, "models", "folder", NULL,
                      "%s is not there: no models of Hugging Face, folders work all the same", hub);
        return;
    }
    if (!folder) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, "models", "folder",
                      is_ours(hub) ? own_mode(hub, command) : other_hub, "%s cannot be read: %s",
                      hub, why);
        return;
    }
    closedir(folder);
    hg_doctor_add(doctor, HG_DOCTOR_OK, "models", "folder", NULL, "%s", hub);
    hg_message_status("looking at models");
    res = hg_probe_run(&probe, ask_models, &question);
    if (res == HG_OK)
        tell_models(doctor, hub, &probe);
    else
        doctor->result = res;
    hg_probe_free(&probe);
}

/* --- headgate's cache --------------------------------------------------------------------- */

typedef struct file_heap {
    uint64_t bytes;
    uint32_t files, foreign; /* foreign: of another user */
} file_heap;

/* Links are not followed. */
static void add_up(const char *folder, int depth, file_heap *out)
{
    DIR *open_folder = depth < DEPTH_MAX ? opendir(folder) : NULL;
    const struct dirent *entry;

    while (open_folder && out->files < FILES_MAX && (entry = readdir(open_folder)) != NULL) {
        char path[HG_PATH_SIZE + 256];
        struct stat status;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (strlen(path) >= HG_PATH_SIZE || lstat(path, &status) != 0)
            continue;
        out->foreign += status.st_uid != geteuid();
        if (S_ISDIR(status.st_mode)) {
            add_up(path, depth + 1, out);
        } else {
            out->files++;
            out->bytes += (uint64_t)status.st_size;
        }
    }
    if (open_folder)
        closedir(open_folder);
}

static const char *owner_of(const struct stat *status, char text[64])
{
    const struct passwd *user = getpwuid(status->st_uid);

    if (user)
        snprintf(text, 64, "%.60s", user->pw_name);
    else
        snprintf(text, 64, "user %u", (unsigned)status->st_uid);
    return text;
}

static int is_read_only(const char *path)
{
    struct statvfs volume;

    return statvfs(path, &volume) == 0 && (volume.f_flag & ST_RDONLY);
}

/* The folder is there. */
static void tell_cache(hg_doctor *doctor, const char *path, const struct stat *status)
{
    char command[HG_COMMAND_SIZE], quoted[HG_COMMAND_SIZE], owner[64], size[32], free_text[32];
    struct statvfs volume;
    file_heap heap = {0};

    if (is_ours(path) && !(status->st_mode & S_IWUSR))
        own_mode(path, command);
    else
        snprintf(command, sizeof(command), "%schown -R $(id -u) %.*s", hg_doctor_sudo(),
                 HG_PATH_SIZE, hg_doctor_quote(path, quoted));
    owner_of(status, owner);
    if (access(path, R_OK | W_OK | X_OK) != 0) {
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, "cache", "folder",
                      is_read_only(path) ? other_cache : command,
                      "%s cannot be written (%s), owner %s, mode %03o", path, strerror(errno),
                      owner, (unsigned)status->st_mode & 0777);
        return;
    }
    add_up(path, 0, &heap);
    if (statvfs(path, &volume) != 0)
        memset(&volume, 0, sizeof(volume));
    hg_doctor_add(doctor, HG_DOCTOR_OK, "cache", "folder", NULL,
                  "%s, writable, %s in %u file%s, owner %s, %s free on its disk", path,
                  hg_show_bytes(heap.bytes, size), heap.files, heap.files == 1 ? "" : "s", owner,
                  hg_show_bytes((uint64_t)volume.f_bavail * volume.f_frsize, free_text));
    if (status->st_uid != geteuid() || heap.foreign)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "cache", "owner", command,
                      "parts of it belong to another user (was it made with sudo?)");
}

/* A folder can be made in this one: asking for permissions is not enough (/proc, full disks). */
static int takes_folders(const char *folder)
{
    char path[HG_PATH_SIZE + 32];

    snprintf(path, sizeof(path), "%s/.headgate-XXXXXX", folder);
    return mkdtemp(path) != NULL && rmdir(path) == 0;
}

/* The folder would be made at its first use, if the nearest one that is there can be written. */
static void tell_absent(hg_doctor *doctor, const char *path)
{
    char folder[HG_PATH_SIZE];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    while ((slash = strrchr(folder, '/')) != NULL && slash > folder && access(folder, F_OK) != 0)
        *slash = '\0';
    if (access(folder, F_OK) != 0)
        snprintf(folder, sizeof(folder), "/");
    if (takes_folders(folder)) {
        hg_doctor_add(doctor, HG_DOCTOR_OK, "cache", "folder", NULL, "%s, made at its first use",
                      path);
        return;
    }
    hg_doctor_add(doctor, HG_DOCTOR_WRONG, "cache", "folder", other_cache,
                  "%s is not there, and no folder can be made in %s (%s): pipelines are compiled "
                  "anew each time",
                  path, folder, strerror(errno));
}

static void look_at_cache(hg_doctor *doctor)
{
    const char *path = doctor->app->cache_dir;
    char command[HG_COMMAND_SIZE];
    struct stat status;

    if (!*path)
        hg_doctor_add(doctor, HG_DOCTOR_NOTE, "cache", "folder", other_cache,
                      "none, neither HOME nor XDG_CACHE_HOME is set: pipelines are compiled anew "
                      "each time");
    else if (stat(path, &status) != 0)
        tell_absent(doctor, path);
    else if (!S_ISDIR(status.st_mode))
        hg_doctor_add(doctor, HG_DOCTOR_WRONG, "cache", "folder", hg_doctor_put_off(path, command),
                      "%s is no folder", path);
    else
        tell_cache(doctor, path, &status);
}

void hg_doctor_folders(hg_doctor *doctor)
{
    look_at_models(doctor);
    look_at_cache(doctor);
}
