/* SPDX-License-Identifier: MIT */
/* One wrapper per function of the table, expanded from the table itself. */
#include "spy.h"

#include <string.h>

hg_spy hg_spy_state;

/* 1: this call is the one that fails. */
static int enter(hg_spy_call call, const char *name)
{
    hg_spy_state.count[call]++;
    if (++hg_spy_state.calls != hg_spy_state.fail_at)
        return 0;
    hg_spy_state.failed = name;
    return 1;
}

static int is_release(const char *name)
{
    return strncmp(name, "clRelease", strlen("clRelease")) == 0;
}

/* Even a release that reports a failure counts: the caller has done its part. */
#define STATUS(name, params, args)                                                                 \
    static cl_int CL_API_CALL spy_##name params                                                    \
    {                                                                                              \
        const int fail = enter(HG_SPY_##name, #name);                                              \
        cl_int code = CL_SUCCESS;                                                                  \
        if (!fail || is_release(#name))                                                            \
            code = hg_spy_state.base.name args;                                                    \
        hg_spy_state.objects -= is_release(#name);                                                 \
        return fail ? hg_spy_state.fail_code : code;                                               \
    }
#define ENQUEUE(name, params, args)                                                                \
    static cl_int CL_API_CALL spy_##name params                                                    \
    {                                                                                              \
        const int fail = enter(HG_SPY_##name, #name);                                              \
        const cl_int code = fail ? hg_spy_state.fail_code : hg_spy_state.base.name args;           \
        hg_spy_state.objects += code == CL_SUCCESS && event;                                       \
        return code;                                                                               \
    }
#define OBJECT(name, type, params, args)                                                           \
    static type CL_API_CALL spy_##name params                                                      \
    {                                                                                              \
        type object = NULL;                                                                        \
        if (enter(HG_SPY_##name, #name))                                                           \
            *err = hg_spy_state.fail_code;                                                         \
        else                                                                                       \
            object = hg_spy_state.base.name args;                                                  \
        hg_spy_state.objects += object && HG_SPY_##name != HG_SPY_clEnqueueMapBuffer;              \
        return object;                                                                             \
    }
#include "opencl/cl_functions.def"

void hg_spy_start(const hg_cl *base, uint32_t fail_at, cl_int fail_code, hg_cl *out)
{
    hg_spy_state = (hg_spy){.base = *base, .fail_at = fail_at, .fail_code = fail_code};
    *out = (hg_cl){0};
#define STATUS(name, params, args) out->name = spy_##name;
#define OBJECT(name, type, params, args) out->name = spy_##name;
#include "opencl/cl_functions.def"
}
