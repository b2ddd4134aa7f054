/* SPDX-License-Identifier: MIT */
/*
 * Every call of Vulkan, and every allocation of ours, fails in turn: the seam answers with an error
 * and a sentence, gives every object back, and a device that is lost stays lost. The same session
 * runs on a device that looks like Vulkan 1.1 and on memory that must be flushed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "hook.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

static const hg_backend *const vk = &hg_backend_vulkan;
static const char cache_dir[] = "cache"; /* in the scratch folder of the test */

/* What one session holds, so that it can be given back wherever it stopped. */
typedef struct session {
    test_log log;
    hg_plan plan;
    hg_dev *dev;
    hg_mem *mem[8];
    hg_list *list;
    uint32_t messages;
    hg_result after_loss; /* of begin, once something said that the device is lost */
} session;

static hg_result fill_upload(hg_mem *upload)
{
    hg_result res = HG_OK;
    void *view;

    HG_TRY(vk->map(upload, 0, BYTES, HG_MAP_WRITE, &view));
    for (uint32_t i = 0; i < COUNT; i++)
        ((float *)view)[i] = (float)i;
    vk->unmap(upload, 0, BYTES);
out:
    return res;
}

static hg_result check_readback(hg_mem *readback)
{
    hg_result res = HG_OK;
    void *view;

    HG_TRY(vk->map(readback, 0, BYTES, HG_MAP_READ, &view));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(((float *)view)[i] == (float)i * 2.0f + 1.0f);
    vk->unmap(readback, 0, BYTES);
out:
    return res;
}

static hg_result run_round(session *s, hg_pipe *pipe)
{
    hg_hazard copied = {whole(s->mem[1]), HG_ACCESS_W, HG_ACCESS_R};
    hg_hazard computed = {whole(s->mem[2]), HG_ACCESS_W, HG_ACCESS_R};
    uint64_t point = 0, ns[2] = {0};
    hg_result res = HG_OK;

    HG_TRY(vk->begin(s->dev, NULL, &s->list));
    vk->mark(s->list, "round", 0);
    vk->copy(s->list, whole(s->mem[1]), whole(s->mem[0]));
    vk->barrier(s->list, &copied, 1);
    run_affine(s->list, pipe, s->mem[1], s->mem[2], (affine_params){COUNT, 2.0f, 1.0f});
    vk->barrier(s->list, &computed, 1);
    vk->copy(s->list, whole(s->mem[3]), whole(s->mem[2]));
    vk->mark(s->list, NULL, 70);
    HG_TRY(vk->submit(&s->list, NULL, 0, NULL, 0, &point));
    HG_TRY(vk->wait(s->dev, point, UINT64_MAX));
    HG_TRY(vk->times(s->dev, point, ns, 2));
    HG_TRY(check_readback(s->mem[3]));
out:
    return res;
}

static hg_result use_device(session *s)
{
    static const hg_mem_kind kinds[8] = {HG_MEM_UPLOAD,   HG_MEM_KV,     HG_MEM_SCRATCH,
                                         HG_MEM_READBACK, HG_MEM_WEIGHT, HG_MEM_SCRATCH,
                                         HG_MEM_SCRATCH,  HG_MEM_KV};
    uint32_t spec[HG_SPEC_MAX] = {1, 1, 0, 0};
    hg_pipe *pipe = NULL;
    hg_result res = HG_OK;

    for (int i = 0; i < 8; i++) {
        hg_mem_desc desc = {i == 6 ? UINT64_C(40) << 20 : BYTES, kinds[i], "faults"};

        HG_TRY(vk->alloc(s->dev, &desc, &s->mem[i]));
    }
    HG_TRY(vk->prepare(s->dev, &affine_variant, spec, &pipe));
    HG_TRY(fill_upload(s->mem[0]));
    for (int i = 0; i < 3; i++)
        HG_TRY(run_round(s, pipe));
    HG_TRY(vk->begin(s->dev, NULL, &s->list));
    vk->discard(&s->list);
out:
    return res;
}

static hg_result run_session(session *s)
{
    hg_result res = hg_vk_open(&s->plan, hook_get, &s->dev);

    if (res == HG_OK)
        res = use_device(s);
    if (s->dev && res == HG_ERR_DEVICE_LOST) {
        hg_list *list = NULL;

        s->after_loss = vk->begin(s->dev, NULL, &list);
        assert_null(list);
        assert_int_equal(vk->wait(s->dev, 0, 0), HG_ERR_DEVICE_LOST);
    }
    if (s->dev) {
        vk->discard(&s->list);
        for (int i = 0; i < 8; i++)
            vk->release(&s->mem[i]);
        assert_int_equal(s->dev->allocated_bytes, 0);
        s->messages = s->dev->validation_messages;
        vk->close(&s->dev);
    }
    return res;
}

