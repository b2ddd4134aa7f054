/* SPDX-License-Identifier: MIT */
/* Variants to kernels: options, building, the programs of a device, and pipes. Files are in
 * cl_cache.c. */
#include "cl.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL_NAME_MAX = 128, BUILD_LOG_LINES = 8, BUILD_LOG_CHARS = 1500 };

/* Nothing that relaxes arithmetic may stand here: the exact order rests on it (docs/DECISIONS.md
 * D1). */
#define STANDARD "-cl-std=CL1.2"

struct hg_cl_program {
    hg_cl_program *next;
    const char *source; /* of the variant: constant */
    char *options;
    cl_program program;
};

static int write_options(char *out, size_t room, const hg_variant *variant, const uint32_t *spec)
{
    const char *own = variant->cl_options ? variant->cl_options : "";
    int length = snprintf(out, room, "%s%s%s", STANDARD, own[0] ? " " : "", own);

    for (uint32_t i = 0; i < variant->spec_count && length >= 0; i++) {
        const size_t used = out ? (size_t)length : 0;
        const int more = snprintf(out ? out + used : NULL, room - used, " -D%s=%u",
                                  variant->spec_name[i], spec[i]);

        length = more < 0 ? more : length + more;
    }
    return length;
}

/* "-cl-std=CL1.2 -DHG_W_BF16=1 -DROWS=8", malloced. */
static char *make_options(const hg_variant *variant, const uint32_t *spec)
{
    const int length = write_options(NULL, 0, variant, spec);
    char *out = length < 0 ? NULL : malloc((size_t)length + 1);

    if (out)
        write_options(out, (size_t)length + 1, variant, spec);
    return out;
}

/* The first lines of what the compiler said, on one line. */
static hg_result fail_build(hg_cl_dev *d, cl_program program, cl_int code, const char *kernel,
                            const char *options)
{
    char *text = NULL;
    size_t size = 0, length = 0;
    uint32_t lines = 0;

    if (program &&
        d->cl.clGetProgramBuildInfo(program, d->place.device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                    &size) == CL_SUCCESS &&
        size < SIZE_MAX)
        text = calloc(size + 1, 1);
    if (text && d->cl.clGetProgramBuildInfo(program, d->place.device, CL_PROGRAM_BUILD_LOG, size,
                                            text, NULL) != CL_SUCCESS)
        text[0] = 0;
    for (; text && text[length] && length < BUILD_LOG_CHARS; length++) {
        if (text[length] == '\n' && ++lines == BUILD_LOG_LINES)
            break;
        if ((unsigned char)text[length] < ' ')
            text[length] = ' ';
    }
    if (text)
        text[length] = 0;
    hg_fail(&d->base.plan.log, HG_ERR_DRIVER,
            "kernel %s does not build on OpenCL device %s with %s: %s (%d): %s", kernel,
            d->base.plan.device.name, options, hg_cl_error_name(code), (int)code,
            text && text[0] ? text : "the driver gives no build log");
    free(text);
    return HG_ERR_DRIVER;
}

static cl_int build(const hg_cl_dev *d, cl_program program, const char *options)
{
    return d->cl.clBuildProgram(program, 1, &d->place.device, options, NULL, NULL);
}

/* Everything that the bytes of a compiled program depend on, malloced. */
static char *make_key(const hg_cl_dev *d, const char *source, const char *options)
{
    static const char form[] = "%s; %s; source %016llx of %zu bytes";
    const size_t size = strlen(source);
    const unsigned long long hash = hg_cl_hash(HG_CL_HASH_START, source, size);
    const int length = snprintf(NULL, 0, form, d->cache_key, options, hash, size);
    char *key = length < 0 ? NULL : malloc((size_t)length + 1);

    if (key)
        snprintf(key, (size_t)length + 1, form, d->cache_key, options, hash, size);
    return key;
}

