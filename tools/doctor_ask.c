/* SPDX-License-Identifier: MIT */
/* The child's side of a probe: libraries are opened as a loader would, devices are listed. This
 * process may die at any line; what was answered before counts. */
#include "doctor_probe.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void hg_probe_answer(int fd, const char tag[4], const char *text)
{
    (void)hg_frame_write(fd, tag, text, strlen(text));
}

/* Where a library was found, through links: what a package owns. */
static void answer_path(int fd, const char *tag, void *symbol)
{
    Dl_info info;
    char *real;

    if (!symbol || !dladdr(symbol, &info) || !info.dli_fname)
        return;
    real = realpath(info.dli_fname, NULL);
    hg_probe_answer(fd, tag, real ? real : info.dli_fname);
    free(real);
}

static void *open_library(const hg_question *question, int fd)
{
    void *library = dlopen(question->library, RTLD_NOW | RTLD_LOCAL);
    const char *error = library ? NULL : dlerror();

    if (!library)
        hg_probe_answer(fd, "FAIL", error ? error : "dlopen failed without a reason");
    return library;
}

/* The first of the names that the library has. */
static void *find(void *library, const char *const *names)
{
    void *symbol = NULL;

    for (; *names && !symbol; names++)
        symbol = dlsym(library, *names);
    return symbol;
}

void hg_ask_layer(const hg_question *question, int fd)
{
    static const char *const names[] = {"vkNegotiateLoaderLayerInterfaceVersion",
                                        "vkGetInstanceProcAddr",
                                        "vkEnumerateInstanceLayerProperties", NULL};
    void *library = open_library(question, fd);

    if (library)
        answer_path(fd, "PATH", find(library, names));
}

static void write_line(void *user, hg_log_level level, const char *line)
{
    const int *fd = user;

    (void)level;
    hg_probe_answer(*fd, "LINE", line);
}

static void list_devices(int fd)
{
    hg_devices_params params = {.struct_size = sizeof(params),
                                .log = {write_line, &fd, HG_LOG_WARNING}};
    hg_device_info *devices = NULL;
    uint32_t count = 0;

    if (hg_devices(&params, NULL, &count) != HG_OK || count == 0)
        return;
    devices = calloc(count, sizeof(*devices));
    for (uint32_t i = 0; devices && i < count; i++)
        devices[i].struct_size = sizeof(devices[i]);
    if (devices && hg_devices(&params, devices, &count) == HG_OK)
        (void)hg_frame_write(fd, "DEVS", devices, (uint64_t)count * sizeof(*devices));
    free(devices);
}

/* No OpenCL loader finds a driver in a folder that is not there. */
static void hide_opencl(void)
{
    setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
    setenv("OPENCL_VENDOR_PATH", "/nonexistent/", 1);
    unsetenv("OCL_ICD_FILENAMES");
}

static void show_vulkan(const char *files)
{
    setenv("VK_ICD_FILENAMES", files, 1);
    setenv("VK_DRIVER_FILES", files, 1);
    unsetenv("VK_ADD_DRIVER_FILES");
}

static void hide_layers(const hg_question *question)
{
    if (!question->without_layers)
        return;
    setenv("VK_LOADER_LAYERS_DISABLE", "~implicit~", 1);
    if (question->layer_off && question->layer_off[0])
        setenv(question->layer_off, "1", 1);
}

void hg_ask_vulkan(const hg_question *question, int fd)
{
    static const char *const get[] = {"vk_icdGetInstanceProcAddr", "vkGetInstanceProcAddr", NULL};
    void *library = open_library(question, fd), *symbol;

    if (!library)
        return;
    symbol = find(library, get);
    if (!symbol) {
        hg_probe_answer(fd, "MISS", get[0]);
        return;
    }
    answer_path(fd, "PATH", symbol);
    show_vulkan(question->file);
    hide_opencl();
    hide_layers(question);
    list_devices(fd);
}

void hg_probe_hide(const hg_question *question)
{
    if (question->file)
        show_vulkan(question->file);
    if (question->without_opencl)
        hide_opencl();
    if (question->pocl_cache)
        setenv("POCL_CACHE_DIR", question->pocl_cache, 1);
    hide_layers(question);
}

void hg_ask_devices(const hg_question *question, int fd)
{
    hg_probe_hide(question);
    list_devices(fd);
}

/* --- OpenCL ------------------------------------------------------------------------------- */

/* As cl_khr_icd has it: a driver hands out this, and objects begin with a table whose third entry
 * is clGetDeviceIDs. */
typedef int (*cl_platforms)(unsigned count, void **platforms, unsigned *found);
typedef int (*cl_platform_text)(void *platform, unsigned name, size_t bytes, void *value,
                                size_t *used);
typedef int (*cl_devices)(void *platform, uint64_t type, unsigned count, void *devices,
                          unsigned *found);
typedef void *(*cl_extension)(const char *name);

enum {
    CL_NAME = 0x0902,
    CL_VERSION = 0x0901,
    CL_GET_DEVICE_IDS_AT = 2,
    CL_PLATFORMS_MAX = 16,
    CL_ICDL_VERSION = 2,
    CL_ICDL_NAME = 3
};

/* POSIX says that the bytes of the two kinds of pointer are the same; C does not convert them. */
#define AS_FUNCTION(function, symbol)                                                              \
    do {                                                                                           \
        void *symbol_ = (symbol);                                                                  \
        memcpy(&(function), &symbol_, sizeof(symbol_));                                            \
    } while (0)

