/* SPDX-License-Identifier: MIT */
/*
 * bench_batch MODEL PROMPTS.jsonl [--device SEL] [--tokenizer FOLDER] [--rounds N] [--exact]
 *             [--what eval|metrics|maps]
 *
 * The same prompts one at a time and in passes of many, turn by turn in one process, the model
 * loaded once: seconds of the best round, prompts and tokens a second, and their ratio. `eval` is
 * the pass alone, with nothing kept; `metrics` keeps everything and takes the measures of all
 * layers; `maps` keeps queries, statistics and gates and reads the mean map, the shares and the
 * gates of every layer. Exit status: 0, 2 usage, 1 a failure that was said.
 */
#include <headgate/headgate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_USAGE = 2, WHAT_EVAL = 0, WHAT_METRICS, WHAT_MAPS, WHAT_COUNT };

static const char *const what_names[WHAT_COUNT] = {"eval", "metrics", "maps"};

typedef struct bench {
    const char *model_path, *prompts_path, *tokenizer_path, *device;
    uint32_t rounds, what, exact;
    hg_engine *engine;
    hg_model *model;
    hg_model_info info;
    int32_t *ids;     /* [tokens] */
    uint32_t *counts; /* [prompts] */
    uint32_t prompts, tokens, longest;
    float *values;          /* of maps and gates */
    double *shares;         /* [prompts, 2, heads] */
    hg_layer_metrics *rows; /* [prompts] */
} bench;

static void say(void *user, hg_log_level level, const char *line)
{
    (void)user;
    (void)level;
    fprintf(stderr, "bench_batch: %s\n", line);
}

static const hg_log bench_log = {say, NULL, HG_LOG_WARNING};

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int read_arguments(bench *b, int argc, char **argv)
{
    int place = 0;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--exact") == 0) {
            b->exact = 1;
        } else if (argv[i][0] != '-') {
            if (place++ == 0)
                b->model_path = argv[i];
            else
                b->prompts_path = argv[i];
        } else if (!value) {
            return 0;
        } else {
            i++;
            if (strcmp(argv[i - 1], "--device") == 0)
                b->device = value;
            else if (strcmp(argv[i - 1], "--tokenizer") == 0)
                b->tokenizer_path = value;
            else if (strcmp(argv[i - 1], "--rounds") == 0)
                b->rounds = (uint32_t)strtoul(value, NULL, 10);
            else if (strcmp(argv[i - 1], "--what") == 0)
                for (b->what = 0; b->what < WHAT_COUNT && strcmp(value, what_names[b->what]) != 0;)
                    b->what++;
            else
                return 0;
        }
    }
    return place == 2 && b->rounds > 0 && b->what < WHAT_COUNT;
}

static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long end;

    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
        rewind(file);
        text = malloc((size_t)end + 1);
        *bytes = text ? fread(text, 1, (size_t)end, file) : 0;
    }
    if (!text)
        perror(path);
    if (file)
        fclose(file);
    return text;
}

static hg_result add(bench *b, const int32_t *ids, uint32_t count)
{
    int32_t *grown = realloc(b->ids, ((size_t)b->tokens + count) * sizeof(*grown));

    if (!grown)
        return HG_ERR_HOST_MEMORY;
    b->ids = grown;
    memcpy(grown + b->tokens, ids, count * sizeof(*ids));
    b->counts[b->prompts++] = count;
    b->tokens += count;
    b->longest = count > b->longest ? count : b->longest;
    return HG_OK;
}

