/* SPDX-License-Identifier: MIT */
/* Model and session for one prompt. */
#include "evaluate.h"

#include "interrupt.h"

#include <string.h>

hg_result hg_repack_choose(const hg_args *args, hg_model_params *params)
{
    static const char *const names[] = {
        [HG_REPACK_AUTO] = "auto", [HG_REPACK_NEVER] = "never", [HG_REPACK_ALWAYS] = "always"};
    uint32_t choice = HG_REPACK_AUTO;
    hg_result res = hg_args_choice(args, HG_OPTION_REPACK, names, 3, &choice);

    params->repack = (hg_repack)choice;
    return res;
}

hg_result hg_evaluate(hg_app *app, const hg_machine *machine, const hg_source *source,
                      const hg_prompt *prompt, const hg_wish *wish, hg_evaluation *out)
{
    hg_model_params model = {
        .struct_size = sizeof(model), .progress = app->progress, .log = app->log};
    hg_session_params session = {.struct_size = sizeof(session)};
    hg_result res;

    memset(out, 0, sizeof(*out));
    HG_TRY(hg_repack_choose(app->args, &model));
    model.expected_tokens = prompt->count;
    HG_TRY(hg_model_load(machine->engine, source->checkpoint, &model, &out->model));
    HG_TRY(hg_interrupt_check());
    session.max_tokens = prompt->count;
    session.capture = wish->capture;
    session.layers = wish->layers;
    session.layer_count = wish->layer_count;
    session.logits = wish->logits;
    session.progress = app->progress;
    session.log = app->log;
    HG_TRY(hg_session_create(out->model, &session, &out->session));
    HG_TRY(hg_session_eval(out->session, prompt->ids, prompt->count));
    HG_TRY(hg_interrupt_check());
out:
    hg_meter_stop(&app->meter);
    if (res != HG_OK)
        hg_evaluation_free(out);
    return res;
}

void hg_evaluation_free(hg_evaluation *evaluation)
{
    hg_session_free(&evaluation->session);
    hg_model_free(&evaluation->model);
}
