/* SPDX-License-Identifier: MIT */
/*
 * What the files of the OpenCL backend share. One in-order queue runs the work, so order is the
 * barrier; a second one maps and unmaps, so that a view of finished memory does not wait for the
 * work behind it. Nothing here is thread-safe by itself but hg_cl_prepare: the engine serialises
 * the other calls of a device.
 *
 * OpenCL 1.2 is all that is asked for; what is newer is queried by value. The library is opened at
 * run time, and calls go through a table: no link dependency, and tests can put a failing function
 * in any place.
 */
#ifndef HG_OPENCL_CL_H
#define HG_OPENCL_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "backend.h"

#include <pthread.h>

typedef struct hg_cl {
    // NOLINTBEGIN(bugprone-macro-parentheses): declarations
#define STATUS(name, params, args) cl_int(CL_API_CALL *name) params;
#define OBJECT(name, type, params, args) type(CL_API_CALL *name) params;
#include "cl_functions.def"
    // NOLINTEND(bugprone-macro-parentheses)
    void *library; /* NULL: the table is somebody else's, nothing to close */
} hg_cl;

/* cl_load.c */

/* Opens the loader and fills the table. HG_ERR_NO_DEVICE, with an INFO line, when there is none. */
hg_result hg_cl_load(const hg_log *log, hg_cl *out);
/* The same from a NULL-terminated list of library names. */
hg_result hg_cl_load_names(const hg_log *log, const char *const *names, hg_cl *out);
void hg_cl_unload(hg_cl *cl);

/* "CL_OUT_OF_RESOURCES"; "unknown OpenCL error" for a number that has no name here. */
const char *hg_cl_error_name(cl_int code);
/* What a failed call means to the engine. */
hg_result hg_cl_result(cl_int code);
/* "<the words>: CL_OUT_OF_RESOURCES (-5)" at HG_LOG_ERROR. */
hg_result hg_cl_fail(const hg_log *log, cl_int code, const char *format, ...) HG_PRINTF(3, 4);

/* cl_snapshot.c */

typedef struct hg_cl_place {
    cl_platform_id platform;
    cl_device_id device;
} hg_cl_place;

enum { HG_CL_DEVICES_MAX = 64 };

/* Every device of every platform in the loader's order; the place in this order is backend_index.
 */
uint32_t hg_cl_places(const hg_cl *cl, const hg_log *log, hg_cl_place out[HG_CL_DEVICES_MAX]);
/* HG_ERR_DRIVER, without a sentence, when the device cannot even say its name and limits. */
hg_result hg_cl_snapshot(const hg_cl *cl, hg_cl_place place, uint32_t backend_index,
                         hg_snapshot *out);
/* What the device says, trimmed, in malloced memory; NULL: it does not say. */
char *hg_cl_device_text(const hg_cl *cl, cl_device_id device, cl_device_info what);
char *hg_cl_platform_text(const hg_cl *cl, cl_platform_id platform, cl_platform_info what);
hg_result hg_cl_enumerate(const hg_cl *cl, const hg_log *log, hg_snapshot *out, uint32_t *count);

typedef struct hg_cl_mem hg_cl_mem;
typedef struct hg_cl_program hg_cl_program;
typedef struct hg_cl_pipe hg_cl_pipe;
typedef struct hg_cl_point hg_cl_point;

typedef struct hg_cl_dev {
    hg_dev base;
    hg_cl cl;
    hg_cl_place place;
    cl_context context;
    cl_command_queue work, maps;
    uint32_t unified; /* the host maps every kind of buffer */
    uint32_t lost;
    hg_result
        unmap_result;      /* a failed unmap has no result of its own: the next submit returns it */
    const char *cache_dir; /* NULL: compiled programs are not kept */
    char *cache_key;       /* device, driver and platform versions in words */
    _Atomic uint32_t cache_warned; /* said once that the cache folder cannot be written */

    uint64_t submitted, passed; /* points */
    hg_cl_point *first,
        *last; /* ascending; those at or below `passed` are kept for their timestamps */

    hg_cl_mem *dead;              /* released while their last point had not passed */
    uint32_t mems;                /* alive, the dead ones included */
    pthread_mutex_t program_lock; /* of the two below; not held while building */
    hg_cl_program *programs;
    hg_cl_pipe *pipes;
} hg_cl_dev;

