/* SPDX-License-Identifier: MIT */
/*
 * Stages as bytes: what a child tells its parent through a pipe, and what a record file (.hgr) is
 * made of. Frames (child.h) with the tags
 *   META  lines "key value": who ran what (record.h)
 *   STAG  one stage: a head of 176 bytes, then [count] f32 values and [count] f32 allowed errors,
 *         each if the head says so
 *   DIFF  a later run of the same work: u32 run (from 2), u32 stage that had other bits
 *   LOOS  u64 logits that had other bits in a run whose stages nobody looked at, f64 their distance
 *   TIME  f64 tokens per second
 *   TICK  a sign of life: u32 percent
 *   FAIL  u32 result (as a signed number), then a sentence
 *   DONE  u32 stages: nothing is missing
 * Numbers are little-endian. Whoever reads believes nothing before it is checked.
 */
#ifndef HG_TOOLS_STAGE_FRAME_H
#define HG_TOOLS_STAGE_FRAME_H

#include <headgate/session.h>

enum { HG_STAGE_HEAD_BYTES = 176, HG_SHA256_BYTES = 32, HG_STAGE_NAME_SIZE = 24 };

typedef enum hg_pass {
    HG_PASS_FREE = 0,    /* end to end */
    HG_PASS_ISOLATED = 1 /* every operation on the reference's inputs */
} hg_pass;

typedef struct hg_stage_head {
    char name[HG_STAGE_NAME_SIZE], kernel[HG_STAGE_NAME_SIZE], tier[8], dtype[8];
    int32_t layer; /* 0-based, -1: outside the layers */
    uint32_t first_token;
    uint32_t rank, shape[4];
    hg_pass pass;
    uint32_t has_values, has_allowed;
    uint8_t sha256[HG_SHA256_BYTES]; /* of the values as little-endian f32 */
    uint64_t count;                  /* product of the shape; not in the bytes */
} hg_stage_head;

void hg_stage_head_make(const hg_stage *stage, hg_pass pass, hg_stage_head *out);
void hg_stage_head_encode(const hg_stage_head *head, uint8_t bytes[HG_STAGE_HEAD_BYTES]);
/* 0: these bytes are no head (names that are none, a shape that cannot be, unknown numbers). */
int hg_stage_head_decode(const uint8_t bytes[HG_STAGE_HEAD_BYTES], hg_stage_head *out);
/* 1: the same stage of the same work, whoever ran it. */
int hg_stage_head_matches(const hg_stage_head *a, const hg_stage_head *b);
/* "k_rope of layer 3", "logits". */
const char *hg_stage_head_label(const hg_stage_head *head, char text[64]);

/* Bytes of a STAG frame with this head. */
uint64_t hg_stage_frame_bytes(const hg_stage_head *head);
hg_result hg_stage_frame_write(int fd, const hg_stage_head *head, const float *values,
                               const float *allowed);

hg_result hg_sha256(const void *data, uint64_t bytes, uint8_t out[HG_SHA256_BYTES]);

void hg_put_u32(uint8_t *at, uint32_t value);
uint32_t hg_get_u32(const uint8_t *at);
void hg_put_u64(uint8_t *at, uint64_t value);
uint64_t hg_get_u64(const uint8_t *at);

#endif
