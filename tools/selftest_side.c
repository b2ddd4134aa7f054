/* SPDX-License-Identifier: MIT */
/* A child tells row by row; the parent believes nothing but sizes and terminated strings. */
#include "selftest_side.h"

#include "child.h"
#include "device_list.h"
#include "interrupt.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same program on both ends: structs travel as they are. */
typedef struct wire_row {
    uint32_t verdict, replays, within_bound, exact_only;
    char kernel[32], tier[8], dtype[8], shape[64], detail[256];
} wire_row;

typedef struct wire_step {
    char kernel[32];
    uint64_t done, total;
} wire_step;

typedef struct wire_end {
    int32_t result;
    uint32_t complaints;
    char error[400];
} wire_end;

/* ---- in the child ---- */

typedef struct child_job {
    const hg_selftest_job *job;
    const hg_selftest_side *side;
    int fd;
    int broken; /* nobody reads any more */
} child_job;

static void tell(child_job *c, const char tag[4], const void *payload, size_t bytes)
{
    if (hg_frame_write(c->fd, tag, payload, bytes) != HG_OK)
        c->broken = 1;
}

static void send_row(void *user, const hg_selftest_row *row)
{
    wire_row wire = {.verdict = (uint32_t)row->verdict,
                     .replays = row->replays,
                     .within_bound = row->within_bound,
                     .exact_only = row->exact_only};

    snprintf(wire.kernel, sizeof(wire.kernel), "%s", row->kernel);
    snprintf(wire.tier, sizeof(wire.tier), "%s", row->tier);
    snprintf(wire.dtype, sizeof(wire.dtype), "%s", row->dtype);
    snprintf(wire.shape, sizeof(wire.shape), "%s", row->shape);
    snprintf(wire.detail, sizeof(wire.detail), "%s", row->detail);
    tell(user, "ROWS", &wire, sizeof(wire));
}

static int send_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    child_job *c = user;
    wire_step wire = {.done = done, .total = total};

    snprintf(wire.kernel, sizeof(wire.kernel), "%s", what);
    tell(c, "STEP", &wire, sizeof(wire));
    return c->broken || hg_interrupt_pending();
}

static int child_work(void *user, int fd)
{
    child_job *c = user;
    hg_selftest_params level = c->job->level;
    hg_device_info device = {.struct_size = sizeof(device)};
    hg_engine *engine = NULL;
    wire_end end = {0};
    hg_log log;
    hg_result res;

    c->fd = fd;
    hg_message_keep(end.error, sizeof(end.error));
    log = hg_message_log();
    level.progress = (hg_progress){send_step, c};
    HG_TRY(hg_machine_engine(c->job->app, &c->side->choice, &log, &engine));
    HG_TRY(hg_engine_describe(engine, &device));
    if (c->side->choice.precision == HG_PRECISION_FAST &&
        hg_engine_precision(engine) != HG_PRECISION_FAST) {
        res = hg_message_fail(HG_ERR_UNSUPPORTED,
                              "precision fast is none of this device's: it uses no matrix units; "
                              "test it with @fp32");
        goto out;
    }
    tell(c, "DEVI", &device, sizeof(device));
    HG_TRY(hg_selftest(engine, &level, send_row, c));
out:
    end.result = (int32_t)res;
    end.complaints = engine ? hg_engine_validation_messages(engine) : 0;
    hg_engine_destroy(&engine);
    tell(c, "DONE", &end, sizeof(end));
    return hg_exit_code(res);
}

/* ---- in the parent ---- */

typedef struct reader {
    const hg_selftest_job *job;
    hg_selftest_side *side;
    hg_child child;
    wire_row last; /* the row that was told last */
    int is_done;
} reader;

static hg_result read_whole(reader *r, const hg_frame *frame, void *out, size_t bytes)
{
    if (frame->bytes != bytes)
        return HG_ERR_FILE;
    return hg_child_read(&r->child, r->job->timeout_s, out, bytes);
}

static hg_result take_row(reader *r, wire_row *wire)
{
    wire->kernel[sizeof(wire->kernel) - 1] = wire->tier[sizeof(wire->tier) - 1] = '\0';
    wire->dtype[sizeof(wire->dtype) - 1] = wire->shape[sizeof(wire->shape) - 1] = '\0';
    wire->detail[sizeof(wire->detail) - 1] = '\0';
    hg_message_defuse(wire->detail);
    if (wire->verdict > HG_SELFTEST_SKIPPED)
        return HG_ERR_FILE;
    const hg_selftest_row row = {.kernel = wire->kernel,
                                 .tier = wire->tier,
                                 .dtype = wire->dtype,
                                 .shape = wire->shape,
                                 .verdict = (hg_selftest_verdict)wire->verdict,
                                 .replays = wire->replays,
                                 .detail = wire->detail,
                                 .within_bound = wire->within_bound,
                                 .exact_only = wire->exact_only};

    if (!hg_selftest_tally_add(r->side->tally, &row))
        return HG_ERR_FILE;
    if (row.verdict != HG_SELFTEST_SKIPPED)
        r->last = *wire;
    return HG_OK;
}

static void take_step(reader *r, wire_step *step)
{
    char title[HG_NAME_SIZE + 40];

    step->kernel[sizeof(step->kernel) - 1] = '\0';
    snprintf(title, sizeof(title), "%s %s",
             *r->side->device.selector ? r->side->device.selector : r->side->label, step->kernel);
    hg_message_defuse(title);
    (void)hg_meter_step(&r->job->app->meter, title, step->done, step->total);
}

