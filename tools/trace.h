/* SPDX-License-Identifier: MIT */
/*
 * What one device makes of a prompt, stage by stage, as frames (stage_frame.h): the work of a child
 * of compare. Knows nothing of other devices but the reference's values that it is given.
 */
#ifndef HG_TOOLS_TRACE_H
#define HG_TOOLS_TRACE_H

#include "spool.h"

#include <headgate/headgate.h>

typedef struct hg_trace_params {
    hg_engine *engine;
    const hg_checkpoint *checkpoint;
    const int32_t *ids;
    uint32_t count;
    uint32_t piece;         /* tokens per piece, so that stages of all devices line up */
    uint32_t map_pool;      /* tokens per cell of the attention maps; 0: no maps */
    uint32_t bounds;        /* 1: allowed errors with the values (the reference in double) */
    uint32_t runs;          /* free runs, at least 1; later ones are compared with the first */
    uint32_t isolated;      /* 1: a further run on the values of inputs */
    const hg_spool *inputs; /* the reference's free run */
    int fd;
    hg_log log;
} hg_trace_params;

/* Frames up to and without DONE; the number of stages of a run in *stages. HG_ERR_OUTPUT: nobody
 * reads any more. */
hg_result hg_trace_run(const hg_trace_params *params, uint32_t *stages);

/* Tokens per piece that every device above the project's minimum can take. */
uint32_t hg_trace_piece(const hg_model_info *info, uint32_t tokens);

#endif
