/* SPDX-License-Identifier: MIT */
/* headgate demo: the three sample models, drawn one by one and side by side. */
#include "commands.h"

#include "interrupt.h"
#include "message.h"
#include "picture.h"
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_COUNT = 3, FORMAT_COUNT = 3, TEXT_SIZE = 2048 };

static const char *const model_names[MODEL_COUNT] = {"baseline", "gate_elementwise",
                                                     "gate_headwise"};
static const char *const endings[FORMAT_COUNT] = {"png", "svg",
                                                  "pdf"}; /* in the order of hg_figure_format */
static const char about_samples[] =
    "Sample models trained for this demo, far smaller than the published ones.";

typedef struct demo_model {
    char folder[HG_PATH_SIZE];
    hg_source source;
    hg_prompt prompt;
    hg_maps maps;
    hg_weights_digest *digest;
    hg_provenance provenance;
    hg_figure_panel *panels;
    hg_panel_text *texts;
} demo_model;

typedef struct demo_job {
    char samples[HG_PATH_SIZE];
    const char *folder;
    hg_machine machine;
    hg_output *output;
    demo_model models[MODEL_COUNT];
} demo_job;

static hg_result write_figure(demo_job *job, hg_figure *figure, const char *name)
{
    char path[HG_PATH_SIZE + HG_NAME_SIZE + 64];
    hg_result res = HG_OK;

    for (uint32_t i = 0; i < FORMAT_COUNT; i++) {
        snprintf(path, sizeof(path), "%s/%s.%s", job->folder, name, endings[i]);
        HG_TRY(hg_output_open(path, &job->output));
        HG_TRY(hg_picture_write(figure, (hg_figure_format)i, job->output));
        HG_TRY(hg_output_commit(&job->output));
    }
out:
    hg_output_discard(&job->output);
    return res;
}

static double mean_share(const hg_maps *maps)
{
    double sum = 0;

    for (uint32_t i = 0; i < maps->layers.count; i++)
        sum += hg_maps_shares(maps, i, 0)[0];
    return sum / maps->layers.count;
}

static hg_result open_model(hg_app *app, demo_job *job, demo_model *model, const char *name)
{
    const hg_args *args = app->args;
    int has_prompt = hg_args_count(args, HG_OPTION_PROMPT) ||
                     hg_args_count(args, HG_OPTION_PROMPT_FILE) ||
                     hg_args_count(args, HG_OPTION_IDS);
    hg_result res;

    if (snprintf(model->folder, sizeof(model->folder), "%s/%s", job->samples, name) >=
        (int)sizeof(model->folder))
        return hg_message_fail(HG_ERR_FILE, "%s: the name of the folder is too long", job->samples);
    HG_TRY(hg_source_open(app, model->folder, &model->source));
    model->source.spelling = model->source.name; /* "baseline", wherever the samples are */
    HG_TRY(hg_layers_choose(args, &model->source.info, 1, &model->maps.layers));
    HG_TRY(hg_heads_choose(args, &model->source.info, &model->maps.heads));
    HG_TRY(hg_prompt_read(app, &model->source, has_prompt ? NULL : hg_demo_prompt, &model->prompt));
    HG_TRY(hg_weights_digest_start(app, model->source.checkpoint, &model->digest));
out:
    return res;
}

static hg_result read_model(hg_app *app, demo_job *job, demo_model *model)
{
    hg_wish wish = {.capture = HG_CAPTURE_ATTENTION | HG_CAPTURE_GATES,
                    .layers = model->maps.layers.layers,
                    .layer_count = model->maps.layers.count};
    uint32_t count = model->maps.layers.count;
    hg_evaluation evaluation = {NULL, NULL};
    hg_result res;

    app->meter.title = model->source.name;
    HG_TRY(hg_evaluate(app, &job->machine, &model->source, &model->prompt, &wish, &evaluation));
    model->maps.keep_cells = 1;
    model->maps.pool = hg_maps_pool(model->prompt.count, count);
    HG_TRY(hg_maps_read(app, &model->source, evaluation.session, &model->maps));
    HG_TRY(hg_provenance_fill(app, &model->source, &job->machine, &model->prompt, model->digest,
                              &model->provenance));
    model->panels = calloc(count, sizeof(*model->panels));
    model->texts = calloc(count, sizeof(*model->texts));
    if (!model->panels || !model->texts) {
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
        goto out;
    }
    hg_maps_panels(&model->maps, model->prompt.labels, 0, model->panels, model->texts);
out:
    app->meter.title = NULL;
    hg_evaluation_free(&evaluation);
    return res;
}

