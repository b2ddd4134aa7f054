/* SPDX-License-Identifier: MIT */
/*
 * A comparison as one self-contained page, fit to be attached to a bug report: no script, nothing
 * that is fetched (the page's own policy forbids it). See compare_report.h.
 */
#include "compare_page.h"

#include "app.h"
#include "surroundings.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TOKENS_SHOWN = 96 };

static void put_term(hg_output *output, const char *term, const char *value)
{
    hg_page_put(output, "<dt>%s</dt><dd>", term);
    hg_page_text(output, value);
    hg_page_put(output, "</dd>\n");
}

static const char *verdict_mark(hg_verdict verdict)
{
    return verdict == HG_VERDICT_DIFFERENT ? "&#10005;" /* a cross */
           : verdict == HG_VERDICT_NOT_RUN ? "&#9888;"  /* a warning sign */
                                           : "&#10003;" /* a tick */;
}

/* "1 different, 2 same within rounding": more than a headline can say. */
static void put_tally(const hg_comparison *c, hg_output *output)
{
    const char *comma = "";

    if (c->side_count < 3)
        return;
    hg_page_put(output, "<p class=\"kicker\">");
    for (int v = HG_VERDICT_NOT_RUN; v >= 0; v--) {
        uint32_t count = 0;

        for (uint32_t i = 1; i < c->side_count; i++)
            count += c->sides[i].verdict == (hg_verdict)v;
        if (count)
            hg_page_put(output, "%s%u %s", comma, count, hg_verdict_name((hg_verdict)v));
        if (count)
            comma = ", ";
    }
    hg_page_put(output, "; the baseline is ");
    hg_page_text(output, c->sides[0].label);
    hg_page_put(output, "</p>\n");
}

static void put_top(const hg_compare_report *report, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    char verdict[64];

    hg_compare_headline(c, verdict);
    hg_page_put(output,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "img-src data:; style-src 'unsafe-inline'\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>");
    hg_page_text(output, report->source->name);
    hg_page_put(output, ": %s</title>\n<style>\n", verdict);
    for (uint32_t i = 0; hg_page_style[i]; i++)
        (void)hg_output_text(output, hg_page_style[i]);
    hg_page_put(output, "</style></head>\n<body><main>\n");
    hg_page_put(output,
                "<header class=\"verdict %s\"><p class=\"kicker\">headgate compare: do %u device%s "
                "compute the same?</p><h1>%s %c%s</h1>\n<p>",
                hg_page_verdict_class(c->verdict), c->side_count, c->side_count == 1 ? "" : "s",
                verdict_mark(c->verdict), *verdict - 'a' + 'A', verdict + 1);
    hg_page_text(output, c->reason);
    hg_page_put(output, "</p>\n");
    if (c->note[0]) {
        hg_page_put(output, "<p class=\"soft\">");
        hg_page_text(output, c->note);
        hg_page_put(output, "</p>\n");
    }
    put_tally(c, output);
    hg_page_put(output, "</header>\n");
}

/* The token that the decision of some device is about, -1: none. */
static int64_t decisive_token(const hg_compare_report *report)
{
    const hg_comparison *c = report->comparison;

    for (uint32_t i = 0; i < c->side_count; i++) {
        const hg_compare_side *s = &c->sides[i];
        const hg_stage_row *row = s->decisive < s->row_count ? &s->rows[s->decisive] : NULL;
        char place[96];
        int64_t token = -1;

        if (!row || (s->decisive_pass == HG_PASS_FREE && !row->is_measured))
            continue;
        hg_stage_place(&row->head,
                       s->decisive_pass == HG_PASS_FREE ? row->difference.max_at
                                                        : row->excess.worst_at,
                       c->map_pool, &token, place);
        return token;
    }
    return -1;
}

