/* SPDX-License-Identifier: MIT */
/*
 * The seam on a real driver, validated: memory, copies, kernels, hazards, points, timestamps. The
 * same cases run with timeline semaphores, push descriptors, unified memory or timestamps switched
 * off.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

enum { COUNT = 1000 };

static const hg_backend *const vk = &hg_backend_vulkan;

static void describes_the_device(void **state)
{
    fixture *f = *state;
    const hg_snapshot *d = &f->plan.device;
    uint64_t free_bytes = 0, total_bytes = 0;

    print_message("%s, %s %s, %s, features %03x of %03x\n", d->name, d->driver, d->driver_version,
                  d->api_version, f->plan.features, d->features);
    assert_int_equal(d->backend, HG_BACKEND_VULKAN);
    assert_string_equal(d->unusable, "");
    assert_true(d->name[0] && d->driver[0] && d->driver_version[0] && d->api_version[0]);
    assert_true(d->limits.storage_buffers >= 8 && d->limits.group_invocations >= 128);
    assert_true(d->limits.binding_bytes >= 128u << 20);
    assert_true(d->limits.alloc_bytes >= d->limits.binding_bytes);
    assert_int_equal(d->limits.alloc_bytes % 256, 0);
    assert_true(d->memory_free_bytes > 0 && d->memory_free_bytes <= d->memory_total_bytes);
    assert_int_equal(vk->budget(f->dev, &free_bytes, &total_bytes), HG_OK);
    assert_int_equal(total_bytes, d->memory_total_bytes);
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
}

static void refuses_what_it_cannot(void **state)
{
    fixture *f = *state;
    hg_plan plan = f->plan;
    hg_dev *dev = NULL;
    hg_list *list = NULL;
    int anything = 0;

    assert_int_equal(vk->open(&plan, &anything, &dev), HG_ERR_UNSUPPORTED);
    assert_null(dev);
    assert_int_equal(vk->begin(f->dev, &anything, &list), HG_ERR_UNSUPPORTED);
    assert_null(list);
    plan.device.backend_index = 99;
    assert_int_equal(vk->open(&plan, NULL, &dev), HG_ERR_NO_DEVICE);
    plan = f->plan;
    snprintf(plan.device.name, sizeof(plan.device.name), "another device");
    assert_int_equal(vk->open(&plan, NULL, &dev), HG_ERR_NO_DEVICE);
    assert_non_null(strstr(f->log.last[HG_LOG_ERROR], f->plan.device.name));
    assert_null(dev);
}

static void allocates_every_kind(void **state)
{
    static const uint64_t sizes[] = {1, 4, 255, 256, 257, 1 << 20, 40 << 20};
    fixture *f = *state;
    uint64_t sum = 0;
    hg_mem *mem[5][7];

    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 7; i++) {
            mem[kind][i] = make_mem(f, (hg_mem_kind)kind, sizes[i]);
            sum += sizes[i];
            assert_int_equal(mem[kind][i]->kind, kind);
            assert_int_equal(
                mem[kind][i]->mappable,
                kind == HG_MEM_UPLOAD || kind == HG_MEM_READBACK ||
                    (kind == HG_MEM_WEIGHT && f->plan.features & HG_FEATURE_UNIFIED_MEMORY));
        }
    assert_int_equal(f->dev->allocated_bytes, sum);
    assert_int_equal(f->dev->peak_bytes, sum);
    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 7; i++) {
            vk->release(&mem[kind][i]);
            assert_null(mem[kind][i]);
        }
    assert_int_equal(f->dev->allocated_bytes, 0);
    assert_int_equal(f->dev->peak_bytes, sum);
    vk->release(&mem[0][0]); /* NULL is fine */
}

static void refuses_a_buffer_beyond_the_limit(void **state)
{
    fixture *f = *state;
    hg_mem_desc desc = {f->plan.device.limits.alloc_bytes + 1, HG_MEM_SCRATCH, "kv.layer07.k"};
    hg_mem *mem;

    assert_int_equal(vk->alloc(f->dev, &desc, &mem), HG_ERR_UNSUPPORTED);
    assert_null(mem);
    assert_non_null(strstr(f->log.last[HG_LOG_ERROR], "kv.layer07.k"));
    desc.size_bytes = UINT64_MAX;
    assert_int_equal(vk->alloc(f->dev, &desc, &mem), HG_ERR_UNSUPPORTED);
    assert_int_equal(f->dev->allocated_bytes, 0);
}

