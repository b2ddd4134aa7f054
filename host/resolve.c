/* SPDX-License-Identifier: MIT */
/*
 * What a user writes for MODEL: a folder, or owner/name[@revision][:sub-folder] in a Hugging Face
 * cache, which is only read. Nothing is ever downloaded; the sentence has the line that would.
 */
#include "resolve.h"

#include "check.h"
#include "file.h"

#include <headgate/model.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SIZE = 256, PATH_SIZE = 4096, COMMIT_CHARS_MAX = 64 };

typedef struct model_id {
    char owner[PART_SIZE], name[PART_SIZE];
    char revision[PART_SIZE]; /* "": main */
    char folder[PART_SIZE];   /* "": the repository itself */
} model_id;

typedef struct search {
    const hg_log *log;
    const char *model; /* as written */
    const char *hub_dir;
    model_id id;
    char repository[PATH_SIZE];
} search;

static int is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* Letters, digits, - _ . and, with slashes, parts between them; no part may be ".", ".." or empty.
 */
static int is_words(const char *text, int slashes)
{
    const char *part = text, *c;

    for (c = text;; c++) {
        if (*c == '/' || *c == 0) {
            size_t length = (size_t)(c - part);

            if (length == 0 || (length == 1 && part[0] == '.') ||
                (length == 2 && part[0] == '.' && part[1] == '.'))
                return 0;
            if (*c == 0)
                return 1;
            if (!slashes)
                return 0;
            part = c + 1;
        } else if (!is_word_char(*c)) {
            return 0;
        }
    }
}

static int copy_part(char out[PART_SIZE], const char *begin, const char *end)
{
    size_t length = (size_t)(end - begin);

    if (length >= PART_SIZE)
        return 0;
    memcpy(out, begin, length);
    out[length] = 0;
    return 1;
}

/* owner/name[@revision][:folder] */
static int parse_id(const char *text, model_id *out)
{
    const char *end = text + strlen(text);
    const char *colon = strchr(text, ':'), *at = strchr(text, '@'), *slash = strchr(text, '/');
    const char *rest = colon ? colon : end;

    memset(out, 0, sizeof(*out));
    if (at && at > rest)
        at = NULL;
    if (!slash || slash > (at ? at : rest))
        return 0;
    if (!copy_part(out->owner, text, slash) || !copy_part(out->name, slash + 1, at ? at : rest))
        return 0;
    if (!is_words(out->owner, 0) || !is_words(out->name, 0))
        return 0;
    if (at && (!copy_part(out->revision, at + 1, rest) || !is_words(out->revision, 1)))
        return 0;
    if (colon && (!copy_part(out->folder, colon + 1, end) || !is_words(out->folder, 1)))
        return 0;
    return 1;
}

/* The two lines of advice, with the command that fetches what is missing. */
static hg_result say_download(const search *s, const char *what)
{
    char revision[PART_SIZE + 32] = "", include[PART_SIZE + 32] = "";

    if (s->id.revision[0])
        snprintf(revision, sizeof(revision), " --revision %s", s->id.revision);
    if (s->id.folder[0])
        snprintf(include, sizeof(include), " --include \"%s/*\"", s->id.folder);
    return hg_fail(s->log, HG_ERR_FILE, "%s: %s; to fetch it: hf download %s/%s%s%s", s->model,
                   what, s->id.owner, s->id.name, revision, include);
}

/* Calls each(user, name) for every entry but . and .., until it returns non-zero. */
static void list_folder(const char *path, int (*each)(void *user, const char *name), void *user)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int stop = 0;

    if (!dir)
        return;
    while (!stop && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            stop = each(user, entry->d_name);
    closedir(dir);
}

enum { MODELS_MAX = 16 };

typedef struct model_list {
    const char *path;
    uint32_t count;
    char names[MODELS_MAX][PART_SIZE];
} model_list;

/* A courtesy: without memory it finds fewer. */
static int has_config(const char *folder)
{
    char *config = hg_path_join(folder, "config.json");
    int there = config && hg_file_look(config) == HG_FILE_REGULAR;

    free(config);
    return there;
}

