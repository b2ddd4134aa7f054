/* SPDX-License-Identifier: MIT */
/* The table of names, in the order of shaders/probe.comp. */
#include "operation.h"

static const char relaxed[] = "the driver's compiler relaxes float arithmetic";
static const char flushed[] = "the driver or its device changes denormals";
static const char converted[] = "the driver converts numbers otherwise";
static const char integers[] = "the driver's integer arithmetic is wrong";

static const hg_operation operations[HG_OPERATION_COUNT] = {
    {"a + b", relaxed},
    {"a - b", relaxed},
    {"a*b", relaxed},
    {"a*b + c must not be fused", relaxed},
    {"a*b, then + c, must not be fused", relaxed},
    {"x*b + a in a loop must not be fused", relaxed},
    {"a dot product in a loop must keep its order", relaxed},
    {"(a*0.1)*10 must not be merged", relaxed},
    {"(a + 2^24) - 2^24 must not be cancelled", relaxed},
    {"(a + 12345.6777) - 12345 must not be merged", relaxed},
    {"(a - b) + b must not be cancelled", relaxed},
    {"a*b + a*a must not be factored", relaxed},
    {"a*b + a + 1 must not be fused", relaxed},
    {"(a + b) - a must not be cancelled", relaxed},
    {"flush below 2^-50", relaxed},
    {"flush below 2^-100", relaxed},
    {"load and store of any bits", flushed},
    {"choice between two values of any bits", flushed},
    {"n >> 3", integers},
    {"n >> 31", integers},
    {"n >> 3, unsigned", integers},
    {"integer to float", converted},
    {"integer to float and back", converted},
    {"float to integer", converted},
    {"exp", relaxed},
    {"log", relaxed},
    {"1/x", relaxed},
    {"1/sqrt(x)", relaxed},
    {"sigmoid", relaxed},
};

const hg_operation *hg_operation_at(uint64_t place)
{
    return &operations[place % HG_OPERATION_COUNT];
}
