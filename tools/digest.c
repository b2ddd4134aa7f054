/* SPDX-License-Identifier: MIT */
/* The sha256 of weight files on a thread, with its cache. See provenance.h. */
#include "provenance.h"

#include "interrupt.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 20, DIGEST_BYTES = 32 };

typedef struct weight_file {
    char *path;
    char hex[HG_SHA256_TEXT]; /* "" until known */
} weight_file;

struct hg_weights_digest {
    weight_file *files;
    uint32_t count;
    char cache[HG_PATH_SIZE + 16]; /* folder, "" when there is none */
    pthread_t thread;
    int running; /* the thread has been started and not joined */
    atomic_int stop, done;
    int failed; /* errno of the file that could not be read */
    char result[HG_SHA256_TEXT];
};

void hg_sha256_text(const unsigned char *bytes, char hex[HG_SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < DIGEST_BYTES; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * DIGEST_BYTES] = '\0';
}

int hg_sha256_is(const char *text)
{
    return strlen(text) == 2 * DIGEST_BYTES && strspn(text, "0123456789abcdef") == 2 * DIGEST_BYTES;
}

/* ".../blobs/<64 hex digits>": the Hugging Face cache names large files by their sha256. */
static int from_blob_name(const char *real, char hex[HG_SHA256_TEXT])
{
    const char *name = strrchr(real, '/');
    static const char folder[] = "/blobs";
    size_t length = name ? (size_t)(name - real) : 0;

    if (!name || !hg_sha256_is(name + 1) || length < sizeof(folder) - 1 ||
        memcmp(name - (sizeof(folder) - 1), folder, sizeof(folder) - 1) != 0)
        return 0;
    memcpy(hex, name + 1, HG_SHA256_TEXT);
    return 1;
}

/* What must be the same for a remembered sha256 to hold. */
static void describe_file(const struct stat *status, const char *real, char *text, size_t bytes)
{
    snprintf(text, bytes, "1 %" PRIu64 " %" PRId64 ".%09ld %" PRId64 ".%09ld %" PRIu64 " %s\n",
             (uint64_t)status->st_size, (int64_t)status->st_mtim.tv_sec, status->st_mtim.tv_nsec,
             (int64_t)status->st_ctim.tv_sec, status->st_ctim.tv_nsec, (uint64_t)status->st_ino,
             real);
}

static int cache_path(const hg_weights_digest *digest, const char *real, char *path, size_t bytes)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    char hex[HG_SHA256_TEXT];

    if (!digest->cache[0] || !EVP_Digest(real, strlen(real), sum, NULL, EVP_sha256(), NULL))
        return 0;
    hg_sha256_text(sum, hex);
    hex[32] = '\0';
    return snprintf(path, bytes, "%s/%s", digest->cache, hex) < (int)bytes;
}

static int recall(const hg_weights_digest *digest, const char *real, const struct stat *status,
                  char hex[HG_SHA256_TEXT])
{
    char path[HG_PATH_SIZE + 80], want[HG_PATH_SIZE + 128], have[HG_PATH_SIZE + 128], sum[80] = "";
    struct stat found;
    int same = 0, fd;
    FILE *file;

    if (!cache_path(digest, real, path, sizeof(path)))
        return 0;
    /* Whatever else lies there under that name (a pipe would wait for ever) is no entry. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return 0;
    file = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? fdopen(fd, "rb") : NULL;
    if (!file) {
        close(fd);
        return 0;
    }
    describe_file(status, real, want, sizeof(want));
    if (fgets(have, sizeof(have), file) && strcmp(have, want) == 0 &&
        fgets(sum, sizeof(sum), file)) {
        sum[strcspn(sum, "\n")] = '\0';
        same = hg_sha256_is(sum);
    }
    fclose(file);
    if (same)
        memcpy(hex, sum, HG_SHA256_TEXT);
    return same;
}

/* Best effort. A file that changed within the last two seconds may change again within its time
 * stamp. */
static void remember(const hg_weights_digest *digest, const char *real, const struct stat *status,
                     const char *hex)
{
    char path[HG_PATH_SIZE + 80], temporary[HG_PATH_SIZE + 96], text[HG_PATH_SIZE + 128];
    time_t now = time(NULL);
    FILE *file;
    int fd, written;

    if (now - status->st_mtim.tv_sec < 2 || !cache_path(digest, real, path, sizeof(path)))
        return;
    if (mkdir(digest->cache, 0700) != 0 && errno != EEXIST)
        return;
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    fd = mkstemp(temporary);
    if (fd < 0)
        return;
    file = fdopen(fd, "wb");
    if (!file) {
        close(fd);
        unlink(temporary);
        return;
    }
    describe_file(status, real, text, sizeof(text));
    written = fprintf(file, "%s%s\n", text, hex) > 0;
    if (fclose(file) != 0 || !written || rename(temporary, path) != 0)
        unlink(temporary);
}

static int sum_file(hg_weights_digest *digest, int fd, char hex[HG_SHA256_TEXT])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *chunk = malloc(CHUNK_BYTES), sum[EVP_MAX_MD_SIZE];
    int error = ENOMEM;

    if (!context || !chunk || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
        goto out;
    for (;;) {
        ssize_t count = read(fd, chunk, CHUNK_BYTES);

        if (atomic_load(&digest->stop)) {
            error = EINTR;
            goto out;
        }
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            error = errno;
            goto out;
        }
        if (count == 0)
            break;
        if (!EVP_DigestUpdate(context, chunk, (size_t)count))
            goto out;
    }
    if (!EVP_DigestFinal_ex(context, sum, NULL))
        goto out;
    hg_sha256_text(sum, hex);
    error = 0;
out:
    free(chunk);
    EVP_MD_CTX_free(context);
    return error;
}

