/* SPDX-License-Identifier: MIT */
/* Weights in rows: see rows_tc.h. */
#include "rows_tc.h"
