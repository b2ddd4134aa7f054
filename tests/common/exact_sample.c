/* SPDX-License-Identifier: MIT */
#include "exact_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const exact_sample_names[EXACT_SAMPLES] = {"baseline", "gate_elementwise",
                                                       "gate_headwise"};

static int read_ids(const char *text, exact_sample *out)
{
    char *end;

    for (out->count = 0; out->count < EXACT_IDS_MAX; text = end + 1) {
        out->ids[out->count++] = (int32_t)strtol(text, &end, 10);
        if (*end != ',')
            return *end == '\0' && end != text;
    }
    return 0;
}

int exact_sample_read(const char *name, exact_sample *out)
{
    FILE *file = fopen(HG_TEST_SAMPLES_DIR "/exact-hashes.txt", "r");
    char line[2048];
    int found = 0;

    while (file && !found && fgets(line, sizeof(line), file)) {
        char ids[1024];
        char label[64];

        found = sscanf(line, HG_EXACT_REVISION " %*64s %1023s %*64s %*64s %64s %63s", ids, out->all,
                       label) == 3 &&
                strcmp(label, name) == 0 && read_ids(ids, out);
    }
    out->name = name;
    if (file)
        (void)fclose(file);
    return found;
}

static hg_result hash_session(hg_model *model, const exact_sample *sample, uint32_t piece,
                              uint32_t step, char all[HG_SHA256_TEXT])
{
    const hg_session_params params = {.struct_size = sizeof(params),
                                      .max_tokens = sample->count,
                                      .piece_tokens = piece,
                                      .capture = HG_CAPTURE_ATTENTION,
                                      .logits = HG_LOGITS_ALL};
    hg_app app = {.args = NULL};
    hg_model_info info = {.struct_size = sizeof(info)};
    hg_exact_hash hash = {.layers = NULL};
    hg_session *session = NULL;
    hg_result res;

    hg_meter_start(&app.meter);
    hg_model_describe(model, &info);
    HG_TRY(hg_session_create(model, &params, &session));
    for (uint32_t at = 0; at < sample->count;) {
        const uint32_t left = sample->count - at;
        const uint32_t count = step && step < left ? step : left;

        HG_TRY(hg_session_eval(session, sample->ids + at, count));
        at += count;
    }
    HG_TRY(hg_exact_hash_make(&app, &info, session, &hash));
    memcpy(all, hash.all, HG_SHA256_TEXT);
out:
    hg_exact_hash_free(&hash);
    hg_session_free(&session);
    return res;
}

hg_result exact_sample_hash(hg_engine *engine, const exact_sample *sample, uint32_t piece,
                            uint32_t step, char all[HG_SHA256_TEXT])
{
    char path[1024];
    const hg_checkpoint_params params = {.struct_size = sizeof(params), .path = path};
    hg_checkpoint *checkpoint = NULL;
    hg_model *model = NULL;
    hg_result res;

    (void)snprintf(path, sizeof(path), HG_TEST_SAMPLES_DIR "/%s", sample->name);
    HG_TRY(hg_checkpoint_open(&params, &checkpoint));
    HG_TRY(hg_model_load(engine, checkpoint, NULL, &model));
    HG_TRY(hash_session(model, sample, piece, step, all));
out:
    hg_model_free(&model);
    hg_checkpoint_close(&checkpoint);
    return res;
}
