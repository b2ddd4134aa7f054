/* SPDX-License-Identifier: MIT */
/* Names of many files, see file_names.h. */
#include "file_names.h"

#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of a prompt's name in a file's: a file system allows 255 for all of it. */
enum { NAME_BYTES_MAX = 160 };

static const char name_mark[] = "{name}", number_mark[] = "{number}";

int hg_file_names_are_pattern(const char *target)
{
    return strstr(target, name_mark) || strstr(target, number_mark);
}

static int is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ".png" at the end of a target that is no folder: somebody thinks of one file. */
static int looks_like_file(const char *target)
{
    static const char *const ends[] = {".png", ".svg", ".pdf", ".json", ".PNG", ".SVG", ".PDF"};
    const size_t bytes = strlen(target);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const size_t end = strlen(ends[i]);

        if (bytes > end && strcmp(target + bytes - end, ends[i]) == 0)
            return !is_folder(target);
    }
    return 0;
}

hg_result hg_file_names_choose(const char *target, const char *ending, const hg_prompts *prompts,
                               hg_file_names *out)
{
    const char *slash = strrchr(target, '/');
    const int pattern = hg_file_names_are_pattern(target);
    size_t bytes = strlen(target);
    int length;

    if (pattern) {
        bytes = slash ? (size_t)(slash - target) : 0;
        length = snprintf(out->pattern, sizeof(out->pattern), "%s", target);
    } else {
        while (bytes > 1 && target[bytes - 1] == '/')
            bytes--;
        length = snprintf(out->pattern, sizeof(out->pattern), "%.*s/%s.%s", (int)bytes, target,
                          name_mark, ending);
    }
    /* Room for what is put in. */
    for (const char *at = out->pattern; (at = strchr(at, '{')) != NULL; at++)
        length += NAME_BYTES_MAX;
    if (length >= (int)sizeof(out->pattern) - 2 * NAME_BYTES_MAX)
        return hg_message_fail(HG_ERR_OUTPUT, "-o: the path is too long");
    memcpy(out->folder, target, bytes);
    out->folder[bytes] = '\0';
    if (pattern && hg_file_names_are_pattern(out->folder))
        return hg_message_fail(
            HG_ERR_ARGUMENT,
            "-o %s: {name} and {number} belong into the name of the file, not of "
            "its folder",
            target);
    if (!pattern && looks_like_file(target))
        return hg_message_fail(HG_ERR_ARGUMENT,
                               "-o %s: each of %u prompts has a file of its own: name a folder, or "
                               "a pattern such as '{number}-{name}.%s'",
                               target, prompts->count, ending);
    return HG_OK;
}

/* Appends the name as part of a file's name; returns the new length. */
static size_t append_name(const char *name, char *out, size_t length)
{
    size_t bytes = strlen(name), begin = length;

    if (bytes > NAME_BYTES_MAX) { /* cut between characters */
        bytes = NAME_BYTES_MAX;
        while (bytes > 0 && ((unsigned char)name[bytes] & 0xc0) == 0x80)
            bytes--;
    }
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)name[i];
        const int strange =
            c < 0x20 || c == 0x7f || c == '/' || c == '\\' || (i == 0 && (c == '.' || c == '-'));

        out[length++] = (char)(strange ? '_' : c);
    }
    out[length] = '\0';
    hg_message_defuse(out + begin); /* control characters of more than a byte */
    return strlen(out);
}

void hg_file_names_at(const hg_file_names *names, const hg_prompts *prompts, uint32_t index,
                      char path[HG_PATH_SIZE])
{
    const char *at = names->pattern;
    const char *last = strrchr(at, '/');
    size_t length = 0;
    char digits[16];
    const int width = snprintf(digits, sizeof(digits), "%u", prompts->count);

    path[0] = '\0';
    while (*at && length + 2 * NAME_BYTES_MAX < HG_PATH_SIZE) {
        const int in_name = !last || at > last;

        if (in_name && strncmp(at, name_mark, sizeof(name_mark) - 1) == 0) {
            length = append_name(prompts->rows[index].name, path, length);
            at += sizeof(name_mark) - 1;
        } else if (in_name && strncmp(at, number_mark, sizeof(number_mark) - 1) == 0) {
            length +=
                (size_t)snprintf(path + length, HG_PATH_SIZE - length, "%0*u", width, index + 1);
            at += sizeof(number_mark) - 1;
        } else {
            path[length++] = *at++;
            path[length] = '\0';
        }
    }
}

typedef struct named {
    char *path;
    uint32_t index;
} named;

static int order(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const int paths = strcmp(x->path, y->path);

    return paths ? paths : (x->index > y->index) - (x->index < y->index);
}

hg_result hg_file_names_check(const hg_file_names *names, const hg_prompts *prompts)
{
    named *all = calloc(prompts->count, sizeof(*all));
    char path[HG_PATH_SIZE];
    hg_result res = all ? HG_OK : HG_ERR_HOST_MEMORY;

    for (uint32_t i = 0; i < prompts->count && res == HG_OK; i++) {
        size_t bytes;

        hg_file_names_at(names, prompts, i, path);
        bytes = strlen(path) + 1;
        all[i] = (named){malloc(bytes), i};
        if (all[i].path)
            memcpy(all[i].path, path, bytes);
        else
            res = HG_ERR_HOST_MEMORY;
    }
    if (res != HG_OK)
        (void)hg_message_fail(res, "out of memory");
    else
        qsort(all, prompts->count, sizeof(*all), order);
    for (uint32_t i = 1; i < prompts->count && res == HG_OK; i++)
        if (strcmp(all[i - 1].path, all[i].path) == 0)
            res = hg_message_fail(
                HG_ERR_ARGUMENT,
                "%s: lines %llu and %llu would both be written to %s: expected names that differ, "
                "or {number} in -o",
                prompts->file, (unsigned long long)prompts->rows[all[i - 1].index].line,
                (unsigned long long)prompts->rows[all[i].index].line, all[i].path);
    for (uint32_t i = 0; all && i < prompts->count; i++)
        free(all[i].path);
    free(all);
    return res;
}
