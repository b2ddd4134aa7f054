/* SPDX-License-Identifier: MIT */
/* What lies around a run and changes what it does: the system, and variables that drivers read. */
#ifndef HG_TOOLS_SURROUNDINGS_H
#define HG_TOOLS_SURROUNDINGS_H

/* "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64". */
const char *hg_surroundings_system(char text[256]);

/* The next variable of the environment that changes drivers; *at starts as 0. name and
 * value are cut to their room; a value that may be a secret is not shown. 0: there is no further
 * one. */
int hg_surroundings_variable(unsigned *at, char name[128], char value[400]);

/* Of a line NAME=VALUE: whether it changes what drivers compute or which are seen. */
int hg_surroundings_is_drivers(const char *line);
/* Its value is not for a report that is made to be sent. */
int hg_surroundings_is_secret(const char *name);

/* A key under which answers about drivers may be kept: the same for the same variables, in any
 * order. Those that only name folders of caches or driver files are not in it. */
const char *hg_surroundings_key(char text[32]);

#endif
