/* SPDX-License-Identifier: MIT */
/*
 * The page of a comparison, with a device that is wrong, one that crashes, and names that are
 * markup: every tag is one of the page's own, closed where it was opened, and nothing is fetched.
 * The page is left as page.html, to be looked at.
 */
#include "compare_report.h"
#include "faults.h"
#include "message.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOKENS = 24, DEPTH = 64 };

static struct {
    const hg_fault *fault;
    hg_checkpoint *checkpoint;
    hg_source source;
    hg_prompt prompt;
    int32_t ids[TOKENS];
} self;

static hg_result open_side(void *user, uint32_t side, const hg_log *log, hg_engine **out)
{
    const hg_engine_params params = {.struct_size = sizeof(params),
                                     .selector = "ref",
                                     .precision = side ? HG_PRECISION_EXACT : HG_PRECISION_FP32,
                                     .threads = 1,
                                     .log = *log};
    hg_result res;

    (void)user;
    if (side == 3) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
    }
    res = hg_engine_create(&params, out);
    if (res == HG_OK && side == 1)
        hg_fault_install(*out, self.fault, 1);
    return res;
}

/* A logit: nothing is computed from it, since converting what is no number is not defined. */
static void logit_nan(const hg_text_call *call, void (*truth)(const hg_text_call *call))
{
    truth(call);
    *(float *)call->bind[3] = NAN;
}

static const hg_fault nan_fault = {
    .name = "NaN", .stage = "logits", .kernel = "matmul", .is_once = 1, .run = logit_nan};

static const hg_fault *fault_named(const char *name)
{
    for (uint32_t i = 0; i < hg_fault_count; i++)
        if (strcmp(hg_faults[i].name, name) == 0)
            return &hg_faults[i];
    fail_msg("no fault '%s'", name);
    return NULL;
}

/* The page of a comparison, freed by the caller. */
static char *make_page(uint32_t side_count, const hg_fault *fault)
{
    static const char *const labels[] = {"ref", "\"><script>alert(1)</script>", "ref@exact",
                                         "'crash' & <b>burn"};
    const hg_compare_params params = {.checkpoint = self.checkpoint,
                                      .ids = self.ids,
                                      .count = TOKENS,
                                      .labels = labels,
                                      .side_count = side_count,
                                      .open = open_side,
                                      .runs = 2,
                                      .timeout_s = 60,
                                      .threads = 1};
    hg_comparison comparison;
    const hg_compare_report report = {.comparison = &comparison,
                                      .source = &self.source,
                                      .prompt = &self.prompt,
                                      .weights = "unknown",
                                      .command_line =
                                          "x '\"><img src=http://localhost/>' \xff \x1b"};
    hg_output *output = NULL;
    char *page = NULL;
    size_t bytes = 0;

    self.fault = fault;
    assert_int_equal(hg_compare_run(&params, &comparison), HG_OK);
    assert_int_equal(hg_output_open_memory(&output), HG_OK);
    assert_int_equal(hg_compare_write_page(&report, output), HG_OK);
    assert_int_equal(hg_output_take(&output, &page, &bytes), HG_OK);
    assert_int_equal(strlen(page), bytes);
    hg_comparison_free(&comparison);
    return page;
}

