/* SPDX-License-Identifier: MIT */
/*
 * Reads a case: the description, the expected tensors and the ids. Nothing here is judged.
 */
#include "golden.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The samples have no case.json. As in the cases, eight times the distance of a plain float32
 * run: 1.6e-6 in an attention probability (tools/samples/measured.json), 4.8e-7 in a gate
 * and 9.2e-7 of a row (measured with the reference's text column, which is float32 in another
 * order). */
static const hg_golden_tolerance sample_tolerance = {
    .attentions = 1.3e-5, .gates = 4e-6, .logits = 7.4e-6, .hidden = 7.4e-6, .residual = 7.4e-6};

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int read_tensors(hg_golden_case *golden, const char *path)
{
    char name[32];
    uint32_t shape[4];
    golden->expected = hg_test_tensors_read(path);
    if (!golden->expected) {
        return 0;
    }
    golden->tokens = (uint32_t)hg_test_tensors_count(golden->expected, "input_ids", NULL);
    golden->ids = hg_test_tensors_i32(golden->expected, "input_ids");
    golden->steps = (uint32_t)hg_test_tensors_count(golden->expected, "generated_ids", NULL);
    golden->generated = hg_test_tensors_i32(golden->expected, "generated_ids");
    for (golden->layers = 0;; golden->layers++) {
        (void)snprintf(name, sizeof name, "attentions.%u", golden->layers);
        if (hg_test_tensors_count(golden->expected, name, shape) == 0) {
            break;
        }
    }
    return golden->tokens > 0 && golden->ids && golden->layers > 0 &&
           (golden->steps == 0 || golden->generated);
}

int hg_golden_case_read(hg_golden_case *golden, const char *path)
{
    char file[320];
    char *text = NULL;
    cJSON *json = NULL;
    int good = 0;
    const char *slash = strrchr(path, '/');
    memset(golden, 0, sizeof *golden);
    (void)snprintf(golden->name, sizeof golden->name, "%s", slash ? slash + 1 : path);
    (void)snprintf(golden->path, sizeof golden->path, "%s", path);
    (void)snprintf(file, sizeof file, "%s/case.json", path);
    text = hg_test_file_read(file, NULL);
    json = text ? cJSON_Parse(text) : NULL;
    if (json) {
        const cJSON *tolerance = get(json, "tolerance");
        golden->tolerance = (hg_golden_tolerance){
            .attentions = cJSON_GetNumberValue(get(tolerance, "attentions")),
            .gates = get(tolerance, "gate_scores")
                         ? cJSON_GetNumberValue(get(tolerance, "gate_scores"))
                         : 0,
            .logits = cJSON_GetNumberValue(get(tolerance, "logits")),
            .hidden = cJSON_GetNumberValue(get(tolerance, "hidden_states")),
            .residual = cJSON_GetNumberValue(get(tolerance, "final_residual")),
            .step_logits = get(tolerance, "step_logits")
                               ? cJSON_GetNumberValue(get(tolerance, "step_logits"))
                               : 0};
        /* A formula exists where the weights were constructed, and those have channel 2 at 16384.
         */
        golden->blind_channel = get(json, "closed_form") ? 2 : UINT32_MAX;
        (void)snprintf(file, sizeof file, "%s/expected.safetensors", path);
        good = read_tensors(golden, file);
        if (good && get(json, "closed_form")) {
            (void)snprintf(file, sizeof file, "%s/closed_form.safetensors", path);
            golden->closed_form = hg_test_tensors_read(file);
            good = golden->closed_form != NULL;
        }
    }
    if (!good) {
        (void)fprintf(stderr, "%s: case.json or the expected tensors are missing or broken\n",
                      path);
        hg_golden_case_free(golden);
    }
    cJSON_Delete(json);
    free(text);
    return good;
}

int hg_golden_sample_read(hg_golden_case *golden, const char *model, const char *expected,
                          const char *name)
{
    memset(golden, 0, sizeof *golden);
    (void)snprintf(golden->name, sizeof golden->name, "%s", name);
    (void)snprintf(golden->path, sizeof golden->path, "%s", model);
    golden->tolerance = sample_tolerance;
    golden->blind_channel = UINT32_MAX;
    if (!read_tensors(golden, expected)) {
        (void)fprintf(stderr, "%s: missing or broken\n", expected);
        hg_golden_case_free(golden);
        return 0;
    }
    return 1;
}

void hg_golden_case_free(hg_golden_case *golden)
{
    hg_test_tensors_free(golden->expected);
    hg_test_tensors_free(golden->closed_form);
    free(golden->ids);
    free(golden->generated);
    memset(golden, 0, sizeof *golden);
}
