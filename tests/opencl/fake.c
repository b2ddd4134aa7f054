/* SPDX-License-Identifier: MIT */
/* The made-up driver. Commands run when they are enqueued; only what events say about them can
 * wait. */
#include "fake.h"

#include "tiny.h"

#include <stdlib.h>
#include <string.h>

struct _cl_platform_id {
    int unused;
};
struct _cl_device_id {
    int unused;
};
struct _cl_context {
    int unused;
};
struct _cl_command_queue {
    uint64_t flushed, waited; /* serials of the last command of each kind */
};
struct _cl_mem {
    cl_mem parent; /* of a sub-buffer */
    unsigned char *bytes;
    size_t size;
    uint32_t references;    /* its own and one for each sub-buffer */
    cl_command_queue queue; /* of the last command that uses it, and which that is */
    uint64_t serial;
};
struct _cl_program {
    unsigned scale;
    int built;
    char text[64]; /* binaries: "fake SCALE" */
};
struct _cl_kernel {
    unsigned scale;
    cl_mem buffer[2];
    struct hg_tiny_params params;
};
struct _cl_event {
    cl_ulong end;
    uint64_t serial;
    cl_command_queue queue;
};

static struct _cl_platform_id platform;
static struct _cl_device_id device[HG_CL_DEVICES_MAX];
hg_fake hg_fake_state;

static cl_int answer(const void *value, size_t size, size_t room, void *out, size_t *needed)
{
    if (needed)
        *needed = size;
    if (out && room < size)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, size);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t room, void *out, size_t *needed)
{
    return answer(text, strlen(text) + 1, room, out, needed);
}

static cl_int CL_API_CALL fake_clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *found)
{
    *found = hg_fake_state.device.platforms;
    for (cl_uint i = 0; i < *found && i < room; i++)
        out[i] = &platform;
    return *found ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

static cl_int CL_API_CALL fake_clGetPlatformInfo(cl_platform_id p, cl_platform_info what,
                                                 size_t room, void *out, size_t *size)
{
    (void)p;
    if (what == hg_fake_state.device.mute)
        return CL_INVALID_VALUE;
    return answer_text(what == CL_PLATFORM_NAME ? hg_fake_state.device.platform_name
                                                : hg_fake_state.device.platform_version,
                       room, out, size);
}

static cl_int CL_API_CALL fake_clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint room,
                                              cl_device_id *out, cl_uint *found)
{
    (void)p;
    (void)type;
    *found = hg_fake_state.device.devices;
    for (cl_uint i = 0; i < *found && i < room; i++)
        out[i] = &device[i];
    return *found ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL fake_clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room,
                                               void *out, size_t *size)
{
    static const unsigned char uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    static const size_t sub_groups[3] = {16, 4, 8};
    static const size_t items[3] = {1024, 512, 64};
    static const cl_uint vendor = 0x1234, units = 7;
    const hg_fake_device *d = &hg_fake_state.device;

    (void)id;
    if (what == d->mute)
        return CL_INVALID_VALUE;
    switch (what) {
#define TEXT(key, field)                                                                           \
    case key:                                                                                      \
        return answer_text(d->field, room, out, size);
#define VALUE(key, value)                                                                          \
    case key:                                                                                      \
        return answer(&(value), sizeof(value), room, out, size);
        TEXT(CL_DEVICE_NAME, name)
        TEXT(CL_DEVICE_VERSION, version)
        TEXT(CL_DEVICE_OPENCL_C_VERSION, c_version)
        TEXT(CL_DRIVER_VERSION, driver_version)
        TEXT(CL_DEVICE_PROFILE, profile)
        TEXT(CL_DEVICE_EXTENSIONS, extensions)
        VALUE(CL_DEVICE_TYPE, d->type)
        VALUE(CL_DEVICE_AVAILABLE, d->available)
        VALUE(CL_DEVICE_COMPILER_AVAILABLE, d->compiler)
        VALUE(CL_DEVICE_ENDIAN_LITTLE, d->little_endian)
        VALUE(CL_DEVICE_HOST_UNIFIED_MEMORY, d->unified)
        VALUE(CL_DEVICE_SINGLE_FP_CONFIG, d->fp32)
        VALUE(CL_DEVICE_MEM_BASE_ADDR_ALIGN, d->align_bits)
        VALUE(CL_DEVICE_ADDRESS_BITS, d->address_bits)
        VALUE(CL_DEVICE_VENDOR_ID, vendor)
        VALUE(CL_DEVICE_MAX_COMPUTE_UNITS, units)
        VALUE(CL_DEVICE_MAX_WORK_GROUP_SIZE, d->group)
        VALUE(CL_DEVICE_MAX_PARAMETER_SIZE, d->parameters)
        VALUE(CL_DEVICE_LOCAL_MEM_SIZE, d->shared)
        VALUE(CL_DEVICE_MAX_MEM_ALLOC_SIZE, d->alloc)
        VALUE(CL_DEVICE_GLOBAL_MEM_SIZE, d->memory)
        VALUE(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, d->dimensions)
        VALUE(CL_DEVICE_MAX_WORK_ITEM_SIZES, items)
        VALUE(0x106A, uuid)
        VALUE(0x106B, uuid)
        VALUE(0x4108, sub_groups)
#undef TEXT
#undef VALUE
    default:
        return CL_INVALID_VALUE;
    }
}