/* Starts over: no faults, nothing counted. */
static void arm(uint32_t fail_at, VkResult error, int for_ever)
{
    hook = (hook_state){.fail_at = fail_at, .error = error, .for_ever = for_ever};
    hook.counting = 1;
}

static session make_session(void **state)
{
    session s;

    memset(&s, 0, sizeof(s));
    s.plan = *(const hg_plan *)*state;
    s.plan.cache_dir = cache_dir;
    return s;
}

static hg_result run_counted(void **state, session *s)
{
    hg_result result;

    *s = make_session(state);
    test_log_init(&s->log);
    s->plan.log = s->log.log;
    result = run_session(s);
    hook.counting = 0;
    if (hook.objects != 0 || hook.allocations != 0)
        fail_msg("left behind: %d objects, %d allocations, after a failure of %s", hook.objects,
                 hook.allocations, hook.failed ? hook.failed : "malloc");
    if (result != HG_OK)
        assert_true(s->log.lines[HG_LOG_ERROR] > 0);
    return result;
}

/* Failures that cost time or disk space, not the result. */
static int is_tolerated(const char *name, int for_ever)
{
    static const char *const always[] = {"vkCreatePipelineCache",      "vkGetPipelineCacheData",
                                         "vkDeviceWaitIdle",           "vkQueueWaitIdle",
                                         "vkGetSemaphoreCounterValue", "vkGetFenceStatus"};
    /* Tried again another way. */
    static const char *const once[] = {"vkAllocateMemory", "vkCreateBuffer", "vkBindBufferMemory",
                                       "vkMapMemory"};

    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        if (strcmp(name, always[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]) && !for_ever; i++)
        if (strcmp(name, once[i]) == 0)
            return 1;
    return 0;
}

static void fail_each_call(void **state, VkResult error, int for_ever)
{
    uint32_t at = 0;
    session s;

    do {
        hg_result result;

        arm(++at, error, for_ever);
        result = run_counted(state, &s);
        if (hook.failed && result == HG_OK && !is_tolerated(hook.failed, for_ever))
            fail_msg("%s failed, and nobody noticed", hook.failed);
        if (hook.failed && result != HG_OK && error == VK_ERROR_DEVICE_LOST &&
            s.after_loss != HG_OK)
            assert_int_equal(s.after_loss, HG_ERR_DEVICE_LOST);
        if (!hook.failed)
            assert_int_equal(result, HG_OK);
    } while (hook.failed);
    assert_true(at > 60); /* so many calls a session makes, and more */
    print_message("%u calls, each failed with %s%s\n", at - 1, hg_vk_result_name(error),
                  for_ever ? ", and so did all later calls of that function" : "");
}

static void every_call_out_of_device_memory(void **state)
{
    fail_each_call(state, VK_ERROR_OUT_OF_DEVICE_MEMORY, 0);
}

static void every_call_out_of_device_memory_for_ever(void **state)
{
    fail_each_call(state, VK_ERROR_OUT_OF_DEVICE_MEMORY, 1);
}

static void every_call_out_of_host_memory_for_ever(void **state)
{
    fail_each_call(state, VK_ERROR_OUT_OF_HOST_MEMORY, 1);
}

static void every_call_device_lost(void **state)
{
    fail_each_call(state, VK_ERROR_DEVICE_LOST, 0);
}

static void a_lost_submit_is_for_ever(void **state)
{
    session s;

    arm(2, VK_ERROR_DEVICE_LOST, 0);
    hook.fail_name = "vkQueueSubmit";
    assert_int_equal(run_counted(state, &s), HG_ERR_DEVICE_LOST);
    assert_int_equal(s.after_loss, HG_ERR_DEVICE_LOST);
    assert_non_null(strstr(s.log.last[HG_LOG_ERROR], "gave the device up"));
}

static void every_malloc(void **state)
{
    uint32_t at = 0;
    session s;

    do {
        hg_result result;

        arm(0, VK_SUCCESS, 0);
        hook.fail_malloc_at = ++at;
        result = run_counted(state, &s);
        /* Some are for the cache on disk, or are tried again when the device is short of memory. */
        if (hook.malloc_failed && result != HG_OK)
            assert_int_equal(result, HG_ERR_HOST_MEMORY);
        if (!hook.malloc_failed)
            assert_int_equal(result, HG_OK);
    } while (hook.malloc_failed);
    assert_true(at > 20);
    print_message("%u allocations, each failed\n", at - 1);
}