static void put_tokens(const hg_compare_report *report, uint32_t from, uint32_t to, int64_t marked,
                       hg_output *output)
{
    hg_page_put(output, "<ol class=\"tokens\" start=\"%u\">\n", from + 1);
    for (uint32_t i = from; i < to; i++) {
        char text[64];

        hg_page_put(output, "<li%s title=\"token %u\"><bdi class=\"mono\">",
                    (int64_t)i == marked ? " class=\"at\"" : "", i + 1);
        hg_page_text(output, hg_compare_token(report, i, text));
        hg_page_put(output, "</bdi><small>%d</small></li>\n", (int)report->prompt->ids[i]);
    }
    hg_page_put(output, "</ol>\n");
}

static void put_prompt(const hg_compare_report *report, hg_output *output)
{
    const uint32_t count = report->prompt->count;
    const int64_t marked = decisive_token(report);

    hg_page_heading(output, "Prompt, as tokens with their ids");
    put_tokens(report, 0, count < TOKENS_SHOWN ? count : TOKENS_SHOWN, marked, output);
    if (count > TOKENS_SHOWN) {
        hg_page_put(output, "<details><summary>The other %u tokens</summary>\n",
                    count - TOKENS_SHOWN);
        put_tokens(report, TOKENS_SHOWN, count, marked, output);
        hg_page_put(output, "</details>\n");
    }
    if (marked >= 0)
        hg_page_put(output, "<p class=\"soft\">Framed: the token that the verdict is about.</p>\n");
}

/* A badge: the verdict, of the baseline with what it was judged against. */
static void put_chip(const hg_comparison *c, uint32_t index, hg_output *output)
{
    char standing[96];

    hg_page_put(output, "<span class=\"chip %s\">%s</span>",
                hg_page_verdict_class(c->sides[index].verdict),
                hg_compare_standing(c, index, standing));
}

static void put_speed(const hg_comparison *c, const hg_record_meta *m, double fastest,
                      hg_output *output)
{
    if (m->tokens_per_s > 0 && c->tokens >= HG_COMPARE_TIMED_TOKENS)
        hg_page_put(
            output,
            "<br>%.4g tokens/s, prefill, while no stage is looked at<div class=\"speed\"><i "
            "style=\"width:%.1f%%\"></i></div>",
            m->tokens_per_s, 100 * m->tokens_per_s / fastest);
}

static void put_device(const hg_compare_report *report, uint32_t index, double fastest,
                       hg_output *output)
{
    const hg_comparison *c = report->comparison;
    const hg_compare_side *s = &c->sides[index];
    const hg_record_meta *m = &s->meta;
    char runs[64];

    hg_page_put(output, "<li><div class=\"head\"><strong><a href=\"#device-%u\">", index + 1);
    hg_page_text(output, s->label);
    hg_page_put(output, "</a></strong>");
    put_chip(c, index, output);
    hg_page_put(output, "</div>\n");
    if (s->verdict == HG_VERDICT_NOT_RUN) {
        hg_page_put(output, "<p class=\"soft\">");
        hg_page_text(output, s->reason);
        hg_page_put(output, "</p>\n");
    }
    if (!m->device[0]) {
        hg_page_put(output, "</li>\n");
        return;
    }
    hg_page_text(output, m->device);
    hg_page_put(output, "<div class=\"soft\">");
    hg_page_text(output, m->driver);
    hg_page_put(output, " ");
    hg_page_text(output, m->driver_version);
    hg_page_put(output, "<br>");
    hg_page_text(output, m->api);
    hg_page_put(output, " &#183; ");
    hg_page_text(output, m->precision);
    if (m->date[0]) {
        hg_page_put(output, " &#183; saved ");
        hg_page_text(output, m->date);
        hg_page_put(output, " by headgate ");
        hg_page_text(output, m->program);
    }
    if (s->runs > 1)
        hg_page_put(output, "<br>%s", hg_compare_runs(s, runs));
    put_speed(c, m, fastest, output);
    hg_page_put(output, "</div></li>\n");
}

