/* SPDX-License-Identifier: MIT */
/* Rows of the report: gathered, printed for people and for programs, and the commands in them. */
#include "doctor.h"

#include "doctor_search.h"
#include "json_writer.h"
#include "message.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    FOUND_SIZE = 2048,
    NAME_WIDTH_MAX = 22,
    NAME_WIDTH_WIDE = 30,
    TERMINAL_MIN = 60,
    TERMINAL_MAX = 160
};

static const char *const state_names[] = {"ok", "note", "wrong"};

static hg_doctor_row *new_row(hg_doctor *doctor)
{
    if (doctor->row_count == doctor->row_room) {
        const uint32_t room = doctor->row_room * 2 + 64;
        hg_doctor_row *rows = realloc(doctor->rows, room * sizeof(*rows));

        if (!rows)
            return NULL;
        doctor->rows = rows;
        doctor->row_room = room;
    }
    doctor->rows[doctor->row_count] = (hg_doctor_row){0};
    return &doctor->rows[doctor->row_count];
}

/* Names and sentences come from files and drivers. */
static char *tame(const char *text)
{
    char *copy = strdup(text);

    if (copy)
        hg_message_defuse(copy);
    return copy;
}

void hg_doctor_add(hg_doctor *doctor, hg_doctor_state state, const char *section, const char *name,
                   const char *remedy, const char *format, ...)
{
    char found[FOUND_SIZE];
    hg_doctor_row *row;
    va_list args;

    assert(state != HG_DOCTOR_WRONG || remedy);
    if (doctor->result != HG_OK)
        return;
    va_start(args, format);
    vsnprintf(found, sizeof(found), format, args);
    va_end(args);
    row = new_row(doctor);
    if (!row) {
        doctor->result = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        return;
    }
    row->section = section;
    row->state = state;
    row->name = tame(name);
    row->found = tame(found);
    row->remedy = remedy ? tame(remedy) : NULL;
    doctor->row_count++;
    if (!row->name || !row->found || (remedy && !row->remedy))
        doctor->result = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
}

uint32_t hg_doctor_count(const hg_doctor *doctor, hg_doctor_state state)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < doctor->row_count; i++)
        count += doctor->rows[i].state == state;
    return count;
}

void hg_doctor_free(hg_doctor *doctor)
{
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        free((char *)doctor->rows[i].name);
        free((char *)doctor->rows[i].found);
        free((char *)doctor->rows[i].remedy);
    }
    hg_doctor_free_trials(doctor);
    free(doctor->rows);
    free(doctor->devices);
    free(doctor->vulkan_good);
    *doctor = (hg_doctor){0};
}

/* --- for people --------------------------------------------------------------------------- */

typedef struct page_style {
    hg_output *output;
    uint32_t width; /* 0: lines are not broken */
    int colour;
    uint32_t name_width; /* of this section */
} page_style;

/* Columns of a text, near enough: characters. */
static uint32_t columns(const char *text)
{
    uint32_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void open_page(hg_output *output, int is_terminal, page_style *out)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size;

    *out = (page_style){.output = output};
    if (!is_terminal)
        return;
    out->width = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= TERMINAL_MIN)
        out->width = size.ws_col < TERMINAL_MAX ? size.ws_col : TERMINAL_MAX;
    out->colour = !(no_colour && *no_colour) && term && *term && strcmp(term, "dumb") != 0 ? 1 : 0;
}

