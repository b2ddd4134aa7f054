/* SPDX-License-Identifier: MIT */
/*
 * SIGINT, SIGTERM and SIGHUP. The first one sets a flag that cancels the work in progress at its
 * next step; a second one removes the temporary files at once and ends the program. SIGPIPE becomes
 * an error of the write.
 */
#ifndef HG_TOOLS_INTERRUPT_H
#define HG_TOOLS_INTERRUPT_H

#include <headgate/base.h>

void hg_interrupt_install(void);

/* The signal that asked us to stop, or 0. */
int hg_interrupt_pending(void);
/* HG_CANCELLED when there is one, else HG_OK: for loops of our own. */
hg_result hg_interrupt_check(void);

/* Files to remove if a second signal ends the program; too long a path or too many: not guarded. */
void hg_interrupt_guard(const char *path);
void hg_interrupt_unguard(const char *path);

/* Removes guarded files and dies of the signal, so that a shell sees 130 or 143. */
_Noreturn void hg_interrupt_raise(int signal_number);

#endif
