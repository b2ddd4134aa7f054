/* SPDX-License-Identifier: MIT */
/* The line of progress: what, how far. */
#include "progress.h"

#include "interrupt.h"
#include "message.h"

#include <stdio.h>
#include <time.h>

enum { BAR_CELLS = 24 };

static const uint64_t quiet_ns = 1000000000u, redraw_ns = 100000000u;

uint64_t hg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void hg_meter_start(hg_meter *meter)
{
    meter->start_ns = hg_clock_ns();
    meter->drawn_ns = 0;
    meter->title = NULL;
}

static void draw(const hg_meter *meter, const char *what, uint64_t done, uint64_t total)
{
    char bar[BAR_CELLS + 1], line[200];
    const char *title = meter->title ? meter->title : "";
    const char *gap = meter->title ? ": " : "";

    if (total == 0) {
        snprintf(line, sizeof(line), "%s%s%s", title, gap, what);
    } else {
        double part = done < total ? (double)done / (double)total : 1.0;
        int filled = (int)(part * (double)BAR_CELLS);

        for (int i = 0; i < BAR_CELLS; i++)
            bar[i] = i < filled ? '#' : '.';
        bar[BAR_CELLS] = '\0';
        snprintf(line, sizeof(line), "%s%s%-10.40s [%s] %3d%%", title, gap, what, bar,
                 (int)(part * 100));
    }
    hg_message_status(line);
}

int hg_meter_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    hg_meter *meter = user;

    if (meter && hg_message_live()) {
        uint64_t now = hg_clock_ns();

        if (now - meter->start_ns >= quiet_ns && now - meter->drawn_ns >= redraw_ns) {
            meter->drawn_ns = now;
            draw(meter, what ? what : "working", done, total);
        }
    }
    return hg_interrupt_pending() != 0;
}

void hg_meter_stop(hg_meter *meter)
{
    meter->drawn_ns = 0;
    hg_message_status(NULL);
}