/* 0, or an errno. */
static int sum_weight(hg_weights_digest *digest, weight_file *weight)
{
    char *real = realpath(weight->path, NULL);
    struct stat status;
    int fd = -1, error = errno;

    if (!real)
        return error;
    error = 0;
    if (from_blob_name(real, weight->hex))
        goto out;
    fd = open(real, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        error = errno;
        goto out;
    }
    if (recall(digest, real, &status, weight->hex))
        goto out;
    error = sum_file(digest, fd, weight->hex);
    if (error == 0)
        remember(digest, real, &status, weight->hex);
out:
    if (fd >= 0)
        close(fd);
    free(real);
    return error;
}

/* Over lines as sha256sum prints them. */
static int sum_list(hg_weights_digest *digest)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char sum[EVP_MAX_MD_SIZE];
    int good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);

    for (uint32_t i = 0; good && i < digest->count; i++) {
        const weight_file *file = &digest->files[i];
        const char *slash = strrchr(file->path, '/');
        const char *name = slash ? slash + 1 : file->path;

        good = EVP_DigestUpdate(context, file->hex, strlen(file->hex)) &&
               EVP_DigestUpdate(context, "  ", 2) &&
               EVP_DigestUpdate(context, name, strlen(name)) && EVP_DigestUpdate(context, "\n", 1);
    }
    good = good && EVP_DigestFinal_ex(context, sum, NULL);
    if (good)
        hg_sha256_text(sum, digest->result);
    EVP_MD_CTX_free(context);
    return good ? 0 : ENOMEM;
}

static void *work(void *user)
{
    hg_weights_digest *digest = user;

    for (uint32_t i = 0; i < digest->count && !digest->failed; i++)
        digest->failed = sum_weight(digest, &digest->files[i]);
    if (!digest->failed && digest->count == 1)
        memcpy(digest->result, digest->files[0].hex, HG_SHA256_TEXT);
    else if (!digest->failed)
        digest->failed = sum_list(digest);
    atomic_store(&digest->done, 1);
    return NULL;
}

hg_result hg_weights_digest_start(hg_app *app, const hg_checkpoint *checkpoint,
                                  hg_weights_digest **out)
{
    hg_weights_digest *digest = calloc(1, sizeof(*digest));
    const char *cache = hg_app_cache(app), *path;
    uint64_t bytes;

    *out = NULL;
    if (!digest)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    if (cache)
        snprintf(digest->cache, sizeof(digest->cache), "%s/weights", cache);
    while (hg_checkpoint_file(checkpoint, digest->count, &bytes))
        digest->count++;
    digest->files = calloc((size_t)digest->count + 1, sizeof(*digest->files));
    for (uint32_t i = 0; digest->files && i < digest->count; i++) {
        path = hg_checkpoint_file(checkpoint, i, &bytes);
        digest->files[i].path = malloc(strlen(path) + 1);
        if (!digest->files[i].path)
            break;
        memcpy(digest->files[i].path, path, strlen(path) + 1);
    }
    if (!digest->files || (digest->count && !digest->files[digest->count - 1].path) ||
        pthread_create(&digest->thread, NULL, work, digest) != 0) {
        hg_weights_digest_free(&digest);
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    }
    digest->running = 1;
    *out = digest;
    return HG_OK;
}

static void join_thread(hg_weights_digest *digest)
{
    if (digest->running)
        pthread_join(digest->thread, NULL);
    digest->running = 0;
}

hg_result hg_weights_digest_wait(hg_weights_digest *digest, char hex[HG_SHA256_TEXT])
{
    static const struct timespec nap = {0, 2000000};

    /* Not join alone: a signal must not wait for gigabytes. */
    while (!atomic_load(&digest->done) && !hg_interrupt_pending())
        nanosleep(&nap, NULL);
    if (hg_interrupt_pending())
        return HG_CANCELLED;
    join_thread(digest);
    if (digest->failed) {
        hg_message(HG_LOG_WARNING, "the sha256 of the weights is unknown: %s",
                   strerror(digest->failed));
        snprintf(hex, HG_SHA256_TEXT, "unknown");
        return HG_OK;
    }
    memcpy(hex, digest->result, HG_SHA256_TEXT);
    return HG_OK;
}

void hg_weights_digest_free(hg_weights_digest **digest)
{
    hg_weights_digest *d = *digest;

    *digest = NULL;
    if (!d)
        return;
    atomic_store(&d->stop, 1);
    join_thread(d);
    for (uint32_t i = 0; d->files && i < d->count; i++)
        free(d->files[i].path);
    free(d->files);
    free(d);
}
