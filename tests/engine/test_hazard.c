/* SPDX-License-Identifier: MIT */
/* The hazard tracker against a brute-force model: whatever barriers it asks for, no command may
 * meet an open conflict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hazard.h"

enum { BYTES = 64, MEMS = 3, STEPS = 4000 };

/* Per byte: written and not yet visible; read and not yet over. */
typedef struct byte_state {
    uint8_t written, read;
} byte_state;

typedef struct world {
    hg_mem mem[MEMS];
    byte_state byte[MEMS][BYTES];
} world;

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* What a barrier does by the rules of the API: all earlier reads are over; writes inside its ranges
 * are visible. */
static void apply_barrier(world *w, const hg_hazard *hazards, size_t count)
{
    for (int m = 0; m < MEMS; m++)
        for (int b = 0; b < BYTES; b++)
            w->byte[m][b].read = 0;
    for (size_t i = 0; i < count; i++) {
        const hg_bind *r = &hazards[i].range;

        for (uint64_t b = r->offset_bytes; b < r->offset_bytes + r->size_bytes; b++)
            w->byte[r->mem - w->mem][b].written = 0;
    }
}

static void no_command_meets_an_open_conflict(void **state)
{
    static world w;
    hg_tracker *t = hg_tracker_create();
    uint32_t seed = 7, barriers = 0;

    (void)state;
    assert_non_null(t);
    for (int step = 0; step < STEPS; step++) {
        hg_bind binds[4];
        uint8_t access[4];
        hg_hazard hazards[HG_HAZARDS_MAX];
        const uint32_t count = 1 + next(&seed) % 4;
        size_t found;

        for (uint32_t i = 0; i < count; i++) {
            const uint64_t offset = next(&seed) % BYTES;

            binds[i] =
                (hg_bind){&w.mem[next(&seed) % MEMS], offset, 1 + next(&seed) % (BYTES - offset)};
            access[i] = (uint8_t)(1 + next(&seed) % 3);
        }
        do {
            found = hg_tracker_step(t, binds, access, count, hazards);
            assert_true(found <= HG_HAZARDS_MAX);
            barriers += found > 0;
            if (found)
                apply_barrier(&w, hazards, found);
        } while (found == HG_HAZARDS_MAX);
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t b = binds[i].offset_bytes;
                 b < binds[i].offset_bytes + binds[i].size_bytes; b++) {
                const byte_state *s = &w.byte[binds[i].mem - w.mem][b];

                assert_false(s->written); /* read or write after an invisible write */
                assert_false((access[i] & HG_ACCESS_W) && s->read);
            }
        for (uint32_t i = 0; i < count; i++)
            for (uint64_t b = binds[i].offset_bytes;
                 b < binds[i].offset_bytes + binds[i].size_bytes; b++) {
                byte_state *s = &w.byte[binds[i].mem - w.mem][b];

                s->written |= (access[i] & HG_ACCESS_W) != 0;
                s->read |= (access[i] & HG_ACCESS_R) != 0;
            }
    }
    assert_true(barriers > 100);
    hg_tracker_free(&t);
    assert_null(t);
}

static void independent_commands_need_no_barrier(void **state)
{
    hg_mem a = {0}, b = {0}, c = {0};
    hg_tracker *t = hg_tracker_create();
    hg_hazard hazards[HG_HAZARDS_MAX];
    const uint8_t read_write[2] = {HG_ACCESS_R, HG_ACCESS_W};

    (void)state;
    /* Two products of the same input into two outputs, and two halves of one buffer. */
    assert_int_equal(
        hg_tracker_step(t, (hg_bind[]){{&a, 0, 64}, {&b, 0, 64}}, read_write, 2, hazards), 0);
    assert_int_equal(
        hg_tracker_step(t, (hg_bind[]){{&a, 0, 64}, {&c, 0, 32}}, read_write, 2, hazards), 0);
    assert_int_equal(
        hg_tracker_step(t, (hg_bind[]){{&a, 0, 64}, {&c, 32, 32}}, read_write, 2, hazards), 0);
    /* Then one that reads the first output: exactly that range. */
    assert_int_equal(
        hg_tracker_step(t, (hg_bind[]){{&b, 16, 16}, {&c, 64, 16}}, read_write, 2, hazards), 1);
    assert_ptr_equal(hazards[0].range.mem, &b);
    assert_int_equal(hazards[0].range.size_bytes, 64);
    assert_int_equal(hazards[0].before, HG_ACCESS_W);
    assert_int_equal(hazards[0].after, HG_ACCESS_R);
    hg_tracker_forget(t, &c);
    assert_int_equal(
        hg_tracker_step(t, (hg_bind[]){{&c, 0, 64}, {&c, 64, 64}}, read_write, 2, hazards), 0);
    hg_tracker_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_command_meets_an_open_conflict),
        cmocka_unit_test(independent_commands_need_no_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
