/* SPDX-License-Identifier: MIT */
/*
 * The text as C, without a driver: its bytes do not depend on how a processor treats denormals, on
 * how the grid is cut, on which kernel adds a sum up, or on how a prompt is cut into pieces.
 */
#include "hashes.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "float_mode.h"

enum {
    MODE_FLAGS = 0x3f,
    FLAG_INVALID = 0x01,
    FLAG_DENORMAL = 0x02,
    FLAG_OVERFLOW = 0x08,
    FLAG_UNDERFLOW = 0x10,
    MODE_FLUSH = 0x8040 /* flush to zero, denormals are zero */
};

/* Calls back with every variant on every shape. */
static uint32_t each_call(void (*use)(const hg_trial *call, const char *name))
{
    uint32_t calls = 0;

    for (uint32_t v = 0; v < hg_variant_count; v++) {
        for (uint32_t s = 0; s < hg_shape_count; s++) {
            hg_trial call;

            if (hg_shapes[s].kernel != hg_variants[v].kernel || hg_shapes[s].large ||
                !hg_variants[v].text)
                continue;
            assert_true(hg_trial_make(&call, &hg_variants[v], &hg_shapes[s], NULL));
            use(&call, hg_shapes[s].name);
            hg_trial_free(&call);
            calls++;
        }
    }
    return calls;
}

static void compare_modes(const hg_trial *call, const char *name)
{
    uint8_t *kept = malloc(call->block_bytes);
    uint8_t *flushed = malloc(call->block_bytes);
    const uint32_t mode = float_mode();
    uint32_t flags;
    char why[256];

    assert_true(kept && flushed);
    set_float_mode(mode & ~(uint32_t)MODE_FLAGS);
    hg_trial_text(call, kept);
    flags = float_mode() & MODE_FLAGS;
    set_float_mode((mode & ~(uint32_t)MODE_FLAGS) | MODE_FLUSH);
    hg_trial_text(call, flushed);
    set_float_mode(mode);
    /* Only there is a product itself tiny, and flushed before anything is done with it. */
    if (strstr(name, "tiny scale"))
        flags &= ~(uint32_t)FLAG_UNDERFLOW;
    if (flags & (FLAG_INVALID | FLAG_DENORMAL | FLAG_OVERFLOW | FLAG_UNDERFLOW))
        fail_msg("%s: raised%s%s%s%s", name, flags & FLAG_INVALID ? " invalid" : "",
                 flags & FLAG_DENORMAL ? " denormal" : "", flags & FLAG_OVERFLOW ? " overflow" : "",
                 flags & FLAG_UNDERFLOW ? " underflow" : "");
    if (!hg_trial_same(call, kept, flushed, why, sizeof(why)))
        fail_msg("%s: flushing denormals changes it: %s", name, why);
    free(kept);
    free(flushed);
}

static void denormals_do_not_matter(void **state)
{
    (void)state;
    if (!HAS_MXCSR) {
        printf("not applicable: no MXCSR on this processor\n");
        skip();
    }
    printf("%u calls\n", each_call(compare_modes));
}

/* Work-groups one by one from the last to the first, as other devices may do. */
static void compare_cuts(const hg_trial *call, const char *name)
{
    uint8_t *whole = malloc(call->block_bytes);
    uint8_t *cut = malloc(call->block_bytes);
    void *bind[HG_BINDS_MAX] = {NULL};
    hg_text_call text = {.params = &call->params, .bind = bind, .spec = call->spec};
    char why[256];

    assert_true(whole && cut);
    hg_trial_text(call, whole);
    memcpy(cut, call->before, call->block_bytes);
    for (uint32_t b = 0; b < call->kernel->bind_count; b++)
        bind[b] = cut + call->offset_bytes[b];
    memcpy(text.groups, call->groups, sizeof(text.groups));
    for (uint32_t group = call->groups[0]; group-- > 0;) {
        text.group_begin = group;
        text.group_end = group + 1;
        call->variant->text(&text);
    }
    if (!hg_trial_same(call, whole, cut, why, sizeof(why)))
        fail_msg("%s: depends on the order of work-groups: %s", name, why);
    free(whole);
    free(cut);
}

static void cuts_of_the_grid_do_not_matter(void **state)
{
    (void)state;
    printf("%u calls\n", each_call(compare_cuts));
}

