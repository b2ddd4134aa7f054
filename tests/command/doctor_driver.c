/* SPDX-License-Identifier: MIT */
/* Libraries that `headgate doctor` must survive: DOCTOR_DRIVER says what opening one does. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int plain(void);
int plain(void)
{
    return 0; /* all that a library of no use has */
}

#if DOCTOR_DRIVER > 0
__attribute__((constructor)) static void opened(void)
{
    const char *note = getenv("DOCTOR_PID_FILE");
    FILE *file = note ? fopen(note, "w") : NULL;

    if (file) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
    fputs("last \033[31mwords\n", stderr);
#if DOCTOR_DRIVER == 1
    abort();
#elif DOCTOR_DRIVER == 2
    for (;;)
        pause(); /* whatever the signal */
#else
    exit(3);
#endif
}
#endif
