/* SPDX-License-Identifier: MIT */
/*
 * NFC by utf8proc, a cluster at a time, so that every byte of the result knows the bytes of the
 * source that it stands for. A cluster is a character and what may combine with it; most are one
 * character that is its own NFC and are copied. Reordering is done here: utf8proc's takes the
 * square of a run of marks.
 */
#include "tokenizer_parts.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_MARK = 0x300
}; /* below it every character is its own NFC and combines with none before */

int hg_stretch_reserve(hg_stretch *stretch, size_t bytes)
{
    size_t text_capacity = stretch->capacity, begin_capacity = stretch->capacity;
    size_t end_capacity = stretch->capacity;
    int ok;

    if (bytes <= stretch->capacity)
        return 1;
    ok = hg_array_reserve(&stretch->owned, &text_capacity, bytes, 1) &&
         hg_array_reserve(&stretch->begin, &begin_capacity, bytes, sizeof(*stretch->begin)) &&
         hg_array_reserve(&stretch->end, &end_capacity, bytes, sizeof(*stretch->end));
    if (ok)
        stretch->capacity = end_capacity;
    return ok;
}

void hg_stretch_source(const hg_stretch *stretch, size_t first, size_t last, uint32_t *begin,
                       uint32_t *end)
{
    if (stretch->owned) {
        *begin = stretch->begin[first];
        *end = stretch->end[last];
    } else {
        *begin = stretch->base + (uint32_t)first;
        *end = stretch->base + (uint32_t)last + 1;
    }
}

void hg_stretch_release(hg_stretch *stretch)
{
    free(stretch->owned);
    free(stretch->begin);
    free(stretch->end);
    *stretch = (hg_stretch){0};
}

int hg_nfc_is_boundary(uint32_t code)
{
    const utf8proc_property_t *property;

    if (code < FIRST_MARK)
        return 1;
    if (code == 0x11A7) /* stands before the finals and is none; some utf8proc would swallow it */
        return 1;
    if ((code >= 0x1160 && code <= 0x11FF) || (code >= 0x16D40 && code <= 0x16D7F))
        return 0; /* Hangul vowels and finals, Kirat Rai vowels: letters that join one before */
    property = utf8proc_get_property((utf8proc_int32_t)code);
    return property->combining_class == 0 && property->category != UTF8PROC_CATEGORY_MN &&
           property->category != UTF8PROC_CATEGORY_MC && property->category != UTF8PROC_CATEGORY_ME;
}

typedef struct composer {
    utf8proc_int32_t *codes, *sorted;
    size_t count, capacity, sorted_capacity;
} composer;

static uint32_t class_of(utf8proc_int32_t code)
{
    return (uint32_t)utf8proc_get_property(code)->combining_class;
}