/* Neighbours in one block keep their own bytes while others come and go. */
static void keeps_neighbours_apart(void **state)
{
    enum { BUFFERS = 64, BYTES = 1000 };
    fixture *f = *state;
    hg_mem *mem[BUFFERS];
    uint8_t bytes[BYTES];

    for (int i = 0; i < BUFFERS; i++) {
        mem[i] = make_mem(f, HG_MEM_KV, BYTES);
        memset(bytes, i + 1, BYTES);
        write_mem(f, mem[i], bytes, BYTES);
    }
    for (int i = 0; i < BUFFERS; i += 2)
        vk->release(&mem[i]);
    for (int i = 0; i < BUFFERS; i += 2) {
        mem[i] = make_mem(f, HG_MEM_KV, BYTES);
        memset(bytes, i + 101, BYTES);
        write_mem(f, mem[i], bytes, BYTES);
    }
    for (int i = 0; i < BUFFERS; i++) {
        read_mem(f, mem[i], bytes, BYTES);
        for (int k = 0; k < BYTES; k++)
            assert_int_equal(bytes[k], (uint8_t)(i % 2 ? i + 1 : i + 101));
        vk->release(&mem[i]);
    }
}

static void runs_a_kernel(void **state)
{
    fixture *f = *state;
    hg_mem *x = make_mem(f, HG_MEM_WEIGHT, COUNT * 4), *y = make_mem(f, HG_MEM_SCRATCH, COUNT * 4);
    hg_pipe *once = make_pipe(f, &affine_variant, 1), *thrice = make_pipe(f, &affine_variant, 3);
    hg_list *list;
    float in[COUNT], out[COUNT];

    assert_ptr_equal(once, make_pipe(f, &affine_variant, 1));
    assert_ptr_not_equal(once, thrice);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    write_mem(f, x, in, sizeof(in));
    list = make_list(f);
    run_affine(list, once, x, y, (affine_params){COUNT, 2.0f, 0.5f});
    submit(f, &list);
    read_mem(f, y, out, sizeof(out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == (float)i * 2.0f + 0.5f);
    list = make_list(f);
    run_affine(list, thrice, x, y, (affine_params){COUNT, 2.0f, 0.5f});
    submit(f, &list);
    read_mem(f, y, out, sizeof(out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == ((float)i * 2.0f + 0.5f) * 3.0f);
    vk->release(&x);
    vk->release(&y);
}

static void binds_eight_buffers(void **state)
{
    fixture *f = *state;
    hg_pipe *pipe = make_pipe(f, &sum8_variant, 0);
    hg_list *list = make_list(f);
    uint32_t params[32] = {[0] = COUNT, [31] = 1000000}, out[COUNT], groups[3] = {16, 1, 1};
    hg_mem *mem[8];
    hg_bind binds[8];

    for (uint32_t i = 0; i < 8; i++) {
        mem[i] = make_mem(f, HG_MEM_SCRATCH, COUNT * 4);
        binds[i] = whole(mem[i]);
        vk->fill(list, binds[i], 1u << i);
        barrier(list, binds[i], HG_ACCESS_W, HG_ACCESS_RW);
    }
    vk->dispatch(list, pipe, params, binds, 8, groups);
    submit(f, &list);
    read_mem(f, mem[7], out, sizeof(out));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 1000127);
    for (uint32_t i = 0; i < 8; i++)
        vk->release(&mem[i]);
}

/* Same buffer of 64-byte pieces: words that neither a copy nor a fill owns stay as they were. */
static void copies_and_fills_ranges(void **state)
{
    fixture *f = *state;
    hg_mem *mem = make_mem(f, HG_MEM_KV, 256 * 4);
    hg_list *list;
    uint32_t words[256], want[256];

    for (uint32_t i = 0; i < 256; i++)
        words[i] = want[i] = i;
    write_mem(f, mem, words, sizeof(words));
    list = make_list(f);
    vk->fill(list, part(mem, 4 * 4, 7 * 4), 0xabcdef01u);
    barrier(list, part(mem, 4 * 4, 7 * 4), HG_ACCESS_W, HG_ACCESS_R);
    vk->copy(list, part(mem, 101 * 4, 7 * 4), part(mem, 4 * 4, 7 * 4));
    vk->copy(list, part(mem, 200 * 4, 3 * 4), part(mem, 50 * 4, 3 * 4));
    submit(f, &list);
    for (uint32_t i = 0; i < 7; i++)
        want[4 + i] = want[101 + i] = 0xabcdef01u;
    for (uint32_t i = 0; i < 3; i++)
        want[200 + i] = 50 + i;
    read_mem(f, mem, words, sizeof(words));
    assert_memory_equal(words, want, sizeof(want));
    vk->release(&mem);
}

/* x -> y -> x ..., each step needing the one before: 2^i, exactly, if every barrier holds. */
static void orders_hazards(void **state)
{
    enum { STEPS = 20 };
    fixture *f = *state;
    hg_mem *mem[2] = {make_mem(f, HG_MEM_SCRATCH, COUNT * 4),
                      make_mem(f, HG_MEM_SCRATCH, COUNT * 4)};
    hg_pipe *pipe = make_pipe(f, &affine_variant, 1);
    hg_list *list = make_list(f);
    float one = 1.0f, out[COUNT];
    uint32_t word;

    memcpy(&word, &one, 4);
    vk->fill(list, whole(mem[0]), word);
    for (int i = 0; i < STEPS; i++) {
        hg_mem *x = mem[i % 2], *y = mem[(i + 1) % 2];

        barrier(list, whole(x), HG_ACCESS_W, HG_ACCESS_R);
        if (i > 0)
            barrier(list, whole(y), HG_ACCESS_R, HG_ACCESS_W);
        run_affine(list, pipe, x, y, (affine_params){COUNT, 2.0f, 0.0f});
    }
    submit(f, &list);
    read_mem(f, mem[STEPS % 2], out, sizeof(out));
    for (int i = 0; i < COUNT; i++)
        assert_true(out[i] == (float)(1 << STEPS));
    vk->release(&mem[0]);
    vk->release(&mem[1]);
}

static void takes_many_hazards_at_once(void **state)
{
    enum { PARTS = 50 };
    fixture *f = *state;
    hg_mem *x = make_mem(f, HG_MEM_SCRATCH, PARTS * 256),
           *y = make_mem(f, HG_MEM_SCRATCH, PARTS * 256);
    hg_list *list = make_list(f);
    hg_hazard hazards[PARTS];
    uint32_t out[PARTS * 64];

    for (uint32_t i = 0; i < PARTS; i++) {
        hazards[i] = (hg_hazard){part(x, i * 256, 256), HG_ACCESS_W, HG_ACCESS_R};
        vk->fill(list, hazards[i].range, i);
    }
    vk->barrier(list, hazards, PARTS);
    vk->copy(list, whole(y), whole(x));
    submit(f, &list);
    read_mem(f, y, out, sizeof(out));
    for (uint32_t i = 0; i < PARTS * 64; i++)
        assert_int_equal(out[i], i / 64);
    vk->release(&x);
    vk->release(&y);
}

/* The counterpart of fixture_close: without a barrier the layer does speak, and is counted. */
static void counts_validation_messages(void **state)
{
    fixture *f = *state;
    hg_mem *x = make_mem(f, HG_MEM_SCRATCH, COUNT * 4), *y = make_mem(f, HG_MEM_SCRATCH, COUNT * 4);
    hg_pipe *pipe = make_pipe(f, &affine_variant, 1);
    hg_list *list;

    if (!f->plan.validate)
        skip();
    list = make_list(f);
    vk->fill(list, whole(x), 0);
    barrier(list, whole(x), HG_ACCESS_W, HG_ACCESS_R);
    run_affine(list, pipe, x, y, (affine_params){COUNT, 1.0f, 0.0f});
    run_affine(list, pipe, y, x, (affine_params){COUNT, 1.0f, 0.0f});
    finish(f, submit(f, &list));
    assert_true(f->dev->validation_messages > 0);
    assert_non_null(strstr(f->log.last[HG_LOG_ERROR], "SYNC-HAZARD"));
    f->dev->validation_messages = 0;
    vk->release(&x);
    vk->release(&y);
}

static void folds_groups(void **state)
{
    static const uint32_t shapes[][3] = {{7, 5, 3}, {1, 1, 65}, {65535, 2, 1}, {1, 3, 2}};
    fixture *f = *state;
    hg_pipe *pipe = make_pipe(f, &groups_variant, 0);
    uint32_t *out = calloc(131072, 4);
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, 131072 * 4);
    hg_bind bind = whole(y);

    assert_non_null(out);
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        uint32_t total = shapes[s][0] * shapes[s][1] * shapes[s][2];
        hg_list *list = make_list(f);

        vk->fill(list, bind, 0);
        barrier(list, bind, HG_ACCESS_W, HG_ACCESS_RW);
        vk->dispatch(list, pipe, NULL, &bind, 1, shapes[s]);
        submit(f, &list);
        read_mem(f, y, out, 131072 * 4);
        for (uint32_t i = 0; i < 131072; i++)
            assert_int_equal(out[i], i < total);
    }
    free(out);
    vk->release(&y);
}