/* From the cache folder; NULL: not there, or the driver does not want it any more. */
static cl_program load(hg_cl_dev *d, const char *key, const char *options, const char *kernel)
{
    size_t size = 0;
    unsigned char *binary = hg_cl_cache_read(d, key, &size);
    const unsigned char *const_binary = binary;
    cl_program program = NULL;
    cl_int status = CL_SUCCESS, code = CL_SUCCESS;

    if (!binary)
        return NULL;
    program = d->cl.clCreateProgramWithBinary(d->context, 1, &d->place.device, &size, &const_binary,
                                              &status, &code);
    if (program && code == CL_SUCCESS && status == CL_SUCCESS)
        code = build(d, program, options);
    if (!program || code != CL_SUCCESS || status != CL_SUCCESS) {
        hg_say(&d->base.plan.log, HG_LOG_INFO,
               "kernel %s: the driver refuses its cached program (%s): building again", kernel,
               hg_cl_error_name(code != CL_SUCCESS ? code : status));
        if (program)
            d->cl.clReleaseProgram(program);
        program = NULL;
    }
    free(binary);
    return program;
}

/* Best effort: a program that cannot be stored is only slower next time. */
static void store(hg_cl_dev *d, const char *key, cl_program program)
{
    size_t size = 0;
    unsigned char *binary = NULL;

    if (d->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) !=
            CL_SUCCESS ||
        size == 0)
        return;
    binary = malloc(size);
    if (binary && d->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary),
                                         (void *)&binary, NULL) == CL_SUCCESS)
        hg_cl_cache_write(d, key, binary, size);
    free(binary);
}

static hg_result compile(hg_cl_dev *d, const hg_variant *variant, const char *options,
                         cl_program *out)
{
    const char *kernel = hg_kernels[variant->kernel].name;
    const char *source = variant->cl_source;
    cl_program program;
    cl_int code = CL_SUCCESS;
    char *key = NULL;

    if (d->cache_dir) {
        key = make_key(d, source, options);
        if (!key)
            return hg_fail(&d->base.plan.log, HG_ERR_HOST_MEMORY,
                           "kernel %s: no memory for its name", kernel);
        *out = load(d, key, options, kernel);
        if (*out) {
            free(key);
            return HG_OK;
        }
    }
    program = d->cl.clCreateProgramWithSource(d->context, 1, &source, NULL, &code);
    if (program && code == CL_SUCCESS)
        code = build(d, program, options);
    if (!program || code != CL_SUCCESS) {
        const hg_result res =
            hg_cl_result(code) == HG_ERR_HOST_MEMORY
                ? hg_cl_fail(&d->base.plan.log, code, "kernel %s cannot be built", kernel)
                : fail_build(d, program, code, kernel, options);

        if (program)
            d->cl.clReleaseProgram(program);
        free(key);
        return res;
    }
    if (key)
        store(d, key, program);
    free(key);
    *out = program;
    return HG_OK;
}

static cl_program program_there(hg_cl_dev *d, const hg_variant *variant, const char *options)
{
    cl_program found = NULL;

    pthread_mutex_lock(&d->program_lock);
    for (const hg_cl_program *p = d->programs; p && !found; p = p->next)
        if (strcmp(p->options, options) == 0 &&
            (p->source == variant->cl_source || strcmp(p->source, variant->cl_source) == 0))
            found = p->program;
    pthread_mutex_unlock(&d->program_lock);
    return found;
}

/* The program for these options: one that is there, or a new one. Built without the lock, so that
 * others build meanwhile. */
static hg_result find_program(hg_cl_dev *d, const hg_variant *variant, const char *options,
                              cl_program *out)
{
    hg_cl_program *p;
    hg_result res = HG_OK;

    *out = program_there(d, variant, options);
    if (*out)
        return HG_OK;
    p = calloc(1, sizeof(*p));
    if (p)
        p->options = strdup(options);
    if (!p || !p->options) {
        res = hg_fail(&d->base.plan.log, HG_ERR_HOST_MEMORY, "no memory for a program");
        goto out;
    }
    p->source = variant->cl_source;
    HG_TRY(compile(d, variant, options, &p->program));
    *out = p->program;
    pthread_mutex_lock(&d->program_lock);
    p->next = d->programs;
    d->programs = p;
    pthread_mutex_unlock(&d->program_lock);
    p = NULL;
out:
    if (p) {
        free(p->options);
        free(p);
    }
    return res;
}