/* One object, or an error, as every create function gives it. */
static void *make(size_t size, cl_int *err)
{
    void *object = calloc(1, size);

    *err = object ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    return object;
}

static cl_context CL_API_CALL fake_clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *err)
{
    (void)properties;
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    return make(sizeof(struct _cl_context), err);
}

static cl_int CL_API_CALL fake_clReleaseContext(cl_context context)
{
    free(context);
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL fake_clCreateCommandQueue(
    cl_context context, cl_device_id id, cl_command_queue_properties properties, cl_int *err)
{
    (void)context;
    (void)id;
    (void)properties;
    return make(sizeof(struct _cl_command_queue), err);
}

static cl_int CL_API_CALL fake_clReleaseCommandQueue(cl_command_queue queue)
{
    free(queue);
    return CL_SUCCESS;
}

static cl_mem CL_API_CALL fake_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                              void *host, cl_int *err)
{
    cl_mem mem;

    (void)context;
    (void)flags;
    (void)host;
    mem = make(sizeof(*mem), err);
    if (!mem)
        return NULL;
    mem->bytes = calloc(size, 1);
    mem->size = size;
    mem->references = 1;
    if (mem->bytes)
        return mem;
    free(mem);
    *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static cl_mem CL_API_CALL fake_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                                 cl_buffer_create_type type, const void *region,
                                                 cl_int *err)
{
    const cl_buffer_region *r = region;
    cl_mem mem;

    (void)flags;
    (void)type;
    if (r->size == 0 || r->origin > buffer->size || r->size > buffer->size - r->origin) {
        *err = CL_INVALID_VALUE;
        return NULL;
    }
    if (r->origin % (hg_fake_state.device.align_bits / 8) != 0) {
        *err = CL_MISALIGNED_SUB_BUFFER_OFFSET;
        return NULL;
    }
    mem = make(sizeof(*mem), err);
    if (!mem)
        return NULL;
    *mem = (struct _cl_mem){
        .parent = buffer, .bytes = buffer->bytes + r->origin, .size = r->size, .references = 1};
    buffer->references++;
    return mem;
}

void hg_fake_hold(uint32_t hold)
{
    hg_fake_state.hold = hold;
    if (!hold)
        hg_fake_state.let_go = hg_fake_state.serial;
}

static int is_over(const struct _cl_command_queue *queue, uint64_t serial)
{
    return serial <= queue->waited || (serial <= queue->flushed && serial <= hg_fake_state.let_go);
}

static cl_int CL_API_CALL fake_clReleaseMemObject(cl_mem mem)
{
    while (mem && --mem->references == 0) {
        const cl_mem parent = mem->parent;

        hg_fake_state.freed_in_flight += mem->queue && !is_over(mem->queue, mem->serial);
        if (!parent)
            free(mem->bytes);
        free(mem);
        mem = parent;
    }
    return CL_SUCCESS;
}

static cl_program CL_API_CALL fake_clCreateProgramWithSource(cl_context context, cl_uint count,
                                                             const char **text,
                                                             const size_t *length, cl_int *err)
{
    (void)context;
    (void)count;
    (void)text;
    (void)length;
    return make(sizeof(struct _cl_program), err);
}

static cl_program CL_API_CALL fake_clCreateProgramWithBinary(cl_context context, cl_uint count,
                                                             const cl_device_id *devices,
                                                             const size_t *size,
                                                             const unsigned char **binary,
                                                             cl_int *status, cl_int *err)
{
    cl_program program;

    (void)context;
    (void)count;
    (void)devices;
    *status = CL_SUCCESS;
    if (hg_fake_state.refuse_binaries || *size != sizeof(program->text)) {
        *status = *err = CL_INVALID_BINARY;
        return NULL;
    }
    program = make(sizeof(*program), err);
    if (program)
        memcpy(program->text, binary[0], sizeof(program->text));
    return program;
}