static void skips_an_empty_grid(void **state)
{
    static const uint32_t empty[3] = {4, 0, 1};
    fixture *f = *state;
    hg_pipe *pipe = make_pipe(f, &groups_variant, 0);
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, 64);
    hg_list *list = make_list(f);
    hg_bind bind = whole(y);
    uint32_t out[16];

    vk->fill(list, bind, 9);
    vk->dispatch(list, pipe, NULL, &bind, 1, empty);
    submit(f, &list);
    read_mem(f, y, out, sizeof(out));
    assert_int_equal(out[0], 9);
    vk->release(&y);
}

/* More dispatches than one descriptor pool holds, in lists that are used again. */
static void records_long_lists(void **state)
{
    static const uint32_t one[3] = {1, 1, 1};
    enum { DISPATCHES = 700, LISTS = 3 };
    fixture *f = *state;
    hg_pipe *pipe = make_pipe(f, &groups_variant, 0);
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, 256);
    hg_bind bind = whole(y);
    uint32_t out = 0, zero[64] = {0};

    write_mem(f, y, zero, sizeof(zero));
    for (int k = 0; k < LISTS; k++) {
        hg_list *list = make_list(f);

        for (int i = 0; i < DISPATCHES; i++) {
            barrier(list, bind, HG_ACCESS_RW, HG_ACCESS_RW);
            vk->dispatch(list, pipe, NULL, &bind, 1, one);
        }
        finish(f, submit(f, &list));
    }
    read_mem(f, y, &out, 4);
    assert_int_equal(out, DISPATCHES * LISTS);
    vk->release(&y);
}

