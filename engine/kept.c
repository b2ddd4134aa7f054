/* SPDX-License-Identifier: MIT */
/* Files of lines in the cache folder; see kept.h. */
#include "kept.h"

#include "check.h"
#include "os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 16, LINE_BYTES_MAX = 1024 };

#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* One line: what must be the same for a line to hold again. */
static void make_key(const hg_engine *engine, char key[2 * LINE_BYTES_MAX])
{
    const hg_device_info *d = &engine->plan.device;
    char uuid[33];

    for (int i = 0; i < 16; i++)
        (void)snprintf(uuid + (size_t)i * 2, 3, "%02x", d->device_uuid[i]);
    (void)snprintf(key, 2 * LINE_BYTES_MAX, "key %d %d %016" PRIx64 " %s|%s|%s|%s|%s|%08x|%s|%s",
                   (int)d->backend, (int)engine->plan.precision, engine->surroundings, uuid,
                   d->name, d->driver, d->driver_version, d->api_version, engine->plan.features,
                   HG_VERSION_STRING, HG_EXACT_REVISION);
    for (char *c = key; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = '?';
    }
}

uint64_t hg_kept_hash(const hg_engine *engine, const hg_variant *variant)
{
    uint32_t spec[HG_SPEC_MAX];
    uint64_t hash = HASH_START;

    hg_plan_spec(&engine->plan, variant, spec);
    hash = hash_bytes(hash, spec, sizeof(spec));
    hash = hash_bytes(hash, &variant->threads, sizeof(variant->threads));
    if (engine->plan.device.backend == HG_BACKEND_VULKAN && variant->spirv)
        return hash_bytes(hash, variant->spirv, variant->spirv_bytes);
    hash = hash_bytes(hash, variant->cl_options, strlen(variant->cl_options));
    return variant->cl_source ? hash_bytes(hash, variant->cl_source, strlen(variant->cl_source))
                              : hash;
}

/* "<folder>/checks-0123456789abcdef.txt", malloced. */
static char *make_path(const hg_engine *engine, const hg_kept *kept, const char *key)
{
    static const char form[] = "%s/%s-%016" PRIx64 ".txt";
    const uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    const int length = snprintf(NULL, 0, form, engine->cache_dir, kept->name, hash);
    char *path = length < 0 ? NULL : malloc((size_t)length + 1);

    if (path)
        (void)snprintf(path, (size_t)length + 1, form, engine->cache_dir, kept->name, hash);
    return path;
}

/* NULL with the first line in *lines, or what is wrong with the text. */
static const char *judge_text(const hg_kept *kept, char *text, size_t bytes, const char *key,
                              char **lines)
{
    const size_t key_bytes = strlen(key), head_bytes = strlen(kept->head);
    char end[32];
    char *line;
    size_t body;

    if (memchr(text, '\0', bytes) || bytes <= head_bytes ||
        strncmp(text, kept->head, head_bytes) != 0 || text[head_bytes] != '\n')
        return "it is not such a file";
    if (bytes < 21 || text[bytes - 1] != '\n')
        return "it is cut";
    body = bytes - 21; /* "end " and 16 digits and a newline */
    (void)snprintf(end, sizeof(end), "end %016" PRIx64 "\n", hash_bytes(HASH_START, text, body));
    if (strcmp(text + body, end) != 0)
        return "its checksum is wrong";
    line = text + head_bytes + 1;
    if (strncmp(line, key, key_bytes) != 0 || line[key_bytes] != '\n')
        return "it belongs to another device, driver or version";
    text[body] = '\0';
    *lines = line + key_bytes + 1;
    return NULL;
}

static void take_lines(char *line, void (*take)(void *user, const char *line), void *user)
{
    for (char *next; *line; line = next) {
        next = strchr(line, '\n');
        if (!next)
            return;
        *next++ = '\0';
        take(user, line);
    }
}

void hg_kept_read(const hg_engine *engine, const hg_kept *kept,
                  void (*take)(void *user, const char *line), void *user)
{
    char key[2 * LINE_BYTES_MAX];
    char *path = NULL, *text = NULL, *lines = NULL;
    FILE *file = NULL;
    const char *why = NULL;

    if (!engine->cache_dir)
        return;
    make_key(engine, key);
    path = make_path(engine, kept, key);
    file = path ? hg_os_open_regular(path) : NULL;
    if (path && !file && errno != ENOENT)
        why = "it cannot be opened as a regular file";
    text = file ? malloc(FILE_BYTES_MAX + 1) : NULL;
    if (text) {
        const size_t bytes = fread(text, 1, FILE_BYTES_MAX, file);

        text[bytes] = '\0';
        why =
            bytes == FILE_BYTES_MAX ? "it is too long" : judge_text(kept, text, bytes, key, &lines);
    }
    if (lines)
        take_lines(lines, take, user);
    if (why)
        hg_say(&engine->log, HG_LOG_INFO, "%s: not used, %s: %s", path, why, kept->again);
    if (file)
        (void)fclose(file);
    free(text);
    free(path);
}

/* ---- writing ---- */

void hg_kept_put(hg_kept_text *out, const char *format, ...)
{
    const size_t room = FILE_BYTES_MAX - out->bytes;
    va_list list;
    int length;

    va_start(list, format);
    length = vsnprintf(out->text + out->bytes, room, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= room)
        out->full = 1;
    else
        out->bytes += (size_t)length;
}

/* Whole or not at all: a temporary name, then the real one. */
static int write_file(const char *path, const char *text, size_t bytes)
{
    static const char ending[] = ".XXXXXX";
    const size_t path_bytes = strlen(path);
    char *temporary = malloc(path_bytes + sizeof(ending));
    int failed = -1;
    int fd;

    if (!temporary)
        return -1;
    (void)snprintf(temporary, path_bytes + sizeof(ending), "%s%s", path, ending);
    fd = mkstemp(temporary);
    if (fd >= 0) {
        failed = write(fd, text, bytes) == (ssize_t)bytes ? 0 : -1;
        if (close(fd) != 0)
            failed = -1;
        if (failed == 0)
            failed = rename(temporary, path);
        if (failed != 0)
            (void)unlink(temporary);
    }
    free(temporary);
    return failed;
}

void hg_kept_write(const hg_engine *engine, const hg_kept *kept,
                   void (*put)(void *user, hg_kept_text *out), void *user)
{
    hg_kept_text out = {0};
    char key[2 * LINE_BYTES_MAX];
    char *path = NULL;

    if (!engine->cache_dir)
        return;
    make_key(engine, key);
    path = make_path(engine, kept, key);
    out.text = malloc(FILE_BYTES_MAX);
    if (path && out.text) {
        hg_kept_put(&out, "%s\n%s\n", kept->head, key);
        put(user, &out);
        hg_kept_put(&out, "end %016" PRIx64 "\n", hash_bytes(HASH_START, out.text, out.bytes));
        /* The folder itself is made, the ones above it are the caller's. */
        if (out.full || (mkdir(engine->cache_dir, 0700) != 0 && errno != EEXIST) ||
            write_file(path, out.text, out.bytes) != 0)
            hg_say(&engine->log, HG_LOG_INFO, "%s: %s cannot be kept there", engine->cache_dir,
                   kept->name);
    }
    free(out.text);
    free(path);
}
