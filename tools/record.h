/* SPDX-License-Identifier: MIT */
/*
 * A record (.hgr): one device's stages of one prompt, to be judged on another machine. Frames of
 * stage_frame.h: META, one STAG per stage (hashes of all, values of some), DONE. Hostile until
 * read.
 */
#ifndef HG_TOOLS_RECORD_H
#define HG_TOOLS_RECORD_H

#include "spool.h"

enum { HG_RECORD_FORMAT = 1, HG_RECORD_TEXT = 256, HG_RECORD_IDS_MAX = 1 << 20 };

/* Who computed what with what. Lines "key value" in a META frame. */
typedef struct hg_record_meta {
    char program[HG_RECORD_TEXT];  /* version of headgate */
    char revision[HG_RECORD_TEXT]; /* of the exact order */
    char device[HG_RECORD_TEXT], driver[HG_RECORD_TEXT], driver_version[HG_RECORD_TEXT];
    char api[HG_RECORD_TEXT], selector[HG_RECORD_TEXT], precision[HG_RECORD_TEXT];
    char model[HG_RECORD_TEXT];   /* name of its folder */
    char weights[HG_RECORD_TEXT]; /* sha256, or empty */
    char date[HG_RECORD_TEXT];    /* 2026-11-30T12:00:00Z */
    double tokens_per_s;          /* 0: not measured */
    uint32_t piece, map_pool;     /* as in hg_trace_params */
    uint32_t id_count;            /* 0 in a child's META */
    int32_t *ids;
} hg_record_meta;

/* The lines, allocated; NULL: no memory. */
char *hg_record_meta_text(const hg_record_meta *meta);
/* Unknown keys are passed over. what: for messages; NULL: none are wanted. HG_ERR_FILE: not lines,
 * or a value that cannot be. */
hg_result hg_record_meta_parse(const char *what, char *text, size_t bytes, hg_record_meta *out);
void hg_record_meta_free(hg_record_meta *meta);

typedef struct hg_record {
    hg_record_meta meta;
    hg_spool spool;
    char name[HG_RECORD_TEXT]; /* the file's */
} hg_record;

/* HG_ERR_FILE with the reason: not there, no record, cut short, of a newer format. */
hg_result hg_record_open(const char *path, hg_record *out);
void hg_record_close(hg_record *record);

/* HG_ERR_ARGUMENT: a name that is no stage's would keep nothing, and nobody would know. */
hg_result hg_record_check_keep(const char *keep);
/* keep: comma list of stage names whose values are kept, "all" or "none"; NULL: logits, residual,
 * attn_out, gates and attn_probs while the file stays below 8 MiB. */
hg_result hg_record_save(hg_output *output, const hg_record_meta *meta, const hg_spool *spool,
                         const char *keep);

#endif
