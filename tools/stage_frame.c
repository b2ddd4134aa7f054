/* SPDX-License-Identifier: MIT */
/* See stage_frame.h. */
#include "stage_frame.h"

#include "child.h"
#include "message.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* Far above any prompt that can be compared, far below what an index could not count. */
#define COUNT_MAX (UINT64_C(1) << 34)
enum { LAYERS_MAX = 1 << 16 };

void hg_put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

uint32_t hg_get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

void hg_put_u64(uint8_t *at, uint64_t value)
{
    hg_put_u32(at, (uint32_t)value);
    hg_put_u32(at + 4, (uint32_t)(value >> 32));
}

uint64_t hg_get_u64(const uint8_t *at)
{
    return hg_get_u32(at) | (uint64_t)hg_get_u32(at + 4) << 32;
}

hg_result hg_sha256(const void *data, uint64_t bytes, uint8_t out[HG_SHA256_BYTES])
{
    unsigned length = HG_SHA256_BYTES;

    if (EVP_Digest(data, (size_t)bytes, out, &length, EVP_sha256(), NULL) == 1)
        return HG_OK;
    return hg_message_fail(HG_ERR_HOST_MEMORY, "sha256 failed: libcrypto has no memory");
}

void hg_stage_head_make(const hg_stage *stage, hg_pass pass, hg_stage_head *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->name, sizeof(out->name), "%s", stage->name);
    snprintf(out->kernel, sizeof(out->kernel), "%s", stage->kernel);
    snprintf(out->tier, sizeof(out->tier), "%s", stage->tier);
    snprintf(out->dtype, sizeof(out->dtype), "%s", stage->dtype);
    out->layer = stage->layer;
    out->first_token = stage->first_token;
    out->rank = stage->rank;
    out->pass = pass;
    out->count = 1;
    for (uint32_t d = 0; d < stage->rank; d++) {
        out->shape[d] = stage->shape[d];
        out->count *= stage->shape[d];
    }
}

void hg_stage_head_encode(const hg_stage_head *head, uint8_t bytes[HG_STAGE_HEAD_BYTES])
{
    uint8_t *at = bytes;

    memset(bytes, 0, HG_STAGE_HEAD_BYTES);
    memcpy(at, head->name, sizeof(head->name));
    at += sizeof(head->name);
    memcpy(at, head->kernel, sizeof(head->kernel));
    at += sizeof(head->kernel);
    memcpy(at, head->tier, sizeof(head->tier));
    at += sizeof(head->tier);
    memcpy(at, head->dtype, sizeof(head->dtype));
    at += sizeof(head->dtype);
    hg_put_u32(at, (uint32_t)head->layer);
    hg_put_u32(at + 4, head->first_token);
    hg_put_u32(at + 8, head->rank);
    for (int d = 0; d < 4; d++)
        hg_put_u32(at + 12 + 4 * d, head->shape[d]);
    hg_put_u32(at + 28, (uint32_t)head->pass);
    hg_put_u32(at + 32, head->has_values);
    hg_put_u32(at + 36, head->has_allowed);
    memcpy(at + 40, head->sha256, HG_SHA256_BYTES);
}

static int take_name(char *out, size_t size, const uint8_t *from, int may_be_empty)
{
    size_t length = 0;

    while (length < size && from[length])
        length++;
    if (length == size || (length == 0 && !may_be_empty))
        return 0;
    for (size_t i = 0; i < length; i++) {
        const uint8_t c = from[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == 'T' ||
              c == 'C' || c == 'V'))
            return 0;
    }
    memcpy(out, from, length);
    return 1;
}

int hg_stage_head_decode(const uint8_t bytes[HG_STAGE_HEAD_BYTES], hg_stage_head *out)
{
    const uint8_t *at = bytes;

    memset(out, 0, sizeof(*out));
    if (!take_name(out->name, sizeof(out->name), at, 0) ||
        !take_name(out->kernel, sizeof(out->kernel), at + 24, 0) ||
        !take_name(out->tier, sizeof(out->tier), at + 48, 1) ||
        !take_name(out->dtype, sizeof(out->dtype), at + 56, 1))
        return 0;
    at += 64;
    out->layer = (int32_t)hg_get_u32(at);
    out->first_token = hg_get_u32(at + 4);
    out->rank = hg_get_u32(at + 8);
    if (out->layer < -1 || out->layer >= LAYERS_MAX || out->rank < 1 || out->rank > 3)
        return 0;
    out->count = 1;
    for (uint32_t d = 0; d < 4; d++) {
        out->shape[d] = hg_get_u32(at + 12 + 4 * d);
        if (d >= out->rank)
            continue;
        if (out->shape[d] == 0 || out->shape[d] > COUNT_MAX / out->count)
            return 0;
        out->count *= out->shape[d];
    }
    if (hg_get_u32(at + 28) > HG_PASS_ISOLATED || hg_get_u32(at + 32) > 1 ||
        hg_get_u32(at + 36) > 1)
        return 0;
    out->pass = (hg_pass)hg_get_u32(at + 28);
    out->has_values = hg_get_u32(at + 32);
    out->has_allowed = hg_get_u32(at + 36);
    memcpy(out->sha256, at + 40, HG_SHA256_BYTES);
    return 1;
}

int hg_stage_head_matches(const hg_stage_head *a, const hg_stage_head *b)
{
    return strcmp(a->name, b->name) == 0 && a->layer == b->layer &&
           a->first_token == b->first_token && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof(a->shape)) == 0;
}

const char *hg_stage_head_label(const hg_stage_head *head, char text[64])
{
    if (head->layer < 0)
        snprintf(text, 64, "%s", head->name);
    else
        snprintf(text, 64, "%s of layer %d", head->name, head->layer + 1);
    return text;
}

uint64_t hg_stage_frame_bytes(const hg_stage_head *head)
{
    return HG_STAGE_HEAD_BYTES + head->count * 4 * (head->has_values + head->has_allowed);
}

hg_result hg_stage_frame_write(int fd, const hg_stage_head *head, const float *values,
                               const float *allowed)
{
    uint8_t bytes[HG_FRAME_HEAD_BYTES + HG_STAGE_HEAD_BYTES];
    hg_result res;

    hg_frame_head("STAG", hg_stage_frame_bytes(head), bytes);
    hg_stage_head_encode(head, bytes + HG_FRAME_HEAD_BYTES);
    res = hg_write_all(fd, bytes, sizeof(bytes));
    if (res == HG_OK && head->has_values)
        res = hg_write_all(fd, values, head->count * 4);
    if (res == HG_OK && head->has_allowed)
        res = hg_write_all(fd, allowed, head->count * 4);
    return res;
}
