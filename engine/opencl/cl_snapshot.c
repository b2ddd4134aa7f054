/* SPDX-License-Identifier: MIT */
/* Pure data about every OpenCL device: identity, limits, features, and in words why one cannot be
 * used. Opens nothing. */
#include "cl.h"

#include "check.h"
#include "os.h"
#include "plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Newer than 1.2, asked for by number: cl_khr_device_uuid and cl_intel_required_subgroup_size. */
enum { ASK_DEVICE_UUID = 0x106A, ASK_DRIVER_UUID = 0x106B, ASK_SUB_GROUP_SIZES = 0x4108 };
enum { UUID_BYTES = 16, SUB_GROUP_SIZES_MAX = 16 };

/* A driver's words on one line: control characters become spaces, the ends are trimmed. */
static void tidy(char *text)
{
    size_t begin = 0, length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    while (length && text[length - 1] == ' ')
        length--;
    while (begin < length && text[begin] == ' ')
        begin++;
    memmove(text, text + begin, length - begin);
    text[length - begin] = 0;
}

char *hg_cl_device_text(const hg_cl *cl, cl_device_id device, cl_device_info what)
{
    size_t size = 0;
    char *text;

    if (cl->clGetDeviceInfo(device, what, 0, NULL, &size) != CL_SUCCESS || size >= SIZE_MAX / 2)
        return NULL;
    text = calloc(size + 1, 1);
    if (text && size && cl->clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS) {
        free(text);
        return NULL;
    }
    if (text)
        tidy(text);
    return text;
}

char *hg_cl_platform_text(const hg_cl *cl, cl_platform_id platform, cl_platform_info what)
{
    size_t size = 0;
    char *text;

    if (cl->clGetPlatformInfo(platform, what, 0, NULL, &size) != CL_SUCCESS || size >= SIZE_MAX / 2)
        return NULL;
    text = calloc(size + 1, 1);
    if (text && size && cl->clGetPlatformInfo(platform, what, size, text, NULL) != CL_SUCCESS) {
        free(text);
        return NULL;
    }
    if (text)
        tidy(text);
    return text;
}

/* One platform that fails does not hide the others. */
uint32_t hg_cl_places(const hg_cl *cl, const hg_log *log, hg_cl_place out[HG_CL_DEVICES_MAX])
{
    cl_platform_id platforms[HG_CL_DEVICES_MAX];
    cl_device_id devices[HG_CL_DEVICES_MAX];
    cl_uint platform_count = 0;
    uint32_t total = 0;
    cl_int code = cl->clGetPlatformIDs(HG_CL_DEVICES_MAX, platforms, &platform_count);

    if (code != CL_SUCCESS || platform_count == 0) {
        hg_say(log, HG_LOG_INFO, "the OpenCL loader finds no driver (%s): no OpenCL devices",
               code == CL_SUCCESS ? "0 platforms" : hg_cl_error_name(code));
        return 0;
    }
    if (platform_count > HG_CL_DEVICES_MAX)
        platform_count = HG_CL_DEVICES_MAX;
    for (cl_uint p = 0; p < platform_count; p++) {
        cl_uint found = 0;

        code = cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, HG_CL_DEVICES_MAX, devices,
                                  &found);
        if (code != CL_SUCCESS) {
            char *name = hg_cl_platform_text(cl, platforms[p], CL_PLATFORM_NAME);

            hg_say(log, HG_LOG_INFO, "OpenCL platform %s lists no device: %s",
                   name ? name : "without a name", hg_cl_error_name(code));
            free(name);
            continue;
        }
        if (found > HG_CL_DEVICES_MAX)
            found = HG_CL_DEVICES_MAX;
        for (cl_uint d = 0; d < found && total < HG_CL_DEVICES_MAX; d++)
            out[total++] = (hg_cl_place){platforms[p], devices[d]};
    }
    return total;
}

static void copy_text(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text ? text : "");
}

/* Version as 100 * major + minor of a text like "OpenCL C 1.2 vendor's words"; 0: not one. */
static uint32_t read_version(const char *text, const char *prefix)
{
    char *end;
    unsigned long major, minor;

    if (!text || strncmp(text, prefix, strlen(prefix)) != 0)
        return 0;
    text += strlen(prefix);
    if (!isdigit((unsigned char)*text))
        return 0;
    major = strtoul(text, &end, 10);
    if (*end != '.' || !isdigit((unsigned char)end[1]) || major > 99)
        return 0;
    minor = strtoul(end + 1, NULL, 10);
    return minor > 99 ? 0 : (uint32_t)(100 * major + minor);
}

/* A whole word of a list that is separated by spaces. */
static uint32_t has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    while (list && *list) {
        const size_t here = strcspn(list, " ");

        if (here == length && strncmp(list, word, length) == 0)
            return 1;
        list += here;
        list += strspn(list, " ");
    }
    return 0;
}

