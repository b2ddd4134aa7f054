/* SPDX-License-Identifier: MIT */
/*
 * Private to engine/vulkan: the structs behind the seam, and which file does what.
 *
 *   vk_load.c      the loader library, the instance, both function tables
 *   vk_enumerate.c every physical device as a snapshot
 *   vk_facts.c     asks one physical device; vk_choice.c concludes (pure)
 *   vk_device.c    opens and closes a device; the seam's table
 *   vk_memory.c    blocks, ranges of them, mapping, deferred release
 *   vk_pipeline.c  variants to pipelines; vk_cache.c keeps the compiled ones on disk
 *   vk_record.c    command lists; vk_submit.c points, waiting, timestamps
 *   vk_debug.c     names, labels, validation messages, VkResult in words
 *
 * No vk* symbol is defined or linked to: functions come from vkGetInstanceProcAddr (D22).
 */
#ifndef HG_VULKAN_VK_H
#define HG_VULKAN_VK_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend.h"
#include "check.h"
#include "vk_facts.h"
#include "vk_ranges.h"

enum {
    HG_VK_ALIGN_BYTES =
        256, /* of every buffer range: covers storage offset and nonCoherentAtomSize */
    HG_VK_POOL_SETS = 256, /* descriptor sets per pool */
    HG_VK_TIMESTAMPS_MAX = 4096,
    HG_VK_TIMES_KEPT = 64 /* submits whose timestamps can still be asked for */
};

/* VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 are younger than the oldest headers
 * supported: what is used of them, by their registered numbers. */
enum {
    HG_VK_COOPMAT_FEATURES = 1000506000,
    HG_VK_COOPMAT_SHAPE = 1000506001,
    HG_VK_COOPMAT_PROPERTIES = 1000506002,
    HG_VK_BFLOAT16_FEATURES = 1000141000,
    HG_VK_COMPONENT_F16 = 0,
    HG_VK_COMPONENT_F32 = 1,
    HG_VK_COMPONENT_BF16 = 1000141000,
    HG_VK_SCOPE_SUBGROUP = 3
};

typedef struct hg_vk_coopmat_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} hg_vk_coopmat_features;

typedef struct hg_vk_coopmat_properties {
    VkStructureType sType;
    void *pNext;
    VkShaderStageFlags stages;
} hg_vk_coopmat_properties;

typedef struct hg_vk_coopmat_shape {
    VkStructureType sType;
    void *pNext;
    uint32_t m, n, k;
    int a, b, c, result; /* types of components */
    VkBool32 saturating;
    int scope;
} hg_vk_coopmat_shape;

typedef VkResult(VKAPI_PTR *hg_vk_coopmat_shapes)(VkPhysicalDevice physical, uint32_t *count,
                                                  hg_vk_coopmat_shape *shapes);

typedef struct hg_vk_bfloat16_features {
    VkStructureType sType;
    void *pNext;
    VkBool32 type, dot_product, coopmat;
} hg_vk_bfloat16_features;

typedef struct hg_vk_instance {
    hg_log log;
    void *library; /* dlopen handle; NULL when the entry point was given */
    PFN_vkGetInstanceProcAddr get;
    struct {
#define GLOBAL(name) PFN_##name name;
#define INSTANCE(name) PFN_##name name;
#define DEBUG(name) PFN_##name name;
#include "vk_functions.def"
    } fn;
    VkInstance handle;
    uint32_t version;     /* what it was made for: 1.1 to 1.3 */
    uint32_t debug_utils; /* 1: names and labels */
    VkDebugUtilsMessengerEXT messenger;
    pthread_mutex_t message_lock;
    uint32_t *message_count;
} hg_vk_instance;

typedef struct hg_vk_instance_desc {
    PFN_vkGetInstanceProcAddr get; /* NULL: open the system's loader */
    hg_log log;
    hg_log_level severity; /* at which a failure is said: listing devices is no error */
    uint32_t validate;
    uint32_t *message_count; /* counts validation messages; NULL without validate */
} hg_vk_instance_desc;