static hg_result tokenize(bench *b, const hg_prompt_list *list)
{
    hg_tokenizer *tokenizer = NULL;
    hg_result res = HG_OK;

    b->counts = calloc(hg_prompt_list_count(list), sizeof(*b->counts));
    for (uint32_t i = 0; i < hg_prompt_list_count(list) && res == HG_OK && b->counts; i++) {
        hg_prompt_entry entry = {.struct_size = sizeof(entry)};
        hg_encoding *encoding = NULL;

        hg_prompt_list_at(list, i, &entry);
        if (entry.ids) {
            res = add(b, entry.ids, entry.id_count);
            continue;
        }
        if (!tokenizer)
            res = hg_tokenizer_open(&(hg_tokenizer_params){.path = b->tokenizer_path
                                                                       ? b->tokenizer_path
                                                                       : b->model_path,
                                                           .log = bench_log},
                                    &tokenizer);
        if (res == HG_OK)
            res = hg_tokenizer_encode(tokenizer, entry.text, entry.text_bytes, 0, &encoding);
        if (res == HG_OK)
            res = add(b, encoding->ids, encoding->count);
        hg_encoding_free(&encoding);
    }
    hg_tokenizer_close(&tokenizer);
    return b->counts ? res : HG_ERR_HOST_MEMORY;
}

static hg_result open_bench(bench *b)
{
    hg_checkpoint *checkpoint = NULL;
    hg_prompt_list *list = NULL;
    size_t bytes = 0;
    char *text = slurp(b->prompts_path, &bytes);
    hg_result res = text ? HG_OK : HG_ERR_FILE;

    if (res == HG_OK)
        res = hg_prompt_list_parse(
            &(hg_prompt_list_params){.label = b->prompts_path, .log = bench_log}, text, bytes,
            &list);
    if (res == HG_OK)
        res = tokenize(b, list);
    if (res == HG_OK)
        res = hg_checkpoint_open(&(hg_checkpoint_params){.path = b->model_path, .log = bench_log},
                                 &checkpoint);
    if (res == HG_OK)
        res = hg_engine_create(
            &(hg_engine_params){.selector = b->device,
                                .precision = b->exact ? HG_PRECISION_EXACT : HG_PRECISION_FP32,
                                .log = bench_log},
            &b->engine);
    if (res == HG_OK)
        res = hg_model_load(b->engine, checkpoint, &(hg_model_params){.log = bench_log}, &b->model);
    if (res == HG_OK) {
        b->info.struct_size = sizeof(b->info);
        hg_model_describe(b->model, &b->info);
        b->rows = calloc(b->prompts, sizeof(*b->rows));
        b->shares = calloc((size_t)b->prompts * b->info.heads * 2, sizeof(*b->shares));
        b->values = calloc((size_t)b->tokens *
                               ((size_t)b->longest + (size_t)b->info.heads * b->info.gate_dim),
                           sizeof(*b->values));
        res = b->rows && b->shares && b->values ? HG_OK : HG_ERR_HOST_MEMORY;
    }
    hg_checkpoint_close(&checkpoint);
    hg_prompt_list_free(&list);
    free(text);
    return res;
}

static hg_result open_session(const bench *b, uint32_t tokens, uint32_t sequences, hg_session **out)
{
    static const uint32_t captures[WHAT_COUNT] = {
        0, HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES | HG_CAPTURE_HIDDEN,
        HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES};

    return hg_session_create(b->model,
                             &(hg_session_params){.max_tokens = tokens,
                                                  .sequences = sequences,
                                                  .capture = captures[b->what],
                                                  .log = bench_log},
                             out);
}

static hg_result read_alone(bench *b, hg_session *s)
{
    hg_result res = HG_OK;

    for (uint32_t l = 0; b->what != WHAT_EVAL && l < b->info.layers && res == HG_OK; l++) {
        res = hg_capture_metrics(s, l, b->rows, b->shares);
        if (res == HG_OK && b->what == WHAT_MAPS)
            res = hg_capture_map(s, &(hg_map_params){.layer = l, .head_mean = 1}, b->values);
        if (res == HG_OK && b->what == WHAT_MAPS && b->info.gate_dim)
            res = hg_capture_gates(s, l, b->values);
    }
    return res;
}

/* A session for all prompts, emptied between them: what a careful caller without batches does. */
static hg_result one_at_a_time(bench *b, hg_session *s)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0, at = 0; i < b->prompts && res == HG_OK; at += b->counts[i++]) {
        res = hg_session_truncate(s, 0);
        if (res == HG_OK)
            res = hg_session_eval(s, b->ids + at, b->counts[i]);
        if (res == HG_OK)
            res = read_alone(b, s);
    }
    return res;
}