/* cl_device.c */

/* Opens with a copy of this table; hg_backend_opencl.open is this with the real one. */
hg_result hg_cl_open(const hg_cl *cl, const hg_plan *plan, const void *import, hg_dev **out);
void hg_cl_close(hg_dev **dev);

/* cl_memory.c */

struct hg_cl_range;
struct hg_cl_view;

struct hg_cl_mem {
    hg_mem base;
    char *name;
    cl_mem buffer;
    uint64_t last_point;        /* of the submits that use it */
    struct hg_cl_range *ranges; /* sub-buffers made so far */
    uint32_t range_count, range_room;
    struct hg_cl_view *views; /* mapped now */
    hg_cl_mem *next_dead;
};

hg_result hg_cl_alloc(hg_dev *dev, const hg_mem_desc *desc, hg_mem **out);
hg_result hg_cl_wrap(hg_dev *dev, const hg_wrap_desc *desc, hg_mem **out);
void hg_cl_release(hg_mem **mem);
hg_result hg_cl_map(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes, hg_map_access access,
                    void **out);
void hg_cl_unmap(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes);
/* The buffer object for a binding: the buffer itself, or a sub-buffer that is made once. For the
 * submit `point`. */
hg_result hg_cl_range(const hg_bind *bind, uint64_t point, cl_mem *out);
/* Frees what was released and whose last point has passed; all of it when everything has been
 * waited for. */
void hg_cl_memory_reap(hg_cl_dev *dev, uint64_t passed);

/* cl_program.c, cl_cache.c */

struct hg_cl_pipe {
    hg_pipe base;
    cl_kernel kernel;
    hg_cl_pipe *next;
};

hg_result hg_cl_prepare(hg_dev *dev, const hg_variant *variant, const uint32_t *spec,
                        hg_pipe **out);
void hg_cl_programs_free(hg_cl_dev *dev);

/* A file of the cache folder for a program that is named by `key`, a line of text. NULL: none that
 * can be trusted. */
unsigned char *hg_cl_cache_read(hg_cl_dev *dev, const char *key, size_t *size);
void hg_cl_cache_write(hg_cl_dev *dev, const char *key, const unsigned char *binary, size_t size);
uint64_t hg_cl_hash(uint64_t hash, const void *bytes,
                    size_t size); /* FNV-1a; start with HG_CL_HASH_START */
#define HG_CL_HASH_START UINT64_C(0xcbf29ce484222325)

/* cl_record.c */

hg_result hg_cl_begin(hg_dev *dev, void *foreign_cmd, hg_list **out);
void hg_cl_dispatch(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                    uint32_t bind_count, const uint32_t groups[3]);
void hg_cl_barrier(hg_list *list, const hg_hazard *hazards, uint32_t count);
void hg_cl_copy(hg_list *list, hg_bind dst, hg_bind src);
void hg_cl_fill(hg_list *list, hg_bind dst, uint32_t word);
void hg_cl_mark(hg_list *list, const char *label, uint32_t timestamp_slot);
hg_result hg_cl_submit(hg_list **list, const hg_sync *wait, uint32_t wait_count,
                       const hg_sync *signal, uint32_t signal_count, uint64_t *point);
void hg_cl_discard(hg_list **list);

/* cl_point.c */

typedef struct hg_cl_stamp {
    uint32_t slot;
    uint32_t event; /* index into events of the point */
} hg_cl_stamp;

/* A submit. The last event is that of its last command. */
struct hg_cl_point {
    hg_cl_point *next;
    uint64_t point;
    cl_event *events;
    uint32_t event_count;
    hg_cl_stamp *stamps;
    uint32_t stamp_count;
};

/* Room for so many events and stamps; NULL: no memory. */
hg_cl_point *hg_cl_point_create(uint32_t events, uint32_t stamps);
void hg_cl_point_free(hg_cl_dev *dev, hg_cl_point **point);
void hg_cl_point_append(hg_cl_dev *dev, hg_cl_point *point);
/* Without waiting: moves `passed` on, and frees what waited for it. */
hg_result hg_cl_reap(hg_cl_dev *dev);
hg_result hg_cl_wait(hg_dev *dev, uint64_t point, uint64_t timeout_ns);
hg_result hg_cl_times(hg_dev *dev, uint64_t point, uint64_t *ns, uint32_t count);

#endif
