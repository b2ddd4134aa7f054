/* SPDX-License-Identifier: MIT */
/*
 * UTF-8, the alphabet in which byte-level BPE spells bytes, and arrays that grow. Leaves Unicode
 * properties to utf8proc and PCRE2.
 */
#include "tokenizer_parts.h"

#include <stdlib.h>
#include <string.h>

/* What may follow a first byte: the range of the second byte, and how many bytes in all (0: no
 * first byte). */
static uint32_t lead_length(uint32_t lead, uint32_t *low, uint32_t *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    if (lead < 0xE0)
        return 2;
    if (lead < 0xF0) {
        if (lead == 0xE0)
            *low = 0xA0; /* shorter spellings exist */
        if (lead == 0xED)
            *high = 0x9F; /* surrogates */
        return 3;
    }
    if (lead == 0xF0)
        *low = 0x90;
    if (lead == 0xF4)
        *high = 0x8F; /* above U+10FFFF */
    return 4;
}

uint32_t hg_utf8_next(const char *text, size_t bytes, uint32_t *code)
{
    uint32_t low, high, value, i;
    uint32_t lead = (unsigned char)text[0];
    uint32_t length = lead_length(lead, &low, &high);

    *code = UINT32_MAX;
    if (length == 0)
        return 1;
    if (length == 1) {
        *code = lead;
        return 1;
    }
    value = lead & (0x7Fu >> length);
    for (i = 1; i < length; i++) {
        uint32_t byte = i < bytes ? (unsigned char)text[i] : 0;
        if (byte < low || byte > high)
            return i;
        value = value << 6 | (byte & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *code = value;
    return length;
}

uint32_t hg_utf8_previous(const char *text, size_t bytes, uint32_t *code)
{
    size_t at = bytes - 1;

    while (at > 0 && bytes - at < 4 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return hg_utf8_next(text + at, bytes - at, code);
}

uint32_t hg_utf8_put(uint32_t code, char *out)
{
    static const unsigned char marks[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    uint32_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    uint32_t i;

    for (i = length - 1; i > 0; i--) {
        out[i] = (char)(unsigned char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (char)(unsigned char)(marks[length] | code);
    return length;
}

size_t hg_utf8_check(const char *text, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        uint64_t word;
        uint32_t code, length;
        if (bytes - at >= sizeof(word)) {
            memcpy(&word, text + at, sizeof(word));
            if (!(word & 0x8080808080808080u)) {
                at += sizeof(word);
                continue;
            }
        }
        length = hg_utf8_next(text + at, bytes - at, &code);
        if (code == UINT32_MAX)
            return at;
        at += length;
    }
    return bytes;
}

/* The bytes that Latin-1 can print stand for themselves; the others, in order, are U+0100 and up.
 */
enum { UNPRINTED_LOW = 33, UNPRINTED_MIDDLE = 34 };

uint32_t hg_byte_spelling(uint32_t byte)
{
    if (byte < 33)
        return 0x100 + byte;
    if (byte >= 127 && byte <= 160)
        return 0x100 + UNPRINTED_LOW + (byte - 127);
    if (byte == 173)
        return 0x100 + UNPRINTED_LOW + UNPRINTED_MIDDLE;
    return byte;
}

int hg_byte_of_spelling(uint32_t code)
{
    if (code < 0x100)
        return hg_byte_spelling(code) == code ? (int)code : -1;
    code -= 0x100;
    if (code < UNPRINTED_LOW)
        return (int)code;
    code -= UNPRINTED_LOW;
    if (code < UNPRINTED_MIDDLE)
        return (int)code + 127;
    return code == UNPRINTED_MIDDLE ? 173 : -1;
}

int hg_array_reserve(void *array, size_t *capacity, size_t needed, size_t size)
{
    void *old, *grown;
    size_t wanted = *capacity + *capacity / 2;

    if (needed <= *capacity)
        return 1;
    if (wanted < needed)
        wanted = needed;
    if (wanted < 16)
        wanted = 16;
    if (wanted > SIZE_MAX / size)
        return 0;
    memcpy(&old, array, sizeof(old)); /* array is the address of a pointer of any type */
    grown = realloc(old, wanted * size);
    if (!grown)
        return 0;
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return 1;
}

int hg_bytes_append(hg_bytes *bytes, const char *data, size_t count)
{
    if (count > SIZE_MAX - bytes->count ||
        !hg_array_reserve(&bytes->data, &bytes->capacity, bytes->count + count, 1))
        return 0;
    if (count)
        memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
    return 1;
}
