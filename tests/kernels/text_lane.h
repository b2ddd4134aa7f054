/* SPDX-License-Identifier: MIT */
/* Put before a kernel text that is built for test_builds.c: the order of lanes can be turned round
 * at run time. */
#ifndef HG_TEST_TEXT_LANE_H
#define HG_TEST_TEXT_LANE_H

extern int hg_text_backwards;

#define HG_TEXT_LANE(lane) (hg_text_backwards ? THREADS - 1u - (lane) : (lane))

#endif