/* What the judgement below rests on and hg_device_info does not hold. */
typedef struct facts {
    cl_bool available, compiler, little_endian, unified;
    cl_device_type type;
    cl_device_fp_config fp32;
    cl_uint align_bits, address_bits;
    uint32_t embedded, version, c_version, platform_version;
    char *extensions;
} facts;

static cl_int ask(const hg_cl *cl, cl_device_id device, cl_device_info what, void *out, size_t size)
{
    return cl->clGetDeviceInfo(device, what, size, out, NULL);
}

static hg_result read_facts(const hg_cl *cl, hg_cl_place place, facts *f)
{
    const cl_device_id d = place.device;
    char *profile = hg_cl_device_text(cl, d, CL_DEVICE_PROFILE);
    char *version = hg_cl_device_text(cl, d, CL_DEVICE_VERSION);
    char *c_version = hg_cl_device_text(cl, d, CL_DEVICE_OPENCL_C_VERSION);
    char *platform_version = hg_cl_platform_text(cl, place.platform, CL_PLATFORM_VERSION);
    cl_int code = CL_SUCCESS;

    f->extensions = hg_cl_device_text(cl, d, CL_DEVICE_EXTENSIONS);
    f->embedded = profile && strcmp(profile, "EMBEDDED_PROFILE") == 0;
    f->version = read_version(version, "OpenCL ");
    f->c_version = read_version(c_version, "OpenCL C ");
    f->platform_version = read_version(platform_version, "OpenCL ");
    if (!profile || !version || !c_version || !platform_version || !f->extensions)
        code = CL_INVALID_VALUE;
    code = code ? code : ask(cl, d, CL_DEVICE_AVAILABLE, &f->available, sizeof(f->available));
    code =
        code ? code : ask(cl, d, CL_DEVICE_COMPILER_AVAILABLE, &f->compiler, sizeof(f->compiler));
    code = code ? code
                : ask(cl, d, CL_DEVICE_ENDIAN_LITTLE, &f->little_endian, sizeof(f->little_endian));
    code = code ? code : ask(cl, d, CL_DEVICE_HOST_UNIFIED_MEMORY, &f->unified, sizeof(f->unified));
    code = code ? code : ask(cl, d, CL_DEVICE_TYPE, &f->type, sizeof(f->type));
    code = code ? code : ask(cl, d, CL_DEVICE_SINGLE_FP_CONFIG, &f->fp32, sizeof(f->fp32));
    code = code ? code
                : ask(cl, d, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &f->align_bits, sizeof(f->align_bits));
    code =
        code ? code : ask(cl, d, CL_DEVICE_ADDRESS_BITS, &f->address_bits, sizeof(f->address_bits));
    free(profile);
    free(version);
    free(c_version);
    free(platform_version);
    return code == CL_SUCCESS ? HG_OK : HG_ERR_DRIVER;
}

static hg_result read_identity(const hg_cl *cl, hg_cl_place place, const facts *f, hg_snapshot *out)
{
    char *name = hg_cl_device_text(cl, place.device, CL_DEVICE_NAME);
    char *driver = hg_cl_platform_text(cl, place.platform, CL_PLATFORM_NAME);
    char *driver_version = hg_cl_device_text(cl, place.device, CL_DRIVER_VERSION);
    cl_uint vendor = 0, units = 0;
    hg_result res = name && driver && driver_version ? HG_OK : HG_ERR_DRIVER;

    copy_text(out->name, sizeof(out->name), name);
    copy_text(out->driver, sizeof(out->driver), driver);
    copy_text(out->driver_version, sizeof(out->driver_version), driver_version);
    /* The words after the number repeat the driver's; a number that cannot be read is judged below.
     */
    snprintf(out->api_version, sizeof(out->api_version), "OpenCL %u.%u", f->version / 100,
             f->version % 100);
    if (ask(cl, place.device, CL_DEVICE_VENDOR_ID, &vendor, sizeof(vendor)) != CL_SUCCESS ||
        ask(cl, place.device, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof(units)) != CL_SUCCESS)
        res = HG_ERR_DRIVER;
    out->vendor_id = vendor;
    out->compute_units = units;
    /* Some devices name every type they could stand for; one that runs on the processor is a CPU.
     */
    if (f->type & CL_DEVICE_TYPE_CPU)
        out->type = HG_DEVICE_CPU;
    else if (f->type & CL_DEVICE_TYPE_GPU)
        out->type = f->unified ? HG_DEVICE_INTEGRATED : HG_DEVICE_DISCRETE;
    else
        out->type = HG_DEVICE_OTHER;
    if (has_word(f->extensions, "cl_khr_device_uuid") &&
        (ask(cl, place.device, ASK_DEVICE_UUID, out->device_uuid, UUID_BYTES) != CL_SUCCESS ||
         ask(cl, place.device, ASK_DRIVER_UUID, out->driver_uuid, UUID_BYTES) != CL_SUCCESS)) {
        memset(out->device_uuid, 0, sizeof(out->device_uuid));
        memset(out->driver_uuid, 0, sizeof(out->driver_uuid));
    }
    free(name);
    free(driver);
    free(driver_version);
    return res;
}