/* Words from column `at` on; lines after the first begin at column `indent`. */
static hg_result print_wrapped(const page_style *page, uint32_t indent, uint32_t at,
                               const char *text)
{
    hg_result res = HG_OK;
    int first = 1;

    while (*text && res == HG_OK) {
        const size_t length = strcspn(text, " ");
        char word[FOUND_SIZE];
        uint32_t wide;

        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        wide = columns(word);
        if (!first && page->width && at + 1 + wide > page->width) {
            res = hg_output_format(page->output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            res = hg_output_text(page->output, " ");
            at++;
        }
        if (res == HG_OK)
            res = hg_output_text(page->output, word);
        at += wide;
        first = 0;
        text += length;
        text += *text == ' ';
    }
    return res;
}

static hg_result print_row(const page_style *page, const hg_doctor_row *row)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[1;31m"};
    enum { NAME_AT = 9 }; /* "  wrong  " */
    const uint32_t named = columns(row->name), indent = NAME_AT + page->name_width + 2;
    uint32_t at = NAME_AT + (named > page->name_width ? named : page->name_width) + 2;
    hg_result res;

    HG_TRY(hg_output_format(page->output, "  %s%-5s%s  %s%*s",
                            page->colour ? colours[row->state] : "", state_names[row->state],
                            page->colour ? "\033[0m" : "", row->name,
                            named < page->name_width ? (int)(page->name_width - named) : 0, ""));
    if (page->width && at > indent) { /* a long name has the line for itself */
        HG_TRY(hg_output_format(page->output, "\n%*s", (int)indent, ""));
        at = indent;
    } else {
        HG_TRY(hg_output_text(page->output, "  "));
    }
    HG_TRY(print_wrapped(page, indent, at, row->found));
    /* A command stays in one piece, to be copied. */
    if (row->remedy && page->width)
        HG_TRY(hg_output_format(page->output, "\n%*sfix: %s", NAME_AT + 2, "", row->remedy));
    else if (row->remedy)
        HG_TRY(hg_output_format(page->output, "; fix: %s", row->remedy));
    HG_TRY(hg_output_text(page->output, "\n"));
out:
    return res;
}

/* -q leaves out what is well. */
static int is_shown(const hg_doctor_row *row, int is_quiet)
{
    return !is_quiet || row->state != HG_DOCTOR_OK;
}

static uint32_t name_width(const hg_doctor *doctor, const char *section, uint32_t most)
{
    uint32_t width = 0;

    for (uint32_t i = 0; i < doctor->row_count; i++) {
        const hg_doctor_row *row = &doctor->rows[i];
        const uint32_t wide = columns(row->name);

        if (strcmp(row->section, section) == 0 && wide <= most && wide > width)
            width = wide;
    }
    return width;
}

static hg_result print_counts(const hg_doctor *doctor, hg_output *output)
{
    const uint32_t wrong = hg_doctor_count(doctor, HG_DOCTOR_WRONG);
    const uint32_t notes = hg_doctor_count(doctor, HG_DOCTOR_NOTE);

    return hg_output_format(output, "%u wrong%s, %u note%s\n", wrong,
                            wrong ? " (listed above with 'fix:')" : "", notes,
                            notes == 1 ? "" : "s");
}

hg_result hg_doctor_print(const hg_doctor *doctor, hg_output *output, int is_terminal, int is_quiet)
{
    const char *section = "";
    hg_result res;
    page_style page;
    uint32_t most;

    open_page(output, is_terminal, &page);
    /* Where there is room, a long name need not break the column. */
    most = page.width && page.width < 100 ? NAME_WIDTH_MAX : NAME_WIDTH_WIDE;
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        const hg_doctor_row *row = &doctor->rows[i];

        if (!is_shown(row, is_quiet))
            continue;
        if (strcmp(section, row->section) != 0) {
            HG_TRY(hg_output_format(output, "%s%s%s%s\n", *section ? "\n" : "",
                                    page.colour ? "\033[1m" : "", row->section,
                                    page.colour ? "\033[0m" : ""));
            section = row->section;
            page.name_width = name_width(doctor, section, most);
        }
        HG_TRY(print_row(&page, row));
    }
    if (*section)
        HG_TRY(hg_output_text(output, "\n"));
    res = print_counts(doctor, output);
out:
    return res;
}

