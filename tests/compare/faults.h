/* SPDX-License-Identifier: MIT */
/*
 * Faults as drivers and kernels have them, put between the engine and a healthy device: a wrapper
 * of the reference backend's text column that changes one dispatch. Test only; kernels know nothing
 * of it. One fault at a time in a process.
 */
#ifndef HG_TEST_COMPARE_FAULTS_H
#define HG_TEST_COMPARE_FAULTS_H

#include "device.h"
#include "fixture.h"

typedef struct hg_fault {
    const char *name;
    const char *stage;  /* the operation that is changed, by its first stage */
    const char *kernel; /* what compare has to name; NULL: no kernel can be named */
    uint32_t fixture;   /* index of hg_fault_fixtures */
    uint32_t is_once;   /* 1: outside the layers, or not per layer */
    uint32_t runs;      /* that it takes to see it; 0: one */
    uint32_t
        in_kernel; /* 1: a fault of the kernel's text, which trying the kernel alone has to find */
    /* Does the call's work, wrongly. truth: the kernel's own text, over all groups. */
    void (*run)(const hg_text_call *call, void (*truth)(const hg_text_call *call));
    /* NULL, or sees the same stage of the other layers, after it was computed as it should be. */
    void (*see)(const hg_text_call *call);
} hg_fault;

extern const hg_fault hg_faults[];
extern const uint32_t hg_fault_count;
extern const hg_fixture hg_fault_fixtures[];
extern const uint32_t hg_fault_fixture_count;

/* The engine is the reference under exact; from here on it has the fault in this layer (-1: every
 * dispatch of the kernel, whatever its stage and layer). fault NULL: a wrapper that changes
 * nothing. */
void hg_fault_install(hg_engine *engine, const hg_fault *fault, int32_t layer);

#endif