/* Listing: a driver that fails means fewer devices, whichever call it fails. */
static void listing_survives(void **state)
{
    uint32_t at = 0;
    test_log log;

    (void)state;
    do {
        hg_snapshot found;
        uint32_t count = 1;

        arm(++at, VK_ERROR_INITIALIZATION_FAILED, 1);
        test_log_init(&log);
        assert_int_equal(hg_vk_enumerate(&log.log, hook_get, &found, &count), HG_OK);
        hook.counting = 0;
        assert_int_equal(hook.objects, 0);
        assert_int_equal(hook.allocations, 0);
        assert_int_equal(count, hook.failed ? 0 : 1);
        assert_int_equal(log.lines[HG_LOG_ERROR], 0);
        assert_true(!hook.failed || log.lines[HG_LOG_INFO] > 0);
    } while (hook.failed);
    assert_true(at > 6);
    arm(0, VK_SUCCESS, 0);
    hook.fail_malloc_at = 1;
    at = 1;
    assert_int_equal(hg_vk_enumerate(&log.log, hook_get, NULL, &at), HG_ERR_HOST_MEMORY);
    assert_int_equal(at, 0);
}

static void expect_clean(void **state)
{
    session s;

    ((hg_plan *)*state)->validate = 1;
    hook.counting = 1;
    if (run_counted(state, &s) == HG_ERR_UNSUPPORTED &&
        strstr(s.log.last[HG_LOG_ERROR], "vulkan-validationlayers")) {
        print_message("not validated: %s\n", s.log.last[HG_LOG_ERROR]);
        ((hg_plan *)*state)->validate = 0;
        hook.counting = 1;
        assert_int_equal(run_counted(state, &s), HG_OK);
    }
    ((hg_plan *)*state)->validate = 0;
    if (s.messages > 0)
        fail_msg("%s", s.log.last[HG_LOG_ERROR]);
    assert_int_equal(s.log.lines[HG_LOG_ERROR], 0);
}

/* The same driver, saying that it is older: functions and extensions of 1.1 are used. */
static void runs_as_vulkan_1_1(void **state)
{
    arm(0, VK_SUCCESS, 0);
    hook.version = VK_API_VERSION_1_1;
    expect_clean(state);
}

static void flushes_incoherent_memory(void **state)
{
    arm(0, VK_SUCCESS, 0);
    hook.incoherent = 1;
    expect_clean(state);
    assert_true(hook.flushes > 0 && hook.invalidates > 0);
    arm(0, VK_SUCCESS, 0);
    expect_clean(state);
    assert_true(hook.flushes == 0 && hook.invalidates == 0);
}

static void a_failed_flush_reaches_submit(void **state)
{
    session s;

    arm(1, VK_ERROR_OUT_OF_HOST_MEMORY, 0);
    hook.fail_name = "vkFlushMappedMemoryRanges";
    hook.incoherent = 1;
    assert_int_equal(run_counted(state, &s), HG_ERR_HOST_MEMORY);
    arm(1, VK_ERROR_OUT_OF_DEVICE_MEMORY, 0);
    hook.fail_name = "vkInvalidateMappedMemoryRanges";
    hook.incoherent = 1;
    assert_int_equal(run_counted(state, &s), HG_ERR_DEVICE_MEMORY);
}

static int setup(void **state)
{
    fixture *f;

    if (!hook_init())
        return -1;
    f = calloc(1, sizeof(*f));
    if (!f)
        return -1;
    test_log_init(&f->log);
    f->plan = fixture_plan(f);
    f->plan.validate = 0;
    *state = &f->plan;
    return 0;
}

static int teardown(void **state)
{
    free((char *)*state - offsetof(fixture, plan));
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_out_of_device_memory),
        cmocka_unit_test(every_call_out_of_device_memory_for_ever),
        cmocka_unit_test(every_call_out_of_host_memory_for_ever),
        cmocka_unit_test(every_call_device_lost),
        cmocka_unit_test(a_lost_submit_is_for_ever),
        cmocka_unit_test(every_malloc),
        cmocka_unit_test(listing_survives),
        cmocka_unit_test(runs_as_vulkan_1_1),
        cmocka_unit_test(flushes_incoherent_memory),
        cmocka_unit_test(a_failed_flush_reaches_submit),
    };
    int options = fixture_options(argc, argv);

    return options ? options : cmocka_run_group_tests(tests, setup, teardown);
}