static hg_result draw_model(hg_app *app, demo_job *job, demo_model *model)
{
    char title[HG_NAME_SIZE + 64], name[HG_NAME_SIZE + 64], footer[TEXT_SIZE], shown[160];
    hg_picture picture = {.provenance = &model->provenance,
                          .panels = model->panels,
                          .panel_count = model->maps.layers.count,
                          .layout = HG_FIGURE_PANELS,
                          .subtitle = about_samples};
    hg_figure *figure = NULL;
    hg_result res;

    snprintf(title, sizeof(title), "%s: attention probabilities, mean over heads",
             model->source.name);
    snprintf(name, sizeof(name), "%s_selected_layer_attention_maps", model->source.name);
    hg_prompt_show(&model->prompt, shown, sizeof(shown));
    snprintf(footer, sizeof(footer), "prompt: %s\n", shown);
    hg_provenance_footer(&model->provenance, footer + strlen(footer),
                         sizeof(footer) - strlen(footer));
    picture.title = title;
    picture.footer = footer;
    HG_TRY(hg_picture_create(app, &picture, &figure));
    HG_TRY(write_figure(job, figure, name));
out:
    hg_figure_destroy(&figure);
    return res;
}

/* Models are rows, layers are columns; a model with fewer layers leaves places empty. */
static hg_result draw_overview(hg_app *app, demo_job *job)
{
    const char *titles[MODEL_COUNT];
    char footer[TEXT_SIZE], shown[160], sums[MODEL_COUNT * (HG_SHA256_TEXT + HG_NAME_SIZE)] = "";
    hg_provenance provenance = job->models[0].provenance;
    hg_picture picture = {.provenance = &provenance,
                          .layout = HG_FIGURE_GRID,
                          .columns = 1,
                          .title = "Attention probabilities of the sample models, mean over heads",
                          .subtitle = about_samples};
    hg_figure_panel *panels = NULL;
    hg_figure *figure = NULL;
    hg_result res;

    for (uint32_t i = 0; i < MODEL_COUNT; i++)
        if (job->models[i].maps.layers.count > picture.columns)
            picture.columns = job->models[i].maps.layers.count;
    picture.panel_count = MODEL_COUNT * picture.columns;
    panels = calloc(picture.panel_count, sizeof(*panels));
    if (!panels)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < MODEL_COUNT; i++) {
        const demo_model *model = &job->models[i];
        size_t length = strlen(sums);

        titles[i] = model->source.name;
        memcpy(panels + (size_t)i * picture.columns, model->panels,
               model->maps.layers.count * sizeof(*panels));
        snprintf(sums + length, sizeof(sums) - length, "%s%s %s", length ? ", " : "",
                 model->provenance.weights_sha256, model->source.name);
    }
    provenance.model = "baseline, gate_elementwise, gate_headwise";
    provenance.weights_sha256 = sums;
    hg_prompt_show(&job->models[0].prompt, shown, sizeof(shown));
    snprintf(footer, sizeof(footer), "prompt: %s\nheadgate %s, %s on %s (%s)", shown,
             HG_VERSION_STRING, provenance.precision, provenance.device, provenance.driver);
    picture.panels = panels;
    picture.row_titles = titles;
    picture.footer = footer;
    HG_TRY(hg_picture_create(app, &picture, &figure));
    HG_TRY(write_figure(job, figure, "overview"));
out:
    hg_figure_destroy(&figure);
    free(panels);
    return res;
}