/* Every shape that matvec has, by matmul. */
static void matmul_and_matvec_agree(void **state)
{
    uint32_t calls = 0;

    (void)state;
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        for (int d = HG_DTYPE_F32; d <= HG_DTYPE_BF16; d++) {
            hg_trial call;
            uint8_t *one, *other;
            char why[256];

            if (hg_shapes[s].kernel != HG_KERNEL_matvec)
                continue;
            assert_true(hg_trial_make(&call, hg_variant_t0(HG_KERNEL_matvec, (hg_dtype)d),
                                      &hg_shapes[s], NULL));
            one = malloc(call.block_bytes);
            other = malloc(call.block_bytes);
            assert_true(one && other);
            hg_trial_oracle(&call, one);
            call.variant = hg_variant_t0(HG_KERNEL_matmul, (hg_dtype)d); /* the same fields */
            hg_trial_oracle(&call, other);
            if (!hg_trial_same(&call, one, other, why, sizeof(why)))
                fail_msg("%s: matmul differs: %s", hg_shapes[s].name, why);
            free(one);
            free(other);
            hg_trial_free(&call);
            calls++;
        }
    }
    printf("%u calls\n", calls);
    assert_true(calls > 0);
}

/* One prompt through attention in pieces of `piece` tokens; y of all tokens. */
static void attend(const hg_shape *shape, const hg_trial *whole, uint32_t piece, uint8_t *block)
{
    const struct hg_attention_params *p = &shape->params.attention;
    const hg_variant *variant = whole->variant;
    const uint64_t per_token[HG_BINDS_MAX] = {(uint64_t)p->heads * p->head_dim,
                                              0,
                                              0,
                                              (uint64_t)p->heads * p->gate_dim,
                                              4,
                                              (uint64_t)p->heads * p->head_dim,
                                              (uint64_t)p->heads * 2,
                                              (uint64_t)p->heads * p->gate_dim};

    memcpy(block, whole->before, whole->block_bytes);
    for (uint32_t first = 0; first < p->tokens; first += piece) {
        hg_params params = whole->params;
        void *bind[HG_BINDS_MAX];
        hg_text_call text = {.params = &params, .bind = bind, .spec = whole->spec};

        params.attention.tokens = p->tokens - first < piece ? p->tokens - first : piece;
        for (uint32_t b = 0; b < HG_BINDS_MAX; b++)
            bind[b] = block + whole->offset_bytes[b] + per_token[b] * first * 4;
        variant->grid(&params, whole->spec, variant->threads, text.groups);
        text.group_end = text.groups[0];
        variant->text(&text);
    }
}

static void pieces_of_a_prompt_do_not_matter(void **state)
{
    static const uint32_t pieces[] = {1, 7, 64, 65};
    uint32_t calls = 0;

    (void)state;
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        const hg_shape *shape = &hg_shapes[s];
        hg_trial call;
        uint8_t *whole, *cut;
        char why[256];

        if (shape->kernel != HG_KERNEL_attention)
            continue;
        assert_true(
            hg_trial_make(&call, hg_variant_t0(HG_KERNEL_attention, HG_DTYPE_NONE), shape, NULL));
        whole = malloc(call.block_bytes);
        cut = malloc(call.block_bytes);
        assert_true(whole && cut);
        hg_trial_text(&call, whole);
        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
            attend(shape, &call, pieces[i], cut);
            if (!hg_trial_same(&call, whole, cut, why, sizeof(why)))
                fail_msg("%s: differs in pieces of %u: %s", shape->name, pieces[i], why);
            calls++;
        }
        free(whole);
        free(cut);
        hg_trial_free(&call);
    }
    printf("%u calls\n", calls);
}

/* What attention wrote, attn_probs reads: each row of probabilities sums to 1, ends at the last
 * visible key, and of one key alone is 1 exactly. */
