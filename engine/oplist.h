/* SPDX-License-Identifier: MIT */
/*
 * A list of operations as data (docs/DECISIONS.md D18): what the page appends to, and what taps,
 * timing, cancel and faults act on. Nothing here touches a device.
 */
#ifndef HG_ENGINE_OPLIST_H
#define HG_ENGINE_OPLIST_H

#include "backend.h"

typedef enum hg_op_kind { HG_OP_DISPATCH, HG_OP_COPY, HG_OP_FILL } hg_op_kind;

enum { HG_OP_STAGES_MAX = 3 };

/* A buffer, or a part of one, that an operation has written: f32. */
typedef struct hg_op_stage {
    const char *name;
    uint32_t bind;         /* index in hg_op.bind */
    uint64_t offset_bytes; /* from the start of that binding */
    uint32_t rank, shape[4];
} hg_op_stage;

typedef struct hg_op {
    hg_op_kind kind;
    hg_kernel_id kernel;
    hg_dtype dtype;
    uint32_t words[HG_PARAM_WORDS_MAX]; /* the params struct; HG_OP_FILL: words[0] */
    uint32_t bind_count;
    hg_bind bind[HG_BINDS_MAX]; /* HG_OP_COPY: destination, source; HG_OP_FILL: destination */
    hg_reach reach;             /* of an attention; costs are told by it */
    int32_t layer;              /* -1: outside the layers */
    uint32_t stage_count;       /* 0: what it writes is a part of a later operation's stage, or
                                   nothing that anybody looks at */
    hg_op_stage stage[HG_OP_STAGES_MAX];
} hg_op;

typedef struct hg_oplist {
    hg_op *ops;
    uint32_t count, room;
    hg_result failed; /* the first failure of an append; run returns it */
} hg_oplist;

/* What the operation costs; of a copy or a fill the bytes alone. */
hg_cost hg_op_cost(const hg_op *op);

/* A new operation at the end, zeroed, layer -1. NULL when there is no memory (kept in failed). */
hg_op *hg_oplist_append(hg_oplist *list, hg_op_kind kind);
void hg_oplist_clear(hg_oplist *list); /* keeps the room */
void hg_oplist_free(hg_oplist *list);

#endif