hg_result hg_doctor_print_json(const hg_doctor *doctor, hg_output *output)
{
    hg_put put;

    hg_put_start(&put, output, "doctor");
    hg_put_text(&put, "version", HG_VERSION_STRING);
    hg_put_unsigned(&put, "wrong", hg_doctor_count(doctor, HG_DOCTOR_WRONG));
    hg_put_unsigned(&put, "notes", hg_doctor_count(doctor, HG_DOCTOR_NOTE));
    hg_put_array(&put, "rows");
    for (uint32_t i = 0; i < doctor->row_count; i++) {
        const hg_doctor_row *row = &doctor->rows[i];

        hg_put_object(&put, NULL);
        hg_put_text(&put, "section", row->section);
        hg_put_text(&put, "name", row->name);
        hg_put_text(&put, "state", state_names[row->state]);
        hg_put_text(&put, "found", row->found);
        hg_put_text(&put, "remedy", row->remedy);
        hg_put_end(&put);
    }
    hg_put_end(&put);
    hg_put_finish(&put);
    return HG_OK;
}

/* --- commands ----------------------------------------------------------------------------- */

const char *hg_doctor_variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

const char *hg_doctor_path(const hg_doctor *doctor, const char *path, char text[HG_PATH_SIZE])
{
    snprintf(text, HG_PATH_SIZE, "%s%s", doctor->root ? doctor->root : "", path);
    return text;
}

const char *hg_doctor_line(const hg_doctor *doctor, const char *path, char *text, size_t bytes)
{
    enum { LINE_BYTES_MAX = 64 << 10 };
    char full[HG_PATH_SIZE], why[160];
    char *all = hg_read_small(hg_doctor_path(doctor, path, full), LINE_BYTES_MAX, why);

    text[0] = '\0';
    if (all) {
        all[strcspn(all, "\n")] = '\0';
        snprintf(text, bytes, "%s", all);
    }
    free(all);
    return text;
}

const char *hg_doctor_sudo(void)
{
    return geteuid() == 0 ? "" : "sudo ";
}

static const char *install(const hg_doctor *doctor, const char *how, const char *packages,
                           char text[HG_COMMAND_SIZE])
{
    if (doctor->has_apt)
        snprintf(text, HG_COMMAND_SIZE, "%sapt-get %s %s", hg_doctor_sudo(), how, packages);
    else
        snprintf(text, HG_COMMAND_SIZE, "install what Debian calls %s", packages);
    return text;
}

const char *hg_doctor_install(const hg_doctor *doctor, const char *packages,
                              char text[HG_COMMAND_SIZE])
{
    return install(doctor, "install", packages, text);
}

const char *hg_doctor_reinstall(const hg_doctor *doctor, const char *packages,
                                char text[HG_COMMAND_SIZE])
{
    return install(doctor, "install --reinstall", packages, text);
}

const char *hg_doctor_quote(const char *path, char text[HG_COMMAND_SIZE])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=@,+%";
    size_t room = HG_COMMAND_SIZE - 2;
    char *at = text;

    if (*path && strspn(path, plain) == strlen(path) && strlen(path) < room) {
        memcpy(text, path, strlen(path) + 1);
        return text;
    }
    *at++ = '\'';
    for (; *path && room > 8; path++) {
        if (*path == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
            room -= 4;
        } else {
            *at++ = *path;
            room--;
        }
    }
    *at++ = '\'';
    *at = '\0';
    return text;
}

const char *hg_doctor_put_off(const char *path, char text[HG_COMMAND_SIZE])
{
    char quoted[HG_COMMAND_SIZE], off[HG_COMMAND_SIZE], target[HG_PATH_SIZE + 8],
        folder[HG_PATH_SIZE];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    snprintf(target, sizeof(target), "%s.off", path);
    snprintf(text, HG_COMMAND_SIZE, "%smv %.*s %.*s",
             slash && access(folder, W_OK) != 0 ? hg_doctor_sudo() : "", HG_PATH_SIZE + 16,
             hg_doctor_quote(path, quoted), HG_PATH_SIZE + 16, hg_doctor_quote(target, off));
    return text;
}