static cl_int CL_API_CALL fake_clBuildProgram(cl_program program, cl_uint count,
                                              const cl_device_id *devices, const char *options,
                                              void(CL_CALLBACK *notify)(cl_program, void *),
                                              void *user)
{
    const char *scale = strstr(options, "-DSCALE=");

    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    if (!scale)
        return CL_BUILD_PROGRAM_FAILURE;
    hg_fake_state.builds += program->text[0] == 0;
    program->scale = (unsigned)strtoul(scale + strlen("-DSCALE="), NULL, 10);
    program->built = 1;
    memcpy(program->text, "fake", strlen("fake"));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clGetProgramInfo(cl_program program, cl_program_info what,
                                                size_t room, void *out, size_t *size)
{
    const size_t bytes = sizeof(program->text);

    if (what == CL_PROGRAM_BINARY_SIZES)
        return answer(&bytes, sizeof(bytes), room, out, size);
    memcpy(*(unsigned char **)out, program->text, bytes);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clGetProgramBuildInfo(cl_program program, cl_device_id id,
                                                     cl_program_build_info what, size_t room,
                                                     void *out, size_t *size)
{
    (void)program;
    (void)id;
    (void)what;
    return answer_text("line one\nline two\n3\n4\n5\n6\n7\n8\nline nine\n", room, out, size);
}

static cl_int CL_API_CALL fake_clReleaseProgram(cl_program program)
{
    free(program);
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL fake_clCreateKernel(cl_program program, const char *name, cl_int *err)
{
    cl_kernel kernel;

    if (!program->built || strcmp(name, "hg_scale") != 0) {
        *err = CL_INVALID_KERNEL_NAME;
        return NULL;
    }
    kernel = make(sizeof(*kernel), err);
    if (kernel)
        kernel->scale = program->scale;
    return kernel;
}

static cl_int CL_API_CALL fake_clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t room,
                                               void *out, size_t *size)
{
    static const cl_uint arguments = 3;

    (void)kernel;
    (void)what;
    return answer(&arguments, sizeof(arguments), room, out, size);
}

static cl_int CL_API_CALL fake_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id,
                                                        cl_kernel_work_group_info what, size_t room,
                                                        void *out, size_t *size)
{
    (void)kernel;
    (void)id;
    (void)what;
    return answer(&hg_fake_state.device.group, sizeof(size_t), room, out, size);
}

static cl_int CL_API_CALL fake_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                              const void *value)
{
    if (index < 2 && size == sizeof(cl_mem))
        memcpy(&kernel->buffer[index], value, size);
    else if (index == 2 && size == sizeof(kernel->params))
        memcpy(&kernel->params, value, size);
    else
        return index > 2 ? CL_INVALID_ARG_INDEX : CL_INVALID_ARG_SIZE;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clReleaseKernel(cl_kernel kernel)
{
    free(kernel);
    return CL_SUCCESS;
}

/* Time goes on by 1000 ns a command. Marks up to two buffers as in use by it. */
static cl_int finish_command(cl_command_queue queue, cl_mem first, cl_mem second, cl_event *event)
{
    hg_fake_state.clock += 1000;
    hg_fake_state.serial++;
    if (!hg_fake_state.hold)
        hg_fake_state.let_go = hg_fake_state.serial;
    for (int i = 0; i < 2; i++) {
        const cl_mem mem = i ? second : first;

        if (mem) {
            mem->queue = queue;
            mem->serial = hg_fake_state.serial;
        }
    }
    if (!event)
        return CL_SUCCESS;
    *event = calloc(1, sizeof(**event));
    if (!*event)
        return CL_OUT_OF_HOST_MEMORY;
    **event = (struct _cl_event){hg_fake_state.clock, hg_fake_state.serial, queue};
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                      cl_uint dimensions, const size_t *first,
                                                      const size_t *global, const size_t *local,
                                                      cl_uint wait_count, const cl_event *wait,
                                                      cl_event *event)
{
    const struct hg_tiny_params *p = &kernel->params;
    const size_t items = global[0] * global[1] * global[2];

    (void)first;
    (void)wait_count;
    (void)wait;
    if (dimensions != 3 || local[0] > hg_fake_state.device.group || global[0] % local[0] != 0)
        return CL_INVALID_WORK_GROUP_SIZE;
    for (size_t i = 0; i < items && i < p->count; i++) {
        float v;

        if ((i + 1) * sizeof(v) > kernel->buffer[0]->size ||
            (i + 1) * sizeof(v) > kernel->buffer[1]->size)
            return CL_OUT_OF_RESOURCES;
        memcpy(&v, kernel->buffer[0]->bytes + i * sizeof(v), sizeof(v));
        for (uint32_t r = 0; r < p->rounds; r++)
            v = v * (float)kernel->scale + p->add;
        memcpy(kernel->buffer[1]->bytes + i * sizeof(v), &v, sizeof(v));
    }
    return finish_command(queue, kernel->buffer[0], kernel->buffer[1], event);
}

static cl_int CL_API_CALL fake_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem src, cl_mem dst,
                                                   size_t src_offset, size_t dst_offset,
                                                   size_t size, cl_uint wait_count,
                                                   const cl_event *wait, cl_event *event)
{
    (void)wait_count;
    (void)wait;
    memmove(dst->bytes + dst_offset, src->bytes + src_offset, size);
    return finish_command(queue, src, dst, event);
}

