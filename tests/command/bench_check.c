/* SPDX-License-Identifier: MIT */
/*
 * bench_check FILE [FILE2]: checks what `headgate bench --format json` wrote. Every object has the
 * members of docs/json.md, of their types, and no others; figures that follow from others do. With
 * FILE2, of the same tests with --kernels, the kernels of a pass cost together what the row of FILE
 * says. Ends with 1 and a line for each thing that is wrong. No figure is asked to be fast.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

static void complain(const char *where, const char *what)
{
    fprintf(stderr, "bench_check: %s: %s\n", where, what);
    wrong++;
}

/* Types by letter: n number, N number or null, s text, S text or null, b boolean, a array, o
 * object; a word each, "name:type". */
static const char top_of_model[] = "schema:n kind:s model:s parameters:n weight_bytes:n "
                                   "weight_types:s seed:n rows:a passes:a memory:a variants:a "
                                   "ceilings:a provenance:o";
static const char top_alone[] = "schema:n kind:s ceilings:a";
#define TEST "test:s phase:s tokens:n depth:n maps:b "
#define MACHINE "selector:s device:s driver:s precision:s "
#define RATES "gbytes_per_s:n gflops_per_s:n share_of_read:N share_of_fp32:N share_of_matrix:N "
static const char row_members[] =
    TEST MACHINE RATES "median_tokens_per_s:n min_tokens_per_s:n max_tokens_per_s:n memory_bytes:n "
                       "flops:n maps_ratio:N min_maps_ratio:N max_maps_ratio:N device_bytes:n "
                       "planned_bytes:n times_ns:a";
static const char pass_members[] = TEST MACHINE "times_ns:a kernels_ns:n kernels:a";
static const char kernel_members[] =
    RATES "kernel:s tier:S type:S tiles:s shape:s calls:n median_ns:n min_ns:n max_ns:n "
          "memory_bytes:n flops:n share_of_pass:n";
static const char memory_members[] =
    "selector:s precision:s test:s device_bytes:n planned_bytes:n process_bytes:n";
static const char variant_members[] =
    "selector:s precision:s kernel:s tier:s type:s tiles:s threads:n dispatches:n";
static const char ceiling_members[] =
    MACHINE "buffer_bytes:n read_bytes_per_s:n copy_bytes_per_s:n flops_per_s:n "
            "exact_flops_per_s:n matrix_flops_per_s:N dispatch_ns:n submit_ns:n";

static int is_type(const cJSON *value, char type)
{
    switch (type) {
    case 'N':
        return cJSON_IsNull(value) || is_type(value, 'n');
    case 'n':
        return cJSON_IsNumber(value) && isfinite(value->valuedouble) && value->valuedouble >= 0;
    case 'S':
        return cJSON_IsNull(value) || cJSON_IsString(value);
    case 's':
        return cJSON_IsString(value);
    case 'b':
        return cJSON_IsBool(value);
    case 'a':
        return cJSON_IsArray(value);
    default:
        return cJSON_IsObject(value);
    }
}

static void check_members(const cJSON *object, const char *members, const char *where)
{
    int expected = 0;

    if (!cJSON_IsObject(object)) {
        complain(where, "no object");
        return;
    }
    while (*members) {
        const size_t name = strcspn(members, ":");
        char key[64], text[128];
        const cJSON *value;

        snprintf(key, sizeof(key), "%.*s", (int)name, members);
        value = cJSON_GetObjectItemCaseSensitive(object, key);
        if (!value || !is_type(value, members[name + 1])) {
            snprintf(text, sizeof(text), "%s %s", value ? "other type or range:" : "no", key);
            complain(where, text);
        }
        expected++;
        members += name + 2;
        members += strspn(members, " ");
    }
    if (cJSON_GetArraySize(object) != expected)
        complain(where, "members that are not in the list");
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsString(value) ? value->valuestring : "";
}

