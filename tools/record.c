/* SPDX-License-Identifier: MIT */
/* See record.h. */
#include "record.h"

#include "app.h"
#include "child.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { META_BYTES_MAX = 16 << 20, DEFAULT_BYTES = 8 << 20 };

typedef struct text_key {
    const char *key;
    size_t offset;
} text_key;

static const text_key text_keys[] = {
    {"program", offsetof(hg_record_meta, program)},
    {"exact-revision", offsetof(hg_record_meta, revision)},
    {"device", offsetof(hg_record_meta, device)},
    {"driver", offsetof(hg_record_meta, driver)},
    {"driver-version", offsetof(hg_record_meta, driver_version)},
    {"api", offsetof(hg_record_meta, api)},
    {"selector", offsetof(hg_record_meta, selector)},
    {"precision", offsetof(hg_record_meta, precision)},
    {"model", offsetof(hg_record_meta, model)},
    {"weights-sha256", offsetof(hg_record_meta, weights)},
    {"date", offsetof(hg_record_meta, date)},
};

enum { TEXT_KEYS = sizeof(text_keys) / sizeof(text_keys[0]) };

char *hg_record_meta_text(const hg_record_meta *meta)
{
    const size_t room = 4096 + TEXT_KEYS * (HG_RECORD_TEXT + 32) + (size_t)meta->id_count * 12;
    char *text = malloc(room);
    size_t at = 0;

    if (!text)
        return NULL;
    at += (size_t)snprintf(text, room, "format %d\n", HG_RECORD_FORMAT);
    for (size_t i = 0; i < TEXT_KEYS; i++) {
        char value[HG_RECORD_TEXT];

        snprintf(value, sizeof(value), "%s", (const char *)meta + text_keys[i].offset);
        hg_message_defuse(value); /* a line is a line */
        at += (size_t)snprintf(text + at, room - at, "%s %s\n", text_keys[i].key, value);
    }
    at += (size_t)snprintf(text + at, room - at, "tokens-per-second %.9g\npiece %u\nmap-pool %u\n",
                           meta->tokens_per_s, meta->piece, meta->map_pool);
    at += (size_t)snprintf(text + at, room - at, "ids");
    for (uint32_t i = 0; i < meta->id_count; i++)
        at += (size_t)snprintf(text + at, room - at, "%c%d", i ? ',' : ' ', meta->ids[i]);
    snprintf(text + at, room - at, "\n");
    return text;
}

static hg_result say(const char *what, const char *found)
{
    if (!what)
        return HG_ERR_FILE;
    return hg_message_fail(HG_ERR_FILE, "%s is no record of stages that this version can read: %s",
                           what, found);
}

static hg_result say_other(const char *path)
{
    return hg_message_fail(
        HG_ERR_FILE, "%s is not a .hgr file: expected what `headgate compare --save` wrote", path);
}

static int parse_u32(const char *text, uint32_t *out)
{
    char *end = NULL;
    unsigned long value;

    errno = 0;
    value = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!end || *end || errno || value > UINT32_MAX)
        return 0;
    *out = (uint32_t)value;
    return 1;
}

static hg_result parse_ids(const char *what, char *text, hg_record_meta *out)
{
    uint32_t count = *text ? 1 : 0;

    for (const char *c = text; *c; c++)
        count += *c == ',';
    if (count > HG_RECORD_IDS_MAX || out->ids)
        return say(what, "too many token ids");
    out->ids = malloc(((size_t)count + 1) * sizeof(*out->ids));
    if (!out->ids)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for %u ids", count);
    while (*text) {
        char *comma = strchr(text, ',');
        uint32_t id = 0;

        if (comma)
            *comma = '\0';
        if (!parse_u32(text, &id) || id > INT32_MAX)
            return say(what, "a token id that is no number");
        out->ids[out->id_count++] = (int32_t)id;
        text = comma ? comma + 1 : text + strlen(text);
    }
    return HG_OK;
}