static cl_int CL_API_CALL fake_clEnqueueFillBuffer(cl_command_queue queue, cl_mem dst,
                                                   const void *pattern, size_t pattern_size,
                                                   size_t offset, size_t size, cl_uint wait_count,
                                                   const cl_event *wait, cl_event *event)
{
    (void)wait_count;
    (void)wait;
    for (size_t i = 0; i + pattern_size <= size; i += pattern_size)
        memcpy(dst->bytes + offset + i, pattern, pattern_size);
    return finish_command(queue, dst, NULL, event);
}

static cl_int CL_API_CALL fake_clEnqueueMarkerWithWaitList(cl_command_queue queue,
                                                           cl_uint wait_count, const cl_event *wait,
                                                           cl_event *event)
{
    (void)wait_count;
    (void)wait;
    return finish_command(queue, NULL, NULL, event);
}

static void *CL_API_CALL fake_clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem,
                                                 cl_bool blocking, cl_map_flags flags,
                                                 size_t offset, size_t size, cl_uint wait_count,
                                                 const cl_event *wait, cl_event *event, cl_int *err)
{
    (void)queue;
    (void)blocking;
    (void)flags;
    (void)size;
    (void)wait_count;
    (void)wait;
    (void)event;
    *err = CL_SUCCESS;
    return mem->bytes + offset;
}

static cl_int CL_API_CALL fake_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem,
                                                       void *view, cl_uint wait_count,
                                                       const cl_event *wait, cl_event *event)
{
    (void)mem;
    (void)view;
    (void)wait_count;
    (void)wait;
    return finish_command(queue, NULL, NULL, event);
}

static cl_int CL_API_CALL fake_clFlush(cl_command_queue queue)
{
    queue->flushed = hg_fake_state.serial;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clFinish(cl_command_queue queue)
{
    hg_fake_state.finished++;
    queue->waited = hg_fake_state.serial;
    return CL_SUCCESS;
}

/* In order: what was enqueued before is over, too. */
static cl_int CL_API_CALL fake_clWaitForEvents(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (events[i]->queue->waited < events[i]->serial)
            events[i]->queue->waited = events[i]->serial;
    return hg_fake_state.give_up ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

static cl_int CL_API_CALL fake_clGetEventInfo(cl_event event, cl_event_info what, size_t room,
                                              void *out, size_t *size)
{
    const cl_int over = is_over(event->queue, event->serial) ? CL_COMPLETE : CL_SUBMITTED;
    const cl_int status = hg_fake_state.give_up ? hg_fake_state.give_up : over;

    (void)what;
    return answer(&status, sizeof(status), room, out, size);
}

static cl_int CL_API_CALL fake_clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
                                                       size_t room, void *out, size_t *size)
{
    (void)what;
    return answer(&event->end, sizeof(event->end), room, out, size);
}

static cl_int CL_API_CALL fake_clReleaseEvent(cl_event event)
{
    free(event);
    return CL_SUCCESS;
}

void hg_fake_start(hg_cl *out)
{
    hg_fake_state = (hg_fake){.device = {.platforms = 1,
                                         .devices = 1,
                                         .platform_name = "Made Up",
                                         .platform_version = "OpenCL 3.0 made up",
                                         .name = "  Fake\tdevice ",
                                         .version = "OpenCL 3.0 words",
                                         .c_version = "OpenCL C 1.2 words",
                                         .driver_version = "7.1",
                                         .profile = "FULL_PROFILE",
                                         .extensions = "cl_khr_icd",
                                         .type = CL_DEVICE_TYPE_CPU,
                                         .available = CL_TRUE,
                                         .compiler = CL_TRUE,
                                         .little_endian = CL_TRUE,
                                         .unified = CL_TRUE,
                                         .fp32 = CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN,
                                         .align_bits = 1024,
                                         .address_bits = 64,
                                         .dimensions = 3,
                                         .group = 1024,
                                         .parameters = 1024,
                                         .shared = 32768,
                                         .alloc = UINT64_C(1) << 30,
                                         .memory = UINT64_C(4) << 30}};
    *out = (hg_cl){0};
#define STATUS(name, params, args) out->name = fake_##name;
#define OBJECT(name, type, params, args) out->name = fake_##name;
#include "opencl/cl_functions.def"
}
