/* SPDX-License-Identifier: MIT */
/* The loader, opened at run time, and what its error numbers mean. */
#include "cl.h"

#include "check.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __APPLE__
static const char *const library_names[] = {"/System/Library/Frameworks/OpenCL.framework/OpenCL",
                                            NULL};
#else
static const char *const library_names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
#endif

hg_result hg_cl_load(const hg_log *log, hg_cl *out)
{
    return hg_cl_load_names(log, library_names, out);
}

hg_result hg_cl_load_names(const hg_log *log, const char *const *names, hg_cl *out)
{
    const char *missing = NULL;
    void *symbol;

    *out = (hg_cl){0};
    /* Stays in the process when it is closed: drivers behind it have threads that run on. */
    for (size_t i = 0; names[i] && !out->library; i++)
        out->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!out->library) {
        hg_say(log, HG_LOG_INFO,
               "no OpenCL loader (%s): no OpenCL devices; a package like ocl-icd brings it",
               names[0]);
        return HG_ERR_NO_DEVICE;
    }
    /* An object pointer does not convert to a function pointer in C; POSIX says that the bytes are
     * the same. */
#define STATUS(name, params, args)                                                                 \
    symbol = dlsym(out->library, #name);                                                           \
    memcpy(&out->name, &symbol, sizeof(symbol));                                                   \
    missing = symbol ? missing : #name;
#define OBJECT(name, type, params, args) STATUS(name, params, args)
#include "cl_functions.def"
    if (missing) {
        hg_say(log, HG_LOG_INFO,
               "the OpenCL loader has no %s, it is older than OpenCL 1.2: no OpenCL devices",
               missing);
        hg_cl_unload(out);
        return HG_ERR_NO_DEVICE;
    }
    return HG_OK;
}

void hg_cl_unload(hg_cl *cl)
{
    if (cl->library)
        dlclose(cl->library);
    *cl = (hg_cl){0};
}

typedef struct error_name {
    cl_int code;
    const char *name;
} error_name;

#define E(name)                                                                                    \
    {                                                                                              \
        name, #name                                                                                \
    }
static const error_name error_names[] = {
    E(CL_DEVICE_NOT_FOUND),
    E(CL_DEVICE_NOT_AVAILABLE),
    E(CL_COMPILER_NOT_AVAILABLE),
    E(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    E(CL_OUT_OF_RESOURCES),
    E(CL_OUT_OF_HOST_MEMORY),
    E(CL_PROFILING_INFO_NOT_AVAILABLE),
    E(CL_MEM_COPY_OVERLAP),
    E(CL_BUILD_PROGRAM_FAILURE),
    E(CL_MAP_FAILURE),
    E(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    E(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    E(CL_COMPILE_PROGRAM_FAILURE),
    E(CL_LINKER_NOT_AVAILABLE),
    E(CL_LINK_PROGRAM_FAILURE),
    E(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    E(CL_INVALID_VALUE),
    E(CL_INVALID_DEVICE_TYPE),
    E(CL_INVALID_PLATFORM),
    E(CL_INVALID_DEVICE),
    E(CL_INVALID_CONTEXT),
    E(CL_INVALID_QUEUE_PROPERTIES),
    E(CL_INVALID_COMMAND_QUEUE),
    E(CL_INVALID_HOST_PTR),
    E(CL_INVALID_MEM_OBJECT),
    E(CL_INVALID_BINARY),
    E(CL_INVALID_BUILD_OPTIONS),
    E(CL_INVALID_PROGRAM),
    E(CL_INVALID_PROGRAM_EXECUTABLE),
    E(CL_INVALID_KERNEL_NAME),
    E(CL_INVALID_KERNEL_DEFINITION),
    E(CL_INVALID_KERNEL),
    E(CL_INVALID_ARG_INDEX),
    E(CL_INVALID_ARG_VALUE),
    E(CL_INVALID_ARG_SIZE),
    E(CL_INVALID_KERNEL_ARGS),
    E(CL_INVALID_WORK_DIMENSION),
    E(CL_INVALID_WORK_GROUP_SIZE),
    E(CL_INVALID_WORK_ITEM_SIZE),
    E(CL_INVALID_GLOBAL_OFFSET),
    E(CL_INVALID_EVENT_WAIT_LIST),
    E(CL_INVALID_EVENT),
    E(CL_INVALID_OPERATION),
    E(CL_INVALID_BUFFER_SIZE),
    E(CL_INVALID_GLOBAL_WORK_SIZE),
    E(CL_INVALID_PROPERTY),
    E(CL_INVALID_COMPILER_OPTIONS),
    E(CL_PLATFORM_NOT_FOUND_KHR),
};
#undef E

const char *hg_cl_error_name(cl_int code)
{
    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
        if (error_names[i].code == code)
            return error_names[i].name;
    return "unknown OpenCL error";
}

hg_result hg_cl_result(cl_int code)
{
    switch (code) {
    case CL_SUCCESS:
        return HG_OK;
    case CL_OUT_OF_RESOURCES:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return HG_ERR_DEVICE_MEMORY;
    case CL_OUT_OF_HOST_MEMORY:
        return HG_ERR_HOST_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
        return HG_ERR_DEVICE_LOST;
    default:
        return HG_ERR_DRIVER;
    }
}

hg_result hg_cl_fail(const hg_log *log, cl_int code, const char *format, ...)
{
    char words[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return hg_fail(log, hg_cl_result(code), "%s: %s (%d)", words, hg_cl_error_name(code),
                   (int)code);
}
