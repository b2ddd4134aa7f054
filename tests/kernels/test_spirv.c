/* SPDX-License-Identifier: MIT */
/*
 * The SPIR-V that ships, word by word: every float operation is NoContraction, nothing of free
 * precision or order is used, no capability beyond Shader is asked for (T0V: and 64-bit integers),
 * bindings and tile numbers are where the table says.
 *
 *   test_kernels_spirv [--write FOLDER]
 * --write: the modules of tier T2 as files instead.
 */
#include "kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    OP_EXT_INST = 12,
    OP_CAPABILITY = 17,
    OP_EXECUTION_MODE = 16,
    OP_DECORATE = 71,
    OP_F_CONVERT = 115,
    OP_QUANTIZE = 116,
    OP_F_NEGATE = 127,
    OP_F_ADD = 129,
    OP_F_SUB = 131,
    OP_F_MUL = 133,
    OP_F_DIV = 136,
    OP_F_REM = 140,
    OP_F_MOD = 141,
    OP_VECTOR_TIMES_SCALAR = 142, /* to 147: products with matrices */
    OP_OUTER_PRODUCT = 147,
    OP_DOT = 148,
    CAPABILITY_SHADER = 1,
    CAPABILITY_INT64 = 11,
    MODE_LOCAL_SIZE = 17,
    DECORATION_RELAXED_PRECISION = 0,
    DECORATION_SPEC_ID = 1,
    DECORATION_BINDING = 33,
    DECORATION_DESCRIPTOR_SET = 34,
    DECORATION_NO_CONTRACTION = 42,
    EXT_FMA = 50,         /* of GLSL.std.450 */
    EXT_UNPACK_HALF = 62, /* the same */
    HEADER_WORDS = 5
};

typedef struct module {
    const char *name;
    uint32_t float_ops, bare_ops, fused_ops, forbidden_ops, other_capabilities;
    uint32_t bindings, spec_ids, threads, has_int64, half_ops;
} module;

static void decoration(module *m, const uint32_t *word, uint8_t *exact)
{
    if (word[2] == DECORATION_NO_CONTRACTION)
        exact[word[1]] = 1;
    if (word[2] == DECORATION_RELAXED_PRECISION)
        m->forbidden_ops++;
    if (word[2] == DECORATION_BINDING)
        m->bindings |= 1u << word[3];
    if (word[2] == DECORATION_SPEC_ID)
        m->spec_ids |= 1u << word[3];
    if (word[2] == DECORATION_DESCRIPTOR_SET && word[3] != 0)
        m->forbidden_ops++;
}

static void instruction(module *m, const uint32_t *word, uint8_t *exact)
{
    const uint32_t op = word[0] & 0xffffu;

    if (op >= OP_VECTOR_TIMES_SCALAR && op <= OP_OUTER_PRODUCT)
        m->forbidden_ops++;
    switch (op) {
    case OP_DECORATE:
        decoration(m, word, exact);
        break;
    case OP_CAPABILITY:
        m->has_int64 |= word[1] == CAPABILITY_INT64;
        m->other_capabilities += word[1] != CAPABILITY_SHADER && word[1] != CAPABILITY_INT64;
        break;
    case OP_EXECUTION_MODE:
        if (word[2] == MODE_LOCAL_SIZE)
            m->threads = word[3] * word[4] * word[5];
        break;
    case OP_F_NEGATE:
    case OP_F_ADD:
    case OP_F_SUB:
    case OP_F_MUL:
        m->float_ops++;
        m->bare_ops += !exact[word[2]];
        break;
    case OP_EXT_INST:
        m->fused_ops += word[4] == EXT_FMA;
        m->half_ops += word[4] == EXT_UNPACK_HALF;
        m->forbidden_ops += word[4] != EXT_FMA && word[4] != EXT_UNPACK_HALF;
        break;
    case OP_F_DIV:
    case OP_F_REM:
    case OP_F_MOD:
    case OP_F_CONVERT:
    case OP_QUANTIZE:
    case OP_DOT:
        m->forbidden_ops++;
        break;
    default:
        break;
    }
}

static void read_module(const hg_variant *v, module *m)
{
    const uint32_t count = (uint32_t)(v->spirv_bytes / 4);
    const uint32_t *word = v->spirv;
    uint8_t *exact;

    assert_true(count > HEADER_WORDS);
    assert_int_equal(word[0], 0x07230203);
    assert_true(word[1] <= 0x00010300); /* what Vulkan 1.1 takes */
    exact = calloc(word[3], 1);         /* word 3: all ids are below it */
    assert_non_null(exact);
    *m = (module){.name = hg_kernels[v->kernel].name};
    for (uint32_t at = HEADER_WORDS; at < count; at += word[at] >> 16) {
        assert_true(word[at] >> 16 > 0 && at + (word[at] >> 16) <= count);
        instruction(m, word + at, exact);
    }
    free(exact);
}