static hg_result read_pass(bench *b, hg_session *s)
{
    hg_result res = HG_OK;

    for (uint32_t l = 0; b->what != WHAT_EVAL && l < b->info.layers && res == HG_OK; l++) {
        res = hg_batch_metrics(s, l, b->rows, b->shares);
        if (res == HG_OK && b->what == WHAT_MAPS)
            res = hg_batch_maps(s, &(hg_map_params){.layer = l, .head_mean = 1}, b->values);
        if (res == HG_OK && b->what == WHAT_MAPS && b->info.gate_dim)
            res = hg_batch_gates(s, l, b->values);
    }
    return res;
}

static hg_result in_passes(bench *b, hg_session *s)
{
    hg_result res = HG_OK;

    for (uint32_t i = 0, at = 0, taken = 0; i < b->prompts && res == HG_OK; i += taken) {
        res = hg_batch_eval(s, b->ids + at, b->counts + i, b->prompts - i, &taken);
        if (res == HG_OK)
            res = read_pass(b, s);
        for (uint32_t k = 0; k < taken; k++)
            at += b->counts[i + k];
    }
    return res;
}

static void print(const bench *b, const char *way, const double best[2])
{
    printf("%-14s %8.2f ms %9.1f prompts/s %9.0f tokens/s   %8.2f ms of processor time\n", way,
           best[0] * 1e3, b->prompts / best[0], b->tokens / best[0], best[1] * 1e3);
}

static hg_result measure(bench *b)
{
    hg_session *sessions[2] = {NULL, NULL};
    double best[2][2] = {{1e9, 1e9}, {1e9, 1e9}};
    uint32_t room = 0;
    hg_result res = open_session(b, b->longest, 0, &sessions[0]);

    if (res == HG_OK) {
        room = hg_batch_room(b->model, &(hg_session_params){.sequences = b->prompts}, b->tokens);
        res = open_session(b, room, b->prompts, &sessions[1]);
    }
    for (uint32_t round = 0; round <= b->rounds && res == HG_OK; round++) { /* the first warms up */
        for (int way = 0; way < 2 && res == HG_OK; way++) {
            const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
            double took[2];

            res = way ? in_passes(b, sessions[1]) : one_at_a_time(b, sessions[0]);
            took[0] = now(CLOCK_MONOTONIC) - wall;
            took[1] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            for (int k = 0; round && k < 2; k++)
                best[way][k] = took[k] < best[way][k] ? took[k] : best[way][k];
        }
    }
    if (res == HG_OK) {
        printf("%u prompts, %u tokens, the longest %u; %s, %s, best of %u; passes of %u tokens\n",
               b->prompts, b->tokens, b->longest, b->exact ? "exact" : "fp32", what_names[b->what],
               b->rounds, room);
        print(b, "one at a time", best[0]);
        print(b, "in passes", best[1]);
        printf("ratio %.2f (processor time %.2f)\n", best[0][0] / best[1][0],
               best[0][1] / best[1][1]);
    }
    hg_session_free(&sessions[0]);
    hg_session_free(&sessions[1]);
    return res;
}

int main(int argc, char **argv)
{
    bench b = {.rounds = 5};
    hg_result res;

    if (!read_arguments(&b, argc, argv)) {
        fprintf(stderr,
                "usage: bench_batch MODEL PROMPTS.jsonl [--device SEL] [--tokenizer FOLDER] "
                "[--rounds N] [--exact] [--what eval|metrics|maps]\n");
        return EXIT_USAGE;
    }
    res = open_bench(&b);
    if (res == HG_OK)
        res = measure(&b);
    hg_model_free(&b.model);
    hg_engine_destroy(&b.engine);
    free(b.ids);
    free(b.counts);
    free(b.rows);
    free(b.shares);
    free(b.values);
    return res == HG_OK ? 0 : 1;
}
