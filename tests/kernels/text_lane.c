/* SPDX-License-Identifier: MIT */
/* The switch of text_lane.h, one in each library of texts. */
#include "text_lane.h"

int hg_text_backwards;
