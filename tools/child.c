/* SPDX-License-Identifier: MIT */
/* Children by fork, pipes with a time limit. */
#include "child.h"

#include "interrupt.h"
#include "message.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

hg_result hg_write_all(int fd, const void *data, uint64_t bytes)
{
    const uint8_t *at = data;

    while (bytes > 0) {
        const size_t part = bytes < (1u << 20) ? (size_t)bytes : 1u << 20;
        const ssize_t done = write(fd, at, part);

        if (done < 0 && errno == EINTR)
            continue; /* what is begun is finished: half a frame would be rubbish */
        if (done <= 0)
            return HG_ERR_OUTPUT;
        at += done;
        bytes -= (uint64_t)done;
    }
    return HG_OK;
}

void hg_frame_head(const char tag[4], uint64_t bytes, uint8_t out[HG_FRAME_HEAD_BYTES])
{
    memset(out, 0, HG_FRAME_HEAD_BYTES);
    memcpy(out, tag, 4);
    for (int i = 0; i < 8; i++)
        out[8 + i] = (uint8_t)(bytes >> (8 * i));
}

hg_result hg_frame_write2(int fd, const char tag[4], const void *head, uint64_t head_bytes,
                          const void *rest, uint64_t rest_bytes)
{
    uint8_t start[HG_FRAME_HEAD_BYTES];
    hg_result res;

    hg_frame_head(tag, head_bytes + rest_bytes, start);
    res = hg_write_all(fd, start, sizeof(start));
    if (res == HG_OK)
        res = hg_write_all(fd, head, head_bytes);
    if (res == HG_OK)
        res = hg_write_all(fd, rest, rest_bytes);
    return res;
}

hg_result hg_frame_write(int fd, const char tag[4], const void *payload, uint64_t bytes)
{
    return hg_frame_write2(fd, tag, payload, bytes, NULL, 0);
}

int hg_frame_parse(const uint8_t head[HG_FRAME_HEAD_BYTES], hg_frame *out)
{
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 4; i++) {
        if (head[i] < 'A' || head[i] > 'Z' || head[4 + i] != 0)
            return 0;
        out->tag[i] = (char)head[i];
    }
    for (int i = 0; i < 8; i++)
        out->bytes |= (uint64_t)head[8 + i] << (8 * i);
    return 1;
}

static _Noreturn void be_child(hg_child_work work, void *user, int fd, pid_t parent)
{
    int code;

    /* A parent that is killed must not leave a driver running, not even if it was killed already.
     */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    code = work(user, fd);
    close(fd);
    /* Drivers' handlers at exit belong to a process that this one is not. */
    _exit(code);
}

hg_result hg_child_start(hg_child *child, hg_child_work work, void *user)
{
    const pid_t parent = getpid();
    int ends[2];

    child->pid = 0;
    child->fd = -1;
    fflush(NULL); /* or the child prints it once more */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no pipe to a child process: %s",
                               strerror(errno));
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        close(ends[0]);
        close(ends[1]);
        return hg_message_fail(HG_ERR_HOST_MEMORY, "no child process: %s", strerror(errno));
    }
    if (child->pid == 0) {
        close(ends[0]);
        be_child(work, user, ends[1], parent);
    }
    close(ends[1]);
    child->fd = ends[0];
    return HG_OK;
}

/* It can still be waited for. */
static int has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

static int64_t now_ms(void)
{
    return (int64_t)(hg_clock_ns() / 1000000);
}

hg_result hg_child_read(hg_child *child, uint32_t timeout_s, void *out, uint64_t bytes)
{
    uint8_t *at = out;
    int64_t until = now_ms() + (int64_t)timeout_s * 1000;

    while (bytes > 0) {
        struct pollfd ready = {.fd = child->fd, .events = POLLIN};
        const size_t part = bytes < (1u << 20) ? (size_t)bytes : 1u << 20;
        ssize_t done;

        const int64_t from = now_ms();

        if (hg_interrupt_pending())
            return HG_CANCELLED;
        if (poll(&ready, 1, 100) <= 0) { /* also looks at the flag of a signal */
            /* Who was stopped himself (Ctrl-Z) has not been waiting. */
            if (now_ms() - from > 2000)
                until = now_ms() + (int64_t)timeout_s * 1000;
            if (now_ms() >= until)
                return HG_TIMEOUT;
            /* A process of its own making may keep the pipe open after it has ended. */
            if (has_ended(child->pid) && poll(&ready, 1, 0) <= 0)
                return HG_ERR_FILE;
            continue;
        }
        done = read(child->fd, at, part);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return HG_ERR_FILE;
        at += done;
        bytes -= (uint64_t)done;
        until = now_ms() + (int64_t)timeout_s * 1000;
    }
    return HG_OK;
}

hg_result hg_child_next(hg_child *child, uint32_t timeout_s, hg_frame *frame)
{
    uint8_t head[HG_FRAME_HEAD_BYTES];
    hg_result res;

    memset(frame, 0, sizeof(*frame));
    res = hg_child_read(child, timeout_s, head, sizeof(head));
    if (res == HG_OK && !hg_frame_parse(head, frame)) {
        memcpy(frame->tag, "????", 5);
        res = HG_ERR_FILE;
    }
    return res;
}

hg_result hg_child_skip(hg_child *child, uint32_t timeout_s, uint64_t bytes)
{
    uint8_t sink[4096];
    hg_result res = HG_OK;

    while (bytes > 0 && res == HG_OK) {
        const uint64_t part = bytes < sizeof(sink) ? bytes : sizeof(sink);

        res = hg_child_read(child, timeout_s, sink, part);
        bytes -= part;
    }
    return res;
}

int hg_child_stop(hg_child *child, uint32_t grace_s)
{
    const int64_t until = now_ms() + (int64_t)grace_s * 1000;
    const struct timespec nap = {0, 5000000};
    int status = 0;
    pid_t ended = 0;

    if (child->fd >= 0)
        close(child->fd);
    child->fd = -1;
    if (child->pid <= 0)
        return 0;
    while (ended == 0) {
        ended = waitpid(child->pid, &status, WNOHANG);
        if (ended == 0 && now_ms() >= until) {
            kill(child->pid, SIGKILL);
            do
                ended = waitpid(child->pid, &status, 0);
            while (ended < 0 && errno == EINTR);
        } else if (ended == 0) {
            nanosleep(&nap, NULL);
        }
    }
    child->pid = 0;
    if (ended < 0)
        return 255;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *hg_child_describe(int ending, char text[128])
{
    if (ending >= 256)
        snprintf(text, 128, "ended by signal %d (%s)", ending - 256, strsignal(ending - 256));
    else
        snprintf(text, 128, "exit code %d", ending);
    return text;
}