typedef struct hg_vk_block {
    struct hg_vk_block *next;
    VkBuffer buffer; /* covers all of memory: allocating touches no Vulkan object (D24) */
    VkDeviceMemory memory;
    uint64_t size_bytes;
    hg_mem_kind kind;
    VkMemoryPropertyFlags flags;
    uint32_t dedicated;
    uint8_t *map; /* NULL: not visible to the host */
    hg_vk_ranges ranges;
} hg_vk_block;

typedef struct hg_vk_mem {
    hg_mem base;
    struct hg_vk_mem *next; /* in the list of released ones */
    hg_vk_block *block;
    uint64_t offset_bytes, reserved_bytes;
    uint64_t last_point; /* once released: given back when this has passed */
    uint32_t written;    /* mapped for writing at least once: unmap flushes */
} hg_vk_mem;

typedef struct hg_vk_pipe {
    hg_pipe base;
    struct hg_vk_pipe *next;
    VkPipeline handle;
    VkPipelineLayout layout;
    VkDescriptorSetLayout set_layout;
    uint32_t bind_count, param_bytes;
} hg_vk_pipe;

typedef struct hg_vk_list {
    hg_list base;
    struct hg_vk_list *next;
    VkCommandPool command_pool;
    VkCommandBuffer command;
    VkFence fence;                                   /* only without timeline semaphores */
    VkDescriptorPool *pools;                         /* only without push descriptors */
    uint32_t pool_count, pool_room, pool, pool_sets; /* pool in use, sets taken from it */
    VkQueryPool queries;
    uint64_t *ticks; /* [slot_count] */
    uint8_t *marked; /* [slot_count] */
    uint32_t slot_count, slot_room, first_slot;
    hg_result result; /* of recording */
    uint32_t labelled;
    uint64_t point;
    uint32_t waiters;   /* threads that wait on fence without the lock */
    uint32_t harvested; /* timestamps are in the ring */
} hg_vk_list;

typedef struct hg_vk_times {
    uint64_t point;
    uint64_t *ns;
    uint32_t count;
} hg_vk_times;

typedef struct hg_vk_dev {
    hg_dev base;
    hg_vk_instance *instance;
    VkPhysicalDevice physical;
    hg_vk_facts facts;
    hg_vk_choice choice;
    VkDevice handle;
    struct VolkDeviceTable fn;
    VkQueue queue;
    atomic_uint lost;

    pthread_mutex_t lock; /* covers the queue and everything down to times */
    hg_vk_block *blocks;
    uint32_t block_count;
    hg_vk_mem *released;
    hg_result pending; /* a failure of a call that could not return one; told by the next submit */
    VkSemaphore timeline; /* VK_NULL_HANDLE: fences */
    uint64_t submitted, completed;
    uint32_t open_lists;
    hg_vk_list *flying, *idle; /* flying: ascending points */
    hg_vk_times times[HG_VK_TIMES_KEPT];
    uint32_t times_next;
    uint64_t times_forgotten; /* highest point whose timestamps were dropped */
    uint64_t clock_ticks, clock_origin;
    uint32_t clock_started;

    pthread_mutex_t pipe_lock; /* of pipes and layouts; not held while compiling */
    VkDescriptorSetLayout set_layout[HG_BINDS_MAX + 1];
    VkPipelineLayout layout[HG_BINDS_MAX + 1][HG_PARAM_WORDS_MAX + 1];
    hg_vk_pipe *pipes;
    VkPipelineCache cache;
    char *cache_path;        /* NULL: nothing on disk */
    uint64_t cache_checksum; /* of what was read, 0: nothing */
} hg_vk_dev;

/* Stands among VkResults for our own malloc that said no: a driver's "out of host memory" is
 * another thing. */
#define HG_VK_OWN_MEMORY VK_RESULT_MAX_ENUM

/* vk_load.c. create: HG_ERR_NO_DEVICE when there is no loader or no driver, HG_ERR_UNSUPPORTED when
 * validation is wanted and not installed. library_open: NULL when none of the names opens. */
