/* SPDX-License-Identifier: MIT */
/*
 * make_model FOLDER [--preset tiny|0.6b|1.7b] [--gate none|headwise|elementwise] [--dtype
 * f32|f16|bf16]
 *            [--format safetensors|bin|both] [--vocab N] [--layers N] [--hidden N] [--ffn N]
 * [--heads N] [--kv-heads N]
 *            [--head-dim N] [--untied] [--seed N] [--tokenizer FILE]
 *
 * Writes a checkpoint of random weights: config.json, model.safetensors and/or
 * pytorch_model.bin. 1.7b has the shape of the published gated models. Files appear under their
 * names when they are complete. Exit status: 0, 2 usage, 7 cannot be written.
 */
#include "random_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_OUTPUT = 7, FORM_SAFETENSORS = 1, FORM_TORCH = 2 };

typedef struct options {
    const char *folder, *tokenizer;
    hg_bench_shape shape;
    uint32_t forms;
} options;

typedef struct preset {
    const char *name;
    hg_bench_shape shape;
    uint32_t ffn_elementwise; /* the published elementwise model has a smaller FFN for its larger
                                 q_proj */
} preset;

static const preset presets[] = {
    {"tiny", {256, 8, 8, 4, 32, 768, 4096, 1, HG_BENCH_NO_GATE, HG_BENCH_BF16, 0}, 768},
    {"0.6b", {1024, 28, 16, 8, 128, 3072, 151936, 1, HG_BENCH_NO_GATE, HG_BENCH_BF16, 0}, 3072},
    {"1.7b", {2048, 28, 16, 8, 128, 6144, 152064, 1, HG_BENCH_NO_GATE, HG_BENCH_BF16, 0}, 5504},
};

/* Index of text in words, a list that ends with NULL; -1 when it is none of them. */
static int word(const char *text, const char *const *words)
{
    for (int index = 0; words[index]; index++) {
        if (strcmp(text, words[index]) == 0) {
            return index;
        }
    }
    return -1;
}

static int read_number(const char *text, uint32_t *out)
{
    char *end = NULL;
    const unsigned long value = strtoul(text, &end, 10);
    *out = (uint32_t)value;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && value > 0 && value <= 1u << 24;
}

static int read_option(options *o, const char *name, const char *value)
{
    static const char *const gates[] = {"none", "headwise", "elementwise", NULL};
    static const char *const dtypes[] = {"f32", "f16", "bf16", NULL};
    static const char *const forms[] = {"safetensors", "bin", "both", NULL};
    static const char *const numbers[] = {"--vocab", "--layers",   "--hidden",   "--ffn",
                                          "--heads", "--kv-heads", "--head-dim", NULL};
    uint32_t *const fields[] = {&o->shape.vocab,   &o->shape.layers, &o->shape.hidden,
                                &o->shape.ffn,     &o->shape.heads,  &o->shape.kv_heads,
                                &o->shape.head_dim};
    int index = word(name, numbers);
    if (index >= 0) {
        return read_number(value, fields[index]);
    }
    if (strcmp(name, "--gate") == 0 && (index = word(value, gates)) >= 0) {
        o->shape.gate = (hg_bench_gate)index;
    } else if (strcmp(name, "--dtype") == 0 && (index = word(value, dtypes)) >= 0) {
        o->shape.dtype = (hg_bench_dtype)index;
    } else if (strcmp(name, "--format") == 0 && (index = word(value, forms)) >= 0) {
        o->forms = (uint32_t)index + 1;
    } else if (strcmp(name, "--seed") == 0) {
        o->shape.seed = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--tokenizer") == 0) {
        o->tokenizer = value;
    } else {
        return strcmp(name, "--preset") == 0; /* read before the others */
    }
    return 1;
}

static int read_arguments(options *o, int argc, char **argv)
{
    const preset *chosen = &presets[0];
    for (int index = 1; index + 1 < argc; index++) {
        if (strcmp(argv[index], "--preset") == 0) {
            chosen = NULL;
            for (size_t item = 0; item < sizeof presets / sizeof presets[0]; item++) {
                chosen = strcmp(argv[index + 1], presets[item].name) == 0 ? &presets[item] : chosen;
            }
            if (!chosen) {
                return 0;
            }
        }
    }
    *o = (options){.shape = chosen->shape, .forms = FORM_SAFETENSORS};
    o->shape.ffn = 0; /* told apart from a --ffn that is given: the preset's depends on the gate */
    for (int index = 1; index < argc; index++) {
        if (strcmp(argv[index], "--untied") == 0) {
            o->shape.tied = 0;
        } else if (argv[index][0] != '-' && !o->folder) {
            o->folder = argv[index];
        } else if (index + 1 >= argc || !read_option(o, argv[index], argv[index + 1])) {
            return 0;
        } else {
            index++;
        }
    }
    if (o->shape.ffn == 0) {
        o->shape.ffn =
            o->shape.gate == HG_BENCH_ELEMENTWISE ? chosen->ffn_elementwise : chosen->shape.ffn;
    }
    return o->folder != NULL && o->shape.heads % o->shape.kv_heads == 0 &&
           o->shape.head_dim % 2 == 0;
}

