/* SPDX-License-Identifier: MIT */
/*
 * Work with a driver in a process of its own (docs/DECISIONS.md D25): a driver that crashes or
 * hangs takes the child with it, not the program. The child reports in frames through a pipe, and
 * the parent believes none of them before it has looked.
 *
 * The parent must not have touched a driver, nor have started a thread, before it forks.
 */
#ifndef HG_TOOLS_CHILD_H
#define HG_TOOLS_CHILD_H

#include <headgate/base.h>

#include <sys/types.h>

/* A tag of four letters and a payload; the same bytes on a pipe and in a file. */
typedef struct hg_frame {
    char tag[5];
    uint64_t bytes;
} hg_frame;

enum { HG_FRAME_HEAD_BYTES = 16 };

/* The whole of it or HG_ERR_OUTPUT (EPIPE: the reader is gone; ENOSPC: the disk is full). */
hg_result hg_frame_write(int fd, const char tag[4], const void *payload, uint64_t bytes);
/* Bytes, all of them, in spite of signals. */
hg_result hg_write_all(int fd, const void *data, uint64_t bytes);
/* In two parts, for a small head before many values. */
hg_result hg_frame_write2(int fd, const char tag[4], const void *head, uint64_t head_bytes,
                          const void *rest, uint64_t rest_bytes);
/* The 16 bytes before a payload. */
void hg_frame_head(const char tag[4], uint64_t bytes, uint8_t out[HG_FRAME_HEAD_BYTES]);
/* 0 when the 16 bytes cannot be the head of a frame. */
int hg_frame_parse(const uint8_t head[HG_FRAME_HEAD_BYTES], hg_frame *out);

typedef struct hg_child {
    pid_t pid; /* 0: none */
    int fd;    /* the reading end; -1: none */
} hg_child;

/* Runs in the child; its value is the exit code. fd takes frames. */
typedef int (*hg_child_work)(void *user, int fd);

hg_result hg_child_start(hg_child *child, hg_child_work work, void *user);

/*
 * Next frame's head. HG_OK; HG_TIMEOUT: silence for timeout_s; HG_ERR_FILE: the pipe ended, or what
 * came is no frame (*frame is then zero or holds the rubbish); HG_CANCELLED: a signal to this
 * program.
 */
hg_result hg_child_next(hg_child *child, uint32_t timeout_s, hg_frame *frame);
/* Payload bytes, all of them; as above. */
hg_result hg_child_read(hg_child *child, uint32_t timeout_s, void *out, uint64_t bytes);
hg_result hg_child_skip(hg_child *child, uint32_t timeout_s, uint64_t bytes);

/* Kills it if it has not ended by itself within grace_s, and tells how it ended: 0 .. 255 an exit
 * code, else 256 + the signal. */
int hg_child_stop(hg_child *child, uint32_t grace_s);

/* "crashed (signal 11, segmentation fault)", "exit code 3". */
const char *hg_child_describe(int ending, char text[128]);

#endif