static void counts_points(void **state)
{
    static const uint32_t one[3] = {1, 1, 1};
    enum { SUBMITS = 300 };
    fixture *f = *state;
    hg_pipe *pipe = make_pipe(f, &groups_variant, 0);
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, 256);
    hg_bind bind = whole(y);
    uint32_t out = 0, zero[64] = {0};
    uint64_t first, last = 0;
    hg_result polled;

    assert_int_equal(vk->wait(f->dev, 0, 0), HG_OK);
    assert_int_equal(vk->wait(f->dev, 1, 0), HG_ERR_ARGUMENT);
    write_mem(f, y, zero, sizeof(zero));
    for (int i = 0; i < SUBMITS; i++) { /* no barrier: lists are ordered among themselves */
        hg_list *list = make_list(f);
        uint64_t point;

        vk->dispatch(list, pipe, NULL, &bind, 1, one);
        point = submit(f, &list);
        assert_true(last == 0 || point == last + 1);
        last = point;
    }
    first = last - SUBMITS + 1;
    polled = vk->wait(f->dev, last, 0);
    assert_true(polled == HG_OK || polled == HG_TIMEOUT);
    while ((polled = vk->wait(f->dev, last, 1000000)) == HG_TIMEOUT)
        ;
    assert_int_equal(polled, HG_OK);
    assert_int_equal(vk->wait(f->dev, last, 0), HG_OK);
    assert_int_equal(vk->wait(f->dev, first, 0), HG_OK);
    read_mem(f, y, &out, 4);
    assert_int_equal(out, SUBMITS);
    vk->release(&y);
}