/* The kernel as the driver understood it must be the one of the table. */
static hg_result check_kernel(hg_cl_dev *d, const hg_variant *variant, cl_kernel kernel)
{
    const hg_log *log = &d->base.plan.log;
    const hg_kernel *row = &hg_kernels[variant->kernel];
    cl_uint arguments = 0;
    size_t most = 0;
    cl_int code =
        d->cl.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments, NULL);

    if (code == CL_SUCCESS)
        code = d->cl.clGetKernelWorkGroupInfo(kernel, d->place.device, CL_KERNEL_WORK_GROUP_SIZE,
                                              sizeof(most), &most, NULL);
    if (code != CL_SUCCESS)
        return hg_cl_fail(log, code, "kernel %s does not say what it needs", row->name);
    if (arguments != row->bind_count + 1)
        return hg_fail(log, HG_ERR_DRIVER,
                       "kernel %s takes %u arguments; the table has %u buffers and the params",
                       row->name, arguments, row->bind_count);
    if (most < variant->threads)
        return hg_fail(log, HG_ERR_UNSUPPORTED,
                       "kernel %s needs groups of %u; OpenCL device %s runs it in groups of %zu",
                       row->name, variant->threads, d->base.plan.device.name, most);
    return HG_OK;
}

static hg_pipe *find_pipe(hg_cl_dev *d, const hg_variant *variant, const uint32_t *spec)
{
    hg_cl_pipe *p;

    pthread_mutex_lock(&d->program_lock);
    for (p = d->pipes; p; p = p->next)
        if (p->base.variant == variant && memcmp(p->base.spec, spec, sizeof(p->base.spec)) == 0)
            break;
    pthread_mutex_unlock(&d->program_lock);
    return p ? &p->base : NULL;
}

hg_result hg_cl_prepare(hg_dev *dev, const hg_variant *variant, const uint32_t *spec, hg_pipe **out)
{
    hg_cl_dev *d = (hg_cl_dev *)dev;
    const hg_log *log = &dev->plan.log;
    const char *name = hg_kernels[variant->kernel].name;
    char function[KERNEL_NAME_MAX];
    char *options = NULL;
    cl_program program = NULL;
    hg_cl_pipe *p = NULL;
    cl_int code = CL_SUCCESS;
    hg_result res = HG_OK;

    *out = find_pipe(d, variant, spec);
    if (*out)
        return HG_OK;
    if (d->lost)
        return hg_fail(log, HG_ERR_DEVICE_LOST, "kernel %s: the OpenCL device was lost earlier",
                       name);
    if (!variant->cl_source)
        return hg_fail(log, HG_ERR_UNSUPPORTED, "kernel %s has no OpenCL source in this variant",
                       name);
    snprintf(function, sizeof(function), "hg_%s", name);
    options = make_options(variant, spec);
    p = calloc(1, sizeof(*p));
    if (!options || !p) {
        res = hg_fail(log, HG_ERR_HOST_MEMORY, "kernel %s: no memory to prepare it", name);
        goto out;
    }
    HG_TRY(find_program(d, variant, options, &program));
    p->kernel = d->cl.clCreateKernel(program, function, &code);
    if (!p->kernel || code != CL_SUCCESS) {
        res = hg_cl_fail(log, code, "no function %s in the program of kernel %s", function, name);
        goto out;
    }
    HG_TRY(check_kernel(d, variant, p->kernel));
    p->base.dev = dev;
    p->base.variant = variant;
    memcpy(p->base.spec, spec, sizeof(p->base.spec));
    *out = &p->base;
    pthread_mutex_lock(&d->program_lock);
    p->next = d->pipes;
    d->pipes = p;
    pthread_mutex_unlock(&d->program_lock);
    p = NULL;
out:
    if (p && p->kernel)
        d->cl.clReleaseKernel(p->kernel);
    free(p);
    free(options);
    return res;
}

void hg_cl_programs_free(hg_cl_dev *dev)
{
    while (dev->pipes) {
        hg_cl_pipe *p = dev->pipes;

        dev->pipes = p->next;
        dev->cl.clReleaseKernel(p->kernel);
        free(p);
    }
    while (dev->programs) {
        hg_cl_program *p = dev->programs;

        dev->programs = p->next;
        dev->cl.clReleaseProgram(p->program);
        free(p->options);
        free(p);
    }
}