static uint32_t clamp32(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static hg_result read_limits(const hg_cl *cl, cl_device_id d, const facts *f, hg_limits *out)
{
    size_t group = 0, parameters = 0, sizes[8] = {0};
    cl_ulong shared = 0, alloc = 0;
    cl_uint dimensions = 0;
    cl_int code = ask(cl, d, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof(group));
    uint64_t pointers;

    code = code ? code : ask(cl, d, CL_DEVICE_MAX_PARAMETER_SIZE, &parameters, sizeof(parameters));
    code = code ? code : ask(cl, d, CL_DEVICE_LOCAL_MEM_SIZE, &shared, sizeof(shared));
    code = code ? code : ask(cl, d, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &alloc, sizeof(alloc));
    code = code ? code
                : ask(cl, d, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, &dimensions, sizeof(dimensions));
    if (code == CL_SUCCESS && (dimensions < 3 || dimensions > 8))
        code = CL_INVALID_VALUE;
    code = code ? code
                : ask(cl, d, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes, dimensions * sizeof(sizes[0]));
    if (code != CL_SUCCESS)
        return HG_ERR_DRIVER;

    out->group_invocations = clamp32(group);
    for (int i = 0; i < 3; i++)
        out->group_size[i] = clamp32(sizes[i]);
    /* OpenCL sets no limit of its own. Global ids stay inside 32 bits in the first dimension,
     * whatever the group; the others keep to what hardware counts in 16 bits. */
    out->group_count[0] = out->group_invocations ? UINT32_MAX / out->group_invocations : 0;
    out->group_count[1] = out->group_count[2] = HG_MINIMUM_GROUP_COUNT;
    out->shared_bytes = clamp32(shared);
    out->push_bytes = clamp32(parameters);
    /* A buffer is an argument of one address; the params take their part first. */
    pointers = parameters > HG_MINIMUM_PUSH_BYTES ? parameters - HG_MINIMUM_PUSH_BYTES : 0;
    out->storage_buffers = f->address_bits >= 8 ? clamp32(pointers / (f->address_bits / 8)) : 0;
    out->bind_align_bytes = f->align_bits / 8;
    out->binding_bytes = alloc;
    out->alloc_bytes = alloc;
    return HG_OK;
}

static void read_features(const hg_cl *cl, cl_device_id d, const facts *f, hg_snapshot *out)
{
    size_t sizes[SUB_GROUP_SIZES_MAX] = {0}, bytes = 0;
    cl_uint width = 0;

    /* 16-bit loads and stores are in every OpenCL C, and so are profiled queues. */
    out->features = HG_FEATURE_STORAGE16 | HG_FEATURE_TIMESTAMPS;
    if (has_word(f->extensions, "cl_khr_fp16"))
        out->features |= HG_FEATURE_FP16;
    if (f->fp32 & CL_FP_ROUND_TO_NEAREST)
        out->features |= HG_FEATURE_RTE32;
    if (cl->clGetDeviceInfo(d, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof(width), &width, NULL) ==
        CL_SUCCESS)
        out->vector_floats = width;
    if (f->unified || out->type == HG_DEVICE_CPU)
        out->features |= HG_FEATURE_UNIFIED_MEMORY;
    /* Only where the sizes are told: a kernel cannot be chosen without them. */
    if ((!has_word(f->extensions, "cl_khr_subgroups") &&
         !has_word(f->extensions, "cl_intel_subgroups")) ||
        !has_word(f->extensions, "cl_intel_required_subgroup_size") ||
        cl->clGetDeviceInfo(d, ASK_SUB_GROUP_SIZES, sizeof(sizes), sizes, &bytes) != CL_SUCCESS)
        return;
    for (size_t i = 0; i < bytes / sizeof(sizes[0]) && i < SUB_GROUP_SIZES_MAX; i++) {
        const uint32_t size = clamp32(sizes[i]);

        if (size == 0)
            continue;
        if (out->limits.subgroup_min == 0 || size < out->limits.subgroup_min)
            out->limits.subgroup_min = size;
        if (size > out->limits.subgroup_max)
            out->limits.subgroup_max = size;
    }
    if (out->limits.subgroup_min)
        out->features |= HG_FEATURE_SUBGROUP_ARITHMETIC;
}

static void judge(const facts *f, hg_snapshot *out)
{
    const hg_limits *l = &out->limits;
    char *why = out->unusable;
    const size_t room = sizeof(out->unusable);

    if (!f->available)
        snprintf(why, room, "the driver says that the device is not available");
    else if (!f->compiler)
        snprintf(why, room, "the driver has no OpenCL C compiler");
    else if (f->version < 102 || f->platform_version < 102)
        snprintf(why, room, "OpenCL %u.%u, 1.2 is needed",
                 (f->version < f->platform_version ? f->version : f->platform_version) / 100,
                 (f->version < f->platform_version ? f->version : f->platform_version) % 100);
    else if (f->c_version < 102)
        snprintf(why, room, "OpenCL C %u.%u, 1.2 is needed", f->c_version / 100,
                 f->c_version % 100);
    else if (!f->little_endian)
        snprintf(why, room, "big-endian; weights and captures are little-endian");
    else if (!(f->fp32 & CL_FP_ROUND_TO_NEAREST))
        snprintf(why, room, "%s does not round fp32 to nearest",
                 f->embedded ? "this device of the embedded profile" : "the device");
    else if (l->bind_align_bytes > HG_BIND_ALIGN_BYTES)
        snprintf(why, room, "buffers start at multiples of %u bytes, %d are offered",
                 l->bind_align_bytes, (int)HG_BIND_ALIGN_BYTES);
    else if (l->push_bytes < HG_MINIMUM_PUSH_BYTES || l->storage_buffers < HG_MINIMUM_BUFFERS)
        snprintf(why, room,
                 "kernels take %u bytes of arguments, too few for %d buffers and %d bytes",
                 l->push_bytes, (int)HG_MINIMUM_BUFFERS, (int)HG_MINIMUM_PUSH_BYTES);
    else if (l->group_invocations < HG_MINIMUM_INVOCATIONS ||
             l->group_size[0] < HG_MINIMUM_INVOCATIONS)
        snprintf(why, room, "work-groups of %u, %d work-items are needed",
                 l->group_invocations < l->group_size[0] ? l->group_invocations : l->group_size[0],
                 (int)HG_MINIMUM_INVOCATIONS);
    else if (l->shared_bytes < HG_MINIMUM_SHARED_BYTES)
        snprintf(why, room, "%u bytes of local memory, %d are needed", l->shared_bytes,
                 (int)HG_MINIMUM_SHARED_BYTES);
    else if (l->alloc_bytes < HG_MINIMUM_BINDING_BYTES)
        snprintf(why, room, "buffers of %llu MiB, 128 are needed",
                 (unsigned long long)(l->alloc_bytes >> 20));
}

hg_result hg_cl_snapshot(const hg_cl *cl, hg_cl_place place, uint32_t backend_index,
                         hg_snapshot *out)
{
    facts f = {0};
    cl_ulong memory = 0;
    uint64_t free_bytes = 0, total_bytes = 0;
    hg_result res = HG_OK;

    *out = (hg_snapshot){
        .struct_size = sizeof(*out), .backend = HG_BACKEND_OPENCL, .backend_index = backend_index};
    HG_TRY(read_facts(cl, place, &f));
    HG_TRY(read_identity(cl, place, &f, out));
    HG_TRY(read_limits(cl, place.device, &f, &out->limits));
    if (ask(cl, place.device, CL_DEVICE_GLOBAL_MEM_SIZE, &memory, sizeof(memory)) != CL_SUCCESS) {
        res = HG_ERR_DRIVER;
        goto out;
    }
    read_features(cl, place.device, &f, out);
    if (out->type == HG_DEVICE_CPU)
        hg_os_memory(&free_bytes, &total_bytes);
    /* OpenCL has no number for free memory: all of it, until the driver refuses. */
    out->memory_total_bytes = total_bytes ? total_bytes : memory;
    out->memory_free_bytes = total_bytes ? free_bytes : memory;
    judge(&f, out);
out:
    free(f.extensions);
    return res;
}

hg_result hg_cl_enumerate(const hg_cl *cl, const hg_log *log, hg_snapshot *out, uint32_t *count)
{
    hg_cl_place places[HG_CL_DEVICES_MAX];
    const uint32_t room = *count;
    const uint32_t found = hg_cl_places(cl, log, places);

    *count = 0;
    for (uint32_t i = 0; i < found && *count < room; i++) {
        if (hg_cl_snapshot(cl, places[i], i, &out[*count]) == HG_OK)
            (*count)++;
        else
            hg_say(log, HG_LOG_INFO, "OpenCL device %u of %u does not say what it is: left out",
                   i + 1, found);
    }
    return HG_OK;
}