/* Of this machine; a record came from another. */
static void put_surroundings(const hg_compare_report *report, hg_output *output)
{
    char system[256], name[128], value[400];
    unsigned at = 0, count = 0;

    put_term(output, report->comparison->is_loaded ? "System here" : "System",
             hg_surroundings_system(system));
    put_term(output, "Limits", report->limits ? report->limits : "the devices' own");
    hg_page_put(output, "<dt>Environment of drivers</dt><dd>");
    for (; hg_surroundings_variable(&at, name, value); count++) {
        hg_page_put(output, "%s<code>", count ? "<br>" : "");
        hg_page_text(output, name);
        hg_page_put(output, "=");
        hg_page_text(output, value);
        hg_page_put(output, "</code>");
    }
    hg_page_put(output, "%s</dd>\n", count ? "" : "no variable is set that changes drivers");
}

static void put_facts(const hg_compare_report *report, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    const time_t now = time(NULL);
    struct tm parts;
    char text[64] = "";
    double fastest = 0;

    for (uint32_t i = 0; i < c->side_count; i++)
        if (c->sides[i].meta.tokens_per_s > fastest)
            fastest = c->sides[i].meta.tokens_per_s;
    hg_page_put(output, "<section aria-label=\"what was compared\"><h2>What was compared</h2>\n"
                        "<ul class=\"devices\">\n");
    for (uint32_t i = 0; i < c->side_count; i++)
        put_device(report, i, fastest, output);
    hg_page_put(output, "</ul>\n<h3>Work</h3><dl>\n");
    put_term(output, "Model", report->source->name);
    put_term(output, "Weights, sha256", report->weights);
    hg_page_put(output, "<dt>Size</dt><dd>%u layers, %u heads, %u tokens</dd>\n", c->layers,
                c->heads, c->tokens);
    if (gmtime_r(&now, &parts))
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
    put_term(output, "Date", text);
    hg_page_put(output, "<dt>Program</dt><dd>headgate %s, exact revision %s</dd>\n",
                HG_VERSION_STRING, HG_EXACT_REVISION);
    hg_page_put(output, "<dt>Command</dt><dd><code>");
    hg_page_text(output, report->command_line);
    hg_page_put(output, "</code></dd>\n");
    put_surroundings(report, output);
    hg_page_put(output, "</dl>\n");
    put_prompt(report, output);
    hg_page_put(output, "</section>\n");
}

static void put_agreement(const hg_compare_side *s, hg_output *output)
{
    const hg_agreement *a = &s->agreement;
    const double tokens = (double)a->tokens;
    char runs[64];

    if (a->tokens) {
        hg_page_heading(output, "Logits");
        hg_page_put(output,
                    "<dl><dt>Kullback-Leibler divergence</dt><dd>%.2g nats on average, %.2g at "
                    "most</dd>\n<dt>Likeliest next token</dt><dd>the same for %llu of %llu "
                    "tokens</dd>\n<dt>Top-%d lists</dt><dd>agree %.4g %%</dd></dl>\n",
                    a->kl_sum / tokens, a->kl_max, (unsigned long long)a->same_first,
                    (unsigned long long)a->tokens, HG_AGREEMENT_TOP, 100 * a->top_shared / tokens);
    }
    if (a->strange)
        hg_page_put(output,
                    "<p class=\"soft\">Of %llu tokens some logits are no finite numbers.</p>\n",
                    (unsigned long long)a->strange);
    if (!s->meta.device[0] || s->runs == 0 || s->meta.date[0])
        return;
    hg_page_heading(output, "Repeatability");
    hg_page_put(output, "<p>");
    if (s->runs > 1)
        hg_page_put(output, "%s. ", hg_compare_runs(s, runs));
    hg_page_put(
        output, "%s</p>\n",
        s->untapped_differ && !s->untapped_beyond
            ? "A run without reading the stages back: other bits, within rounding: it takes "
              "other kernels in some places."
        : s->untapped_differ
            ? "A run without reading the stages back: other bits. With many kernels in a "
              "submit one does not wait for another, or results are not the same twice."
            : "A run without reading the stages back: same bits.");
}

