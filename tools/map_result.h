/* SPDX-License-Identifier: MIT */
/* The maps of one prompt as a picture or as JSON: what `headgate map` writes, once or many times.
 */
#ifndef HG_TOOLS_MAP_RESULT_H
#define HG_TOOLS_MAP_RESULT_H

#include "picture.h"

enum { HG_MAP_PNG = HG_FIGURE_PNG, HG_MAP_SVG, HG_MAP_PDF, HG_MAP_JSON, HG_MAP_FORMATS };

extern const char *const hg_map_format_names[HG_MAP_FORMATS]; /* "png": also the end of a name */

/* --format, --json and the end of the target's name, which must not contradict each other. target
 * NULL: PNG where nothing says otherwise. */
hg_result hg_map_format_choose(const hg_args *args, const char *target, uint32_t *format);

/* From this length on nearly every cell of a linear map is dark. */
enum { HG_MAP_LINEAR_TOKENS_MAX = 96 };

typedef struct hg_map_result {
    const hg_source *source;
    const hg_prompt *prompt; /* with labels */
    const hg_provenance *provenance;
    const hg_maps *maps;
    hg_session *session; /* for cells that maps did not keep */
    const char *name;    /* of the prompt, NULL: the only one */
    uint32_t format, scale;
} hg_map_result;

hg_result hg_map_result_draw(hg_app *app, const hg_map_result *result, hg_output *output);
/* A whole object. */
hg_result hg_map_result_json(const hg_map_result *result, hg_output *output);
/* Its members but for what all prompts of a list share (listed), or all after model and gate. */
hg_result hg_map_result_put(const hg_map_result *result, int listed, hg_put *put);
void hg_map_layers_put(const hg_maps *maps, hg_put *put);

#endif