hg_result hg_vk_instance_create(const hg_vk_instance_desc *desc, hg_vk_instance **out);
void hg_vk_instance_destroy(hg_vk_instance **instance);
hg_result hg_vk_device_load(hg_vk_dev *dev);
void *hg_vk_library_open(const char *const *names, PFN_vkGetInstanceProcAddr *get);

/* vk_enumerate.c. physical_list: *out is freed by the caller. get: as in hg_vk_instance_desc. */
hg_result hg_vk_physical_list(hg_vk_instance *instance, hg_log_level severity,
                              VkPhysicalDevice **out, uint32_t *count);
hg_result hg_vk_enumerate(const hg_log *log, PFN_vkGetInstanceProcAddr get, hg_snapshot *out,
                          uint32_t *count);

/* vk_facts.c. HG_ERR_HOST_MEMORY: our own; HG_ERR_NO_DEVICE: the driver does not answer. Says
 * nothing. */
hg_result hg_vk_facts_read(const hg_vk_instance *instance, VkPhysicalDevice physical,
                           hg_vk_facts *out);

/* vk_device.c */
hg_result hg_vk_open(const hg_plan *plan, PFN_vkGetInstanceProcAddr get, hg_dev **out);

/* vk_memory.c. collect: gives back what was released and has passed; with the lock held. */
hg_result hg_vk_alloc(hg_dev *dev, const hg_mem_desc *desc, hg_mem **out);
void hg_vk_release(hg_mem **mem);
hg_result hg_vk_map(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes, hg_map_access access,
                    void **out);
void hg_vk_unmap(hg_mem *mem, uint64_t offset_bytes, uint64_t size_bytes);
void hg_vk_memory_collect(hg_vk_dev *dev);
void hg_vk_memory_close(hg_vk_dev *dev);

/* vk_pipeline.c */
hg_result hg_vk_prepare(hg_dev *dev, const hg_variant *variant, const uint32_t *spec,
                        hg_pipe **out);
void hg_vk_pipeline_close(hg_vk_dev *dev);

/* vk_cache.c. A cache that cannot be read or written costs time, never a result. */
hg_result hg_vk_cache_open(hg_vk_dev *dev);
void hg_vk_cache_close(hg_vk_dev *dev);

/* vk_record.c */
hg_result hg_vk_begin(hg_dev *dev, void *foreign_cmd, hg_list **out);
void hg_vk_dispatch(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                    uint32_t bind_count, const uint32_t groups[3]);
void hg_vk_barrier(hg_list *list, const hg_hazard *hazards, uint32_t count);
void hg_vk_copy(hg_list *list, hg_bind dst, hg_bind src);
void hg_vk_fill(hg_list *list, hg_bind dst, uint32_t word);
void hg_vk_mark(hg_list *list, const char *label, uint32_t timestamp_slot);
hg_result hg_vk_list_end(hg_vk_list *list);
void hg_vk_list_destroy(hg_vk_dev *dev, hg_vk_list *list);

/* vk_submit.c */
hg_result hg_vk_submit(hg_list **list, const hg_sync *wait, uint32_t wait_count,
                       const hg_sync *signal, uint32_t signal_count, uint64_t *point);
void hg_vk_discard(hg_list **list);
hg_result hg_vk_wait(hg_dev *dev, uint64_t point, uint64_t timeout_ns);
hg_result hg_vk_times_get(hg_dev *dev, uint64_t point, uint64_t *ns, uint32_t count);
void hg_vk_submit_close(hg_vk_dev *dev);
/* Device counters have 36 to 64 valid bits: the value nearest to last that has these low bits. */
uint64_t hg_vk_clock_extend(uint64_t last, uint64_t ticks, uint32_t bits);

/* vk_debug.c. hg_vk_fail: says "what: VK_..." once, maps the result, remembers a lost device. */
const char *hg_vk_result_name(VkResult result);
hg_result hg_vk_result_map(VkResult result);
hg_result hg_vk_fail(hg_vk_dev *dev, VkResult result, const char *what);
void hg_vk_messenger_desc(hg_vk_instance *instance, VkDebugUtilsMessengerCreateInfoEXT *out);
void hg_vk_name(hg_vk_dev *dev, VkObjectType type, uint64_t handle, const char *name);

#endif
