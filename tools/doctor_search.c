/* SPDX-License-Identifier: MIT */
/* Folders, lists of files, manifests, the head of a library. */
#include "doctor_search.h"

#include "doctor.h"
#include "message.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_BYTES_MAX = 256 << 10, FOLDER_FILES_MAX = 1024 };

const char *hg_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

hg_result hg_list_add(hg_list *list, const char *path)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->paths[i], path) == 0)
            return HG_OK;
    }
    if (list->count == HG_LIST_MAX) {
        list->dropped++;
        return HG_OK;
    }
    list->paths[list->count] = strdup(path);
    if (!list->paths[list->count])
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    list->count++;
    return HG_OK;
}

void hg_list_free(hg_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    memset(list, 0, sizeof(*list));
}

static int ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), tail = strlen(ending);

    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

hg_result hg_list_add_folder(hg_list *list, const char *folder, const char *ending)
{
    char **names = calloc(FOLDER_FILES_MAX, sizeof(*names));
    DIR *open_folder = names ? opendir(folder) : NULL;
    const struct dirent *entry;
    hg_result res = HG_OK;
    size_t count = 0;

    while (open_folder && count < FOLDER_FILES_MAX && (entry = readdir(open_folder)) != NULL) {
        if (ends_in(entry->d_name, ending) && (names[count] = strdup(entry->d_name)) != NULL)
            count++;
    }
    if (open_folder)
        closedir(open_folder);
    if (count > 0)
        qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++) {
        char path[HG_PATH_SIZE + 256];

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        if (res == HG_OK)
            res = hg_list_add(list, path);
        free(names[i]);
    }
    free(names);
    return res;
}

hg_result hg_list_add_parts(hg_list *list, const char *parts, const char *ending)
{
    hg_result res = HG_OK;

    while (*parts && res == HG_OK) {
        const size_t length = strcspn(parts, ":");
        char part[HG_PATH_SIZE];
        struct stat status;

        snprintf(part, sizeof(part), "%.*s", (int)(length < sizeof(part) ? length : 0), parts);
        if (part[0] && stat(part, &status) == 0 && S_ISDIR(status.st_mode))
            res = hg_list_add_folder(list, part, ending);
        else if (part[0])
            res = hg_list_add(list, part);
        parts += length;
        parts += *parts == ':';
    }
    return res;
}

/* Each part of a variable, or of what stands for it, with "/vulkan/KIND". */
static hg_result add_roots(hg_list *folders, const char *roots, const char *kind)
{
    hg_result res = HG_OK;

    while (*roots && res == HG_OK) {
        const size_t length = strcspn(roots, ":");
        char path[HG_PATH_SIZE + 64];

        if (length > 0 && length < HG_PATH_SIZE) {
            snprintf(path, sizeof(path), "%.*s/vulkan/%s", (int)length, roots, kind);
            res = hg_list_add(folders, path);
        }
        roots += length;
        roots += *roots == ':';
    }
    return res;
}

static hg_result add_home(hg_list *folders, const char *variable, const char *in_home,
                          const char *kind)
{
    const char *set = hg_doctor_variable(variable), *home = hg_doctor_variable("HOME");
    char path[HG_PATH_SIZE];
    int length;

    if (set)
        return add_roots(folders, set, kind);
    if (!home)
        return HG_OK;
    length = snprintf(path, sizeof(path), "%s%s", home, in_home);
    return length < (int)sizeof(path) ? add_roots(folders, path, kind) : HG_OK;
}

hg_result hg_search_vulkan(hg_list *folders, const char *kind)
{
    const char *config = hg_doctor_variable("XDG_CONFIG_DIRS");
    const char *data = hg_doctor_variable("XDG_DATA_DIRS");
    hg_result res;

    HG_TRY(add_home(folders, "XDG_CONFIG_HOME", "/.config", kind));
    HG_TRY(add_roots(folders, config ? config : "/etc/xdg", kind));
    HG_TRY(add_roots(folders, "/usr/local/etc:/etc", kind));
    HG_TRY(add_home(folders, "XDG_DATA_HOME", "/.local/share", kind));
    HG_TRY(add_roots(folders, data ? data : "/usr/local/share:/usr/share", kind));
out:
    return res;
}