static hg_result parse_line(const char *what, const char *key, char *value, hg_record_meta *out)
{
    uint32_t format = 0;

    for (size_t i = 0; i < TEXT_KEYS; i++) {
        if (strcmp(key, text_keys[i].key) == 0) {
            hg_message_defuse(value);
            snprintf((char *)out + text_keys[i].offset, HG_RECORD_TEXT, "%s", value);
            return HG_OK;
        }
    }
    if (strcmp(key, "format") == 0) {
        if (!parse_u32(value, &format) || format == 0)
            return say(what, "its format has no number");
        if (format > HG_RECORD_FORMAT)
            return say(what, "it is of a newer format: install a newer headgate");
    } else if (strcmp(key, "piece") == 0) {
        if (!parse_u32(value, &out->piece))
            return say(what, "its piece is no number");
    } else if (strcmp(key, "map-pool") == 0) {
        if (!parse_u32(value, &out->map_pool))
            return say(what, "its map-pool is no number");
    } else if (strcmp(key, "tokens-per-second") == 0) {
        out->tokens_per_s = strtod(value, NULL);
        if (!isfinite(out->tokens_per_s) || out->tokens_per_s < 0)
            out->tokens_per_s = 0;
    } else if (strcmp(key, "ids") == 0) {
        return parse_ids(what, value, out);
    }
    return HG_OK;
}

hg_result hg_record_meta_parse(const char *what, char *text, size_t bytes, hg_record_meta *out)
{
    char *at = text;
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    if (bytes == 0 || memchr(text, 0, bytes) || text[bytes - 1] != '\n' ||
        strncmp(text, "format ", 7) != 0)
        return say(what, "it does not begin with lines of keys");
    text[bytes - 1] = '\0';
    while (at) {
        char *end = strchr(at, '\n'), *space;

        if (end)
            *end = '\0';
        space = strchr(at, ' ');
        if (space)
            *space = '\0';
        HG_TRY(parse_line(what, at, space ? space + 1 : at + strlen(at), out));
        at = end ? end + 1 : NULL;
    }
out:
    if (res != HG_OK)
        hg_record_meta_free(out);
    return res;
}

void hg_record_meta_free(hg_record_meta *meta)
{
    free(meta->ids);
    memset(meta, 0, sizeof(*meta));
}

/* size bytes at *at of the file, or less at its end. */
static size_t read_some(int fd, uint64_t at, void *out, size_t size)
{
    size_t done = 0;

    while (done < size) {
        const ssize_t part = pread(fd, (uint8_t *)out + done, size - done, (off_t)(at + done));

        if (part < 0 && errno == EINTR)
            continue;
        if (part <= 0)
            break;
        done += (size_t)part;
    }
    return done;
}

/* The file that is being read. Values are copied, so that nobody changes them afterwards. */
typedef struct source {
    const char *path;
    int fd;
    uint64_t bytes;
} source;

static hg_result read_meta(const source *from, hg_record *r, uint64_t at, uint64_t bytes)
{
    const char *path = from->path;
    char *text;
    hg_result res;

    if (bytes > META_BYTES_MAX)
        return say(path, "its first part is too long");
    text = malloc((size_t)bytes + 1);
    if (!text)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory to read %s", path);
    if (read_some(from->fd, at, text, (size_t)bytes) != bytes)
        res = say(path, "it is cut short");
    else
        res = hg_record_meta_parse(path, text, (size_t)bytes, &r->meta);
    free(text);
    return res;
}