static int is_one_of(const char *name, const char *list)
{
    const size_t length = strlen(name);

    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

/* name="value" of a tag; what is fetched by it is in the page. */
static const char *check_attribute(const char *at)
{
    const char *value, *end;
    char name[64] = "";
    size_t length = strcspn(at, "= >");

    assert_true(length < sizeof(name));
    memcpy(name, at, length);
    at += length;
    if (*at != '=')
        return at;
    assert_int_equal(at[1], '"');
    value = at + 2;
    end = strchr(value, '"');
    assert_non_null(end);
    assert_true(strncmp(name, "on", 2) != 0);
    if (strcmp(name, "src") == 0)
        assert_true(strncmp(value, "data:image/png;base64,iVBORw0KGgo", 33) == 0);
    if (strcmp(name, "href") == 0)
        assert_true(*value == '#' || strncmp(value, "data:,\"", 7) == 0);
    assert_false(
        is_one_of(name, "srcset action formaction poster data xlink:href ping background"));
    return end + 1;
}

/* One tag from '<'; the character after it. */
static const char *check_tag(const char *at, char stack[DEPTH][16], uint32_t *depth)
{
    static const char known[] =
        "html head meta link title style body main header footer section p h1 h2 h3 ul ol li dl dt "
        "dd div span strong a i b br bdi small code table caption thead tbody tr th td details "
        "summary figure figcaption img svg path rect circle text clipPath !doctype";
    const size_t closes = at[1] == '/';
    const size_t length = strcspn(at + 1 + closes, " />");
    char name[16] = "";
    int is_closed;

    assert_true(length < sizeof(name));
    memcpy(name, at + 1 + closes, length);
    if (!is_one_of(name, known))
        fail_msg("a tag <%s>", name);
    at += 1 + closes + length;
    while (*at != '>') {
        assert_int_not_equal(*at, '\0');
        if (*at == ' ' || *at == '/')
            at++;
        else
            at = check_attribute(at);
    }
    is_closed = at[-1] == '/';
    if (closes) {
        assert_true(*depth > 0);
        assert_string_equal(stack[--*depth], name);
    } else if (!is_closed && !is_one_of(name, "meta link br img !doctype")) {
        assert_true(*depth < DEPTH);
        memcpy(stack[(*depth)++], name, sizeof(name));
    }
    return at + 1;
}

static void check_page(const char *page)
{
    char stack[DEPTH][16];
    uint32_t depth = 0, tags = 0;

    for (const char *at = page; *at;) {
        if (*at == '<') {
            at = check_tag(at, stack, &depth);
            tags++;
            continue;
        }
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        at++;
    }
    assert_int_equal(depth, 0);
    assert_true(tags > 100);
    for (const char *at = strstr(page, "url("); at; at = strstr(at + 1, "url("))
        assert_true(strncmp(at, "url(#kept)", 10) == 0);
    assert_null(strstr(page, "@import"));
}

static uint32_t count_of(const char *page, const char *what)
{
    uint32_t count = 0;

    for (const char *at = strstr(page, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static void keep(const char *path, const char *page)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(page, 1, strlen(page), file), strlen(page));
    assert_int_equal(fclose(file), 0);
}

static void test_different(void **state)
{
    char *page = make_page(4, fault_named("scale missing"));

    (void)state;
    keep("page.html", page);
    check_page(page);
    assert_non_null(strstr(page, "<title>&lt;img src=x&gt;: different</title>"));
    assert_non_null(strstr(page, "chip v-different\">different</span>"));
    assert_non_null(strstr(page, "the driver crashed: its process was ended by signal 11"));
    assert_non_null(strstr(page, "isolated, the first beyond its bounds: attn_out of layer 2"));
    assert_non_null(strstr(page, "&lt;/bdi&gt;&#39;&quot;&amp;??"));
    assert_null(strstr(page, "alert(1)</script>"));
    assert_null(strstr(page, "no<br>difference")); /* each device differs from the reference */
    assert_int_equal(count_of(page, "<svg viewBox"), 3);
    /* Three maps a layer for two devices, one for the baseline itself. */
    assert_int_equal(count_of(page, "<img "), 4 * (3 + 3 + 1));
    free(page);
}

/* What is no number is drawn and told as such, and is no number of the style sheet or the chart. */
static void test_not_a_number(void **state)
{
    char *page = make_page(2, &nan_fault);

    (void)state;
    keep("page-nan.html", page);
    check_page(page);
    assert_null(strstr(page, "=\"nan\""));
    assert_null(strstr(page, "=\"-nan\""));
    assert_null(strstr(page, "=\"inf\""));
    assert_non_null(strstr(page, "isolated, the first beyond its bounds: logits</text>"));
    assert_non_null(strstr(page, "Of 1 tokens some logits are no finite numbers."));
    assert_non_null(strstr(page, "the same for 23 of 23 tokens"));
    free(page);
}

int main(void)
{
    static char *texts[TOKENS];
    static hg_labels labels = {.count = TOKENS, .text = texts};
    static char hostile[] = "</bdi>'\"&\xff\x01", plain[] = "word";
    const hg_checkpoint_params params = {.struct_size = sizeof(params),
                                         .path = HG_TEST_SAMPLES_DIR "/gate_elementwise",
                                         .log = hg_message_log()};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_different),
                                       cmocka_unit_test(test_not_a_number)};
    int failed;

    hg_message_setup(HG_LOG_WARNING);
    if (hg_checkpoint_open(&params, &self.checkpoint) != HG_OK)
        return 1;
    for (uint32_t i = 0; i < TOKENS; i++) {
        self.ids[i] = (int32_t)(i * 37 % 2000);
        texts[i] = i == 3 ? hostile : plain;
    }
    (void)snprintf(self.source.name, sizeof(self.source.name), "<img src=x>");
    self.prompt = (hg_prompt){.ids = self.ids, .count = TOKENS, .labels = &labels};
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    hg_checkpoint_close(&self.checkpoint);
    return failed;
}
