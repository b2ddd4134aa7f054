/* SPDX-License-Identifier: MIT */
/*
 * The exact hashes that ship with the program. A line of exact-hashes.txt is
 *   REVISION WEIGHTS IDS LOGITS MAPS ALL NAME
 * with single spaces: sums in hex, ids as --ids takes them, a name for people. Lines that begin
 * with # say nothing.
 */
#include "exact_hash.h"

#include "message.h"
#include "numbers.h"
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIELD_COUNT = 7 };
enum { REVISION, WEIGHTS, IDS, LOGITS, MAPS, ALL, NAME };

/* Cuts a line at its spaces; 0 when it has not as many fields as it should, or an empty one. */
static int split(char *line, char *field[FIELD_COUNT])
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        char *space = strchr(line, ' ');

        field[i] = line;
        if (*line == ' ' || *line == '\0' || !space != (i == FIELD_COUNT - 1))
            return 0;
        if (space) {
            *space = '\0';
            line = space + 1;
        }
    }
    return 1;
}

/* *same: whether the text has these ids. HG_ERR_ARGUMENT: it has none. */
static hg_result compare_ids(const char *text, const int32_t *ids, uint32_t count, int *same)
{
    const char *reason;
    int32_t *found = NULL;
    uint32_t found_count = 0;
    hg_result res = hg_ids_parse(text, strlen(text), &found, &found_count, &reason);

    *same = res == HG_OK && found_count == count &&
            (count == 0 || memcmp(found, ids, count * sizeof(*ids)) == 0);
    free(found);
    if (res == HG_OK && found_count == 0)
        res = HG_ERR_ARGUMENT;
    return res;
}

/* HG_ERR_ARGUMENT: the line is none of ours. */
static hg_result read_line(char *line, const char *weights_sha256, const int32_t *ids,
                           uint32_t count, hg_shipped *out)
{
    char *field[FIELD_COUNT];
    int same = 0;
    hg_result res;

    if (line[0] == '#' || line[0] == '\0')
        return HG_OK;
    if (!split(line, field) || !hg_sha256_is(field[WEIGHTS]) || !hg_sha256_is(field[LOGITS]) ||
        !hg_sha256_is(field[MAPS]) || !hg_sha256_is(field[ALL]))
        return HG_ERR_ARGUMENT;
    res = compare_ids(field[IDS], ids, count, &same);
    if (res != HG_OK)
        return res;
    if (!same || strcmp(field[REVISION], HG_EXACT_REVISION) != 0 ||
        strcmp(field[WEIGHTS], weights_sha256) != 0)
        return HG_OK;
    out->listed = 1;
    memcpy(out->logits, field[LOGITS], HG_SHA256_TEXT);
    memcpy(out->maps, field[MAPS], HG_SHA256_TEXT);
    memcpy(out->all, field[ALL], HG_SHA256_TEXT);
    return HG_OK;
}

static hg_result read_file(const char *path, char *text, size_t bytes, const char *weights_sha256,
                           const int32_t *ids, uint32_t count, hg_shipped *out)
{
    char *line = text;

    for (uint32_t number = 1; line < text + bytes; number++) {
        char *end = memchr(line, '\n', (size_t)(text + bytes - line));
        hg_result res = HG_ERR_ARGUMENT;

        /* A NUL would hide the rest of its line; a line without an end is one that was cut. */
        if (end) {
            *end = '\0';
            if (strlen(line) == (size_t)(end - line))
                res = read_line(line, weights_sha256, ids, count, out);
        }
        if (res == HG_ERR_ARGUMENT)
            return hg_message_fail(HG_ERR_FILE,
                                   "%s, line %u: expected REVISION WEIGHTS IDS LOGITS MAPS ALL "
                                   "NAME, found something else",
                                   path, number);
        if (res != HG_OK)
            return hg_message_fail(res, "out of memory");
        line = end + 1;
    }
    return HG_OK;
}

hg_result hg_shipped_find(const hg_args *args, const char *weights_sha256, const int32_t *ids,
                          uint32_t count, hg_shipped *out)
{
    char folder[HG_PATH_SIZE], path[HG_PATH_SIZE + 32];
    char *text = NULL;
    size_t bytes = 0;
    hg_result res;

    memset(out, 0, sizeof(*out));
    if (hg_args_count(args, HG_OPTION_SAMPLES)) {
        HG_TRY(hg_samples_find(args, folder));
    } else if (!hg_samples_look(folder)) {
        hg_message(HG_LOG_INFO, "no folder of samples: no shipped hashes to compare with");
        return HG_OK;
    }
    snprintf(path, sizeof(path), "%s/exact-hashes.txt", folder);
    if (!hg_args_count(args, HG_OPTION_SAMPLES) && access(path, F_OK) != 0) {
        hg_message(HG_LOG_INFO, "no %s: no shipped hashes to compare with", path);
        return HG_OK;
    }
    HG_TRY(hg_prompt_slurp(path, &text, &bytes));
    res = read_file(path, text, bytes, weights_sha256, ids, count, out);
out:
    free(text);
    return res;
}
