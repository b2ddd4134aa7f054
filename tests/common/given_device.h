/* SPDX-License-Identifier: MIT */
/* --device SEL of a test program, and whether there is such a device. */
#ifndef HG_TEST_GIVEN_DEVICE_H
#define HG_TEST_GIVEN_DEVICE_H

#include <headgate/headgate.h>

#include <stdio.h>
#include <string.h>

enum { HG_TEST_SKIP = 77 };

/* The selector of the command line, NULL without one; *found: 0 where the device is not here, which
 * is said: the test ends with HG_TEST_SKIP. */
static inline const char *hg_test_device(int argc, char **argv, int *found)
{
    hg_engine_params params = {.struct_size = sizeof(params)};
    hg_engine *engine = NULL;

    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--device") == 0)
            params.selector = argv[i + 1];
    *found = hg_engine_create(&params, &engine) != HG_ERR_NO_DEVICE;
    if (!*found)
        printf("no device %s here\n", params.selector ? params.selector : "at all");
    hg_engine_destroy(&engine);
    return params.selector;
}

#endif