static const cJSON *list(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static void check(int holds, const char *where, const char *what)
{
    if (!holds)
        complain(where, what);
}

/* Sorted, none zero. */
static void check_times(const cJSON *times, const char *where)
{
    const cJSON *time;
    double before = 0;

    check(cJSON_GetArraySize(times) > 0, where, "no times");
    cJSON_ArrayForEach(time, times)
    {
        check(cJSON_IsNumber(time) && time->valuedouble > 0 && time->valuedouble >= before, where,
              "times are not sorted");
        before = cJSON_IsNumber(time) ? time->valuedouble : 0;
    }
}

/* "pp8+maps @ d16" says what the other members say. */
static void check_test(const cJSON *row, const char *where)
{
    const int decodes = strcmp(text_of(row, "phase"), "decode") == 0;
    const int maps = cJSON_IsTrue(list(row, "maps"));
    char name[64];
    int at = snprintf(name, sizeof(name), "%s%.0f%s", decodes ? "tg" : "pp", number(row, "tokens"),
                      maps ? "+maps" : "");

    if (number(row, "depth") > 0)
        snprintf(name + at, sizeof(name) - (size_t)at, " @ d%.0f", number(row, "depth"));
    check(strcmp(name, text_of(row, "test")) == 0, where, "name and members of the test differ");
    check(decodes || strcmp(text_of(row, "phase"), "prefill") == 0, where, "no such phase");
}

/* The ceiling of a row's device, NULL: not measured. */
static const cJSON *ceiling_of(const cJSON *top, const cJSON *row)
{
    const cJSON *ceiling;

    cJSON_ArrayForEach(ceiling, list(top, "ceilings"))
    {
        if (strcmp(text_of(ceiling, "selector"), text_of(row, "selector")) == 0 &&
            strcmp(text_of(ceiling, "precision"), text_of(row, "precision")) == 0)
            return ceiling;
    }
    return NULL;
}

static void check_shares(const cJSON *top, const cJSON *machine, const cJSON *rates,
                         const char *where)
{
    const cJSON *ceiling = ceiling_of(top, machine);
    const int is_exact = strcmp(text_of(machine, "precision"), "exact") == 0;

    if (!ceiling) {
        check(cJSON_IsNull(list(rates, "share_of_read")) &&
                  cJSON_IsNull(list(rates, "share_of_fp32")),
              where, "a share of what was not measured");
        return;
    }
    check(is_near(number(rates, "share_of_read") * number(ceiling, "read_bytes_per_s"),
                  number(rates, "gbytes_per_s") * 1e9),
          where, "share of reads");
    check(is_near(number(rates, "share_of_fp32") *
                      number(ceiling, is_exact ? "exact_flops_per_s" : "flops_per_s"),
                  number(rates, "gflops_per_s") * 1e9),
          where, "share of arithmetic");
}

static void check_row(const cJSON *top, const cJSON *row)
{
    const char *where = text_of(row, "test");
    const cJSON *times = list(row, "times_ns");
    const int count = cJSON_GetArraySize(times);
    const double tokens = number(row, "tokens"), median = number(row, "median_tokens_per_s");
    const int maps = cJSON_IsTrue(list(row, "maps"));

    check_members(row, row_members, where);
    check_test(row, where);
    check_times(times, where);
    if (count == 0)
        return;
    check(number(row, "min_tokens_per_s") <= median && median <= number(row, "max_tokens_per_s"),
          where, "the median is not between the ends");
    check(is_near(number(row, "max_tokens_per_s") * cJSON_GetArrayItem(times, 0)->valuedouble,
                  tokens * 1e9),
          where, "the fastest is not the shortest time's");
    check(is_near(number(row, "gflops_per_s") * tokens, number(row, "flops") * median / 1e9), where,
          "arithmetic per second");
    check(is_near(number(row, "gbytes_per_s") * tokens, number(row, "memory_bytes") * median / 1e9),
          where, "bytes per second");
    check(number(row, "flops") > tokens && number(row, "memory_bytes") > tokens, where, "no cost");
    check(maps == cJSON_IsNumber(list(row, "maps_ratio")), where, "ratio of maps");
    check(!maps || (number(row, "min_maps_ratio") <= number(row, "maps_ratio") &&
                    number(row, "maps_ratio") <= number(row, "max_maps_ratio")),
          where, "ratios of maps are not in order");
    check(number(row, "device_bytes") > 0 && number(row, "planned_bytes") > 0, where, "no memory");
    check_shares(top, row, row, where);
}

/* The times of kernels are those of the pass, and their rates follow from them. */
static void check_pass(const cJSON *top, const cJSON *pass)
{
    const char *where = text_of(pass, "test");
    const cJSON *kernel;
    double sum = 0, products = 0;

    check_members(pass, pass_members, where);
    check_test(pass, where);
    check_times(list(pass, "times_ns"), where);
    cJSON_ArrayForEach(kernel, list(pass, "kernels"))
    {
        const char *name = text_of(kernel, "kernel");
        const double ns = number(kernel, "share_of_pass") * number(pass, "kernels_ns");
        const int is_moved = strcmp(name, "copy") == 0 || strcmp(name, "fill") == 0;

        check_members(kernel, kernel_members, name);
        sum += number(kernel, "share_of_pass");
        products += strncmp(name, "mat", 3) == 0;
        check(number(kernel, "min_ns") <= number(kernel, "median_ns") &&
                  number(kernel, "median_ns") <= number(kernel, "max_ns"),
              name, "times are not in order");
        check(number(kernel, "calls") >= 1, name, "no call");
        check(cJSON_IsNull(list(kernel, "tier")) == is_moved, name, "tier");
        check(strchr(text_of(kernel, "shape"), '=') != NULL, name, "no shape");
        check(is_near(number(kernel, "gflops_per_s") * ns, number(kernel, "flops")), name,
              "time and arithmetic disagree");
        check(is_near(number(kernel, "gbytes_per_s") * ns, number(kernel, "memory_bytes")), name,
              "time and bytes disagree");
        check_shares(top, pass, kernel, name);
    }
    check(is_near(sum, 1), where, "shares of the pass do not add up");
    check(products >= 2, where, "no products");
}

static void check_ceiling(const cJSON *ceiling)
{
    const char *where = text_of(ceiling, "selector");

    check_members(ceiling, ceiling_members, where);
    check(number(ceiling, "buffer_bytes") >= 1 << 20, where, "a buffer that fits a cache");
    check(number(ceiling, "read_bytes_per_s") > 0 && number(ceiling, "copy_bytes_per_s") > 0, where,
          "no memory");
    check(number(ceiling, "exact_flops_per_s") > 0 &&
              number(ceiling, "flops_per_s") >= number(ceiling, "exact_flops_per_s"),
          where, "arithmetic");
    check(number(ceiling, "submit_ns") > 0, where, "no submit");
}

static void check_memory(const cJSON *top, const cJSON *memory)
{
    const cJSON *row;
    int found = 0;

    check_members(memory, memory_members, "memory");
    cJSON_ArrayForEach(row, list(top, "rows")) found +=
        strcmp(text_of(row, "test"), text_of(memory, "test")) == 0 &&
        number(row, "device_bytes") == number(memory, "device_bytes");
    check(found > 0, "memory", "of no row");
}

static void check_file(const cJSON *top)
{
    const int has_model = cJSON_HasObjectItem(top, "model");
    const cJSON *item;

    check_members(top, has_model ? top_of_model : top_alone, "the file");
    check(strcmp(text_of(top, "kind"), "bench") == 0 && number(top, "schema") == 1, "the file",
          "no bench");
    cJSON_ArrayForEach(item, list(top, "rows")) check_row(top, item);
    cJSON_ArrayForEach(item, list(top, "passes")) check_pass(top, item);
    cJSON_ArrayForEach(item, list(top, "memory")) check_memory(top, item);
    cJSON_ArrayForEach(item, list(top, "ceilings")) check_ceiling(item);
    cJSON_ArrayForEach(item, list(top, "variants"))
    {
        check_members(item, variant_members, "variants");
        check(text_of(item, "tier")[0] == 'T' && number(item, "dispatches") > 0, "variants",
              "no tier, or it did not run");
        check(strncmp(text_of(item, "kernel"), "ceiling", 7) != 0, "variants", "not the model's");
    }
    check(!has_model || cJSON_GetArraySize(list(top, "variants")) > 5, "variants", "few");
}

/* What is counted for a row and what its kernels cost are one sum. */
static void compare(const cJSON *top, const cJSON *kernels)
{
    const cJSON *row, *pass, *kernel;
    int compared = 0;

    cJSON_ArrayForEach(row, list(top, "rows")) cJSON_ArrayForEach(pass, list(kernels, "passes"))
    {
        double flops = 0, bytes = 0;

        if (strcmp(text_of(row, "test"), text_of(pass, "test")) != 0 ||
            strcmp(text_of(row, "selector"), text_of(pass, "selector")) != 0 ||
            strcmp(text_of(row, "precision"), text_of(pass, "precision")) != 0)
            continue;
        cJSON_ArrayForEach(kernel, list(pass, "kernels"))
        {
            flops += number(kernel, "flops");
            bytes += number(kernel, "memory_bytes");
        }
        check(is_near(flops, number(row, "flops")), text_of(row, "test"),
              "arithmetic of the kernels is not that of the row");
        check(is_near(bytes, number(row, "memory_bytes")), text_of(row, "test"),
              "bytes of the kernels are not those of the row");
        compared++;
    }
    check(compared > 0 && compared == cJSON_GetArraySize(list(kernels, "passes")), "both files",
          "tests differ");
}

static cJSON *read_json(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 20, used = 0;
    char *text = malloc(room);
    cJSON *top = NULL;

    if (file && text) {
        used = fread(text, 1, room - 1, file);
        text[used] = '\0';
        top = cJSON_Parse(text);
    }
    if (file)
        fclose(file);
    free(text);
    if (!top)
        complain(path, "no JSON");
    return top;
}

int main(int argc, char **argv)
{
    cJSON *top = argc > 1 ? read_json(argv[1]) : NULL;
    cJSON *kernels = argc > 2 ? read_json(argv[2]) : NULL;

    if (!top || (argc > 2 && !kernels))
        return 1;
    check_file(top);
    if (kernels) {
        check_file(kernels);
        compare(top, kernels);
    }
    cJSON_Delete(top);
    cJSON_Delete(kernels);
    return wrong > 0;
}