static void times_submits(void **state)
{
    fixture *f = *state;
    int timed = (f->plan.features & HG_FEATURE_TIMESTAMPS) != 0;
    hg_pipe *pipe = make_pipe(f, &affine_variant, 1);
    hg_mem *x = make_mem(f, HG_MEM_SCRATCH, 1 << 20), *y = make_mem(f, HG_MEM_SCRATCH, 1 << 20);
    uint64_t ns[3][8], first = 0, last = 0, *all = calloc(4096, sizeof(*all));

    assert_non_null(all);
    for (int k = 0; k < 3; k++) {
        hg_list *list = make_list(f);

        vk->mark(list, "test layer 1", 0);
        vk->fill(list, whole(x), 0);
        vk->mark(list, NULL, 1);
        barrier(list, whole(x), HG_ACCESS_W, HG_ACCESS_R);
        vk->mark(list, "test layer 2", UINT32_MAX);
        run_affine(list, pipe, x, y, (affine_params){1 << 18, 2.0f, 1.0f});
        vk->mark(list, NULL, 5);
        vk->mark(list, NULL, 4095);
        last = submit(f, &list);
        first = k == 0 ? last : first;
    }
    finish(f, last);
    for (int k = 0; k < 3; k++) {
        uint64_t *t = ns[k];

        assert_int_equal(vk->times(f->dev, first + (uint64_t)k, t, 8), HG_OK);
        assert_true(t[2] == 0 && t[3] == 0 && t[4] == 0 && t[6] == 0 && t[7] == 0);
        assert_true(timed ? t[0] > 0 && t[1] >= t[0] && t[5] > t[1] : t[0] + t[1] + t[5] == 0);
        assert_true(k == 0 || t[0] >= ns[k - 1][5]);
    }
    assert_int_equal(vk->times(f->dev, last, all, 4096), HG_OK);
    assert_true(timed ? all[4095] >= all[5] : all[4095] == 0);
    assert_int_equal(vk->times(f->dev, last + 1, all, 4096), HG_ERR_ARGUMENT);
    for (int i = 0; i < 70; i++) {
        hg_list *list = make_list(f);

        vk->mark(list, NULL, 0);
        finish(f, submit(f, &list));
    }
    assert_int_equal(vk->times(f->dev, first, ns[0], 8), timed ? HG_ERR_ARGUMENT : HG_OK);
    assert_int_equal(ns[0][0], 0);
    free(all);
    vk->release(&x);
    vk->release(&y);
}

/* Released while a list that uses it is recorded, or in flight: its bytes stay until the point has
 * passed. */
static void releases_late(void **state)
{
    fixture *f = *state;
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, COUNT * 4), *x, *other;
    hg_pipe *pipe = make_pipe(f, &affine_variant, 1);
    float in[COUNT], out[COUNT], junk[COUNT];

    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)i;
        junk[i] = -1.0f;
    }
    for (int round = 0; round < 10; round++) {
        hg_list *list;

        x = make_mem(f, HG_MEM_KV, COUNT * 4);
        write_mem(f, x, in, sizeof(in));
        list = make_list(f);
        run_affine(list, pipe, x, y, (affine_params){COUNT, 3.0f, 1.0f});
        vk->release(&x);
        other = make_mem(f, HG_MEM_KV, COUNT * 4);
        write_mem(f, other, junk, sizeof(junk)); /* runs before list */
        submit(f, &list);
        vk->release(&other);
        read_mem(f, y, out, sizeof(out));
        for (int i = 0; i < COUNT; i++)
            assert_true(out[i] == (float)i * 3.0f + 1.0f);
    }
    vk->release(&y);
}

static void discards_lists(void **state)
{
    fixture *f = *state;
    hg_mem *y = make_mem(f, HG_MEM_SCRATCH, 256);
    hg_list *list = make_list(f);
    uint32_t out = 0;
    uint64_t before, after;

    vk->fill(list, whole(y), 1);
    before = submit(f, &list);
    list = make_list(f);
    vk->mark(list, "never runs", 3);
    barrier(list, whole(y), HG_ACCESS_W, HG_ACCESS_W);
    vk->fill(list, whole(y), 2);
    vk->discard(&list);
    assert_null(list);
    vk->discard(&list);
    list = make_list(f);
    after = submit(f, &list);
    assert_int_equal(after, before + 1);
    read_mem(f, y, &out, 4);
    assert_int_equal(out, 1);
    vk->release(&y);
}

