/* SPDX-License-Identifier: MIT */
/* The wrapper around the reference backend. See faults.h. */
#include "faults.h"

#include <string.h>

static struct {
    hg_backend backend;
    const hg_fault *fault;
    int32_t layer;
    int32_t now;       /* layer of the operation that is being recorded */
    int32_t now_map;   /* the same for attention maps */
    const char *stage; /* of it */
    uint32_t in_list;  /* dispatches so far */
    hg_variant variant, seen_variant;
    hg_pipe pipe, seen_pipe;
    void (*truth)(const hg_text_call *call);
    void (*seen_truth)(const hg_text_call *call);
} self;

/* The backend hands slices of the grid to threads; the first does all the work, so that a fault
 * sees the whole call. */
static void faulty(const hg_text_call *call)
{
    hg_text_call whole = *call;

    if (call->group_begin != 0)
        return;
    whole.group_end = call->groups[0] * call->groups[1] * call->groups[2];
    self.fault->run(&whole, self.truth);
}

static void seeing(const hg_text_call *call)
{
    hg_text_call whole = *call;

    if (call->group_begin != 0)
        return;
    whole.group_end = call->groups[0] * call->groups[1] * call->groups[2];
    self.seen_truth(&whole);
    self.fault->see(&whole);
}

static hg_result begin(hg_dev *dev, void *foreign_cmd, hg_list **out)
{
    self.in_list = 0;
    return hg_backend_reference.begin(dev, foreign_cmd, out);
}

static void mark(hg_list *list, const char *label, uint32_t slot)
{
    if (label) {
        if (strcmp(label, "embedding") == 0)
            self.now = self.now_map = -1;
        if (strcmp(label, "attn_norm") == 0)
            self.now++;
        if (strcmp(label, "attn_probs") == 0)
            self.now_map++;
        self.stage = label;
    }
    hg_backend_reference.mark(list, label, slot);
}

static int is_seen(void)
{
    return self.fault && self.fault->see && self.layer >= 0 && self.stage &&
           strcmp(self.stage, self.fault->stage) == 0;
}

static int is_meant(const hg_pipe *pipe)
{
    const hg_fault *fault = self.fault;
    const char *kernel = hg_kernels[pipe->variant->kernel].name;
    const int32_t now =
        self.stage && strcmp(self.stage, "attn_probs") == 0 ? self.now_map : self.now;

    if (!fault || !fault->run)
        return 0;
    if (self.layer < 0)
        return fault->kernel && strcmp(kernel, fault->kernel) == 0;
    /* A fault that only shows in company needs a list with others in it. */
    if (!fault->kernel && self.in_list < 2)
        return 0;
    /* The untapped page has stages of the same name that other kernels make. */
    return self.stage && strcmp(self.stage, fault->stage) == 0 &&
           (!fault->kernel || strcmp(kernel, fault->kernel) == 0) &&
           (fault->is_once || now == self.layer);
}

static void dispatch(hg_list *list, hg_pipe *pipe, const void *params, const hg_bind *binds,
                     uint32_t bind_count, const uint32_t groups[3])
{
    self.in_list++;
    if (is_meant(pipe)) {
        self.truth = pipe->variant->text;
        self.variant = *pipe->variant;
        self.variant.text = faulty;
        self.pipe = *pipe;
        self.pipe.variant = &self.variant;
        pipe = &self.pipe;
    } else if (is_seen()) {
        self.seen_truth = pipe->variant->text;
        self.seen_variant = *pipe->variant;
        self.seen_variant.text = seeing;
        self.seen_pipe = *pipe;
        self.seen_pipe.variant = &self.seen_variant;
        pipe = &self.seen_pipe;
    }
    hg_backend_reference.dispatch(list, pipe, params, binds, bind_count, groups);
}

void hg_fault_install(hg_engine *engine, const hg_fault *fault, int32_t layer)
{
    self.backend = hg_backend_reference;
    self.backend.begin = begin;
    self.backend.mark = mark;
    self.backend.dispatch = dispatch;
    self.fault = fault;
    self.layer = layer;
    self.now = self.now_map = -1;
    self.stage = NULL;
    engine->backend = &self.backend;
}