static hg_result report(demo_job *job)
{
    hg_result res;

    HG_TRY(hg_output_open("-", &job->output));
    HG_TRY(hg_output_text(job->output,
                          "MODEL             F  UNIFORM  PICTURE (.svg and .pdf beside it)\n"));
    for (uint32_t i = 0; i < MODEL_COUNT; i++) {
        const demo_model *model = &job->models[i];

        HG_TRY(hg_output_format(job->output,
                                "%-16s %.2f  %.2f  %s/%s_selected_layer_attention_maps.png\n",
                                model->source.name, mean_share(&model->maps),
                                model->maps.uniform[0], job->folder, model->source.name));
    }
    HG_TRY(hg_output_format(job->output, "all three                    %s/overview.png\n",
                            job->folder));
    HG_TRY(hg_output_text(
        job->output,
        "\nF is the mean share of attention on the first token; uniform attention would give the "
        "number\nbeside it. These are small sample models trained for this demo.\n"));
    HG_TRY(hg_output_commit(&job->output));
out:
    hg_output_discard(&job->output);
    return res;
}

static hg_result make(hg_app *app, demo_job *job)
{
    const char *folder = hg_args_value(app->args, HG_OPTION_OUTPUT_FOLDER);
    hg_machine_choice choice;
    hg_result res;

    job->folder = folder ? folder : ".";
    HG_TRY(hg_machine_choose(app->args, NULL, &choice));
    HG_TRY(hg_samples_find(app->args, job->samples));
    for (uint32_t i = 0; i < MODEL_COUNT; i++)
        HG_TRY(open_model(app, job, &job->models[i], model_names[i]));
    HG_TRY(hg_output_make_folder(job->folder));
    HG_TRY(hg_machine_open(app, &choice, &job->machine));
    for (uint32_t i = 0; i < MODEL_COUNT; i++) {
        HG_TRY(read_model(app, job, &job->models[i]));
        HG_TRY(draw_model(app, job, &job->models[i]));
        HG_TRY(hg_interrupt_check());
    }
    HG_TRY(draw_overview(app, job));
    HG_TRY(report(job));
out:
    return res;
}

static int run(hg_app *app)
{
    demo_job *job = calloc(1, sizeof(*job));
    int code;

    if (!job)
        return hg_exit_code(hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory"));
    code = hg_exit_code(make(app, job));
    hg_output_discard(&job->output);
    for (uint32_t i = 0; i < MODEL_COUNT; i++) {
        demo_model *model = &job->models[i];

        free(model->texts);
        free(model->panels);
        hg_weights_digest_free(&model->digest);
        hg_maps_free(&model->maps);
        hg_prompt_free(&model->prompt);
        hg_source_close(&model->source);
    }
    if (code == 0 && hg_machine_complained(&job->machine))
        code = 1;
    hg_machine_close(&job->machine);
    free(job);
    return code;
}

static const hg_option_id options[] = {
    HG_OPTION_PROMPT,   HG_OPTION_PROMPT_FILE, HG_OPTION_NO_SPECIAL, HG_OPTION_OUTPUT_FOLDER,
    HG_OPTION_SAMPLES,  HG_OPTION_DEVICE,      HG_OPTION_PRECISION,  HG_OPTION_EXACT,
    HG_OPTION_LIMITS,   HG_OPTION_REPACK,      HG_OPTION_TUNE,       HG_OPTION_THREADS,
    HG_OPTION_VALIDATE, HG_OPTION_END,
};

const hg_command hg_command_demo = {
    .name = "demo",
    .operands = "",
    .summary = "draw the attention of three small sample models; needs nothing else",
    .about =
        "Draws four layers of each sample model (baseline, gate_elementwise, gate_headwise) as "
        "NAME_selected_layer_attention_maps.png, .svg and .pdf, and the three side by side as "
        "overview.*. The "
        "default prompt is 'Sparse gating mechanism mitigates attention sink.'",
    .examples = "headgate demo -o demo\n"
                "headgate demo --prompt 'In the beginning was the Word' --device cl:0 -o demo",
    .options = options,
    .run = run,
};
