/* SPDX-License-Identifier: MIT */
/* The functions of grid.c, declared from the grid column, so that a missing one is a link error by
 * name. */
#ifndef HG_SHADERS_GRID_H
#define HG_SHADERS_GRID_H

#include "kernel.h"

#define VARIANT(kernel, tier, dtype, source, threads, spec, grid)                                  \
    void hg_grid_##grid(const void *params, const uint32_t *specs, uint32_t threads_,              \
                        uint32_t groups[3]);
#include "kernels.def"

#endif
