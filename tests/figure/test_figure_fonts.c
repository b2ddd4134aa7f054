/* SPDX-License-Identifier: MIT */
/* A machine whose only fonts are DejaVu's (by FONTCONFIG_FILE): what lacks is named with its
 * package. Argument: DejaVu Sans, empty when it is not installed. */
#include "figure_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char seen[512];

static void on_missing(void *user, const hg_figure_missing *missing)
{
    (void)user;
    snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s %s;", missing->script,
             missing->package ? missing->package : "-");
}

static void each_script_is_named_once(void **state)
{
    static const char *const base[] = {
        "latin",  "\u2423x",      "\u23CE",       "<E6>",       "\uD55C\uAD6D\uC5B4",
        "\uC5B4", "\u6CE8\u610F", "\u0928\u092E", "\U0001F9EA", NULL};
    float *map = map_make(9, 0);
    const char **labels = labels_make(9, base);
    hg_figure_panel panel = {
        .cells = map, .rows = 9, .columns = 9, .row_labels = labels, .column_labels = labels};
    hg_figure_params params = {
        .struct_size = sizeof(params), .panels = &panel, .panel_count = 1, .missing = on_missing};
    bytes out;

    (void)state;
    figure_bytes(&params, HG_FIGURE_PNG, &out);
    assert_string_equal(seen, "hangul fonts-noto-cjk;han fonts-noto-cjk;devanagari fonts-noto-core;"
                              "emoji fonts-noto-color-emoji;");
    bytes_free(&out);
    free(labels);
    free(map);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_script_is_named_once)};

    if (argc < 3) {
        puts("skipped: DejaVu Sans is not in /usr/share/fonts/truetype/dejavu (fonts-dejavu-core)");
        return 77;
    }
    if (setenv("FONTCONFIG_FILE", argv[1], 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