static void probabilities_of_written_statistics_sum_to_one(void **state)
{
    enum { TOKENS = 70, HEADS = 2, DIM = 16 };
    static float q[TOKENS * HEADS * DIM], k[TOKENS * DIM], v[TOKENS * DIM], z[1];
    static float y[TOKENS * HEADS * DIM], stats[TOKENS * HEADS * 2], map[HEADS * TOKENS * TOKENS];
    static uint32_t rows[TOKENS * 4];
    struct hg_attention_params a = {
        .tokens = TOKENS, .heads = HEADS, .kv_heads = 1, .head_dim = DIM, .scale = 0.7f};
    struct hg_attn_probs_params p = {.heads = HEADS,
                                     .kv_heads = 1,
                                     .head_dim = DIM,
                                     .scale = 0.7f,
                                     .q_count = TOKENS,
                                     .k_count = TOKENS,
                                     .h_count = HEADS,
                                     .pool_q = 1,
                                     .pool_k = 1,
                                     .inv_heads = 0.5f,
                                     .dst_stride = TOKENS,
                                     .dst_head_stride = TOKENS * TOKENS};
    const hg_variant *attention = hg_variant_t0(HG_KERNEL_attention, HG_DTYPE_NONE);
    const hg_variant *probs = hg_variant_t0(HG_KERNEL_attn_probs, HG_DTYPE_NONE);
    void *bind[] = {q, k, v, z, rows, y, stats, z};
    void *probs_bind[] = {q, k, stats, rows, map};
    hg_text_call call = {.params = &a, .bind = bind, .spec = attention->spec_default};
    uint32_t state32 = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
        state32 = state32 * 1664525u + 1013904223u;
        q[i] = (float)(state32 >> 8) * 0x1p-23f - 1.0f;
        k[i % (TOKENS * DIM)] = (float)(state32 >> 9 & 0xffff) * 0x1p-15f - 1.0f;
    }
    for (uint32_t t = 0; t < TOKENS; t++) {
        rows[t * 4] = t;
        rows[t * 4 + 3] = TOKENS;
    }
    attention->grid(&a, attention->spec_default, attention->threads, call.groups);
    call.group_end = call.groups[0];
    attention->text(&call);
    call = (hg_text_call){.params = &p, .bind = probs_bind, .spec = probs->spec_default};
    probs->grid(&p, probs->spec_default, probs->threads, call.groups);
    call.group_end = call.groups[0];
    probs->text(&call);
    for (uint32_t h = 0; h < HEADS; h++) {
        assert_true(map[h * TOKENS * TOKENS] == 1.0f);
        for (uint32_t i = 0; i < TOKENS; i++) {
            const float *row = map + (h * TOKENS + i) * TOKENS;
            double sum = 0;

            for (uint32_t j = 0; j < TOKENS; j++) {
                sum += row[j];
                assert_true(row[j] >= 0.0f && row[j] <= 1.0f);
                assert_true(j <= i || row[j] == 0.0f);
            }
            assert_true(sum > 1 - 1e-6 && sum < 1 + 1e-6);
        }
    }
}

/* Lines "kernel shape|dtype|hash", of T0. */
static uint32_t write_hashes(FILE *file)
{
    uint32_t lines = 0;

    for (uint32_t s = 0; s < hg_shape_count; s++) {
        for (uint32_t v = 0; v < hg_variant_count; v++) {
            hg_trial call;
            uint8_t *block;

            if (hg_variants[v].kernel != hg_shapes[s].kernel || hg_variants[v].tier != HG_TIER_T0 ||
                hg_shapes[s].large || !hg_trial_make(&call, &hg_variants[v], &hg_shapes[s], NULL))
                continue;
            block = malloc(call.block_bytes);
            if (block) {
                hg_trial_oracle(&call, block);
                (void)fprintf(file, "%s|%s|%016llx\n", hg_shapes[s].name,
                              hg_dtype_name(hg_variants[v].dtype),
                              (unsigned long long)hg_hash_outputs(&call, block));
                lines++;
            }
            free(block);
            hg_trial_free(&call);
        }
    }
    return lines;
}

static void bytes_are_those_of_the_revision(void **state)
{
    FILE *expected = fopen(HG_TEST_HASHES, "r");
    FILE *found = tmpfile();
    char line[2][256];
    uint32_t lines;

    (void)state;
    assert_true(expected && found);
    lines = write_hashes(found);
    rewind(found);
    for (uint32_t i = 0; i < lines; i++) {
        assert_non_null(fgets(line[0], sizeof(line[0]), expected));
        assert_non_null(fgets(line[1], sizeof(line[1]), found));
        assert_string_equal(line[0], line[1]);
    }
    assert_null(fgets(line[0], sizeof(line[0]), expected));
    printf("%u hashes\n", lines);
    (void)fclose(expected);
    (void)fclose(found);
}