static void closes_with_work_in_flight(void **state)
{
    fixture *f = *state;
    hg_mem *x = make_mem(f, HG_MEM_SCRATCH, 1 << 20), *y = make_mem(f, HG_MEM_SCRATCH, 1 << 20);
    hg_pipe *pipe = make_pipe(f, &affine_variant, 1);

    for (int i = 0; i < 20; i++) {
        hg_list *list = make_list(f);

        run_affine(list, pipe, x, y, (affine_params){1 << 18, 2.0f, 1.0f});
        submit(f, &list);
    }
    vk->release(&x);
    vk->release(&y);
    assert_int_equal(f->dev->validation_messages, 0);
    vk->close(&f->dev);
    assert_null(f->dev);
    vk->close(&f->dev);
}

static void refuses_variants(void **state)
{
    fixture *f = *state;
    uint32_t spec[HG_SPEC_MAX] = {1, 1, 0, 0};
    hg_variant variant = affine_variant;
    hg_pipe *pipe;

    variant.spirv = NULL;
    assert_int_equal(vk->prepare(f->dev, &variant, spec, &pipe), HG_ERR_UNSUPPORTED);
    assert_null(pipe);
    variant = affine_variant;
    variant.threads = f->plan.device.limits.group_invocations + 1;
    assert_int_equal(vk->prepare(f->dev, &variant, spec, &pipe), HG_ERR_UNSUPPORTED);
    assert_null(pipe);
}

/* Several threads on one device; the engine's lock is stood in for by one around prepare and
 * submit. */
typedef struct worker {
    fixture *f;
    pthread_mutex_t *lock;
    uint32_t seed;
    int wrong;
} worker;

static int work_once(worker *w, uint32_t value)
{
    hg_mem_desc desc = {4096, HG_MEM_SCRATCH, "worker"}, back = {4096, HG_MEM_READBACK, "worker"};
    hg_mem *mem = NULL, *readback = NULL;
    hg_list *list = NULL;
    uint64_t point = 0, ns = 0;
    void *view = NULL;
    int wrong = 1;

    if (vk->alloc(w->f->dev, &desc, &mem) != HG_OK ||
        vk->alloc(w->f->dev, &back, &readback) != HG_OK)
        return 1;
    if (vk->begin(w->f->dev, NULL, &list) == HG_OK) {
        hg_hazard hazard = {whole(mem), HG_ACCESS_W, HG_ACCESS_R};

        vk->mark(list, "worker", 0);
        vk->fill(list, whole(mem), value);
        vk->barrier(list, &hazard, 1);
        vk->copy(list, whole(readback), whole(mem));
        pthread_mutex_lock(w->lock);
        wrong = vk->submit(&list, NULL, 0, NULL, 0, &point) != HG_OK;
        pthread_mutex_unlock(w->lock);
    }
    vk->release(&mem);
    wrong = wrong || vk->wait(w->f->dev, point, UINT64_MAX) != HG_OK ||
            vk->times(w->f->dev, point, &ns, 1) != HG_OK ||
            vk->map(readback, 0, 4096, HG_MAP_READ, &view) != HG_OK;
    for (int i = 0; i < 1024 && !wrong; i++)
        wrong = ((uint32_t *)view)[i] != value;
    vk->unmap(readback, 0, 4096);
    vk->release(&readback);
    return wrong;
}

static void *work(void *user)
{
    worker *w = user;

    for (uint32_t i = 0; i < 40; i++)
        w->wrong += work_once(w, w->seed * 1000 + i);
    return NULL;
}

static void serves_threads(void **state)
{
    enum { THREADS = 4 };
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[THREADS];
    worker workers[THREADS];

    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){*state, &lock, i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CASE(describes_the_device),
        CASE(refuses_what_it_cannot),
        CASE(allocates_every_kind),
        CASE(refuses_a_buffer_beyond_the_limit),
        CASE(keeps_neighbours_apart),
        CASE(runs_a_kernel),
        CASE(binds_eight_buffers),
        CASE(copies_and_fills_ranges),
        CASE(orders_hazards),
        CASE(takes_many_hazards_at_once),
        CASE(counts_validation_messages),
        CASE(folds_groups),
        CASE(skips_an_empty_grid),
        CASE(records_long_lists),
        CASE(counts_points),
        CASE(times_submits),
        CASE(releases_late),
        CASE(discards_lists),
        CASE(closes_with_work_in_flight),
        CASE(refuses_variants),
        CASE(serves_threads),
    };
    int options = fixture_options(argc, argv);

    return options ? options : cmocka_run_group_tests(tests, NULL, NULL);
}