char *hg_read_small(const char *path, size_t max_bytes, char why[160])
{
    /* A FIFO must not keep us waiting. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    char *text = NULL;
    size_t used = 0;
    ssize_t part;

    why[0] = '\0';
    if (fd < 0 || fstat(fd, &status) != 0)
        snprintf(why, 160, "cannot be opened: %s", strerror(errno));
    else if (!S_ISREG(status.st_mode))
        snprintf(why, 160, "is no regular file");
    else if ((text = calloc(max_bytes + 2, 1)) == NULL)
        snprintf(why, 160, "no memory to read it");
    while (text && used <= max_bytes && (part = read(fd, text + used, max_bytes + 1 - used)) > 0)
        used += (size_t)part; /* files of /proc tell no size */
    if (text && used > max_bytes) {
        snprintf(why, 160, "is larger than %zu KiB", max_bytes >> 10);
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* --- manifests ---------------------------------------------------------------------------- */

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsString(value) && value->valuestring ? value->valuestring : "";
}

/* { "VARIABLE": "value" } */
static void take_variable(const cJSON *object, char name[HG_NAME_SIZE], char *value, size_t bytes)
{
    const cJSON *first = cJSON_IsObject(object) ? object->child : NULL;

    if (!first || !first->string)
        return;
    snprintf(name, HG_NAME_SIZE, "%s", first->string);
    if (value && cJSON_IsString(first) && first->valuestring)
        snprintf(value, bytes, "%s", first->valuestring);
}

/* A name with a slash in it is relative to the manifest's folder; another is searched for. */
static void take_library(const char *path, const char *library, hg_manifest *out)
{
    int length;

    if (strchr(library, '/') && library[0] != '/') {
        const char *base = strrchr(path, '/');

        length = snprintf(out->library, sizeof(out->library), "%.*s/%s",
                          base ? (int)(base - path) : 1, base ? path : ".", library);
    } else {
        length = snprintf(out->library, sizeof(out->library), "%s", library);
    }
    if (length < 0 || (size_t)length >= sizeof(out->library))
        snprintf(out->wrong, sizeof(out->wrong), "its library_path is too long");
}

static void read_fields(const char *path, const char *root, const cJSON *json, hg_manifest *out)
{
    const cJSON *body = cJSON_GetObjectItemCaseSensitive(json, root);
    const cJSON *many = cJSON_GetObjectItemCaseSensitive(json, "layers");
    const int is_layer = strcmp(root, "layer") == 0;
    const char *library;

    if (is_layer && !body && cJSON_IsArray(many))
        body = many->child;
    if (!cJSON_IsObject(json) || !cJSON_IsObject(body)) {
        snprintf(out->wrong, sizeof(out->wrong), "no manifest of the loader: no \"%s\" in it",
                 root);
        return;
    }
    snprintf(out->api, sizeof(out->api), "%s", text_of(body, "api_version"));
    library = text_of(body, "library_path");
    if (is_layer) {
        snprintf(out->name, sizeof(out->name), "%s", text_of(body, "name"));
        take_variable(cJSON_GetObjectItemCaseSensitive(body, "enable_environment"), out->enable,
                      out->enable_value, sizeof(out->enable_value));
        take_variable(cJSON_GetObjectItemCaseSensitive(body, "disable_environment"), out->disable,
                      NULL, 0);
        if (!out->name[0])
            snprintf(out->wrong, sizeof(out->wrong), "the layer has no \"name\"");
    }
    if (!*library && !(is_layer && cJSON_GetObjectItemCaseSensitive(body, "component_layers")))
        snprintf(out->wrong, sizeof(out->wrong), "no \"library_path\" in it");
    else if (*library)
        take_library(path, library, out);
}

void hg_manifest_read(const char *path, const char *root, hg_manifest *out)
{
    char why[160];
    char *text;
    cJSON *json;

    memset(out, 0, sizeof(*out));
    text = hg_read_small(path, MANIFEST_BYTES_MAX, why);
    if (!text) {
        snprintf(out->wrong, sizeof(out->wrong), "%s", why);
        return;
    }
    json = cJSON_ParseWithOpts(text, NULL, 1);
    if (json)
        read_fields(path, root, json, out);
    else
        snprintf(out->wrong, sizeof(out->wrong), "is not JSON");
    cJSON_Delete(json);
    free(text);
}

/* --- libraries ---------------------------------------------------------------------------- */

const char *hg_foreign_library(const char *path, char text[96])
{
    unsigned char head[20] = {0}, own[20] = {0};
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? read(file, head, sizeof(head)) : -1;
    const ssize_t have = self >= 0 ? read(self, own, sizeof(own)) : -1;

    text[0] = '\0';
    if (got == (ssize_t)sizeof(head) && have == (ssize_t)sizeof(own) &&
        memcmp(head, ELFMAG, SELFMAG) == 0) {
        if (head[EI_CLASS] != own[EI_CLASS])
            snprintf(text, 96, "is for %s programs",
                     head[EI_CLASS] == ELFCLASS32 ? "32-bit" : "64-bit");
        else if (memcmp(head + 18, own + 18, 2) != 0) /* e_machine, in the file's own byte order */
            snprintf(text, 96, "is for processors of another kind");
    }
    if (file >= 0)
        close(file);
    if (self >= 0)
        close(self);
    return text;
}