static void take_end(reader *r, wire_end *end)
{
    end->error[sizeof(end->error) - 1] = '\0';
    r->is_done = 1;
    r->side->complaints = end->complaints;
    r->side->result = (hg_result)end->result;
    if (end->result != HG_OK)
        snprintf(r->side->failure, sizeof(r->side->failure), "%s",
                 *end->error ? end->error : hg_result_name((hg_result)end->result));
}

static hg_result take_frame(reader *r)
{
    hg_frame frame;
    wire_step step;
    wire_row row;
    wire_end end;
    hg_result res;

    HG_TRY(hg_child_next(&r->child, r->job->timeout_s, &frame));
    if (strcmp(frame.tag, "DEVI") == 0) {
        hg_device_info *device = &r->side->device;

        HG_TRY(read_whole(r, &frame, device, sizeof(*device)));
        device->selector[sizeof(device->selector) - 1] = '\0';
        device->name[sizeof(device->name) - 1] = '\0';
        device->driver[sizeof(device->driver) - 1] = '\0';
        device->driver_version[sizeof(device->driver_version) - 1] = '\0';
        device->api_version[sizeof(device->api_version) - 1] = '\0';
    } else if (strcmp(frame.tag, "ROWS") == 0) {
        HG_TRY(read_whole(r, &frame, &row, sizeof(row)));
        res = take_row(r, &row);
    } else if (strcmp(frame.tag, "STEP") == 0) {
        HG_TRY(read_whole(r, &frame, &step, sizeof(step)));
        take_step(r, &step);
    } else if (strcmp(frame.tag, "DONE") == 0) {
        HG_TRY(read_whole(r, &frame, &end, sizeof(end)));
        take_end(r, &end);
    } else {
        res = HG_ERR_FILE;
    }
out:
    return res;
}

/* How the child ended when it did not say so itself. */
static void say_end(reader *r, hg_result res, int ending)
{
    hg_selftest_side *side = r->side;
    char how[128], after[128] = "before its first kernel";

    if (*r->last.kernel)
        snprintf(after, sizeof(after), "after kernel %s %s, shape %s", r->last.kernel,
                 r->last.dtype, r->last.shape);
    hg_message_defuse(after);
    side->result = HG_ERR_DRIVER;
    if (res == HG_TIMEOUT)
        snprintf(side->failure, sizeof(side->failure),
                 "the driver hung %s: no sign of life for %u s, its process was ended", after,
                 r->job->timeout_s);
    else if (ending >= 256)
        snprintf(side->failure, sizeof(side->failure), "the driver crashed %s: its process was %s",
                 after, hg_child_describe(ending, how));
    else
        snprintf(side->failure, sizeof(side->failure), "its process ended early, %s: %s", after,
                 hg_child_describe(ending, how));
}

/* The library names the candidates in lines of their own, of which the child kept the first: "no
 * device 'vk:9'; expected ... out of:". */
static hg_result name_candidates(hg_selftest_side *side)
{
    hg_device_info *devices = NULL;
    uint32_t count = 0;
    size_t used = strlen(side->failure);
    hg_result res;

    if (used == 0 || side->failure[used - 1] != ':')
        return HG_OK;
    res = hg_device_list(&devices, &count);
    if (res != HG_OK)
        return res;
    if (strncmp(side->failure, "no device", 9) == 0)
        used = (size_t)snprintf(side->failure, sizeof(side->failure), "no device '%.200s'",
                                side->choice.selector);
    else
        used = strcspn(side->failure, ";");
    for (uint32_t i = 0; i < count && used < sizeof(side->failure) - 40; i++)
        used += (size_t)snprintf(side->failure + used, sizeof(side->failure) - used, "%s%.16s",
                                 i            ? ", "
                                 : count == 1 ? " (there is "
                                              : " (there are ",
                                 devices[i].selector);
    snprintf(side->failure + used, sizeof(side->failure) - used, "%s", count ? ")" : "");
    free(devices);
    return HG_OK;
}

hg_result hg_selftest_side_run(const hg_selftest_job *job, hg_selftest_side *side)
{
    child_job child = {.job = job, .side = side};
    reader r = {.job = job, .side = side};
    hg_result res;
    int ending;

    side->tally = calloc(1, sizeof(*side->tally));
    if (!side->tally)
        return hg_message_fail(HG_ERR_HOST_MEMORY, "out of memory");
    res = hg_child_start(&r.child, child_work, &child);
    if (res != HG_OK)
        return res;
    while (res == HG_OK && !r.is_done)
        res = take_frame(&r);
    ending = hg_child_stop(&r.child, res == HG_OK || res == HG_ERR_FILE ? 3 : 0);
    hg_meter_stop(&job->app->meter);
    if (res == HG_CANCELLED || hg_interrupt_pending())
        return HG_CANCELLED;
    /* A driver that crashes while it is closed has crashed. */
    if (!r.is_done || ending >= 256)
        say_end(&r, res, ending);
    return side->result == HG_ERR_NO_DEVICE ? name_candidates(side) : HG_OK;
}

void hg_selftest_side_free(hg_selftest_side *side)
{
    free(side->tally);
    side->tally = NULL;
}
