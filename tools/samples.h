/* SPDX-License-Identifier: MIT */
/* The folder of the sample models and of what ships beside them, and the prompt of the demo. */
#ifndef HG_TOOLS_SAMPLES_H
#define HG_TOOLS_SAMPLES_H

#include "app.h"

extern const char hg_demo_prompt[];

/* --samples, else beside the program as it is installed (PREFIX/bin, PREFIX/share), else in the
 * sources. HG_ERR_FILE with the sentence said when there is none. */
hg_result hg_samples_find(const hg_args *args, char out[HG_PATH_SIZE]);
/* The same without --samples and without a word; 0 when there is none. */
int hg_samples_look(char out[HG_PATH_SIZE]);

#endif