static hg_result read_stage(const source *from, hg_record *r, uint64_t at, uint64_t bytes)
{
    uint8_t head_bytes[HG_STAGE_HEAD_BYTES], sum[HG_SHA256_BYTES];
    char label[64];
    hg_stage_head head;
    float *values = NULL;
    hg_result res = HG_OK;

    if (bytes < sizeof(head_bytes) ||
        read_some(from->fd, at, head_bytes, sizeof(head_bytes)) != sizeof(head_bytes) ||
        !hg_stage_head_decode(head_bytes, &head) || head.pass != HG_PASS_FREE || head.has_allowed ||
        hg_stage_frame_bytes(&head) != bytes)
        return say(from->path, "a stage in it is broken");
    if (!head.has_values)
        return hg_spool_append(&r->spool, &head, NULL, NULL);
    values = malloc((size_t)head.count * sizeof(*values));
    if (!values)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory to read %s", from->path);
    if (read_some(from->fd, at + HG_STAGE_HEAD_BYTES, values, (size_t)head.count * 4) !=
        head.count * 4) {
        res = say(from->path, "it is cut short");
        goto out;
    }
    HG_TRY(hg_sha256(values, head.count * 4, sum));
    if (memcmp(sum, head.sha256, sizeof(sum)) != 0)
        res =
            hg_message_fail(HG_ERR_FILE,
                            "%s is damaged: its values of %s do not have the sha256 that they were "
                            "saved with; copy it once more",
                            from->path, hg_stage_head_label(&head, label));
    else
        res = hg_spool_append(&r->spool, &head, values, NULL);
out:
    free(values);
    return res;
}

/* Frames until DONE, which has to be the end. */
static hg_result read_frames(const source *from, hg_record *r)
{
    const char *path = from->path;
    uint64_t at = 0;
    uint8_t bytes[HG_FRAME_HEAD_BYTES], done[4];
    hg_frame frame;
    hg_result res = HG_OK;

    if (read_some(from->fd, at, bytes, 4) != 4 || memcmp(bytes, "META", 4) != 0)
        return say_other(path);
    for (;;) {
        if (read_some(from->fd, at, bytes, sizeof(bytes)) != sizeof(bytes))
            return say(path, "it is cut short");
        if (!hg_frame_parse(bytes, &frame))
            return say(path, "a part of it has no head");
        at += sizeof(bytes);
        if (frame.bytes > from->bytes || at > from->bytes - frame.bytes)
            return say(path, "it is cut short");
        if ((at == sizeof(bytes)) != (strcmp(frame.tag, "META") == 0))
            return say(path, "it does not begin with who made it");
        if (strcmp(frame.tag, "META") == 0)
            HG_TRY(read_meta(from, r, at, frame.bytes));
        else if (strcmp(frame.tag, "STAG") == 0)
            HG_TRY(read_stage(from, r, at, frame.bytes));
        else if (strcmp(frame.tag, "DONE") == 0)
            break; /* other parts are a newer version's, and are passed over */
        at += frame.bytes;
    }
    if (frame.bytes != 4 || read_some(from->fd, at, done, 4) != 4 ||
        hg_get_u32(done) != r->spool.count || at + 4 != from->bytes)
        return say(path, "its end does not fit what is before");
out:
    return res;
}

static hg_result check_record(const char *path, const hg_record *r)
{
    if (r->meta.id_count == 0 || r->spool.count == 0)
        return say(path, "it holds no stages of any tokens");
    if (r->meta.piece > r->meta.id_count || r->meta.map_pool > r->meta.id_count)
        return say(path, "its pieces or maps are larger than its prompt");
    return HG_OK;
}

hg_result hg_record_open(const char *path, hg_record *out)
{
    struct stat status;
    source from = {.path = path};
    hg_result res = HG_OK;

    memset(out, 0, sizeof(*out));
    out->spool.fd = -1;
    snprintf(out->name, sizeof(out->name), "%s", path);
    from.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (from.fd < 0)
        return hg_message_fail(HG_ERR_FILE, "%s cannot be read: %s", path, strerror(errno));
    if (fstat(from.fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        res = say_other(path);
        goto out;
    }
    from.bytes = (uint64_t)status.st_size;
    HG_TRY(hg_spool_create(&out->spool));
    HG_TRY(read_frames(&from, out));
    HG_TRY(check_record(path, out));
out:
    close(from.fd);
    if (res != HG_OK)
        hg_record_close(out);
    return res;
}

void hg_record_close(hg_record *record)
{
    hg_record_meta_free(&record->meta);
    hg_spool_close(&record->spool);
}

static int listed(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return 1;
    return 0;
}

/* The default: what says most comes first, and only whole kinds of stages, so that every layer of a
 * kind is there. */
static void choose_default(const hg_spool *spool, char list[HG_RECORD_TEXT])
{
    static const char *const wanted[] = {"logits", "residual", "attn_out", "gates", "attn_probs"};
    uint64_t total = 0;

    list[0] = '\0';
    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < spool->count; i++)
            if (strcmp(spool->entries[i].head.name, wanted[w]) == 0)
                bytes += spool->entries[i].head.count * 4;
        if (total + bytes > DEFAULT_BYTES)
            continue;
        total += bytes;
        snprintf(list + strlen(list), HG_RECORD_TEXT - strlen(list), "%s%s", *list ? "," : "",
                 wanted[w]);
    }
}

