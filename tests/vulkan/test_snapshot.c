/* SPDX-License-Identifier: MIT */
/*
 * Conclusions about devices made out of thin air: what is usable, what gets enabled, which memory
 * is used. Layouts of memory are those that drivers report, by vendor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vulkan/vk_facts.h"

enum {
    DL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    HV = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
    HC = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    CA = VK_MEMORY_PROPERTY_HOST_CACHED_BIT
};

#define GIB (UINT64_C(1) << 30)

static void add_heap(hg_vk_facts *facts, uint64_t size, VkMemoryHeapFlags flags)
{
    facts->memory.memoryHeaps[facts->memory.memoryHeapCount++] = (VkMemoryHeap){size, flags};
}

static void add_type(hg_vk_facts *facts, uint32_t heap, VkMemoryPropertyFlags flags)
{
    facts->memory.memoryTypes[facts->memory.memoryTypeCount++] = (VkMemoryType){flags, heap};
}

/* A discrete card of Vulkan 1.3 with one heap of its own and no window into it. */
static hg_vk_facts make_facts(void)
{
    hg_vk_facts facts = {0};
    VkPhysicalDeviceLimits *limits = &facts.properties.limits;

    facts.version = facts.properties.apiVersion = VK_API_VERSION_1_3;
    facts.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    snprintf(facts.properties.deviceName, sizeof(facts.properties.deviceName), "Imagined 1");
    limits->maxPerStageDescriptorStorageBuffers = limits->maxDescriptorSetStorageBuffers = 32;
    limits->maxPerStageResources = 128;
    limits->maxComputeWorkGroupInvocations = 1024;
    limits->maxComputeWorkGroupSize[0] = 1024;
    limits->maxComputeWorkGroupCount[0] = 65535;
    limits->maxComputeSharedMemorySize = 32768;
    limits->maxPushConstantsSize = 256;
    limits->minStorageBufferOffsetAlignment = 64;
    limits->maxStorageBufferRange = UINT32_MAX;
    limits->timestampPeriod = 1.0f;
    facts.family[0] =
        (VkQueueFamilyProperties){VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 64, {0}};
    facts.family_count = 1;
    facts.timeline = facts.rte32 = 1;
    facts.subgroup_size = facts.subgroup_min = facts.subgroup_max = 32;
    facts.subgroup_operations = VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    facts.subgroup_stages = VK_SHADER_STAGE_COMPUTE_BIT;
    facts.allocation_bytes = 4 * GIB;
    facts.buffer_bytes = 2 * GIB;
    add_heap(&facts, 8 * GIB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
    add_heap(&facts, 16 * GIB, 0);
    add_type(&facts, 0, DL);
    add_type(&facts, 1, HV | HC);
    return facts;
}

static void describes_a_good_device(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;

    (void)state;
    hg_vk_snapshot_make(&facts, &out);
    assert_string_equal(out.unusable, "");
    assert_string_equal(out.name, "Imagined 1");
    assert_string_equal(out.api_version, "Vulkan 1.3.0");
    assert_int_equal(out.type, HG_DEVICE_DISCRETE);
    assert_int_equal(out.struct_size, sizeof(out));
    assert_int_equal(out.features, HG_FEATURE_TIMELINE | HG_FEATURE_RTE32 | HG_FEATURE_TIMESTAMPS |
                                       HG_FEATURE_SUBGROUP_ARITHMETIC);
    assert_int_equal(out.memory_total_bytes, 8 * GIB);
    assert_int_equal(out.memory_free_bytes, 8 * GIB);
    assert_int_equal(out.limits.alloc_bytes, 2 * GIB);
    assert_int_equal(out.limits.storage_buffers, 32);
    assert_int_equal(out.limits.binding_bytes, UINT32_MAX);
}

static void tells_matrices_and_subgroups(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;
    hg_vk_choice choice;

    (void)state;
    facts.coopmat = facts.memory_model = facts.float16 = facts.subgroup_control = 1;
    facts.matrix_count = 2;
    facts.matrix[1] = (hg_matrix_shape){16, 8, 16, HG_MATRIX_F16, HG_MATRIX_F32};
    hg_vk_snapshot_make(&facts, &out);
    assert_true(out.features & HG_FEATURE_COOPMAT);
    assert_true(out.features & HG_FEATURE_SUBGROUP_SIZE);
    assert_int_equal(out.subgroup_size, 32);
    assert_int_equal(out.matrix_count, 2);
    assert_memory_equal(out.matrix, facts.matrix, sizeof(out.matrix));
    /* Vulkan 1.3 has the sizes of subgroups, but no matrices. */
    hg_vk_choice_make(&facts, out.features, &choice);
    assert_int_equal(choice.enabled_count, 1);
    assert_string_equal(choice.enabled[0], "VK_KHR_cooperative_matrix");
    facts.version = VK_API_VERSION_1_1;
    hg_vk_choice_make(&facts, HG_FEATURE_SUBGROUP_SIZE, &choice);
    assert_int_equal(choice.enabled_count, 1);
    assert_string_equal(choice.enabled[0], "VK_EXT_subgroup_size_control");
    facts.memory_model = 0; /* which the words of tier T2 ask for */
    hg_vk_snapshot_make(&facts, &out);
    assert_false(out.features & HG_FEATURE_COOPMAT);
}

static void expect_unusable(const hg_vk_facts *facts, const char *words)
{
    hg_snapshot out;

    hg_vk_snapshot_make(facts, &out);
    if (!strstr(out.unusable, words))
        fail_msg("expected \"%s\" in \"%s\"", words, out.unusable);
}

static void says_why_a_device_is_unusable(void **state)
{
    hg_vk_facts facts = make_facts();

    (void)state;
    facts.version = facts.properties.apiVersion = VK_API_VERSION_1_0;
    expect_unusable(&facts, "needs Vulkan 1.1; the driver offers 1.0");
    facts = make_facts();
    facts.family[0].queueFlags = VK_QUEUE_GRAPHICS_BIT;
    expect_unusable(&facts, "queue");
    facts = make_facts();
    facts.properties.limits.maxPerStageDescriptorStorageBuffers = 4;
    expect_unusable(&facts, "needs 8 storage buffers per shader stage; the driver offers 4");
    facts = make_facts();
    facts.properties.limits.maxComputeWorkGroupInvocations = 64;
    expect_unusable(&facts, "needs 128 invocations");
    facts = make_facts();
    facts.properties.limits.maxComputeSharedMemorySize = 8192;
    expect_unusable(&facts, "needs 16384 bytes of shared memory");
    facts = make_facts();
    facts.properties.limits.maxPushConstantsSize = 64;
    expect_unusable(&facts, "needs 128 bytes of push constants");
    facts = make_facts();
    facts.properties.limits.maxStorageBufferRange = (128u << 20) - 1;
    expect_unusable(&facts, "needs 134217728 bytes in one buffer binding");
    facts = make_facts();
    facts.properties.limits.minStorageBufferOffsetAlignment = 512;
    expect_unusable(&facts, "aligned to 256");
}

/* Exactly the minima of D20 are enough, and zeros where a driver tells nothing harm nobody. */
static void accepts_the_poorest_device(void **state)
{
    hg_vk_facts facts = make_facts();
    VkPhysicalDeviceLimits *limits = &facts.properties.limits;
    hg_snapshot out;

    (void)state;
    facts.version = facts.properties.apiVersion = VK_API_VERSION_1_1;
    limits->maxPerStageDescriptorStorageBuffers = limits->maxDescriptorSetStorageBuffers = 8;
    limits->maxComputeWorkGroupInvocations = limits->maxComputeWorkGroupSize[0] = 128;
    limits->maxComputeSharedMemorySize = 16384;
    limits->maxPushConstantsSize = 128;
    limits->minStorageBufferOffsetAlignment = 256;
    limits->maxStorageBufferRange = 128u << 20;
    facts.family[0].timestampValidBits = 0;
    facts.timeline = facts.rte32 = 0;
    facts.subgroup_size = facts.subgroup_min = facts.subgroup_max = 0;
    facts.allocation_bytes = facts.buffer_bytes = 0;
    facts.memory.memoryHeapCount = 0;
    facts.memory.memoryTypeCount = 0;
    hg_vk_snapshot_make(&facts, &out);
    assert_string_equal(out.unusable, "");
    assert_int_equal(out.features, 0);
    assert_int_equal(out.limits.alloc_bytes, GIB);
    assert_int_equal(out.memory_total_bytes, 0);
}

static void takes_the_machine_for_a_cpu(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;

    (void)state;
    facts.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    facts.machine_total_bytes = 24 * GIB;
    facts.machine_free_bytes = 20 * GIB;
    hg_vk_snapshot_make(&facts, &out);
    assert_int_equal(out.type, HG_DEVICE_CPU);
    assert_int_equal(out.memory_total_bytes, 24 * GIB);
    assert_int_equal(out.memory_free_bytes, 20 * GIB);
}

static void reads_the_budget(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;

    (void)state;
    facts.extensions |= HG_VK_HAS_BUDGET;
    facts.heap_free_bytes[0] = 3 * GIB;
    hg_vk_snapshot_make(&facts, &out);
    assert_true(out.features & HG_FEATURE_BUDGET);
    assert_int_equal(out.memory_free_bytes, 3 * GIB);
    assert_int_equal(out.memory_total_bytes, 8 * GIB);
}

static void packs_driver_versions(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;

    (void)state;
    facts.properties.driverVersion = VK_MAKE_API_VERSION(0, 22, 3, 6);
    hg_vk_snapshot_make(&facts, &out);
    assert_string_equal(out.driver_version, "22.3.6");
    facts.properties.vendorID = 0x10de;
    facts.properties.driverVersion = 550u << 22 | 54u << 14 | 14u << 6;
    hg_vk_snapshot_make(&facts, &out);
    assert_string_equal(out.driver_version, "550.54.14");
    snprintf(facts.driver_info, sizeof(facts.driver_info), "550.54.14 (beta)");
    hg_vk_snapshot_make(&facts, &out);
    assert_string_equal(out.driver_version, "550.54.14 (beta)");
}

static int enables(const hg_vk_choice *choice, const char *name)
{
    for (uint32_t i = 0; i < choice->enabled_count; i++)
        if (strcmp(choice->enabled[i], name) == 0)
            return 1;
    return 0;
}

static void enables_what_is_in_use(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_vk_choice choice;

    (void)state;
    facts.extensions = HG_VK_HAS_TIMELINE | HG_VK_HAS_PUSH_DESCRIPTOR | HG_VK_HAS_FLOAT_CONTROLS |
                       HG_VK_HAS_FLOAT16 | HG_VK_HAS_BUDGET;
    facts.push_descriptors = 32;
    facts.float16 = 1;
    hg_vk_choice_make(&facts, UINT32_MAX, &choice);
    assert_true(choice.features & HG_FEATURE_PUSH_DESCRIPTOR && choice.features & HG_FEATURE_FP16);
    assert_int_equal(choice.enabled_count, 2); /* the others are part of 1.2 */
    assert_true(enables(&choice, "VK_KHR_push_descriptor"));
    assert_true(enables(&choice, "VK_EXT_memory_budget"));
    assert_int_equal(choice.timestamp_bits, 64);

    facts.version = VK_API_VERSION_1_1;
    hg_vk_choice_make(&facts, UINT32_MAX, &choice);
    assert_int_equal(choice.enabled_count, 5);
    assert_true(enables(&choice, "VK_KHR_timeline_semaphore"));
    assert_true(enables(&choice, "VK_KHR_shader_float_controls"));
    assert_true(enables(&choice, "VK_KHR_shader_float16_int8"));

    hg_vk_choice_make(&facts, 0, &choice);
    assert_int_equal(choice.features, 0);
    assert_int_equal(choice.enabled_count, 0);
    assert_int_equal(choice.timestamp_bits, 0);

    facts.push_descriptors = 7; /* fewer than a kernel may have: not offered */
    facts.extensions |= HG_VK_HAS_PORTABILITY;
    hg_vk_choice_make(&facts, HG_FEATURE_PUSH_DESCRIPTOR, &choice);
    assert_int_equal(choice.features, 0);
    assert_int_equal(choice.enabled_count, 1); /* required, wanted or not */
    assert_true(enables(&choice, "VK_KHR_portability_subset"));
}

static void enables_matrices_with_their_memory_model(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_vk_choice choice;

    (void)state;
    facts.extensions = HG_VK_HAS_COOPMAT;
    facts.coopmat = 1;
    hg_vk_choice_make(&facts, HG_FEATURE_COOPMAT, &choice);
    assert_int_equal(choice.features, 0);
    facts.memory_model = 1;
    hg_vk_choice_make(&facts, HG_FEATURE_COOPMAT, &choice);
    assert_int_equal(choice.features, HG_FEATURE_COOPMAT);
    assert_true(enables(&choice, "VK_KHR_cooperative_matrix"));
}

static void prefers_a_queue_without_graphics(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_vk_choice choice;

    (void)state;
    hg_vk_choice_make(&facts, UINT32_MAX, &choice);
    assert_int_equal(choice.queue_family, 0);
    facts.family[1] = (VkQueueFamilyProperties){VK_QUEUE_TRANSFER_BIT, 2, 64, {0}};
    facts.family[2] = (VkQueueFamilyProperties){VK_QUEUE_COMPUTE_BIT, 0, 64, {0}}; /* none */
    facts.family[3] = (VkQueueFamilyProperties){VK_QUEUE_COMPUTE_BIT, 8, 36, {0}};
    facts.family_count = 4;
    hg_vk_choice_make(&facts, UINT32_MAX, &choice);
    assert_int_equal(choice.queue_family, 3);
    assert_int_equal(choice.timestamp_bits, 36);
}

static void expect_first(const hg_vk_facts *facts, hg_mem_kind kind, uint32_t unified,
                         uint32_t type)
{
    hg_vk_memory_order order;

    hg_vk_memory_order_make(&facts->memory, kind, unified, UINT32_MAX, &order);
    assert_true(order.count > 0);
    assert_int_equal(order.type[0], type);
}

static void chooses_memory_of_a_card_with_a_window(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_vk_memory_order order;
    hg_snapshot out;

    (void)state;
    facts.memory.memoryTypeCount = 0;
    add_heap(&facts, 256 << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT); /* the classic small BAR */
    add_type(&facts, 1, 0);
    add_type(&facts, 0, DL);
    add_type(&facts, 1, HV | HC);
    add_type(&facts, 1, HV | HC | CA);
    add_type(&facts, 2, DL | HV | HC);
    hg_vk_snapshot_make(&facts, &out);
    assert_false(out.features & HG_FEATURE_UNIFIED_MEMORY);
    expect_first(&facts, HG_MEM_WEIGHT, 0, 1);
    expect_first(&facts, HG_MEM_SCRATCH, 0, 1);
    expect_first(&facts, HG_MEM_KV, 0, 1);
    expect_first(&facts, HG_MEM_UPLOAD, 0, 2);
    expect_first(&facts, HG_MEM_READBACK, 0, 3);
    /* Kernel memory never falls back to the other side of the bus. */
    hg_vk_memory_order_make(&facts.memory, HG_MEM_SCRATCH, 0, UINT32_MAX, &order);
    assert_int_equal(order.count, 2);
    hg_vk_memory_order_make(&facts.memory, HG_MEM_READBACK, 0, 1u << 2, &order);
    assert_int_equal(order.count, 1);
    assert_int_equal(order.type[0], 2);

    facts.memory.memoryTypes[4].heapIndex = 0; /* resizable BAR: the window shows all of it */
    hg_vk_snapshot_make(&facts, &out);
    assert_true(out.features & HG_FEATURE_UNIFIED_MEMORY);
    expect_first(&facts, HG_MEM_WEIGHT, 1, 4);
    expect_first(&facts, HG_MEM_SCRATCH, 1, 1);
}

static void chooses_memory_of_an_integrated_device(void **state)
{
    hg_vk_facts facts = make_facts();
    hg_snapshot out;

    (void)state;
    facts.memory.memoryHeapCount = facts.memory.memoryTypeCount = 0;
    add_heap(&facts, 12 * GIB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
    add_type(&facts, 0, DL | 0x40); /* a vendor's uncached kind: left alone */
    add_type(&facts, 0, DL | HV | HC);
    add_type(&facts, 0, DL | HV | HC | CA);
    add_type(&facts, 0, DL | HV | CA); /* not coherent: flushed by hand */
    hg_vk_snapshot_make(&facts, &out);
    assert_true(out.features & HG_FEATURE_UNIFIED_MEMORY);
    expect_first(&facts, HG_MEM_WEIGHT, 1, 1);
    expect_first(&facts, HG_MEM_SCRATCH, 1, 1);
    expect_first(&facts, HG_MEM_UPLOAD, 1, 1);
    expect_first(&facts, HG_MEM_READBACK, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_a_good_device),
        cmocka_unit_test(tells_matrices_and_subgroups),
        cmocka_unit_test(says_why_a_device_is_unusable),
        cmocka_unit_test(accepts_the_poorest_device),
        cmocka_unit_test(takes_the_machine_for_a_cpu),
        cmocka_unit_test(reads_the_budget),
        cmocka_unit_test(packs_driver_versions),
        cmocka_unit_test(enables_what_is_in_use),
        cmocka_unit_test(enables_matrices_with_their_memory_model),
        cmocka_unit_test(prefers_a_queue_without_graphics),
        cmocka_unit_test(chooses_memory_of_a_card_with_a_window),
        cmocka_unit_test(chooses_memory_of_an_integrated_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