static int write_config(FILE *file, const hg_bench_shape *s)
{
    static const char *const dtypes[] = {"float32", "float16", "bfloat16"};
    return fprintf(file,
                   "{\n  \"architectures\": [\"Qwen3ForCausalLM\"],\n  \"model_type\": \"qwen2\",\n"
                   "  \"hidden_size\": %" PRIu32 ",\n  \"num_hidden_layers\": %" PRIu32
                   ",\n  \"num_attention_heads\": %" PRIu32 ",\n  \"num_key_value_heads\": %" PRIu32
                   ",\n  \"head_dim\": %" PRIu32 ",\n  \"intermediate_size\": %" PRIu32
                   ",\n  \"vocab_size\": %" PRIu32 ",\n",
                   s->hidden, s->layers, s->heads, s->kv_heads, s->head_dim, s->ffn,
                   s->vocab) > 0 &&
           fprintf(file,
                   "  \"hidden_act\": \"silu\",\n  \"rms_norm_eps\": 1e-06,\n  \"rope_theta\": "
                   "1000000.0,\n  \"rope_scaling\": null,\n"
                   "  \"max_position_embeddings\": 32768,\n  \"qkv_bias\": false,\n  "
                   "\"use_qk_norm\": true,\n"
                   "  \"headwise_attn_output_gate\": %s,\n  \"elementwise_attn_output_gate\": "
                   "%s,\n  \"tie_word_embeddings\": %s,\n"
                   "  \"sliding_window\": null,\n  \"use_sliding_window\": false,\n  "
                   "\"torch_dtype\": \"%s\"\n}\n",
                   s->gate == HG_BENCH_HEADWISE ? "true" : "false",
                   s->gate == HG_BENCH_ELEMENTWISE ? "true" : "false", s->tied ? "true" : "false",
                   dtypes[s->dtype]) > 0;
}

/* Under a temporary name beside it, then renamed: nobody ever sees half a file. */
static int write_file(const options *o, const char *name,
                      int (*write)(FILE *, const hg_bench_shape *))
{
    char path[1024];
    char part[1040];
    int good = 0;
    FILE *file = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", o->folder, name);
    (void)snprintf(part, sizeof part, "%s.part", path);
    file = fopen(part, "wb");
    good = file && write(file, &o->shape) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    const int reason = errno;
    if (file && fclose(file) != 0) {
        good = 0;
    }
    good = good && rename(part, path) == 0;
    if (!good) {
        (void)fprintf(stderr, "make_model: %s cannot be written: %s\n", path,
                      strerror(reason ? reason : errno));
        (void)remove(part);
    }
    return good;
}

static int copy_file(const char *from, const char *folder)
{
    char path[1024];
    char bytes[65536];
    size_t count = 0;
    int good = 0;
    FILE *in = fopen(from, "rb");
    (void)snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    FILE *out = in ? fopen(path, "wb") : NULL;
    good = in && out;
    while (good && (count = fread(bytes, 1, sizeof bytes, in)) > 0) {
        good = fwrite(bytes, 1, count, out) == count;
    }
    good = good && !ferror(in);
    if (out && fclose(out) != 0) {
        good = 0;
    }
    if (in) {
        (void)fclose(in);
    }
    if (!good) {
        (void)fprintf(stderr, "make_model: %s cannot be copied to %s\n", from, path);
    }
    return good;
}

/* Says early what would otherwise be found out after minutes of writing. */
static int has_room(const options *o)
{
    hg_bench_tensor tensor;
    struct statvfs disk;
    uint64_t bytes = 0;
    for (uint32_t index = 0; hg_bench_tensor_at(&o->shape, index, &tensor); index++) {
        bytes += tensor.alias ? 0 : tensor.count * hg_bench_dtype_bytes(o->shape.dtype);
    }
    bytes *= o->forms == (FORM_SAFETENSORS | FORM_TORCH) ? 2 : 1;
    if (statvfs(o->folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < bytes) {
        (void)fprintf(
            stderr, "make_model: %s needs %" PRIu64 " MB, the disk has %" PRIu64 " MB free\n",
            o->folder, bytes / 1000000, (uint64_t)disk.f_bavail * disk.f_frsize / 1000000);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    options o;
    if (!read_arguments(&o, argc, argv)) {
        (void)fprintf(stderr, "usage: make_model FOLDER [--preset tiny|0.6b|1.7b] [--gate "
                              "none|headwise|elementwise] [--dtype f32|f16|bf16]\n"
                              "       [--format safetensors|bin|both] [--vocab N] [--layers N] "
                              "[--hidden N] [--ffn N] [--heads N] [--kv-heads N]\n"
                              "       [--head-dim N] [--untied] [--seed N] [--tokenizer FILE]\n");
        return EXIT_USAGE;
    }
    if (mkdir(o.folder, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "make_model: %s cannot be made: %s\n", o.folder, strerror(errno));
        return EXIT_OUTPUT;
    }
    errno = 0;
    if (!has_room(&o) || !write_file(&o, "config.json", write_config) ||
        ((o.forms & FORM_SAFETENSORS) &&
         !write_file(&o, "model.safetensors", hg_bench_write_safetensors)) ||
        ((o.forms & FORM_TORCH) && !write_file(&o, "pytorch_model.bin", hg_bench_write_torch)) ||
        (o.tokenizer && !copy_file(o.tokenizer, o.folder))) {
        return EXIT_OUTPUT;
    }
    return 0;
}
