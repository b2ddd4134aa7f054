/* SPDX-License-Identifier: MIT */
/* The operations of kernel probe in words: what a device does otherwise than exact needs it. */
#ifndef HG_ENGINE_OPERATION_H
#define HG_ENGINE_OPERATION_H

#include <stdint.h>

enum { HG_OPERATION_COUNT = 29 }; /* results per row of the probe's y (shaders/kernels.def) */

typedef struct hg_operation {
    const char *name;  /* "a*b + a*a must not be factored" */
    const char *cause; /* why a driver gets it wrong, as a rule */
} hg_operation;

/* place: an element of the probe's y. */
const hg_operation *hg_operation_at(uint64_t place);

#endif