/* Results that a device would show which rounds, fuses, merges or cancels as it may by default. */
static void wrong_results(const uint32_t *x, uint32_t *y)
{
    float v[4];
    float nested;
    float dot = 0;

    memcpy(v, x, sizeof(v));
    nested = v[2];
    for (int i = 0; i < 4; i++) {
        nested = fmaf(nested, v[1], v[0]);
        dot = fmaf(v[i], v[3 - i], dot);
    }
    const float wrong[11] = {fmaf(v[0], v[1], v[2]),
                             fmaf(v[0], v[1], v[2]),
                             nested,
                             dot,
                             v[0] * 1.0f,
                             v[0],
                             v[0] + 0.6777f,
                             v[0],
                             v[0] * (v[1] + v[0]),
                             v[0] * (v[1] + 1.0f) + 1.0f,
                             v[1]};
    memcpy(y, wrong, sizeof(wrong));
}

static void probe_shows_what_it_is_for(void **state)
{
    static const int modes[] = {FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    const hg_variant *variant = hg_variant_t0(HG_KERNEL_probe, HG_DTYPE_NONE);
    const hg_shape *shape = hg_shapes;
    uint32_t shown[11] = {0};
    uint8_t *right, *other;
    const uint32_t *x, *y, *z;
    hg_trial call;

    (void)state;
    while (shape->kernel != HG_KERNEL_probe)
        shape++;
    assert_true(hg_trial_make(&call, variant, shape, NULL));
    right = malloc(call.block_bytes);
    other = malloc(call.block_bytes);
    assert_true(right && other);
    hg_trial_text(&call, right);
    x = (const uint32_t *)(const void *)(right + call.offset_bytes[0]);
    y = (const uint32_t *)(const void *)(right + call.offset_bytes[2]);
    z = (const uint32_t *)(const void *)(other + call.offset_bytes[2]);
    for (uint32_t r = 0; r < shape->params.probe.count; r++) {
        uint32_t wrong[11];

        wrong_results(x + (size_t)r * 8, wrong);
        for (int i = 0; i < 11; i++)
            shown[i] += wrong[i] != y[r * 29 + 3 + (uint32_t)i];
    }
    for (int i = 0; i < 11; i++)
        assert_true(shown[i] > 0);
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        memset(shown, 0, sizeof(shown));
        assert_int_equal(fesetround(modes[m]), 0);
        hg_trial_text(&call, other);
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        for (uint32_t r = 0; r < shape->params.probe.count; r++)
            for (int i = 0; i < 3; i++)
                shown[i] += z[r * 29 + (uint32_t)i] != y[r * 29 + (uint32_t)i];
        for (int i = 0; i < 3; i++)
            assert_true(shown[i] > 0);
    }
    free(right);
    free(other);
    hg_trial_free(&call);
}

static void every_kernel_has_quick_shapes(void **state)
{
    uint32_t quick[HG_KERNEL_COUNT] = {0};
    uint32_t nasty[HG_KERNEL_COUNT] = {0};

    (void)state;
    for (uint32_t s = 0; s < hg_shape_count; s++) {
        quick[hg_shapes[s].kernel] += hg_shapes[s].quick;
        nasty[hg_shapes[s].kernel] += hg_shapes[s].quick && hg_shapes[s].fill == HG_FILL_NASTY;
        assert_false(hg_shapes[s].quick && hg_shapes[s].large);
    }
    for (int k = 0; k < HG_KERNEL_COUNT; k++)
        assert_true(quick[k] >= (k == HG_KERNEL_probe ? 1 : 2) && nasty[k] >= 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denormals_do_not_matter),
        cmocka_unit_test(cuts_of_the_grid_do_not_matter),
        cmocka_unit_test(matmul_and_matvec_agree),
        cmocka_unit_test(pieces_of_a_prompt_do_not_matter),
        cmocka_unit_test(probabilities_of_written_statistics_sum_to_one),
        cmocka_unit_test(probe_shows_what_it_is_for),
        cmocka_unit_test(every_kernel_has_quick_shapes),
        cmocka_unit_test(bytes_are_those_of_the_revision),
    };

    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        FILE *file = fopen(argv[2], "w");
        const int written = file && write_hashes(file) > 0;

        return file && fclose(file) == 0 && written ? 0 : 1;
    }

    return cmocka_run_group_tests(tests, NULL, NULL);
}
