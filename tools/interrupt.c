/* SPDX-License-Identifier: MIT */
/* Signals. Everything that the handler touches is async-signal-safe. */
#include "interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { GUARD_COUNT = 16, GUARD_SIZE = 4096, LAST_CALL_S = 20 };

static volatile sig_atomic_t pending;
static volatile sig_atomic_t guarded[GUARD_COUNT];
static char guards[GUARD_COUNT][GUARD_SIZE];

static void remove_guarded(void)
{
    for (int i = 0; i < GUARD_COUNT; i++) {
        if (guarded[i])
            unlink(guards[i]);
    }
}

static void handle(int signal_number)
{
    if (pending) {
        struct sigaction action;

        remove_guarded();
        memset(&action, 0, sizeof(action));
        action.sa_handler = SIG_DFL;
        sigaction(signal_number, &action, NULL);
        raise(signal_number); /* delivered when the handler returns */
        return;
    }
    pending = signal_number;
    alarm(LAST_CALL_S); /* a driver that hangs asks nobody whether to stop */
}

static void handle_alarm(int signal_number)
{
    (void)signal_number;
    if (pending)
        hg_interrupt_raise(pending);
}

/* A mapped file that is cut short while it is read: its pages are gone, and nothing can be computed
 * any more. */
static void handle_bus(int signal_number)
{
    static const char line[] = "headgate: error: a file that was being read has become shorter, or "
                               "its disk failed: let nobody write to it and start again\n";
    enum { EXIT_INPUT = 4 };
    ssize_t written;

    (void)signal_number;
    remove_guarded();
    written = write(STDERR_FILENO, line, sizeof(line) - 1);
    (void)written;
    _exit(EXIT_INPUT);
}

void hg_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;

    memset(&action, 0, sizeof(action));
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* a limit of file sizes is an error of the write, too */

    action.sa_handler = handle_bus;
    sigaction(SIGBUS, &action, NULL);

    action.sa_handler = handle_alarm;
    sigaction(SIGALRM, &action, NULL);

    action.sa_handler = handle; /* without SA_RESTART: a read of standard input must end */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* nohup asks for SIGHUP to be ignored. */
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &action, NULL);
    }
}

int hg_interrupt_pending(void)
{
    return pending;
}

hg_result hg_interrupt_check(void)
{
    return pending ? HG_CANCELLED : HG_OK;
}

void hg_interrupt_guard(const char *path)
{
    size_t size = strlen(path) + 1;

    if (size > GUARD_SIZE)
        return;
    for (int i = 0; i < GUARD_COUNT; i++) {
        if (!guarded[i]) {
            memcpy(guards[i], path, size);
            guarded[i] = 1;
            return;
        }
    }
}

void hg_interrupt_unguard(const char *path)
{
    for (int i = 0; i < GUARD_COUNT; i++) {
        if (guarded[i] && strcmp(guards[i], path) == 0) {
            guarded[i] = 0;
            return;
        }
    }
}

_Noreturn void hg_interrupt_raise(int signal_number)
{
    struct sigaction action;
    sigset_t set;

    remove_guarded();
    memset(&action, 0, sizeof(action));
    action.sa_handler = SIG_DFL;
    sigaction(signal_number, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signal_number);
    _exit(128 + signal_number); /* only if the signal could not be delivered */
}
