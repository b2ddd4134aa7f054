/* SPDX-License-Identifier: MIT */
/* A comparison as one self-contained page. See compare_report.h. */
#include "compare_report.h"

#include "app.h"

hg_result hg_compare_write_page(const hg_compare_report *report, hg_output *output)
{
    return hg_output_format(output, "<!doctype html><title>%s</title>\n", report->source->name);
}