/* Stable by combining class, by counting. */
static int sort_marks(composer *work, size_t first, size_t last)
{
    size_t starts[257] = {0};
    size_t i;

    if (!hg_array_reserve(&work->sorted, &work->sorted_capacity, last - first,
                          sizeof(*work->sorted)))
        return 0;
    for (i = first; i < last; i++)
        starts[class_of(work->codes[i]) + 1]++;
    for (i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (i = first; i < last; i++)
        work->sorted[starts[class_of(work->codes[i])]++] = work->codes[i];
    memcpy(work->codes + first, work->sorted, (last - first) * sizeof(*work->sorted));
    return 1;
}

static int order_marks(composer *work)
{
    size_t at = 0;

    while (at < work->count) {
        size_t first = at;
        uint32_t previous = 0;
        int ordered = 1;
        for (; at < work->count; at++) {
            uint32_t class = class_of(work->codes[at]);
            if (class == 0)
                break;
            ordered = ordered && previous <= class;
            previous = class;
        }
        if (!ordered && !sort_marks(work, first, at))
            return 0;
        at++;
    }
    return 1;
}

/* NFC of one cluster into work->codes. 0: out of memory. */
static int compose(composer *work, const char *text, size_t bytes)
{
    enum { ROOM = 32 }; /* more than any character decomposes to */
    size_t at = 0;
    utf8proc_ssize_t length;

    work->count = 0;
    while (at < bytes) {
        uint32_t code;
        int last_class = 0;
        at += hg_utf8_next(text + at, bytes - at, &code);
        if (!hg_array_reserve(&work->codes, &work->capacity, work->count + ROOM,
                              sizeof(*work->codes)))
            return 0;
        length = utf8proc_decompose_char((utf8proc_int32_t)code, work->codes + work->count, ROOM,
                                         UTF8PROC_DECOMPOSE, &last_class);
        if (length < 1 ||
            length > ROOM) { /* a character that utf8proc does not know stays itself */
            work->codes[work->count] = (utf8proc_int32_t)code;
            length = 1;
        }
        work->count += (size_t)length;
    }
    if (!order_marks(work))
        return 0;
    length = utf8proc_normalize_utf32(work->codes, (utf8proc_ssize_t)work->count,
                                      UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    if (length > 0)
        work->count = (size_t)length;
    return 1;
}

/* Bytes of the cluster at text, which begins with a whole character. */
static size_t cluster_length(const char *text, size_t bytes, uint32_t *code)
{
    size_t at = hg_utf8_next(text, bytes, code);

    while (at < bytes && (unsigned char)text[at] >= 0xCC) { /* below: U+0000 to U+02FF */
        uint32_t next;
        size_t length = hg_utf8_next(text + at, bytes - at, &next);
        if (hg_nfc_is_boundary(next))
            break;
        at += length;
    }
    return at;
}

/* Appends source bytes as they are, each standing for itself. */
static int append_same(hg_stretch *out, const hg_stretch *in, size_t from, size_t bytes)
{
    size_t i;

    if (!hg_stretch_reserve(out, out->bytes + bytes))
        return 0;
    for (i = 0; i < bytes; i++) {
        out->owned[out->bytes + i] = in->text[from + i];
        hg_stretch_source(in, from + i, from + i, &out->begin[out->bytes + i],
                          &out->end[out->bytes + i]);
    }
    out->bytes += bytes;
    return 1;
}

/* Appends the composed cluster; every byte stands for the whole of the source's cluster. */
static int append_composed(hg_stretch *out, const hg_stretch *in, size_t from, size_t bytes,
                           const hg_bytes *spelling)
{
    uint32_t begin, end;
    size_t i;

    if (!hg_stretch_reserve(out, out->bytes + spelling->count))
        return 0;
    hg_stretch_source(in, from, from + bytes - 1, &begin, &end);
    for (i = 0; i < spelling->count; i++) {
        out->owned[out->bytes + i] = spelling->data[i];
        out->begin[out->bytes + i] = begin;
        out->end[out->bytes + i] = end;
    }
    out->bytes += spelling->count;
    return 1;
}

static int spell(const composer *work, hg_bytes *spelling)
{
    size_t i;

    spelling->count = 0;
    for (i = 0; i < work->count; i++) {
        char piece[4];
        uint32_t length = hg_utf8_put((uint32_t)work->codes[i], piece);
        if (!hg_bytes_append(spelling, piece, length))
            return 0;
    }
    return 1;
}

int hg_nfc_apply(hg_stretch *stretch)
{
    composer work = {0};
    hg_bytes spelling = {0};
    hg_stretch out = {0};
    size_t at = 0, same = 0; /* same..at is unchanged and not yet in out */
    int ok = 1;

    while (ok && at < stretch->bytes) {
        uint32_t code;
        size_t length = cluster_length(stretch->text + at, stretch->bytes - at, &code);
        if (code < FIRST_MARK && length == (code < 0x80 ? 1u : 2u)) {
            at += length;
            continue;
        }
        ok = compose(&work, stretch->text + at, length) && spell(&work, &spelling);
        if (ok &&
            (spelling.count != length || memcmp(spelling.data, stretch->text + at, length) != 0)) {
            ok = append_same(&out, stretch, same, at - same) &&
                 append_composed(&out, stretch, at, length, &spelling);
            same = at + length;
        }
        at += length;
    }
    if (ok && out.owned) {
        ok = append_same(&out, stretch, same, at - same);
        if (ok) {
            out.text = out.owned;
            out.base = stretch->base;
            hg_stretch_release(stretch);
            *stretch = out;
            out = (hg_stretch){0};
        }
    }
    free(work.codes);
    free(work.sorted);
    free(spelling.data);
    hg_stretch_release(&out);
    return ok;
}