static void every_module_is_exact(void **state)
{
    uint32_t modules = 0;
    uint32_t float_ops = 0;

    (void)state;
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        module m;

        if (!v->spirv)
            assert_true(v->tier == HG_TIER_T0C || v->tier == HG_TIER_TC);
        if (!v->spirv || !hg_tier_is_exact(v->tier))
            continue;
        read_module(v, &m);
        modules++;
        float_ops += m.float_ops;
        if (m.bare_ops || m.forbidden_ops || m.other_capabilities)
            fail_msg(
                "%s: %u of %u float operations may be contracted, %u are of free precision, %u "
                "capabilities beyond Shader",
                m.name, m.bare_ops, m.float_ops, m.forbidden_ops, m.other_capabilities);
        /* Of one kernel alone, which measures what a device can do and is told to by a param. */
        assert_int_equal(m.fused_ops > 0, v->kernel == HG_KERNEL_ceiling_mac);
        assert_int_equal(m.has_int64, v->tier == HG_TIER_T0V);
        /* Exact but for denormals, which some device may flush: for processors alone. */
        assert_int_equal(m.half_ops > 0, v->tier == HG_TIER_T0V && v->dtype == HG_DTYPE_F16);
        assert_int_equal(m.threads, v->threads);
        assert_int_equal(m.bindings, (1u << hg_kernels[v->kernel].bind_count) - 1);
        assert_int_equal(m.spec_ids, 0); /* tile numbers are built in */
    }
    printf("%u modules, %u float operations\n", modules, float_ops);
    assert_true(modules >= HG_KERNEL_COUNT && float_ops > 100);
}

/* The module without the n-th of its NoContraction decorations; 0: it has not as many. */
static int strip_decoration(uint32_t *word, uint32_t count, uint32_t n)
{
    for (uint32_t at = HEADER_WORDS; at < count; at += word[at] >> 16) {
        if ((word[at] & 0xffffu) != OP_DECORATE || word[at + 2] != DECORATION_NO_CONTRACTION)
            continue;
        if (n-- > 0)
            continue;
        for (uint32_t i = 0; i < 3; i++)
            word[at + i] = 1u << 16; /* OpNop */
        return 1;
    }
    return 0;
}

/* The check itself sees a single decoration that is missing, whichever it is, of every module. */
static void the_check_can_fail(void **state)
{
    uint32_t stripped = 0;
    uint32_t seen = 0;
    uint32_t float_ops = 0;

    (void)state;
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        const uint32_t count = (uint32_t)(v->spirv_bytes / 4);
        const int is_meant = v->spirv && hg_tier_is_exact(v->tier);
        uint32_t *words = malloc(v->spirv_bytes + 4);
        hg_variant bare = *v;
        module m;

        if (is_meant) {
            read_module(v, &m);
            float_ops += m.float_ops;
        }
        assert_non_null(words);
        bare.spirv = words;
        for (uint32_t n = 0; is_meant; n++) {
            memcpy(words, v->spirv, v->spirv_bytes);
            if (!strip_decoration(words, count, n))
                break;
            read_module(&bare, &m);
            assert_true(m.bare_ops <= 1); /* 0: glslc decorates operations on integers, too */
            seen += m.bare_ops;
            stripped++;
        }
        free(words);
    }
    printf("%u decorations taken away, %u missed at a float operation\n", stripped, seen);
    assert_int_equal(seen, float_ops);
}

/* Of T2, whose numbers are chosen on the device: each can be given, by the index of its name. */
static void matrix_modules_take_their_numbers(void **state)
{
    uint32_t modules = 0;

    (void)state;
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        module m;

        if (v->tier != HG_TIER_T2)
            continue;
        read_module(v, &m);
        modules++;
        assert_int_equal(m.threads, v->threads);
        assert_int_equal(m.bindings, (1u << hg_kernels[v->kernel].bind_count) - 1);
        assert_int_equal(m.spec_ids, (1u << v->spec_count) - 1);
    }
    assert_true(modules >= 3);
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        const hg_kernel *kernel = &hg_kernels[v->kernel];
        char entry[64];

        assert_true(v->threads >= 1 && v->threads <= 128);
        assert_true(v->spec_count <= HG_SPEC_MAX);
        for (uint32_t s = 0; s < v->spec_count; s++)
            assert_non_null(v->spec_name[s]);
        (void)snprintf(entry, sizeof(entry), "void hg_%s(", kernel->name);
        if (v->cl_source) {
            assert_non_null(strstr(v->cl_source, "hg_##kernel("));
            assert_non_null(strstr(v->cl_source, kernel->name));
            assert_null(strstr(v->cl_source, "#include \""));
        }
        assert_true(v->cl_source || v->spirv);
        assert_int_equal(v->text != NULL, hg_tier_is_exact(v->tier) && v->tier != HG_TIER_T0V);
        assert_non_null(v->grid);
        /* The output is the first that is written: those only read stand before it. */
        for (uint32_t b = 0; b < kernel->bind_count; b++)
            assert_int_equal(kernel->bind[b].access == HG_ACCESS_R, b < kernel->output);
        assert_ptr_equal(hg_variant_find(v->kernel, v->tier, v->dtype), v);
    }
}

/* For tests/kernels/matrix_shapes.sh: FOLDER/KERNEL_TYPE.spv. */
static int write_matrix_modules(const char *folder)
{
    for (uint32_t i = 0; i < hg_variant_count; i++) {
        const hg_variant *v = &hg_variants[i];
        char path[1024];
        FILE *file;
        int is_whole;

        if (v->tier != HG_TIER_T2)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s_%s.spv", folder, hg_kernels[v->kernel].name,
                       hg_dtype_name(v->dtype));
        file = fopen(path, "wb");
        if (!file)
            return 1;
        is_whole = fwrite(v->spirv, 1, v->spirv_bytes, file) == v->spirv_bytes;
        if (fclose(file) != 0 || !is_whole)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_module_is_exact),
        cmocka_unit_test(the_check_can_fail),
        cmocka_unit_test(matrix_modules_take_their_numbers),
        cmocka_unit_test(the_table_is_sound),
    };

    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_matrix_modules(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