/* "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 15.0.6, SLEEF" as "OpenCL 3.0
 * PoCL 3.1+debian, LLVM 15.0.6": how it was built is no help. */
static void shorten(char *version)
{
    char *rest = strstr(version, "  "), *llvm;

    if (!rest || !strstr(version, "PoCL"))
        return;
    llvm = strstr(rest, "LLVM ");
    *rest = '\0';
    if (!llvm || llvm - rest < 2)
        return;
    llvm[strcspn(llvm, ",")] = '\0';
    *rest++ = ',';
    *rest++ = ' ';
    memmove(rest, llvm, strlen(llvm) + 1);
}

static void answer_platform(int fd, cl_platform_text text, void *platform)
{
    const uint64_t all = 0xffffffff; /* CL_DEVICE_TYPE_ALL */
    char name[128] = "", version[128] = "", line[320];
    void **dispatch = *(void ***)platform;
    cl_devices list = NULL;
    unsigned count = 0;

    if (text) {
        if (text(platform, CL_NAME, sizeof(name) - 1, name, NULL) != 0)
            name[0] = '\0';
        if (text(platform, CL_VERSION, sizeof(version) - 1, version, NULL) != 0)
            version[0] = '\0';
    }
    if (dispatch)
        AS_FUNCTION(list, dispatch[CL_GET_DEVICE_IDS_AT]);
    if (!list || list(platform, all, 0, NULL, &count) != 0)
        count = 0;
    shorten(version);
    snprintf(line, sizeof(line), "%s%s%s, %u device%s", name[0] ? name : "a platform without name",
             version[0] ? ", " : "", version, count, count == 1 ? "" : "s");
    hg_probe_answer(fd, "PLAT", line);
}

void hg_ask_opencl(const hg_question *question, int fd)
{
    void *library = open_library(question, fd), *symbol, *platforms[CL_PLATFORMS_MAX] = {NULL};
    cl_extension extension = NULL;
    cl_platforms list = NULL;
    cl_platform_text text = NULL;
    unsigned count = 0;

    if (!library)
        return;
    symbol = dlsym(library, "clGetExtensionFunctionAddress");
    AS_FUNCTION(extension, symbol);
    AS_FUNCTION(list, dlsym(library, "clIcdGetPlatformIDsKHR"));
    answer_path(fd, "PATH", symbol ? symbol : dlsym(library, "clIcdGetPlatformIDsKHR"));
    if (!list && extension)
        AS_FUNCTION(list, extension("clIcdGetPlatformIDsKHR"));
    if (!list) {
        hg_probe_answer(fd, "MISS", "clIcdGetPlatformIDsKHR");
        return;
    }
    if (extension)
        AS_FUNCTION(text, extension("clGetPlatformInfo"));
    if (!text)
        AS_FUNCTION(text, dlsym(library, "clGetPlatformInfo"));
    if (list(CL_PLATFORMS_MAX, platforms, &count) != 0)
        return;
    for (unsigned i = 0; i < count && i < CL_PLATFORMS_MAX && platforms[i]; i++)
        answer_platform(fd, text, platforms[i]);
}

/* --- loaders ------------------------------------------------------------------------------ */

static void *open_first(int fd, const char *const *names)
{
    void *library = NULL;
    char *first = NULL;

    for (; *names && !library; names++) {
        const char *error;

        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        error = library ? NULL : dlerror();
        if (error && !first)
            first = strdup(error);
    }
    if (!library)
        hg_probe_answer(fd, "FAIL", first ? first : "dlopen failed without a reason");
    free(first);
    return library;
}

void hg_ask_vulkan_loader(const hg_question *question, int fd)
{
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", NULL};
    void *library = open_first(fd, names);
    int (*enumerate)(uint32_t * version) = NULL;
    uint32_t version = 0x400000; /* 1.0: has no such function */
    char text[64];

    (void)question;
    if (!library)
        return;
    answer_path(fd, "PATH", dlsym(library, "vkGetInstanceProcAddr"));
    AS_FUNCTION(enumerate, dlsym(library, "vkEnumerateInstanceVersion"));
    if (enumerate && enumerate(&version) != 0)
        version = 0;
    snprintf(text, sizeof(text), "%u.%u.%u", version >> 22, (version >> 12) & 0x3ff,
             version & 0xfff);
    hg_probe_answer(fd, "VERS", text);
}

void hg_ask_opencl_loader(const hg_question *question, int fd)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    void *library = open_first(fd, names);
    int (*about)(int what, size_t bytes, void *value, size_t *used) = NULL;
    cl_extension extension = NULL;
    char name[64] = "", version[64] = "", text[160];

    (void)question;
    if (!library)
        return;
    answer_path(fd, "PATH", dlsym(library, "clGetPlatformIDs"));
    hide_opencl(); /* this question is about the loader alone */
    AS_FUNCTION(extension, dlsym(library, "clGetExtensionFunctionAddress"));
    if (extension)
        AS_FUNCTION(about, extension("clGetICDLoaderInfoOCLICD"));
    if (!about || about(CL_ICDL_NAME, sizeof(name) - 1, name, NULL) != 0)
        return;
    if (about(CL_ICDL_VERSION, sizeof(version) - 1, version, NULL) != 0)
        version[0] = '\0';
    snprintf(text, sizeof(text), "%s%s%s", name, version[0] ? " " : "", version);
    hg_probe_answer(fd, "VERS", text);
}