static int add_model(void *user, const char *name)
{
    model_list *list = user;
    char *folder = hg_path_join(list->path, name);

    if (folder && has_config(folder) && strlen(name) < PART_SIZE)
        snprintf(list->names[list->count++], PART_SIZE, "%s", name);
    free(folder);
    return list->count == MODELS_MAX;
}

static int order_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

hg_result hg_folder_say_models(const hg_log *log, const char *path, const char *prefix)
{
    model_list *list = calloc(1, sizeof(*list));
    char names[1024] = "";
    size_t used = 0;
    uint32_t i;

    if (!list)
        return hg_fail(log, HG_ERR_HOST_MEMORY, "out of memory for a list of folders");
    list->path = path;
    list_folder(path, add_model, list);
    qsort(list->names, list->count, PART_SIZE, order_names);
    for (i = 0; i < list->count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s%s", i ? ", " : "",
                                 prefix[0] ? prefix : path, prefix[0] ? "" : "/", list->names[i]);
    i = list->count;
    free(list);
    if (i == 0)
        return HG_OK;
    return hg_fail(log, HG_ERR_FILE,
                   "%s: no config.json here, but there are models inside; name one of: %s", path,
                   names);
}

/* One line of a ref file: a commit in hexadecimal. */
static hg_result read_ref(const search *s, const char *path, char commit[COMMIT_CHARS_MAX + 1])
{
    hg_file file;
    size_t length = 0;
    hg_result res = hg_file_map(s->log, path, 4096, &file);

    if (res != HG_OK)
        return res;
    while (length < file.bytes && length < COMMIT_CHARS_MAX &&
           strchr("0123456789abcdef", file.data[length]) && file.data[length]) {
        commit[length] = (char)file.data[length];
        length++;
    }
    commit[length] = 0;
    if (length < 7 || (length < file.bytes && !strchr("\r\n ", file.data[length])))
        res = hg_fail(s->log, HG_ERR_FILE,
                      "%s: expected a commit in hexadecimal; the cache is damaged", path);
    hg_file_unmap(&file);
    return res;
}

typedef struct snapshot_list {
    uint32_t count;
    char name[COMMIT_CHARS_MAX + 1]; /* the first */
} snapshot_list;

static int add_snapshot(void *user, const char *name)
{
    snapshot_list *list = user;

    if (strlen(name) <= COMMIT_CHARS_MAX && list->count++ == 0)
        snprintf(list->name, sizeof(list->name), "%.*s", COMMIT_CHARS_MAX, name);
    return 0;
}

/* path = a/b/c; 0 when it does not fit. */
static int build_path(char out[PATH_SIZE], const char *a, const char *b, const char *c)
{
    int n = snprintf(out, PATH_SIZE, "%s/%s%s%s", a, b, c[0] ? "/" : "", c);

    return n > 0 && n < PATH_SIZE;
}

/* The commit of the revision: by its ref, as a commit itself, or the only one that is there. */
static hg_result find_commit(const search *s, char commit[COMMIT_CHARS_MAX + 1])
{
    const char *revision = s->id.revision[0] ? s->id.revision : "main";
    snapshot_list list = {0, ""};
    char path[PATH_SIZE];

    if (!build_path(path, s->repository, "refs", revision))
        return hg_fail(s->log, HG_ERR_FILE, "%s: the path into the cache is too long", s->model);
    if (hg_file_look(path) == HG_FILE_REGULAR)
        return read_ref(s, path, commit);
    if (strlen(revision) <= COMMIT_CHARS_MAX &&
        build_path(path, s->repository, "snapshots", revision) &&
        hg_file_look(path) == HG_FILE_FOLDER) {
        snprintf(commit, COMMIT_CHARS_MAX + 1, "%.*s", COMMIT_CHARS_MAX, revision);
        return HG_OK;
    }
    if (s->id.revision[0])
        return say_download(s, "this revision is not in the cache");
    if (!build_path(path, s->repository, "snapshots", ""))
        return hg_fail(s->log, HG_ERR_FILE, "%s: the path into the cache is too long", s->model);
    list_folder(path, add_snapshot, &list);
    if (list.count == 0)
        return say_download(s, "the cache has its folder, but no snapshot in it");
    if (list.count > 1)
        return hg_fail(s->log, HG_ERR_FILE,
                       "%s: the cache has %u snapshots and no reference to say which is main; "
                       "write %s/%s@COMMIT",
                       s->model, list.count, s->id.owner, s->id.name);
    hg_say(s->log, HG_LOG_INFO, "%s: no reference main in the cache; its only snapshot %s is used",
           s->model, list.name);
    snprintf(commit, COMMIT_CHARS_MAX + 1, "%s", list.name);
    return HG_OK;
}

