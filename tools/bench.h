/* SPDX-License-Identifier: MIT */
/*
 * headgate bench between its files: what is asked, what was measured, and what follows from the
 * figures. bench_options reads the command line, bench_run and bench_kernels measure on one device,
 * bench_table, bench_kernel_table and bench_json tell. Owned by cmd_bench.c.
 */
#ifndef HG_TOOLS_BENCH_H
#define HG_TOOLS_BENCH_H

#include "machine.h"
#include "provenance.h"

enum { HG_BENCH_DEVICE_MAX = 16 };

typedef enum hg_bench_form {
    HG_BENCH_MD,
    HG_BENCH_JSON,
    HG_BENCH_CSV,
    HG_BENCH_FORM_COUNT
} hg_bench_form;

/* One thing to measure: tokens read in one go or decoded one by one, after `depth` others. */
typedef struct hg_bench_test {
    uint32_t tokens, depth;
    int decodes;
    int maps; /* everything is captured on the way */
} hg_bench_test;

typedef struct hg_bench_row {
    uint32_t machine;
    hg_bench_test test;
    uint64_t *times_ns;         /* [repeat], sorted */
    double flops, memory_bytes; /* of one run */
    struct {
        double median, min, max; /* of a test with maps: its time by that of the same without */
    } ratio;
    uint64_t device_bytes;  /* allocated: the model and a session of this test */
    uint64_t planned_bytes; /* by hg_model_device_bytes, as `inspect` tells it */
} hg_bench_row;

/* One kernel at one shape, over all runs of a test. */
typedef struct hg_bench_kernel {
    char kernel[32], tier[8], type[8], tiles[96], shape[256];
    uint64_t *times_ns; /* of each call, sorted */
    uint64_t calls, room, total_ns;
    double flops, memory_bytes; /* of all calls */
} hg_bench_kernel;

/* The kernels of a test, the one that takes the most time first. */
typedef struct hg_bench_pass {
    uint32_t machine;
    hg_bench_test test;
    uint64_t *times_ns;   /* [repeat], sorted: of whole runs, by the host's clock */
    uint64_t kernels_ns;  /* of all runs, by the device's */
    hg_bench_kernel *row; /* [count] */
    uint32_t count, room;
} hg_bench_pass;

typedef struct hg_bench_machine {
    hg_machine_choice choice;
    hg_machine machine; /* engine NULL once measured */
    hg_provenance provenance;
    int has_ceiling;
    hg_ceiling ceiling;
    uint32_t used_by_ceiling; /* ways in which kernels ran before the model's */
    hg_used_info *used;       /* [used_count]: the model's */
    uint32_t used_count;
    uint64_t model_bytes;                   /* allocated on the device when there is no session */
    uint64_t resident_start, resident_most; /* of the process: before the model, at the highest */
} hg_bench_machine;

typedef struct hg_bench {
    int has_model;
    hg_source source;
    uint32_t *prefill, *decode, *depth;
    uint32_t prefill_count, decode_count, depth_count;
    uint32_t repeat, seed, form;
    int maps, kernels, ceiling;
    hg_model_params how; /* its repack */
    hg_bench_machine machine[HG_BENCH_DEVICE_MAX];
    uint32_t machine_count;
    hg_weights_digest *digest;
    hg_bench_test *test;
    uint32_t test_count;
    int32_t *ids; /* as many as the longest test takes */
    float *logits;
    hg_bench_row *row; /* [machine_count * test_count] */
    uint32_t row_count;
    hg_bench_pass *pass; /* the same, with --kernels */
    uint32_t pass_count;
    int complained;
} hg_bench;

hg_result hg_bench_options(hg_app *app, hg_bench *bench);

/* Tests, ids and room for results, once the model is known. */
hg_result hg_bench_prepare(hg_bench *bench);

/* Tokens that the model computes on one device in all tests, the runs that are not measured too. */
uint32_t hg_bench_work(const hg_bench *bench);

/* All tests on one device; run: tokens per second, kernels: each operation. */
hg_result hg_bench_run(hg_app *app, hg_bench *bench, hg_model *model, uint32_t machine);
hg_result hg_bench_kernels(hg_app *app, hg_bench *bench, hg_model *model, uint32_t machine);
void hg_bench_pass_free(hg_bench_pass *pass);

/* A session that can take a test, its cache filled to the test's depth; one run of the test, ended
 * by the logits on the host. */
hg_result hg_bench_session(hg_app *app, hg_bench *bench, hg_model *model, const hg_bench_test *test,
                           hg_session **out);
hg_result hg_bench_once(hg_bench *bench, hg_session *session, const hg_bench_test *test,
                        uint64_t *time_ns);
void hg_bench_sort(uint64_t *times_ns, uint64_t count);
double hg_bench_median(const uint64_t *times_ns, uint64_t count);

/* "pp32", "tg16 @ d4096", "pp512+maps". */
const char *hg_bench_name(const hg_bench_test *test, char text[48]);

/* Figures of a row. */
typedef struct hg_bench_speed {
    double median, slowest, fastest; /* tokens per second */
    double flops_per_s, bytes_per_s; /* at the median */
} hg_bench_speed;

hg_bench_speed hg_bench_speed_of(const hg_bench *bench, const hg_bench_row *row);

/* Of the device's ceiling; NaN where it was not measured. Arithmetic: of product and sum apart
 * under precision exact, which has no others; of matrix units NaN where none are used. */
double hg_bench_share_of_read(const hg_bench_machine *machine, double bytes_per_s);
double hg_bench_share_of_fp32(const hg_bench_machine *machine, double flops_per_s);
double hg_bench_share_of_matrix(const hg_bench_machine *machine, double flops_per_s);

/* Rates of a kernel and its shares. largest: of the ceiling that it is nearest to, by name. */
typedef struct hg_bench_share {
    double bytes_per_s, flops_per_s;
    double of_read, of_fp32, of_matrix; /* of_matrix: NaN unless it runs on matrix units */
    double of_pass;
    double largest;
    const char *of; /* "read", "fp32", "matrix" */
} hg_bench_share;

hg_bench_share hg_bench_share_of(const hg_bench_machine *machine, const hg_bench_pass *pass,
                                 const hg_bench_kernel *kernel);

/* The resident set: before a model is loaded, and whenever it may have grown. */
void hg_bench_memory_start(hg_bench_machine *machine);
void hg_bench_memory_note(hg_bench_machine *machine);
uint64_t hg_bench_growth(const hg_bench_machine *machine);
/* The row of a device that takes the most of its memory; NULL: it has none. */
const hg_bench_row *hg_bench_largest(const hg_bench *bench, uint32_t machine);

hg_result hg_bench_table(const hg_bench *bench, hg_output *output);
hg_result hg_bench_kernel_table(const hg_bench *bench, hg_output *output);
/* The ways in which kernels ran, a paragraph for each device. */
void hg_bench_used(const hg_bench *bench, hg_output *output);
void hg_bench_json(const hg_bench *bench, hg_output *output);

#endif