static hg_result put_side(const hg_compare_report *report, uint32_t index, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    const hg_compare_side *s = &c->sides[index];
    const uint32_t twin = hg_compare_twin(c, index);
    const int is_own = index == 0 && c->side_count > 1;
    /* Where all bits are the same there is nothing to see, but it is there. */
    const int folded =
        s->verdict == HG_VERDICT_SAME_BITS || (is_own && s->verdict == HG_VERDICT_ROUNDING);
    char reason[sizeof(s->reason)];
    hg_result res = HG_OK;

    hg_page_put(output, "<section id=\"device-%u\"><h2>", index + 1);
    hg_page_text(output, s->label);
    if (s->verdict != HG_VERDICT_NOT_RUN) {
        hg_page_put(output, " against ");
        hg_page_text(output,
                     index == 0 || c->is_lost ? "the reference in double" : c->sides[0].label);
    }
    hg_page_put(output, " ");
    put_chip(c, index, output);
    hg_page_put(output, "</h2>\n<p>");
    *reason = (char)toupper((unsigned char)s->reason[0]);
    snprintf(reason + 1, sizeof(reason) - 1, "%s", s->reason[0] ? s->reason + 1 : "");
    hg_page_text(output, s->verdict < HG_VERDICT_DIFFERENT ? reason : s->reason);
    hg_page_put(output, "</p>\n");
    if (twin != UINT32_MAX) {
        hg_page_put(output, "<p>Every stage has the bits of <a href=\"#device-%u\">", twin + 1);
        hg_page_text(output, c->sides[twin].label);
        hg_page_put(output, "</a>: see there.</p>\n");
    } else if (s->verdict != HG_VERDICT_NOT_RUN) {
        if (folded)
            hg_page_put(output, "<details><summary>%s</summary>\n",
                        is_own ? "The baseline&#39;s own stages" : "Stages and maps");
        hg_page_chart(report, index, output);
        hg_page_tables(report, index, output);
        put_agreement(s, output);
        HG_TRY(hg_page_maps(report, index, output));
        if (folded)
            hg_page_put(output, "</details>\n");
    }
    hg_page_put(output, "</section>\n");
out:
    return res;
}

static void put_bounds(hg_output *output)
{
    hg_page_put(
        output,
        "<section aria-label=\"how the bounds come about\"><h2>How the bounds come about</h2>\n"
        "<p><strong>Isolated:</strong> every kernel runs once on the inputs that the reference has "
        "computed in double, and each of its values may be off by the unit roundoff of float32 "
        "times a factor for its order of summation times the sum of the absolute terms that it is "
        "made of, so that a fault shows in the kernel that has it.</p>\n"
        "<p><strong>End to end, in roundings:</strong> one rounding is the distance (L2) at which "
        "an exact float32 run of this same prompt is from the reference in double. A stage may be "
        "%.0f roundings away from the baseline&#39;s, because errors that earlier stages hand on "
        "are the input&#39;s doing, not the device&#39;s.</p>\n"
        "<p><strong>Same bits</strong> means that the sha256 of every stage agrees; two runs under "
        "exact precision must have the same bits, whatever the devices, and any other bit is a "
        "fault.</p></section>\n",
        HG_COMPARE_ROUNDINGS);
}

hg_result hg_compare_write_page(const hg_compare_report *report, hg_output *output)
{
    const hg_comparison *c = report->comparison;
    hg_result res = HG_OK;

    put_top(report, output);
    hg_page_maps_begin(report, output);
    put_facts(report, output);
    for (uint32_t i = c->side_count > 1; i < c->side_count; i++)
        HG_TRY(put_side(report, i, output));
    if (c->side_count > 1)
        HG_TRY(put_side(report, 0, output));
    put_bounds(output);
    res = hg_output_text(output, "<footer>Written by headgate compare; the file needs no network "
                                 "and runs no script.</footer>\n</main></body></html>\n");
out:
    return res;
}