static hg_result find_in_cache(search *s, char *path, size_t path_size)
{
    char commit[COMMIT_CHARS_MAX + 1] = "", snapshots[PATH_SIZE] = "", found[PATH_SIZE] = "",
                                   prefix[4 * PART_SIZE + 8];
    hg_result res;
    int n;

    if (!s->hub_dir || !s->hub_dir[0])
        return say_download(s, "there is no such folder, and no cache to look it up in");
    n = snprintf(s->repository, sizeof(s->repository), "%s/models--%s--%s", s->hub_dir, s->id.owner,
                 s->id.name);
    if (n < 0 || (size_t)n >= sizeof(s->repository))
        return hg_fail(s->log, HG_ERR_FILE, "%s: the path into the cache is too long", s->model);
    if (hg_file_look(s->repository) != HG_FILE_FOLDER)
        return say_download(s, "neither a folder nor in the Hugging Face cache");
    HG_TRY(find_commit(s, commit));
    if (!build_path(snapshots, s->repository, "snapshots", commit) ||
        !build_path(found, snapshots, s->id.folder, "") || strlen(snapshots) >= path_size ||
        (s->id.folder[0] && strlen(found) >= path_size))
        return hg_fail(s->log, HG_ERR_FILE, "%s: the path into the cache is too long", s->model);
    if (hg_file_look(snapshots) != HG_FILE_FOLDER)
        return say_download(s, "the cache knows its commit, but has no snapshot of it");
    if (s->id.folder[0] && hg_file_look(found) != HG_FILE_FOLDER)
        return say_download(s, "the snapshot in the cache does not have this folder");
    snprintf(path, path_size, "%s", s->id.folder[0] ? found : snapshots);
    snprintf(prefix, sizeof(prefix), "%s/%s%s%s:%s%s", s->id.owner, s->id.name,
             s->id.revision[0] ? "@" : "", s->id.revision, s->id.folder,
             s->id.folder[0] ? "/" : "");
    if (!has_config(path))
        res = hg_folder_say_models(s->log, path, prefix);
out:
    return res;
}

hg_result hg_model_resolve(const hg_log *log, const char *model, const char *hub_dir, char *path,
                           size_t path_size)
{
    search s = {.log = log, .model = model, .hub_dir = hub_dir};

    if (!path || path_size == 0)
        return hg_fail(log, HG_ERR_ARGUMENT,
                       "hg_model_resolve: expected room for a path, found none");
    path[0] = 0;
    if (!model || !model[0])
        return hg_fail(log, HG_ERR_ARGUMENT,
                       "expected the name of a model or its folder, found an empty text");
    switch (hg_file_look(model)) {
    case HG_FILE_FOLDER:
        if (strlen(model) >= path_size)
            return hg_fail(log, HG_ERR_ARGUMENT,
                           "hg_model_resolve: the path needs more than %zu bytes", path_size);
        snprintf(path, path_size, "%s", model);
        return has_config(model) ? HG_OK : hg_folder_say_models(log, model, "");
    case HG_FILE_REGULAR:
    case HG_FILE_OTHER:
        return hg_fail(log, HG_ERR_FILE,
                       "%s: expected the folder of a model, found a file; name its folder", model);
    case HG_FILE_MISSING:
        break;
    }
    if (!parse_id(model, &s.id))
        return hg_fail(log, HG_ERR_FILE,
                       "%s: there is no such folder, and it is no id of the form "
                       "owner/name[@revision][:folder]",
                       model);
    return find_in_cache(&s, path, path_size);
}
