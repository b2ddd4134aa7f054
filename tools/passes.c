/* SPDX-License-Identifier: MIT */
/* See passes.h. */
#include "passes.h"

#include "interrupt.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* Far more than fills a piece of the library (512), far less than a device's memory. */
enum { PASS_TOKENS = 2048 };

/* Tokens of the pass as tokens of the whole run. */
static int step(void *user, const char *what, uint64_t done, uint64_t total)
{
    const hg_passes *p = user;
    hg_meter *meter = &p->app->meter;

    if (strcmp(what, "tokens") != 0)
        return hg_meter_step(meter, what, done, total);
    return hg_meter_step(meter, what, p->done_tokens + done, p->prompts->tokens);
}

static hg_result open_session(hg_passes *p, const hg_wish *wish)
{
    const hg_prompts *prompts = p->prompts;
    const uint32_t wanted = prompts->longest > PASS_TOKENS  ? prompts->longest
                            : prompts->tokens < PASS_TOKENS ? (uint32_t)prompts->tokens
                                                            : PASS_TOKENS;
    const hg_session_params params = {.struct_size = sizeof(params),
                                      .sequences = prompts->count,
                                      .capture = wish->capture,
                                      .layers = wish->layers,
                                      .layer_count = wish->layer_count,
                                      .logits = wish->logits,
                                      .progress = {step, p},
                                      .log = p->app->log};
    hg_session_params sized = params;

    p->room = hg_batch_room(p->evaluation.model, &params, wanted);
    /* What a prompt alone would need is tried in any case: the session says what is missing. */
    p->room = p->room > prompts->longest ? p->room : prompts->longest;
    sized.max_tokens = p->room;
    return hg_session_create(p->evaluation.model, &sized, &p->evaluation.session);
}

hg_result hg_passes_open(hg_app *app, const hg_machine *machine, const hg_source *source,
                         const hg_prompts *prompts, const hg_wish *wish, hg_passes *out)
{
    hg_model_params model = {
        .struct_size = sizeof(model), .progress = app->progress, .log = app->log};
    hg_result res;

    memset(out, 0, sizeof(*out));
    out->app = app;
    out->prompts = prompts;
    HG_TRY(hg_repack_choose(app->args, &model));
    HG_TRY(hg_model_load(machine->engine, source->checkpoint, &model, &out->evaluation.model));
    HG_TRY(hg_interrupt_check());
    HG_TRY(open_session(out, wish));
    out->ids = malloc((size_t)out->room * sizeof(*out->ids));
    out->counts = malloc((size_t)prompts->count * sizeof(*out->counts));
    if (!out->ids || !out->counts)
        res = hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    for (uint32_t i = 0; i < prompts->count && res == HG_OK; i++)
        out->counts[i] = prompts->rows[i].prompt.count;
out:
    hg_meter_stop(&app->meter);
    if (res != HG_OK)
        hg_passes_free(out);
    return res;
}

hg_result hg_passes_next(hg_passes *p)
{
    uint32_t tokens = 0, offered = 0, taken = 0;
    hg_result res;

    for (uint32_t i = 0; i < p->count; i++)
        p->done_tokens += p->counts[p->first + i];
    p->first += p->count;
    p->count = 0;
    for (uint32_t i = p->first; i < p->prompts->count && p->counts[i] <= p->room - tokens; i++) {
        memcpy(p->ids + tokens, p->prompts->rows[i].prompt.ids, p->counts[i] * sizeof(*p->ids));
        tokens += p->counts[i];
        offered++;
    }
    if (offered == 0)
        return HG_OK;
    res = hg_batch_eval(p->evaluation.session, p->ids, p->counts + p->first, offered, &taken);
    p->count = taken;
    if (res == HG_OK)
        res = hg_interrupt_check();
    hg_meter_stop(&p->app->meter);
    return res;
}

void hg_passes_free(hg_passes *passes)
{
    hg_evaluation_free(&passes->evaluation);
    free(passes->ids);
    free(passes->counts);
    memset(passes, 0, sizeof(*passes));
}