hg_result hg_record_check_keep(const char *keep)
{
    /* Of hg_stage.name in headgate/session.h. */
    static const char *const names[] = {"embedding",
                                        "attn_norm",
                                        "q_gate",
                                        "k",
                                        "v",
                                        "q",
                                        "gate_logits",
                                        "q_rope",
                                        "k_rope",
                                        "attn_probs",
                                        "attn_out",
                                        "attn_stats",
                                        "attn_ungated",
                                        "gates",
                                        "attn_proj",
                                        "attn_residual",
                                        "mlp_norm",
                                        "mlp_gate",
                                        "mlp_up",
                                        "mlp_act",
                                        "mlp_down",
                                        "residual",
                                        "final_norm",
                                        "logits"};

    if (!keep || strcmp(keep, "all") == 0 || strcmp(keep, "none") == 0)
        return HG_OK;
    for (const char *at = keep; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        int is_known = 0;

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !is_known; i++)
            is_known = strlen(names[i]) == length && strncmp(names[i], at, length) == 0;
        if (!is_known)
            return hg_message_fail(
                HG_ERR_ARGUMENT,
                "--values: there is no stage '%.*s'; `headgate compare -v` lists "
                "them",
                (int)length, at);
    }
    return HG_OK;
}

static hg_result put_frame(hg_output *output, const char tag[4], const void *head,
                           uint64_t head_bytes, const void *rest, uint64_t rest_bytes)
{
    uint8_t start[HG_FRAME_HEAD_BYTES];
    hg_result res = HG_OK;

    hg_frame_head(tag, head_bytes + rest_bytes, start);
    HG_TRY(hg_output_write(output, start, sizeof(start)));
    HG_TRY(hg_output_write(output, head, (size_t)head_bytes));
    if (rest_bytes)
        HG_TRY(hg_output_write(output, rest, (size_t)rest_bytes));
out:
    return res;
}

static hg_result put_stage(hg_output *output, const hg_spool *spool, uint32_t index, int keep)
{
    hg_stage_head head = spool->entries[index].head;
    uint8_t bytes[HG_STAGE_HEAD_BYTES];
    float *values = NULL;
    hg_result res = HG_OK;

    head.has_allowed = 0;
    head.has_values = keep && spool->entries[index].values_at != 0;
    hg_stage_head_encode(&head, bytes);
    if (head.has_values) {
        values = malloc((size_t)head.count * sizeof(*values));
        if (!values)
            return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a stage");
        HG_TRY(hg_spool_values(spool, index, values));
    }
    HG_TRY(put_frame(output, "STAG", bytes, sizeof(bytes), values,
                     head.has_values ? head.count * 4 : 0));
out:
    free(values);
    return res;
}

hg_result hg_record_save(hg_output *output, const hg_record_meta *meta, const hg_spool *spool,
                         const char *keep)
{
    char chosen[HG_RECORD_TEXT];
    char *text = hg_record_meta_text(meta);
    uint8_t done[4];
    hg_result res = HG_OK;

    if (!text)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no memory for a record");
    if (!keep) {
        choose_default(spool, chosen);
        keep = chosen;
    }
    HG_TRY(put_frame(output, "META", text, strlen(text), NULL, 0));
    for (uint32_t i = 0; i < spool->count; i++)
        HG_TRY(put_stage(output, spool, i,
                         strcmp(keep, "all") == 0 || listed(keep, spool->entries[i].head.name)));
    hg_put_u32(done, spool->count);
    HG_TRY(put_frame(output, "DONE", done, sizeof(done), NULL, 0));
out:
    free(text);
    return res;
}
